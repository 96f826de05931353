// An MTA-STS policy from the host that must serve it (RFC 8461 §3.3): HTTPS with a verified
// certificate, no redirects, and no address that strangers may not make us reach.

import { request } from 'node:https'
import type { Resolver } from '#platform/dns/resolver.ts'
import { makeAddressGuard } from '#platform/egress/address-guard.ts'
import { makeGuardedLookup } from '#platform/egress/guarded-lookup.ts'
import { SECOND_MS } from '#platform/units.ts'

/** RFC 8461 §3.3 suggests 64 KiB and one minute; mail waits for it, so less. */
const STS_POLICY_BYTES_MAX = 64 * 1024
const STS_FETCH_MS_MAX = 10 * SECOND_MS

export type FetchedPolicy =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'fault'; readonly text: string }

/** `destination` is a domain name; what it rejects with counts as a fault. */
export type FetchPolicy = (destination: string) => Promise<FetchedPolicy>

export type FetchPolicyOptions = {
  readonly resolver: Resolver
  readonly allowPrivate: boolean
  /** Ends fetches on their way. */
  readonly signal: AbortSignal
  /** 443 unless given. */
  readonly port?: number
  /** Certificates to trust instead of the platform's, as PEM. */
  readonly ca?: string
  readonly timeoutMs?: number
}

const PATH = '/.well-known/mta-sts.txt'

/** Never rejects. */
export function makeFetchPolicy(options: FetchPolicyOptions): FetchPolicy {
  const { resolver, allowPrivate } = options
  const isAllowed = makeAddressGuard({ allowPrivate, own: [] })
  const lookup = makeGuardedLookup({ resolver, isAllowed })
  return (destination) =>
    new Promise((resolve) => {
      const host = `mta-sts.${destination}`
      const timeout = AbortSignal.timeout(options.timeoutMs ?? STS_FETCH_MS_MAX)
      const outgoing = request({
        host,
        servername: host,
        port: options.port ?? 443,
        path: PATH,
        headers: { accept: 'text/plain' },
        agent: false,
        lookup,
        signal: AbortSignal.any([options.signal, timeout]),
        ...(options.ca === undefined ? {} : { ca: options.ca }),
      })
      const finish = (fetched: FetchedPolicy) => {
        resolve(fetched)
        outgoing.destroy()
      }
      const fail = (text: string) => finish({ kind: 'fault', text: `MTA-STS policy: ${text}` })
      outgoing.on('error', (error: NodeJS.ErrnoException) => fail(error.code ?? error.message))
      outgoing.on('response', (response) => {
        // What the lookup let through is what was connected to, or nothing is believed.
        const address = response.socket.remoteAddress ?? ''
        if (!isAllowed(address)) return fail('a forbidden address')
        if (response.statusCode !== 200) return fail(`status ${response.statusCode}`)
        const type = response.headers['content-type'] ?? ''
        if (!/^text\/plain\s*(;|$)/i.test(type)) return fail('not text/plain')
        const chunks: Buffer[] = []
        let bytes = 0
        response.on('data', (chunk: Buffer) => {
          bytes += chunk.length
          if (bytes > STS_POLICY_BYTES_MAX) fail('too large')
          else chunks.push(chunk)
        })
        response.on('error', (error: NodeJS.ErrnoException) => fail(error.code ?? error.message))
        response.on('end', () => {
          finish({ kind: 'text', text: Buffer.concat(chunks).toString('utf8') })
        })
      })
      outgoing.end()
    })
}

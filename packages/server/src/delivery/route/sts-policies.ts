import { request } from 'node:https'
import { parseStsPolicy, readStsId, type StsPolicy } from '@mailroom/mail/mta-sts.ts'
import { raceAbort } from '#platform/abort.ts'
import { Cache } from '#platform/cache.ts'
import type { Clock } from '#platform/clock.ts'
import type { Resolver } from '#platform/dns/resolver.ts'
import { makeAddressGuard } from '#platform/egress/address-guard.ts'
import { makeGuardedLookup } from '#platform/egress/guarded-connect.ts'
import { MINUTE_MS, SECOND_MS } from '#platform/units.ts'

/** RFC 8461 §3.3 suggests 64 KiB and one minute; mail waits for it, so less. */
const STS_POLICY_BYTES_MAX = 64 * 1024
const STS_FETCH_MS_MAX = 10 * SECOND_MS
/** The TXT lookup runs beside that of MX, and mail waits no longer for it. */
const STS_RECORD_WAIT_MS_MAX = 3 * SECOND_MS
/** RFC 8461 §3.3: how long a policy that could not be had is not asked for again. */
const STS_FAILURE_MS = 5 * MINUTE_MS
const STS_POLICIES_KEPT_MAX = 2_000

/**
 * The MTA-STS policies of destinations, remembered for as long as they say (RFC 8461 §5.1). A policy that
 * cannot be had now never holds up mail for long, and never undoes one that still holds.
 */
export type StsPolicies = {
  /** Null where there is none; takes STS_RECORD_WAIT_MS_MAX and a fetch at most, and never rejects. */
  find(destination: string): Promise<StsPolicy | null>
}

/** Starts out knowing none; `recordWaitMs` is STS_RECORD_WAIT_MS_MAX unless given. */
export function makeStsPolicies(options: {
  resolver: Resolver
  fetchPolicy: FetchPolicy
  clock: Clock
  recordWaitMs?: number | undefined
}): StsPolicies {
  const { resolver, fetchPolicy, clock } = options
  const bounds = { entriesMax: STS_POLICIES_KEPT_MAX, now: () => clock.monotonic() }
  const policies = new Cache<{ id: string; policy: StsPolicy }>(bounds)
  /** The id for which there was nothing to be had. */
  const failures = new Cache<string>(bounds)

  async function find(destination: string): Promise<StsPolicy | null> {
    const id = await findId(destination)
    const kept = policies.get(destination)
    if (id === null || kept?.id === id || failures.get(destination) === id) {
      return kept?.policy ?? null
    }
    const policy = await fetchAndParse(destination)
    if (policy === null) {
      failures.set(destination, id, { ttlMs: STS_FAILURE_MS })
      return kept?.policy ?? null
    }
    policies.set(destination, { id, policy }, { ttlMs: policy.maxAgeSeconds * 1000 })
    return policy
  }

  async function findId(destination: string): Promise<string | null> {
    const asking = resolver.txt(`_mta-sts.${destination}`)
    const timeoutMs = options.recordWaitMs ?? STS_RECORD_WAIT_MS_MAX
    const answer = await raceAbort(asking, { timeoutMs })
    return answer?.kind === 'found' ? readStsId(answer.records) : null
  }

  async function fetchAndParse(destination: string): Promise<StsPolicy | null> {
    try {
      const fetched = await fetchPolicy(destination)
      return fetched.kind === 'text' ? parseStsPolicy(fetched.text) : null
    } catch {
      return null
    }
  }

  return { find }
}

type FetchedPolicy =
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

/**
 * Fetches a policy from the host that must serve it (RFC 8461 §3.3): HTTPS with a verified certificate, no
 * redirects, and no address that strangers may not make us reach. Never rejects.
 */
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

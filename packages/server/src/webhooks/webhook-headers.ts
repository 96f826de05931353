// Additional header fields of webhook requests. Their values are stored encrypted.

import { wrongField } from '#platform/problem.ts'
import type { Sealer } from '#platform/seal.ts'
import type { SealedHeader } from '#store/nouns.ts'

/** Fields of HTTP itself (RFC 9110 §7.6.1), and those that the service sets. */
const RESERVED =
  /^(?:host|connection|keep-alive|te|trailer|transfer-encoding|upgrade|expect|content-.*|accept-encoding|proxy-.*|user-agent|x-event-id|x-timestamp|x-signature.*|webhook-.*)$/

/** Throws `bad_request` for a reserved name, or for one that occurs twice. */
export function sealHeaders(
  sealer: Sealer,
  webhookId: string,
  headers: Readonly<Record<string, string>>,
): SealedHeader[] {
  const names = new Set<string>()
  return Object.entries(headers).map(([name, value]) => {
    const key = name.toLowerCase()
    if (RESERVED.test(key)) throw wrongField(`headers.${name}`, 'is reserved for the service')
    if (names.has(key))
      throw wrongField(`headers.${name}`, 'occurs twice: the case of names is ignored')
    names.add(key)
    const sealed = sealer.seal(Buffer.from(value), contextOf(webhookId, key))
    return { name, sealed: Buffer.from(sealed).toString('base64') }
  })
}

/** Throws if the values were sealed with another key. */
export function openHeaders(
  sealer: Sealer,
  { id, headers }: { id: string; headers: readonly SealedHeader[] },
): Record<string, string> {
  return Object.fromEntries(
    headers.map(({ name, sealed }) => {
      const key = name.toLowerCase()
      const value = sealer.open(Buffer.from(sealed, 'base64'), contextOf(id, key))
      if (value === null) throw new Error(`The headers of ${id} were sealed with another key.`)
      return [key, Buffer.from(value).toString()]
    }),
  )
}

function contextOf(webhookId: string, name: string): string {
  return `webhook-header:${webhookId}:${name}`
}

// Which delivery a report means by a recipient that it names.

import { addressKey } from '#platform/email-address.ts'

export type Named = { readonly id: string; readonly recipient: string }

/**
 * The first of `names` that is a recipient of one of these; null when none is. Names may bear the
 * address type of RFC 3464 §2.3.2 and be encoded as xtext (RFC 3461 §4).
 */
export function matchRecipient<Delivery extends Named>(
  deliveries: readonly Delivery[],
  names: readonly (string | null)[],
): Delivery | null {
  const byKey = new Map(deliveries.map((delivery) => [addressKey(delivery.recipient), delivery]))
  for (const key of names.flatMap((name) => (name === null ? [] : spellingsOf(name)))) {
    const found = byKey.get(addressKey(key))
    if (found !== undefined) return found
  }
  return null
}

/**
 * Whether the name is of another mailbox than the address: of one that mail to it is passed on to. A
 * name without a domain is that of the host that reports, and the same where the local part is.
 */
export function isElsewhere(name: string, address: string): boolean {
  const domain = address.slice(address.lastIndexOf('@'))
  const own = addressKey(address)
  return spellingsOf(name).every(
    (spelling) => addressKey(spelling.includes('@') ? spelling : `${spelling}${domain}`) !== own,
  )
}

/** What the name may stand for. As it stands comes first: what looks like xtext may be a tag. */
export function spellingsOf(name: string): string[] {
  const bare = name.trim().replace(/^<(.*)>$/s, '$1')
  const address = bare.replace(/^(?:rfc822|utf-8)\s*;\s*/i, '').replace(/^<(.*)>$/s, '$1')
  const decoded = address.replace(/\+([0-9A-F]{2})/g, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  )
  return [bare, address, decoded]
}

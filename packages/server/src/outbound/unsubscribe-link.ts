// Links to unsubscribe: whoever holds one may have the address that the message went to put on the
// suppression list of the account that sent it. Sealed, so that a link tells nobody whose it is, and
// nobody makes another's. One holds for good: mail is read years later.

import type { Sealer } from '#platform/seal.ts'

/** Of a token in a link to unsubscribe: one for the longest address has some 600. */
const UNSUBSCRIBE_TOKEN_LENGTH_MAX = 1_000

export type Unsubscription = {
  accountId: string
  /** The recipient, as the send had it. */
  address: string
  messageId: string
}

const CONTEXT = 'unsubscribe'

/** Absolute; with another token each time. */
export function unsubscribeUrl(
  { publicUrl, sealer }: { publicUrl: string; sealer: Sealer },
  { accountId, address, messageId }: Unsubscription,
): string {
  const plain = Buffer.from(JSON.stringify({ accountId, address, messageId }))
  const token = Buffer.from(sealer.seal(plain, CONTEXT)).toString('base64url')
  return `${publicUrl}/unsubscribe/${token}`
}

/** Null for a token that this service did not make, or that is not exactly as it made it. */
export function readUnsubscribeToken(sealer: Sealer, token: string): Unsubscription | null {
  if (token.length > UNSUBSCRIBE_TOKEN_LENGTH_MAX) return null
  const sealed = Buffer.from(token, 'base64url')
  // Decoding passes over what is no base64url.
  if (sealed.toString('base64url') !== token) return null
  const plain = sealer.open(sealed, CONTEXT)
  if (plain === null) return null
  return JSON.parse(Buffer.from(plain).toString()) as Unsubscription
}

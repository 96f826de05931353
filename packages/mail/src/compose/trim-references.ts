// The identifiers of a thread as a References field can carry them (RFC 5322 §3.6.4).

import { HEADER_WORD_LENGTH_MAX } from './header-text.ts'

/** Of a composed header section in octets: servers refuse larger ones (Postfix cuts at 100 KiB). */
export const COMPOSED_HEADER_OCTETS_MAX = 64 * 1024

/** For what is the same for all messages: date, identifier, MIME, List-Unsubscribe, signatures. */
const OTHER_FIELDS_OCTETS = 6 * 1024

/**
 * `ids`, oldest first, without repetitions and without those that no header can hold: longer than
 * HEADER_WORD_LENGTH_MAX or outside ASCII. The last one stays the last, for it names the parent. Where
 * the header would pass COMPOSED_HEADER_OCTETS_MAX with them, the first and the newest stay. `texts`: what
 * else the header says, of any length.
 */
export function trimReferences(ids: readonly string[], texts: readonly string[] = []): string[] {
  const parent = ids.at(-1)
  const unique = new Set(ids.filter((id) => id !== parent && isSendable(id)))
  if (parent !== undefined && isSendable(parent)) unique.add(parent)
  const [root, ...others] = unique
  if (root === undefined) return []
  const newest: string[] = []
  let octets = OTHER_FIELDS_OCTETS + octetsOf(root)
  for (const text of texts) octets += ENCODED_SIZE * Buffer.byteLength(text)
  for (const id of others.reverse()) {
    octets += octetsOf(id)
    if (octets > COMPOSED_HEADER_OCTETS_MAX && newest.length > 0) break
    newest.push(id)
  }
  return [root, ...newest.reverse()]
}

/** An octet of text takes no more in encoded words, folds and marks included. */
const ENCODED_SIZE = 2

/** With a line of its own. */
function octetsOf(id: string): number {
  return id.length + 3
}

function isSendable(id: string): boolean {
  return id.length <= HEADER_WORD_LENGTH_MAX && /^[\x21-\x7e]+$/.test(id)
}

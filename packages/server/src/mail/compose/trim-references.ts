// The identifiers of a thread as a References field can carry them (RFC 5322 §3.6.4).

import {
  HEADER_WORD_LENGTH_MAX,
  REFERENCES_SENT_MAX,
  REFERENCES_SENT_OCTETS_MAX,
} from '#base/limits.ts'

/**
 * `ids`, oldest first, without repetitions and without those that no header can hold: longer than
 * HEADER_WORD_LENGTH_MAX or outside ASCII. The last one stays the last, for it names the parent. Of
 * more than REFERENCES_SENT_MAX, or REFERENCES_SENT_OCTETS_MAX with a space each, the first and the
 * newest stay.
 */
export function trimReferences(ids: readonly string[]): string[] {
  const parent = ids.at(-1)
  const unique = new Set(ids.filter((id) => id !== parent && isSendable(id)))
  if (parent !== undefined && isSendable(parent)) unique.add(parent)
  const [root, ...others] = unique
  if (root === undefined) return []
  const newest: string[] = []
  let octets = root.length + 1
  for (const id of others.reverse()) {
    octets += id.length + 1
    if (octets > REFERENCES_SENT_OCTETS_MAX || newest.length + 1 >= REFERENCES_SENT_MAX) break
    newest.push(id)
  }
  return [root, ...newest.reverse()]
}

function isSendable(id: string): boolean {
  return id.length <= HEADER_WORD_LENGTH_MAX && /^[\x21-\x7e]+$/.test(id)
}

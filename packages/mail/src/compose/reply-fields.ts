import { HEADER_WORD_LENGTH_MAX } from './header-text.ts'

const SUBJECT_LENGTH_MAX = 998

/** `Re:`, `RE :`, `Re[2]:`, `Re^2:`, any number of them. */
const PREFIXES = /^(?:\s*re\s{0,3}(?:\[\d{1,9}\]|\^\d{1,9}|\(\d{1,9}\))?\s{0,3}[:：])+\s*/i

/** `Re: ` and the thread's subject without its own; at most SUBJECT_LENGTH_MAX UTF-16 units. */
export function replySubject(threadSubject: string): string {
  const subject = `Re: ${threadSubject.replace(PREFIXES, '').trim()}`.slice(0, SUBJECT_LENGTH_MAX)
  // Not within a character.
  return subject.replace(/[\ud800-\udbff]$/, '').trimEnd()
}

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

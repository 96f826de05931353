// The subject of a reply. Knows the marks of a reply in English only, as `Re:` is meant to be Latin
// (RFC 5322 §3.6.5); those of other languages stay.

const SUBJECT_LENGTH_MAX = 998

/** `Re:`, `RE :`, `Re[2]:`, `Re^2:`, any number of them. */
const PREFIXES = /^(?:\s*re\s{0,3}(?:\[\d{1,9}\]|\^\d{1,9}|\(\d{1,9}\))?\s{0,3}[:：])+\s*/i

/** `Re: ` and the thread's subject without its own; at most SUBJECT_LENGTH_MAX UTF-16 units. */
export function replySubject(threadSubject: string): string {
  const subject = `Re: ${threadSubject.replace(PREFIXES, '').trim()}`.slice(0, SUBJECT_LENGTH_MAX)
  // Not within a character.
  return subject.replace(/[\ud800-\udbff]$/, '').trimEnd()
}

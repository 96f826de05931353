import { domainToASCII } from 'node:url'
import { cleanText } from '#charset.ts'

/** RFC 5322 §2.1.1 allows lines of 998 characters; the rest is reserved for the field name. */
export const HEADER_WORD_LENGTH_MAX = 900

/** The recommended maximum of a line, without its CRLF (RFC 5322 §2.1.1). */
const LINE_LENGTH = 78
/** Characters between the delimiters; with a field name of 12 the word ends before column 76. */
const ENCODED_LENGTH_MAX = 52
const CONTROLS = /[\p{Cc}\u2028\u2029]/gu
const SPACE_CONTROLS = /[\t\n\v\f\r\u0085\u2028\u2029]+/g
const PRINTABLE = /^[\x20-\x7e]*$/

/**
 * `text` on one line, trimmed. Tabs and every character that some readers treat as a line end (CR,
 * LF, VT, FF, U+0085, U+2028, U+2029) become spaces. Other control characters are removed, and lone
 * surrogates replaced.
 */
export function singleLine(text: string): string {
  return cleanText(text.replace(SPACE_CONTROLS, ' ').replace(CONTROLS, '')).trim()
}

/**
 * The unstructured field `name: text`, folded, without its last CRLF. The text decodes to exactly
 * `singleLine(text)`. It is encoded if it is not ASCII, looks encoded, or has a word too long for a
 * line.
 */
export function textField(name: string, text: string): string {
  const line = singleLine(text)
  if (isSafeAsIs(line)) return fold(name, line.match(/ *[^ ]+/g) ?? [])
  return `${name}: ${encodeWords(line)}`
}

/** Whether `line` can be folded and keeps its meaning without encoding. */
function isSafeAsIs(line: string): boolean {
  return PRINTABLE.test(line) && !line.includes('=?') && !hasLongWord(line)
}

/**
 * Writes `name:` and the pieces, with a line end before each piece that would exceed the line
 * length. Each piece includes the white space before it.
 */
export function fold(name: string, pieces: readonly string[]): string {
  let text = `${name}:`
  let column = text.length
  for (const piece of pieces) {
    const spaced = piece.startsWith(' ') ? piece : ` ${piece}`
    if (column + spaced.length > LINE_LENGTH && column > name.length + 1) {
      text += '\r\n'
      column = 0
    }
    text += spaced
    // A piece may contain line ends.
    const lineEnd = spaced.lastIndexOf('\n')
    column = lineEnd < 0 ? column + spaced.length : spaced.length - lineEnd - 1
  }
  return text
}

/**
 * Encodes `text` as UTF-8 words in Q or B, whichever is shorter, one per line. Uses only characters
 * that are also allowed in a phrase (RFC 2047 §5 (3)).
 */
function encodeWords(text: string): string {
  const octets = Buffer.byteLength(text)
  const qLength = qLengthOf(text)
  const isBase64 = qLength > Math.ceil(octets / 3) * 4
  const lengthOf = isBase64 ? base64LengthOf : qLengthOf
  const words: string[] = []
  let word = ''
  let length = 0
  for (const character of text) {
    const added = lengthOf(character)
    if (length + added > ENCODED_LENGTH_MAX && word !== '') {
      words.push(encodeWord(word, isBase64))
      word = ''
      length = 0
    }
    word += character
    length += added
  }
  words.push(encodeWord(word, isBase64))
  return words.join('\r\n ')
}

function encodeWord(text: string, isBase64: boolean): string {
  const octets = Buffer.from(text, 'utf8')
  return isBase64 ? `=?UTF-8?B?${octets.toString('base64')}?=` : `=?UTF-8?Q?${encodeQ(octets)}?=`
}

function encodeQ(octets: Buffer): string {
  let text = ''
  for (const octet of octets) {
    const character = String.fromCharCode(octet)
    if (octet === 0x20) text += '_'
    else if (Q_PLAIN.test(character)) text += character
    else text += `=${octet.toString(16).toUpperCase().padStart(2, '0')}`
  }
  return text
}

const Q_PLAIN = /^[A-Za-z0-9!*+\-/]$/

function qLengthOf(text: string): number {
  let length = 0
  for (const character of text) {
    length += character === ' ' || Q_PLAIN.test(character) ? 1 : 3 * Buffer.byteLength(character)
  }
  return length
}

/** Padding is excluded, because it occurs once per word and always fits. */
function base64LengthOf(character: string): number {
  return (Buffer.byteLength(character) * 4) / 3
}

function hasLongWord(line: string): boolean {
  if (line.length <= HEADER_WORD_LENGTH_MAX) return false
  return line.split(' ').some((word) => word.length > HEADER_WORD_LENGTH_MAX)
}

export type OutgoingMailbox = { readonly name: string | null; readonly address: string }

/**
 * `name: mailbox, mailbox`, folded, without its last CRLF. Display names are quoted or encoded, and
 * addresses are written by `writeAddress`. Throws a RangeError for an address too long for a line,
 * which the API refuses earlier.
 */
export function addressField(name: string, mailboxes: readonly OutgoingMailbox[]): string {
  const last = mailboxes.length - 1
  const pieces = mailboxes.map(
    (mailbox, index) => `${writeMailbox(mailbox)}${index < last ? ',' : ''}`,
  )
  return fold(name, pieces)
}

/**
 * `local-part@domain` with the domain in A-labels; a local part outside ASCII is unchanged (RFC
 * 6532). White space and control characters are removed. A local part that is neither a dot-string
 * nor a quoted string is quoted, and characters that are invalid in a domain are dropped.
 */
export function writeAddress(address: string): string {
  const line = singleLine(address)
  const at = line.lastIndexOf('@')
  if (at < 0) return writeLocalPart(line)
  return `${writeLocalPart(line.slice(0, at))}@${writeDomain(line.slice(at + 1))}`
}

/** Whether the address needs a server that accepts UTF-8 in headers (RFC 6531). */
export function isInternational(address: string): boolean {
  return /[^\x00-\x7f]/.test(writeAddress(address))
}

const ATOM = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~\\u0080-\\u{10ffff}-]"
const DOT_STRING = new RegExp(`^${ATOM}+(?:\\.${ATOM}+)*$`, 'u')
const QUOTED_STRING = /^"(?:[^"\\]|\\.)*"$/u
const UNSEEN = /(?!\x20)[\p{White_Space}\p{Bidi_Control}]/gu
const PHRASE = /^[A-Za-z0-9!#$%&'*+/?^_`{|}~-]+(?: [A-Za-z0-9!#$%&'*+/?^_`{|}~-]+)*$/
/** A quoted string is never folded, so longer names are encoded instead. */
const QUOTED_NAME_LENGTH_MAX = 60

function writeMailbox({ name, address }: OutgoingMailbox): string {
  const written = writeAddress(address)
  if (Buffer.byteLength(written) > HEADER_WORD_LENGTH_MAX) throw new RangeError('address too long')
  const displayName = singleLine(name ?? '')
  return displayName === '' ? written : `${writePhrase(displayName)} <${written}>`
}

function writePhrase(name: string): string {
  if (!isSafeAsIs(name) || name.length > QUOTED_NAME_LENGTH_MAX) return encodeWords(name)
  return PHRASE.test(name) ? name : quote(name)
}

function writeLocalPart(localPart: string): string {
  const visible = localPart.replace(UNSEEN, '')
  return DOT_STRING.test(visible) || QUOTED_STRING.test(visible) ? visible : quote(visible)
}

function writeDomain(domain: string): string {
  if (/^\[[\x21-\x5a\x5e-\x7e]*\]$/.test(domain)) return domain
  // ASCII names are unchanged, because the URL parser would take some for IPv4 addresses.
  const ascii = /[^\x00-\x7f]/.test(domain) ? domainToASCII(domain) : domain
  return ascii.replace(/[^A-Za-z0-9._:-]/g, '')
}

function quote(text: string): string {
  return `"${text.replace(/[\\"]/g, '\\$&')}"`
}

const SUBJECT_LENGTH_MAX = 998

/** Matches `Re:`, `RE :`, `Re[2]:` and `Re^2:`, repeated any number of times. */
const PREFIXES = /^(?:\s*re\s{0,3}(?:\[\d{1,9}\]|\^\d{1,9}|\(\d{1,9}\))?\s{0,3}[:：])+\s*/i

/** `Re: ` and the subject without reply prefixes, at most SUBJECT_LENGTH_MAX UTF-16 units long. */
export function replySubject(threadSubject: string): string {
  return bounded(`Re: ${threadSubject.replace(PREFIXES, '').trim()}`)
}

/** Matches reply and forward prefixes in any order, up to the last forward prefix. */
const UP_TO_FORWARD =
  /^(?:\s*(?:re|fwd?)\s{0,3}(?:\[\d{1,9}\]|\^\d{1,9}|\(\d{1,9}\))?\s{0,3}[:：])*\s*fwd?\s{0,3}[:：]\s*/i

/**
 * `Fwd: ` and the subject without forward prefixes, at most SUBJECT_LENGTH_MAX UTF-16 units long.
 */
export function forwardSubject(subject: string): string {
  return bounded(`Fwd: ${subject.replace(UP_TO_FORWARD, '').trim()}`)
}

function bounded(subject: string): string {
  // The cut may have split a surrogate pair.
  return subject
    .slice(0, SUBJECT_LENGTH_MAX)
    .replace(/[\ud800-\udbff]$/, '')
    .trimEnd()
}

/** Size limit of a composed header; servers refuse larger ones (Postfix cuts at 100 KiB). */
export const COMPOSED_HEADER_OCTETS_MAX = 64 * 1024

/**
 * Reserved for the fields of every message: date, identifier, MIME, List-Unsubscribe, signatures.
 */
const OTHER_FIELDS_OCTETS = 6 * 1024

/**
 * Removes duplicates from `ids` (oldest first), and identifiers that are longer than
 * HEADER_WORD_LENGTH_MAX or outside ASCII. The last identifier stays last, because it names the
 * parent. If the header would exceed COMPOSED_HEADER_OCTETS_MAX, the first and the newest
 * identifiers are kept. `texts` are the other texts of the header, of any length.
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

/** Maximum octets per octet of text in encoded words, with folds and delimiters. */
const ENCODED_SIZE = 2

/** Size of the identifier on a line of its own. */
function octetsOf(id: string): number {
  return id.length + 3
}

function isSendable(id: string): boolean {
  return id.length <= HEADER_WORD_LENGTH_MAX && /^[\x21-\x7e]+$/.test(id)
}

// Results of SPF, DKIM and DMARC for an incoming message (RFC 8601 §2.7), and the header fields
// they depend on.

import { ADDRESS_TEXT_LENGTH_MAX } from './address-list.ts'
import { bufferOf, cleanLine } from './charset.ts'
import { decodeWords } from './encoded-word.ts'
import { HEADER_BYTES_MAX, HEADER_FIELDS_MAX } from './header-fields.ts'

/** The result of a check. `temperror` is a DNS error or a timeout, never the sender's fault. */
export type AuthenticationResult =
  | 'none'
  | 'pass'
  | 'fail'
  | 'softfail'
  | 'neutral'
  | 'policy'
  | 'temperror'
  | 'permerror'

export type SpfResult = {
  readonly result: AuthenticationResult
  /** The domain of the reverse-path, or of EHLO for a null reverse-path (RFC 7208 §2.4). */
  readonly domain: string | null
}

export type DkimResult = {
  readonly result: AuthenticationResult
  readonly domain: string | null
  readonly selector: string | null
}

export type DmarcResult = {
  readonly result: AuthenticationResult
  /** The policy that the domain publishes; null if it has no DMARC record. */
  readonly policy: 'none' | 'quarantine' | 'reject' | null
  readonly domain: string | null
}

export type Authentication = {
  readonly spf: SpfResult
  /** One entry per signature, in header order. */
  readonly dkim: readonly DkimResult[]
  readonly dmarc: DmarcResult
  /** The result for the ARC chain (RFC 8617). */
  readonly arc: { readonly result: AuthenticationResult }
  /** Whether SPF or DKIM passed for a domain aligned with the single From address. */
  readonly verifiedFrom: boolean
}

export const SIGNATURES_SHOWN_MAX = 30
/** Maximum characters of a sender's domain or selector. */
export const IDENTIFIER_LENGTH_MAX = 253
/**
 * Bounds on a header section whose signatures are checked. The verifier takes quadratic time in the
 * number of lines, consecutive white space with line ends, carriage returns without a line feed,
 * and characters of a From field.
 */
const SIGNATURE_HEADER_LINES_MAX = 2_000
const SIGNATURE_SPACE_LENGTH_MAX = 250
const SIGNATURE_LONE_RETURNS_MAX = 100
const SIGNATURE_FROM_LENGTH_MAX = 16 * 1024

export type SignatureFields = {
  readonly count: number
  /** The claimed signers of the first SIGNATURES_SHOWN_MAX signatures. */
  readonly signers: readonly { readonly domain: string | null; readonly selector: string | null }[]
  /** Whether ARC fields (RFC 8617) are present. */
  readonly hasArc: boolean
  /** Number of fields that any reader could take for From, including malformed ones. */
  readonly fromCount: number
  /** Whether the section is within HEADER_BYTES_MAX and HEADER_FIELDS_MAX. */
  readonly isReadable: boolean
  /** Whether the section is readable and within the SIGNATURE_…_MAX bounds, so checking is fast. */
  readonly isCheckable: boolean
}

const FIELD =
  /(?<![^\n])(dkim-signature|arc-(?:seal|message-signature|authentication-results))[ \t\r\n]*:/gi

/**
 * White space before the first field is not a continuation line. A line that starts with a colon
 * may belong to the name on the line before.
 */
const FROM = /(?:^[ \t]*|\n)from[ \t\r\n]*:/gi

/** Never throws. If the section is not readable, only its first HEADER_BYTES_MAX are searched. */
export function readSignatureFields(raw: Uint8Array): SignatureFields {
  const bytes = bufferOf(raw)
  const { section, isWhole } = headerSection(bytes)
  const signers: { domain: string | null; selector: string | null }[] = []
  let count = 0
  let hasArc = false
  for (const match of section.matchAll(FIELD)) {
    if (match[1]?.length !== 'dkim-signature'.length) {
      hasArc = true
      continue
    }
    count += 1
    if (count > SIGNATURES_SHOWN_MAX) continue
    const field = fieldAt(section, match.index + match[0].length)
    signers.push({ domain: tag(field, 'd'), selector: tag(field, 's') })
  }
  const authors = [...section.matchAll(FROM)].map(({ index }) => index + 1)
  const fromCount = authors.length
  const { hasFewFields, isSimple } = measure(section)
  const isReadable = isWhole && hasFewFields
  const isCheckable = isReadable && isSimple && authors.every((at) => hasShortField(section, at))
  return { count, signers, hasArc, fromCount, isReadable, isCheckable }
}

/** An identifier for display: lower case, bounded, null if empty. */
export function cleanIdentifier(text: string | null | undefined): string | null {
  const clean = cleanLine(text ?? '')
    .toLowerCase()
    .slice(0, IDENTIFIER_LENGTH_MAX)
  return clean === '' ? null : clean
}

function headerSection(bytes: Buffer): { section: string; isWhole: boolean } {
  const head = bytes.toString('latin1', 0, HEADER_BYTES_MAX)
  const end = /^\r?\n|\n\r?\n/.exec(head)
  if (end !== null) return { section: head.slice(0, end.index + 1), isWhole: true }
  return { section: head, isWhole: bytes.length <= HEADER_BYTES_MAX }
}

function measure(section: string): { hasFewFields: boolean; isSimple: boolean } {
  let [lines, fields, space, spaceMax, returns] = [0, 0, 0, 0, 0]
  let isLineStart = true
  for (let at = 0; at < section.length; at += 1) {
    const code = section.charCodeAt(at)
    const isSpace = code === 0x20 || code === 0x09
    if (isLineStart) {
      lines += 1
      if (!isSpace) fields += 1
    }
    isLineStart = code === 0x0a
    if (code === 0x0d && section.charCodeAt(at + 1) !== 0x0a) returns += 1
    space = isSpace || code === 0x0d || isLineStart ? space + 1 : 0
    if (space > spaceMax) spaceMax = space
  }
  const isSimple =
    lines <= SIGNATURE_HEADER_LINES_MAX &&
    spaceMax <= SIGNATURE_SPACE_LENGTH_MAX &&
    returns <= SIGNATURE_LONE_RETURNS_MAX
  return { hasFewFields: fields <= HEADER_FIELDS_MAX, isSimple }
}

function hasShortField(section: string, start: number): boolean {
  return fieldAt(section, start).length <= SIGNATURE_FROM_LENGTH_MAX
}

function fieldAt(section: string, start: number): string {
  const end = /\n(?![ \t])/g
  end.lastIndex = start
  return section.slice(start, end.exec(section)?.index)
}

function tag(field: string, name: 'd' | 's'): string | null {
  for (const part of field.split(';')) {
    const at = part.indexOf('=')
    if (at >= 0 && part.slice(0, at).trim() === name) {
      return cleanIdentifier(part.slice(at + 1).replace(/[\r\n\t ]+/g, ''))
    }
  }
  return null
}

const LF = 0x0a
const CR = 0x0d
const SPACE = 0x20
const TAB = 0x09
const COLON = 0x3a

/**
 * Removes Authentication-Results fields that claim to be ours; returns the same octets if there are
 * none. `isOurs` is called with every text that a reader could take for a field's authserv-id, in
 * lower case and without a trailing dot. Everything else is unchanged, including fields that start
 * beyond HEADER_BYTES_MAX. Runs in linear time.
 */
export function withoutClaimedResults(
  raw: Uint8Array,
  isOurs: (authservId: string) => boolean,
): Uint8Array {
  const bytes = bufferOf(raw)
  const limit = Math.min(bytes.length, HEADER_BYTES_MAX)
  const kept: Buffer[] = []
  let keptFrom = 0
  let start = 0
  while (start < limit && !isEmptyLine(bytes, start)) {
    const { colon, end } = readField(bytes, start)
    if (isResults(bytes.subarray(start, Math.max(start, colon)))) {
      const value = bytes.toString('utf8', colon + 1, Math.min(end, colon + 1 + HEADER_BYTES_MAX))
      if (readAuthservIds(value).some(isOurs)) {
        kept.push(bytes.subarray(keptFrom, start))
        keptFrom = end
      }
    }
    start = end
  }
  return keptFrom === 0 ? raw : Buffer.concat([...kept, bytes.subarray(keptFrom)])
}

const NAME = 'authentication-results'

/**
 * Whether any reader could take `name` for Authentication-Results; characters that are invalid in a
 * name are ignored.
 */
function isResults(name: Buffer): boolean {
  if (name.length < NAME.length || name.length > HEADER_BYTES_MAX) return false
  const text = name.toString('latin1').replace(/[^\x21-\x7e]/g, '')
  return text.replace(/\([^()]*\)/g, '').toLowerCase() === NAME
}

/**
 * The texts that a reader could take for the authserv-id (RFC 8601 §2.2), without comments,
 * folding, control characters and quotes. A well-formed value has one such text; ambiguous or
 * unclosed comments yield several.
 */
export function readAuthservIds(value: string): string[] {
  const nested = withoutComments(value)
  const flat = value.replace(/\([^()]*\)/g, ' ')
  const ids = new Set(wordsOf(nested.text, nested.isClosed ? 1 : WORDS_MAX))
  for (const id of wordsOf(flat.replace(/[()]/g, ' '), flat.includes('(') ? WORDS_MAX : 1))
    ids.add(id)
  return [...ids]
}

const WORDS_MAX = 50

function wordsOf(text: string, count: number): string[] {
  const start = text.slice(0, TEXT_READ).replace(/[\x00-\x08\x0e-\x1f\x7f"\\]/g, '')
  const [id = ''] = decodeWords(start.replace(/^[\s;,]+/, '')).split(';')
  const words = id.replace(/\s*\.\s*/g, '.').split(/[\s,=/]+/)
  return words
    .map((word) => word.toLowerCase().replace(/\.$/, ''))
    .filter((word) => word !== '')
    .slice(0, count)
}

/** Characters examined after comments are removed; no authserv-id is longer. */
const TEXT_READ = ADDRESS_TEXT_LENGTH_MAX

/** `value` without comments (RFC 5322 §3.2.2); the content of an unclosed comment is kept. */
function withoutComments(value: string): { text: string; isClosed: boolean } {
  const pieces: string[] = []
  let depth = 0
  let from = 0
  for (let at = 0; at < value.length; at += 1) {
    const character = value[at]
    if (character === '\\') at += 1
    else if (character === '(') {
      if (depth === 0) {
        pieces.push(value.slice(from, at))
        from = at + 1
      }
      depth += 1
    } else if (character === ')' && depth > 0) {
      depth -= 1
      if (depth === 0) from = at + 1
    }
  }
  const rest = value.slice(from)
  pieces.push(depth === 0 ? rest : rest.replace(/[()]/g, ' '))
  return { text: pieces.join(' '), isClosed: depth === 0 }
}

/**
 * Reads a field with its continuation lines. The name extends to the colon, even if the colon
 * starts a line.
 */
function readField(bytes: Buffer, start: number): { colon: number; end: number } {
  let colon = -1
  for (let at = start; at < bytes.length; at += 1) {
    const octet = bytes[at]
    if (octet === COLON && colon < 0) colon = at
    if (octet !== LF) continue
    const next = bytes[at + 1]
    if (next === SPACE || next === TAB || (next === COLON && colon < 0)) continue
    return { colon, end: at + 1 }
  }
  return { colon, end: bytes.length }
}

function isEmptyLine(bytes: Buffer, at: number): boolean {
  return bytes[at] === LF || (bytes[at] === CR && bytes[at + 1] === LF)
}

// Which signatures a message bears, and how many authors, by a look at its header section that takes the
// widest view of what a field is; whether the signatures are good is for others to say.

import { cleanLine } from './charset.ts'
import { HEADER_BYTES_MAX } from './claimed-results.ts'
import { HEADER_FIELDS_MAX } from './header-fields.ts'

/** Shown of a message's signatures; those past it are not told of. */
export const SIGNATURES_SHOWN_MAX = 30
/** Read of the value of an identifier of a sender, in characters: a domain, or a selector before one. */
export const IDENTIFIER_LENGTH_MAX = 253
/**
 * What signatures are checked in; beyond it their verifier takes time that grows with the square. Lines of
 * the header section; white space in one stretch of it, with the line ends, and carriage returns of their
 * own, which no mail has; From fields; names in h=; ways to hash the body, of which real mail uses two;
 * octets of a line of the body, and its lines, of which 30 MiB in base64 have 400,000.
 */
const SIGNATURE_HEADER_LINES_MAX = 2_000
const SIGNATURE_SPACE_LENGTH_MAX = 250
const SIGNATURE_LONE_RETURNS_MAX = 100
const SIGNATURE_FROM_LENGTH_MAX = 16 * 1024

export type SignatureFields = {
  /** DKIM-Signature fields, however many. */
  readonly count: number
  /** Who says to have signed, of the first SIGNATURES_SHOWN_MAX. */
  readonly signers: readonly { readonly domain: string | null; readonly selector: string | null }[]
  /** Whether there are fields of RFC 8617. */
  readonly hasArc: boolean
  /** What any reader could take for a From field, malformed ones included. */
  readonly fromCount: number
  /** Whether the header section is within HEADER_BYTES_MAX and HEADER_FIELDS_MAX, so that all of it is read. */
  readonly isReadable: boolean
  /** Whether that, and nothing in it keeps who checks signatures busy (the bounds of SIGNATURE_…_MAX). */
  readonly isCheckable: boolean
}

const FIELD =
  /(?<![^\n])(dkim-signature|arc-(?:seal|message-signature|authentication-results))[ \t\r\n]*:/gi

/** White space before the first field continues nothing; a line that begins with a colon may belong to the one before. */
const FROM = /(?:^[ \t]*|\n)from[ \t\r\n]*:/gi

/** Never throws. Fields of a header section that is not readable are looked for as far as it is. */
export function readSignatureFields(raw: Uint8Array): SignatureFields {
  const bytes = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength)
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

/** For display: lower case, bounded, null where there is nothing to show. */
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

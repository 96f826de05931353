import type { Mailbox } from '#mime/parsed-message.ts'
import { cleanLine } from './charset.ts'
import { decodeWords } from './encoded-word.ts'

/** Longer text (in characters) is never an address and is not scanned for quoted strings. */
export const ADDRESS_TEXT_LENGTH_MAX = 1_000

/**
 * Parses the mailboxes of an address field in order, including the members of groups. Names without
 * an address are skipped, and a bare local part is accepted only in angle brackets
 * (`<MAILER-DAEMON>`). Text in a quoted string or comment never becomes an address (RFC 5322
 * §3.4.1). Never throws and runs in linear time: the text after an unclosed quote, comment or
 * bracket is plain text.
 */
export function parseAddressList(field: string): Mailbox[] {
  const reader = new AddressReader(field)
  reader.read()
  return reader.mailboxes
}

/**
 * Formats `Name <address>`, or the bare address without a name. A name with special characters is
 * quoted, so `parseAddressList` reads the same mailbox back.
 */
export function formatMailbox({ name, address }: Mailbox): string {
  if (name === '') return address
  const isPlain = !/[()<>[\]:;@\\,."]/.test(name) && !name.includes('=?')
  return `${isPlain ? name : quote(name)} <${address}>`
}

class AddressReader {
  readonly mailboxes: Mailbox[] = []
  readonly #field: string
  #position = 0
  #hasQuotes = true
  #hasComments = true
  #hasBrackets = true
  /** False once a strict search for a closing bracket has failed. */
  #isExact = true
  /** Tokens of the current mailbox; a quoted token cannot be an address. */
  #tokens: Token[] = []
  #comments: string[] = []
  #angle: string | null = null
  #isGapBefore = false

  constructor(field: string) {
    this.#field = field
  }

  read(): void {
    const field = this.#field
    while (this.#position < field.length) {
      const character = field[this.#position]
      switch (character) {
        case '"':
          this.#readQuoted()
          break
        case '(':
          this.#readComment()
          break
        case '<':
          this.#readAngle()
          break
        case ',':
        case ';':
          this.#finish()
          this.#position += 1
          break
        case ':':
          this.#readColon()
          break
        case ' ':
        case '\t':
        case '\r':
        case '\n':
          this.#isGapBefore = true
          this.#position += 1
          break
        default:
          this.#readAtoms()
      }
    }
    this.#finish()
  }

  #readAtoms(): void {
    ATOM_END.lastIndex = this.#position + 1
    const end = ATOM_END.exec(this.#field)?.index ?? this.#field.length
    this.#push(this.#field.slice(this.#position, end), false)
    this.#position = end
  }

  #push(text: string, isQuoted: boolean): void {
    const last = this.#tokens.at(-1)
    if (last !== undefined && !this.#isGapBefore) {
      // `"john doe"@example.com`: a quoted local part joins the atom that follows it.
      const isLocalPart = last.isQuoted && !isQuoted && text.startsWith('@')
      if (isLocalPart) {
        last.text = `${quote(last.text)}${text}`
        last.isQuoted = false
        return
      }
      if (last.isQuoted === isQuoted && !isQuoted) {
        last.text += text
        return
      }
    }
    this.#tokens.push({ text, isQuoted })
    this.#isGapBefore = false
  }

  #readQuoted(): void {
    const end = this.#hasQuotes ? closingQuote(this.#field, this.#position + 1) : -1
    if (end < 0) {
      this.#hasQuotes = false
      this.#position += 1
      return
    }
    const text = this.#field.slice(this.#position + 1, end).replace(/\\(.)/gs, '$1')
    this.#push(text, true)
    this.#position = end + 1
  }

  #readComment(): void {
    const end = this.#hasComments ? closingComment(this.#field, this.#position) : -1
    if (end < 0) {
      this.#hasComments = false
      // An opening parenthesis ends the preceding address even if the comment is never closed.
      this.#isGapBefore = true
      this.#push('(', false)
      this.#position += 1
      return
    }
    const text = this.#field.slice(this.#position + 1, end).replace(/\\(.)/gs, '$1')
    this.#comments.push(text)
    this.#isGapBefore = true
    this.#position = end + 1
  }

  #readAngle(): void {
    const start = this.#position + 1
    const close = this.#hasBrackets ? this.#field.indexOf('>', start) : -1
    this.#isGapBefore = true
    if (close < 0) {
      this.#hasBrackets = false
      this.#position = start
      return
    }
    const mayClose = this.#hasComments
    const exact = this.#isExact ? readAngle(this.#field, { start, close, mayClose }) : null
    // A failed search is not repeated, because each one may scan to the end of the field.
    this.#isExact = exact !== null
    if (exact?.hasOpenComment) this.#hasComments = false
    const angle =
      exact ?? readAngle(this.#field.slice(0, close + 1), { start, close, mayClose: true })
    this.#angle ??= angle?.text ?? ''
    this.#position = (angle?.close ?? close) + 1
  }

  /** A colon starts a group (`group: member, member;`) unless the text before it is an address. */
  #readColon(): void {
    this.#position += 1
    if (this.#tokens.some((token) => !token.isQuoted && token.text.includes('@'))) {
      this.#push(':', false)
      return
    }
    this.#clear()
  }

  #finish(): void {
    const mailbox = this.#angle === null ? this.#bareMailbox() : this.#angleMailbox(this.#angle)
    if (mailbox !== null) this.mailboxes.push(mailbox)
    this.#clear()
  }

  #clear(): void {
    if (this.#tokens.length > 0) this.#tokens = []
    if (this.#comments.length > 0) this.#comments = []
    this.#angle = null
    this.#isGapBefore = false
  }

  #angleMailbox(angle: string): Mailbox | null {
    const address = cleanAddress(angle)
    if (address === '') return this.#bareMailbox()
    return { name: this.#displayName(this.#tokens), address }
  }

  #bareMailbox(): Mailbox | null {
    const tokens = joinSigns(this.#tokens)
    const index = tokens.findLastIndex((token) => !token.isQuoted && /[^@]@[^@]/.test(token.text))
    const token = tokens[index]
    if (token === undefined) return null
    const rest = tokens.filter((_, position) => position !== index)
    return { name: this.#displayName(rest), address: cleanAddress(token.text) }
  }

  #displayName(tokens: readonly { text: string }[]): string {
    const phrase = tokens.map((token) => token.text).join(' ')
    const name = phrase === '' ? this.#comments.join(' ') : phrase
    return cleanLine(decodeWords(name))
  }
}

type Token = { text: string; isQuoted: boolean }

const ATOM_END = /[",;:<( \t\r\n]/g

/** Joins addresses with spaces or comments at signs: `pete @ silly . example` (RFC 5322 §4.4). */
function joinSigns(tokens: readonly Token[]): Token[] {
  const runs: { parts: Token[]; hasAt: boolean }[] = []
  for (const token of tokens) {
    const run = runs.at(-1)
    const hasAt = !token.isQuoted && token.text.includes('@')
    const last = run?.parts.at(-1)
    if (run === undefined || last === undefined || !isJoined({ last, ...run }, token)) {
      runs.push({ parts: [token], hasAt })
    } else {
      run.parts.push(token)
      run.hasAt ||= hasAt
    }
  }
  return runs.map(({ parts: [first, ...rest] }) => {
    if (first === undefined || rest.length === 0) return first ?? { text: '', isQuoted: true }
    const start = first.isQuoted ? quote(first.text) : first.text
    return { text: `${start}${rest.map(({ text }) => text).join('')}`, isQuoted: false }
  })
}

function isJoined(before: { last: Token; hasAt: boolean }, { text, isQuoted }: Token): boolean {
  if (isQuoted) return false
  if (!before.hasAt) return text.startsWith('@') || text.startsWith('.')
  // `Dr. ann@x.example`: a trailing dot joins the next word only within a domain.
  return !text.includes('@') && (text.startsWith('.') || /[@.]$/.test(before.last.text.slice(-1)))
}

function quote(text: string): string {
  return `"${text.replace(/[\\"]/g, '\\$&')}"`
}

type Angle = {
  /** The result of `cleanAddress`, or arbitrary text that is not an address. */
  readonly text: string
  readonly close: number
  /** Whether a comment is still open at the end of the field. */
  readonly hasOpenComment: boolean
}

/**
 * Parses the text after an opening bracket. `start` is the index after the bracket, and `close` is
 * the first bracket that could close it. Returns null if the bracket at `close` is inside a quoted
 * string or comment and the text does not form an address. `mayClose` is false if a search for the
 * end of a comment has already failed. An unclosed quote or comment is plain text, and a comment
 * after an address ends at the bracket.
 */
function readAngle(
  field: string,
  { start, close: first, mayClose }: { start: number; close: number; mayClose: boolean },
): Angle | null {
  let pieces: string[] = []
  let hasComments = true
  let at = start
  while (at < field.length && field[at] !== '>') {
    const sign = field[at] ?? ''
    const end = sign === '"' && isLocalPart(pieces) ? closingQuote(field, at + 1) : -1
    const commentEnd = sign === '(' && hasComments && mayClose ? closingComment(field, at) : -1
    if (end >= 0) {
      pieces.push(field.slice(at, end + 1))
      at = end + 1
    } else if (commentEnd >= 0) {
      at = commentEnd + 1
    } else if (sign === '(' && hasComments && pieces.some(hasDomain)) {
      hasComments = false
      at = first
    } else {
      if (sign === '(') hasComments = false
      // The bracket belongs to the next mailbox.
      if (sign === '<' && at > first) return null
      // In `Name < <a@b>`, the innermost brackets contain the address.
      if (sign === '<') pieces = []
      const next = nextSign(field, at + 1)
      pieces.push(field.slice(sign === '<' ? at + 1 : at, next))
      at = next
    }
  }
  const text = cleanAddress(pieces.join(''))
  const isClosed = at === first || (at < field.length && isLikeAddress(text))
  return isClosed ? { text, close: at, hasOpenComment: !hasComments } : null
}

/** Strips a source route before the address, and white space outside quotes (RFC 5322 §4.4). */
function cleanAddress(angle: string): string {
  const unrouted = angle.trimStart().startsWith('@') ? angle.slice(angle.indexOf(':') + 1) : angle
  const space = unrouted.length > ADDRESS_TEXT_LENGTH_MAX ? /\s+/g : /"(?:[^"\\]|\\.)*"|\s+/g
  const address = cleanLine(
    unrouted.replace(space, (match) => (match.startsWith('"') ? match : '')),
  )
  return address.toLowerCase().startsWith('mailto:') ? address.slice(7) : address
}

/** Index of the closing quote of the string whose content starts at `from`, or -1. */
function closingQuote(field: string, from: number): number {
  for (let position = from; position < field.length; position += 1) {
    const code = field.charCodeAt(position)
    if (code === 0x5c) position += 1
    else if (code === 0x22) return position
  }
  return -1
}

/** Index at which the comment that starts at `from` ends, including nested comments, or -1. */
function closingComment(field: string, from: number): number {
  let depth = 0
  for (let position = from; position < field.length; position += 1) {
    const code = field.charCodeAt(position)
    if (code === 0x5c) position += 1
    else if (code === 0x28) depth += 1
    else if (code === 0x29 && --depth === 0) return position
  }
  return -1
}

/**
 * Whether a quoted word of a local part is allowed here: at the start, or after a route or a dot.
 */
function isLocalPart(pieces: readonly string[]): boolean {
  const last = pieces.findLast((piece) => piece.trim() !== '')
  return last === undefined || /[.:]\s*$/.test(last.slice(-10))
}

function hasDomain(piece: string): boolean {
  return /@\s*[^\s@]/.test(piece)
}

function nextSign(field: string, from: number): number {
  SIGN.lastIndex = from
  return SIGN.exec(field)?.index ?? field.length
}

const SIGN = /["(<>]/g

function isLikeAddress(text: string): boolean {
  if (text.length > ADDRESS_TEXT_LENGTH_MAX) return false
  return /^(?:"(?:[^"\\]|\\.)*"|[^"@,;:<>()])+@[^"@,;:<>()]+$/s.test(text)
}

import type { Mailbox } from '#mime/parsed-message.ts'
import { cleanLine } from './charset.ts'
import { decodeWords } from './encoded-word.ts'

/** Characters of an address; a longer text is none, and is not searched for quoted white space. */
export const ADDRESS_TEXT_LENGTH_MAX = 1_000

/**
 * The mailboxes of a field, those of groups included, in order. Names without an address are left
 * out; a local part alone counts as an address within brackets only (`<MAILER-DAEMON>`).
 * A quoted string never becomes an address, nor is a comment ever a part of one (RFC 5322 §3.4.1).
 * Never throws; time grows with the length only: what is not closed (quote, comment, bracket) is text
 * from then on.
 */
export function parseAddressList(field: string): Mailbox[] {
  const reader = new AddressReader(field)
  reader.read()
  return reader.mailboxes
}

/**
 * `Name <address>` for display, the bare address without a name. A name with characters that the
 * syntax uses is a quoted string, so that `parseAddressList` reads the same mailbox again.
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
  /** Whether a closing bracket may stand in quotes or comments of an address. */
  #isExact = true
  /** Text of the mailbox being read, as tokens: `isQuoted` ones can not be an address. */
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
      // `"john doe"@example.com`: a local part may be quoted, and only there a quote joins an atom.
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
      // An address before it ends here all the same.
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
    // After one failed search none is tried again: each may go to the end of the field.
    this.#isExact = exact !== null
    if (exact?.hasOpenComment) this.#hasComments = false
    const angle =
      exact ?? readAngle(this.#field.slice(0, close + 1), { start, close, mayClose: true })
    this.#angle ??= angle?.text ?? ''
    this.#position = (angle?.close ?? close) + 1
  }

  /** `group: member, member;` unless the text before the colon is an address itself. */
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

/** RFC 5322 §4.4: `pete @ silly . example` with white space and comments around the signs. */
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
  // `Dr. ann@x.example`: a dot at the end is one of an address only within the domain.
  return !text.includes('@') && (text.startsWith('.') || /[@.]$/.test(before.last.text.slice(-1)))
}

function quote(text: string): string {
  return `"${text.replace(/[\\"]/g, '\\$&')}"`
}

type Angle = {
  /** The address, as `cleanAddress` leaves it; any text where it is none. */
  readonly text: string
  /** Where the bracket is that closes it. */
  readonly close: number
  /** Whether a comment was found that nothing closes up to the end of the field. */
  readonly hasOpenComment: boolean
}

/**
 * Reads the text after an opening bracket: `start` is after it, `close` is the first bracket that could close it.
 * Null where that one stands in a quoted string or comment and nothing like an address comes of it.
 * `mayClose`: false where it is known that comments are not closed, so that none is searched again.
 * A quote or comment without an end is text; a comment after an address ends with the bracket.
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
      // This bracket belongs to the next mailbox.
      if (sign === '<' && at > first) return null
      // `Name < <a@b>`: the innermost bracket holds the address.
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

/** RFC 5322 §4.4: a source route before the address is ignored; so is white space outside quotes. */
function cleanAddress(angle: string): string {
  const unrouted = angle.trimStart().startsWith('@') ? angle.slice(angle.indexOf(':') + 1) : angle
  const space = unrouted.length > ADDRESS_TEXT_LENGTH_MAX ? /\s+/g : /"(?:[^"\\]|\\.)*"|\s+/g
  const address = cleanLine(
    unrouted.replace(space, (match) => (match.startsWith('"') ? match : '')),
  )
  return address.toLowerCase().startsWith('mailto:') ? address.slice(7) : address
}

/** The end of the quoted string whose content begins at `from`; -1 where it has none. */
function closingQuote(field: string, from: number): number {
  for (let position = from; position < field.length; position += 1) {
    const code = field.charCodeAt(position)
    if (code === 0x5c) position += 1
    else if (code === 0x22) return position
  }
  return -1
}

/** The end of the comment that begins at `from`, with the comments within it; -1 where it has none. */
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

/** Whether a quoted word of a local part may follow: at the start, after a route, after a dot. */
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

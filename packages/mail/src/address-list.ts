// Address lists of RFC 5322 §3.4 with the obsolete forms of §4.4, as mail really carries them. For
// display and threads only: whether mail may go to an address is for others to say.

import type { Mailbox } from '#mime/parsed-message.ts'
import { cleanAddress, closingComment, closingQuote, readAngle } from './angle-address.ts'
import { decodeWords } from './encoded-word.ts'
import { cleanLine } from './safe-text.ts'

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
    // Looked for no more once it was in vain: the end may be far each time.
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

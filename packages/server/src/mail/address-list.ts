// Address lists of RFC 5322 §3.4 with the obsolete forms of §4.4, as mail really carries them. For
// display and threads only: whether mail may go to an address is for others to say.

import { ADDRESS_TEXT_LENGTH_MAX } from '#base/limits.ts'
import { decodeWords } from './encoded-word.ts'
import type { Mailbox } from './parsed-message.ts'
import { cleanLine } from './safe-text.ts'

/**
 * The mailboxes of a field, those of groups included, in order. Names without an address are left
 * out; a local part alone counts as an address within brackets only (`<MAILER-DAEMON>`).
 * A quoted string or comment never becomes an address. Never throws; time grows with the length
 * only: what is not closed (quote, comment, bracket) is text from then on.
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
  /** Text of the mailbox being read, as tokens: `isQuoted` ones can not be an address. */
  #tokens: { text: string; isQuoted: boolean }[] = []
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
    let end = this.#hasBrackets ? this.#field.indexOf('>', start) : -1
    if (end < 0) {
      this.#hasBrackets = false
      ANGLE_END.lastIndex = start
      end = ANGLE_END.exec(this.#field)?.index ?? this.#field.length
      this.#position = end
    } else {
      this.#position = end + 1
    }
    const content = this.#field.slice(start, end)
    // `Name < <a@b>`: the innermost bracket holds the address.
    const address = content.slice(content.lastIndexOf('<') + 1)
    this.#angle ??= address
    this.#isGapBefore = true
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
    const index = this.#tokens.findLastIndex(
      (token) => !token.isQuoted && /[^@]@[^@]/.test(token.text),
    )
    const token = this.#tokens[index]
    if (token === undefined) return this.#spacedMailbox()
    const rest = this.#tokens.filter((_, position) => position !== index)
    return { name: this.#displayName(rest), address: cleanAddress(token.text) }
  }

  /** RFC 5322 §4.4: `pete @ silly . example` with white space and comments around the signs. */
  #spacedMailbox(): Mailbox | null {
    if (this.#tokens.some((token) => token.isQuoted)) return null
    const text = this.#tokens.map((token) => token.text).join(' ')
    const address = text.replace(/ ?([@.]) ?/g, '$1')
    if (!/^[^@ ]+@[^@ ]+$/.test(address)) return null
    return { name: this.#displayName([]), address: cleanAddress(address) }
  }

  #displayName(tokens: readonly { text: string }[]): string {
    const phrase = tokens.map((token) => token.text).join(' ')
    const name = phrase === '' ? this.#comments.join(' ') : phrase
    return cleanLine(decodeWords(name))
  }
}

const ATOM_END = /[",;:<( \t\r\n]/g
const ANGLE_END = /[,; \t\r\n]/g

function quote(text: string): string {
  return `"${text.replace(/[\\"]/g, '\\$&')}"`
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

function closingQuote(field: string, from: number): number {
  for (let position = from; position < field.length; position += 1) {
    const code = field.charCodeAt(position)
    if (code === 0x5c) position += 1
    else if (code === 0x22) return position
  }
  return -1
}

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

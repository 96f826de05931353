// Parses one command line (RFC 5321 §4.1.1) into a typed command, or into the reply that rejects
// its syntax. Supports SIZE (RFC 1870), 8BITMIME (RFC 6152) and SMTPUTF8 (RFC 6531). Does not check
// the order of commands.

import { type MailboxDefect, parseMailbox } from '#address.ts'
import { type Reply, reply } from './reply.ts'

export type LineDefect =
  /** The line ended in LF without CR; the next line starts after the LF. */
  | 'bare-line-feed'
  | 'bare-carriage-return'
  /** The line contains NUL, TAB or another control character. */
  | 'control-character'
  | 'invalid-utf8'
  /** The line exceeded the limit and was skipped completely. */
  | 'too-long'
  /** The line is so long that waiting for its end would only help an attacker. */
  | 'flood'

export type DecodedLine =
  | { readonly kind: 'line'; readonly text: string }
  | { readonly kind: 'malformed'; readonly defect: LineDefect }

const LF = 10
const FLOOD_FACTOR = 16
const NOT_PRINTABLE = /[^\x20-\x7e]/
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export class CommandDecoder {
  /** Offset after the octets of the last chunk that have been consumed. */
  end = 0
  readonly #bytesMax: number
  #carry: Buffer | undefined
  #carried = 0
  #skipped = 0

  /** `bytesMax` is the maximum length of a line, including its CRLF. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /**
   * The next line that ends in `chunk` at or after `offset`, or null if the chunk is used up. `end`
   * is the offset at which to continue. The text has no CRLF and no trailing white space (RFC 5321
   * §4.1.1).
   */
  decode(chunk: Buffer, offset: number): DecodedLine | null {
    const lineFeed = chunk.indexOf(LF, offset)
    const stop = lineFeed === -1 ? chunk.length : lineFeed + 1
    this.end = stop
    const total = this.#skipped + this.#carried + stop - offset
    if (total > this.#bytesMax) return this.#skip(total, lineFeed !== -1)
    if (lineFeed === -1) {
      this.#keep(chunk, offset, stop)
      return null
    }
    if (this.#carried === 0) return decodeText(chunk.toString('latin1', offset, lineFeed))
    this.#keep(chunk, offset, stop)
    const text = this.#carry?.toString('latin1', 0, this.#carried - 1) ?? ''
    this.#carried = 0
    return decodeText(text)
  }

  #keep(chunk: Buffer, from: number, to: number): void {
    this.#carry ??= Buffer.allocUnsafeSlow(this.#bytesMax)
    chunk.copy(this.#carry, this.#carried, from, to)
    this.#carried += to - from
  }

  #skip(total: number, isEnded: boolean): DecodedLine | null {
    this.#carried = 0
    this.#skipped = isEnded ? 0 : total
    if (total > this.#bytesMax * FLOOD_FACTOR) return { kind: 'malformed', defect: 'flood' }
    return isEnded ? { kind: 'malformed', defect: 'too-long' } : null
  }
}

function decodeText(latin1: string): DecodedLine {
  if (!latin1.endsWith('\r')) return { kind: 'malformed', defect: 'bare-line-feed' }
  const text = latin1.slice(0, trimmedLength(latin1, latin1.length - 1))
  return NOT_PRINTABLE.test(text) ? decodeUnusual(text) : { kind: 'line', text }
}

function decodeUnusual(latin1: string): DecodedLine {
  if (latin1.includes('\r')) return { kind: 'malformed', defect: 'bare-carriage-return' }
  if (/[\x00-\x1f\x7f]/.test(latin1)) return { kind: 'malformed', defect: 'control-character' }
  try {
    return { kind: 'line', text: UTF8.decode(Buffer.from(latin1, 'latin1')) }
  } catch {
    return { kind: 'malformed', defect: 'invalid-utf8' }
  }
}

function trimmedLength(text: string, length: number): number {
  let end = length
  while (end > 0 && (text[end - 1] === ' ' || text[end - 1] === '\t')) end -= 1
  return end
}

export type Command =
  | { readonly verb: 'HELO' | 'EHLO'; readonly name: string }
  | {
      readonly verb: 'MAIL'
      /** `local-part@domain` as written, or '' for the null reverse-path. */
      readonly reversePath: string
      readonly sizeBytes: number
      readonly body: '7BIT' | '8BITMIME'
      readonly isSmtpUtf8: boolean
    }
  | {
      readonly verb: 'RCPT'
      /** `local-part@domain` as written, or `postmaster` alone in any case (RFC 5321 §4.1.1.3). */
      readonly recipient: string
      /** International addresses are allowed only in a transaction with SMTPUTF8. */
      readonly isInternational: boolean
    }
  | { readonly verb: 'DATA' | 'RSET' | 'NOOP' | 'QUIT' | 'VRFY' | 'HELP' | 'STARTTLS' }
  /** A browser or proxy that was tricked into connecting to the SMTP port. */
  | { readonly verb: 'HTTP' }
  | { readonly verb: 'refused'; readonly reply: Reply }

type Refused = Extract<Command, { verb: 'refused' }>

const UNKNOWN = refused(500, '5.5.1', 'Command not recognized')
const UNIMPLEMENTED = refused(502, '5.5.1', 'Command not implemented')
const NO_ARGUMENT = refused(501, '5.5.4', 'This command takes no argument')
const ARGUMENT_NEEDED = refused(501, '5.5.4', 'This command needs an argument')
const HELO_SYNTAX = refused(501, '5.5.4', 'Expected one domain name or address literal')
const MAIL_SYNTAX = refused(501, '5.5.4', 'Expected MAIL FROM:<address>')
const RCPT_SYNTAX = refused(501, '5.5.4', 'Expected RCPT TO:<address>')
const UTF8_NEEDED = refused(553, '5.6.7', 'An address outside ASCII needs SMTPUTF8')

/** Parses a line without its CRLF; the verb is recognised in any case (RFC 5321 §2.4). */
export function parseCommand(line: string): Command {
  const space = line.indexOf(' ')
  const verb = (space === -1 ? line : line.slice(0, space)).toUpperCase()
  const argument = space === -1 ? '' : line.slice(space + 1)
  switch (verb) {
    case 'MAIL':
      return parseMail(argument)
    case 'RCPT':
      return parseRcpt(argument)
    case 'DATA':
    case 'RSET':
    case 'QUIT':
    case 'STARTTLS':
      return argument === '' ? { verb } : NO_ARGUMENT
    case 'EHLO':
    case 'HELO':
      if (argument === '') return ARGUMENT_NEEDED
      // Validated loosely, because real clients send host names that are not domain names.
      return HELO_NAME.test(argument) ? { verb, name: argument } : HELO_SYNTAX
    case 'NOOP':
    case 'HELP':
      return { verb }
    case 'VRFY':
      return argument === '' ? ARGUMENT_NEEDED : { verb }
    case 'GET':
    case 'HEAD':
    case 'POST':
    case 'PUT':
    case 'PATCH':
    case 'DELETE':
    case 'OPTIONS':
    case 'TRACE':
    case 'CONNECT':
    case 'PRI':
      return argument === '' ? UNKNOWN : { verb: 'HTTP' }
    case 'EXPN':
    case 'AUTH':
    case 'BDAT':
    case 'ETRN':
    case 'TURN':
    case 'ATRN':
    case 'SEND':
    case 'SOML':
    case 'SAML':
    case 'WIZ':
    case 'DEBUG':
    case 'SHELL':
    case 'KILL':
    case 'BURL':
    case 'XCLIENT':
    case 'XFORWARD':
      return UNIMPLEMENTED
    default:
      return UNKNOWN
  }
}

const HELO_NAME = /^[\x21-\x7e]{1,255}$/
// A quoted string may contain '>' and spaces. The alternatives start with different characters, so
// matching takes linear time.
const PATH = /^ *<((?:"(?:[^"\\]|\\.)*"|[^">])*)>(?: +(.*))?$/u

function parseMail(argument: string): Command {
  const match = /^FROM:/i.test(argument) ? PATH.exec(argument.slice('FROM:'.length)) : null
  if (match === null) return MAIL_SYNTAX
  const parameters = parseMailParameters(match[2] ?? '')
  if ('verb' in parameters) return parameters
  const reversePath = match[1] ?? ''
  if (reversePath !== '') {
    const mailbox = parseMailbox(reversePath)
    if (mailbox.isInternational && !parameters.isSmtpUtf8) return UTF8_NEEDED
    if (mailbox.kind === 'defect') return refuseAddress(mailbox.defect, '5.1.7')
  }
  return { verb: 'MAIL', reversePath, ...parameters }
}

type MailParameters = { sizeBytes: number; body: '7BIT' | '8BITMIME'; isSmtpUtf8: boolean }

function parseMailParameters(text: string): MailParameters | Refused {
  const parameters: MailParameters = { sizeBytes: 0, body: '7BIT', isSmtpUtf8: false }
  if (text === '') return parameters
  const seen = new Set<string>()
  for (const part of text.split(/ +/)) {
    const [keyword = '', value] = splitParameter(part)
    if (seen.has(keyword)) return wrongParameter(keyword, 'given twice')
    seen.add(keyword)
    if (keyword === 'SIZE') {
      if (value === undefined || !/^\d{1,20}$/.test(value)) return wrongValue(keyword)
      parameters.sizeBytes = Number(value)
    } else if (keyword === 'BODY') {
      const body = value?.toUpperCase()
      if (body !== '7BIT' && body !== '8BITMIME') return wrongValue(keyword)
      parameters.body = body
    } else if (keyword === 'SMTPUTF8') {
      if (value !== undefined) return wrongValue(keyword)
      parameters.isSmtpUtf8 = true
    } else {
      return unknownParameter(part)
    }
  }
  return parameters
}

// Replies repeat a client's keyword only if it is well-formed.
const KEYWORD = /^[A-Z0-9][A-Z0-9-]{0,31}$/

function wrongParameter(keyword: string, fault: string, code = 501): Refused {
  const name = KEYWORD.test(keyword) ? `Parameter ${keyword}` : 'Parameter'
  return refused(code, '5.5.4', `${name} ${fault}`)
}

function wrongValue(keyword: string): Refused {
  return wrongParameter(keyword, 'has a value that is not valid')
}

/** `text` begins with the unrecognized parameter. */
function unknownParameter(text: string): Refused {
  const [keyword] = splitParameter(text.split(' ', 1)[0] ?? '')
  return wrongParameter(keyword, 'not recognized', 555)
}

function splitParameter(part: string): [string, string | undefined] {
  const equals = part.indexOf('=')
  if (equals === -1) return [part.toUpperCase(), undefined]
  return [part.slice(0, equals).toUpperCase(), part.slice(equals + 1)]
}

function parseRcpt(argument: string): Command {
  const match = /^TO:/i.test(argument) ? PATH.exec(argument.slice('TO:'.length)) : null
  if (match === null) return RCPT_SYNTAX
  const recipient = match[1] ?? ''
  if (/^postmaster$/i.test(recipient)) {
    return match[2]
      ? unknownParameter(match[2])
      : { verb: 'RCPT', recipient, isInternational: false }
  }
  const mailbox = parseMailbox(recipient)
  if (mailbox.kind === 'defect') {
    return refuseAddress(mailbox.defect, '5.1.3')
  }
  if (match[2]) return unknownParameter(match[2])
  return { verb: 'RCPT', recipient, isInternational: mailbox.isInternational }
}

const ADDRESS_DEFECTS: Record<MailboxDefect, string> = {
  syntax: 'Address not valid',
  'source-route': 'Source routes are not accepted',
  'no-domain': 'The address needs a domain',
  'local-part-too-long': 'Local part longer than 255 octets',
  'domain-too-long': 'Domain longer than 255 octets',
}

function refuseAddress(defect: MailboxDefect, enhanced: string): Refused {
  return refused(501, enhanced, ADDRESS_DEFECTS[defect])
}

function refused(code: number, enhanced: string, text: string): Refused {
  return { verb: 'refused', reply: reply(code, enhanced, text) }
}

type MailLine = {
  readonly reversePath: string
  /** The value of SIZE (RFC 1870); null omits the parameter. */
  readonly sizeBytes: number | null
  readonly isEightBit: boolean
  readonly isSmtpUtf8: boolean
}

/** The MAIL command with its CRLF. `reversePath` is an address from `writeAddress` or ''. */
export function formatMail(parameters: MailLine): string {
  const { reversePath, sizeBytes, isEightBit, isSmtpUtf8 } = parameters
  const size = sizeBytes === null ? '' : ` SIZE=${sizeBytes}`
  const body = isEightBit ? ' BODY=8BITMIME' : ''
  const utf8 = isSmtpUtf8 ? ' SMTPUTF8' : ''
  return `MAIL FROM:<${reversePath}>${size}${body}${utf8}\r\n`
}

/** The RCPT command with its CRLF. `recipient` is an address from `writeAddress`. */
export function formatRcpt(recipient: string): string {
  return `RCPT TO:<${recipient}>\r\n`
}

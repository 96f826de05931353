// SMTP replies (RFC 5321 §4.2) with enhanced status codes (RFC 3463) as values and as octets.

export type Reply = {
  /** Reply code of three digits, 200 to 599. */
  readonly code: number
  /** `class.subject.detail`, or '' where RFC 2034 requires no code (greeting, EHLO, 354). */
  readonly enhanced: string
  /** One or more lines, without line ends. */
  readonly text: string | readonly string[]
}

export function reply(code: number, enhanced: string, text: string | readonly string[]): Reply {
  return { code, enhanced, text }
}

/**
 * Formats a reply with CRLF line ends. The enhanced code is on every line (RFC 2034 §4). Control
 * characters in the text become '?', so that remote input cannot add a line.
 */
export function formatReply(reply: Reply): string {
  const enhanced = reply.enhanced === '' ? '' : `${reply.enhanced} `
  const { code, text } = reply
  if (typeof text === 'string') return `${code} ${enhanced}${clean(text)}\r\n`
  return text
    .map((line, index) => {
      const mark = index === text.length - 1 ? ' ' : '-'
      return `${code}${mark}${enhanced}${clean(line)}\r\n`
    })
    .join('')
}

function clean(line: string): string {
  return /[^\x20-\x7e]/.test(line) ? line.replace(/[^\x20-\x7e]/g, '?') : line
}

/** RFC 5321 §4.5.3.1.5 requires 512 octets; today's servers write longer lines. */
export const REPLY_LINE_BYTES_MAX = 2 * 1024
export const REPLY_LINES_MAX = 100
export const REPLY_BYTES_MAX = 64 * 1024

export type PeerReply = {
  /** The three digits that the server sent, 100 to 999. */
  readonly code: number
  /** One or more lines, without code and line end. Unsafe characters become '?'. */
  readonly lines: readonly string[]
}

type ReplyDefect = 'syntax' | 'codes-differ' | 'line-too-long' | 'reply-too-long'

type DecodedReply =
  | { readonly kind: 'reply'; readonly reply: PeerReply }
  | { readonly kind: 'malformed'; readonly defect: ReplyDefect }

const LF = 10
// Servers omit the space before an empty text (RFC 5321 §4.2).
const LINE = /^([1-9]\d\d)(?:([ -])(.*))?$/s
const NOT_PRINTABLE = /[^\x20-\x7e]/
const UNSAFE = /[\p{C}\p{Zl}\p{Zp}\ufffd]/gu

/** A decoder stops at a malformed reply, because nothing after it can be trusted. */
export class ReplyDecoder {
  /** Offset after the octets of the last chunk that have been consumed. */
  end = 0
  #carry: Buffer | undefined
  #carried = 0
  #lines: string[] = []
  #code = 0
  #replyBytes = 0

  /**
   * The next reply that ends in `chunk` at or after `offset`, or null if the chunk is used up;
   * `end` is the offset at which to continue. A line may end in a bare LF, because some servers
   * write it, and a reply cannot smuggle octets of a third party.
   */
  decode(chunk: Buffer, offset: number): DecodedReply | null {
    let from = offset
    while (from < chunk.length) {
      const lineFeed = chunk.indexOf(LF, from)
      const stop = lineFeed === -1 ? chunk.length : lineFeed + 1
      this.end = stop
      this.#replyBytes += stop - from
      if (this.#carried + stop - from > REPLY_LINE_BYTES_MAX) return malformed('line-too-long')
      if (this.#replyBytes > REPLY_BYTES_MAX) return malformed('reply-too-long')
      if (lineFeed === -1) {
        this.#keep(chunk, from, stop)
        return null
      }
      const decoded = this.#takeLine(this.#readLine(chunk, from, lineFeed))
      if (decoded !== null) return decoded
      from = stop
    }
    return null
  }

  /** Whether part of an unfinished reply has arrived. */
  get isWithinReply(): boolean {
    return this.#replyBytes > 0
  }

  #readLine(chunk: Buffer, from: number, lineFeed: number): string {
    let line: string
    if (this.#carried === 0) {
      line = chunk.toString('latin1', from, lineFeed)
    } else {
      this.#keep(chunk, from, lineFeed)
      line = this.#carry?.toString('latin1', 0, this.#carried) ?? ''
      this.#carried = 0
    }
    return line.endsWith('\r') ? line.slice(0, -1) : line
  }

  #keep(chunk: Buffer, from: number, to: number): void {
    this.#carry ??= Buffer.allocUnsafeSlow(REPLY_LINE_BYTES_MAX)
    chunk.copy(this.#carry, this.#carried, from, to)
    this.#carried += to - from
  }

  #takeLine(line: string): DecodedReply | null {
    const match = LINE.exec(line)
    if (match === null) return malformed('syntax')
    const code = Number(match[1])
    const text = cleanReplyText(match[3] ?? '')
    const isLast = match[2] !== '-'
    if (this.#lines.length > 0 && code !== this.#code) return malformed('codes-differ')
    if (this.#lines.length >= REPLY_LINES_MAX) return malformed('reply-too-long')
    if (isLast && this.#lines.length === 0) {
      this.#replyBytes = 0
      return { kind: 'reply', reply: { code, lines: [text] } }
    }
    this.#code = code
    this.#lines.push(text)
    if (!isLast) return null
    const lines = this.#lines
    this.#lines = []
    this.#replyBytes = 0
    return { kind: 'reply', reply: { code, lines } }
  }
}

function malformed(defect: ReplyDefect): DecodedReply {
  return { kind: 'malformed', defect }
}

/** Replies may contain UTF-8 (RFC 6531 §3.7.4.2). */
function cleanReplyText(latin1: string): string {
  if (!NOT_PRINTABLE.test(latin1)) return latin1
  return Buffer.from(latin1, 'latin1').toString('utf8').replaceAll('\t', ' ').replace(UNSAFE, '?')
}

const ENHANCED = /^([245])\.\d{1,3}\.\d{1,3}(?=\s|$)/

/**
 * Splits the enhanced code from a reply's first line and joins the lines by LF. If the code is
 * missing, or its class contradicts the reply's first digit, the code is null and the text is
 * complete.
 */
export function splitEnhancedCode(reply: PeerReply): { enhanced: string | null; text: string } {
  const [first = ''] = reply.lines
  const enhanced = ENHANCED.exec(first)?.[0] ?? null
  if (enhanced === null || Number(enhanced[0]) !== Math.floor(reply.code / 100)) {
    return { enhanced: null, text: reply.lines.length === 1 ? first : reply.lines.join('\n') }
  }
  if (reply.lines.length === 1) return { enhanced, text: first.slice(enhanced.length).trimStart() }
  const lines = reply.lines.map((line) =>
    ENHANCED.exec(line)?.[0] === enhanced ? line.slice(enhanced.length).trimStart() : line,
  )
  return { enhanced, text: lines.join('\n') }
}

export type Extensions = {
  readonly pipelining: boolean
  readonly eightBitMime: boolean
  readonly smtpUtf8: boolean
  readonly starttls: boolean
  /** Largest message in octets (RFC 1870); null if not stated. */
  readonly size: number | null
  readonly isSizeOffered: boolean
  readonly enhancedStatusCodes: boolean
  /** Authentication mechanisms in upper case, without duplicates. */
  readonly auth: readonly string[]
}

/** A server that supports only HELO has no extensions. */
export const NO_EXTENSIONS: Extensions = {
  pipelining: false,
  eightBitMime: false,
  smtpUtf8: false,
  starttls: false,
  size: null,
  isSizeOffered: false,
  enhancedStatusCodes: false,
  auth: [],
}

/** `lines` is the text of the complete reply; its first line is the server's name. */
export function parseExtensions(lines: readonly string[]): Extensions {
  const parameters = new Map<string, string[]>()
  for (const line of lines.slice(1)) {
    // Old servers write AUTH=LOGIN, alone or beside the line with a space.
    const words = line
      .trim()
      .toUpperCase()
      .replace(/^AUTH=/, 'AUTH ')
      .split(/ +/)
    const [keyword = '', ...rest] = words
    parameters.set(keyword, [...(parameters.get(keyword) ?? []), ...rest])
  }
  return {
    pipelining: parameters.has('PIPELINING'),
    eightBitMime: parameters.has('8BITMIME'),
    smtpUtf8: parameters.has('SMTPUTF8'),
    starttls: parameters.has('STARTTLS'),
    size: parseSize(parameters.get('SIZE')?.[0]),
    isSizeOffered: parameters.has('SIZE'),
    enhancedStatusCodes: parameters.has('ENHANCEDSTATUSCODES'),
    auth: [...new Set(parameters.get('AUTH'))],
  }
}

/** Zero means that no limit is in force (RFC 1870 §3). */
function parseSize(text: string | undefined): number | null {
  if (text === undefined || !/^\d{1,20}$/.test(text)) return null
  return Number(text) || null
}

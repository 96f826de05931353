// Octets of a server to its replies (RFC 5321 §4.2), chunk by chunk and within bounds. Knows nothing
// of which reply answers which command.

/** RFC 5321 §4.5.3.1.5 asks for 512 octets of a reply's line; servers of today write longer ones. */
export const REPLY_LINE_BYTES_MAX = 2 * 1024
export const REPLY_LINES_MAX = 100
export const REPLY_BYTES_MAX = 64 * 1024

export type PeerReply = {
  /** Three digits as the server wrote them, 100 to 999. */
  readonly code: number
  /** At least one, without code and line end. What could do harm on a screen or in a log is '?'. */
  readonly lines: readonly string[]
}

export type ReplyDefect = 'syntax' | 'codes-differ' | 'line-too-long' | 'reply-too-long'

export type DecodedReply =
  | { readonly kind: 'reply'; readonly reply: PeerReply }
  | { readonly kind: 'malformed'; readonly defect: ReplyDefect }

const LF = 10
// Servers leave out the space before an empty text (§4.2).
const LINE = /^([1-9]\d\d)(?:([ -])(.*))?$/s
const NOT_PRINTABLE = /[^\x20-\x7e]/
const UNSAFE = /[\p{C}\p{Zl}\p{Zp}\ufffd]/gu

/** After a malformed reply nothing that follows can be trusted, so a decoder ends there. */
export class ReplyDecoder {
  /** Offset in the last chunk after what has been consumed. */
  end = 0
  #carry: Buffer | undefined
  #carried = 0
  #lines: string[] = []
  #code = 0
  #replyBytes = 0

  /**
   * The next reply that ends in `chunk` at or after `offset`, or null when the chunk is used up;
   * `end` says where to go on. A line may end in LF alone: there are servers that write so, and a
   * reply carries nobody else's octets that could be hidden behind one.
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

  /** Octets of an unfinished reply are waiting for the rest of it. */
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

/** UTF-8 is allowed in replies (RFC 6531 §3.7.4.2). */
function cleanReplyText(latin1: string): string {
  if (!NOT_PRINTABLE.test(latin1)) return latin1
  return Buffer.from(latin1, 'latin1').toString('utf8').replaceAll('\t', ' ').replace(UNSAFE, '?')
}

// Octets to command lines (RFC 5321 §2.3.8: only CRLF ends a line). Works on the chunks as they
// come, copies only a line that is split between two, and knows nothing of commands.

export type LineDefect =
  /** The line ended in LF without CR. What follows the LF is the next line. */
  | 'bare-line-feed'
  | 'bare-carriage-return'
  /** NUL, TAB or another control character. */
  | 'control-character'
  | 'invalid-utf8'
  /** Longer than the limit; the whole line has been skipped. */
  | 'too-long'
  /** So long that waiting for its end would only feed an attacker. */
  | 'flood'

export type DecodedLine =
  | { readonly kind: 'line'; readonly text: string }
  | { readonly kind: 'malformed'; readonly defect: LineDefect }

const LF = 10
const FLOOD_FACTOR = 16
const NOT_PRINTABLE = /[^\x20-\x7e]/
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export class CommandDecoder {
  /** Offset in the last chunk after what has been consumed. */
  end = 0
  readonly #bytesMax: number
  #carry: Buffer | undefined
  #carried = 0
  #skipped = 0

  /** `bytesMax` counts the whole line with its CRLF. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /**
   * The next line that ends in `chunk` at or after `offset`, or null when the chunk is used up.
   * `end` says where to go on. The text has no CRLF and no trailing white space (RFC 5321 §4.1.1).
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

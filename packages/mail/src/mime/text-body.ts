// The text of a text/plain or text/html part, out of its octets as they stand in the message. Both
// ways through the parser, with and without parts, decode text here and nowhere else.

import { decodeCharset, decodeUtf7, isUtf7 } from '#charset.ts'
import type { StructuredValue } from '#parameters.ts'
import { MIME_LINES_MAX } from './mime-parts.ts'
import { decodeTransfer, type TransferEncoding } from './transfer-encoding.ts'

/**
 * Lines ended by LF. Flowed text and UTF-7 are for plain text only: HTML in UTF-7 hides its markup
 * from every filter that reads the bytes.
 */
export function decodeTextBody(
  octets: Buffer,
  encoding: TransferEncoding,
  { value, parameters }: StructuredValue,
): string {
  const charset = parameters.get('charset')?.trim() ?? null
  const isHtml = value === 'text/html'
  const decoded = decodeTransfer(octets, encoding)
  const text = endLinesWithLineFeed(
    isUtf7(charset) && !isHtml ? decodeUtf7(decoded) : decodeCharset(decoded, charset),
  )
  const isFlowed = !isHtml && parameters.get('format')?.toLowerCase() === 'flowed'
  if (!isFlowed || hasTooManyLines(text)) return text
  return unfold(text, parameters.get('delsp')?.toLowerCase() === 'yes')
}

/** Text of any part as it is stored: LF line ends. */
export function endLinesWithLineFeed(text: string): string {
  if (!text.includes('\r')) return text
  const normal = text.replaceAll('\r\n', '\n')
  // `\r\r\n`: left behind by programs that add a return to lines that have one. The look behind
  // keeps a run of returns from being read anew from each of them.
  return normal.includes('\r\n') ? normal.replace(/(?<!\r)\r+\n/g, '\n') : normal
}

/** More than MIME_LINES_MAX, which encoded text may have: too many to take apart. */
export function hasTooManyLines(text: string): boolean {
  let lines = 0
  for (const lineEnd of ['\n', '\r']) {
    for (let at = text.indexOf(lineEnd); at >= 0; at = text.indexOf(lineEnd, at + 1)) {
      lines += 1
      if (lines > MIME_LINES_MAX) return true
    }
  }
  return false
}

/**
 * RFC 3676 §4: a line that ends in a space goes on in the next of the same quote depth; a stuffed
 * space is taken off first. Quoted lines keep their marks, each at the start of its line.
 */
function unfold(text: string, dropsSpace: boolean): string {
  const pieces: string[] = []
  let openDepth = -1
  for (const [index, line] of text.split('\n').entries()) {
    const depth = quoteDepth(line)
    const rest = line.slice(depth)
    const content = rest.startsWith(' ') ? rest.slice(1) : rest
    const isContinued = openDepth === depth && content !== '-- '
    if (!isContinued) {
      if (index > 0) pieces.push('\n')
      if (depth > 0) pieces.push('>'.repeat(depth), ' ')
    }
    const isOpen = content.endsWith(' ') && content !== '-- '
    openDepth = isOpen ? depth : -1
    pieces.push(isOpen && dropsSpace ? content.slice(0, -1) : content)
  }
  return pieces.join('')
}

function quoteDepth(line: string): number {
  let depth = 0
  while (line.charCodeAt(depth) === 0x3e) depth += 1
  return depth
}

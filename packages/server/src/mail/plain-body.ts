// The body of a message that is one text/plain part, decoded without a MIME parser: most mail of
// programs is that, and it must be cheap. Gives the same text as the MIME parser does, better only for
// flowed text, UTF-7 and unknown charsets.

import { decodeCharset, decodeUtf7, isUtf7 } from './charset.ts'
import type { StructuredValue } from './parameters.ts'
import { decodeBase64, decodeQuotedPrintable, type TransferEncoding } from './transfer-encoding.ts'

/** The text of the part, lines ended by LF. `contentType` is that of the part or of an absent field. */
export function decodePlainBody(
  body: Buffer,
  encoding: TransferEncoding,
  contentType: StructuredValue,
): string {
  const charset = contentType.parameters.get('charset')?.trim() ?? null
  const octets = decodeTransfer(body, encoding)
  const decoded = isUtf7(charset) ? decodeUtf7(octets) : decodeCharset(octets, charset)
  const text = endLinesWithLineFeed(decoded)
  if (contentType.parameters.get('format')?.toLowerCase() !== 'flowed') return text
  return unfold(text, contentType.parameters.get('delsp')?.toLowerCase() === 'yes')
}

/** Text of any part as it is stored: LF line ends, without the line end that closes the part. */
export function endLinesWithLineFeed(text: string): string {
  if (!text.includes('\r')) return text
  const normal = text.replaceAll('\r\n', '\n')
  // `\r\r\n`: left behind by programs that add a return to lines that have one.
  return normal.includes('\r\n')
    ? normal.replace(/\r+(\n?)/g, (run, end) => (end === '' ? run : end))
    : normal
}

function decodeTransfer(body: Buffer, encoding: TransferEncoding): Buffer {
  switch (encoding) {
    case 'base64':
      return decodeBase64(body)
    case 'quoted-printable':
      return decodeQuotedPrintable(body)
    case 'identity':
      return body
  }
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

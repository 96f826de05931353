// Converts separated values (RFC 4180 and common variants) to Markdown.

import type { TextWriter } from './file-text.ts'
import { FILE_TEXT_LENGTH_MAX } from './file-text.ts'

const SEPARATORS = [',', ';', '\t', '|'] as const
/** Characters sampled to find the separator. */
const SNIFFED_LENGTH = 16 * 1024

export function readCsv(text: string, writer: TextWriter): void {
  const { rows, isWhole } = rowsOf(text, { lengthMax: FILE_TEXT_LENGTH_MAX })
  writer.addTable(rows)
  if (!isWhole) writer.end()
}

function rowsOf(
  text: string,
  { lengthMax }: { lengthMax: number },
): { rows: string[][]; isWhole: boolean } {
  const body = text.startsWith('sep=') ? text.slice(text.indexOf('\n') + 1) : text
  const separator = text.startsWith('sep=') ? (text[4] ?? ',') : separatorOf(body)
  const rows: string[][] = []
  let row: string[] = []
  let length = 0
  let at = 0
  const endRow = () => {
    rows.push(row)
    row = []
  }
  while (at <= body.length && length < lengthMax) {
    const cell = cellAt(body, at, separator)
    row.push(cell.text)
    length += cell.text.length + 1
    at = cell.end
    if (at >= body.length) break
    const isEnd = body[at] !== separator
    if (isEnd) endRow()
    at += isEnd && body[at] === '\r' && body[at + 1] === '\n' ? 2 : 1
  }
  endRow()
  return { rows, isWhole: body.slice(at).trim() === '' }
}

/** `end` is the index of the separator or line end after the cell. */
function cellAt(body: string, at: number, separator: string): { text: string; end: number } {
  const end = endOfPlain(body, at, separator)
  if (body[at] !== '"') return { text: body.slice(at, end), end }
  const pieces: string[] = []
  let from = at + 1
  for (;;) {
    const quote = body.indexOf('"', from)
    // An unclosed quote is literal; otherwise the rest of the file would be one cell.
    if (quote === -1) return { text: body.slice(at, end), end }
    pieces.push(body.slice(from, quote))
    if (body[quote + 1] !== '"') {
      const rest = endOfPlain(body, quote + 1, separator)
      return { text: pieces.join('') + body.slice(quote + 1, rest), end: rest }
    }
    pieces.push('"')
    from = quote + 2
  }
}

function endOfPlain(body: string, at: number, separator: string): number {
  let end = at
  while (end < body.length && body[end] !== separator && body[end] !== '\n' && body[end] !== '\r') {
    end += 1
  }
  return end
}

/** The separator on most lines. If several are equal, the one that occurs most often. */
function separatorOf(text: string): string {
  const bare = text.slice(0, SNIFFED_LENGTH).replace(/"(?:[^"]|"")*"/g, '')
  const lines = bare.split(/\r\n?|\n/).filter((line) => line.trim() !== '')
  const counted = SEPARATORS.map((separator) => {
    const counts = lines.map((line) => line.split(separator).length - 1)
    const first = counts[0] ?? 0
    const same = counts.filter((count) => count === first && count > 0).length
    return { separator, worth: same * 1_000 + Math.min(first, 999) }
  })
  return counted.reduce((best, one) => (one.worth > best.worth ? one : best)).separator
}

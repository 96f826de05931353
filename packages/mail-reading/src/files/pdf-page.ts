// Reconstructs the text of a PDF page from positioned pieces: joins them into lines, and
// consecutive lines with the same columns into tables.

import { tableText } from './file-text.ts'

export type PdfPage = {
  getTextContent(options: { includeMarkedContent?: false }): Promise<{ items: readonly object[] }>
}

type Item = {
  readonly str: string
  readonly hasEOL: boolean
  readonly transform: readonly number[]
  readonly width: number
  readonly height: number
}

type Piece = {
  readonly text: string
  readonly left: number
  readonly right: number
  readonly y: number
  readonly size: number
}

type Cell = { text: string; left: number; right: number }
type Line = { cells: Cell[]; size: number }

/** Minimum size in points; smaller letters are specks. */
const SIZE_MIN = 1
/** Gaps between words and between table cells, relative to the letter size. */
const WORD_GAP = 0.15
const CELL_GAP = 0.9
/** Vertical offset, relative to the letter size, up to which pieces belong to one line. */
const LINE_SHIFT = 0.6
/** Tolerance for aligned cells of a column, and minimum lines of a table. */
const COLUMN_SHIFT = 0.6
const TABLE_LINES_MIN = 3

/** The text of a page. Text outside the page is excluded, because pdf.js drops it. */
export async function pageText(page: PdfPage): Promise<string> {
  const { items } = await page.getTextContent({ includeMarkedContent: false })
  const lines = linesOf(items as readonly Item[])
  const blocks: string[] = []
  for (let at = 0; at < lines.length; ) {
    const end = endOfTable(lines, at)
    const rows = lines.slice(at, end).map(({ cells }) => cells.map(({ text }) => text.trim()))
    if (rows.length >= TABLE_LINES_MIN) {
      blocks.push('', tableText(rows), '')
      at = end
      continue
    }
    const [line] = lines.slice(at, at + 1)
    blocks.push(line === undefined ? '' : line.cells.map(({ text }) => text.trim()).join('  '))
    at += 1
  }
  return blocks
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim()
}

function linesOf(items: readonly Item[]): Line[] {
  const lines: Line[] = []
  let line: Line = { cells: [], size: 0 }
  let before: Piece | null = null
  let hasBlank = false
  const endLine = () => {
    if (line.cells.length > 0) lines.push(line)
    line = { cells: [], size: 0 }
    before = null
    hasBlank = false
  }
  for (const item of items) {
    if (typeof item.str !== 'string') continue
    const piece = pieceOf(item)
    if (piece.text.trim() === '') hasBlank ||= piece.text !== ''
    else if (piece.size >= SIZE_MIN) {
      if (before !== null && isNewLine(before, piece)) endLine()
      add(line, { piece, before, hasBlank })
      before = piece
      hasBlank = false
    }
    if (item.hasEOL) endLine()
  }
  endLine()
  return lines
}

function pieceOf({ str, transform, width, height }: Item): Piece {
  const [a = 0, b = 0, c = 0, d = 0, left = 0, y = 0] = transform
  const size = Math.max(height, Math.hypot(c, d), Math.hypot(a, b))
  return { text: str, left, right: left + width, y, size }
}

function isNewLine(before: Piece, { y, size }: Piece): boolean {
  return Math.abs(y - before.y) > LINE_SHIFT * Math.max(before.size, size)
}

function add(
  line: Line,
  { piece, before, hasBlank }: { piece: Piece; before: Piece | null; hasBlank: boolean },
): void {
  line.size = Math.max(line.size, piece.size)
  const cell = line.cells.at(-1)
  const gap = before === null ? 0 : (piece.left - before.right) / Math.max(SIZE_MIN, piece.size)
  if (cell === undefined || gap > CELL_GAP) {
    line.cells.push({ text: piece.text, left: piece.left, right: piece.right })
    return
  }
  const isApart = hasBlank || gap > WORD_GAP
  cell.text += isApart && !/\s$/.test(cell.text) ? ` ${piece.text}` : piece.text
  cell.right = Math.max(cell.right, piece.right)
}

/** The index after the lines from `start` that have the same columns. */
function endOfTable(lines: readonly Line[], start: number): number {
  const first = lines[start]
  if (first === undefined || first.cells.length < 2) return start
  let end = start + 1
  while (end < lines.length && hasColumnsOf(lines[end - 1], lines[end])) end += 1
  return end
}

/** Cells are aligned if their left edge, right edge or centre matches. */
function hasColumnsOf(above: Line | undefined, line: Line | undefined): boolean {
  if (above === undefined || line === undefined) return false
  if (above.cells.length !== line.cells.length) return false
  const off = COLUMN_SHIFT * Math.max(above.size, line.size)
  return line.cells.every((cell, index) => {
    const over = above.cells[index]
    if (over === undefined) return false
    const [left, right] = [cell.left - over.left, cell.right - over.right]
    return Math.min(Math.abs(left), Math.abs(right), Math.abs((left + right) / 2)) <= off
  })
}

import { attributeOf, type HtmlElement, isElement } from '@mailroom/mail/html/tree.ts'
import { isBlock, textOf } from '#html/tree-text.ts'

const CELL_LENGTH_MAX = 300
const LINE_CELL_LENGTH_MAX = 120
const COLUMNS_MAX = 20
const ROWS_MAX = 1_000
const NODES_MAX = 40

/**
 * A table of at least two rows and two columns, the same number in each row, whose cells hold short
 * texts without blocks and most of which hold some; never one that says it is there for its looks.
 */
export function isDataTable(table: HtmlElement): boolean {
  const role = attributeOf(table, 'role')
  if (role === 'presentation' || role === 'none') return false
  const rows: HtmlElement[][] = []
  if (!collectRows(table, rows)) return false
  const [first] = rows
  const columns = first?.length ?? 0
  if (rows.length < 2 || columns < 2 || columns > COLUMNS_MAX) return false
  if (rows.some((cells) => cells.length !== columns)) return false
  const cells = rows.flat()
  if (!cells.every((cell) => isText(cell, CELL_LENGTH_MAX))) return false
  const hasHead = cells.some(({ tagName }) => tagName === 'th')
  const filled = cells.filter((cell) => textOf(cell, 1) !== '').length
  return filled >= cells.length * (hasHead ? 0.3 : 0.7)
}

/** False for rows that no data has: none in a section, cells over several columns. */
function collectRows(element: HtmlElement, rows: HtmlElement[][]): boolean {
  for (const child of element.childNodes) {
    if (!isElement(child)) continue
    if (/^(?:tbody|thead|tfoot)$/.test(child.tagName)) {
      if (!collectRows(child, rows)) return false
    } else if (child.tagName === 'tr') {
      if (rows.length >= ROWS_MAX) return false
      rows.push(cellsOf(child))
    }
  }
  return true
}

export function cellsOf(row: HtmlElement): HtmlElement[] {
  return row.childNodes.filter(isElement).filter(({ tagName }) => /^t[dh]$/.test(tagName))
}

/** Whether the cells of a row read as one line. */
export function isRowOfTexts(cells: readonly HtmlElement[]): boolean {
  return cells.length > 1 && cells.every((cell) => isText(cell, LINE_CELL_LENGTH_MAX))
}

function isText(cell: HtmlElement, lengthMax: number): boolean {
  const waiting = [...cell.childNodes]
  for (let seen = 0; seen < waiting.length; seen++) {
    const node = waiting[seen]
    if (seen > NODES_MAX) return false
    if (node === undefined || !isElement(node)) continue
    if (isBlock(node.tagName) && node.tagName !== 'br') return false
    waiting.push(...node.childNodes)
  }
  return textOf(cell, lengthMax + 1).length <= lengthMax
}

/** Of an attribute such as `width`; infinite for none and for percentages. */
export function cssPixels(value: string | undefined): number {
  if (value === undefined || value.includes('%')) return Number.POSITIVE_INFINITY
  const number = Number.parseFloat(value)
  return Number.isFinite(number) ? number : Number.POSITIVE_INFINITY
}

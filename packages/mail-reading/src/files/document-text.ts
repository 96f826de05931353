// The paragraphs and tables of a document as Markdown, in file order.

import type { TextWriter } from './file-text.ts'

type Table = { rows: string[][]; cell: string[] | null }

export class DocumentText {
  readonly #writer: TextWriter
  readonly #tables: Table[] = []
  #wasItem = false

  constructor(writer: TextWriter) {
    this.#writer = writer
  }

  /** `level` is 1 to 6 for a heading and 0 otherwise. */
  paragraph(
    text: string,
    { level = 0, isItem = false }: { level?: number; isItem?: boolean } = {},
  ) {
    const shown = text.replace(/[ \t]+$/gm, '').trim()
    if (shown === '') return
    const table = this.#tables.at(-1)
    if (table !== undefined) {
      table.cell?.push(shown)
      return
    }
    const mark = level > 0 ? `${'#'.repeat(Math.min(level, 6))} ` : isItem ? '- ' : ''
    this.#writer.add(`${mark}${shown}`, { isApart: !(isItem && this.#wasItem) })
    this.#wasItem = isItem
  }

  openTable(): void {
    this.#tables.push({ rows: [], cell: null })
  }

  openRow(): void {
    this.#tables.at(-1)?.rows.push([])
  }

  /** `repeats` is the number of identical rows. Returns whether the row has text. */
  closeRow(repeats: number): boolean {
    const rows = this.#tables.at(-1)?.rows
    const row = rows?.at(-1)
    if (rows === undefined || row === undefined || row.every((cell) => cell === '')) return false
    for (let count = 1; count < repeats; count++) rows.push(row)
    return true
  }

  openCell(): void {
    const table = this.#tables.at(-1)
    if (table !== undefined) table.cell = []
  }

  /** `repeats` is the number of identical cells. */
  closeCell(repeats = 1): void {
    const table = this.#tables.at(-1)
    if (table === undefined || table.cell === null) return
    const text = table.cell.join('\n')
    for (let count = 0; count < repeats; count++) table.rows.at(-1)?.push(text)
    table.cell = null
  }

  /** A table within a cell becomes a paragraph of the cell. Columns are numbered from 0. */
  closeTable(hiddenColumns: ReadonlySet<number> = new Set()): void {
    const table = this.#tables.pop()
    if (table === undefined) return
    if (hiddenColumns.size > 0) {
      table.rows = table.rows.map((row) => row.filter((_, column) => !hiddenColumns.has(column)))
    }
    const outer = this.#tables.at(-1)
    if (outer !== undefined) {
      const rows = table.rows.map((row) => row.filter((cell) => cell !== '').join(', '))
      outer.cell?.push(...rows.filter((row) => row !== ''))
      return
    }
    this.#wasItem = false
    this.#writer.addTable(table.rows)
  }

  /** Closes everything that a damaged file leaves open. */
  end(): void {
    while (this.#tables.length > 0) {
      this.closeCell()
      this.closeTable()
    }
  }
}

// The text of OpenDocument files (ISO/IEC 26300): texts, spreadsheets and presentations, without deleted and hidden
// text.

import { DocumentText } from './document-text.ts'
import type { TextWriter } from './file-text.ts'
import { readXml, type XmlElement, type XmlReader } from './read-xml.ts'
import { encrypted, type ZipFile } from './zip-file.ts'

const MANIFEST_BYTES_MAX = 256 * 1024

/** Returns the number of slides, 0 for other files. */
export function readOdf(zip: ZipFile, writer: TextWriter): number {
  if (zip.readText('META-INF/manifest.xml', MANIFEST_BYTES_MAX).includes('encryption-data')) {
    throw encrypted()
  }
  const document = new DocumentText(writer)
  const content = new Content(document, writer)
  readXml(zip, 'content.xml', content)
  document.end()
  return content.slides
}

/** Elements whose text a reader does not see, or sees elsewhere. */
const SKIPPED = new Set([
  'tracked-changes',
  'deletion',
  'annotation',
  'hidden-text',
  'hidden-paragraph',
  'ruby-text',
  'desc',
  'title',
  'script',
  'event-listeners',
  'forms',
])
/** Repeated cells and rows that are kept; sheets end with a million empty ones. */
const REPEATS_MAX = 256
/** Of the largest sheet of LibreOffice. */
const SHEET_COLUMNS_MAX = 16_384

class Content implements XmlReader {
  slides = 0
  readonly #document: DocumentText
  readonly #writer: TextWriter
  readonly #hiddenStyles = new Set<string>()
  /** A note or a text box within a paragraph has paragraphs of its own. */
  readonly #paragraphs: { text: string; level: number }[] = []
  /** How often the cell that is open stands in its row. */
  readonly #repeats: number[] = []
  /** How often each row that is open stands in its table. */
  readonly #rowRepeats: number[] = []
  /** Of each table that is open, how many columns are declared, and which of them are hidden. */
  readonly #columns: { count: number; hidden: Set<number> }[] = []
  #style = ''
  #lists = 0
  #skipping = 0

  constructor(document: DocumentText, writer: TextWriter) {
    this.#document = document
    this.#writer = writer
  }

  open(element: XmlElement): void {
    const { name, attribute } = element
    const isHidden =
      (name !== 'style' && this.#hiddenStyles.has(attribute('style-name') ?? '')) ||
      (isTablePart(name) && ['collapse', 'filter'].includes(attribute('visibility') ?? ''))
    if (name === 'table-column' && this.#skipping === 0) this.#addColumns(element, isHidden)
    if (this.#skipping > 0 || SKIPPED.has(name) || isHidden) {
      this.#skipping += 1
      return
    }
    if (name === 'style') this.#style = attribute('name') ?? ''
    else if (name === 'text-properties' && attribute('display') === 'none') this.#hide()
    else if (name === 'table-properties' && attribute('display') === 'false') this.#hide()
    else if (name === 'drawing-page-properties' && attribute('visibility') === 'hidden') {
      this.#hide()
    } else if (name === 'p' || name === 'h') {
      const level = name === 'h' ? Number(attribute('outline-level') ?? '1') : 0
      this.#paragraphs.push({ text: '', level })
    } else if (isTablePart(name)) this.#openTablePart(element)
    else this.#openOther(element)
  }

  close(name: string): void {
    if (this.#skipping > 0) this.#skipping -= 1
    else if (name === 'p' || name === 'h') {
      const paragraph = this.#paragraphs.pop()
      if (paragraph === undefined) return
      const { text, level } = paragraph
      this.#document.paragraph(text, { level, isItem: this.#lists > 0 })
    } else if (name === 'list') this.#lists -= 1
    else if (name === 'table-cell') this.#document.closeCell(this.#repeats.pop() ?? 1)
    else if (name === 'table-row') this.#closeRow()
    else if (name === 'table') this.#document.closeTable(this.#columns.pop()?.hidden)
  }

  text(text: string): void {
    if (this.#skipping === 0) this.#add(text.replace(/[\t\n\r ]+/g, ' '))
  }

  #hide(): void {
    if (this.#style !== '') this.#hiddenStyles.add(this.#style)
  }

  #openTablePart({ name, attribute }: XmlElement): void {
    if (name === 'table') {
      const title = attribute('name')
      // Tables of texts have names that nobody sees.
      if (this.#isSpreadsheet && title !== null) this.#writer.add(`## ${title}`)
      this.#document.openTable()
      this.#columns.push({ count: 0, hidden: new Set() })
    } else if (name === 'table-row') {
      this.#rowRepeats.push(repeatsOf(attribute('number-rows-repeated')))
      this.#document.openRow()
    } else if (name.endsWith('table-cell')) {
      const repeats = Math.min(repeatsOf(attribute('number-columns-repeated')), REPEATS_MAX)
      this.#document.openCell()
      // What it holds is below the cell that covers it.
      if (name === 'covered-table-cell') this.#document.closeCell(repeats)
      else this.#repeats.push(repeats)
    }
  }

  #addColumns({ attribute }: XmlElement, isHidden: boolean): void {
    const columns = this.#columns.at(-1)
    if (columns === undefined) return
    const end = columns.count + repeatsOf(attribute('number-columns-repeated'))
    const kept = Math.min(end, SHEET_COLUMNS_MAX)
    if (isHidden) for (let at = columns.count; at < kept; at++) columns.hidden.add(at)
    columns.count = end
  }

  #closeRow(): void {
    const repeats = this.#rowRepeats.pop() ?? 1
    const hasText = this.#document.closeRow(Math.min(repeats, REPEATS_MAX))
    if (hasText && repeats > REPEATS_MAX) this.#writer.leaveOut()
  }

  #isSpreadsheet = false

  #openOther({ name, attribute }: XmlElement): void {
    if (name === 'spreadsheet') this.#isSpreadsheet = true
    else if (name === 'list') this.#lists += 1
    else if (name === 's') this.#add(' '.repeat(Math.min(Number(attribute('c') ?? '1'), 100)))
    else if (name === 'tab') this.#add('\t')
    else if (name === 'line-break') this.#add('\n')
    else if (name === 'page') {
      this.slides += 1
      this.#writer.add(`## Slide ${this.slides}`)
    }
  }

  #add(text: string): void {
    const paragraph = this.#paragraphs.at(-1)
    if (paragraph !== undefined) paragraph.text += text
  }
}

/** 1 for anything but a positive number. */
function repeatsOf(attribute: string | null): number {
  const repeats = Number(attribute ?? '1')
  return Number.isInteger(repeats) && repeats > 0 ? repeats : 1
}

function isTablePart(name: string): boolean {
  return (
    name === 'table' ||
    name === 'table-row' ||
    name.endsWith('table-cell') ||
    name === 'table-column'
  )
}

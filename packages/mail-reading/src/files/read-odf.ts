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

class Content implements XmlReader {
  slides = 0
  readonly #document: DocumentText
  readonly #writer: TextWriter
  readonly #hiddenStyles = new Set<string>()
  /** A note or a text box within a paragraph has paragraphs of its own. */
  readonly #paragraphs: { text: string; level: number }[] = []
  /** How often the cell that is open stands in its row. */
  readonly #repeats: number[] = []
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
    else if (name === 'table') this.#document.closeTable()
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
    } else if (name === 'table-row') this.#document.openRow()
    else if (name === 'table-cell') {
      this.#repeats.push(Math.min(Number(attribute('number-columns-repeated') ?? '1'), REPEATS_MAX))
      this.#document.openCell()
    } else if (name === 'covered-table-cell') {
      this.#document.openCell()
      this.#document.closeCell()
    }
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

function isTablePart(name: string): boolean {
  return (
    name === 'table' ||
    name === 'table-row' ||
    name.endsWith('table-cell') ||
    name === 'table-column'
  )
}

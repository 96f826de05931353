// Extracts the text of OpenDocument files (ISO/IEC 26300): texts, spreadsheets and presentations,
// without deleted and hidden text.

import { DocumentText } from './document-text.ts'
import { leftOut, type TextWriter } from './file-text.ts'
import { isUnseen, OdfStyles } from './odf-styles.ts'
import { readXml, type XmlElement, type XmlReader } from './read-xml.ts'
import { encrypted, type ZipFile } from './zip-file.ts'

const MANIFEST_BYTES_MAX = 256 * 1024

/** Returns the number of slides, or 0 for other files. */
export function readOdf(zip: ZipFile, writer: TextWriter): number {
  if (zip.readText('META-INF/manifest.xml', MANIFEST_BYTES_MAX).includes('encryption-data')) {
    throw encrypted()
  }
  const document = new DocumentText(writer)
  const styles = new OdfStyles()
  if (zip.has('styles.xml')) readXml(zip, 'styles.xml', styles.readCommon())
  const content = new Content(document, writer, styles)
  readXml(zip, 'content.xml', content)
  document.end()
  writer.add(leftOut(content.hidden))
  return content.slides
}

/** Elements whose text is invisible or shown elsewhere. */
const SKIPPED = new Set([
  'tracked-changes',
  'deletion',
  'annotation',
  'ruby-text',
  'desc',
  'title',
  'script',
  'event-listeners',
  'forms',
])
const SHAPES = new Set([
  'frame',
  'g',
  'custom-shape',
  'rect',
  'line',
  'polyline',
  'polygon',
  'regular-polygon',
  'path',
  'circle',
  'ellipse',
  'connector',
  'caption',
  'measure',
])
/** Maximum copies of a repeated cell or row; sheets end with a million empty ones. */
const REPEATS_MAX = 256
/** LibreOffice allows at most this many columns. */
const SHEET_COLUMNS_MAX = 16_384

class Content implements XmlReader {
  slides = 0
  /** Number of hidden slides, sheets, and shapes with text. */
  readonly hidden = { slide: 0, sheet: 0, shape: 0 }
  readonly #document: DocumentText
  readonly #writer: TextWriter
  readonly #styles: OdfStyles
  readonly #automatic: ReturnType<OdfStyles['readAutomatic']>
  /** The open paragraphs. A note or text box within a paragraph contains other paragraphs. */
  readonly #paragraphs: { text: string; level: number; isHidden: boolean }[] = []
  /** For each open element that is not skipped, whether its text is hidden. */
  readonly #isHidden: boolean[] = []
  readonly #repeats: number[] = []
  readonly #rowRepeats: number[] = []
  /** For each open table, the number of declared columns and which of them are hidden. */
  readonly #columns: { count: number; hidden: Set<number> }[] = []
  #lists = 0
  #skipping = 0
  /** Whether the skipped shape has no text so far. */
  #isEmptyShape = false

  constructor(document: DocumentText, writer: TextWriter, styles: OdfStyles) {
    this.#document = document
    this.#writer = writer
    this.#styles = styles
    this.#automatic = styles.readAutomatic()
  }

  open(element: XmlElement): void {
    const { name, attribute } = element
    if (this.#skipping > 0) {
      this.#skipping += 1
      return
    }
    if (this.#automatic.open(element)) return
    if (SKIPPED.has(name) || this.#isLeftOut(element)) {
      this.#skipping = 1
      return
    }
    const isHidden = this.#hides(element)
    this.#isHidden.push(isHidden)
    if (name === 'p' || name === 'h') {
      const level = name === 'h' ? Number(attribute('outline-level') ?? '1') : 0
      this.#paragraphs.push({ text: '', level, isHidden: false })
    } else if (name === 'hidden-paragraph') {
      const paragraph = this.#paragraphs.at(-1)
      if (paragraph !== undefined) paragraph.isHidden ||= wasHidden(element)
    } else if (name === 'table-column') this.#addColumns(element, isHidden)
    else if (isTablePart(name)) this.#openTablePart(element)
    else this.#openOther(element)
  }

  close(name: string): void {
    if (this.#skipping > 0) {
      this.#skipping -= 1
      if (this.#skipping === 0) this.#isEmptyShape = false
      return
    }
    if (this.#automatic.close(name)) return
    this.#isHidden.pop()
    if (name === 'p' || name === 'h') {
      const paragraph = this.#paragraphs.pop()
      if (paragraph === undefined || paragraph.isHidden) return
      const { text, level } = paragraph
      this.#document.paragraph(text, { level, isItem: this.#lists > 0 })
    } else if (name === 'list') this.#lists -= 1
    else if (name === 'table-cell') this.#document.closeCell(this.#repeats.pop() ?? 1)
    else if (name === 'table-row') this.#closeRow()
    else if (name === 'table') this.#document.closeTable(this.#columns.pop()?.hidden)
  }

  text(text: string): void {
    if (this.#isEmptyShape && text.trim() !== '') {
      this.#isEmptyShape = false
      this.hidden.shape += 1
    }
    if (this.#skipping === 0) this.#add(text.replace(/[\t\n\r ]+/g, ' '))
  }

  /** Returns whether the element is omitted, and counts the omission. */
  #isLeftOut(element: XmlElement): boolean {
    const { name, attribute } = element
    if (name === 'page' && this.#styles.isHidden('drawing-page', attribute('style-name'))) {
      this.slides += 1
      this.hidden.slide += 1
      return true
    }
    if (name === 'table' && this.#styles.isHidden('table', attribute('style-name'))) {
      if (this.#isSpreadsheet) this.hidden.sheet += 1
      return true
    }
    if (name === 'table-row') return isFolded(attribute('visibility'))
    // The group is not omitted, because its columns must be counted.
    if (name === 'table-column-group') return false
    const display = attribute('display')
    if (display === 'condition' || name === 'hidden-text') return wasHidden(element)
    const isShape = SHAPES.has(name)
    if (!isUnseen(display) && !(isShape && this.#styles.isLayerHidden(attribute('layer'))))
      return false
    this.#isEmptyShape = isShape
    return true
  }

  /**
   * Whether text in the element is hidden. The element is still read, because parts may be visible.
   */
  #hides({ name, attribute }: XmlElement): boolean {
    const isHidden = this.#isHidden.at(-1) ?? this.#styles.isHiddenByDefault()
    const style = attribute('style-name')
    if (name === 'table-column-group') return isHidden || isUnseen(attribute('display'))
    if (name === 'table-column') return isHidden || isFolded(attribute('visibility'))
    if (name === 'p' || name === 'h') return this.#styles.isParagraphHidden(style) ?? isHidden
    if (name === 'span' || name === 'a') return this.#styles.isHidden('text', style) ?? isHidden
    if (name.endsWith('table-cell')) return this.#styles.isHidden('table-cell', style) ?? isHidden
    if (!SHAPES.has(name)) return isHidden
    const own = this.#styles.isHidden('presentation', attribute('presentation:style-name') ?? style)
    return own ?? this.#styles.isHidden('graphic', style) ?? isHidden
  }

  #openTablePart({ name, attribute }: XmlElement): void {
    if (name === 'table') {
      const title = attribute('name')
      // Table names are invisible in text documents.
      if (this.#isSpreadsheet && title !== null) this.#writer.add(`## ${title}`)
      this.#document.openTable()
      this.#columns.push({ count: 0, hidden: new Set() })
    } else if (name === 'table-row') {
      this.#rowRepeats.push(repeatsOf(attribute('number-rows-repeated')))
      this.#document.openRow()
    } else if (name.endsWith('table-cell')) {
      const repeats = Math.min(repeatsOf(attribute('number-columns-repeated')), REPEATS_MAX)
      this.#document.openCell()
      // The content of a covered cell is below the cell that covers it.
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
    if (paragraph !== undefined && this.#isHidden.at(-1) !== true) paragraph.text += text
  }
}

/** The number of repetitions; 1 unless the attribute is a positive number. */
function repeatsOf(attribute: string | null): number {
  const repeats = Number(attribute ?? '1')
  return Number.isInteger(repeats) && repeats > 0 ? repeats : 1
}

function isTablePart(name: string): boolean {
  return name === 'table' || name === 'table-row' || name.endsWith('table-cell')
}

/**
 * Whether conditional content was hidden. LibreOffice writes the attribute only for content hidden
 * at save.
 */
function wasHidden({ attribute }: XmlElement): boolean {
  return attribute('is-hidden') === 'true'
}

function isFolded(visibility: string | null): boolean {
  return visibility === 'collapse' || visibility === 'filter'
}

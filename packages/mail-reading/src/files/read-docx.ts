// Extracts the text of a Word document (WordprocessingML, ECMA-376 part 1 §17): everything visible
// on its pages, in file order, without deleted and hidden text.

import { DocumentText } from './document-text.ts'
import type { TextWriter } from './file-text.ts'
import { HiddenShapes } from './hidden-shapes.ts'
import { relationshipsOf } from './package-parts.ts'
import { readXml, type XmlElement, type XmlReader } from './read-xml.ts'
import { WordFields } from './word-fields.ts'
import { isOn, WordStyles } from './word-styles.ts'
import type { ZipFile } from './zip-file.ts'

export function readDocx(zip: ZipFile, main: string, writer: TextWriter): void {
  const related = [...relationshipsOf(zip, main).values()].filter(({ target }) => zip.has(target))
  const ofType = (type: string) =>
    related.filter((one) => one.type === type).map(({ target }) => target)
  const styles = new WordStyles(zip, ofType('styles'))
  // The headers of first, middle and other pages are often identical, so repetitions are dropped.
  const seen = new Set<string>()
  const readStory = (
    part: string,
    how: { fields: WordFields; isWanted(text: string): boolean },
  ) => {
    const document = new DocumentText(writer)
    readXml(zip, part, new Story({ document, styles, ...how }))
    how.fields.end()
    document.end()
  }
  const read = (part: string, isOnce = false) => {
    const takeBack = writer.mark()
    const added: string[] = []
    const isWanted = (text: string) => {
      if (!isOnce) return true
      if (seen.has(text)) return false
      seen.add(text)
      added.push(text)
      return true
    }
    const fields = new WordFields()
    readStory(part, { fields, isWanted })
    if (fields.unclosed.size === 0) return
    takeBack()
    for (const text of added) seen.delete(text)
    readStory(part, { fields: new WordFields(fields.unclosed), isWanted })
  }
  for (const part of ofType('header')) read(part, true)
  read(main)
  for (const kind of ['footnotes', 'endnotes', 'comments'])
    for (const part of ofType(kind)) read(part)
  for (const part of ofType('footer')) read(part, true)
}

/**
 * `Fallback` repeats its neighbour, and tracked property changes contain the former properties. The
 * properties of a content control do not format its text: `sdtPr` applies to text that a person
 * enters later, `sdtEndPr` to the character at its end.
 */
const SKIPPED = new Set([
  'Fallback',
  'del',
  'moveFrom',
  'rPrChange',
  'pPrChange',
  'tblPrChange',
  'sdtPr',
  'sdtEndPr',
])
const NOTES = new Set(['footnote', 'endnote'])
const NOT_NOTES = new Set(['separator', 'continuationSeparator', 'continuationNotice'])

/** `isHidden` is the run's own setting; null if the run has none. */
type Run = { style: string; isHidden: boolean | null }

/** Texts that are separate from the surrounding text. */
const APART = new Set(['txbxContent', 'footnote', 'endnote', 'comment'])

type Paragraph = {
  text: string
  level: number
  isItem: boolean
  style: string
  /** The style of the enclosing table; null outside tables. */
  table: string | null
  /** Whether the paragraph is in a text box inside hidden text. */
  isCovered: boolean
  /** The open runs, innermost last. In `ruby`, a run contains other runs. */
  readonly runs: Run[]
}

class Story implements XmlReader {
  readonly #document: DocumentText
  readonly #styles: WordStyles
  readonly #isWanted: (text: string) => boolean
  /** The open paragraphs. A text box within a paragraph contains other paragraphs. */
  readonly #paragraphs: Paragraph[] = []
  /** The style of each open table; null for a text box, which does not inherit the style. */
  readonly #tables: (string | null)[] = []
  readonly #shapes = new HiddenShapes()
  readonly #fields: WordFields
  #skipping = 0
  #isText = false

  constructor(of: {
    document: DocumentText
    styles: WordStyles
    fields: WordFields
    isWanted(text: string): boolean
  }) {
    this.#document = of.document
    this.#styles = of.styles
    this.#fields = of.fields
    this.#isWanted = of.isWanted
  }

  open(element: XmlElement): void {
    const { name } = element
    const isNote = !(NOTES.has(name) && NOT_NOTES.has(element.attribute('type') ?? ''))
    if (this.#skipping > 0 || SKIPPED.has(name) || !isNote) {
      this.#skipping += 1
      return
    }
    if (this.#shapes.open(element)) return
    if (APART.has(name)) this.#fields.openText()
    const paragraph = this.#paragraphs.at(-1)
    if (name === 'p') this.#openParagraph()
    else if (name === 'r') paragraph?.runs.push({ style: '', isHidden: null })
    else if (name === 't') this.#isText = true
    else if (name === 'tbl') {
      this.#document.openTable()
      this.#tables.push('')
    } else if (name === 'txbxContent') this.#tables.push(null)
    else if (name === 'tblStyle') {
      if (this.#tables.pop() !== undefined) this.#tables.push(element.attribute('val') ?? '')
    } else if (name === 'tr') this.#document.openRow()
    else if (name === 'tc') this.#document.openCell()
    else if (paragraph !== undefined) {
      const run = paragraph.runs.at(-1)
      if (run === undefined) describe(paragraph, element)
      else this.#openInRun(run, element)
    }
  }

  close(name: string): void {
    if (this.#skipping > 0) this.#skipping -= 1
    else if (this.#shapes.close()) return
    else if (APART.has(name)) this.#closeText(name)
    else if (name === 't') this.#isText = false
    else if (name === 'r') this.#paragraphs.at(-1)?.runs.pop()
    else if (name === 'p') this.#closeParagraph()
    else if (name === 'tc') this.#document.closeCell()
    else if (name === 'tbl') {
      this.#document.closeTable()
      this.#tables.pop()
    }
  }

  text(text: string): void {
    if (this.#skipping > 0 || this.#shapes.text(text)) return
    if (this.#isText) this.#add(text)
  }

  #closeText(name: string): void {
    this.#fields.closeText()
    if (name === 'txbxContent') this.#tables.pop()
  }

  #openInRun(run: Run, element: XmlElement): void {
    const { name } = element
    if (name === 'tab' || name === 'ptab') this.#add('\t')
    else if (name === 'br' || name === 'cr') this.#add('\n')
    else if (name === 'noBreakHyphen') this.#add('-')
    else if (name === 'fldChar') this.#fields.mark(element.attribute('fldCharType'))
    else if (name === 'vanish') run.isHidden = isOn(element)
    else if (name === 'rStyle') run.style = element.attribute('val') ?? ''
  }

  #openParagraph(): void {
    const around = this.#paragraphs.at(-1)
    this.#paragraphs.push({
      text: '',
      level: 0,
      isItem: false,
      style: '',
      table: this.#tables.at(-1) ?? null,
      isCovered: around !== undefined && this.#isHidden(around),
      runs: [],
    })
  }

  #closeParagraph(): void {
    const paragraph = this.#paragraphs.pop()
    if (paragraph === undefined || !this.#isWanted(paragraph.text)) return
    this.#document.paragraph(paragraph.text, paragraph)
  }

  #add(text: string): void {
    const paragraph = this.#paragraphs.at(-1)
    if (paragraph !== undefined && !this.#isHidden(paragraph)) paragraph.text += text
  }

  #isHidden({ isCovered, runs, table, style }: Paragraph): boolean {
    if (isCovered || this.#fields.isCode) return true
    const hides = (character: string) => this.#styles.hide({ table, paragraph: style, character })
    for (const run of runs.toReversed()) {
      if (run.isHidden !== null) return run.isHidden
      if (run.style !== '' && hides(run.style)) return true
    }
    return hides(runs[0]?.style ?? '')
  }
}

function describe(paragraph: Paragraph, { name, attribute }: XmlElement): void {
  if (name === 'numPr') paragraph.isItem = true
  else if (name === 'pStyle') {
    const style = attribute('val') ?? ''
    paragraph.style = style
    const heading = /^(?:heading|berschrift|titre|ttulo|titolo|kop)\s*([1-9])$/i.exec(style)
    if (heading !== null) paragraph.level = Number(heading[1])
    else if (/^title$/i.test(style)) paragraph.level = 1
  } else if (name === 'outlineLvl') {
    const level = Number(attribute('val') ?? '9')
    if (level < 6) paragraph.level ||= level + 1
  }
}

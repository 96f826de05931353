// The text of a Word document (WordprocessingML, ECMA-376 part 1 §17): what a reader of the pages sees, in the order of
// the file, without deleted and hidden text.

import { DocumentText } from './document-text.ts'
import type { TextWriter } from './file-text.ts'
import { relationshipsOf } from './package-parts.ts'
import { readXml, type XmlElement, type XmlReader } from './read-xml.ts'
import type { ZipFile } from './zip-file.ts'

export function readDocx(zip: ZipFile, main: string, writer: TextWriter): void {
  const related = [...relationshipsOf(zip, main).values()].filter(({ target }) => zip.has(target))
  const ofType = (type: string) =>
    related.filter((one) => one.type === type).map(({ target }) => target)
  const hiddenStyles = new Set(ofType('styles').flatMap((part) => hiddenStylesOf(zip, part)))
  // The headers of first, middle and other pages are often the same.
  const seen = new Set<string>()
  const isNew = (text: string) => !seen.has(text) && seen.add(text) !== null
  const read = (part: string, isWanted: (text: string) => boolean = () => true) => {
    const document = new DocumentText(writer)
    readXml(zip, part, new Story(document, hiddenStyles, isWanted))
    document.end()
  }
  for (const part of ofType('header')) read(part, isNew)
  read(main)
  for (const kind of ['footnotes', 'endnotes', 'comments'])
    for (const part of ofType(kind)) read(part)
  for (const part of ofType('footer')) read(part, isNew)
}

function hiddenStylesOf(zip: ZipFile, part: string): string[] {
  const hidden: string[] = []
  let id = ''
  readXml(zip, part, {
    open(element) {
      if (element.name === 'style') id = element.attribute('styleId') ?? ''
      else if (element.name === 'vanish' && isOn(element) && id !== '') hidden.push(id)
    },
    close(name) {
      if (name === 'style') id = ''
    },
  })
  return hidden
}

/** `Fallback` repeats what its neighbour shows. */
const SKIPPED = new Set(['Fallback', 'del', 'moveFrom'])
const NOTES = new Set(['footnote', 'endnote'])
const NOT_NOTES = new Set(['separator', 'continuationSeparator', 'continuationNotice'])

type Paragraph = { text: string; level: number; isItem: boolean; isHidden: boolean }

class Story implements XmlReader {
  readonly #document: DocumentText
  readonly #hiddenStyles: ReadonlySet<string>
  readonly #isWanted: (text: string) => boolean
  /** A text box within a paragraph has paragraphs of its own. */
  readonly #paragraphs: Paragraph[] = []
  #skipping = 0
  #isRun = false
  /** As the run says; null for as its paragraph. */
  #isHidden: boolean | null = null
  #isText = false

  constructor(
    document: DocumentText,
    hiddenStyles: ReadonlySet<string>,
    isWanted: (text: string) => boolean,
  ) {
    this.#document = document
    this.#hiddenStyles = hiddenStyles
    this.#isWanted = isWanted
  }

  open(element: XmlElement): void {
    const { name } = element
    const isNote = !(NOTES.has(name) && NOT_NOTES.has(element.attribute('type') ?? ''))
    if (this.#skipping > 0 || SKIPPED.has(name) || !isNote) {
      this.#skipping += 1
      return
    }
    if (name === 'p') this.#paragraphs.push({ text: '', level: 0, isItem: false, isHidden: false })
    else if (name === 'r') {
      this.#isRun = true
      this.#isHidden = null
    } else if (name === 't') this.#isText = true
    else if (name === 'tbl') this.#document.openTable()
    else if (name === 'tr') this.#document.openRow()
    else if (name === 'tc') this.#document.openCell()
    else if (this.#isRun) this.#openInRun(element)
    else this.#describe(element)
  }

  close(name: string): void {
    if (this.#skipping > 0) this.#skipping -= 1
    else if (name === 't') this.#isText = false
    else if (name === 'r') this.#isRun = false
    else if (name === 'p') this.#closeParagraph()
    else if (name === 'tc') this.#document.closeCell()
    else if (name === 'tbl') this.#document.closeTable()
  }

  text(text: string): void {
    if (this.#skipping === 0 && this.#isText) this.#add(text)
  }

  #openInRun(element: XmlElement): void {
    const { name } = element
    if (name === 'tab' || name === 'ptab') this.#add('\t')
    else if (name === 'br' || name === 'cr') this.#add('\n')
    else if (name === 'noBreakHyphen') this.#add('-')
    else if (name === 'vanish') this.#isHidden = isOn(element)
    else if (name === 'rStyle') {
      if (this.#hiddenStyles.has(element.attribute('val') ?? '')) this.#isHidden = true
    }
  }

  #describe({ name, attribute }: XmlElement): void {
    const paragraph = this.#paragraphs.at(-1)
    if (paragraph === undefined) return
    if (name === 'numPr') paragraph.isItem = true
    else if (name === 'pStyle') {
      const style = attribute('val') ?? ''
      paragraph.isHidden = this.#hiddenStyles.has(style)
      const heading = /^(?:heading|berschrift|titre|ttulo|titolo|kop)\s*([1-9])$/i.exec(style)
      if (heading !== null) paragraph.level = Number(heading[1])
      else if (/^title$/i.test(style)) paragraph.level = 1
    } else if (name === 'outlineLvl') {
      const level = Number(attribute('val') ?? '9')
      if (level < 6) paragraph.level ||= level + 1
    }
  }

  #closeParagraph(): void {
    const paragraph = this.#paragraphs.pop()
    if (paragraph === undefined || !this.#isWanted(paragraph.text)) return
    this.#document.paragraph(paragraph.text, paragraph)
  }

  #add(text: string): void {
    const paragraph = this.#paragraphs.at(-1)
    if (paragraph === undefined || (this.#isHidden ?? paragraph.isHidden)) return
    paragraph.text += text
  }
}

/** A property without a value is on (§17.17.4). */
function isOn({ attribute }: XmlElement): boolean {
  return !['0', 'false', 'off'].includes(attribute('val') ?? '')
}

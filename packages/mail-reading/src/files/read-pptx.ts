// Extracts the text of a presentation (PresentationML, ECMA-376 part 1 §19): each visible slide
// with its notes, in order, without hidden shapes.

import { DocumentText } from './document-text.ts'
import { leftOut, type TextWriter } from './file-text.ts'
import { HiddenShapes } from './hidden-shapes.ts'
import { relationshipsOf } from './package-parts.ts'
import { readXml, type XmlElement, type XmlReader } from './read-xml.ts'
import type { ZipFile } from './zip-file.ts'

/** Returns the number of slides. */
export function readPptx(zip: ZipFile, main: string, writer: TextWriter): number {
  const related = relationshipsOf(zip, main)
  const slides: string[] = []
  readXml(zip, main, {
    open({ name, relation }) {
      if (name !== 'sldId') return
      const target = related.get(relation() ?? '')?.target
      if (target !== undefined && zip.has(target)) slides.push(target)
    },
  })
  const hidden = { slide: 0, shape: 0 }
  for (const [index, slide] of slides.entries()) {
    const { isHidden, hiddenShapes } = readShapes(zip, slide, {
      writer,
      heading: `## Slide ${index + 1}`,
    })
    if (isHidden) {
      hidden.slide += 1
      continue
    }
    hidden.shape += hiddenShapes
    const notes = [...relationshipsOf(zip, slide).values()].find(
      ({ type }) => type === 'notesSlide',
    )
    if (notes !== undefined && zip.has(notes.target)) {
      hidden.shape += readShapes(zip, notes.target, { writer }).hiddenShapes
    }
  }
  writer.add(leftOut(hidden))
  return slides.length
}

function readShapes(
  zip: ZipFile,
  part: string,
  { writer, heading = '' }: { writer: TextWriter; heading?: string },
): Shapes {
  const document = new DocumentText(writer)
  const shapes = new Shapes(document, () => writer.add(heading))
  readXml(zip, part, shapes)
  document.end()
  return shapes
}

/** The number and date of a slide are fields, not text. */
const FIELD_PLACES = new Set(['sldNum', 'dt'])

class Shapes implements XmlReader {
  readonly #document: DocumentText
  #text = ''
  #isText = false
  #isTitle = false
  #isField = false
  #skipping = 0
  readonly #hidden = new HiddenShapes()
  isHidden = false
  readonly #begin: () => void

  constructor(document: DocumentText, begin: () => void) {
    this.#document = document
    this.#begin = begin
  }

  get hiddenShapes(): number {
    return this.#hidden.count
  }

  open(element: XmlElement): void {
    const { name, attribute } = element
    if (name === 'sld') this.isHidden = ['0', 'false'].includes(attribute('show') ?? '')
    if (this.#skipping > 0 || name === 'Fallback' || this.isHidden) {
      this.#skipping += 1
    } else if (this.#hidden.open(element)) return
    else if (name === 'sld') {
      this.#begin()
    } else if (name === 'sp') {
      this.#isTitle = false
      this.#isField = false
    } else if (name === 'ph') {
      const type = attribute('type') ?? ''
      this.#isTitle = type === 'title' || type === 'ctrTitle'
      this.#isField = FIELD_PLACES.has(type)
    } else if (name === 'p') this.#text = ''
    else if (name === 't') this.#isText = true
    else if (name === 'br') this.#text += '\n'
    else if (name === 'tab') this.#text += '\t'
    else if (name === 'tbl') this.#document.openTable()
    else if (name === 'tr') this.#document.openRow()
    else if (name === 'tc') this.#document.openCell()
  }

  close(name: string): void {
    if (this.#skipping > 0) this.#skipping -= 1
    else if (this.#hidden.close()) return
    else if (name === 't') this.#isText = false
    else if (name === 'p' && !this.#isField) {
      this.#document.paragraph(this.#text, { level: this.#isTitle ? 3 : 0 })
    } else if (name === 'tc') this.#document.closeCell()
    else if (name === 'tbl') this.#document.closeTable()
  }

  text(text: string): void {
    if (this.#skipping > 0 || this.#hidden.text(text)) return
    if (this.#isText) this.#text += text
  }
}

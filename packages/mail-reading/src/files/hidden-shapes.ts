// Finds hidden shapes of Office files (ECMA-376 part 1 §20.1.2.2.8 and §20.4.2.5; part 4 §19.1.2.19
// for VML). The attribute that hides a shape is on an element inside it.

import type { XmlElement } from './read-xml.ts'

const SHAPES = new Set([
  'sp',
  'grpSp',
  'graphicFrame',
  'pic',
  'cxnSp',
  'contentPart',
  'wsp',
  'wgp',
  'drawing',
])
const VML = new Set([
  'shape',
  'group',
  'rect',
  'roundrect',
  'oval',
  'line',
  'polyline',
  'curve',
  'arc',
  'image',
])
const MARKED = new Set(['cNvPr', 'docPr', 'anchor'])

/** Tracks hidden shapes. Readers pass it each element that they do not skip for another reason. */
export class HiddenShapes {
  /** Number of hidden shapes with text; a shape inside another one is not counted. */
  count = 0
  #depth = 0
  readonly #open: number[] = []
  /** Depth of the current hidden shape; null outside hidden shapes. */
  #hidden: number | null = null
  #isText = false
  #hasText = false

  /** Returns whether the element is within a hidden shape. */
  open({ name, attribute }: XmlElement): boolean {
    this.#depth += 1
    if (this.#hidden !== null) {
      this.#isText = name === 't'
      return true
    }
    if (SHAPES.has(name)) this.#open.push(this.#depth)
    if (MARKED.has(name) && ['1', 'true', 'on'].includes(attribute('hidden') ?? '')) {
      this.#hidden = this.#open.at(-1) ?? null
    } else if (VML.has(name) && /visibility\s*:\s*hidden/i.test(attribute('style') ?? '')) {
      this.#hidden = this.#depth
    }
    this.#hasText = false
    return this.#hidden !== null
  }

  /** Returns whether the element was within a hidden shape. */
  close(): boolean {
    this.#isText = false
    const isWithin = this.#hidden !== null && this.#depth > this.#hidden
    if (this.#hidden === this.#depth) {
      this.#hidden = null
      if (this.#hasText) this.count += 1
    }
    if (this.#open.at(-1) === this.#depth) this.#open.pop()
    this.#depth -= 1
    return isWithin
  }

  /** Returns whether the text belongs to a hidden shape. */
  text(text: string): boolean {
    this.#hasText ||= this.#isText && text.trim() !== ''
    return this.#hidden !== null
  }
}

// Removes everything that fetches from style sheets and style attributes. Works token by token (CSS
// Syntax Level 3 §4) in linear time. Any token that may be harmful removes its segment, up to the
// next `;`, `{` or `}`, so the result is safe in any browser.

import { createRequire } from 'node:module'
import type { Piece } from '@mailroom/mail/html/safe-html.ts'
import { wordSet } from '@mailroom/mail/html/tree.ts'
import { type ImageReference, readImageAddress } from './images.ts'

/** Returns the marker for an image, or null to remove its declaration. */
export type PlaceImage = (image: ImageReference) => ImageReference | null

/** The safe pieces of a style element or attribute, with addresses in single quotes. */
export function safeCss(css: string, place: PlaceImage): Piece<ImageReference>[] {
  // Fast path: most styles can neither fetch anything nor end their own element.
  if (PLAIN.test(css)) return [css]
  const { tokenize, tokenTypes } = load('css-tree/tokenizer') as typeof import('css-tree/tokenizer')
  const names = Object.fromEntries(Object.entries(tokenTypes).map(([name, type]) => [type, name]))
  const writer = new CssWriter(place)
  tokenize(css, (type, start, end) => writer.take(names[type] ?? '', css.slice(start, end)))
  return writer.finish()
}

const load = createRequire(import.meta.url)

/** Styles without functions, escapes, comments, at-rules and tags. */
const PLAIN = /^[\w\s#%.,:;!'"+>*~=^$|[\]{}-]*$/

const FUNCTIONS = wordSet(`
  rgb rgba hsl hsla hwb lab lch oklab oklch color color-mix light-dark calc min max clamp var env
  linear-gradient radial-gradient conic-gradient repeating-linear-gradient repeating-radial-gradient
  -webkit-linear-gradient -webkit-radial-gradient translate translatex translatey translate3d rotate
  scale scalex scaley skew skewx skewy matrix cubic-bezier steps blur brightness contrast grayscale
  opacity saturate drop-shadow rect inset circle ellipse polygon minmax repeat fit-content counter
  not is where has nth-child nth-last-child nth-of-type first-child lang
`)
const AT_RULES = wordSet(`
  @media @supports @keyframes @-webkit-keyframes @-moz-keyframes @layer @container @page
  @-ms-viewport
`)
const ENDS = new Set(['Semicolon', 'LeftCurlyBracket', 'RightCurlyBracket'])
const OPENING = new Set(['LeftParenthesis', 'LeftSquareBracket'])
const CLOSING = new Set(['RightParenthesis', 'RightSquareBracket'])
const BLANK = new Set(['WhiteSpace', 'Comment', 'CDO', 'CDC'])
const BAD = new Set(['BadString', 'BadUrl'])
/** Properties that ran scripts in Internet Explorer and old versions of Gecko. */
const PROPERTY = /^(?:behaviou?r|-moz-binding)$/i

/** Pseudo-classes that depend only on document structure, and pseudo-elements. */
const LASTING =
  /:(?:first|last|only|nth|nth-last)-(?:child|of-type)|:{1,2}(?:before|after|first-line|first-letter|placeholder|marker)|:(?:root|link|any-link|empty|not|is|where|has|lang)/g

/** Whether a selector may depend on a state such as hovering. An escape could spell any state. */
export function hasState(selector: string): boolean {
  return /[:\\]/.test(selector.replace(LASTING, ''))
}

type CssPiece = Piece<ImageReference>

class CssWriter {
  readonly #place: PlaceImage
  readonly #written: CssPiece[] = []
  #segment: CssPiece[] = []
  #isBad = false
  /** For each open block, whether its rules are conditional. */
  readonly #blocks: boolean[] = []
  /** Whether the segment starts with a variable name; null before its first token. */
  #isVariable: boolean | null = null
  #brackets = 0
  /** Set once a block begins within brackets: from there on, browsers may see different blocks. */
  #isUnsure = false
  /** The token expected next within `url(`: a string, or the end. */
  #url: 'none' | 'string' | 'end' = 'none'

  constructor(place: PlaceImage) {
    this.#place = place
  }

  take(name: string, text: string): void {
    if (name === 'Function' || OPENING.has(name)) this.#brackets += 1
    else if (CLOSING.has(name)) this.#brackets -= 1
    if (!BLANK.has(name)) this.#isVariable ??= /^(?:--|.*\\)/.test(text)
    if (ENDS.has(name)) this.#end(text)
    else if (this.#url !== 'none') this.#takeOfUrl(name, text)
    // HTML comments in CSS hid style sheets from old browsers. Replacing one with a space would end
    // an escape before it and join the text after it to that name.
    else if (['Comment', 'CDO', 'CDC'].includes(name)) this.#segment.push('/**/')
    else if (name === 'Url') this.#takeAddress(text.replace(/^url\(|\)$/gi, ''))
    else if (name === 'Function') this.#takeFunction(text)
    else if (name === 'AtKeyword') this.#takeKnown(text, AT_RULES.has(text.toLowerCase()))
    else if (name === 'Ident') this.#takeKnown(text, !PROPERTY.test(text))
    else this.#takeKnown(text, !BAD.has(name))
  }

  finish(): CssPiece[] {
    this.#end('')
    return this.#written
  }

  #takeKnown(text: string, isKnown: boolean): void {
    if (!isKnown) this.#isBad = true
    this.#segment.push(text)
  }

  #takeFunction(text: string): void {
    const name = text.slice(0, -1).toLowerCase()
    if (name === 'url') this.#url = 'string'
    else this.#takeKnown(text, FUNCTIONS.has(name))
  }

  #takeOfUrl(name: string, text: string): void {
    if (name === 'WhiteSpace' || name === 'Comment') return
    if (this.#url === 'string' && name === 'String') {
      this.#url = 'end'
      this.#takeAddress(text.slice(1, -1))
    } else if (this.#url === 'end' && name === 'RightParenthesis') {
      this.#url = 'none'
    } else {
      this.#isBad = true
    }
  }

  #takeAddress(text: string): void {
    const read = text.includes('\\') ? null : readImageAddress(text)
    const address = read?.kind === 'remote' && this.#isConditional() ? null : read
    const placed = address?.kind === 'data' ? address.url : address && this.#place(address)
    if (placed === null) this.#isBad = true
    else this.#segment.push("url('", placed, "')")
  }

  /** Whether fetching the image would reveal the screen width, the pointer position or similar. */
  #isConditional(): boolean | null {
    // A variable may be used under any condition.
    return this.#isUnsure || this.#blocks.at(-1) === true || this.#isVariable
  }

  #head(): string {
    const text = this.#segment.filter((piece) => typeof piece === 'string').join('')
    return text.replaceAll('/**/', '').trim().toLowerCase()
  }

  #countBlocks(text: string): void {
    if (text === '}') this.#blocks.pop()
    if (text !== '{') return
    const head = this.#head()
    const isCondition = head.startsWith('@') ? !/^@layer\b/.test(head) : hasState(head)
    this.#isUnsure ||= this.#brackets !== 0
    this.#blocks.push(isCondition || this.#blocks.at(-1) === true)
  }

  #end(text: string): void {
    this.#countBlocks(text)
    if (text !== ';') this.#brackets = 0
    this.#isVariable = null
    // A rule without its selector applies to nothing; its block is kept and checked.
    const isHead = text === '{'
    const isKept = !this.#isBad && this.#url === 'none'
    // The pieces are pushed one by one, because a call cannot take that many arguments.
    for (const piece of isKept ? this.#segment : []) this.#written.push(piece)
    if (isKept || text === '}') this.#written.push(text)
    // A lone `;` at the top level of a sheet would be parsed as the start of the next rule.
    else if (isHead) this.#written.push('@none{')
    this.#segment = []
    this.#isBad = false
    this.#url = 'none'
  }
}

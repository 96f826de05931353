// Another's HTML written anew: known elements and attributes only, every element closed, nothing that a
// policy does not name.

import { createRequire } from 'node:module'
import { cleanText } from '#charset.ts'
import { HTML_DEPTH_MAX, HTML_LENGTH_MAX } from './tree.ts'

/** Text of the result, or something that its caller puts text in the place of. */
export type Piece<Mark> = string | Mark

export type HtmlPolicy<Mark = never> = {
  /** Elements that are written. */
  readonly kept: ReadonlySet<string>
  /** Left out with all that they hold; the tags of any other element only. */
  readonly dropped: ReadonlySet<string>
  /** Tags beyond which nothing is read: the parser moves all open elements with each new one. */
  readonly tagsMax: number
  /**
   * The start tag of a kept element, without what comes of its attributes elsewhere; nothing for an
   * element that is left out.
   */
  startTag(name: string, attributes: Readonly<Record<string, string>>): Piece<Mark>[]
  /** A style sheet as it may stand between style tags; without it `style` is an element like others. */
  styleSheet?(css: string): Piece<Mark>[]
}

export type SafeHtmlOptions = {
  /** Characters of the result, without `cut` and the end tags after it. */
  readonly lengthMax: number
  /** Text to stand where the rest was left out. */
  readonly cut: string
}

/**
 * The content of the document's body, or of the fragment, balanced. Null for more tags than the policy
 * has; of HTML beyond HTML_LENGTH_MAX the rest is not read. Elements deeper than HTML_DEPTH_MAX lose
 * their tags. Never throws.
 */
export function writeSafeHtml<Mark>(
  html: string,
  policy: HtmlPolicy<Mark>,
  options: SafeHtmlOptions,
): Piece<Mark>[] | null {
  const bounded = cleanText(html.slice(0, HTML_LENGTH_MAX))
  if (hasTooManyTags(bounded, policy.tagsMax)) return null
  const writer = new SafeWriter(policy, options)
  const { Parser } = load('htmlparser2') as typeof import('htmlparser2')
  const parser = new Parser({
    onopentag: (name, attributes) => writer.open(name, attributes),
    ontext: (text) => writer.text(text),
    onclosetag: () => writer.close(),
  })
  for (let at = 0; at < bounded.length && !writer.isFull; at += STEP) {
    parser.write(bounded.slice(at, at + STEP))
  }
  parser.end()
  return writer.finish(bounded.length < html.length)
}

/** `text` as text of HTML, or as the value of an attribute in double quotes. */
export function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}

// Loaded with the first HTML, as its sibling html-to-text is.
const load = createRequire(import.meta.url)

const STEP = 16_384
const VOID: ReadonlySet<string> = new Set(['area', 'br', 'col', 'hr', 'img', 'wbr'])
/** Counted for what a mark will stand for. */
const MARK_LENGTH = 200

/** What is open is on `#stack`; an element without a tag in the result has '' there. */
class SafeWriter<Mark> {
  isFull = false
  readonly #policy: HtmlPolicy<Mark>
  readonly #options: SafeHtmlOptions
  readonly #pieces: Piece<Mark>[] = []
  readonly #stack: string[] = []
  #length = 0
  #depth = 0
  /** Height of the stack at which a dropped element began. */
  #droppedAt: number | null = null
  /** Of the style element that is open. */
  #css: string[] | null = null

  constructor(policy: HtmlPolicy<Mark>, options: SafeHtmlOptions) {
    this.#policy = policy
    this.#options = options
  }

  /** The parser reports an end for every start, also where the source has none. */
  open(name: string, attributes: Readonly<Record<string, string>>): void {
    const { kept, dropped, styleSheet } = this.#policy
    if (this.#isWriting() && name === 'style' && styleSheet !== undefined) {
      this.#css = []
      this.#stack.push(STYLE)
      return
    }
    const isKept = this.#isWriting() && kept.has(name) && this.#depth < HTML_DEPTH_MAX
    if (this.#isWriting() && dropped.has(name)) this.#droppedAt = this.#stack.length
    const tag = isKept ? this.#policy.startTag(name, attributes) : []
    const isOpen = tag.length > 0 && this.#push(tag) && !VOID.has(name) && isTag(tag)
    if (isOpen) this.#depth += 1
    this.#stack.push(isOpen ? name : '')
  }

  text(text: string): void {
    if (this.#css !== null) this.#css.push(text)
    else if (this.#isWriting()) this.#push([escapeHtml(text)])
  }

  close(): void {
    const name = this.#stack.pop() ?? ''
    if (name === STYLE) {
      this.#closeStyle()
      return
    }
    if (name !== '' && !this.isFull) {
      this.#pieces.push(`</${name}>`)
      this.#length += name.length + 3
    }
    if (name !== '' && this.isFull) this.#unclosed.push(name)
    if (name !== '') this.#depth -= 1
    if (this.#droppedAt !== null && this.#stack.length <= this.#droppedAt) this.#droppedAt = null
  }

  finish(isCut: boolean): Piece<Mark>[] {
    const cut = isCut || this.isFull ? escapeHtml(this.#options.cut) : ''
    return [...this.#pieces, cut, ...this.#unclosed.map((name) => `</${name}>`)]
  }

  /** What was open when the result was full, innermost first. */
  readonly #unclosed: string[] = []

  #closeStyle(): void {
    const css = this.#policy.styleSheet?.(this.#css?.join('') ?? '') ?? []
    this.#css = null
    if (css.length > 0) this.#push(['<style>', ...css, '</style>'])
  }

  #isWriting(): boolean {
    return this.#droppedAt === null && !this.isFull
  }

  #push(pieces: Piece<Mark>[]): boolean {
    const length = pieces.reduce((sum, piece) => sum + lengthOf(piece), 0)
    if (this.#length + length > this.#options.lengthMax) {
      this.isFull = true
      return false
    }
    this.#length += length
    // One by one: a style sheet may be more pieces than a call takes.
    for (const piece of pieces) this.#pieces.push(piece)
    return true
  }
}

/** On the stack for a style element, whose tags are written with its content. */
const STYLE = '<style>'

/** A policy may give words in the place of an element. */
function isTag([first]: readonly unknown[]): boolean {
  return typeof first === 'string' && first.startsWith('<')
}

function lengthOf(piece: unknown): number {
  return typeof piece === 'string' ? piece.length : MARK_LENGTH
}

function hasTooManyTags(html: string, tagsMax: number): boolean {
  let count = 0
  for (let at = html.indexOf('<'); at !== -1; at = html.indexOf('<', at + 1)) {
    if (++count > tagsMax) return true
  }
  return false
}

// Rewrites untrusted HTML from its parsed tree. Writes only the elements and attributes that a
// policy allows, and closes every element.

import { cleanText } from '#charset.ts'
import type { PruneHtml } from './text.ts'
import {
  HTML_DEPTH_MAX,
  HTML_LENGTH_MAX,
  type HtmlElement,
  type HtmlNode,
  isElement,
  isText,
  readHtml,
} from './tree.ts'

/** Text of the result, or a marker that the caller replaces with text. */
export type Piece<Mark> = string | Mark

/** Joins adjacent texts, so that fewer values are kept and copied between threads. */
export function joinPieces<Mark>(pieces: readonly Piece<Mark>[]): Piece<Mark>[] {
  const joined: Piece<Mark>[] = []
  let texts: string[] = []
  for (const piece of pieces) {
    if (typeof piece === 'string') {
      texts.push(piece)
      continue
    }
    joined.push(texts.join(''), piece)
    texts = []
  }
  return [...joined, texts.join('')]
}

export type HtmlPolicy<Mark = never> = {
  readonly kept: ReadonlySet<string>
  /**
   * Elements dropped with their content. Other elements that are not allowed lose only their tags.
   */
  readonly dropped: ReadonlySet<string>
  /** Called for each element in `dropped`. */
  onDropped?(element: HtmlElement): void
  readonly tagsMax: number
  /** Writes the start tag of a kept element, or replaces it. An empty result drops both tags. */
  startTag(name: string, attributes: Readonly<Record<string, string>>): Piece<Mark>[]
  /** Writes content after the end tag of a kept element. */
  after?(element: HtmlElement): Piece<Mark>[]
  /**
   * Writes a style element with its tags. Without this function, `style` is an ordinary element.
   */
  styleSheet?(css: string, element: HtmlElement): Piece<Mark>[]
}

export type SafeHtmlOptions = {
  /** Characters of the result, excluding `cut` and the end tags after it. */
  readonly lengthMax: number
  /** Text that replaces the omitted rest. */
  readonly cut: string
  /** Removes nodes before anything is written. */
  readonly prune?: PruneHtml
  onCut?(): void
}

/**
 * Writes the content of the document's body, or of the fragment, balanced and as browsers parse it.
 * Returns null for HTML that `readHtml` refuses to parse. HTML beyond HTML_LENGTH_MAX is cut.
 * Elements deeper than HTML_DEPTH_MAX lose their tags. Never throws.
 */
export function writeSafeHtml<Mark>(
  html: string,
  policy: HtmlPolicy<Mark>,
  options: SafeHtmlOptions,
): Piece<Mark>[] | null {
  const bounded = cleanText(html.slice(0, HTML_LENGTH_MAX))
  const tree = readHtml(bounded, policy.tagsMax)
  if (tree === null) return null
  options.prune?.(tree)
  const writer = new SafeWriter(policy, options)
  writer.write(tree.childNodes)
  if (html.length > HTML_LENGTH_MAX) writer.cut()
  return writer.pieces
}

/** Escapes `text` for HTML content or a double-quoted attribute. */
export function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}

const VOID: ReadonlySet<string> = new Set(['area', 'br', 'col', 'hr', 'img', 'wbr'])
/** Assumed length of a marker, whose replacement is still unknown. */
const MARK_LENGTH = 200

class SafeWriter<Mark> {
  readonly pieces: Piece<Mark>[] = []
  readonly #policy: HtmlPolicy<Mark>
  readonly #options: SafeHtmlOptions
  /**
   * The parser repeats unclosed elements with the same attributes object, so a long style is
   * processed once.
   */
  readonly #startTags = new Map<HtmlElement['attrs'], Piece<Mark>[]>()
  #length = 0
  #depth = 0
  #isCut = false

  constructor(policy: HtmlPolicy<Mark>, options: SafeHtmlOptions) {
    this.#policy = policy
    this.#options = options
  }

  write(nodes: readonly HtmlNode[]): void {
    for (const node of nodes) {
      if (this.#isCut) return
      if (isText(node)) this.#push([escapeHtml(node.value)])
      else if (isElement(node)) this.#writeElement(node)
    }
  }

  cut(): void {
    if (this.#isCut) return
    this.pieces.push(escapeHtml(this.#options.cut))
    this.#isCut = true
    this.#options.onCut?.()
  }

  #writeElement(element: HtmlElement): void {
    const { tagName, attrs, childNodes } = element
    const policy = this.#policy
    if (tagName === 'style' && policy.styleSheet !== undefined) {
      const css = childNodes.map((node) => (isText(node) ? node.value : '')).join('')
      this.#push(policy.styleSheet(css, element))
      return
    }
    if (policy.dropped.has(tagName)) {
      policy.onDropped?.(element)
      return
    }
    // Every tree has a body, so one without attributes carries no information.
    const isBare = tagName === 'body' && attrs.length === 0
    const isKept = policy.kept.has(tagName) && !isBare && this.#depth < HTML_DEPTH_MAX
    const tag = isKept ? this.#startTagOf(element) : []
    const [first] = tag
    const isTag = typeof first === 'string' && first.startsWith('<')
    const isOpen = this.#push(tag) && isTag && !VOID.has(tagName)
    if (isOpen) this.#depth += 1
    this.write(childNodes)
    if (!isOpen) return
    this.#depth -= 1
    this.pieces.push(`</${tagName}>`)
    this.#length += tagName.length + 3
    this.#push(policy.after?.(element) ?? [])
  }

  #startTagOf({ tagName, attrs }: HtmlElement): Piece<Mark>[] {
    const known = this.#startTags.get(attrs)
    if (known !== undefined) return known
    const attributes = Object.fromEntries(attrs.map(({ name, value }) => [name, value]))
    const tag = joinPieces(this.#policy.startTag(tagName, attributes))
    this.#startTags.set(attrs, tag)
    return tag
  }

  #push(pieces: readonly Piece<Mark>[]): boolean {
    let length = this.#length
    for (const piece of pieces) length += typeof piece === 'string' ? piece.length : MARK_LENGTH
    if (length > this.#options.lengthMax) {
      this.cut()
      return false
    }
    this.#length = length
    // Pushed one by one, because a style sheet may have more pieces than a call can take arguments.
    for (const piece of pieces) this.pieces.push(piece)
    return true
  }
}

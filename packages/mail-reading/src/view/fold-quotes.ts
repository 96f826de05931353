import { stripTags } from '@mailroom/mail/html/text.ts'
import {
  attributeOf,
  classesOf,
  type HtmlElement,
  type HtmlNode,
  type HtmlParent,
  isBlock,
  isElement,
  isText,
  readHtml,
  textLines,
} from '@mailroom/mail/html/tree.ts'
import { contextsOf, hasOwnText } from '#reply/answer-context.ts'
import { endOfQuotedHeader, endsLikeAttribution, findAttribution } from '#reply/reply-text.ts'
import { FORWARD_PATTERN, ORIGINAL_PATTERN, quotedFieldOf } from '#reply/reply-words.ts'

/** Characters around the number of folded lines, which cannot occur in a message's text. */
export const FOLD_OPENING = '\ufdd0'
export const FOLD_CLOSING = '\ufdd1'

const QUOTE_CLASSES =
  /^(?:gmail_quote(?:_container)?|yahoo_quoted|protonmail_quote|tutanota_quote|zmail_extra|front-blockquote|moz-forward-container|x_gmail_quote|ms-outlook-mobile-reference-message|quoted-html)$/
const QUOTE_IDS =
  /^(?:x_)?(?:yahoo_quoted_\w+|OLK_SRC_BODY_SECTION|mail-editor-reference-message-container|isReplyContent)$/
/** Elements before Outlook's quoted message, which extends to the end. */
const REST_IDS = /^(?:x_)?(?:divRplyFwdMsg|appendonsend)$/
const ATTRIBUTION_CLASSES = /^(?:moz-cite-prefix|gmail_attr|protonmail_quote_attribution)$/
const HEADER_LINES_MAX = 20

/** Folds earlier quotes that are not context for answers, unless no other text would remain. */
export function foldQuotes(tree: HtmlParent, earlier: EarlierTexts): void {
  const all: Found[] = []
  findQuotes(tree, all, earlier)
  if (all.length === 0) return
  const contexts = contextsOf(textsBetween(tree, all).map(hasOwnText))
  const found = all.filter((_, index) => !contexts.has(index))
  if (found.length === 0 || !hasTextBeside(tree, new Set(found.flatMap(({ nodes }) => nodes))))
    return
  for (const { parent, nodes } of found) {
    const at = parent.childNodes.indexOf(nodes[0] as HtmlNode)
    const lines = nodes.reduce((sum, node) => sum + textLines(node).length, 0)
    const taken = new Set<unknown>(nodes)
    parent.childNodes = parent.childNodes.filter((child) => !taken.has(child))
    const quote = nodes.find(isElement)
    if (quote !== undefined) parent.childNodes.splice(at, 0, foldOf(lines, quote))
  }
}

/** The lines before each quote, without its attribution, and the lines after the last quote. */
function textsBetween(tree: HtmlParent, quotes: readonly Found[]): string[][] {
  const first = new Set<unknown>(quotes.map(({ nodes }) => nodes[0]))
  const taken = new Set<unknown>(quotes.flatMap(({ nodes }) => nodes))
  const texts: string[][] = [[]]
  let line = ''
  const endLine = () => {
    if (line.trim() !== '') texts.at(-1)?.push(line.trim())
    line = ''
  }
  const visit = (node: HtmlNode): void => {
    if (first.has(node)) {
      endLine()
      texts.push([])
    }
    if (taken.has(node)) return
    if (isText(node)) line += node.value.replace(/\s+/g, ' ')
    if (!isElement(node) || UNREAD.has(node.tagName)) return
    const isOwnLine = isBlock(node.tagName) || node.tagName === 'br'
    if (isOwnLine) endLine()
    for (const child of node.childNodes) visit(child)
    if (isOwnLine) endLine()
  }
  for (const child of tree.childNodes) visit(child)
  endLine()
  return texts.map((lines, index) => (index < quotes.length ? withoutAttribution(lines) : lines))
}

function withoutAttribution(lines: readonly string[]): string[] {
  const end = lines.length - 1
  if (!endsLikeAttribution(lines[end] ?? '')) return [...lines]
  const attribution = findAttribution(lines, 0, end, true)
  if (attribution === null) return [...lines]
  const { linesBefore, textBefore } = attribution
  return [...lines.slice(0, end - linesBefore), ...(textBefore === '' ? [] : [textBefore])]
}

function foldOf(lines: number, quote: HtmlElement): HtmlElement {
  const value = `${FOLD_OPENING}${lines}${FOLD_CLOSING}`
  const fold: HtmlElement = { ...quote, nodeName: 'p', tagName: 'p', attrs: [], childNodes: [] }
  fold.childNodes.push({ nodeName: '#text', value, parentNode: fold })
  folds.add(fold)
  return fold
}

const folds = new WeakSet<HtmlElement>()

export function isFold(element: HtmlElement): boolean {
  return folds.has(element)
}

type Found = { readonly parent: HtmlParent; readonly nodes: readonly HtmlNode[] }

function findQuotes(parent: HtmlParent, found: Found[], earlier: EarlierTexts): void {
  const { childNodes } = parent
  for (const [index, child] of childNodes.entries()) {
    if (!isElement(child)) continue
    if (opensRest(child)) {
      const nodes = childNodes.slice(index)
      if (isForward(nodes)) return
      if (earlier.hold(nodes.flatMap((node) => textLines(node)))) {
        found.push({ parent, nodes })
        return
      }
    } else if (isQuote(child)) {
      if (isForward([child])) continue
      if (earlier.hold(textLines(child))) {
        found.push({ parent, nodes: [...attributionBefore(childNodes, index), child] })
        continue
      }
    }
    findQuotes(child, found, earlier)
  }
}

function isQuote(element: HtmlElement): boolean {
  const type = attributeOf(element, 'type') ?? ''
  if (element.tagName === 'blockquote' && type.toLowerCase() === 'cite') return true
  if (attributeOf(element, 'data-marker') === '__QUOTED_TEXT__') return true
  if (QUOTE_IDS.test(attributeOf(element, 'id') ?? '')) return true
  return classesOf(element).some((name) => QUOTE_CLASSES.test(name))
}

/** Whether Outlook's history starts at this element, or at this line above copied header fields. */
function opensRest(element: HtmlElement): boolean {
  if (REST_IDS.test(attributeOf(element, 'id') ?? '')) return true
  const style = attributeOf(element, 'style') ?? ''
  if (element.tagName !== 'div' || !/border-top:\s*solid\s/i.test(style)) return false
  const lines = textLines(element, HEADER_LINES_MAX)
  return endOfQuotedHeader(lines, lines.map(quotedFieldOf), 0) !== null
}

function isForward(nodes: readonly HtmlNode[]): boolean {
  const [first] = nodes
  const lines = first === undefined ? [] : textLines(first, 3)
  return lines.some((line) => line.length < 200 && FORWARD_PATTERN.test(line))
}

function attributionBefore(nodes: readonly HtmlNode[], index: number): readonly HtmlNode[] {
  let at = index - 1
  while (at >= 0 && isBlank(nodes[at] as HtmlNode)) at--
  const before = nodes[at]
  if (before === undefined || !classesOf(before).some((name) => ATTRIBUTION_CLASSES.test(name))) {
    return []
  }
  return nodes.slice(at, index)
}

function isBlank(node: HtmlNode): boolean {
  return isText(node) ? node.value.trim() === '' : node.nodeName === 'br'
}

function hasTextBeside(parent: HtmlParent, quotes: ReadonlySet<unknown>): boolean {
  return parent.childNodes.some((child) => {
    if (quotes.has(child)) return false
    if (isText(child)) return /[\p{L}\p{N}]/u.test(child.value)
    if (!isElement(child)) return false
    return child.tagName === 'img' || hasTextBeside(child, quotes)
  })
}

export type EarlierText = { readonly text: string; readonly html: string }

/** Maximum characters searched for one message; further quotes are not folded. */
const SEARCHED_MAX = 50_000_000

/**
 * Checks whether an earlier message contains a quote, because folding any other quote would lose
 * text. Compares words and ignores quote marks, blanks, punctuation and addresses, which mail
 * programs change.
 */
export class EarlierTexts {
  readonly #earlier: readonly EarlierText[]
  /** Letters and numbers of each body, computed when the first quote is checked. */
  #words: readonly string[] | null = null
  #searched = 0

  constructor(earlier: readonly EarlierText[]) {
    this.#earlier = earlier
  }

  /** Whether one body contains the lines of a quote in order, without its attribution. */
  hold(quote: readonly string[]): boolean {
    if (this.#earlier.length === 0) return false
    const lines = withoutHead(quote)
      .map(wordsOf)
      .filter((line) => line !== '')
    if (lines.length === 0) return false
    this.#words ??= this.#earlier
      .flatMap(({ text, html }) => [text, ...(html === '' ? [] : [textOfHtml(html)])])
      .map(wordsOf)
    return this.#words.some((words) => this.#holds(words, lines))
  }

  #holds(words: string, lines: readonly string[]): boolean {
    let at = 0
    for (const line of lines) {
      if (this.#searched > SEARCHED_MAX) return false
      const found = words.indexOf(line, at)
      const end = found === -1 ? words.length : found + line.length
      this.#searched += end - at
      if (found === -1) return false
      at = end
    }
    return true
  }
}

const ADDRESS = /\b(?:https?|ftp|mailto):[^\s<>"')\]]{1,8000}/gi

function wordsOf(text: string): string {
  return text
    .replace(ADDRESS, '')
    .replace(/[^\p{L}\p{N}]+/gu, '')
    .toLowerCase()
}

const UNREAD = new Set(['style', 'script', 'title'])

function textOfHtml(html: string): string {
  const tree = readHtml(html)
  if (tree === null) return stripTags(html)
  const texts: string[] = []
  const visit = ({ childNodes }: HtmlParent): void => {
    for (const node of childNodes) {
      if (isText(node)) texts.push(node.value)
      else if (isElement(node) && !UNREAD.has(node.tagName)) visit(node)
    }
  }
  visit(tree)
  return texts.join('')
}

/** Lines before the quoted message in which a program may name its author. */
const HEAD_LINES_MAX = 12

function withoutHead(quote: readonly string[]): readonly string[] {
  const lines = quote.filter((line) => line.trim() !== '')
  const start = lines.slice(0, 2).findLastIndex((line) => ORIGINAL_PATTERN.test(line)) + 1
  const fields = lines.map((line, index) => (index > start + 60 ? null : quotedFieldOf(line)))
  const header = endOfQuotedHeader(lines, fields, start)
  if (header !== null) return lines.slice(header)
  for (let at = start; at < Math.min(lines.length, start + HEAD_LINES_MAX); at++) {
    const line = lines[at] ?? ''
    if (line.trimStart().startsWith('>')) break
    if (endsLikeAttribution(line) && findAttribution(lines, start, at, true) !== null) {
      return lines.slice(at + 1)
    }
  }
  return lines.slice(start)
}

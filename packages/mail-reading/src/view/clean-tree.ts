// Makes a mail's tree one of plain text elements: layout tables flattened, pictures as their
// descriptions, links without what a reader cannot use. Changes the tree that it is given.

import { HTML_INDENTS_MAX } from '@mailroom/mail/html/text.ts'
import type { Element, ElementContent, Parents, Root, Text } from 'hast'
import { cssPixels, isDataTable, isRowOfTexts } from './data-table.ts'
import { isFold } from './fold-quotes.ts'
import { describeData, type LinkShortener } from './link-text.ts'
import type { RemovalTally } from './removal.ts'
import { stripInvisible } from './strip-invisible.ts'
import { isBlock, textOf } from './tree-text.ts'

export type Cleaning = {
  readonly links: LinkShortener
  readonly tally: RemovalTally
  /** Pictures too small to be seen, which tell the sender that the mail is read. */
  pixels: number
  /** Pictures that nothing describes. */
  pictures: number
  /** Lists and quotes around what is looked at. */
  indents: number
}

/** The tree's depth must be bounded. */
export function cleanTree(tree: Root, cleaning: Cleaning): void {
  cleanChildren(tree, cleaning, false)
}

const KEPT = new Set(
  `a b blockquote br code dd del div dl dt em h1 h2 h3 h4 h5 h6 hr i li ol p pre q s strike strong table
  tbody td tfoot th thead tr ul`
    .trim()
    .split(/\s+/),
)
/** Stand on lines of their own and are nothing else to a reader. */
const BLOCK_WRAPPERS = new Set(
  `address article aside body caption center details dir fieldset figcaption figure footer form header
  html legend main menu nav section summary`
    .trim()
    .split(/\s+/),
)
const EMPTY_WHEN_BLANK = new Set(
  'a b strong i em del s strike h1 h2 h3 h4 h5 h6 li q code'.split(' '),
)
/** Each adds to every line within it. */
const INDENTS = new Set(['blockquote', 'ul', 'ol', 'dl'])
const ALT_LENGTH_MAX = 300

function cleanChildren(parent: Parents, cleaning: Cleaning, isPre: boolean): void {
  const kept: ElementContent[] = []
  for (const child of parent.children) {
    if (child.type === 'text') kept.push(cleanText(child, cleaning, isPre))
    else if (child.type === 'element') kept.push(...cleanElement(child, cleaning, isPre))
  }
  parent.children = kept
}

function cleanText(text: Text, { tally }: Cleaning, isPre: boolean): Text {
  const seen = stripInvisible(text.value, tally)
  const value = isPre ? seen.replaceAll('\u00a0', ' ') : seen.replace(BLANKS, ' ')
  return { type: 'text', value }
}

/** All that is a blank to a reader, but for the breaks that HTML makes of it. */
const BLANKS = /[ \t\n\f\r\u00a0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000]+/g

function cleanElement(element: Element, cleaning: Cleaning, isPre: boolean): ElementContent[] {
  const { tagName } = element
  if (isFold(element)) return [element]
  if (tagName === 'img') return pictureOf(element, cleaning)
  if (tagName === 'input' || tagName === 'wbr') return []
  if (tagName === 'table' && !isDataTable(element)) return flatten(element, cleaning, isPre)
  const { href } = element.properties
  element.properties = {}
  const isIndent = INDENTS.has(tagName)
  if (isIndent) cleaning.indents += 1
  const isTooDeep = cleaning.indents > HTML_INDENTS_MAX
  cleanChildren(element, cleaning, isPre || tagName === 'pre')
  if (isIndent) cleaning.indents -= 1
  if (isTooDeep && (isIndent || tagName === 'li')) return element.children
  if (BLOCK_WRAPPERS.has(tagName)) element.tagName = 'div'
  else if (!KEPT.has(tagName)) return element.children
  if (tagName === 'a') return linkOf(element, href, cleaning)
  if (isBlock(tagName)) element.children = withoutBreaks(element.children)
  return EMPTY_WHEN_BLANK.has(tagName) && isBlank(element) ? element.children : [element]
}

function isBlank(element: Element): boolean {
  return textOf(element, 10_000) === ''
}

/** Rows of short texts are lines; all other cells are blocks below each other. */
function flatten(table: Element, cleaning: Cleaning, isPre: boolean): ElementContent[] {
  const blocks: ElementContent[] = []
  const add = (children: ElementContent[]) => {
    const block: Element = { type: 'element', tagName: 'div', properties: {}, children }
    cleanChildren(block, cleaning, isPre)
    if (block.children.length > 0) blocks.push(block)
  }
  const visit = (element: Element): void => {
    for (const child of element.children) {
      if (child.type !== 'element') continue
      if (child.tagName !== 'tr') {
        if (/^(?:tbody|thead|tfoot)$/.test(child.tagName)) visit(child)
        else if (child.tagName === 'caption') add(child.children)
        continue
      }
      const cells = child.children.filter(
        (cell): cell is Element => cell.type === 'element' && /^t[dh]$/.test(cell.tagName),
      )
      if (isRowOfTexts(cells)) addRow(cells)
      else for (const cell of cells) add(cell.children)
    }
  }
  const addRow = (cells: readonly Element[]) => {
    const texts: ElementContent[] = []
    for (const cell of cells) {
      cleanChildren(cell, cleaning, isPre)
      if (isBlank(cell)) continue
      if (texts.length > 0) texts.push({ type: 'text', value: ' | ' })
      texts.push(...withoutBreaks(cell.children))
    }
    if (texts.length > 0) {
      blocks.push({ type: 'element', tagName: 'div', properties: {}, children: texts })
    }
  }
  visit(table)
  return blocks
}

/** Without the line breaks and blanks that a block begins or ends with. */
function withoutBreaks(children: ElementContent[]): ElementContent[] {
  const isBreak = (node: ElementContent | undefined) =>
    node?.type === 'text'
      ? node.value.trim() === ''
      : node?.type === 'element' && node.tagName === 'br'
  let start = 0
  let end = children.length
  while (start < end && isBreak(children[start])) start++
  while (end > start && isBreak(children[end - 1])) end--
  return children.slice(start, end)
}

function linkOf(element: Element, href: unknown, { links, tally }: Cleaning): ElementContent[] {
  const url =
    typeof href === 'string' ? stripInvisible(href, tally).replace(/[\s\x00-\x1f]+/g, '') : ''
  const text = textOf(element, 10_000)
  if (text === '' && element.children.length === 0) return []
  const isMail = /^(?:mailto|tel|sms):/i.test(url)
  if (isMail && url.toLowerCase().includes(text.toLowerCase()) && text !== '')
    return element.children
  if (!isMail && !/^(?:https?|ftp):\/\//i.test(url)) return element.children
  if (isSame(text, url)) {
    return [{ type: 'text', value: links.shorten(url) }]
  }
  const target = links.shorten(withoutBrackets(isMail ? url.replace(/\?.*$/s, '') : url))
  element.properties = { href: target }
  if (text === '') element.children = [{ type: 'text', value: 'link' }]
  return [element]
}

/** As a browser would ask for it too, and no end of a link in Markdown. */
function withoutBrackets(url: string): string {
  return url.replace(/[()<>[\]]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
}

function isSame(text: string, url: string): boolean {
  const bare = (one: string) =>
    one
      .toLowerCase()
      .replace(/^https?:\/\//, '')
      .replace(/\/$/, '')
  return text !== '' && bare(text) === bare(url)
}

function pictureOf(element: Element, cleaning: Cleaning): ElementContent[] {
  const { alt, src, width, height } = element.properties
  const isPixel = [width, height].some((side) => cssPixels(side) <= PIXEL_MAX)
  const text =
    typeof alt === 'string' ? stripInvisible(alt.slice(0, ALT_LENGTH_MAX), cleaning.tally) : ''
  const described = text.replace(BLANKS, ' ').trim()
  const data = /^data:([a-z]{1,20}\/[\w.+-]{1,60})[;,]/i.exec(typeof src === 'string' ? src : '')
  if (isPixel && described === '') {
    cleaning.pixels += 1
    return []
  }
  if (data !== null) {
    const length = Number(/;base64,length=(\d{1,9})/.exec(String(src))?.[1] ?? String(src).length)
    const told = describeData(data[1] ?? '', length)
    return [{ type: 'text', value: described === '' ? told : `[image: ${described}] ${told}` }]
  }
  if (described !== '') return [{ type: 'text', value: `[image: ${described}]` }]
  cleaning.pictures += 1
  return []
}

const PIXEL_MAX = 3

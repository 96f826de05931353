import { HTML_INDENTS_MAX } from '@mailroom/mail/html/text.ts'
import {
  attributeOf,
  type HtmlElement,
  type HtmlNode,
  type HtmlParent,
  isBlock,
  isElement,
  isText,
  textOf,
  wordSet,
} from '@mailroom/mail/html/tree.ts'
import type { Element, ElementContent, Root, Text } from 'hast'
import { isFold } from './fold-quotes.ts'
import { describeData, type LinkShortener } from './plain-body.ts'
import { type RemovalTally, stripInvisible } from './removal.ts'

export type Cleaning = {
  readonly links: LinkShortener
  readonly tally: RemovalTally
  /** Tracking pixels: pictures too small to be visible. */
  pixels: number
  pictures: number
  /** Nesting depth of lists and quotes. */
  indents: number
}

/**
 * The plain text elements of a message's tree. Layout tables are flattened, pictures are replaced
 * by their descriptions, and links without a usable target are removed.
 */
export function cleanTree(tree: HtmlParent, cleaning: Cleaning): Root {
  return { type: 'root', children: cleanNodes(tree.childNodes, cleaning, false) }
}

const KEPT = wordSet(`
  a b blockquote br code dd del div dl dt em h1 h2 h3 h4 h5 h6 hr i li ol p pre q s strike strong table
  tbody td tfoot th thead tr ul
`)
/** Elements whose only effect is to start new lines. */
const BLOCK_WRAPPERS = wordSet(`
  address article aside body caption center details dir fieldset figcaption figure footer form header
  html legend main menu nav section summary
`)
const EMPTY_WHEN_BLANK = wordSet('a b strong i em del s strike h1 h2 h3 h4 h5 h6 li q code')
/** Elements that indent every line within them. */
const INDENTS = new Set(['blockquote', 'ul', 'ol', 'dl'])
const ALT_LENGTH_MAX = 300

function cleanNodes(
  nodes: readonly HtmlNode[],
  cleaning: Cleaning,
  isPre: boolean,
): ElementContent[] {
  const kept: ElementContent[] = []
  for (const node of nodes) {
    if (isText(node)) kept.push(cleanText(node.value, cleaning, isPre))
    else if (isElement(node)) kept.push(...cleanElement(node, cleaning, isPre))
  }
  return kept
}

function cleanText(text: string, { tally }: Cleaning, isPre: boolean): Text {
  const seen = stripInvisible(text, tally)
  const value = isPre ? seen.replaceAll('\u00a0', ' ') : seen.replace(BLANKS, ' ')
  return { type: 'text', value }
}

const BLANKS = /[ \t\n\f\r\u00a0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000]+/g

function cleanElement(element: HtmlElement, cleaning: Cleaning, isPre: boolean): ElementContent[] {
  const { tagName } = element
  if (isFold(element)) return [made('p', [{ type: 'text', value: textOf(element, 100) }])]
  if (tagName === 'img') return pictureOf(element, cleaning)
  if (tagName === 'input' || tagName === 'wbr') return []
  if (tagName === 'table' && !isDataTable(element)) return flatten(element, cleaning, isPre)
  const isIndent = INDENTS.has(tagName)
  if (isIndent) cleaning.indents += 1
  const isTooDeep = cleaning.indents > HTML_INDENTS_MAX
  const children = cleanNodes(element.childNodes, cleaning, isPre || tagName === 'pre')
  if (isIndent) cleaning.indents -= 1
  if (isTooDeep && (isIndent || tagName === 'li')) return children
  const name = BLOCK_WRAPPERS.has(tagName) ? 'div' : tagName
  if (!KEPT.has(name)) return children
  if (name === 'a') return linkOf(children, attributeOf(element, 'href') ?? '', cleaning)
  const content = isBlock(name) ? withoutBreaks(children) : children
  return EMPTY_WHEN_BLANK.has(name) && isBlank(content) ? content : [made(name, content)]
}

function made(tagName: string, children: ElementContent[]): Element {
  return { type: 'element', tagName, properties: {}, children }
}

function isBlank(nodes: readonly ElementContent[]): boolean {
  return wordsOf(nodes) === ''
}

/** The text on one line, at most TEXT_LENGTH_MAX characters. */
function wordsOf(nodes: readonly ElementContent[]): string {
  let text = ''
  const visit = (node: ElementContent): void => {
    if (text.length > TEXT_LENGTH_MAX) return
    if (node.type === 'text') text += node.value
    else if (node.type === 'element') node.children.forEach(visit)
  }
  nodes.forEach(visit)
  return text.slice(0, TEXT_LENGTH_MAX).replace(/\s+/g, ' ').trim()
}

const TEXT_LENGTH_MAX = 10_000

/** Rows of short texts become lines. All other cells become consecutive blocks. */
function flatten(table: HtmlElement, cleaning: Cleaning, isPre: boolean): ElementContent[] {
  const blocks: ElementContent[] = []
  const add = (nodes: readonly HtmlNode[]) => {
    const children = cleanNodes(nodes, cleaning, isPre)
    if (children.length > 0) blocks.push(made('div', children))
  }
  const addRow = (cells: readonly HtmlElement[]) => {
    const texts: ElementContent[] = []
    for (const cell of cells) {
      const children = cleanNodes(cell.childNodes, cleaning, isPre)
      if (isBlank(children)) continue
      if (texts.length > 0) texts.push({ type: 'text', value: ' | ' })
      texts.push(...withoutBreaks(children))
    }
    if (texts.length > 0) blocks.push(made('div', texts))
  }
  const visit = (element: HtmlElement): void => {
    for (const child of element.childNodes) {
      if (!isElement(child)) continue
      if (/^(?:tbody|thead|tfoot)$/.test(child.tagName)) visit(child)
      else if (child.tagName === 'caption') add(child.childNodes)
      else if (child.tagName === 'tr') {
        const cells = cellsOf(child)
        if (isRowOfTexts(cells)) addRow(cells)
        else for (const cell of cells) add(cell.childNodes)
      }
    }
  }
  visit(table)
  return blocks
}

/** Removes line breaks and blanks at the start and end of a block. */
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

function linkOf(
  children: ElementContent[],
  href: string,
  { links, tally }: Cleaning,
): ElementContent[] {
  const url = stripInvisible(href, tally).replace(/[\s\x00-\x1f]+/g, '')
  const text = wordsOf(children)
  if (text === '' && children.length === 0) return []
  const isMail = /^(?:mailto|tel|sms):/i.test(url)
  if (isMail && url.toLowerCase().includes(text.toLowerCase()) && text !== '') return children
  if (!isMail && !/^(?:https?|ftp):\/\//i.test(url)) return children
  if (isSame(text, url)) {
    return [{ type: 'text', value: links.shorten(url) }]
  }
  const target = links.shorten(withoutBrackets(isMail ? url.replace(/\?.*$/s, '') : url))
  const shown: ElementContent[] = text === '' ? [{ type: 'text', value: 'link' }] : children
  return [{ ...made('a', shown), properties: { href: target } }]
}

/** Percent-encodes the characters that could end a Markdown link. */
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

function pictureOf(element: HtmlElement, cleaning: Cleaning): ElementContent[] {
  const src = attributeOf(element, 'src') ?? ''
  const isPixel = ['width', 'height'].some(
    (side) => cssPixels(attributeOf(element, side)) <= PIXEL_MAX,
  )
  const alt = attributeOf(element, 'alt') ?? ''
  const text = stripInvisible(alt.slice(0, ALT_LENGTH_MAX), cleaning.tally)
  const described = text.replace(BLANKS, ' ').trim()
  const data = /^data:([a-z]{1,20}\/[\w.+-]{1,60})[;,]/i.exec(src)
  if (isPixel && described === '') {
    cleaning.pixels += 1
    return []
  }
  if (data !== null) {
    const length = Number(/;base64,length=(\d{1,9})/.exec(src)?.[1] ?? src.length)
    const description = describeData(data[1] ?? '', length)
    return [
      {
        type: 'text',
        value: described === '' ? description : `[image: ${described}] ${description}`,
      },
    ]
  }
  if (described !== '') return [{ type: 'text', value: `[image: ${described}]` }]
  cleaning.pictures += 1
  return []
}

const PIXEL_MAX = 3

const CELL_LENGTH_MAX = 300
const LINE_CELL_LENGTH_MAX = 120
const COLUMNS_MAX = 20
const ROWS_MAX = 1_000
const NODES_MAX = 40

/**
 * Whether a table has at least two rows and two columns, equally many in each row, with short texts
 * without blocks in most cells. Never true if the table's role is layout.
 */
function isDataTable(table: HtmlElement): boolean {
  const role = attributeOf(table, 'role')
  if (role === 'presentation' || role === 'none') return false
  const rows: HtmlElement[][] = []
  if (!collectRows(table, rows)) return false
  const [first] = rows
  const columns = first?.length ?? 0
  if (rows.length < 2 || columns < 2 || columns > COLUMNS_MAX) return false
  if (rows.some((cells) => cells.length !== columns)) return false
  const cells = rows.flat()
  if (!cells.every((cell) => isShortText(cell, CELL_LENGTH_MAX))) return false
  const hasHead = cells.some(({ tagName }) => tagName === 'th')
  const filled = cells.filter((cell) => textOf(cell, 1) !== '').length
  return filled >= cells.length * (hasHead ? 0.3 : 0.7)
}

/** False for rows that data tables do not have: empty sections, cells over several columns. */
function collectRows(element: HtmlElement, rows: HtmlElement[][]): boolean {
  for (const child of element.childNodes) {
    if (!isElement(child)) continue
    if (/^(?:tbody|thead|tfoot)$/.test(child.tagName)) {
      if (!collectRows(child, rows)) return false
    } else if (child.tagName === 'tr') {
      if (rows.length >= ROWS_MAX) return false
      rows.push(cellsOf(child))
    }
  }
  return true
}

function cellsOf(row: HtmlElement): HtmlElement[] {
  return row.childNodes.filter(isElement).filter(({ tagName }) => /^t[dh]$/.test(tagName))
}

/** Whether the cells of a row can be read as one line. */
function isRowOfTexts(cells: readonly HtmlElement[]): boolean {
  return cells.length > 1 && cells.every((cell) => isShortText(cell, LINE_CELL_LENGTH_MAX))
}

function isShortText(cell: HtmlElement, lengthMax: number): boolean {
  const waiting = [...cell.childNodes]
  for (let seen = 0; seen < waiting.length; seen++) {
    const node = waiting[seen]
    if (seen > NODES_MAX) return false
    if (node === undefined || !isElement(node)) continue
    if (isBlock(node.tagName) && node.tagName !== 'br') return false
    waiting.push(...node.childNodes)
  }
  return textOf(cell, lengthMax + 1).length <= lengthMax
}

/** The pixels of an attribute such as `width`; infinite if absent or a percentage. */
function cssPixels(value: string | undefined): number {
  if (value === undefined || value.includes('%')) return Number.POSITIVE_INFINITY
  const number = Number.parseFloat(value)
  return Number.isFinite(number) ? number : Number.POSITIVE_INFINITY
}

import {
  attributeOf,
  HTML_DEPTH_MAX,
  HTML_LENGTH_MAX,
  type HtmlElement,
  type HtmlNode,
  type HtmlParent,
  isBlock,
  isElement,
  isText,
  readHtml,
  wordSet,
} from './tree.ts'

/** Deeper quotes and lists are not indented, because each indent lengthens every line within it. */
export const HTML_INDENTS_MAX = 8
/**
 * Maximum characters of a link address that are shown; longer addresses are useless to a reader.
 */
export const HTML_LINK_LENGTH_MAX = 2_000

/** Removes nodes from a tree before it becomes text. */
export type PruneHtml = (tree: HtmlParent) => void

/**
 * Converts HTML to readable plain text, without the nodes that `prune` removes. Input and output
 * are cut at HTML_LENGTH_MAX. Nodes deeper than HTML_DEPTH_MAX are not laid out. HTML that
 * `readHtml` refuses to parse only loses its tags. Never throws.
 */
export function textFromHtml(html: string, prune: PruneHtml = () => {}): string {
  const bounded = html.slice(0, HTML_LENGTH_MAX)
  const tree = readHtml(bounded)
  if (tree === null) return tidy(stripTags(bounded))
  prune(tree)
  const writer = new TextWriter()
  writer.write(tree.childNodes)
  return tidy(writer.block.text)
}

/** Elements that are never shown. */
const SKIPPED = wordSet('iframe noembed noframes noscript script style template title')
/** Minimum line breaks before and after a block. */
const BREAKS: Readonly<Record<string, readonly [number, number]>> = Object.assign(
  Object.create(null),
  breaksOf('article aside div footer form header main nav section', [1, 1]),
  breaksOf('blockquote h4 h5 h6 p pre table', [2, 2]),
  breaksOf('h1 h2 h3', [3, 2]),
)

function breaksOf(names: string, breaks: readonly [number, number]) {
  return Object.fromEntries(names.split(' ').map((name) => [name, breaks]))
}

/** A text being laid out: the document, or a block within it. */
class Block {
  text = ''
  leadingBreaks: number
  /** Minimum line breaks required after the block's content so far. */
  dueBreaks = 0
  readonly isPre: boolean
  #isLineStart = true
  #hasSpace = false

  constructor(leadingBreaks: number, isPre: boolean) {
    this.leadingBreaks = leadingBreaks
    this.isPre = isPre
  }

  /** White space collapses to one space between words and is dropped at the end of a line. */
  addText(text: string): void {
    if (this.isPre) {
      this.text += text
      return
    }
    const words = text.replace(WHITE_SPACE, ' ')
    if (words === '' || (words === ' ' && this.dueBreaks > 0)) return
    if (this.dueBreaks > 0) {
      this.text += '\n'.repeat(this.dueBreaks)
      this.dueBreaks = 0
      this.#isLineStart = true
    }
    if (words !== ' ') {
      const isApart = this.#hasSpace || words.startsWith(' ')
      this.text += (isApart && !this.#isLineStart ? ' ' : '') + words.replace(/^ | $/g, '')
      this.#isLineStart = false
    }
    this.#hasSpace = words.endsWith(' ')
  }

  addLineBreak(): void {
    this.text += '\n'
    this.#isLineStart = true
  }

  addBlock(text: string, leadingBreaks: number, trailingBreaks: number): void {
    const breaks = Math.max(this.dueBreaks, leadingBreaks)
    if (this.text === '') this.leadingBreaks = breaks
    else this.text += '\n'.repeat(breaks)
    this.text += text
    this.dueBreaks = trailingBreaks
    this.#isLineStart = true
  }
}

const WHITE_SPACE = /[ \t\r\n\f\u200b]+/g

class TextWriter {
  block = new Block(0, false)
  #depth = 0
  /** Nesting depth of lists and quotes at the current position. */
  #indents = 0
  /** Text of the open link without white space; null outside links. */
  #linkText: string | null = null

  write(nodes: readonly HtmlNode[]): void {
    if (this.#depth >= HTML_DEPTH_MAX) {
      this.#writeFlat(nodes)
      return
    }
    this.#depth += 1
    for (const node of nodes) {
      if (isText(node)) this.#addText(node.value)
      else if (isElement(node)) this.#writeElement(node)
    }
    this.#depth -= 1
  }

  #writeFlat(nodes: readonly HtmlNode[]): void {
    for (const node of nodes) {
      if (isText(node)) this.#addText(node.value)
      if (!isElement(node) || isSkipped(node)) continue
      if (isBlock(node.tagName)) this.block.addLineBreak()
      this.#writeFlat(node.childNodes)
    }
  }

  #addText(text: string): void {
    if (this.#linkText !== null && !this.block.isPre) {
      this.#linkText += text.replace(WHITE_SPACE, '')
    }
    this.block.addText(text)
  }

  #writeElement(element: HtmlElement): void {
    if (isSkipped(element)) return
    switch (element.tagName) {
      case 'br':
        this.block.addLineBreak()
        break
      case 'hr':
        this.block.addBlock('-'.repeat(8), 2, 2)
        break
      case 'img':
        this.#addText(attributeOf(element, 'alt')?.trim() ?? '')
        break
      case 'a':
        this.#writeLink(element)
        break
      case 'tr':
        this.#writeRow(element)
        break
      case 'ul':
      case 'ol':
      case 'blockquote':
        this.#writeIndented(element)
        break
      default:
        this.#writeOther(element)
    }
  }

  #writeOther({ tagName, childNodes }: HtmlElement): void {
    const breaks = BREAKS[tagName]
    if (breaks === undefined) {
      this.write(childNodes)
      return
    }
    const [before, after] = breaks
    const block = this.#inBlock(before, tagName === 'pre', () => this.write(childNodes))
    this.block.addBlock(block.text, block.leadingBreaks, Math.max(block.dueBreaks, after))
  }

  #inBlock(leadingBreaks: number, isPre: boolean, write: () => void): Block {
    const outer = this.block
    const block = new Block(leadingBreaks, isPre || outer.isPre)
    this.block = block
    write()
    this.block = outer
    return block
  }

  #writeLink(element: HtmlElement): void {
    const target = linkTarget(attributeOf(element, 'href') ?? '')
    if (target === '' || this.#linkText !== null) {
      this.write(element.childNodes)
      return
    }
    this.#linkText = ''
    this.write(element.childNodes)
    const text = this.#linkText
    this.#linkText = null
    if (bareTarget(text) !== bareTarget(target)) {
      this.block.addText(`${text === '' ? '' : ' '}<${target}>`)
    }
  }

  #writeIndented(element: HtmlElement): void {
    if (this.#indents >= HTML_INDENTS_MAX) {
      this.write(element.childNodes)
      return
    }
    this.#indents += 1
    if (element.tagName !== 'blockquote') this.#writeList(element)
    else if (isIndent(element)) this.#writeOther(element)
    else this.#writeQuote(element)
    this.#indents -= 1
  }

  #writeQuote({ childNodes }: HtmlElement): void {
    const { text, leadingBreaks, dueBreaks } = this.#inBlock(2, false, () => this.write(childNodes))
    const lines = trimBreaks(text).split('\n')
    const quoted = lines.map((line) => `> ${line}`).join('\n')
    this.block.addBlock(quoted, leadingBreaks, Math.max(dueBreaks, 2))
  }

  #writeList(list: HtmlElement): void {
    const { parentNode } = list
    const isNested = parentNode !== null && isElement(parentNode) && parentNode.tagName === 'li'
    const items = list.childNodes
      .filter((node) => (isText(node) ? /\S/.test(node.value) : isElement(node)))
      .map((node) => ({ node, prefix: '' }))
    if (items.length === 0) return
    const prefixOf = list.tagName === 'ul' ? () => '- ' : numbersOf(list)
    for (const item of items) {
      if (!isElement(item.node) || item.node.tagName !== 'li') continue
      item.prefix = isNested ? prefixOf().trimStart() : prefixOf()
    }
    const width = Math.max(...items.map(({ prefix }) => prefix.length))
    const outer = this.#inBlock(isNested ? 1 : 2, false, () => {
      for (const { node, prefix } of items) {
        const item = this.#inBlock(1, false, () => this.write([node]))
        const text = prefix.padEnd(width) + item.text.replaceAll('\n', `\n${' '.repeat(width)}`)
        this.block.addBlock(text, item.leadingBreaks, Math.max(item.dueBreaks, 1))
      }
    })
    if (outer.text !== '') this.block.addBlock(outer.text, outer.leadingBreaks, isNested ? 1 : 2)
  }

  /** Tables are mostly layout, so bars separate only cells of plain text, on one line. */
  #writeRow({ childNodes }: HtmlElement): void {
    const row = this.#inBlock(1, false, () => {
      let isAfterText = false
      for (const cell of childNodes) {
        const content =
          isElement(cell) && /^t[dh]$/.test(cell.tagName) ? cellContent(cell) : 'empty'
        if (content === 'blocks') {
          const block = this.#inBlock(1, false, () => this.write([cell]))
          this.block.addBlock(block.text, block.leadingBreaks, Math.max(block.dueBreaks, 1))
          isAfterText = false
          continue
        }
        if (content === 'text' && isAfterText) this.#addText(' | ')
        this.write([cell])
        isAfterText ||= content === 'text'
      }
    })
    this.block.addBlock(row.text, row.leadingBreaks, Math.max(row.dueBreaks, 1))
  }
}

/**
 * Whether a blockquote only indents the author's own text, as the editors of Gmail and Apple Mail
 * write it.
 */
function isIndent(element: HtmlElement): boolean {
  const style = attributeOf(element, 'style') ?? ''
  if (attributeOf(element, 'type') !== undefined || attributeOf(element, 'cite') !== undefined) {
    return false
  }
  return (
    /border(?:-width|-style)?:\s*(?:medium )?(?:none|0)/i.test(style) && /padding:\s*0/i.test(style)
  )
}

function isSkipped({ tagName }: HtmlElement): boolean {
  return SKIPPED.has(tagName)
}

function trimBreaks(text: string): string {
  let [start, end] = [0, text.length]
  while (start < end && text[start] === '\n') start += 1
  while (end > start && text[end - 1] === '\n') end -= 1
  return text.slice(start, end)
}

/**
 * The link's address; empty for targets that cannot be followed from outside the message:
 * fragments, cid:, scripts, relative paths.
 */
function linkTarget(href: string): string {
  const trimmed = href.trim()
  if (trimmed.length > HTML_LINK_LENGTH_MAX || /[\s<>]/.test(trimmed)) return ''
  if (/^(?:mailto|tel):/i.test(trimmed)) {
    return trimmed.slice(trimmed.indexOf(':') + 1).replace(/\?.*$/s, '')
  }
  return /^https?:\/\//i.test(trimmed) ? trimmed : ''
}

function bareTarget(target: string): string {
  return target
    .toLowerCase()
    .replace(/^(?:https?:\/\/|mailto:|tel:)/, '')
    .replace(/\/$/, '')
}

/** Returns a function whose every call returns the next item marker of an ordered list. */
function numbersOf(list: HtmlElement): () => string {
  let next = Number(attributeOf(list, 'start') || '1')
  const type = attributeOf(list, 'type') ?? ''
  const letter =
    type.toLowerCase() === 'a' ? lettersOf : type.toLowerCase() === 'i' ? romanOf : String
  return () => {
    const mark = letter(next++)
    return ` ${type === 'A' || type === 'I' ? mark.toUpperCase() : mark}. `
  }
}

/** Letters for a list item: `a`, …, `z`, `aa`. Returns the number itself if it has no letters. */
function lettersOf(number: number): string {
  let letters = ''
  for (let rest = number; rest > 0; rest = Math.floor((rest - 1) / 26)) {
    letters = String.fromCharCode(0x61 + ((rest - 1) % 26)) + letters
  }
  return letters === '' ? String(number) : letters
}

const ROMAN: readonly (readonly [number, string])[] = [
  [1000, 'm'],
  [900, 'cm'],
  [500, 'd'],
  [400, 'cd'],
  [100, 'c'],
  [90, 'xc'],
  [50, 'l'],
  [40, 'xl'],
  [10, 'x'],
  [9, 'ix'],
  [5, 'v'],
  [4, 'iv'],
  [1, 'i'],
]

function romanOf(number: number): string {
  if (!(number >= 1 && number < 4_000)) return String(number)
  let [rest, text] = [number, '']
  for (const [value, letters] of ROMAN) {
    while (rest >= value) {
      rest -= value
      text += letters
    }
  }
  return text
}

const BLOCK_TAGS = wordSet(
  'table div p ul ol li h1 h2 h3 h4 h5 h6 blockquote pre hr br center section',
)
/** Nodes examined to decide whether a cell holds data or layout. */
const CELL_NODES_MAX = 50

function cellContent(cell: HtmlElement): 'empty' | 'text' | 'blocks' {
  const waiting: HtmlNode[] = cell.childNodes.slice(0, CELL_NODES_MAX)
  let hasText = false
  for (let seen = 0; seen < waiting.length && seen < CELL_NODES_MAX; seen++) {
    const node = waiting[seen] as HtmlNode
    if (isText(node)) hasText ||= node.value.trim() !== ''
    if (!isElement(node)) continue
    if (BLOCK_TAGS.has(node.tagName)) return 'blocks'
    if (node.tagName === 'img' && attributeOf(node, 'alt')?.trim()) hasText = true
    waiting.push(...node.childNodes.slice(0, CELL_NODES_MAX))
  }
  return hasText ? 'text' : 'empty'
}

/** Senders pad the preview of their mail with lines of invisible characters. */
const INVISIBLE_LINE = /^(?:[\s\u00ad\u061c\u180e\u200b-\u200f\u2060-\u2064\ufeff]|\u034f)*$/

function tidy(text: string): string {
  const kept: string[] = []
  for (const line of text.split('\n')) {
    const visible = INVISIBLE_LINE.test(line) ? '' : line.replaceAll('\u00a0', ' ').trimEnd()
    if (visible !== '' || (kept.length > 0 && kept.at(-1) !== '')) kept.push(visible)
  }
  while (kept.at(-1) === '') kept.pop()
  return kept.join('\n').slice(0, HTML_LENGTH_MAX)
}

const BREAKING_TAGS = wordSet(
  'address article blockquote br dd div dl dt footer form h1 h2 h3 h4 h5 h6 header hr li main nav ol p pre section table tr ul',
)
const UNSEEN_TAGS = new Set(['script', 'style', 'title', 'noscript', 'template'])
const ENTITIES: ReadonlyMap<string, string> = new Map([
  ['amp', '&'],
  ['lt', '<'],
  ['gt', '>'],
  ['quot', '"'],
  ['apos', "'"],
  ['nbsp', ' '],
])
const UNICODE_MAX = 0x10ffff

/** Runs in linear time. */
export function stripTags(html: string): string {
  const pieces: string[] = []
  let at = 0
  while (at < html.length) {
    const open = html.indexOf('<', at)
    if (open === -1) break
    pieces.push(html.slice(at, open))
    const tag = readTag(html, open)
    if (tag === null) return textOf(pieces)
    if (BREAKING_TAGS.has(tag.name)) pieces.push('\n')
    at = tag.end
  }
  pieces.push(html.slice(at))
  return textOf(pieces)
}

/** The next tag's name and end, skipping the content of invisible elements; null at the end. */
function readTag(html: string, open: number): { name: string; end: number } | null {
  if (html.startsWith('<!--', open)) return endAfter('', html.indexOf('-->', open), 3)
  const close = html.indexOf('>', open)
  const name = /^<\/?([a-z][a-z0-9]*)/i.exec(html.slice(open, open + 20))?.[1]?.toLowerCase() ?? ''
  if (close !== -1 && UNSEEN_TAGS.has(name) && html[open + 1] !== '/') {
    const closing = html.slice(close).search(new RegExp(`</${name}`, 'i'))
    if (closing === -1) return null
    return endAfter(name, html.indexOf('>', close + closing), 1)
  }
  return endAfter(name, close, 1)
}

function endAfter(name: string, at: number, length: number): { name: string; end: number } | null {
  return at === -1 ? null : { name, end: at + length }
}

function textOf(pieces: readonly string[]): string {
  return pieces
    .join('')
    .replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,4}));/gi, (whole, decimal, hex, name) => {
      if (name !== undefined) return ENTITIES.get(String(name).toLowerCase()) ?? whole
      const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal)
      return code > 0 && code <= UNICODE_MAX ? String.fromCodePoint(code) : whole
    })
}

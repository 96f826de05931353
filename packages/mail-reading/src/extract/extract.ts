import {
  attributeOf,
  classesOf,
  type HtmlElement,
  type HtmlNode,
  isElement,
  isText,
  readHtml,
  wordSet,
} from '@mailroom/mail/html/tree.ts'
import { tallyCarriers, tallyCarriersWithin, tallyHidden } from '#html/find-hidden.ts'
import { unsaidLength } from '#html/unsaid-text.ts'
import { extractReply } from '#reply/reply-text.ts'
import { type Removal, RemovalTally, tallyDefects } from '#view/removal.ts'
import { type FoundCode, findCodes } from './find-codes.ts'
import {
  EXTRACTED_LINKS_SEEN_MAX,
  type FoundLink,
  findLinks,
  linksOfText,
  type SeenLink,
} from './find-links.ts'
import { CELL_MARK, ReadLine, readLines } from './lines.ts'
import { visibleText } from './word-tables.ts'

/** Maximum characters of text and HTML that are searched; smaller than an event. */
const EXTRACTED_TEXT_LENGTH_MAX = 32 * 1024
const EXTRACTED_HTML_LENGTH_MAX = 128 * 1024

/** The number of characters of each body to search for hidden text. */
export const HIDDEN_SEARCH_LENGTH_MAX = 256 * 1024

export type Extracted = { readonly codes: FoundCode[]; readonly links: FoundLink[] }

/** `hidden` is invisible text of the subject and bodies, excluding HTML comments. */
export type MessageReading = { readonly extracted: Extracted; readonly hidden: readonly Removal[] }

export type ExtractedFrom = {
  readonly subject: string
  readonly text: string
  readonly html: string
  readonly defects?: readonly string[]
}

const SUBJECT_LENGTH_MAX = 1_000
const NOTHING: HtmlLayout = { lines: [], links: [], unseenHrefs: new Set(), hidden: '' }

/**
 * Derives what the API reports about a message besides its bodies. HTML that cannot be searched for
 * hidden text, or exceeds HIDDEN_SEARCH_LENGTH_MAX characters, is reported as unread. Never throws;
 * runs in linear time.
 */
export function readContent(message: ExtractedFrom): MessageReading {
  const tally = new RemovalTally()
  for (const text of [message.subject, message.text]) {
    tallyCarriers(text.slice(0, HIDDEN_SEARCH_LENGTH_MAX), tally)
  }
  tallyDefects(message.defects ?? [], tally)
  tally.add('text-part', unsaidLength(message.text, message.html))
  const isWholeRead = message.html.length <= EXTRACTED_HTML_LENGTH_MAX
  const extracted = extract(message, isWholeRead ? tally : new RemovalTally())
  if (!isWholeRead) layOut(message.html.slice(0, HIDDEN_SEARCH_LENGTH_MAX), tally)
  // Unread HTML is counted as 1, because lists of messages do not have its full length.
  if (message.html.length > HIDDEN_SEARCH_LENGTH_MAX) tally.add('unread-html', 1)
  return { extracted, hidden: tally.list().filter(({ kind }) => kind !== 'comment') }
}

/** The result of `readContent` for a message whose extraction did not finish in time. */
export function unreadContent({ html }: Pick<ExtractedFrom, 'html'>): MessageReading {
  const tally = new RemovalTally()
  tally.add('unread-html', Math.min(html.length, HIDDEN_SEARCH_LENGTH_MAX))
  return { extracted: { codes: [], links: [] }, hidden: tally.list() }
}

/**
 * The codes and links in the first EXTRACTED_TEXT_LENGTH_MAX characters of a message's text and the
 * first EXTRACTED_HTML_LENGTH_MAX of its HTML. Ignores quoted history and hidden text. Never
 * throws; runs in linear time.
 */
export function extractFrom(message: ExtractedFrom): Extracted {
  return extract(message, new RemovalTally())
}

function extract(message: ExtractedFrom, tally: RemovalTally): Extracted {
  const subject = visibleText(message.subject.slice(0, SUBJECT_LENGTH_MAX))
  const text = visibleText(message.text.slice(0, EXTRACTED_TEXT_LENGTH_MAX))
  const layout = layOut(message.html.slice(0, EXTRACTED_HTML_LENGTH_MAX), tally)
  const bodies = [readLines(extractReply(text)), readLines(extractReply(layout.lines.join('\n')))]
  const codes = findCodes({ subject: [new ReadLine(subject)], bodies })
  const links = findLinks(layout, linksOfText(text.split(/\r\n|\r|\n/)))
  return { codes: codes.filter((code) => isSeen(code, layout, subject)), links }
}

function layOut(html: string, tally: RemovalTally): HtmlLayout {
  if (html === '') return NOTHING
  try {
    return layOutHtml(html, tally)
  } catch {
    tally.add('unread-html', html.length)
    return NOTHING
  }
}

/** A code that is hidden in the HTML is ignored in the text part too. */
function isSeen({ value }: FoundCode, { lines, hidden }: HtmlLayout, subject: string): boolean {
  if (hidden === '' || !hidden.includes(value)) return true
  return subject.includes(value) || lines.some((line) => line.includes(value))
}

/** Maximum lines of laid-out HTML; real mail has fewer. */
const EXTRACTED_HTML_LINES_MAX = 5_000
const HIDDEN_LENGTH_MAX = 20_000
const LINK_TEXT_LENGTH_MAX = 300
const LINE_LENGTH_MAX = 4_000

type HtmlLayout = {
  /** Trimmed lines; lines of quoted history begin with `>`. */
  readonly lines: readonly string[]
  /** Links with their text, or with the text before them on the line if they have none. */
  readonly links: readonly SeenLink[]
  /** Addresses of links that are hidden or in quoted history. */
  readonly unseenHrefs: ReadonlySet<string>
  readonly hidden: string
}

/**
 * Lays out HTML as its visible lines and links, at most EXTRACTED_HTML_LINES_MAX lines and
 * EXTRACTED_LINKS_SEEN_MAX links. The result is empty for HTML that cannot be parsed. Never throws.
 */
function layOutHtml(html: string, tally: RemovalTally): HtmlLayout {
  const layout = new Layout()
  const tree = readHtml(html)
  if (tree === null) {
    tally.add('unread-html', html.length)
    return layout.finish()
  }
  tallyHidden(tree, tally, (kind, node) => {
    if (kind !== 'comment') layout.hide(node)
  })
  tallyCarriersWithin(tree, tally)
  layout.addAll(tree.childNodes, false)
  return layout.finish()
}

const BLOCKS = wordSet(
  'address article aside blockquote body br center dd div dl dt fieldset figure footer form h1 h2 h3 h4 h5 h6 header hr html li main nav ol p pre section table tbody tfoot thead tr ul',
)

type Link = { readonly href: string; readonly before: string; text: string; hasPicture: boolean }

class Layout {
  readonly #lines: string[] = []
  readonly #links: SeenLink[] = []
  readonly #unseenHrefs = new Set<string>()
  readonly #faded = new Set<HtmlElement>()
  #line = ''
  #hidden = ''
  #link: Link | null = null

  hide(node: HtmlNode): void {
    const link = linkAround(node)
    if (link !== null) this.#faded.add(link)
    this.#hideText(node)
    this.#hidden += '\n'
  }

  addAll(nodes: readonly HtmlNode[], isQuote: boolean): void {
    for (const node of nodes) {
      if (isText(node)) this.#show(node.value)
      else if (isElement(node)) this.#addElement(node, isQuote)
    }
  }

  finish(): HtmlLayout {
    this.#breakLine(false)
    return {
      lines: this.#lines,
      links: this.#links,
      unseenHrefs: this.#unseenHrefs,
      hidden: visibleText(this.#hidden),
    }
  }

  #hideText(node: HtmlNode): void {
    if (isText(node) && this.#hidden.length < HIDDEN_LENGTH_MAX) this.#hidden += node.value
    if (!isElement(node)) return
    const href = node.tagName === 'a' ? attributeOf(node, 'href') : undefined
    if (href !== undefined) this.#addUnseen(href)
    for (const child of node.childNodes) this.#hideText(child)
  }

  #addElement(element: HtmlElement, isInQuote: boolean): void {
    const { tagName, childNodes } = element
    if (tagName === 'textarea') return
    const isQuote = isInQuote || isHistory(element)
    const isBlock = BLOCKS.has(tagName)
    if (isBlock) this.#breakLine(isInQuote)
    if (tagName === 'td' || tagName === 'th') this.#startCell()
    if (tagName === 'img') this.#addPicture(element)
    if (tagName === 'a') this.#startLink(attributeOf(element, 'href') ?? '', isQuote)
    this.addAll(childNodes, isQuote)
    if (tagName === 'a') this.#endLink(element)
    if (isBlock) this.#breakLine(isQuote)
  }

  #show(text: string): void {
    const shown = text.replace(/\s+/g, ' ')
    if (this.#link !== null && this.#link.text.length < LINK_TEXT_LENGTH_MAX) {
      this.#link.text += shown
    }
    if (this.#line.length < LINE_LENGTH_MAX) this.#line += shown
  }

  #addPicture(picture: HtmlElement): void {
    if (this.#link !== null) this.#link.hasPicture = true
    this.#show(attributeOf(picture, 'alt') ?? '')
  }

  #startCell(): void {
    if (this.#line.length < LINE_LENGTH_MAX && /\S/.test(this.#line)) this.#line += CELL_MARK
  }

  #startLink(href: string, isQuote: boolean): void {
    if (href === '') return
    if (isQuote) this.#addUnseen(href)
    else this.#link = { href, text: '', before: this.#line, hasPicture: false }
  }

  #endLink(element: HtmlElement): void {
    const link = this.#link
    this.#link = null
    if (link === null || this.#links.length >= EXTRACTED_LINKS_SEEN_MAX) return
    const isEmpty = link.text.trim() === ''
    // A link without text may contain a picture. A link with only hidden text is invisible.
    if (isEmpty && !link.hasPicture && this.#faded.has(element)) this.#addUnseen(link.href)
    else {
      const text = isEmpty ? link.before.slice(-LINK_TEXT_LENGTH_MAX) : link.text
      this.#links.push({ href: link.href, text: visibleText(text).trim() })
    }
  }

  #addUnseen(href: string): void {
    if (this.#unseenHrefs.size < EXTRACTED_LINKS_SEEN_MAX) this.#unseenHrefs.add(href.trim())
  }

  #breakLine(isQuote: boolean): void {
    const text = visibleText(this.#line).trim()
    this.#line = ''
    if (text === '' || this.#lines.length >= EXTRACTED_HTML_LINES_MAX) return
    this.#lines.push((isQuote ? '> ' : '') + joinedCells(text))
  }
}

function linkAround(node: HtmlNode): HtmlElement | null {
  for (let above = node.parentNode; above !== null && isElement(above); above = above.parentNode) {
    if (above.tagName === 'a') return above
  }
  return null
}

const QUOTE_CLASS = /^(?:gmail_quote|moz-cite|yahoo_quoted|protonmail_quote)$/i

/**
 * Whether mail programs use the element for history. A plain blockquote may be the message itself.
 */
function isHistory(element: HtmlElement): boolean {
  if (element.tagName !== 'blockquote') return false
  const isCited = attributeOf(element, 'type')?.toLowerCase() === 'cite'
  return isCited || classesOf(element).some((name) => QUOTE_CLASS.test(name))
}

const SINGLE_CELLS = /^[\p{N}A-Z](?: \| [\p{N}A-Z-]){3,9}$/u

/** A row of boxes with one digit or capital each is one code. */
function joinedCells(text: string): string {
  return SINGLE_CELLS.test(text) ? text.replaceAll(CELL_MARK, '') : text
}

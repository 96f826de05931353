import { type Attributes, scanMarkup } from '@mailroom/mail/html/scan-markup.ts'
import { HTML_DEPTH_MAX } from '@mailroom/mail/html/tree.ts'
import { type Box, boxOf, hidingKind, OUTERMOST_BOX, unseenKind } from '#view/box.ts'
import type { StyledElement } from '#view/simple-selector.ts'
import { decodeAttribute, decodeText } from './decode-entities.ts'
import { EXTRACTED_LINKS_SEEN_MAX } from './find-links.ts'
import { CELL_MARK } from './lines.ts'
import { hasOwnLook, type Look, lookOf, madeOf, propertiesOf } from './look.ts'
import { SimpleSheet } from './simple-sheet.ts'
import { BLOCKS, ENDED_BY, SCOPED_ENDS, SCOPES, UNSEEN, VOID } from './tag-kinds.ts'
import { visibleText } from './word-tables.ts'

/** Of laid-out HTML; those of real mail are fewer. */
const EXTRACTED_HTML_LINES_MAX = 5_000

export type HtmlLink = {
  readonly href: string
  /** What stands in the link, and before it on its line where that is nothing. */
  readonly text: string
}

export type HtmlLayout = {
  /** Each without blanks around it; lines of quoted history begin with `>`. */
  readonly lines: readonly string[]
  readonly links: readonly HtmlLink[]
  /** Addresses of links that are hidden or in quoted history. */
  readonly unseenHrefs: ReadonlySet<string>
  /** What is there and not seen, as far as it is kept. */
  readonly hidden: string
}

/** Never throws; what is beyond EXTRACTED_HTML_LINES_MAX lines or EXTRACTED_LINKS_SEEN_MAX links is left out. */
export function layOutHtml(html: string): HtmlLayout {
  const layout = new Layout()
  scanMarkup(html, layout, ATTRIBUTES)
  return layout.finish()
}

const ATTRIBUTES = new Set(
  'alt background bgcolor class color data-marker height hidden href id size style text type width'.split(
    ' ',
  ),
)

const HIDDEN_LENGTH_MAX = 20_000
const LINK_TEXT_LENGTH_MAX = 300
const LINE_LENGTH_MAX = 4_000

type Open = {
  readonly element: StyledElement
  readonly box: Box
  /** Nothing within is seen, whatever its styles. */
  readonly isHidden: boolean
  /** Text right within is not seen. */
  readonly isTextUnseen: boolean
  readonly isUnseen: boolean
  readonly isQuote: boolean
}

const ROOT: Open = {
  element: { tagName: '', properties: {} },
  box: OUTERMOST_BOX,
  isHidden: false,
  isTextUnseen: false,
  isUnseen: false,
  isQuote: false,
}

type Link = { href: string; text: string; before: string; hasPicture: boolean }

class Layout {
  readonly #lines: string[] = []
  readonly #links: HtmlLink[] = []
  readonly #open: Open[] = []
  /** The elements of #open. */
  readonly #elements: StyledElement[] = []
  /** How many of a name are open. */
  readonly #openOf = new Map<string, number>()
  readonly #sheet = new SimpleSheet()
  #line = ''
  #hidden = ''
  readonly #unseenHrefs = new Set<string>()
  #skipped = 0
  #link: Link | null = null

  open(name: string, attributes: Attributes): void {
    // Nothing real is deeper: what is there belongs to what it is in.
    if (this.#open.length >= HTML_DEPTH_MAX) {
      if (!VOID.has(name)) this.#skipped++
      return
    }
    this.#endBefore(name)
    if (BLOCKS.has(name)) this.#breakLine()
    if (name === 'td' || name === 'th') this.#startCell()
    if (name === 'img') this.#addPicture(attributes)
    if (VOID.has(name)) return
    this.#open.push(this.#enter(name, attributes))
    this.#openOf.set(name, (this.#openOf.get(name) ?? 0) + 1)
    if (name === 'a') this.#startLink(decodeAttribute(attributes.href ?? ''))
  }

  text(source: string): void {
    const top = this.#top()
    if (top.element.tagName === 'style') this.#sheet.read(source)
    else if (!top.isUnseen) this.#addText(source)
  }

  close(name: string): void {
    if (VOID.has(name)) return
    if (this.#skipped > 0) {
      this.#skipped--
      return
    }
    const at = this.#openAt(name)
    if (at === -1) return
    while (this.#open.length > at) this.#closeTop()
  }

  finish(): HtmlLayout {
    this.#endLink()
    this.#breakLine()
    return {
      lines: this.#lines,
      links: this.#links,
      unseenHrefs: this.#unseenHrefs,
      hidden: visibleText(this.#hidden),
    }
  }

  #top(): Open {
    return this.#open.at(-1) ?? ROOT
  }

  #endBefore(name: string): void {
    const ended = ENDED_BY.get(name)
    while (ended?.has(this.#top().element.tagName)) this.#closeTop()
  }

  /** The place of the open element that an end tag closes; -1 where there is none. */
  #openAt(name: string): number {
    if ((this.#openOf.get(name) ?? 0) === 0) return -1
    for (let at = this.#open.length - 1; at >= 0; at--) {
      const { tagName } = this.#open[at]?.element ?? ROOT.element
      if (tagName === name) return at
      if (SCOPES.has(tagName) && !SCOPED_ENDS.has(name)) return -1
      if (tagName === 'table') return -1
    }
    return -1
  }

  #closeTop(): void {
    const top = this.#top()
    const { tagName } = top.element
    if (tagName === 'a') this.#endLink()
    if (BLOCKS.has(tagName)) this.#breakLine()
    if (this.#hidden !== '' && (top.isHidden || top.isTextUnseen)) this.#hidden += '\n'
    this.#open.pop()
    this.#openOf.set(tagName, (this.#openOf.get(tagName) ?? 1) - 1)
    this.#elements.pop()
  }

  #addText(source: string): void {
    const { isHidden, isTextUnseen } = this.#top()
    if (isHidden || isTextUnseen) {
      if (this.#hidden.length < HIDDEN_LENGTH_MAX) this.#hidden += decodeText(source)
      return
    }
    this.#show(decodeText(source))
  }

  #show(text: string): void {
    const shown = text.replace(/\s+/g, ' ')
    if (this.#link !== null && this.#link.text.length < LINK_TEXT_LENGTH_MAX) {
      this.#link.text += shown
    }
    if (this.#line.length < LINE_LENGTH_MAX) this.#line += shown
  }

  /** Letters of no size around a picture say nothing of it. */
  #addPicture({ alt = '', style = '' }: Attributes): void {
    const { isHidden, isUnseen, box } = this.#top()
    if (isHidden || isUnseen || !box.isVisible) return
    if (style !== '' && hidingKind(PICTURE, lookOf(style).styles, box.fontPx) !== null) return
    if (this.#link !== null) this.#link.hasPicture = true
    this.#show(decodeAttribute(alt))
  }

  #enter(name: string, attributes: Attributes): Open {
    const above = this.#top()
    const element = { tagName: name, properties: propertiesOf(attributes) }
    this.#elements.push(element)
    const { styles, mayHide } = this.#lookOf(attributes.style ?? '')
    const isPlain = styles.size === 0 && !hasOwnLook(name, attributes)
    const box = isPlain ? above.box : boxOf(element, styles, above.box)
    return {
      element,
      box,
      isTextUnseen: isPlain ? above.isTextUnseen : this.#isTextUnseen(box),
      isUnseen: above.isUnseen || UNSEEN.has(name),
      isHidden:
        above.isHidden ||
        ((mayHide || attributes.hidden !== undefined) &&
          hidingKind(element, styles, box.fontPx) !== null),
      isQuote: above.isQuote || isQuote(name, attributes),
    }
  }

  /** Of the element that was opened last. */
  #lookOf(style: string): Look {
    const own = lookOf(style)
    if (this.#sheet.isEmpty) return own
    const rules = this.#sheet.declarationsFor(this.#elements)
    return rules.length === 0 ? own : madeOf(rules, own.declarations)
  }

  #isTextUnseen(box: Box): boolean {
    const kind = unseenKind(box)
    // White letters on what a rule that was not read may have coloured.
    const isOnPaper = box.background === OUTERMOST_BOX.background
    return kind !== null && !(kind === 'same-colour' && isOnPaper && this.#sheet.hasUnreadGrounds)
  }

  #startCell(): void {
    if (this.#line.length >= LINE_LENGTH_MAX || this.#top().isHidden) return
    if (/\S/.test(this.#line)) this.#line += CELL_MARK
  }

  #startLink(href: string): void {
    this.#endLink()
    const { isHidden, isUnseen, isQuote } = this.#top()
    if (isUnseen || href === '') return
    if (isHidden || isQuote) {
      if (this.#unseenHrefs.size < EXTRACTED_LINKS_SEEN_MAX) this.#unseenHrefs.add(href.trim())
      return
    }
    this.#link = { href, text: '', before: this.#line, hasPicture: false }
  }

  #endLink(): void {
    const link = this.#link
    this.#link = null
    if (link === null || this.#links.length >= EXTRACTED_LINKS_SEEN_MAX) return
    const text = link.text.trim() === '' ? link.before.slice(-LINK_TEXT_LENGTH_MAX) : link.text
    // A link without text is one of its picture; a link of letters that nobody sees is none.
    if (link.text.trim() === '' && !link.hasPicture && this.#top().isTextUnseen) {
      this.#unseenHrefs.add(link.href.trim())
      return
    }
    this.#links.push({ href: link.href, text: visibleText(text).trim() })
  }

  #breakLine(): void {
    const text = visibleText(this.#line).trim()
    this.#line = ''
    if (text === '' || this.#lines.length >= EXTRACTED_HTML_LINES_MAX) return
    this.#lines.push((this.#top().isQuote ? '> ' : '') + joinedDigits(text))
  }
}

const PICTURE: StyledElement = { tagName: 'img', properties: {} }
const QUOTE_CLASS = /(?:^|\s)(?:gmail_quote|moz-cite|yahoo_quoted|protonmail_quote)(?:\s|$)/i

/** Quoted history as mail programs mark it; a plain block quotation may be the message itself. */
function isQuote(name: string, { type, class: classes }: Attributes): boolean {
  return (
    name === 'blockquote' && (type?.toLowerCase() === 'cite' || QUOTE_CLASS.test(classes ?? ''))
  )
}

const DIGIT_CELLS = /^\p{N}(?: \| \p{N}){3,9}$/u

/** A code shown as a row of boxes with a digit each is one number. */
function joinedDigits(text: string): string {
  return DIGIT_CELLS.test(text) ? text.replaceAll(CELL_MARK, '') : text
}

// Displays a message's HTML in its own frame, with its styles and layout but without scripts, forms
// and fetches. Markers represent image addresses, which the caller inserts.

import {
  escapeHtml,
  type HtmlPolicy,
  joinPieces,
  type Piece,
  writeSafeHtml,
} from '@mailroom/mail/html/safe-html.ts'
import { HTML_LINK_LENGTH_MAX } from '@mailroom/mail/html/text.ts'
import {
  attributeOf,
  HTML_TAGS_MAX,
  type HtmlElement,
  type HtmlParent,
  wordSet,
} from '@mailroom/mail/html/tree.ts'
import { shownText as markUnseen } from '@mailroom/mail/unseen.ts'
import { matchesScreen } from '#html/css-queries.ts'
import { findMissed, type Missed } from './find-missed.ts'
import { hiddenTexts } from './hidden-texts.ts'
import { type ImageReference, readImageAddress } from './images.ts'
import { misreadTarget } from './link-target.ts'
import { type PlaceImage, safeCss } from './safe-css.ts'
import { type CssOmission, type StillCss, stillSheet, stillStyle } from './still-css.ts'

/** Maximum characters of the page: HTML_LENGTH_MAX plus room for additions. */
const SHOWN_HTML_LENGTH_MAX = 4_000_000

export type ShownSource = {
  readonly html: string
  readonly showsRemote: boolean
  /**
   * Whether the page looks the same in every window and at any time, and hides only text that the
   * hidden text detector finds. Used for mail that a person approves for sending.
   */
  readonly isStill?: boolean
  /** Subject and text of a message if only its hidden text is wanted. */
  readonly hiddenOf?: readonly string[]
  /** Whether to compute `missed` for a still page, which doubles the time. */
  readonly findsMissed?: boolean
}

export type ShownHtml = {
  /** The content of a body. A marker represents the address of an image. */
  readonly pieces: readonly Piece<ImageReference>[]
  /** Number of omitted remote images, counting repetitions. */
  readonly blockedCount: number
  /** False if the page omits parts that some mail programs show, or is cut for its length. */
  readonly isWhole: boolean
  /** Null unless `findsMissed` is set. */
  readonly missed: Missed | null
}

/**
 * Displays the HTML. With `showsRemote`, remote images are marked instead of omitted. Returns null
 * if the HTML is empty, has too many tags or is nested too deeply; long HTML is cut. Takes up to a
 * second, so it must not run on the main thread.
 */
export function showSource(source: ShownSource): ShownHtml | null {
  const { html, findsMissed = false, hiddenOf } = source
  if (hiddenOf !== undefined) {
    const hidden = hiddenTexts({ html, texts: hiddenOf })
    return hidden === null
      ? null
      : { pieces: [hidden], blockedCount: 0, isWhole: true, missed: null }
  }
  if (html === '') return null
  const writing = new PageWriting(source)
  let tree: HtmlParent | null = null
  const written = writeSafeHtml(html, writing, {
    lengthMax: SHOWN_HTML_LENGTH_MAX,
    cut: CUT,
    onCut: writing.omit,
    prune(read) {
      tree = read
    },
  })
  if (written === null || tree === null) return null
  const pieces = joinPieces(written)
  const { blockedCount } = writing
  const page = findsMissed ? shownDocument(pieces, () => null).replace(TARGETS, '$1\u2060$2') : ''
  const missed = findsMissed ? findMissed({ ...writing, html, tree, page }) : null
  return {
    pieces,
    blockedCount,
    isWhole: writing.isWhole && missed?.isShown !== false,
    missed,
  }
}

/** Decides which parts of a message are written and which are omitted. */
class PageWriting implements HtmlPolicy<ImageReference> {
  readonly kept = KEPT
  readonly dropped = DROPPED
  readonly tagsMax = HTML_TAGS_MAX
  readonly boxing: StillCss['boxing'][number][] = []
  /** Attributes that selectors use but pages omit. */
  readonly omittedAttributes = new Set<string>()
  isWhole = true
  blockedCount = 0
  /** Number of external style sheets and fonts. */
  blockedStyles = 0
  readonly #isStill: boolean
  readonly #showsRemote: boolean
  /** Cached, because mail repeats its styles. */
  readonly #stills = new Map<string, string>()

  constructor({ isStill = false, showsRemote }: ShownSource) {
    this.#isStill = isStill
    this.#showsRemote = showsRemote
  }

  readonly omit = (): void => {
    this.isWhole = false
  }

  readonly #place: PlaceImage = (image) => {
    if (image.kind === 'part' || this.#showsRemote) return image
    this.blockedCount += 1
    return null
  }

  onDropped(element: HtmlElement): void {
    if (isSeenElsewhere(element)) this.omit()
    const { tagName } = element
    const isLinked = tagName === 'link' && /\bstylesheet\b/i.test(attributeOf(element, 'rel') ?? '')
    if (!isLinked) return
    if (/^\s*data:/i.test(attributeOf(element, 'href') ?? '')) this.omit()
    else this.blockedStyles += 1
  }

  /** An image without an address keeps its size and description. */
  startTag(name: string, attributes: Readonly<Record<string, string>>): Pieces {
    const pieces: Pieces = [`<${name}`]
    let isLink = false
    for (const [attribute, value] of Object.entries(attributes)) {
      if (attribute === 'srcset' && value.includes('//')) this.blockedCount += 1
      const safe = ATTRIBUTES.has(attribute) ? this.#safeValue(attribute, value) : null
      if (safe === null) continue
      pieces.push(` ${attribute}="`, ...safe, '"')
      if (attribute === 'href' && !value.trim().startsWith('#')) isLink = true
    }
    if (isLink) pieces.push(' target="_blank" rel="noopener noreferrer nofollow"')
    pieces.push('>')
    return pieces
  }

  /** Shows the link's target so that the message's own styles cannot hide it. */
  after(element: HtmlElement): Pieces {
    const target = element.tagName === 'a' ? misreadTarget(element) : null
    if (target === null) return []
    return [`<span style="${TARGET_STYLE}"> [goes to ${escapeHtml(target)}]</span>`]
  }

  styleSheet(css: string, element: HtmlElement): Pieces {
    if (!this.#isStill) {
      const media = escapeHtml(attributeOf(element, 'media') ?? '')
      const sheet = safeSheet(css, this.#place)
      return [media === '' ? '<style>' : `<style media="${media}">`, ...sheet, '</style>']
    }
    const still = stillSheet(css, this.#onOmitted)
    for (const selector of still.boxing) this.boxing.push(selector)
    for (const name of still.attributes) {
      if (!ATTRIBUTES.has(name)) this.omittedAttributes.add(name)
    }
    if (!isSheet(element)) return []
    return ['<style>', ...safeSheet(still.css, this.#place), '</style>']
  }

  readonly #onOmitted = (omission: CssOmission): void => {
    if (omission === 'drawn') this.omit()
    else if (omission === 'image') this.blockedCount += 1
    else this.blockedStyles += 1
  }

  #safeValue(attribute: string, value: string): Pieces | null {
    switch (attribute) {
      case 'style':
        return this.#safeStyle(value)
      case 'src':
      case 'background':
        return this.#safeImage(value)
      case 'href':
        return safeLink(value)
      case 'cite':
        return null
      default:
        if (this.#isStill && LENGTHS.has(attribute) && /\d{4}/.test(value)) return null
        return value.length > HTML_LINK_LENGTH_MAX ? null : [escapeHtml(value)]
    }
  }

  #safeStyle(style: string): Pieces | null {
    if (style.length > STYLE_LENGTH_MAX) {
      this.omit()
      return null
    }
    return safeCss(this.#isStill ? this.#stillOf(style) : style, this.#place).map(escaped)
  }

  #stillOf(style: string): string {
    const known = this.#stills.get(style)
    if (known !== undefined) return known
    let isAll = true
    const still = stillStyle(style, (omission) => {
      isAll = false
      this.#onOmitted(omission)
    })
    // Styles with omissions are not cached, because every omission must be counted.
    if (isAll) this.#stills.set(style, still)
    return still
  }

  #safeImage(value: string): Pieces | null {
    const address = readImageAddress(value)
    if (address === null) {
      this.#omitImage(value)
      return null
    }
    if (address.kind === 'data') return [escapeHtml(address.url)]
    const placed = this.#place(address)
    return placed && [placed]
  }

  /** An embedded image that is not displayed may contain words. */
  #omitImage(value: string): void {
    if (/\b(?:data|cid):/i.test(value)) this.omit()
    else if (value.includes('//')) this.blockedCount += 1
  }
}

function isSheet(element: HtmlElement): boolean {
  const type = attributeOf(element, 'type') ?? ''
  const isCss = /^\s*(?:text\/css)?\s*$/i.test(type)
  return isCss && matchesScreen(attributeOf(element, 'media') ?? '') === true
}

const TARGET_STYLE =
  'all:initial!important;display:inline!important;font:bold 12px/1.5 system-ui,sans-serif!important;color:#8a1c1c!important;background:#fff!important;overflow-wrap:anywhere!important'

/** The comparison ignores the text of link targets but keeps their elements for selectors. */
const TARGETS = new RegExp(
  `(<span style="${TARGET_STYLE.replace(/[()]/g, '\\$&')}">)[^<]*(</span>)`,
  'g',
)

const CUT = '[The rest of this message is too long to be shown.]'

/**
 * Elements that are kept, including `body`, which may occur again within a body: browsers merge its
 * attributes (WHATWG HTML §13.2.6.4.7).
 */
const KEPT = wordSet(`
  a abbr acronym address area article aside b bdi bdo big blockquote body br caption center cite code
  col colgroup dd del details dfn dir div dl dt em figcaption figure font footer h1 h2 h3 h4 h5 h6
  header hgroup hr i img ins kbd label legend li main map mark menu nav ol p picture pre q s samp
  section small span strike strong sub summary sup table tbody td tfoot th thead time tr tt u ul var wbr
`)
const DROPPED = wordSet(`
  applet audio base canvas datalist embed frame frameset iframe input link math meta noembed
  noframes object option script select svg template textarea title video xmp
`)
/** Dropped elements that some mail programs draw, or whose content they show. */
const SEEN_ELSEWHERE = wordSet(`
  applet audio canvas embed input math object select svg textarea video xmp
`)

function isSeenElsewhere(element: HtmlElement): boolean {
  const isSet = (attribute: string) => attributeOf(element, attribute) !== undefined
  // Browsers draw the content of a shadow root instead of its parent's content.
  if (element.tagName === 'template') return isSet('shadowrootmode')
  if (/^i?frame$/.test(element.tagName)) {
    return isSet('srcdoc') || /^\s*data:/i.test(attributeOf(element, 'src') ?? '')
  }
  if (element.tagName !== 'input') return SEEN_ELSEWHERE.has(element.tagName)
  return attributeOf(element, 'type')?.toLowerCase() !== 'hidden'
}

const ATTRIBUTES = wordSet(`
  abbr align alt background bgcolor border bordercolor cellpadding cellspacing cite class color colspan
  coords dir face headers height href hspace id lang link name noshade nowrap open reversed role rowspan
  scope shape size span src start style text title type usemap valign value vspace width
`)

/** Attributes that can move text to where it is found only by scrolling. */
const LENGTHS = wordSet('border cellpadding cellspacing height hspace vspace width')

type Pieces = Piece<ImageReference>[]

const STYLE_LENGTH_MAX = 50_000

function escaped(piece: Piece<ImageReference>): Piece<ImageReference> {
  return typeof piece === 'string' ? escapeHtml(piece) : piece
}

/** Browsers ignore white space and control characters in a scheme. */
function safeLink(value: string): Pieces | null {
  const url = value.replace(/[\x00-\x20\x7f-\xa0\u2028\u2029]/g, '')
  const isSafe = /^(?:https?:|mailto:|tel:|#)/i.test(url) && url.length <= LINK_LENGTH_MAX
  return isSafe ? [escapeHtml(url)] : null
}

/** Newsletter links are long, and truncated links would lead to another page. */
const LINK_LENGTH_MAX = 8_000

function safeSheet(css: string, place: PlaceImage): Pieces {
  const pieces = joinPieces(safeCss(css, place))
  // CSS decodes the escape in a string to `<`, which CSS needs nowhere else. Even a browser that
  // parsed the sheet as markup would find no tag. Comparisons in @media are followed by a space or
  // `=`.
  return pieces.map((piece) =>
    typeof piece === 'string' ? piece.replace(/<(?![\s=])/g, '\\3c ') : piece,
  )
}

/** The page of the HTML, or of the text with a notice if the HTML cannot be displayed. */
export function shownBody(
  shown: ShownHtml | null,
  { html, text }: { html: string; text: string },
  addressOf: AddressOf,
): string {
  if (shown !== null) return shownDocument(shown.pieces, addressOf)
  return shownText(markUnseen(text), html === '' ? '' : UNSHOWN)
}

const UNSHOWN = `<p><strong>The HTML of this message cannot be shown: it is too large or too complex. This is the text part, which may say something else.</strong></p><hr>`

/** An address with only letters, digits and `/ ? & = % . ~ _ -`; null for an empty image. */
export type AddressOf = (image: ImageReference) => string | null

/** The complete page, always in a light scheme because mail is designed for it. */
function shownDocument(pieces: readonly Piece<ImageReference>[], addressOf: AddressOf): string {
  const body = pieces.map((piece) =>
    typeof piece === 'string' ? piece : (addressOf(piece) ?? EMPTY_IMAGE),
  )
  return `${head('')}<body>${body.join('')}</body></html>\n`
}

/** The text as typed, with links for web addresses. `notice` is HTML. */
function shownText(text: string, notice: string): string {
  return `${head(TEXT_STYLE)}<body>${notice}<pre>${linked(text)}</pre></body></html>\n`
}

/** Placeholder for an element that requires an image. */
const EMPTY_IMAGE = 'data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw=='

const STYLE = `:root{color-scheme:light;background:#fff;color:#1a1a1a;overflow:auto}
body{margin:16px;font:14px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
img{max-width:100%}img:not([src]){display:inline-block;min-width:16px;min-height:16px;border:1px dashed #999;color:#555;font:12px/1.4 system-ui,sans-serif}`
const TEXT_STYLE = 'pre{margin:0;font:13px/1.55 ui-monospace,monospace;white-space:pre-wrap}'

function head(style: string): string {
  return `<!doctype html><html lang="und"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><meta name="color-scheme" content="light"><title>Message</title><style>${STYLE}${style}</style></head>`
}

const WEB_ADDRESS = /https?:\/\/[^\s<>"'()[\]]{1,2000}/gi

function linked(text: string): string {
  const pieces: string[] = []
  let end = 0
  for (const { 0: found, index } of text.matchAll(WEB_ADDRESS)) {
    const url = found.replace(/[.,;:!?]{1,3}$/, '')
    pieces.push(escapeHtml(text.slice(end, index)))
    pieces.push(
      `<a href="${escapeHtml(url)}" target="_blank" rel="noopener noreferrer nofollow">${escapeHtml(url)}</a>`,
    )
    end = index + url.length
  }
  return [...pieces, escapeHtml(text.slice(end))].join('')
}

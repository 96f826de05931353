import { singleLine } from '@mailroom/mail/compose/header-text.ts'
import {
  escapeHtml,
  type HtmlPolicy,
  type SafeHtmlOptions,
  writeSafeHtml,
} from '@mailroom/mail/html/safe-html.ts'
import { HTML_LINK_LENGTH_MAX, stripTags } from '@mailroom/mail/html/text.ts'
import { wordSet } from '@mailroom/mail/html/tree.ts'
import { mayHide } from '#html/hidden.ts'
import { pruneHidden, visibleTextOf } from '#html/visible-text.ts'
import { isCarrier, RemovalTally, stripInvisible } from '#view/removal.ts'

/** Maximum quoted characters, including quote marks; the rest of the message is dropped. */
export const QUOTED_TEXT_LENGTH_MAX = 256 * 1024
export const QUOTED_HTML_LENGTH_MAX = 512 * 1024
const QUOTED_LINES_MAX = 10_000
const QUOTED_NAME_LENGTH_MAX = 200
/** Characters of HTML that are laid out or quoted on the main thread: 10 ms in the worst case. */
export const INLINE_HTML_LENGTH_MAX = 8 * 1024
/** A lower limit for HTML that may hide text, because style sheets take time for each element. */
const INLINE_STYLED_LENGTH_MAX = 1024

export type BodySource = {
  readonly body: string
  /** Null or '' if the sender supplied a single body. */
  readonly bodyHtml: string | null
  /** Whether `body` is text or HTML; detected with `auto`. */
  readonly format?: 'auto' | 'text' | 'html'
  /** Follows the body. */
  readonly signature?: Signature | null
  /** The message to quote or forward; null if there is none. */
  readonly quote: Original | Forwarded | null
}

type Signature = {
  readonly text: string
  /** '' if `bodyHtml` already contains the signature. */
  readonly html: string
}

export type BodyParts = {
  readonly text: string
  readonly html: string
  /** The text without the signature and the quote, but all text of a forwarded message. */
  readonly ownText: string
}

/**
 * With `bodyHtml`, `body` is always plain text. Without `bodyHtml`, `body` is used as `html` if its
 * format is `html`, or `auto` and it is HTML with text or a picture; `text` is then its visible
 * text. The quoted message is treated as with `auto`. The signature and the quote follow the text
 * and, if present, the HTML, before a final `</body>`.
 * Forwarding a message with HTML turns plain text into HTML. Takes up to 200 ms: see `isQuick`.
 */
export function bodyParts(source: BodySource): BodyParts {
  return assemble(source, visibleTextOf)
}

/** Whether `bodyParts` may run on the main thread: there is little HTML to lay out or quote. */
export function isQuick({ body, bodyHtml, format = 'auto', quote }: BodySource): boolean {
  const own = !bodyHtml && mayBeHtml(body, format) ? body : ''
  const hasQuotedHtml =
    quote !== null && (own !== '' || bodyHtml || quote.text === '' || 'header' in quote)
  const quoted = hasQuotedHtml ? quote.html || quote.text : ''
  const length = own.length + quoted.length
  if (length <= INLINE_STYLED_LENGTH_MAX) return true
  return length <= INLINE_HTML_LENGTH_MAX && !mayHide(own) && !mayHide(quoted)
}

/**
 * A quick substitute if `bodyParts` did not finish. HTML loses its tags without being laid out, and
 * a placeholder replaces HTML without text, because it may hide text. Only the text of a quoted
 * message is kept.
 */
export function plainBodyParts({ quote, ...own }: BodySource): BodyParts {
  const plainQuote =
    quote === null ? null : { ...quote, text: quote.text || (quote.html && CUT), html: '' }
  return assemble({ ...own, quote: plainQuote }, stripTags)
}

function assemble(source: BodySource, layOut: (html: string) => string): BodyParts {
  const { quote, signature = null } = source
  const own = ownParts(source, layOut)
  const ownText = own.text
  const { text, html } = signature === null ? own : withSignature(own, signature)
  if (quote === null) return { text, html, ownText }
  if ('header' in quote) return withForwarded({ text, html }, quote)
  return {
    text: `${text.trimEnd()}${quoteText(quote)}`,
    html: html === '' ? '' : insertAtEnd(html, `\n<br>\n${quoteHtml(quote)}\n`),
    ownText,
  }
}

/** The separator of RFC 3676 §4.3, by which mail programs recognise a signature. */
const SIGNATURE_LINE = '-- \n'

function withSignature(own: { text: string; html: string }, signature: Signature) {
  const before = own.text.trimEnd()
  const signed = `${SIGNATURE_LINE}${signature.text}`
  return {
    text: before === '' ? signed : `${before}\n\n${signed}`,
    html: own.html === '' ? '' : insertAtEnd(own.html, `\n${signature.html}\n`),
  }
}

function withForwarded(own: { text: string; html: string }, forwarded: Forwarded): BodyParts {
  const lines = [own.text.trimEnd(), forwardText(forwarded)].filter((text) => text !== '')
  const text = lines.join('\n\n')
  if (own.html === '' && forwarded.html === '') return { text, html: '', ownText: text }
  const html = own.html === '' && own.text !== '' ? `<div>${textAsHtml(own.text)}</div>` : own.html
  const addition = forwardHtml(forwarded)
  return {
    text,
    html: html === '' ? addition : insertAtEnd(html, `\n<br>\n${addition}\n`),
    ownText: text,
  }
}

function mayBeHtml(body: string, format: NonNullable<BodySource['format']>): boolean {
  return format === 'html' || (format === 'auto' && isHtml(body))
}

function ownParts(
  { body, bodyHtml, format = 'auto' }: BodySource,
  layOut: (html: string) => string,
): { text: string; html: string } {
  if (bodyHtml) return { text: body, html: bodyHtml }
  if (!mayBeHtml(body, format)) return { text: body, html: '' }
  const text = layOut(body)
  if (format === 'html') return { text, html: body }
  // As HTML, text like `<link to doc>` or `<title> of the doc` would disappear.
  const isEmpty = text.trim() === '' && stripTags(body).trim() === '' && !/<img[\s/>]/i.test(body)
  return isEmpty ? { text: body, html: '' } : { text, html: body }
}

const DOCUMENT_END = /^(?:<\/body>)?(?:<\/html>)?$/i

function insertAtEnd(html: string, addition: string): string {
  const lower = html.toLowerCase()
  const body = lower.lastIndexOf('</body')
  const at = body < 0 ? lower.lastIndexOf('</html') : body
  if (at < 0 || !DOCUMENT_END.test(html.slice(at).replace(/\s+/g, ''))) return `${html}${addition}`
  return `${html.slice(0, at)}${addition}${html.slice(at)}`
}

/** Elements of the HTML standard, and others that browsers still render. */
const ELEMENTS = wordSet(`
  a abbr address area article aside audio b base bdi bdo blockquote body br button canvas caption
  cite code col colgroup data datalist dd del details dfn dialog div dl dt em embed fieldset
  figcaption figure footer form h1 h2 h3 h4 h5 h6 head header hgroup hr html i iframe img input ins
  kbd label legend li link main map mark math menu meta meter nav noscript object ol optgroup option
  output p param picture pre progress q rp rt ruby s samp script search section select selectedcontent
  slot small source span strong style sub summary sup svg table tbody td template textarea tfoot th
  thead time title tr track u ul var video wbr
  acronym applet basefont bgsound big blink center dir font frame frameset image isindex keygen
  listing marquee menuitem multicol nextid nobr noembed noframes plaintext rb rtc spacer strike tt
  xmp
`)
/** Matches `<` and a name up to white space, a slash or the end of the tag. */
const START_TAG = /<([a-z][a-z0-9]*)(?=[\s/>])[^>]*>/iy
const DOCTYPE = /<!doctype[\s>]/iy
const SPACE = /[\s\ufeff]*/y

/**
 * Whether text is HTML: after white space, a byte order mark, comments and processing instructions,
 * it starts with a doctype or the start tag of a known element. Text that starts with `</p>`,
 * `<john@example.com>`, `<3` or `<notes>` is not HTML. Runs in linear time.
 */
export function isHtml(text: string): boolean {
  let at = 0
  for (;;) {
    SPACE.lastIndex = at
    SPACE.exec(text)
    at = SPACE.lastIndex
    if (text[at] !== '<') return false
    const end = endOfComment(text, at)
    if (end === null) break
    at = end
  }
  if (matchesAt(DOCTYPE, text, at)) return true
  START_TAG.lastIndex = at
  const name = START_TAG.exec(text)?.[1]
  return name !== undefined && ELEMENTS.has(name.toLowerCase())
}

/** The index after a comment, or after text that browsers treat as a comment; null otherwise. */
function endOfComment(text: string, at: number): number | null {
  if (matchesAt(DOCTYPE, text, at)) return null
  if (text.startsWith('<!--', at)) return indexAfter(text, '-->', at + 2)
  if (text.startsWith('<!', at) || text.startsWith('<?', at)) return indexAfter(text, '>', at)
  return null
}

function indexAfter(text: string, end: string, from: number): number {
  const found = text.indexOf(end, from)
  return found < 0 ? text.length : found + end.length
}

function matchesAt(pattern: RegExp, text: string, at: number): boolean {
  pattern.lastIndex = at
  return pattern.test(text)
}

export type Original = {
  readonly dateMs: number
  readonly fromName: string
  readonly text: string
  readonly html: string
}

export type Forwarded = {
  readonly header: readonly { readonly name: string; readonly value: string }[]
  readonly text: string
  readonly html: string
  /** Whether the original's files are attached, so that its HTML can show them. */
  readonly hasFiles: boolean
}

/** Replaces the rest of a long quote. */
const CUT = '[…]'

/**
 * A blank line, `On <date>, <name> wrote:`, and the original's lines after `> `, with LF line ends.
 * The result can be appended to text without a final line end. At most QUOTED_LINES_MAX lines and
 * QUOTED_TEXT_LENGTH_MAX characters are quoted, cut at a line end.
 */
export function quoteText(original: Original): string {
  return `\n\n${attributionOf(original)}\n${quoteLines(shownTextOf(original))}`
}

/**
 * The quote as self-contained HTML: a `<div>` with the attribution, and a `<blockquote>` with the
 * original's visible markup, made safe and balanced by `sanitiseHtml`. If the original has no
 * markup or too much, its text is quoted. At most QUOTED_HTML_LENGTH_MAX characters of markup are
 * quoted.
 */
export function quoteHtml(original: Original): string {
  const attribution = escapeHtml(attributionOf(original))
  return `<div class="gmail_quote"><div>${attribution}</div>\n<blockquote type="cite" style="${STYLE}">${contentOf(original, POLICY)}</blockquote></div>`
}

/** Gmail's line, which mail programs and our reply parser recognise. */
const FORWARD_LINE = '---------- Forwarded message ---------'
/** Maximum characters of a header line, enough for some hundred addresses. */
const HEADER_LINE_LENGTH_MAX = 5_000

/** Like `quoteText`, but with the header lines and without quote marks. */
function forwardText(forwarded: Forwarded): string {
  const lines = boundedLines(shownTextOf(forwarded), (line) => line)
  return [FORWARD_LINE, ...headerLinesOf(forwarded), '', ...lines].join('\n').trimEnd()
}

/** Like `quoteHtml`, with the header lines. */
function forwardHtml(forwarded: Forwarded): string {
  const head = [FORWARD_LINE, ...headerLinesOf(forwarded)].map(escapeHtml).join('<br>\n')
  const content = contentOf(forwarded, forwarded.hasFiles ? POLICY_WITH_FILES : POLICY)
  return `<div><div>${head}</div>\n<br>\n<div>${content}</div></div>`
}

function headerLinesOf({ header }: Forwarded): string[] {
  return header.map(({ name, value }) => {
    const visible = singleLine(value).replace(/\p{Bidi_Control}/gu, '')
    if (visible.length <= HEADER_LINE_LENGTH_MAX) return `${name}: ${visible}`
    return `${name}: ${visible.slice(0, HEADER_LINE_LENGTH_MAX).toWellFormed()} ${CUT}`
  })
}

const STYLE = 'margin:0 0 0 0.8ex;border-left:1px solid #ccc;padding-left:1ex'
const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const LINE_END = /\r\n|\r|\n/

/** In English, because mail programs and our reply parser recognise this form. */
function attributionOf({ dateMs, fromName }: Original): string {
  const date = new Date(dateMs)
  const day = `${DAYS[date.getUTCDay()]}, ${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]}`
  const time = `${twoDigits(date.getUTCHours())}:${twoDigits(date.getUTCMinutes())} UTC`
  // Bidirectional controls would reverse the line.
  const visible = singleLine(fromName).replace(/\p{Bidi_Control}/gu, '')
  const name = visible.slice(0, QUOTED_NAME_LENGTH_MAX).toWellFormed()
  return `On ${day} ${date.getUTCFullYear()} at ${time}, ${name} wrote:`
}

function twoDigits(value: number): string {
  return String(value).padStart(2, '0')
}

function quoteLines(text: string): string {
  return boundedLines(text, markLine).join('\n')
}

/**
 * The first QUOTED_LINES_MAX lines and QUOTED_TEXT_LENGTH_MAX characters, each line after `mark`.
 */
function boundedLines(text: string, mark: (line: string) => string): string[] {
  const bounded = text.slice(0, QUOTED_TEXT_LENGTH_MAX)
  const lines = bounded.trimEnd().split(LINE_END, QUOTED_LINES_MAX + 1)
  const quoted: string[] = []
  let room = QUOTED_TEXT_LENGTH_MAX
  for (const line of lines) {
    const marked = mark(line.trimEnd())
    room -= marked.length + 1
    if (room < 0 || quoted.length === QUOTED_LINES_MAX) return [...quoted, mark(CUT)]
    quoted.push(marked)
  }
  if (bounded.length === text.length) return quoted
  // The last line was cut, so it is kept only if it is the only line.
  if (quoted.length > 1) quoted.pop()
  return [...quoted, mark(CUT)].map((line) => line.toWellFormed())
}

function markLine(line: string): string {
  return line === '' || line.startsWith('>') ? `>${line}` : `> ${line}`
}

function contentOf(original: Original | Forwarded, policy: HtmlPolicy): string {
  const { html } = original
  if (html !== '') {
    const options = { lengthMax: QUOTED_HTML_LENGTH_MAX, cut: CUT, prune: pruneHidden(html) }
    const markup = writeSafeHtml(html, policy, options)
    if (markup !== null) return withoutCarriers(markup.join('').trim())
  }
  return textAsHtml(shownTextOf(original))
}

/** The visible text; '' for HTML without visible text. */
function shownTextOf({ text, html }: Original | Forwarded): string {
  return text === '' ? visibleTextOf(html) : withoutCarriers(text)
}

/** Removes invisible characters that can encode letters. */
function withoutCarriers(text: string): string {
  return stripInvisible(text, new RemovalTally(), isCarrier)
}

function textAsHtml(text: string): string {
  const quoted: string[] = []
  let room = QUOTED_HTML_LENGTH_MAX
  const lines = text
    .slice(0, QUOTED_TEXT_LENGTH_MAX)
    .toWellFormed()
    .split(LINE_END, QUOTED_LINES_MAX)
  for (const line of lines) {
    const marked = escapeHtml(line)
    room -= marked.length + '<br>\n'.length
    if (room < 0) return [...quoted, CUT].join('<br>\n')
    quoted.push(marked)
  }
  const isWhole = text.length <= QUOTED_TEXT_LENGTH_MAX && lines.length < QUOTED_LINES_MAX
  return (isWhole ? quoted : [...quoted, CUT]).join('<br>\n')
}

/** HTML with more tags is quoted as text. */
export const QUOTED_TAGS_MAX = 10_000

/**
 * The content of the document's body, or of the fragment, balanced. Null for HTML with more than
 * QUOTED_TAGS_MAX tags or beyond the bounds of `readHtml`. HTML beyond HTML_LENGTH_MAX is cut.
 * Elements deeper than HTML_DEPTH_MAX lose their tags. Never throws.
 */
export function sanitiseHtml(html: string, options: SafeHtmlOptions): string | null {
  return writeSafeHtml(html, POLICY, options)?.join('').trim() ?? null
}

const POLICY: HtmlPolicy = {
  kept: wordSet(`
    a abbr acronym address article aside b bdi bdo big blockquote br caption center cite code col
    colgroup dd del details dfn dir div dl dt em figcaption figure font footer h1 h2 h3 h4 h5 h6 header
    hr i img ins kbd li main mark menu nav ol p pre q s samp section small span strike strong sub
    summary sup table tbody td tfoot th thead time tr tt u ul var wbr
  `),
  dropped: wordSet(`
    applet audio base canvas datalist embed frame frameset iframe link math meta noembed noframes
    object script select style svg template textarea title video xmp
  `),
  tagsMax: QUOTED_TAGS_MAX,
  startTag: (name, attributes) => startTag(name, attributes, /^https?:/i),
}

/** A policy that also allows images that are files of the same message (RFC 2392). */
const POLICY_WITH_FILES: HtmlPolicy = {
  ...POLICY,
  startTag: (name, attributes) => startTag(name, attributes, /^(?:https?|cid):/i),
}

const ATTRIBUTES = wordSet(`
  abbr align alt bgcolor border cellpadding cellspacing class cite color colspan dir face headers
  height href lang open reversed rowspan scope size span src start style title type valign width
`)

/** An image without a usable address becomes its description. */
function startTag(
  name: string,
  attributes: Readonly<Record<string, string>>,
  images: RegExp,
): string[] {
  let tag = `<${name}`
  for (const [attribute, value] of Object.entries(attributes)) {
    const safe = ATTRIBUTES.has(attribute) ? safeValue(attribute, value, images) : ''
    if (safe !== '') tag += ` ${attribute}="${escapeHtml(safe)}"`
  }
  if (name !== 'img' || tag.includes(' src="')) return [`${tag}>`]
  return [escapeHtml(attributes.alt ?? '')]
}

function safeValue(attribute: string, value: string, images: RegExp): string {
  if (attribute === 'style') return sanitiseStyle(value)
  // A closed element would hide text that was visible.
  if (attribute === 'open') return attribute
  if (attribute === 'href' || attribute === 'cite')
    return safeUrl(value, /^(?:https?|mailto|tel):/i)
  if (attribute === 'src') return safeUrl(value, images)
  return value.length > HTML_LINK_LENGTH_MAX ? '' : value
}

/** Browsers ignore white space and control characters in a scheme. */
function safeUrl(value: string, schemes: RegExp): string {
  const url = value.replace(/[\x00-\x20\x7f-\xa0\u2028\u2029]/g, '')
  return schemes.test(url) && url.length <= HTML_LINK_LENGTH_MAX ? url : ''
}

const PROPERTY =
  /^(?:color|background(?:-color)?|font(?:-(?:family|size|style|weight|variant))?|line-height|letter-spacing|word-spacing|text-(?:align|decoration|transform|indent)|vertical-align|white-space|direction|unicode-bidi|display|(?:max-|min-)?(?:width|height)|(?:margin|padding)(?:-(?:top|right|bottom|left))?|border(?:-(?:top|right|bottom|left))?(?:-(?:color|style|width))?|border-(?:collapse|spacing|radius)|list-style(?:-type)?|table-layout|word-break|word-wrap|overflow-wrap)$/
/**
 * Matches names, numbers, colours and lists of them. Functions other than colours, and negative
 * numbers, are not allowed.
 */
const VALUE = /^(?:[\w#%.,'" !]|(?<=[a-z])-(?=[a-z])|(?<=\brgba?)\(|\))*$/i

/** Returns '' if no declaration is safe, or if the style is unusually long. */
function sanitiseStyle(style: string): string {
  if (style.length > HTML_LINK_LENGTH_MAX) return ''
  const kept: string[] = []
  for (const declaration of style.split(';')) {
    const colon = declaration.indexOf(':')
    const property = declaration.slice(0, Math.max(0, colon)).trim().toLowerCase()
    const value = declaration.slice(colon + 1).trim()
    if (value !== '' && PROPERTY.test(property) && VALUE.test(value))
      kept.push(`${property}:${value}`)
  }
  return kept.join(';')
}

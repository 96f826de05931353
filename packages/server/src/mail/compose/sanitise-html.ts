// Another's HTML made fit to stand inside our own: known elements and attributes only, every element
// closed, nothing that runs, loads a document, asks for input or leaves its place on the page. The
// only file that knows htmlparser2.

import { createRequire } from 'node:module'
import {
  HTML_DEPTH_MAX,
  HTML_LENGTH_MAX,
  HTML_LINK_LENGTH_MAX,
  QUOTED_TAGS_MAX,
} from '#base/limits.ts'
import { cleanText } from '#mail/safe-text.ts'
import { sanitiseStyle } from './sanitise-style.ts'

export type SanitiseOptions = {
  /** Characters of the result, without `cut` and the end tags after it. */
  readonly lengthMax: number
  /** Text to stand where the rest was left out. */
  readonly cut: string
}

/**
 * The content of the document's body, or of the fragment, balanced. Null for more than
 * QUOTED_TAGS_MAX tags; of HTML beyond HTML_LENGTH_MAX the rest is not read. Elements deeper than
 * HTML_DEPTH_MAX lose their tags. Never throws.
 */
export function sanitiseHtml(html: string, options: SanitiseOptions): string | null {
  const bounded = cleanText(html.slice(0, HTML_LENGTH_MAX))
  if (hasTooManyTags(bounded)) return null
  const writer = new SafeWriter(options)
  const { Parser } = load('htmlparser2') as typeof import('htmlparser2')
  const parser = new Parser({
    onopentag: (name, attributes) => writer.open(name, attributes),
    ontext: (text) => writer.text(text),
    onclosetag: (name) => writer.close(name),
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

// Loaded with the first quote of HTML, as its sibling html-to-text is.
const load = createRequire(import.meta.url)

const STEP = 16_384
const words = (list: string): ReadonlySet<string> => new Set(list.trim().split(/\s+/))

const KEPT = words(`
  a abbr acronym address article aside b bdi bdo big blockquote br caption center cite code col
  colgroup dd del details dfn dir div dl dt em figcaption figure font footer h1 h2 h3 h4 h5 h6 header
  hr i img ins kbd li main mark menu nav ol p pre q s samp section small span strike strong sub
  summary sup table tbody td tfoot th thead time tr tt u ul var wbr
`)
const VOID = words('br col hr img wbr')
/** Left out with all that they hold; the tags of any other element only. */
const DROPPED = words(`
  applet audio base canvas datalist embed frame frameset iframe link math meta noembed noframes
  object script select style svg template textarea title video xmp
`)
const ATTRIBUTES = words(`
  abbr align alt bgcolor border cellpadding cellspacing class cite color colspan dir face headers
  height href lang reversed rowspan scope size span src start style title type valign width
`)

/** What is open is on `#stack`; an element without a tag in the result has '' there. */
class SafeWriter {
  isFull = false
  readonly #options: SanitiseOptions
  readonly #pieces: string[] = []
  readonly #stack: string[] = []
  #length = 0
  #depth = 0
  /** Height of the stack at which a dropped element began. */
  #droppedAt: number | null = null

  constructor(options: SanitiseOptions) {
    this.#options = options
  }

  /** The parser reports an end for every start, also where the source has none. */
  open(name: string, attributes: Readonly<Record<string, string>>): void {
    const isWritten = this.#isWriting() && KEPT.has(name) && this.#depth < HTML_DEPTH_MAX
    if (this.#isWriting() && DROPPED.has(name)) this.#droppedAt = this.#stack.length
    const tag = isWritten ? startTag(name, attributes) : ''
    const isOpen = isWritten && tag !== '' && this.#push(tag) && !VOID.has(name)
    if (isOpen) this.#depth += 1
    this.#stack.push(isOpen ? name : '')
  }

  text(text: string): void {
    if (this.#isWriting()) this.#push(escapeHtml(text))
  }

  close(_name: string): void {
    const name = this.#stack.pop() ?? ''
    if (name !== '' && !this.isFull) {
      this.#pieces.push(`</${name}>`)
      this.#length += name.length + 3
    }
    if (name !== '' && this.isFull) this.#unclosed.push(name)
    if (name !== '') this.#depth -= 1
    if (this.#droppedAt !== null && this.#stack.length <= this.#droppedAt) this.#droppedAt = null
  }

  finish(isCut: boolean): string {
    const cut = isCut || this.isFull ? escapeHtml(this.#options.cut) : ''
    const ends = this.#unclosed.map((name) => `</${name}>`)
    return [...this.#pieces, cut, ...ends].join('').trim()
  }

  /** What was open when the result was full, innermost first. */
  readonly #unclosed: string[] = []

  #isWriting(): boolean {
    return this.#droppedAt === null && !this.isFull
  }

  #push(piece: string): boolean {
    if (this.#length + piece.length > this.#options.lengthMax) {
      this.isFull = true
      return false
    }
    this.#length += piece.length
    this.#pieces.push(piece)
    return true
  }
}

/** '' for an image that has no address which its reader could load, and no words instead. */
function startTag(name: string, attributes: Readonly<Record<string, string>>): string {
  let tag = `<${name}`
  for (const [attribute, value] of Object.entries(attributes)) {
    const safe = ATTRIBUTES.has(attribute) ? safeValue(attribute, value) : ''
    if (safe !== '') tag += ` ${attribute}="${escapeHtml(safe)}"`
  }
  if (name !== 'img' || tag.includes(' src="')) return `${tag}>`
  return escapeHtml(attributes.alt ?? '')
}

function safeValue(attribute: string, value: string): string {
  if (attribute === 'style') return sanitiseStyle(value)
  if (attribute === 'href' || attribute === 'cite')
    return safeUrl(value, /^(?:https?|mailto|tel):/i)
  if (attribute === 'src') return safeUrl(value, /^https?:/i)
  return value.length > HTML_LINK_LENGTH_MAX ? '' : value
}

/** Browsers leave white space and control characters out of a scheme. */
function safeUrl(value: string, schemes: RegExp): string {
  const url = value.replace(/[\x00-\x20\x7f-\xa0\u2028\u2029]/g, '')
  return schemes.test(url) && url.length <= HTML_LINK_LENGTH_MAX ? url : ''
}

function hasTooManyTags(html: string): boolean {
  let count = 0
  for (let at = html.indexOf('<'); at !== -1; at = html.indexOf('<', at + 1)) {
    if (++count > QUOTED_TAGS_MAX) return true
  }
  return false
}

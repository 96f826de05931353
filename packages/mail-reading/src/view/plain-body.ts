// The body of a plain text message for a model: without invisible characters, with quoted history
// folded and long links shortened, and with a record of these changes.

import { INLINE_PARSE_BYTES_MAX } from '@mailroom/mail/mime/mime-message.ts'
import { contextsOf, hasOwnText } from '#reply/answer-context.ts'
import { splitReply } from '#reply/reply-text.ts'
import { type EarlierText, EarlierTexts } from './fold-quotes.ts'
import { type Removal, RemovalTally, stripInvisible, tallyDefects } from './removal.ts'

/** Maximum UTF-16 units of the text of one message. */
export const VIEW_TEXT_LENGTH_MAX = 1_000_000

export type ViewSource = {
  readonly text: string
  readonly html: string
  readonly hasFullLinks: boolean
  /** Earlier messages of the thread, whose quotes are folded. */
  readonly earlier?: readonly EarlierText[]
  readonly isUnfolded?: boolean
  readonly defects?: readonly string[]
}

export type ViewBody = {
  readonly text: string
  /** `unread-html`: the HTML could not be converted, so the text is used. */
  readonly source: 'text' | 'html' | 'unread-html'
  readonly removed: readonly Removal[]
  readonly foldedLines: number
  readonly shortenedLinks: number
  readonly pixels: number
  readonly pictures: number
  /** Whether the text exceeds VIEW_TEXT_LENGTH_MAX. */
  readonly isCut: boolean
}

/** Whether `plainBody` may run on the main thread: there is no HTML and little text. */
export function isQuickView({ text, html, earlier = [] }: ViewSource): boolean {
  if (html !== '') return false
  const lengths = earlier.map((one) => one.text.length + one.html.length)
  return lengths.reduce((sum, length) => sum + length, text.length) <= INLINE_PARSE_BYTES_MAX
}

/** Views a message without HTML synchronously, in linear time. Never throws. */
export function plainBody({
  text,
  hasFullLinks,
  isHtmlUnread,
  earlier = [],
  isUnfolded = false,
  defects = [],
}: Omit<ViewSource, 'html'> & { readonly isHtmlUnread: boolean }): ViewBody {
  const tally = new RemovalTally()
  tallyDefects(defects, tally)
  const links = new LinkShortener(hasFullLinks)
  const isLong = text.length > VIEW_TEXT_LENGTH_MAX
  const seen = stripInvisible(isLong ? text.slice(0, VIEW_TEXT_LENGTH_MAX) : text, tally)
  const folded = foldText(seen, new EarlierTexts(isUnfolded ? [] : earlier))
  const body = finishBody(links.shortenAll(folded.text).trim(), {
    source: isHtmlUnread ? 'unread-html' : 'text',
    removed: tally.list(),
    foldedLines: folded.lines,
    shortenedLinks: links.count,
    pixels: 0,
    pictures: 0,
  })
  return isLong ? { ...body, isCut: true } : body
}

export function finishBody(text: string, changes: Omit<ViewBody, 'text' | 'isCut'>): ViewBody {
  const isCut = text.length > VIEW_TEXT_LENGTH_MAX
  const kept = isCut ? text.slice(0, VIEW_TEXT_LENGTH_MAX) : text
  return { text: kept.toWellFormed(), isCut, ...changes }
}

export type Folded = { readonly text: string; readonly lines: number }

/** The line that is shown instead of a quote. */
export function foldLine(lines: number): string {
  return `[quoted history folded: ${lines} ${lines === 1 ? 'line' : 'lines'}]`
}

/** A forward, and a message that is only a quote, are unchanged. */
function foldText(text: string, earlier: EarlierTexts): Folded {
  const stretches = splitReply(text)
  if (stretches === null || !stretches.some(({ own }) => own.some((line) => line.trim() !== ''))) {
    return { text, lines: 0 }
  }
  const kept: string[] = []
  let lines = 0
  const contexts = contextsOf(stretches.map(({ own }) => hasOwnText(own)))
  for (const [index, { own, quotedLines, quote }] of stretches.entries()) {
    kept.push(...own)
    if (quotedLines === 0) continue
    if (contexts.has(index) || !earlier.hold(quote)) {
      kept.push(...quote, '')
      continue
    }
    lines += quotedLines
    if (kept.length > 0 && kept.at(-1)?.trim() !== '') kept.push('')
    kept.push(foldLine(quotedLines), '')
  }
  return lines === 0 ? { text, lines } : { text: kept.join('\n'), lines }
}

/** Longer addresses are shortened to about VIEW_LINK_KEPT characters. */
const VIEW_LINK_LENGTH_MAX = 48
const VIEW_LINK_KEPT = 20

export class LinkShortener {
  readonly #isFull: boolean
  #count = 0
  #dataCount = 0

  /** If `isFull` is set, addresses are complete, except for data: URIs. */
  constructor(isFull: boolean) {
    this.#isFull = isFull
  }

  /** Number of links shortened so far. */
  get count(): number {
    return this.#count
  }

  /** Number of data: URIs removed from text so far. */
  get dataCount(): number {
    return this.#dataCount
  }

  /** Returns `host/first…[link 3]` for an address that is too long. */
  shorten(url: string): string {
    if (this.#isFull || url.length <= VIEW_LINK_LENGTH_MAX) return url
    this.#count += 1
    return `${beginningOf(url)}…[link ${this.#count}]`
  }

  /**
   * Shortens every address in a text, and replaces data: URIs with their size and type. Runs in
   * linear time.
   */
  shortenAll(text: string): string {
    const withoutData = text.includes('data:')
      ? text.replace(DATA_URI, (_, type: string, data: string) => {
          this.#dataCount += 1
          return describeData(type, data.length)
        })
      : text
    if (this.#isFull || !withoutData.includes('://')) return withoutData
    return withoutData.replace(LONG_URL, (url) => this.shorten(url))
  }
}

const DATA_URI = /\bdata:([a-z]{1,20}\/[\w.+-]{1,60})(?:;[\w=.-]{1,40}){0,5},([\w+/=%-]{40,})/gi
const LONG_URL = new RegExp(
  `\\b(?:https?|ftp)://[^\\s<>"'\`\\])…]{${VIEW_LINK_LENGTH_MAX - 7},}`,
  'gi',
)

/** The host and as much of the path as fits. A host that is too long loses its beginning. */
function beginningOf(url: string): string {
  const found = /^([a-z][a-z0-9+.-]{0,20}:\/\/)([^/?#\s]*)(.*)$/is.exec(url)
  if (found === null) return url.slice(0, VIEW_LINK_KEPT)
  const [, , authority = '', rest = ''] = found
  // The text before an @ is a user name, which may imitate the host.
  const host = authority.slice(authority.lastIndexOf('@') + 1)
  const shown = host.length > HOST_LENGTH_MAX ? `…${host.slice(-HOST_LENGTH_MAX)}` : host
  const path = rest.replace(/[?#].*$/s, '')
  return `${shown}${path.slice(0, Math.max(0, VIEW_LINK_KEPT - shown.length))}`
}

/** Shorter than VIEW_LINK_LENGTH_MAX even with the scheme, so that no link is shortened twice. */
const HOST_LENGTH_MAX = 36

/** Returns `[image, 12 kB, image/png]`. `length` is the number of base64 characters. */
export function describeData(type: string, length: number): string {
  const plain = type.toLowerCase().slice(0, 60)
  return `[${plain.startsWith('image/') ? 'image' : 'data'}, ${kilobytes((length * 3) / 4)}, ${plain}]`
}

/** Formats a size as `12 kB`: thousands of octets, at least 1. */
export function kilobytes(sizeBytes: number): string {
  return `${Math.max(1, Math.round(sizeBytes / 1000))} kB`
}

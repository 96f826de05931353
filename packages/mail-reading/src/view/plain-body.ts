// The body of a mail that is text alone, as a model reads it: without what nobody sees, with quoted
// history folded and long links shortened; and what was done to it.

import { INLINE_PARSE_BYTES_MAX } from '@mailroom/mail/mime/mime-message.ts'
import { splitReply } from '#reply/reply-text.ts'
import { type EarlierText, EarlierTexts } from './earlier-texts.ts'
import { LinkShortener } from './link-text.ts'
import { type Removal, RemovalTally } from './removal.ts'
import { stripInvisible } from './strip-invisible.ts'

/** Of the text of one message, in UTF-16 units. */
export const VIEW_TEXT_LENGTH_MAX = 1_000_000

export type ViewSource = {
  readonly text: string
  /** '' for none. */
  readonly html: string
  /** Whether long links stay whole. */
  readonly hasFullLinks: boolean
  /** Earlier messages of the thread: what they hold is folded where it is quoted. None without them. */
  readonly earlier?: readonly EarlierText[]
  /** Whether quotes stay whole all the same. */
  readonly isUnfolded?: boolean
}

export type ViewBody = {
  readonly text: string
  /** `unread-html`: the HTML could not be read, and the text stands for it. */
  readonly source: 'text' | 'html' | 'unread-html'
  readonly removed: readonly Removal[]
  readonly foldedLines: number
  readonly shortenedLinks: number
  readonly pixels: number
  readonly pictures: number
  /** Whether there is more than VIEW_TEXT_LENGTH_MAX of it. */
  readonly isCut: boolean
}

/** Whether `plainBody` may make it on the main thread: there is no HTML, and little text. */
export function isQuickView({ text, html, earlier = [] }: ViewSource): boolean {
  if (html !== '') return false
  const lengths = earlier.map((one) => one.text.length + one.html.length)
  return lengths.reduce((sum, length) => sum + length, text.length) <= INLINE_PARSE_BYTES_MAX
}

/** A body of text alone, at once; linear in its length. Never throws. */
export function plainBody({
  text,
  hasFullLinks,
  isHtmlUnread,
  earlier = [],
  isUnfolded = false,
}: Omit<ViewSource, 'html'> & { readonly isHtmlUnread: boolean }): ViewBody {
  const tally = new RemovalTally()
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

/** What was made, cut where it is too long. */
export function finishBody(text: string, told: Omit<ViewBody, 'text' | 'isCut'>): ViewBody {
  const isCut = text.length > VIEW_TEXT_LENGTH_MAX
  const kept = isCut ? text.slice(0, VIEW_TEXT_LENGTH_MAX) : text
  return { text: kept.toWellFormed(), isCut, ...told }
}

export type Folded = { readonly text: string; readonly lines: number }

/** The line that stands for a quote of so many lines. */
export function foldLine(lines: number): string {
  return `[quoted history folded: ${lines} ${lines === 1 ? 'line' : 'lines'}]`
}

/** Stays whole when it is a forward, or nothing but a quote. */
function foldText(text: string, earlier: EarlierTexts): Folded {
  const stretches = splitReply(text)
  if (stretches === null || !stretches.some(({ own }) => own.some((line) => line.trim() !== ''))) {
    return { text, lines: 0 }
  }
  const kept: string[] = []
  let lines = 0
  for (const { own, quotedLines, quote } of stretches) {
    kept.push(...own)
    if (quotedLines === 0) continue
    if (!earlier.hold(quote)) {
      kept.push(...quote, '')
      continue
    }
    lines += quotedLines
    if (kept.length > 0 && kept.at(-1)?.trim() !== '') kept.push('')
    kept.push(foldLine(quotedLines), '')
  }
  return lines === 0 ? { text, lines } : { text: kept.join('\n'), lines }
}

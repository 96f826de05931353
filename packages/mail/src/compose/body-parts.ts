// The text and the HTML of a message out of what its sender gave, with the quote below both.

import { stripTags } from '#html/html-strip.ts'
import { textFromHtml } from '#html/html-text.ts'
import { isHtml } from './is-html.ts'
import { type Original, quoteHtml, quoteText } from './quote.ts'

/** HTML of a send that is laid out or quoted on the main thread, in characters: 10 ms at worst. */
export const INLINE_HTML_LENGTH_MAX = 8 * 1024

export type BodySource = {
  readonly body: string
  /** Null or '' when the sender gave one body only. */
  readonly bodyHtml: string | null
  /** The message to quote, null for none. */
  readonly quote: Original | null
}

export type BodyParts = {
  readonly text: string
  readonly html: string
  /** The text without the quote. */
  readonly ownText: string
}

/**
 * With `bodyHtml`, `body` is the text as it stands, whatever it looks like. Without it, `html` is
 * `body` when that is HTML in which there is something to see, and `text` is laid out of it. The quote
 * follows the text, and the HTML when there is any: before its `</body>`, if that is how it ends.
 * Takes up to 200 ms: see `isQuick`.
 */
export function bodyParts(source: BodySource): BodyParts {
  return assemble(source, textFromHtml)
}

/** Whether `bodyParts` may be called on the main thread: there is little HTML to lay out or quote. */
export function isQuick({ body, bodyHtml, quote }: BodySource): boolean {
  const isOwnHtml = !bodyHtml && isHtml(body)
  const ownLength = isOwnHtml ? body.length : 0
  const hasQuotedHtml = quote !== null && (isOwnHtml || bodyHtml || quote.text === '')
  const quotedLength = hasQuotedHtml ? quote.html.length || quote.text.length : 0
  return ownLength + quotedLength <= INLINE_HTML_LENGTH_MAX
}

/** The same in little time, for what `bodyParts` could not finish: tags go, nothing is laid out. */
export function plainBodyParts({ body, bodyHtml, quote }: BodySource): BodyParts {
  const plainQuote =
    quote === null ? null : { ...quote, text: quote.text || stripTags(quote.html), html: '' }
  return assemble({ body, bodyHtml, quote: plainQuote }, stripTags)
}

function assemble(source: BodySource, layOut: (html: string) => string): BodyParts {
  const { quote } = source
  const { text, html } = ownParts(source, layOut)
  if (quote === null) return { text, html, ownText: text }
  return {
    text: `${text.trimEnd()}${quoteText(quote)}`,
    html: html === '' ? '' : insertAtEnd(html, `\n<br>\n${quoteHtml(quote)}\n`),
    ownText: text,
  }
}

function ownParts(
  { body, bodyHtml }: BodySource,
  layOut: (html: string) => string,
): { text: string; html: string } {
  if (bodyHtml) return { text: body, html: bodyHtml }
  if (!isHtml(body)) return { text: body, html: '' }
  const text = layOut(body)
  // `<link to doc>` or `<title> of the doc`: nothing would be left of what was written.
  const isEmpty = text.trim() === '' && !/<img[\s/>]/i.test(body)
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

// The text and the HTML of a message out of what its sender gave, with the quote below both.

import { textFromHtml } from '#mail/html-text.ts'
import { isHtml } from './is-html.ts'
import { type Original, quoteHtml, quoteText } from './quote.ts'

export type BodySource = {
  readonly body: string
  /** Null or '' when the sender gave one body only. */
  readonly bodyHtml: string | null
  /** The message to quote, null for none. */
  readonly quote: Original | null
}

/**
 * `html` is `bodyHtml`, or `body` when that is HTML, or ''; `text` is `body`, laid out as text when it
 * is HTML. The quote follows the text, and the HTML when there is any: before its `</body>`, if
 * that is how it ends.
 */
export function bodyParts({ body, bodyHtml, quote }: BodySource): { text: string; html: string } {
  const isBodyHtml = isHtml(body)
  const html = bodyHtml || (isBodyHtml ? body : '')
  const text = isBodyHtml ? textFromHtml(body) : body
  if (quote === null) return { text, html }
  return {
    text: `${text.trimEnd()}${quoteText(quote)}`,
    html: html === '' ? '' : insertAtEnd(html, `\n<br>\n${quoteHtml(quote)}\n`),
  }
}

const DOCUMENT_END = /^(?:<\/body>)?(?:<\/html>)?$/i

function insertAtEnd(html: string, addition: string): string {
  const lower = html.toLowerCase()
  const body = lower.lastIndexOf('</body')
  const at = body < 0 ? lower.lastIndexOf('</html') : body
  if (at < 0 || !DOCUMENT_END.test(html.slice(at).replace(/\s+/g, ''))) return `${html}${addition}`
  return `${html.slice(0, at)}${addition}${html.slice(at)}`
}

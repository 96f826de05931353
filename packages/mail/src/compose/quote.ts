// The copy of a message below the answer to it, as text and as HTML, under the line that says who
// wrote it and when. What the original holds stays within the quote, whatever it holds.

import { textFromHtml } from '#html/html-text.ts'
import { escapeHtml } from '#html/safe-html.ts'
import { singleLine } from './header-text.ts'
import { sanitiseHtml } from './sanitise-html.ts'

/** Of a quoted message, in characters with the quote's marks; the rest is left out. */
export const QUOTED_TEXT_LENGTH_MAX = 256 * 1024
export const QUOTED_HTML_LENGTH_MAX = 512 * 1024
const QUOTED_LINES_MAX = 10_000
/** Of who is quoted, in characters. */
const QUOTED_NAME_LENGTH_MAX = 200

export type Original = {
  readonly dateMs: number
  /** Display name or address. */
  readonly fromName: string
  readonly text: string
  /** '' for none. */
  readonly html: string
}

/** Stands where the rest of a long quote would be. */
const CUT = '[…]'

/**
 * A blank line, `On <date>, <name> wrote:` and the original's lines behind `> `, with LF line ends; to
 * be appended to text that does not end in a line end. At most QUOTED_LINES_MAX lines and
 * QUOTED_TEXT_LENGTH_MAX characters are quoted, cut at the end of a line.
 */
export function quoteText(original: Original): string {
  const text = original.text === '' ? textFromHtml(original.html) : original.text
  return `\n\n${attributionOf(original)}\n${quoteLines(text)}`
}

/**
 * The same as HTML that stands for itself: a `<div>` with the attribution and a `<blockquote>` with
 * the original's markup, made safe and balanced (`sanitiseHtml`), or with its text when it has none
 * or too much. At most QUOTED_HTML_LENGTH_MAX characters of markup are quoted.
 */
export function quoteHtml(original: Original): string {
  const attribution = escapeHtml(attributionOf(original))
  return `<div class="gmail_quote"><div>${attribution}</div>\n<blockquote type="cite" style="${STYLE}">${contentOf(original)}</blockquote></div>`
}

const STYLE = 'margin:0 0 0 0.8ex;border-left:1px solid #ccc;padding-left:1ex'
const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const LINE_END = /\r\n|\r|\n/

/** English: mail programs and our own reader of replies know it in this form. */
function attributionOf({ dateMs, fromName }: Original): string {
  const date = new Date(dateMs)
  const day = `${DAYS[date.getUTCDay()]}, ${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]}`
  const time = `${twoDigits(date.getUTCHours())}:${twoDigits(date.getUTCMinutes())} UTC`
  // Marks of direction would turn the line around.
  const visible = singleLine(fromName).replace(/\p{Bidi_Control}/gu, '')
  const name = visible.slice(0, QUOTED_NAME_LENGTH_MAX).toWellFormed()
  return `On ${day} ${date.getUTCFullYear()} at ${time}, ${name} wrote:`
}

function twoDigits(value: number): string {
  return String(value).padStart(2, '0')
}

function quoteLines(text: string): string {
  const bounded = text.slice(0, QUOTED_TEXT_LENGTH_MAX)
  const lines = bounded.trimEnd().split(LINE_END, QUOTED_LINES_MAX + 1)
  const quoted: string[] = []
  let room = QUOTED_TEXT_LENGTH_MAX
  for (const line of lines) {
    const marked = markLine(line.trimEnd())
    room -= marked.length + 1
    if (room < 0 || quoted.length === QUOTED_LINES_MAX) return [...quoted, `> ${CUT}`].join('\n')
    quoted.push(marked)
  }
  if (bounded.length === text.length) return quoted.join('\n')
  // The last line was cut within; alone it is better than nothing.
  if (quoted.length > 1) quoted.pop()
  return [...quoted, `> ${CUT}`].join('\n').toWellFormed()
}

function markLine(line: string): string {
  return line === '' || line.startsWith('>') ? `>${line}` : `> ${line}`
}

function contentOf({ text, html }: Original): string {
  if (html !== '') {
    const markup = sanitiseHtml(html, { lengthMax: QUOTED_HTML_LENGTH_MAX, cut: CUT })
    if (markup !== null) return markup
  }
  const shown = text === '' ? textFromHtml(html) : text
  return textAsHtml(shown)
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

import { stripTags } from '@mailroom/mail/html/strip.ts'
import { type HtmlParent, isElement, isText, readHtml } from '@mailroom/mail/html/tree.ts'
import { endOfQuotedHeader, endsLikeAttribution, findAttribution } from '#reply/reply-text.ts'
import { ORIGINAL_PATTERN, quotedFieldOf } from '#reply/reply-words.ts'

/** The bodies of a message; '' for none. */
export type EarlierText = { readonly text: string; readonly html: string }

/** Characters that all searches of a message may pass over; a quote that is looked for after is shown. */
const SEARCHED_MAX = 50_000_000

/**
 * Whether a quote stands in an earlier message: only then nothing is lost when it is put away. Words are
 * compared, not marks of quotes, blanks, punctuation and addresses, which mail programs change.
 */
export class EarlierTexts {
  readonly #earlier: readonly EarlierText[]
  /** Of each body its letters and numbers alone; made with the first quote. */
  #words: readonly string[] | null = null
  #searched = 0

  constructor(earlier: readonly EarlierText[]) {
    this.#earlier = earlier
  }

  /** Whether one body holds the lines of a quote in their order; who wrote it, and when, apart. */
  hold(quote: readonly string[]): boolean {
    if (this.#earlier.length === 0) return false
    const lines = withoutHead(quote)
      .map(wordsOf)
      .filter((line) => line !== '')
    if (lines.length === 0) return false
    this.#words ??= this.#earlier
      .flatMap(({ text, html }) => [text, ...(html === '' ? [] : [textOfHtml(html)])])
      .map(wordsOf)
    return this.#words.some((words) => this.#holds(words, lines))
  }

  #holds(words: string, lines: readonly string[]): boolean {
    let at = 0
    for (const line of lines) {
      if (this.#searched > SEARCHED_MAX) return false
      const found = words.indexOf(line, at)
      const end = found === -1 ? words.length : found + line.length
      this.#searched += end - at
      if (found === -1) return false
      at = end
    }
    return true
  }
}

const ADDRESS = /\b(?:https?|ftp|mailto):[^\s<>"')\]]{1,8000}/gi

function wordsOf(text: string): string {
  return text
    .replace(ADDRESS, '')
    .replace(/[^\p{L}\p{N}]+/gu, '')
    .toLowerCase()
}

const UNREAD = new Set(['style', 'script', 'title'])

function textOfHtml(html: string): string {
  const tree = readHtml(html)
  if (tree === null) return stripTags(html)
  const texts: string[] = []
  const visit = ({ childNodes }: HtmlParent): void => {
    for (const node of childNodes) {
      if (isText(node)) texts.push(node.value)
      else if (isElement(node) && !UNREAD.has(node.tagName)) visit(node)
    }
  }
  visit(tree)
  return texts.join('')
}

/** Lines before the message itself in which a program may say who wrote it. */
const HEAD_LINES_MAX = 12

function withoutHead(quote: readonly string[]): readonly string[] {
  const lines = quote.filter((line) => line.trim() !== '')
  const start = lines.slice(0, 2).findLastIndex((line) => ORIGINAL_PATTERN.test(line)) + 1
  const fields = lines.map((line, index) => (index > start + 60 ? null : quotedFieldOf(line)))
  const header = endOfQuotedHeader(lines, fields, start)
  if (header !== null) return lines.slice(header)
  for (let at = start; at < Math.min(lines.length, start + HEAD_LINES_MAX); at++) {
    const line = lines[at] ?? ''
    if (line.trimStart().startsWith('>')) break
    if (endsLikeAttribution(line) && findAttribution(lines, start, at, true) !== null) {
      return lines.slice(at + 1)
    }
  }
  return lines.slice(start)
}

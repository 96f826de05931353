// Finds text in the text part that is missing from the HTML, which is what people see.

import { stripTags } from '@mailroom/mail/html/text.ts'
import {
  attributeOf,
  type HtmlParent,
  isBlock,
  isElement,
  isText,
  readHtml,
} from '@mailroom/mail/html/tree.ts'
import { countCodePoints } from '#view/removal.ts'
import { drawnValue, NO_TEXT } from './undrawn.ts'

/** Maximum characters of each body; longer bodies are not compared. */
const COMPARED_LENGTH_MAX = 256 * 1024

/**
 * Number of code points in the sections of `text` that are missing from `html`. Hidden text in the
 * HTML is not missing, because it is reported separately. Link addresses, quotation marks, pictures
 * and layout are ignored. Returns 0 for HTML that cannot be parsed. Runs in linear time.
 */
export function unsaidLength(text: string, html: string): number {
  if (text === '' || html === '') return 0
  if (Math.max(text.length, html.length) > COMPARED_LENGTH_MAX) return 0
  const words = wordsOf(withoutAddresses(text))
  if (words.length < RUN_MIN || unsaid(words, stripTags(html)) === 0) return 0
  const tree = readHtml(html)
  return tree === null ? 0 : unsaid(words, textWithin(tree))
}

/** Like `unsaidLength`, with `seen` as the visible text of the HTML. */
export function unsaidIn(text: string, seen: string): number {
  if (Math.max(text.length, seen.length) > COMPARED_LENGTH_MAX) return 0
  const words = wordsOf(withoutAddresses(text))
  return words.length < RUN_MIN ? 0 : unsaid(words, seen)
}

export function holdsAll(text: string, other: string): boolean {
  return wordsOf(text).join('').includes(wordsOf(other).join(''))
}

/** Minimum words in a row; fewer words are a label, such as that of a link. */
const RUN_MIN = 4
/** Maximum sections that are compared without regard to blanks. */
const RUNS_MAX = 50

function unsaid(words: readonly string[], other: string): number {
  const others = wordsOf(other)
  const known = new Set(others)
  const pairs = new Set<string>()
  for (const [at, word] of others.entries()) pairs.add(`${word} ${others[at + 1] ?? ''}`)
  const isPair = (at: number) => pairs.has(`${words[at] ?? ''} ${words[at + 1] ?? ''}`)
  const isSaid = (at: number) => known.has(words[at] ?? '') && (isPair(at - 1) || isPair(at))
  let joined: string | null = null
  let length = 0
  let runs = 0
  for (let start = 0; start < words.length; start++) {
    if (isSaid(start)) continue
    let end = start + 1
    while (end < words.length && !isSaid(end)) end++
    const run = words.slice(start, end)
    start = end
    if (run.length < RUN_MIN) continue
    joined ??= others.join('')
    if (++runs <= RUNS_MAX && joined.includes(run.join(''))) continue
    length += countCodePoints(run.join(' '))
  }
  return length
}

/** Folded words and numbers. In scripts without blanks, each character is a word. */
function wordsOf(text: string): string[] {
  return text.normalize('NFKC').toLowerCase().match(WORD) ?? []
}

const WORD =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]|[\p{L}\p{N}\p{M}]+?(?=[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]|[^\p{L}\p{N}\p{M}]|$)/gu

function withoutAddresses(text: string): string {
  return text.replace(/\b(?:[a-z][a-z0-9+.-]{1,20}:\/\/|www\.|mailto:|cid:)[^\s<>"')\]]*/gi, ' ')
}

/** The text of a tree and its picture descriptions, whether visible or hidden. */
function textWithin(tree: HtmlParent): string {
  const pieces: string[] = []
  const visit = ({ childNodes }: HtmlParent): void => {
    for (const node of childNodes) {
      if (isText(node)) pieces.push(node.value)
      if (!isElement(node) || NO_TEXT.has(node.tagName)) continue
      const isApart = isBlock(node.tagName) || node.tagName === 'img'
      if (isApart) pieces.push(' ')
      pieces.push(attributeOf(node, 'alt') ?? drawnValue(node) ?? '')
      visit(node)
      if (isApart) pieces.push(' ')
    }
  }
  visit(tree)
  return pieces.join('')
}

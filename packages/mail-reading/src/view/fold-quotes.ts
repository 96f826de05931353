// Quoted history in the tree of a mail: found by the marks of mail programs and put away as one
// paragraph that tells how many lines there were. What a message forwards is not history.

import type { Element, ElementContent, Parents, Root } from 'hast'
import { endOfQuotedHeader } from '#reply/reply-text.ts'
import { FORWARD_PATTERN, quotedFieldOf } from '#reply/reply-words.ts'
import type { EarlierTexts } from './earlier-texts.ts'
import { textLines } from './tree-text.ts'

/** Around the number of lines where a quote was; characters that no text holds. */
export const FOLD_OPENING = '\ufdd0'
export const FOLD_CLOSING = '\ufdd1'

const QUOTE_CLASSES =
  /^(?:gmail_quote(?:_container)?|yahoo_quoted|protonmail_quote|tutanota_quote|zmail_extra|front-blockquote|moz-forward-container|x_gmail_quote|ms-outlook-mobile-reference-message|quoted-html)$/
const QUOTE_IDS =
  /^(?:x_)?(?:yahoo_quoted_\w+|OLK_SRC_BODY_SECTION|mail-editor-reference-message-container|isReplyContent)$/
/** What Outlook puts before the message it answers, which goes on to the end. */
const REST_IDS = /^(?:x_)?(?:divRplyFwdMsg|appendonsend)$/
const ATTRIBUTION_CLASSES = /^(?:moz-cite-prefix|gmail_attr|protonmail_quote_attribution)$/
const HEADER_LINES_MAX = 20

/** Folds what earlier messages hold; nothing when no other text would be left. */
export function foldQuotes(tree: Root, earlier: EarlierTexts): void {
  const found: Found[] = []
  findQuotes(tree, found, earlier)
  if (found.length === 0 || !hasTextBeside(tree, new Set(found.flatMap(({ nodes }) => nodes))))
    return
  for (const { parent, nodes } of found) {
    const at = parent.children.indexOf(nodes[0] as ElementContent)
    const lines = nodes.reduce((sum, node) => sum + textLines(node).length, 0)
    const taken = new Set<unknown>(nodes)
    const others = parent.children.filter((child) => !taken.has(child)) as ElementContent[]
    others.splice(at, 0, foldOf(lines))
    parent.children = others
  }
}

function foldOf(lines: number): Element {
  const value = `${FOLD_OPENING}${lines}${FOLD_CLOSING}`
  const fold: Element = {
    type: 'element',
    tagName: 'p',
    properties: {},
    children: [{ type: 'text', value }],
  }
  folds.add(fold)
  return fold
}

const folds = new WeakSet<Element>()

/** Whether `foldQuotes` put the element there. */
export function isFold(element: Element): boolean {
  return folds.has(element)
}

type Found = { readonly parent: Parents; readonly nodes: readonly ElementContent[] }

function findQuotes(parent: Parents, found: Found[], earlier: EarlierTexts): void {
  const { children } = parent
  for (const [index, child] of children.entries()) {
    if (child.type !== 'element') continue
    if (opensRest(child)) {
      const nodes = children.slice(index) as ElementContent[]
      if (isForward(nodes)) return
      if (earlier.hold(nodes.flatMap((node) => textLines(node)))) {
        found.push({ parent, nodes })
        return
      }
    } else if (isQuote(child)) {
      if (isForward([child])) continue
      if (earlier.hold(textLines(child))) {
        found.push({ parent, nodes: [...attributionBefore(children, index), child] })
        continue
      }
    }
    findQuotes(child, found, earlier)
  }
}

function isQuote({ tagName, properties }: Element): boolean {
  if (tagName === 'blockquote' && String(properties.type ?? '').toLowerCase() === 'cite')
    return true
  if (properties.dataMarker === '__QUOTED_TEXT__') return true
  if (QUOTE_IDS.test(String(properties.id ?? ''))) return true
  const { className } = properties
  return Array.isArray(className) && className.some((name) => QUOTE_CLASSES.test(String(name)))
}

/** Outlook's mark, or the copied header fields that the desktop program sets under a line. */
function opensRest(element: Element): boolean {
  const { id, style } = element.properties
  if (REST_IDS.test(String(id ?? ''))) return true
  if (element.tagName !== 'div' || !/border-top:\s*solid\s/i.test(String(style ?? ''))) return false
  const lines = textLines(element, HEADER_LINES_MAX)
  return endOfQuotedHeader(lines, lines.map(quotedFieldOf), 0) !== null
}

function isForward(nodes: readonly ElementContent[]): boolean {
  const [first] = nodes
  const lines = first === undefined ? [] : textLines(first, 3)
  return lines.some((line) => line.length < 200 && FORWARD_PATTERN.test(line))
}

function attributionBefore(
  children: Parents['children'],
  index: number,
): readonly ElementContent[] {
  let at = index - 1
  while (at >= 0 && isBlank(children[at] as ElementContent)) at--
  const before = children[at]
  if (before?.type !== 'element') return []
  const { className } = before.properties
  const names = Array.isArray(className) ? className : []
  if (!names.some((name) => ATTRIBUTION_CLASSES.test(String(name)))) return []
  return children.slice(at, index) as ElementContent[]
}

function isBlank(node: ElementContent): boolean {
  return node.type === 'text'
    ? node.value.trim() === ''
    : node.type === 'element' && node.tagName === 'br'
}

function hasTextBeside(parent: Parents, quotes: ReadonlySet<unknown>): boolean {
  return parent.children.some((child) => {
    if (quotes.has(child)) return false
    if (child.type === 'text') return /[\p{L}\p{N}]/u.test(child.value)
    if (child.type !== 'element') return false
    return child.tagName === 'img' || hasTextBeside(child, quotes)
  })
}

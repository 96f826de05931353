import {
  attributeOf,
  type HtmlElement,
  type HtmlNode,
  type HtmlParent,
  isElement,
  isText,
} from '@mailroom/mail/html/tree.ts'
import { countCodePoints, type RemovalKind } from '#view/removal.ts'
import { StyleSheet } from './css-rules.ts'
import { type Box, boxOf, hidingKind, OUTERMOST_BOX, stylesOf, unseenKind } from './style.ts'

/** Elements whose content is no text of the mail for anybody. */
const NO_TEXT: ReadonlySet<string> = new Set(
  `head title style script template object embed applet iframe svg math canvas audio video map datalist
  noframes noembed frameset select meter progress rp base link meta param`
    .trim()
    .split(/\s+/),
)

/** Told of a node that goes, before it goes. */
export type TellRemoved = (kind: RemovalKind, node: HtmlNode) => void

/**
 * Takes out of the tree of a document what a person who looks at it does not see. Pictures stay where
 * they are only surrounded by what is not seen.
 */
export function removeHidden(tree: HtmlParent, tell: TellRemoved): void {
  removeWithin(tree, OUTERMOST_BOX, { sheet: new StyleSheet(styleTexts(tree)), tell })
}

type Walk = { readonly sheet: StyleSheet; readonly tell: TellRemoved }

function removeWithin(parent: HtmlParent, box: Box, walk: Walk): void {
  const unseen = unseenKind(box)
  parent.childNodes = parent.childNodes.filter((node) => {
    if (isText(node)) {
      if (unseen === null || node.value.trim() === '') return true
      walk.tell(unseen, node)
      return false
    }
    if (isElement(node)) return isKept(node, box, walk)
    if (node.nodeName === '#comment') walk.tell('comment', node)
    return false
  })
}

function isKept(element: HtmlElement, outer: Box, walk: Walk): boolean {
  const { tagName } = element
  if (NO_TEXT.has(tagName)) return false
  const kind = removalKindOf(element, outer, walk)
  if (kind !== null) walk.tell(kind, element)
  return kind === null
}

function removalKindOf(element: HtmlElement, outer: Box, walk: Walk): RemovalKind | null {
  const { tagName } = element
  if (tagName === 'noscript') return 'noscript'
  if (tagName === 'dialog' && attributeOf(element, 'open') === undefined) return 'display-none'
  const styles = stylesOf(element, walk.sheet)
  const box = boxOf(element, styles, outer)
  const kind = hidingKind(element, styles, box.fontPx)
  if (kind !== null) return kind
  // The description takes the place of the picture only in what a person sees of it.
  if (tagName === 'img' && !box.isVisible) return 'visibility'
  removeWithin(element, box, walk)
  return null
}

function styleTexts(tree: HtmlParent): string[] {
  const texts: string[] = []
  const visit = (parent: HtmlParent): void => {
    for (const child of parent.childNodes) {
      if (!isElement(child)) continue
      if (child.tagName !== 'style') visit(child)
      else for (const text of child.childNodes) if (isText(text)) texts.push(text.value)
    }
  }
  visit(tree)
  return texts
}

/** Of what a node holds for a reader, in code points; without the fillers that pad a preview. */
export function hiddenLength(node: HtmlNode): number {
  if (isText(node)) return visibleLength(node.value)
  if (node.nodeName === '#comment' && 'data' in node) return visibleLength(node.data)
  if (!isElement(node) || NO_TEXT.has(node.tagName)) return 0
  if (node.tagName === 'img') return visibleLength(attributeOf(node, 'alt') ?? '')
  let length = 0
  for (const child of node.childNodes)
    if (child.nodeName !== '#comment') length += hiddenLength(child)
  return length
}

function visibleLength(text: string): number {
  return countCodePoints(text.replace(PADDING, ' ').trim())
}

const PADDING = /(?:[\s\u00ad\u200b-\u200f\u2000-\u200a\u2060-\u2064\ufeff\u00a0]|\u034f)+/g

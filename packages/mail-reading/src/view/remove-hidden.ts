// Takes out of the tree of a mail what a person who looks at it does not see, and tells how much of
// what kind. Changes the tree that it is given.

import type { Element, Nodes, Parents, Root } from 'hast'
import { type Box, boxOf, cascade, hidingKind, OUTERMOST_BOX, unseenKind } from './box.ts'
import { readDeclarations } from './declarations.ts'
import { countCodePoints, type RemovalKind, type RemovalTally } from './removal.ts'
import { type CssLibraries, StyleSheet } from './style-sheet.ts'

/** Elements whose content is no text of the mail for anybody. */
const NO_TEXT = new Set(
  `head title style script template object embed applet iframe svg math canvas audio video map datalist
  noframes noembed frameset select meter progress rp base link meta param`
    .trim()
    .split(/\s+/),
)

/** The tree's depth must be bounded. Pictures that are hidden go uncounted but for their description. */
export function removeHidden(tree: Root, libraries: CssLibraries, tally: RemovalTally): void {
  const sheet = new StyleSheet(styleTexts(tree), tree, libraries)
  cleanChildren(tree, OUTERMOST_BOX, { sheet, tally, line: [] })
}

type Walk = {
  readonly sheet: StyleSheet
  readonly tally: RemovalTally
  /** The element whose children are looked at, behind its ancestors. */
  readonly line: Element[]
}

function cleanChildren(parent: Parents, box: Box, walk: Walk): void {
  let kind: RemovalKind | null | undefined
  const kept = parent.children.filter((child) => {
    switch (child.type) {
      case 'element':
        return cleanElement(child, box, walk)
      case 'text':
        if (child.value.trim() === '') return true
        kind ??= unseenKind(box) ?? null
        if (kind !== null) walk.tally.add(kind, visibleLength(child.value))
        return kind === null
      case 'comment':
        walk.tally.add('comment', visibleLength(child.value))
        return false
      default:
        return false
    }
  })
  parent.children = kept as typeof parent.children
}

/** Whether it stays. */
function cleanElement(element: Element, outer: Box, walk: Walk): boolean {
  const { tagName } = element
  if (NO_TEXT.has(tagName)) return false
  if (tagName === 'noscript') return remove(element, 'noscript', walk)
  if (tagName === 'dialog' && element.properties.open === undefined) {
    return remove(element, 'display-none', walk)
  }
  walk.line.push(element)
  const { style } = element.properties
  const inline = typeof style === 'string' ? readDeclarations(style) : []
  const styles = cascade(walk.sheet.declarationsFor(walk.line), inline)
  const box = boxOf(element, styles, outer)
  const kind = hidingKind(element, styles, box.fontPx)
  if (kind === null) cleanChildren(element, box, walk)
  walk.line.pop()
  if (kind !== null) return remove(element, kind, walk)
  if (tagName !== 'img') return true
  // The description takes the place of the picture only in what a person sees of it.
  if (!box.isVisible) return remove(element, 'visibility', walk)
  return true
}

function remove(element: Element, kind: RemovalKind, { tally }: Walk): false {
  tally.add(kind, hiddenLength(element))
  return false
}

function hiddenLength(node: Nodes): number {
  if (node.type === 'text') return visibleLength(node.value)
  if (node.type !== 'element') return 0
  if (NO_TEXT.has(node.tagName)) return 0
  if (node.tagName === 'img') {
    return typeof node.properties.alt === 'string' ? visibleLength(node.properties.alt) : 0
  }
  let length = 0
  for (const child of node.children) length += hiddenLength(child)
  return length
}

/** Without the blanks and fillers that senders pad a preview with. */
function visibleLength(text: string): number {
  return countCodePoints(text.replace(PADDING, ' ').trim())
}

const PADDING = /(?:[\s\u00ad\u200b-\u200f\u2000-\u200a\u2060-\u2064\ufeff\u00a0]|\u034f)+/g

function styleTexts(tree: Root): string[] {
  const texts: string[] = []
  const visit = (node: Parents): void => {
    for (const child of node.children) {
      if (child.type !== 'element') continue
      if (child.tagName !== 'style') visit(child)
      else for (const text of child.children) if (text.type === 'text') texts.push(text.value)
    }
  }
  visit(tree)
  return texts
}

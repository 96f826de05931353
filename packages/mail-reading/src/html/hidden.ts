// Finds the nodes of a document that a person cannot see. Evaluates the document twice: once with
// only the supported declarations, and once as if the unsupported ones applied too. Text that is
// hidden in both versions is removed. Text that is hidden in one is kept and reported as unclear.

import {
  attributeOf,
  type HtmlElement,
  type HtmlNode,
  type HtmlParent,
  isElement,
  isText,
} from '@mailroom/mail/html/tree.ts'
import { countCodePoints, type RemovalKind } from '#view/removal.ts'
import { type Box, boxOf, outermostBox } from './box.ts'
import { type ElementStyle, type Styles, styleOf } from './css-cascade.ts'
import { matchesScreen } from './css-queries.ts'
import { isOfMail, type SheetTexts, StyleSheet, sheetOfAddress } from './css-rules.ts'
import { lengthPx } from './css-values.ts'
import { collapsedColumns, drawnValue, isUndrawn, NO_TEXT, openShadowRoots } from './undrawn.ts'

/** Called before a node is removed, and before a picture loses its description. */
type OnRemoved = (kind: RemovalKind, node: HtmlNode) => void

/** Whether HTML may hide text. A negative answer is certain. */
export function mayHide(html: string): boolean {
  return MAY_HIDE.test(html)
}

const MAY_HIDE =
  /style|hidden|popover|<(?:!--|font|noscript|dialog|details|img|head|title|script|template|object|embed|applet|iframe|svg|math|canvas|audio|video|map|select|input|datalist|meter|progress|rp)|bgcolor|background|(?:text|link)\s*=/i

/**
 * Removes the nodes that a person cannot see, and the descriptions of pictures too small to see.
 * Keeps visible pictures within elements whose text is hidden, and text of the kind `unclear`.
 * Returns the number of characters of unread style sheets, which may hide more text.
 */
export function removeHidden(tree: HtmlParent, onRemoved: OnRemoved): number {
  const shadows = openShadowRoots(tree)
  const { sheets, unreadCount } = styleTexts(tree, shadows.roots)
  const sheet = new StyleSheet(sheets, tree)
  const changes: (() => void)[] = []
  const walk: Walk = { sheet, onRemoved, changes, shadows, columns: collapsedColumns(tree, sheet) }
  walkWithin(tree, { box: outermostBox(sheet.initialVariables), other: null }, walk)
  for (const change of changes) change()
  return sheet.unreadLength + unreadCount
}

type Walk = {
  readonly sheet: StyleSheet
  readonly onRemoved: OnRemoved
  /** Changes are applied after the walk, because selectors depend on the original siblings. */
  readonly changes: (() => void)[]
  readonly shadows: ReturnType<typeof openShadowRoots>
  readonly columns: ReadonlySet<HtmlElement>
}

/** The box around a node in both versions of the document. */
type Boxes = {
  readonly box: Seen
  /** The box in the second version; null if both versions agree. */
  readonly other: Seen | null
}

/** `gone` explains why the content is hidden in this version although the other one shows it. */
type Seen = Box & { readonly gone?: RemovalKind }

function walkWithin(parent: HtmlParent, boxes: Boxes, walk: Walk): void {
  const summary = isElement(parent) ? closedSummary(parent) : undefined
  const kept = parent.childNodes.filter((node) => {
    const isInClosed = summary !== undefined && node !== summary && node.nodeName !== '#comment'
    if (!isInClosed) return isKept(node, boxes, walk)
    walk.onRemoved('closed', node)
    return false
  })
  if (kept.length === parent.childNodes.length) return
  walk.changes.push(() => {
    parent.childNodes = kept
  })
}

function isKept(node: HtmlNode, boxes: Boxes, walk: Walk): boolean {
  if (isElement(node)) return isKeptElement(node, boxes, walk)
  if (node.nodeName === '#comment') walk.onRemoved('comment', node)
  if (!isText(node)) return false
  if (node.value.trim() === '') return true
  const kind = textKind(boxes.box)
  const otherKind = boxes.other === null ? kind : textKind(boxes.other)
  if (kind === null && otherKind === null) return true
  const isUnclear = kind === null || otherKind === null
  walk.onRemoved(isUnclear ? 'unclear' : kind, node)
  return isUnclear
}

function textKind({ gone, unseen }: Seen): RemovalKind | null {
  return gone ?? unseen
}

/** The visible part of closed details: null if there is none, undefined for another element. */
function closedSummary(element: HtmlElement): HtmlElement | null | undefined {
  if (element.tagName !== 'details' || attributeOf(element, 'open') !== undefined) return undefined
  return element.childNodes.filter(isElement).find(({ tagName }) => tagName === 'summary') ?? null
}

function isKeptElement(element: HtmlElement, outer: Boxes, walk: Walk): boolean {
  if (NO_TEXT.has(element.tagName)) return false
  const style = styleOf(element, walk.sheet, outer.box.variables)
  const own = judge(element, style, outer.box, walk)
  const other = otherOf(element, style, own, outer, walk)
  if (own.kind !== null && (other === null || other.kind !== null)) {
    walk.onRemoved(own.kind, element)
    return false
  }
  const boxes: Boxes = { box: goneBox(own), other: other === null ? null : goneBox(other) }
  if (element.tagName === 'img') keepPicture(element, style.styles, boxes, walk)
  const value = drawnValue(element)
  if (value !== null) keepValue(element, value, boxes, walk)
  walkWithin(element, boxes, walk)
  return true
}

/** The evaluation of an element in one version of the document. */
type Judgement = { readonly kind: RemovalKind | null; readonly box: Seen }

function goneBox({ kind, box }: Judgement): Seen {
  return kind === null ? box : { ...box, gone: kind }
}

function judge(
  element: HtmlElement,
  style: Pick<ElementStyle, 'styles' | 'variables'>,
  outer: Seen,
  walk: Walk,
): Judgement {
  const box = boxOf(element, style, outer)
  if (outer.gone !== undefined) return { kind: outer.gone, box }
  return { kind: hidingKind(element, style.styles, box, walk), box }
}

/** The element in the second version; null if both versions agree. */
function otherOf(
  element: HtmlElement,
  style: ElementStyle,
  own: Judgement,
  outer: Boxes,
  { shadows, ...walk }: Walk,
): Judgement | null {
  const isShadowed = shadows.roots.has(element) || shadows.covered.has(element)
  if (outer.other === null && style.others.length === 0 && !isShadowed && !isReplaced(element)) {
    return null
  }
  const around = outer.other ?? outer.box
  const judgeOther = (other: Pick<ElementStyle, 'styles'>) => {
    return judge(element, { ...style, ...other }, around, { shadows, ...walk })
  }
  const plain = judgeOther(style)
  if (isShadowed || isReplaced(element)) return { ...plain, kind: plain.kind ?? 'unclear' }
  const isUnseen = ({ kind, box }: Judgement) => kind !== null || textKind(box) !== null
  if (isUnseen(plain) !== isUnseen(own)) return plain
  for (const one of style.others) {
    const judged = judgeOther(one)
    const found = one.mayHide ? { ...judged, kind: judged.kind ?? ('unclear' as const) } : judged
    if (isUnseen(found) !== isUnseen(own)) return found
  }
  return outer.other === null ? null : plain
}

/** An object that loads is shown instead of its content. */
function isReplaced({ tagName, attrs }: HtmlElement): boolean {
  return (
    (tagName === 'object' && attrs.some(({ name }) => name === 'data')) ||
    // Webmail drops drawings, but some programs show them.
    tagName === 'svg'
  )
}

function hidingKind(
  element: HtmlElement,
  styles: Styles,
  { hiding }: Box,
  { columns }: Pick<Walk, 'columns'>,
): RemovalKind | null {
  const { tagName } = element
  if (tagName === 'noscript') return 'noscript'
  if (isUndrawn(element)) return 'visibility'
  if (columns.has(element)) return 'visibility'
  if (/^(?:tr|tbody|thead|tfoot)$/.test(tagName) && styles.get('visibility') === 'collapse') {
    return 'visibility'
  }
  const display = styles.get('display')
  const isOwn = display === undefined || display.startsWith('revert')
  if (!isOwn) return hiding
  if (tagName === 'dialog' && attributeOf(element, 'open') === undefined) return 'display-none'
  const isHidden = HIDING_ATTRIBUTES.some((name) => attributeOf(element, name) !== undefined)
  return isHidden ? 'hidden-attribute' : hiding
}

/** Only a script or button shows a popover, and mail has neither. */
const HIDING_ATTRIBUTES = ['hidden', 'popover']

/** The description of an invisible picture is not text of the message. */
function keepPicture(
  element: HtmlElement,
  styles: Styles,
  { box, other }: Boxes,
  walk: Walk,
): void {
  const description = element.attrs.find(({ name, value }) => name === 'alt' && value.trim() !== '')
  if (description === undefined) return
  const isUnseen = (one: Seen) => one.gone !== undefined || !one.isVisible
  const kind = !box.isVisible
    ? 'visibility'
    : isPixel(element, styles, box.fontPx)
      ? 'zero-size'
      : isUnseen(box) || (other !== null && isUnseen(other))
        ? 'unclear'
        : null
  if (kind === null) return
  walk.onRemoved(kind, element)
  if (kind !== 'unclear') description.value = ''
}

/** Pictures with sides of at most this many pixels are invisible. */
const PIXEL_MAX = 3

function isPixel(element: HtmlElement, styles: Styles, fontPx: number): boolean {
  return ['width', 'height'].some((side) => {
    const declared = styles.get(side) ?? attributeOf(element, side)?.trim()
    const length = lengthPx(declared?.toLowerCase(), fontPx)
    return length !== null && length <= PIXEL_MAX
  })
}

/** Turns the text of a form control into text of the document. */
function keepValue(element: HtmlElement, value: string, boxes: Boxes, walk: Walk): void {
  const node = { nodeName: '#text' as const, value, parentNode: element }
  if (!isKept(node, boxes, walk)) return
  walk.changes.push(() => {
    element.tagName = 'span'
    element.nodeName = 'span'
    element.childNodes = [node]
  })
}

/** The screen style sheets of a document in order. */
function styleTexts(
  tree: HtmlParent & { readonly mode?: string },
  roots: ReadonlySet<HtmlElement>,
): { sheets: SheetTexts; unreadCount: number } {
  const texts: { text: string; isUnclear: boolean }[] = []
  let hasContainers = false
  let unreadCount = 0
  const visit = (parent: HtmlParent, isInShadow: boolean): void => {
    for (const child of parent.childNodes) {
      if (!isElement(child)) continue
      hasContainers ||= CONTAINER.test(attributeOf(child, 'style') ?? '')
      if (child.tagName !== 'style' && child.tagName !== 'link') {
        visit(child, isInShadow || roots.has(child))
        continue
      }
      const holds = sheetHolds(child)
      if (holds === false) continue
      const text = sheetText(child)
      if (text === null) unreadCount += 1
      else if (text !== '') texts.push({ text, isUnclear: isInShadow || holds === null })
    }
  }
  visit(tree, false)
  hasContainers ||= texts.some(({ text }) => CONTAINER.test(text))
  return { sheets: { texts, hasContainers, isQuirky: tree.mode === 'quirks' }, unreadCount }
}

const CONTAINER = /container(?:-type)?\s*:/i

function sheetHolds(element: HtmlElement) {
  const type = attributeOf(element, 'type')?.trim().toLowerCase() ?? ''
  const isCss = type === '' || type === 'text/css'
  return isCss && matchesScreen(attributeOf(element, 'media') ?? '')
}

/** The text of a style sheet: '' if programs do not load it, null if it may be in the message. */
function sheetText(element: HtmlElement): string | null {
  if (element.tagName === 'style') {
    return element.childNodes.map((node) => (isText(node) ? node.value : '')).join('')
  }
  const words = attributeOf(element, 'rel')?.toLowerCase().split(/\s+/) ?? []
  if (!words.includes('stylesheet') || words.includes('alternate')) return ''
  const address = attributeOf(element, 'href') ?? ''
  return sheetOfAddress(address) ?? (isOfMail(address) ? null : '')
}

/** Number of visible code points in a node's text, without the fillers that pad a preview. */
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

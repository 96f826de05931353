// Elements whose content browsers never draw, or draw elsewhere, whatever their style.

import {
  attributeOf,
  type HtmlElement,
  type HtmlNode,
  type HtmlParent,
  isElement,
  wordSet,
} from '@mailroom/mail/html/tree.ts'
import { styleOf } from './css-cascade.ts'
import type { StyleSheet } from './css-rules.ts'

/** Elements whose content is not text of the message. */
export const NO_TEXT = wordSet(`
  head title style script template embed iframe canvas audio video datalist noframes noembed frameset meter progress rp
  base link meta param
`)

/** SVG and MathML elements that are descriptions, or drawn elsewhere or not at all. */
const UNDRAWN_FOREIGN = wordSet(`
  title desc metadata defs symbol clipPath mask pattern marker linearGradient radialGradient filter mphantom annotation
  annotation-xml
`)

/** Whether the element's type or position keeps it from being drawn. */
export function isUndrawn(element: HtmlElement): boolean {
  const { tagName, namespaceURI, parentNode } = element
  const parent = parentNode !== null && isElement(parentNode) ? parentNode : null
  if (!namespaceURI.endsWith('xhtml')) {
    if (UNDRAWN_FOREIGN.has(tagName)) return true
    return parent?.tagName === 'maction' && element !== parent.childNodes.find(isElement)
  }
  if (tagName === 'option' || tagName === 'optgroup') return isUnselected(element)
  return false
}

/** A closed list shows the selected option, or else its first option. */
function isUnselected(element: HtmlElement): boolean {
  let list: HtmlNode | HtmlParent | null = element.parentNode
  while (list !== null && isElement(list) && list.tagName !== 'select') list = list.parentNode
  if (list === null || !isElement(list)) return false
  const isOpen =
    attributeOf(list, 'multiple') !== undefined || Number(attributeOf(list, 'size')) > 1
  if (isOpen) return false
  const chosen = chosenOption(list)
  return element.tagName === 'option' ? element !== chosen : chosen?.parentNode !== element
}

const chosenOptions = new WeakMap<HtmlElement, HtmlElement | null>()

function chosenOption(list: HtmlElement): HtmlElement | null {
  const known = chosenOptions.get(list)
  if (known !== undefined) return known
  const options = list.childNodes
    .filter(isElement)
    .flatMap((one) => (one.tagName === 'optgroup' ? one.childNodes.filter(isElement) : [one]))
    .filter(({ tagName }) => tagName === 'option')
  const isSelected = (one: HtmlElement) => attributeOf(one, 'selected') !== undefined
  const chosen = options.findLast(isSelected) ?? options[0] ?? null
  chosenOptions.set(list, chosen)
  return chosen
}

/** The text in a form control as written; null for other elements and empty controls. */
export function drawnValue(element: HtmlElement): string | null {
  if (element.tagName !== 'input') return null
  const type = attributeOf(element, 'type')?.toLowerCase() ?? 'text'
  if (NO_VALUE.has(type)) return null
  const value = attributeOf(element, 'value') ?? attributeOf(element, 'placeholder') ?? ''
  return value.trim() === '' ? null : value
}

const NO_VALUE = wordSet('hidden checkbox radio password file image range color')

/** Declarative shadow roots (WHATWG HTML §4.12.3) of a document. */
export type ShadowRoots = {
  readonly roots: ReadonlySet<HtmlElement>
  /** Elements beside a shadow root, which browsers do not draw. */
  readonly covered: ReadonlySet<HtmlElement>
}

const NO_SHADOWS: ShadowRoots = { roots: new Set(), covered: new Set() }

/**
 * Moves the content of shadow roots, and the text beside them, into elements of the document. Some
 * programs that insert mail into a page draw the content of a root, and others the text beside it.
 */
export function openShadowRoots(tree: HtmlParent): ShadowRoots {
  const templates: HtmlElement[] = []
  const find = ({ childNodes }: HtmlParent): void => {
    for (const child of childNodes) {
      if (!isElement(child)) continue
      if (child.tagName === 'template' && isShadowRoot(child)) templates.push(child)
      else find(child)
    }
  }
  find(tree)
  if (templates.length === 0) return NO_SHADOWS
  const roots = new Set<HtmlElement>()
  const covered = new Set<HtmlElement>()
  // Only the first shadow root of an element is used.
  const hosts = new Set<HtmlParent>()
  for (const template of templates) {
    const host = template.parentNode
    const { content } = template as HtmlElement & { readonly content?: HtmlParent }
    if (host === null || content === undefined || hosts.has(host)) continue
    hosts.add(host)
    template.tagName = 'div'
    template.nodeName = 'div'
    template.childNodes = content.childNodes
    for (const child of content.childNodes) child.parentNode = template
    roots.add(template)
    if (hasSlot(template)) continue
    host.childNodes = host.childNodes.map((child) => {
      if (child === template) return child
      const element = isElement(child) ? child : wrapped(child, template)
      covered.add(element)
      return element
    })
  }
  return { roots, covered }
}

function isShadowRoot(element: HtmlElement): boolean {
  return /^(?:open|closed)$/i.test(attributeOf(element, 'shadowrootmode') ?? '')
}

function hasSlot({ childNodes }: HtmlParent): boolean {
  return childNodes.some(
    (child) => isElement(child) && (child.tagName === 'slot' || hasSlot(child)),
  )
}

function wrapped(child: HtmlNode, like: HtmlElement): HtmlElement {
  const element: HtmlElement = {
    nodeName: 'span',
    tagName: 'span',
    attrs: [],
    namespaceURI: like.namespaceURI,
    parentNode: like.parentNode,
    childNodes: [child],
  }
  child.parentNode = element
  return element
}

const COLUMNS_MAX = 1_000

/** The cells of columns that `visibility: collapse` removes (CSS 2 §17.5.5). */
export function collapsedColumns(tree: HtmlParent, sheet: StyleSheet): ReadonlySet<HtmlElement> {
  const cells = new Set<HtmlElement>()
  const visit = (parent: HtmlParent): void => {
    for (const child of parent.childNodes) {
      if (!isElement(child)) continue
      if (child.tagName === 'table') {
        const columns = columnsOf(child, sheet)
        if (columns.size > 0) addCells(child, columns, cells)
      }
      visit(child)
    }
  }
  visit(tree)
  return cells
}

/** Indexes of the collapsed columns, starting at 0. */
function columnsOf(table: HtmlElement, sheet: StyleSheet): ReadonlySet<number> {
  const collapsed = new Set<number>()
  let place = 0
  const isCollapsed = (one: HtmlElement) =>
    styleOf(one, sheet, NO_VARIABLES).styles.get('visibility') === 'collapse'
  const add = (one: HtmlElement, isAll: boolean): void => {
    const span = spanOf(one, 'span')
    const isOwn = isAll || isCollapsed(one)
    for (let end = place + span; place < end; place++) if (isOwn) collapsed.add(place)
  }
  for (const child of table.childNodes) {
    if (!isElement(child) || place >= COLUMNS_MAX) continue
    if (child.tagName === 'col') add(child, false)
    if (child.tagName !== 'colgroup') continue
    const columns = child.childNodes.filter(isElement).filter(({ tagName }) => tagName === 'col')
    const isAll = isCollapsed(child)
    if (columns.length === 0) add(child, isAll)
    for (const column of columns) add(column, isAll)
  }
  return collapsed
}

const NO_VARIABLES = new Map<string, string>()

function spanOf(element: HtmlElement, name: string): number {
  const span = Number.parseInt(attributeOf(element, name) ?? '1', 10)
  return span >= 1 && span <= COLUMNS_MAX ? span : 1
}

function addCells(table: HtmlElement, columns: ReadonlySet<number>, cells: Set<HtmlElement>): void {
  /** Number of further rows that spanning cells occupy, by column. */
  const taken: number[] = []
  for (const row of rowsOf(table)) {
    let place = 0
    const isFree = () => (taken[place] ?? 0) === 0
    for (const cell of row.childNodes) {
      if (!isElement(cell) || !/^t[dh]$/.test(cell.tagName)) continue
      while (place < COLUMNS_MAX && !isFree()) place += 1
      if (place >= COLUMNS_MAX) break
      if (columns.has(place)) cells.add(cell)
      const rows = spanOf(cell, 'rowspan')
      const end = Math.min(COLUMNS_MAX, place + spanOf(cell, 'colspan'))
      for (; place < end; place++) taken[place] = rows
    }
    for (const [at, rows] of taken.entries()) taken[at] = Math.max(0, (rows ?? 0) - 1)
  }
}

function rowsOf(table: HtmlElement): HtmlElement[] {
  const children = table.childNodes.filter(isElement)
  return children.flatMap((child) => {
    if (child.tagName === 'tr') return [child]
    if (!/^(?:tbody|thead|tfoot)$/.test(child.tagName)) return []
    return child.childNodes.filter(isElement).filter(({ tagName }) => tagName === 'tr')
  })
}

import {
  attributeOf,
  type HtmlElement,
  type HtmlNode,
  type HtmlParent,
  isElement,
  isText,
  wordSet,
} from '@mailroom/mail/html/tree.ts'
import { countCodePoints, type RemovalKind } from '#view/removal.ts'
import {
  BLACK,
  blend,
  type Colour,
  isAlike,
  isTransparent,
  LINK_BLUE,
  readAttributeColour,
  readColour,
  splitTop,
  WHITE,
} from './css-colours.ts'
import { matchesScreen } from './css-queries.ts'
import { type Declaration, readDeclarations, StyleSheet, sheetOfAddress } from './css-rules.ts'
import { type Placement, placementOf, UNMOVED } from './css-transforms.ts'
import { lengthPx, WIDE_KEYWORD } from './css-values.ts'

/** Elements whose content nobody reads as text of the mail. */
const NO_TEXT = wordSet(`
  head title style script template object embed applet iframe svg math canvas audio video map datalist
  noframes noembed frameset select meter progress rp base link meta param
`)

/** Called with each node before it is removed, and with each picture before it loses its description. */
type OnRemoved = (kind: RemovalKind, node: HtmlNode) => void

/** Whether HTML has a word without which it hides no text; `false` is certain. */
export function mayHide(html: string): boolean {
  return MAY_HIDE.test(html)
}

const MAY_HIDE =
  /style|hidden|popover|<(?:!--|font|noscript|dialog|details|img|head|title|script|template|object|embed|applet|iframe|svg|math|canvas|audio|video|map|select|datalist|meter|progress|rp)|bgcolor|background|text\s*=/i

/**
 * Removes from the tree of a document the nodes that a person does not see, and the descriptions of pictures too small
 * to be seen. A visible picture within an element whose text is unseen stays. Returns the number of characters of
 * style sheets that were not read, and may hide more.
 */
export function removeHidden(tree: HtmlParent, onRemoved: OnRemoved): number {
  const { texts, hasContainers } = styleTexts(tree)
  const sheet = new StyleSheet(texts, tree, hasContainers)
  const walk: Walk = { sheet, onRemoved, kept: [] }
  walkWithin(tree, OUTERMOST_BOX, walk)
  for (const [parent, nodes] of walk.kept) parent.childNodes = nodes
  return sheet.unreadLength
}

type Walk = {
  readonly sheet: StyleSheet
  readonly onRemoved: OnRemoved
  /** The children that parents keep, for after the walk: selectors ask for the siblings that the document has. */
  readonly kept: [HtmlParent, HtmlParent['childNodes']][]
}

function walkWithin(parent: HtmlParent, box: Box, walk: Walk): void {
  const summary = isElement(parent) ? closedSummary(parent) : undefined
  const kept = parent.childNodes.filter((node) => {
    const isInClosed = summary !== undefined && node !== summary && node.nodeName !== '#comment'
    if (!isInClosed) return isKept(node, box, walk)
    walk.onRemoved('closed', node)
    return false
  })
  if (kept.length < parent.childNodes.length) walk.kept.push([parent, kept])
}

function isKept(node: HtmlNode, box: Box, walk: Walk): boolean {
  if (isElement(node)) return isKeptElement(node, box, walk)
  if (isText(node)) {
    if (box.unseen === null || node.value.trim() === '') return true
    walk.onRemoved(box.unseen, node)
  } else if (node.nodeName === '#comment') walk.onRemoved('comment', node)
  return false
}

/** Of closed details what is shown, null for nothing; undefined for any other element. */
function closedSummary(element: HtmlElement): HtmlElement | null | undefined {
  if (element.tagName !== 'details' || attributeOf(element, 'open') !== undefined) return undefined
  return element.childNodes.filter(isElement).find(({ tagName }) => tagName === 'summary') ?? null
}

function isKeptElement(element: HtmlElement, outer: Box, walk: Walk): boolean {
  const { tagName } = element
  if (NO_TEXT.has(tagName)) return false
  const kind = removalKindOf(element, outer, walk)
  if (kind !== null) walk.onRemoved(kind, element)
  return kind === null
}

function removalKindOf(element: HtmlElement, outer: Box, walk: Walk): RemovalKind | null {
  const { tagName } = element
  if (tagName === 'noscript') return 'noscript'
  if (tagName === 'dialog' && attributeOf(element, 'open') === undefined) return 'display-none'
  const styles = stylesOf(element, walk.sheet)
  const box = boxOf(element, styles, outer)
  const kind = hidingKind(element, styles, box)
  if (kind !== null) return kind
  if (tagName === 'img') {
    // The description of a picture that is not seen is no text of the mail.
    if (!box.isVisible) return 'visibility'
    const description = isPixel(element, styles, box.fontPx) ? descriptionOf(element) : undefined
    if (description !== undefined) {
      walk.onRemoved('zero-size', element)
      description.value = ''
    }
  }
  walkWithin(element, box, walk)
  return null
}

/** Pixels of a side that show nothing of a description. */
const PIXEL_MAX = 3

function isPixel(element: HtmlElement, styles: Styles, fontPx: number): boolean {
  return ['width', 'height'].some((side) => {
    const declared = styles.get(side) ?? attributeOf(element, side)?.trim()
    const length = lengthPx(declared?.toLowerCase(), fontPx)
    return length !== null && length <= PIXEL_MAX
  })
}

function descriptionOf({ attrs }: HtmlElement): { value: string } | undefined {
  return attrs.find(({ name, value }) => name === 'alt' && value.trim() !== '')
}

type StyleTexts = { readonly texts: readonly string[]; readonly hasContainers: boolean }

/** The sheets of a document for a screen, in order. */
function styleTexts(tree: HtmlParent): StyleTexts {
  const texts: string[] = []
  let hasContainers = false
  const visit = (parent: HtmlParent): void => {
    for (const child of parent.childNodes) {
      if (!isElement(child)) continue
      hasContainers ||= CONTAINER.test(attributeOf(child, 'style') ?? '')
      if (child.tagName !== 'style' && child.tagName !== 'link') visit(child)
      else if (isSheet(child)) texts.push(...sheetTexts(child))
    }
  }
  visit(tree)
  return { texts, hasContainers: hasContainers || texts.some((text) => CONTAINER.test(text)) }
}

const CONTAINER = /container(?:-type)?\s*:/i

function isSheet(element: HtmlElement): boolean {
  const type = attributeOf(element, 'type')?.trim().toLowerCase() ?? ''
  const isCss = type === '' || type === 'text/css'
  return isCss && matchesScreen(attributeOf(element, 'media') ?? '')
}

function sheetTexts(element: HtmlElement): string[] {
  if (element.tagName === 'style') {
    return element.childNodes.flatMap((node) => (isText(node) ? [node.value] : []))
  }
  const words = attributeOf(element, 'rel')?.toLowerCase().split(/\s+/) ?? []
  if (!words.includes('stylesheet') || words.includes('alternate')) return []
  const text = sheetOfAddress(attributeOf(element, 'href') ?? '')
  return text === null ? [] : [text]
}

/** Code points of a node's text for a reader, without the fillers that pad a preview. */
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

/** The computed style of an element's text, which its children inherit. */
type Box = TextStyle & {
  /** Why everything within is unseen, whatever it declares, or null. */
  readonly hiding: RemovalKind | null
  /** Why text that stands in the box itself is unseen, or null. */
  readonly unseen: RemovalKind | null
}

type TextStyle = {
  /** Null where it is not known. */
  readonly colour: Colour | null
  /** The fill of letters; undefined where it is the colour, null where it is not known. */
  readonly fill: Colour | null | undefined
  /** Those that may stand behind the text: several on a gradient; null on a picture. */
  readonly backgrounds: readonly Colour[] | null
  readonly fontPx: number
  /** Pixels of the screen that a pixel of the font takes. */
  readonly scale: number
  readonly opacity: number
  readonly isVisible: boolean
  readonly isIndentedAway: boolean
  /** Whether the letters stand on one another. */
  readonly isSqueezed: boolean
}

const OUTERMOST_BOX: Box = {
  colour: BLACK,
  fill: undefined,
  backgrounds: [WHITE],
  fontPx: 16,
  scale: 1,
  opacity: 1,
  isVisible: true,
  isIndentedAway: false,
  isSqueezed: false,
  hiding: null,
  unseen: null,
}

type Styles = ReadonlyMap<string, string>

/** In the order of the cascade: rules, the style attribute, important declarations of either. */
function cascade(rules: readonly Declaration[], inline: readonly Declaration[]): Styles {
  const styles = new Map<string, string>()
  for (const isImportant of [false, true]) {
    for (const declaration of [...rules, ...inline]) {
      if (declaration.isImportant === isImportant) put(styles, declaration)
    }
  }
  return styles
}

/** A style attribute by itself. */
type OwnStyle = { readonly declarations: readonly Declaration[]; readonly styles: Styles }

const NO_STYLE: OwnStyle = { declarations: [], styles: new Map() }
/** Mail repeats its style attributes, within a message and from one to the next. */
const known = new Map<string, OwnStyle>()
/** Characters of all styles that are kept, and of one. */
const KNOWN_LENGTH_MAX = 256 * 1024
const STYLE_LENGTH_MAX = 2_000
let knownLength = 0

/** The declared styles of an element, from the rules and its style attribute. */
function stylesOf(element: HtmlElement, sheet: StyleSheet): Styles {
  const rules = sheet.declarationsFor(element)
  const own = ownStyle(attributeOf(element, 'style') ?? '')
  return rules.length === 0 ? own.styles : cascade(rules, own.declarations)
}

function ownStyle(style: string): OwnStyle {
  if (style === '') return NO_STYLE
  const before = known.get(style)
  if (before !== undefined) return before
  const declarations = readDeclarations(style)
  const own = { declarations, styles: cascade([], declarations) }
  if (style.length > STYLE_LENGTH_MAX) return own
  knownLength += style.length
  if (knownLength > KNOWN_LENGTH_MAX) {
    known.clear()
    knownLength = style.length
  }
  // A copy: a slice would keep the whole HTML in memory.
  known.set(Buffer.from(style).toString(), own)
  return own
}

/** A shorthand replaces the properties that it stands for. */
function put(styles: Map<string, string>, { property, value }: Declaration): void {
  if (property === 'all') {
    styles.clear()
    for (const inherited of INHERITED) styles.set(inherited, value)
  } else if (WIDE_KEYWORD.test(value)) {
    for (const one of SUMMED_UP[property] ?? [property]) styles.set(one, value)
  } else if (property === 'background') {
    const layers = splitTop(value)
    const colour = colourIn(layers.at(-1)?.replace(GRADIENT, ' ') ?? '')
    styles.set('background-color', colour ?? 'transparent')
    styles.set('background-image', isPicture(value) ? value : 'none')
    styles.set('background-size', /\/\s*(\S+(?:\s+[\d.]\S*)?)/.exec(value)?.[1] ?? 'auto')
    styles.set('background-clip', /(?:^|\s)text(?:\s|$)/.test(value) ? 'text' : 'border-box')
  } else if (property === 'mask') {
    styles.set('mask-image', isPicture(value) ? value : 'none')
    styles.set('mask-size', /\/\s*(\S+(?:\s+[\d.]\S*)?)/.exec(value)?.[1] ?? 'auto')
  } else if (property in FLOW_SIDES) {
    const [start = '', end = start] = value.split(/\s+(?![^()]*\))/)
    for (const [index, side] of (FLOW_SIDES[property] ?? []).entries()) {
      styles.set(side, index === 0 ? start : end)
    }
  } else if (property === 'font') {
    styles.set('font-size', FONT_SIZE.exec(value)?.[1] ?? 'medium')
  } else if (property === 'overflow' || property === 'margin' || property === 'inset') {
    const [top = '', right = top, bottom = top, left = right] = value.split(/\s+(?![^()]*\))/)
    const sides = { top, right, bottom, left, x: top, y: right }
    for (const one of SUMMED_UP[property] ?? []) {
      styles.set(one, sides[one.replace(/^.*-/, '') as keyof typeof sides])
    }
  } else {
    styles.set(property, value)
  }
}

/** The sides at the start and, where it counts, at the end. */
const FLOW_SIDES: Readonly<Record<string, readonly string[]>> = {
  'inset-inline': ['left', 'right'],
  'inset-block': ['top', 'bottom'],
  'margin-inline': ['margin-left'],
  'margin-block': ['margin-top'],
}
const SUMMED_UP: Readonly<Record<string, readonly string[]>> = {
  ...FLOW_SIDES,
  background: ['background-color', 'background-image', 'background-size', 'background-clip'],
  mask: ['mask-image', 'mask-size'],
  font: ['font-size'],
  overflow: ['overflow-x', 'overflow-y'],
  margin: ['margin-top', 'margin-left'],
  inset: ['top', 'right', 'bottom', 'left'],
}
const INHERITED =
  'visibility font-size color -webkit-text-fill-color text-indent letter-spacing font-size-adjust'.split(
    ' ',
  )

/** The first length of a valid `font`, or a word for one: weights and angles stand before it. */
const FONT_SIZE =
  /(?:^|\s)(0|[+-]?[\d.]+(?:e[+-]?\d+)?(?!deg|grad|rad|turn)(?:[a-z]+|%)|(?:calc|min|max|clamp)\(.*\)|(?:xx?x?-)?(?:small|large)|medium|smaller|larger)(?:\s|\/)/

/** A gradient, with the functions in it. */
const GRADIENT = /[a-z-]*gradient\((?:[^()]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))*\)/g
const COLOURS =
  /#[0-9a-f]{3,8}\b|(?:color-mix|light-dark)\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)|(?:rgb|hsl|hwb|lab|lch|oklab|oklch|color)a?\([^()]*\)|[a-z]+/g

function colourIn(value: string): string | null {
  return coloursIn(value).find((word) => readColour(word) !== null) ?? null
}

/** The words that are colours, and others. */
function coloursIn(value: string): readonly string[] {
  return value.replace(/url\([^)]*\)|"[^"]*"|'[^']*'/g, ' ').match(COLOURS) ?? []
}

/** The colours of a gradient in order; null where they are not known. */
function stopsOf(layer: string): readonly Colour[] | null {
  if (!layer.includes('gradient(') || /url\(|image-set\(|currentcolor|var\(/.test(layer))
    return null
  const [, inner = ''] = /gradient\((.*)\)/s.exec(layer) ?? []
  const stops: Colour[] = []
  for (const part of splitTop(inner)) {
    const words = coloursIn(part.replace(/^from\s.*$|^in\s.*$/, ' '))
    const colour = words.map(readColour).find((one) => one !== null)
    if (colour != null) stops.push(colour)
    else if (words.some((word) => word.includes('('))) return null
  }
  return stops.length === 0 ? null : stops
}

function isPicture(value: string): boolean {
  return value.includes('url(') || value.includes('gradient(') || value.includes('image-set(')
}

/** Why everything within the element is unseen, whatever its children declare; or null. */
function hidingKind(element: HtmlElement, styles: Styles, { hiding }: Box): RemovalKind | null {
  const display = styles.get('display')
  const isOwn = display === undefined || display.startsWith('revert')
  const isHidden =
    isOwn && HIDING_ATTRIBUTES.some((name) => attributeOf(element, name) !== undefined)
  return isHidden ? 'hidden-attribute' : hiding
}

function hidingOf(styles: Styles, { fontPx, scale, opacity }: TextStyle): RemovalKind | null {
  if (styles.get('display') === 'none') return 'display-none'
  if (styles.get('mso-hide') === 'all') return 'mso-hide'
  if (styles.get('content-visibility') === 'hidden') return 'visibility'
  if (opacity < OPACITY_MIN) return 'opacity'
  if (isBlurred(styles, fontPx)) return 'blurred'
  if (isClipped(styles, fontPx)) return 'clipped'
  if (isMasked(styles)) return 'clipped'
  if (scale < SCALE_MIN || hasNoSize(styles, fontPx)) return 'zero-size'
  return isAway(styles, fontPx) ? 'off-screen' : null
}

/** A popover is shown by a script or a button, which mail has not. */
const HIDING_ATTRIBUTES = ['hidden', 'popover']
const OPACITY_MIN = 0.05
/** The largest letters become smaller than a pixel. */
const SCALE_MIN = 0.06

function opacityOf(styles: Styles): number {
  const filtered = /opacity\(([^)]*)\)/.exec(styles.get('filter') ?? '')?.[1]
  const shares = [styles.get('opacity'), filtered].map((one) => lengthPx(one?.trim(), 0, 1) ?? 1)
  return shares.reduce((product, share) => product * Math.min(1, Math.max(0, share)), 1)
}

function isBlurred(styles: Styles, fontPx: number): boolean {
  const radius = /blur\(([^)]*)\)/.exec(styles.get('filter') ?? '')?.[1]
  return (lengthPx(radius?.trim(), fontPx) ?? 0) >= fontPx / 2 + 1
}

function isClipped(styles: Styles, fontPx: number): boolean {
  const clip = styles.get('clip') ?? ''
  if (/^rect\(/.test(clip)) {
    const [top = 0, right = 0, bottom = 0, left = 0] = (clip.match(/-?[\d.]+/g) ?? []).map(Number)
    const isOut = /absolute|fixed/.test(styles.get('position') ?? '')
    if (isOut && !clip.includes('auto') && (bottom - top <= 1 || right - left <= 1)) return true
  }
  const [, shape = '', list = ''] =
    /(inset|xywh|rect|circle|ellipse|polygon)\((.*)\)/s.exec(styles.get('clip-path') ?? '') ?? []
  return shape !== '' && isEmptyShape(shape, list, fontPx)
}

/** What a clip leaves is at most so large, in pixels or in thousandths of the box. */
const SHAPE_MAX = 10
const SHAPE_WHOLE = 1_000

/** CSS Shapes 1 §3.1, of a box whose size is not known. */
function isEmptyShape(shape: string, list: string, fontPx: number): boolean {
  const lengthsOf = (text: string) =>
    (text.trim().match(/(?:[a-z]+\([^()]*\)|[^\s,()]+)/g) ?? []).map((one) =>
      lengthPx(one, fontPx, SHAPE_WHOLE),
    )
  const plain = list.replace(/\s(?:round|at)\s.*$|^(?:round|at)\s.*$/s, '')
  if (shape === 'polygon') return areaOf(splitTop(plain).map(lengthsOf)) <= SHAPE_MAX
  const lengths = lengthsOf(plain)
  const [first = null, second = first, third = first, fourth = second] = lengths
  const isAll = (one: number | null, other: number | null) =>
    (one ?? 0) + (other ?? 0) >= (plain.includes('%') ? SHAPE_WHOLE - SHAPE_MAX : AWAY_PX)
  const isNothing = (one: number | null) => one !== null && one <= 1
  switch (shape) {
    case 'inset':
      return isAll(first, third) || isAll(second, fourth)
    case 'xywh':
      return isNothing(third) || isNothing(fourth)
    case 'rect': {
      const [top = 0, right = null, bottom = null, left = 0] = lengths
      return isNothing(bottom && bottom - (top ?? 0)) || isNothing(right && right - (left ?? 0))
    }
    default:
      return lengths.length > 0 && lengths.some(isNothing)
  }
}

function areaOf(points: readonly (readonly (number | null)[])[]): number {
  let area = 0
  for (const [index, [x = 0, y = 0]] of points.entries()) {
    const [nextX = 0, nextY = 0] = points[(index + 1) % points.length] ?? []
    area += (x ?? 0) * (nextY ?? 0) - (nextX ?? 0) * (y ?? 0)
  }
  return Math.abs(area / 2)
}

/** Whether a mask of gradients lets nothing through; what a picture lets through is not known. */
function isMasked(styles: Styles): boolean {
  const image = styles.get('mask-image') ?? 'none'
  if (!isPicture(image)) return false
  if (isNoSize(styles.get('mask-size'))) return true
  return splitTop(image).every((layer) => stopsOf(layer)?.every(({ alpha }) => alpha < OPACITY_MIN))
}

function isNoSize(size: string | undefined): boolean {
  const lengths = (size ?? 'auto').split(/[\s,]+/).map((one) => lengthPx(one, 16))
  return lengths.some((length) => length !== null && length <= 0)
}

/** Whether the box has no room for a letter and lets nothing overflow. */
function hasNoSize(styles: Styles, fontPx: number): boolean {
  const isAtMost = (property: string, px: number) => {
    const length = lengthPx(styles.get(property), fontPx)
    return length !== null && length <= px
  }
  const isLow = (px: number) => isAtMost('height', px) || isAtMost('max-height', px)
  const isNarrow = (px: number) => isAtMost('width', px) || isAtMost('max-width', px)
  const hides = (axis: string) =>
    /^(?:hidden|clip|scroll|auto)/.test(styles.get(`overflow-${axis}`) ?? '')
  if (isLow(1) && isNarrow(1) && !/^inline/.test(styles.get('display') ?? '')) return true
  // A quarter of a letter says nothing.
  const little = Math.max(1, fontPx / 4)
  const hasNoLines = isAtMost('line-height', 0) && !styles.has('height')
  return (hides('y') && (isLow(little) || hasNoLines)) || (hides('x') && isNarrow(little))
}

/** More than the width of any box of a mail. */
const AWAY_PX = 500

function isAway(styles: Styles, fontPx: number): boolean {
  const length = (property: string) => lengthPx(styles.get(property), fontPx) ?? 0
  if (length('margin-left') <= -AWAY_PX || length('margin-top') <= -AWAY_PX) return true
  const isPlaced = /absolute|fixed|relative|sticky/.test(styles.get('position') ?? '')
  const { xPx, yPx } = movementOf(styles, fontPx)
  if (xPx !== 0 || yPx !== 0) {
    const [left, top] = isPlaced ? [length('left'), length('top')] : [0, 0]
    if (left + xPx <= -AWAY_PX || top + yPx <= -AWAY_PX || left + xPx >= FAR_PX) return true
  }
  if (!isPlaced) return false
  if (['left', 'top', 'right', 'bottom'].some((side) => length(side) <= -AWAY_PX)) return true
  return Math.abs(length('left')) >= FAR_PX || Math.abs(length('right')) >= FAR_PX
}

/** Text to the right or below can be scrolled to, unless it is this far away. */
const FAR_PX = 3_000

const TRANSFORMS = ['translate', 'rotate', 'scale', 'transform'] as const

function movementOf(styles: Styles, fontPx: number): Placement {
  if (!TRANSFORMS.some((property) => styles.has(property))) return UNMOVED
  const [translate, rotate, scale, transform] = TRANSFORMS.map((property) => {
    const value = styles.get(property)
    return value === 'none' || (value !== undefined && WIDE_KEYWORD.test(value)) ? undefined : value
  })
  return placementOf({ translate, rotate, scale, transform }, fontPx)
}

/** By how much an element makes its text smaller; 0 for one that shows its back, which is not visible. */
function shrinkOf(styles: Styles, fontPx: number): number {
  const { scale, isTurned } = movementOf(styles, fontPx)
  if (isTurned && styles.get('backface-visibility') === 'hidden') return 0
  const zoom = styles.get('zoom')
  return scale * (lengthPx(zoom, fontPx, 1) ?? 1)
}

/** The box of an element within `outer`. */
function boxOf(element: HtmlElement, styles: Styles, outer: Box): Box {
  if (mayHaveOwnBox(element)) return makeBox(element, styles, outer)
  if (styles.size === 0) return outer
  const before = lastBoxes.get(styles)
  if (before?.outer === outer) return before.box
  const box = makeBox(element, styles, outer)
  lastBoxes.set(styles, { outer, box })
  return box
}

/** Mail gives siblings the same style. */
const lastBoxes = new WeakMap<Styles, { readonly outer: Box; readonly box: Box }>()

function makeBox(element: HtmlElement, styles: Styles, outer: Box): Box {
  const visibility = styles.get('visibility')
  const fontPx = fontOf(element, styles, outer.fontPx)
  const textIndent = styles.get('text-indent')
  const indent = lengthPx(textIndent?.replace(/\s*hanging\s*/, ''), fontPx)
  const spacing = styles.get('letter-spacing')
  const own: TextStyle = {
    colour: colourOf(element, styles, outer.colour),
    fill: fillOf(styles.get('-webkit-text-fill-color'), outer.fill),
    backgrounds: backgroundsOf(element, styles, outer.backgrounds),
    fontPx,
    scale: outer.scale * shrinkOf(styles, fontPx),
    opacity: outer.opacity * opacityOf(styles),
    isVisible: isInherited(visibility)
      ? outer.isVisible
      : visibility !== 'hidden' && visibility !== 'collapse',
    isIndentedAway: isInherited(textIndent)
      ? outer.isIndentedAway
      : Math.abs(indent ?? 0) >= AWAY_PX,
    isSqueezed: isInherited(spacing)
      ? outer.isSqueezed
      : (lengthPx(spacing, fontPx) ?? 0) <= -0.9 * fontPx && fontPx > TINY_PX,
  }
  const text = styles.get('background-clip') === 'text' ? filledBy(own, outer) : own
  return { ...text, hiding: hidingOf(styles, text), unseen: unseenKind(text) }
}

/** The background fills the letters instead of the box. */
function filledBy(box: TextStyle, { backgrounds }: Box): TextStyle {
  const fill = box.fill === undefined ? box.colour : box.fill
  if (fill === null || !isTransparent(fill)) return { ...box, backgrounds }
  const [first = null] = box.backgrounds ?? []
  const isOne = first !== null && box.backgrounds?.every((one) => isAlike(one, first))
  const colour = isOne ? first : null
  return { ...box, backgrounds, colour, fill: undefined }
}

/** Whether an element without declared styles may differ from its parent. */
function mayHaveOwnBox({ tagName, attrs }: HtmlElement): boolean {
  if (tagName === 'a' || tagName === 'font' || tagName === 'body') return true
  return attrs.some(({ name }) => name === 'bgcolor' || name === 'background')
}

/** Whether a property that inherits by default takes the value of the parent. */
function isInherited(value: string | undefined): boolean {
  return value === undefined || (WIDE_KEYWORD.test(value) && value !== 'initial')
}

function fontOf(element: HtmlElement, styles: Styles, outerPx: number): number {
  const size = styles.get('font-size')
  if (Number(styles.get('font-size-adjust')) === 0) return 0
  if (size !== undefined) return lengthPx(size, outerPx, outerPx) ?? wordSize(size, outerPx)
  return element.tagName === 'font' && attributeOf(element, 'size') !== undefined ? 16 : outerPx
}

function wordSize(word: string, outerPx: number): number {
  if (word === 'smaller' || word === 'larger') return Math.max(outerPx, 10)
  return /small|medium|large|initial/.test(word) ? 16 : outerPx
}

function colourOf(element: HtmlElement, styles: Styles, outer: Colour | null): Colour | null {
  const declared = styles.get('color')
  if (declared === 'initial') return BLACK
  if (declared === 'currentcolor') return outer
  if (declared !== undefined) return isInherited(declared) ? outer : readColour(declared)
  const { tagName } = element
  const name = tagName === 'font' ? 'color' : tagName === 'body' ? 'text' : null
  const attribute = name === null ? undefined : attributeOf(element, name)
  if (attribute !== undefined) return readAttributeColour(attribute)
  return tagName === 'a' && attributeOf(element, 'href') !== undefined ? LINK_BLUE : outer
}

function fillOf(declared: string | undefined, outer: Box['fill']): Box['fill'] {
  if (declared === undefined || isInherited(declared)) return outer
  return declared === 'initial' || declared === 'currentcolor' ? undefined : readColour(declared)
}

function backgroundsOf(
  element: HtmlElement,
  styles: Styles,
  outer: Box['backgrounds'],
): Box['backgrounds'] {
  const under = plainBackgroundsOf(element, styles, outer)
  const image = styles.get('background-image')
  if (image === undefined) {
    return attributeOf(element, 'background') === undefined ? under : null
  }
  if (!isPicture(image) || isNoSize(styles.get('background-size'))) return under
  return layered(image, under)
}

/** The colours of the gradients that are seen, with those below where they let them through. */
function layered(image: string, under: Box['backgrounds']): Box['backgrounds'] {
  const seen: Colour[] = []
  for (const layer of splitTop(image).slice(0, LAYERS_MAX)) {
    if (layer === 'none') continue
    const stops = stopsOf(layer)
    if (stops === null || under === null) return null
    for (const stop of stops)
      seen.push(...under.slice(0, LAYERS_MAX).map((one) => blend(stop, one)))
    if (stops.every(({ alpha }) => alpha >= 0.9)) return seen
    if (seen.length > STOPS_MAX) return null
  }
  return [...seen, ...(under ?? [])]
}

const LAYERS_MAX = 10
const STOPS_MAX = 100

function plainBackgroundsOf(
  element: HtmlElement,
  styles: Styles,
  outer: Box['backgrounds'],
): Box['backgrounds'] {
  const declared = styles.get('background-color')
  const bgColor = attributeOf(element, 'bgcolor')
  const own =
    declared !== undefined
      ? readColour(declared)
      : bgColor !== undefined
        ? readAttributeColour(bgColor)
        : null
  if (own === null) {
    const isPlain = declared === undefined || WIDE_KEYWORD.test(declared)
    return isPlain ? outer : null
  }
  if (own.alpha >= 1 || outer === null) return own.alpha >= 0.9 ? [own] : outer
  return outer.map((one) => blend(own, one))
}

function unseenKind(box: TextStyle): RemovalKind | null {
  const { backgrounds } = box
  const colour = box.fill === undefined ? box.colour : box.fill
  if (!box.isVisible) return 'visibility'
  if (box.fontPx * box.scale <= TINY_PX) return 'tiny-font'
  if (box.isIndentedAway) return 'off-screen'
  if (box.isSqueezed) return 'zero-size'
  if (colour === null) return null
  if (isTransparent(colour)) return 'transparent'
  if (backgrounds === null) return null
  const isUnseen = backgrounds.every((one) =>
    isAlike(colour.alpha < 1 ? blend(colour, one) : colour, one),
  )
  return isUnseen ? 'same-colour' : null
}

const TINY_PX = 2

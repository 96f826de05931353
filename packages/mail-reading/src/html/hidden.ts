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
import { type Declaration, readDeclarations, StyleSheet } from './css-rules.ts'
import {
  BLACK,
  blend,
  type Colour,
  isAlike,
  isTransparent,
  LINK_BLUE,
  lengthPx,
  readAttributeColour,
  readColour,
  WHITE,
  WIDE_KEYWORD,
} from './css-values.ts'

/** Elements whose content nobody reads as text of the mail. */
const NO_TEXT = wordSet(`
  head title style script template object embed applet iframe svg math canvas audio video map datalist
  noframes noembed frameset select meter progress rp base link meta param
`)

/** Called with each node before it is removed. */
type OnRemoved = (kind: RemovalKind, node: HtmlNode) => void

/**
 * Removes from the tree of a document the nodes that a person does not see. A visible picture within an element
 * whose text is unseen stays.
 */
export function removeHidden(tree: HtmlParent, onRemoved: OnRemoved): void {
  removeWithin(tree, OUTERMOST_BOX, { sheet: new StyleSheet(styleTexts(tree)), onRemoved })
}

type Walk = { readonly sheet: StyleSheet; readonly onRemoved: OnRemoved }

function removeWithin(parent: HtmlParent, box: Box, walk: Walk): void {
  const unseen = unseenKind(box)
  parent.childNodes = parent.childNodes.filter((node) => {
    if (isText(node)) {
      if (unseen === null || node.value.trim() === '') return true
      walk.onRemoved(unseen, node)
      return false
    }
    if (isElement(node)) return isKept(node, box, walk)
    if (node.nodeName === '#comment') walk.onRemoved('comment', node)
    return false
  })
}

function isKept(element: HtmlElement, outer: Box, walk: Walk): boolean {
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
  const kind = hidingKind(element, styles, box.fontPx)
  if (kind !== null) return kind
  // The description of a picture that is not seen is no text of the mail.
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
type Box = {
  /** Null where it is not known. */
  readonly colour: Colour | null
  /** The fill of letters; undefined where it is the colour, null where it is not known. */
  readonly fill: Colour | null | undefined
  /** Null on a picture. */
  readonly background: Colour | null
  readonly fontPx: number
  readonly isVisible: boolean
  readonly isIndentedAway: boolean
}

const OUTERMOST_BOX: Box = {
  colour: BLACK,
  fill: undefined,
  background: WHITE,
  fontPx: 16,
  isVisible: true,
  isIndentedAway: false,
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
const KNOWN_MAX = 2_000
const KNOWN_LENGTH_MAX = 300

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
  if (style.length > KNOWN_LENGTH_MAX) return own
  if (known.size >= KNOWN_MAX) known.clear()
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
    const colour = colourIn(value)
    styles.set('background-color', colour ?? 'transparent')
    styles.set('background-image', isPicture(value) ? 'picture' : 'none')
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

const SUMMED_UP: Readonly<Record<string, readonly string[]>> = {
  background: ['background-color', 'background-image'],
  font: ['font-size'],
  overflow: ['overflow-x', 'overflow-y'],
  margin: ['margin-top', 'margin-left'],
  inset: ['top', 'right', 'bottom', 'left'],
}
const INHERITED = ['visibility', 'font-size', 'color', '-webkit-text-fill-color', 'text-indent']

/** The first length of a valid `font`, or a word for one: weights and angles stand before it. */
const FONT_SIZE =
  /(?:^|\s)(0|[+-]?[\d.]+(?:e[+-]?\d+)?(?!deg|grad|rad|turn)(?:[a-z]+|%)|(?:calc|min|max|clamp)\(.*\)|(?:xx?x?-)?(?:small|large)|medium|smaller|larger)(?:\s|\/)/

function colourIn(value: string): string | null {
  const plain = value.replace(/url\([^)]*\)|"[^"]*"|'[^']*'/g, ' ')
  const words = plain.match(/#[0-9a-f]{3,8}\b|(?:rgb|hsl)a?\([^()]*\)|[a-z]+/g) ?? []
  return words.find((word) => readColour(word) !== null) ?? null
}

function isPicture(value: string): boolean {
  return value.includes('url(') || value.includes('gradient(') || value.includes('image-set(')
}

/** Why everything within the element is unseen, whatever its children declare; or null. */
function hidingKind(element: HtmlElement, styles: Styles, fontPx: number): RemovalKind | null {
  const display = styles.get('display')
  const isOwn = display === undefined || display.startsWith('revert')
  if (display === 'none') return 'display-none'
  if (isOwn && attributeOf(element, 'hidden') !== undefined) return 'hidden-attribute'
  if (styles.get('mso-hide') === 'all') return 'mso-hide'
  if (styles.get('content-visibility') === 'hidden') return 'visibility'
  if (isFaded(styles)) return 'opacity'
  if (isClipped(styles)) return 'clipped'
  if (hasNoSize(styles, fontPx)) return 'zero-size'
  return isAway(styles, fontPx) ? 'off-screen' : null
}

function isFaded(styles: Styles): boolean {
  const opacity =
    styles.get('opacity') ?? /opacity\(([^)]*)\)/.exec(styles.get('filter') ?? '')?.[1]
  const share = lengthPx(opacity?.trim(), 0, 1)
  return share !== null && share < OPACITY_MIN
}

const OPACITY_MIN = 0.05

function isClipped(styles: Styles): boolean {
  const clip = styles.get('clip') ?? ''
  if (/^rect\(/.test(clip)) {
    const [top = 0, right = 0, bottom = 0, left = 0] = (clip.match(/-?[\d.]+/g) ?? []).map(Number)
    const isOut = /absolute|fixed/.test(styles.get('position') ?? '')
    if (isOut && !clip.includes('auto') && (bottom - top <= 1 || right - left <= 1)) return true
  }
  const path = (styles.get('clip-path') ?? '').replace(/\s+/g, ' ')
  const inset = /^inset\( ?([\d.]+)%/.exec(path)?.[1]
  if (inset !== undefined && Number(inset) >= 50) return true
  return /^circle\( ?0(?:px|%)? ?[a)]|^polygon\((?: ?0(?:px|%)? ?,?)+\)/.test(path)
}

/** Whether the box has no room for a letter and lets nothing overflow. */
function hasNoSize(styles: Styles, fontPx: number): boolean {
  const isNothing = (property: string) => {
    const length = lengthPx(styles.get(property), fontPx)
    return length !== null && length <= 1
  }
  const isLow = isNothing('height') || isNothing('max-height')
  const isNarrow = isNothing('width') || isNothing('max-width')
  const hides = (axis: string) =>
    /^(?:hidden|clip|scroll|auto)/.test(styles.get(`overflow-${axis}`) ?? '')
  if (isLow && isNarrow && !/^inline/.test(styles.get('display') ?? '')) return true
  if ((isLow && hides('y')) || (isNarrow && hides('x'))) return true
  return /scale[xy3d]*\( ?0?\.?0+(?: ?,[^)]*)?\)/.test(styles.get('transform') ?? '')
}

/** More than the width of any box of a mail. */
const AWAY_PX = 500

function isAway(styles: Styles, fontPx: number): boolean {
  const out = (property: string) => (lengthPx(styles.get(property), fontPx) ?? 0) <= -AWAY_PX
  if (out('margin-left') || out('margin-top')) return true
  const moved = /translate[xy3d]*\(([^)]*)\)/.exec(styles.get('transform') ?? '')?.[1] ?? ''
  if (moved.split(',').some((part) => (lengthPx(part.trim(), fontPx) ?? 0) <= -AWAY_PX)) return true
  if (!/absolute|fixed|relative/.test(styles.get('position') ?? '')) return false
  const isFar = (property: string) =>
    Math.abs(lengthPx(styles.get(property), fontPx) ?? 0) >= FAR_PX
  if (['left', 'top', 'right', 'bottom'].some(out)) return true
  return isFar('left') || isFar('right')
}

/** Text to the right or below can be scrolled to, unless it is this far away. */
const FAR_PX = 3_000

/** The box of an element within `outer`. */
function boxOf(element: HtmlElement, styles: Styles, outer: Box): Box {
  if (styles.size === 0 && !mayHaveOwnBox(element)) return outer
  const visibility = styles.get('visibility')
  const fontPx = fontOf(element, styles, outer.fontPx)
  const textIndent = styles.get('text-indent')
  const indent = lengthPx(textIndent?.replace(/\s*hanging\s*/, ''), fontPx)
  return {
    colour: colourOf(element, styles, outer.colour),
    fill: fillOf(styles.get('-webkit-text-fill-color'), outer.fill),
    background: backgroundOf(element, styles, outer.background),
    fontPx,
    isVisible: isInherited(visibility)
      ? outer.isVisible
      : visibility !== 'hidden' && visibility !== 'collapse',
    isIndentedAway: isInherited(textIndent)
      ? outer.isIndentedAway
      : Math.abs(indent ?? 0) >= AWAY_PX,
  }
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

function backgroundOf(element: HtmlElement, styles: Styles, outer: Colour | null): Colour | null {
  const image = styles.get('background-image')
  const hasPicture = attributeOf(element, 'background') !== undefined
  if (image === undefined ? hasPicture : isPicture(image) || image === 'picture') {
    return null
  }
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
  if (own.alpha >= 1 || outer === null) return own.alpha >= 0.9 ? own : outer
  return blend(own, outer)
}

/** Why text that stands in the box itself is unseen, or null. */
function unseenKind({ background, ...box }: Box): RemovalKind | null {
  const colour = box.fill === undefined ? box.colour : box.fill
  if (!box.isVisible) return 'visibility'
  if (box.fontPx <= TINY_PX) return 'tiny-font'
  if (box.isIndentedAway) return 'off-screen'
  if (colour === null) return null
  if (isTransparent(colour)) return 'transparent'
  if (background === null) return null
  return isAlike(colour.alpha < 1 ? blend(colour, background) : colour, background)
    ? 'same-colour'
    : null
}

const TINY_PX = 2

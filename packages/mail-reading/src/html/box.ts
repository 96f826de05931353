// Computes the properties of an element's box that decide whether its text is visible.

import { attributeOf, type HtmlElement } from '@mailroom/mail/html/tree.ts'
import type { RemovalKind } from '#view/removal.ts'
import { BLENDED, type ElementStyle, isPicture, type Styles, stopsOf } from './css-cascade.ts'
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
import type { Variables } from './css-declarations.ts'
import { blendedWith, type ColourFilter, filterOf } from './css-filters.ts'
import { type Placement, placementOf, UNMOVED } from './css-transforms.ts'
import { lengthPx, WIDE_KEYWORD } from './css-values.ts'

/** The computed text style, which children inherit. */
export type Box = TextStyle & {
  /** Why all content is invisible, regardless of its own styles; null if it is visible. */
  readonly hiding: RemovalKind | null
  /** Why text directly in the box is invisible; null if it is visible. */
  readonly unseen: RemovalKind | null
  readonly variables: Variables
}

type TextStyle = {
  /** The text colour; null if unknown. */
  readonly colour: Colour | null
  readonly linkColour: Colour
  /** Fill colour of letters; undefined if it is the text colour, null if it is unknown. */
  readonly fill: Colour | null | undefined
  /** Possible backgrounds of the text: several on a gradient, null on a picture. */
  readonly backgrounds: readonly Colour[] | null
  /** Combined colour filter of the ancestors; null if there is none. */
  readonly filter: ColourFilter | null
  readonly fontPx: number
  /** Screen pixels per font pixel. */
  readonly scale: number
  readonly opacity: number
  readonly isVisible: boolean
  readonly isIndentedAway: boolean
  /** Whether letters overlap. */
  readonly isSqueezed: boolean
  readonly isMasked: boolean
  /** Whether system colours are those of a dark screen. */
  readonly isDark: boolean
}

const OUTERMOST: Box = {
  colour: BLACK,
  linkColour: LINK_BLUE,
  fill: undefined,
  backgrounds: [WHITE],
  filter: null,
  fontPx: 16,
  scale: 1,
  opacity: 1,
  isVisible: true,
  isIndentedAway: false,
  isSqueezed: false,
  isMasked: false,
  isDark: false,
  hiding: null,
  unseen: null,
  variables: new Map(),
}

export function outermostBox(variables: Variables): Box {
  return { ...OUTERMOST, variables }
}

export function boxOf(
  element: HtmlElement,
  { styles, variables }: Pick<ElementStyle, 'styles' | 'variables'>,
  outer: Box,
): Box {
  if (mayHaveOwnBox(element)) return makeBox(element, styles, variables, outer)
  if (styles.size === 0 && variables === outer.variables) return outer
  const before = lastBoxes.get(styles)
  if (before?.outer === outer && before.box.variables === variables) return before.box
  const box = makeBox(element, styles, variables, outer)
  lastBoxes.set(styles, { outer, box })
  return box
}

/** One cached box per style, because siblings in mail often share a style. */
const lastBoxes = new WeakMap<Styles, { readonly outer: Box; readonly box: Box }>()

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

const OPACITY_MIN = 0.05
/** Below this scale, even the largest letters are smaller than a pixel. */
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
  if (shape === '') return false
  return isEmptyShape(shape, list, fontPx) || isShapeAway(shape, list, fontPx)
}

/** A clip that leaves at most this much (pixels, or thousandths of the box) hides everything. */
const SHAPE_MAX = 10
const SHAPE_WHOLE = 1_000

/** Basic shapes (CSS Shapes 1 §3.1) on a box of unknown size. */
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

/** Whether a circle or an ellipse is entirely above or to the left of the box. */
function isShapeAway(shape: string, list: string, fontPx: number): boolean {
  if (shape !== 'circle' && shape !== 'ellipse') return false
  const [size = '', place = ''] = list.split(/(?:^|\s)at\s/)
  const lengthsOf = (text: string) =>
    text
      .trim()
      .split(/\s+/)
      .map((one) => lengthPx(one, fontPx, SHAPE_WHOLE))
  const radii = lengthsOf(size).map((radius) => radius ?? SHAPE_WHOLE)
  const [x = null, y = null] = lengthsOf(place)
  const [radiusX = SHAPE_WHOLE, radiusY = radiusX] = radii
  return (x !== null && x + radiusX <= 0) || (y !== null && y + radiusY <= 0)
}

function areaOf(points: readonly (readonly (number | null)[])[]): number {
  let area = 0
  for (const [index, [x = 0, y = 0]] of points.entries()) {
    const [nextX = 0, nextY = 0] = points[(index + 1) % points.length] ?? []
    area += (x ?? 0) * (nextY ?? 0) - (nextX ?? 0) * (y ?? 0)
  }
  return Math.abs(area / 2)
}

/** Whether a gradient mask hides everything. The effect of a picture is unknown. */
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

/** Whether the box has no room for a letter and hides its overflow. */
function hasNoSize(styles: Styles, fontPx: number): boolean {
  const isAtMost = (property: string, px: number) => {
    const length = lengthPx(styles.get(property), fontPx)
    return length !== null && length <= px
  }
  const contained = styles.get('contain') ?? ''
  const isContained =
    /strict|(?:^|\s)size/.test(contained) || /(?:^|\s)size/.test(styles.get('container-type') ?? '')
  // The content of a contained box does not increase its height.
  const hasNoHeight = isContained && !/\d/.test(styles.get('height') ?? '')
  const isLow = (px: number) => hasNoHeight || isAtMost('height', px) || isAtMost('max-height', px)
  const isNarrow = (px: number) => isAtMost('width', px) || isAtMost('max-width', px)
  const hides = (axis: string) =>
    /^(?:hidden|clip|scroll|auto)/.test(styles.get(`overflow-${axis}`) ?? '') ||
    /strict|paint|content/.test(contained)
  if (isLow(1) && isNarrow(1) && !/^inline/.test(styles.get('display') ?? '')) return true
  // A letter of which only a quarter is visible is unreadable.
  const little = Math.max(1, fontPx / 4)
  const hasNoLines = isAtMost('line-height', 0) && !styles.has('height')
  return (hides('y') && (isLow(little) || hasNoLines)) || (hides('x') && isNarrow(little))
}

/** More pixels than any box in mail is wide. */
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
  // Fixed content below the window cannot be scrolled to.
  const isFixed = styles.get('position') === 'fixed'
  if (isFixed && (length('top') >= BELOW_PX || length('bottom') >= BELOW_PX)) return true
  if (['left', 'top', 'right', 'bottom'].some((side) => length(side) <= -AWAY_PX)) return true
  return Math.abs(length('left')) >= FAR_PX || Math.abs(length('right')) >= FAR_PX
}

/** Text to the right or below can be reached by scrolling, unless it is this far away. */
const FAR_PX = 3_000
/** The height of a large screen, which is less than 200vh. */
const BELOW_PX = 1_500

const TRANSFORMS = ['translate', 'rotate', 'scale', 'transform'] as const

function movementOf(styles: Styles, fontPx: number): Placement {
  if (!TRANSFORMS.some((property) => styles.has(property))) return UNMOVED
  const [translate, rotate, scale, transform] = TRANSFORMS.map((property) => {
    const value = styles.get(property)
    return value === 'none' || (value !== undefined && WIDE_KEYWORD.test(value)) ? undefined : value
  })
  return placementOf({ translate, rotate, scale, transform }, fontPx)
}

/** The factor by which an element shrinks its text; 0 if it turns its invisible back. */
function shrinkOf(styles: Styles, fontPx: number): number {
  const { scale, isTurned } = movementOf(styles, fontPx)
  if (isTurned && styles.get('backface-visibility') === 'hidden') return 0
  const zoom = styles.get('zoom')
  return scale * (lengthPx(zoom, fontPx, 1) ?? 1)
}

function makeBox(element: HtmlElement, styles: Styles, variables: Variables, outer: Box): Box {
  const text = textStyleOf(element, styles, outer)
  const filled = styles.get('background-clip') === 'text' ? filledBy(text, outer) : text
  return { ...filled, hiding: hidingOf(styles, filled), unseen: unseenKind(filled), variables }
}

function textStyleOf(element: HtmlElement, styles: Styles, outer: Box): TextStyle {
  const visibility = styles.get('visibility')
  const fontPx = fontOf(element, styles, outer.fontPx)
  const textIndent = styles.get('text-indent')
  const indent = lengthPx(textIndent?.replace(/\s*hanging\s*/, ''), fontPx)
  const spacing = styles.get('letter-spacing')
  const security = styles.get('-webkit-text-security')
  const isDark = isDarkIn(styles, outer)
  // Dark pages default to light letters.
  const isDarkPage = isDark && element.tagName === 'html'
  const base = isDarkPage ? { ...outer, colour: WHITE, backgrounds: [DARK] } : outer
  const colour = colourOf(element, styles, base, isDark)
  const filter = composed(base, styles)
  return {
    colour,
    linkColour: linkColourOf(element, outer.linkColour),
    fill: fillOf(styles.get('-webkit-text-fill-color'), outer.fill),
    backgrounds: backgroundsOf(element, styles, { ...base, filter, isDark }, colour),
    filter,
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
      : isUnreadable(lengthPx(spacing, fontPx) ?? 0, fontPx),
    isMasked: isInherited(security)
      ? outer.isMasked
      : /^(?:disc|circle|square)$/.test(security ?? ''),
    isDark,
  }
}

/** Whether letter spacing makes letters overlap or leave the screen. */
function isUnreadable(spacing: number, fontPx: number): boolean {
  return (spacing <= -0.9 * fontPx && fontPx > TINY_PX) || spacing >= AWAY_PX
}

/** The colour of a dark page in Chromium. */
const DARK: Colour = { red: 18, green: 18, blue: 18, alpha: 1 }

function isDarkIn(styles: Styles, outer: Box): boolean {
  const scheme = styles.get('color-scheme')
  if (scheme === undefined || isInherited(scheme)) return outer.isDark
  return /\bdark\b/.test(scheme) && !/\blight\b/.test(scheme)
}

/** Reads a colour, using dark system colours on a dark screen. */
function schemed(text: string, isDark: boolean): Colour | null {
  if (!isDark) return readColour(text)
  const [, dark] = /^light-dark\((.*)\)$/s.test(text) ? splitTop(text.slice(11, -1)) : []
  return DARK_COLOURS.get(text) ?? readColour(dark ?? text)
}

const DARK_COLOURS: ReadonlyMap<string, Colour> = new Map([
  ['canvas', DARK],
  ['window', DARK],
  ['canvastext', WHITE],
  ['windowtext', WHITE],
])

/** Combines the filters of an element and its ancestors with the blend mode of BLENDED. */
function composed(outer: Box, styles: Styles): ColourFilter | null {
  const mode = styles.get(BLENDED)
  const [backdrop] = outer.backgrounds ?? []
  const blended = mode === undefined || backdrop === undefined ? null : blendedWith(mode, backdrop)
  const own = filterOf(styles.get('filter'))
  const steps = [own, blended, outer.filter].filter((step) => step !== null)
  if (steps.length < 2) return steps[0] ?? null
  return (colour) => steps.reduce((changed, step) => step(changed), colour)
}

function linkColourOf(element: HtmlElement, outer: Colour): Colour {
  const declared = element.tagName === 'body' ? attributeOf(element, 'link') : undefined
  return (declared === undefined ? null : readAttributeColour(declared)) ?? outer
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

function colourOf(
  element: HtmlElement,
  styles: Styles,
  { colour: outer, linkColour }: Pick<Box, 'colour' | 'linkColour'>,
  isDark: boolean,
): Colour | null {
  const declared = styles.get('color')
  if (declared === 'initial') return isDark ? WHITE : BLACK
  if (declared === 'currentcolor') return outer
  if (declared !== undefined) return isInherited(declared) ? outer : schemed(declared, isDark)
  const { tagName } = element
  const name = tagName === 'font' ? 'color' : tagName === 'body' ? 'text' : null
  const attribute = name === null ? undefined : attributeOf(element, name)
  if (attribute !== undefined) return readAttributeColour(attribute)
  return tagName === 'a' && attributeOf(element, 'href') !== undefined ? linkColour : outer
}

function fillOf(declared: string | undefined, outer: Box['fill']): Box['fill'] {
  if (declared === undefined || isInherited(declared)) return outer
  return declared === 'initial' || declared === 'currentcolor' ? undefined : readColour(declared)
}

type Behind = Pick<Box, 'backgrounds' | 'filter' | 'isDark'>

function backgroundsOf(
  element: HtmlElement,
  styles: Styles,
  outer: Behind,
  colour: Colour | null,
): Box['backgrounds'] {
  const under = plainBackgroundsOf(element, styles, outer, colour)
  const image = styles.get('background-image')
  if (image === undefined) {
    return attributeOf(element, 'background') === undefined ? under : null
  }
  if (!isPicture(image) || isNoSize(styles.get('background-size'))) return under
  const own = colour === null ? 'currentcolor' : wordOf(colour)
  return layered(image.replaceAll('currentcolor', own), under, outer.filter)
}

function wordOf({ red, green, blue, alpha }: Colour): string {
  return `rgb(${red} ${green} ${blue} / ${alpha})`
}

/** The visible gradient colours, blended with the layers below if they are translucent. */
function layered(
  image: string,
  under: Box['backgrounds'],
  filter: ColourFilter | null,
): Box['backgrounds'] {
  const seen: Colour[] = []
  for (const layer of splitTop(image).slice(0, LAYERS_MAX)) {
    if (layer === 'none') continue
    const plain = stopsOf(layer)
    if (plain === null || under === null) return null
    const stops = filter === null ? plain : plain.map(filter)
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
  { backgrounds, filter, isDark }: Behind,
  colour: Colour | null,
): Box['backgrounds'] {
  const behind = filterOf(styles.get('backdrop-filter'))
  const outer = behind === null ? backgrounds : (backgrounds?.map(behind) ?? null)
  const declared = styles.get('background-color')
  const bgColor = attributeOf(element, 'bgcolor')
  const plain =
    declared === 'currentcolor'
      ? colour
      : declared !== undefined
        ? schemed(declared, isDark)
        : bgColor !== undefined
          ? readAttributeColour(bgColor)
          : null
  if (plain === null) {
    const isPlain = declared === undefined || WIDE_KEYWORD.test(declared)
    return isPlain ? outer : null
  }
  const own = filter === null ? plain : filter(plain)
  if (own.alpha >= 1 || outer === null) return own.alpha >= 0.9 ? [own] : outer
  return outer.map((one) => blend(own, one))
}

function unseenKind(box: TextStyle): RemovalKind | null {
  const { backgrounds } = box
  const plain = box.fill === undefined ? box.colour : box.fill
  if (!box.isVisible) return 'visibility'
  if (box.isMasked) return 'masked'
  if (box.fontPx * box.scale <= TINY_PX) return 'tiny-font'
  if (box.isIndentedAway) return 'off-screen'
  if (box.isSqueezed) return 'zero-size'
  if (plain === null) return null
  const colour = box.filter === null ? plain : box.filter(plain)
  if (isTransparent(colour)) return 'transparent'
  if (backgrounds === null) return null
  const isUnseen = backgrounds.every((one) =>
    isAlike(colour.alpha < 1 ? blend(colour, one) : colour, one),
  )
  return isUnseen ? 'same-colour' : null
}

const TINY_PX = 2

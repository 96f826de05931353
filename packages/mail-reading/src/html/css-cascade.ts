// Computes the styles of an element from rules, style attribute and variables.

import { attributeOf, type HtmlElement } from '@mailroom/mail/html/tree.ts'
import { type Colour, readColour, splitTop } from './css-colours.ts'
import {
  type Declaration,
  readDeclarations,
  resolve,
  substitute,
  type Variables,
} from './css-declarations.ts'
import { compareLayers, familyName, type StyleRule, type StyleSheet } from './css-rules.ts'
import { WIDE_KEYWORD } from './css-values.ts'

export type Styles = ReadonlyMap<string, string>

/** Alternative styles that some browsers may give an element. */
type OtherStyles = {
  readonly styles: Styles
  /** Whether an unevaluated value may hide the element. */
  readonly mayHide: boolean
}

export type ElementStyle = {
  readonly styles: Styles
  readonly variables: Variables
  readonly others: readonly OtherStyles[]
}

type Cascaded = {
  readonly styles: Styles
  readonly variables: Variables
  /** Properties whose value was not evaluated. */
  readonly unclear: readonly string[]
}

/** Computes the style of an element whose parent has the given variables. */
export function styleOf(
  element: HtmlElement,
  sheet: StyleSheet,
  variables: Variables,
): ElementStyle {
  const { sure, unclear } = sheet.rulesFor(element)
  const own = ownStyle(attributeOf(element, 'style') ?? '')
  const isPlain = sure.length === 0 && unclear.length === 0 && own.plain !== null
  const { declarations } = own
  const base = isPlain && own.plain ? own.plain : cascade(sure, declarations, variables)
  if (isPlain) return { ...base, variables, others: othersOf(base, sheet) }
  const others = [...othersOf(base, sheet)]
  const sets = unclear.map((rule) => [...sure, rule])
  if (unclear.length > 1) sets.push([...sure, ...unclear])
  for (const rules of sets) {
    const other = cascade(rules, declarations, variables)
    others.push({ styles: other.styles, mayHide: false }, ...othersOf(other, sheet))
  }
  return { styles: base.styles, variables: base.variables, others }
}

const NO_OTHERS: readonly OtherStyles[] = []

function othersOf({ styles, unclear }: Cascaded, sheet: StyleSheet): readonly OtherStyles[] {
  const names = styles.get('animation-name') ?? styles.get('animation')
  const mode = styles.get('mix-blend-mode') ?? 'normal'
  // The effect of a picture as a mask is unknown.
  const isMasked = styles.get('mask-image')?.includes('url(') === true
  const families = styles.get('font-family') ?? ''
  const isOwnFont = sheet.ownFonts.size > 0 && hasOwnFont(families, sheet.ownFonts)
  const isCertain = unclear.length === 0 && !isMasked && !isOwnFont
  const isOutlined = OUTLINES.some((property) => /\d/.test(styles.get(property) ?? ''))
  const isPlain = names === undefined && mode === 'normal' && !isOutlined
  if (isCertain && isPlain) return NO_OTHERS
  const others: OtherStyles[] = []
  if (!isCertain) others.push({ styles, mayHide: true })
  for (const property of unclear) {
    const without = new Map(styles)
    without.delete(property)
    others.push({ styles: without, mayHide: false })
  }
  for (const name of names?.split(/[\s,]+/) ?? []) {
    for (const frame of sheet.framesOf(name)) {
      const framed = new Map(styles)
      for (const declaration of frame) put(framed, declaration)
      others.push({ styles: framed, mayHide: false })
    }
  }
  if (isOutlined) others.push({ styles: new Map(styles).set(FILL, 'grey'), mayHide: false })
  // Text is blended only with a backdrop that is part of the message.
  if (mode !== 'normal') others.push({ styles: new Map(styles).set(BLENDED, mode), mayHide: false })
  return others
}

const FILL = '-webkit-text-fill-color'
/** Properties for shadows and strokes, which reveal letters of an invisible colour. */
const OUTLINES = ['text-shadow', '-webkit-text-stroke', '-webkit-text-stroke-width']

function hasOwnFont(families: string, own: ReadonlySet<string>): boolean {
  return families.split(',').some((family) => own.has(familyName(family)))
}

/** Internal property for the effective blend mode. */
export const BLENDED = '-blended'

/**
 * The cascade (CSS Cascade 5 §6): rules, the style attribute, then important declarations of both.
 */
function cascade(
  rules: readonly StyleRule[],
  inline: readonly Declaration[],
  outer: Variables,
): Cascaded {
  const byWeight = (a: StyleRule, b: StyleRule) =>
    a.specificity - b.specificity || a.order - b.order
  const normal = rules.toSorted((a, b) => compareLayers(a.layer, b.layer) || byWeight(a, b))
  // An important rule is stronger in a weaker layer.
  const important = rules.toSorted((a, b) => compareLayers(b.layer, a.layer) || byWeight(a, b))
  const ordered = [
    ...normal.flatMap(({ declarations }) => declarations.filter((one) => !one.isImportant)),
    ...inline.filter((one) => !one.isImportant),
    ...important.flatMap(({ declarations }) => declarations.filter((one) => one.isImportant)),
    ...inline.filter((one) => one.isImportant),
  ]
  const variables = variablesOf(ordered, outer)
  const styles = new Map<string, string>()
  const unclear = new Set<string>()
  for (const written of ordered) {
    if (written.property.startsWith('--')) continue
    const declaration = written.hasVariables ? resolve(written, variables) : written
    if (declaration.isUnclear) {
      unclear.add(declaration.property)
      continue
    }
    unclear.delete(declaration.property)
    put(styles, declaration)
  }
  return { styles, variables, unclear: [...unclear] }
}

function variablesOf(ordered: readonly Declaration[], outer: Variables): Variables {
  const own = ordered.filter(({ property }) => property.startsWith('--'))
  if (own.length === 0) return outer
  const scope = new Map<string, string | null>()
  // Variables are not copied: an element may inherit many and set one more.
  const variables: Variables = {
    get: (name) => {
      const value = scope.get(name)
      return value === undefined ? outer.get(name) : (value ?? undefined)
    },
  }
  for (const { property, value } of own) {
    const word = value.toLowerCase()
    if (word === 'initial') scope.set(property, null)
    else if (!WIDE_KEYWORD.test(word)) scope.set(property, value)
  }
  for (const { property, hasVariables } of own) {
    const value = scope.get(property)
    if (hasVariables && value != null) scope.set(property, substitute(value, variables))
  }
  return variables
}

type OwnStyle = {
  readonly declarations: readonly Declaration[]
  /** The element's styles without rules; null if they involve variables. */
  readonly plain: Cascaded | null
}

const NO_VARIABLES: Variables = new Map()
const NO_STYLE: OwnStyle = {
  declarations: [],
  plain: { styles: new Map(), variables: NO_VARIABLES, unclear: [] },
}
/** Style attributes are cached, because mail repeats them within a message and across messages. */
const known = new Map<string, OwnStyle>()
/** Maximum characters of all cached styles, and of one style. */
const KNOWN_LENGTH_MAX = 256 * 1024
const STYLE_LENGTH_MAX = 2_000
let knownLength = 0

function ownStyle(style: string): OwnStyle {
  if (style === '') return NO_STYLE
  const before = known.get(style)
  if (before !== undefined) return before
  const declarations = readDeclarations(style)
  const isVaried = declarations.some(
    ({ property, hasVariables }) => hasVariables || property.startsWith('--'),
  )
  const own = { declarations, plain: isVaried ? null : cascade([], declarations, NO_VARIABLES) }
  if (style.length > STYLE_LENGTH_MAX) return own
  knownLength += style.length
  if (knownLength > KNOWN_LENGTH_MAX) {
    known.clear()
    knownLength = style.length
  }
  // The key is copied, because a slice would keep the complete HTML in memory.
  known.set(Buffer.from(style).toString(), own)
  return own
}

/** A shorthand replaces its longhand properties. */
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
    styles.set('font-family', value.replace(FONT_SIZE, ' ').replace(/^.*\s(?=\S+$)/, ''))
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

/** Physical sides of logical properties: the start and, for pairs, the end. */
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

/** The first length or size keyword in a valid `font`; weights and angles precede it. */
const FONT_SIZE =
  /(?:^|\s)(0|[+-]?[\d.]+(?:e[+-]?\d+)?(?!deg|grad|rad|turn)(?:[a-z]+|%)|(?:calc|min|max|clamp)\(.*\)|(?:xx?x?-)?(?:small|large)|medium|smaller|larger)(?:\s|\/)/

const GRADIENT = /[a-z-]*gradient\((?:[^()]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))*\)/g
const COLOURS =
  /#[0-9a-f]{3,8}\b|(?:color-mix|light-dark)\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)|(?:rgb|hsl|hwb|lab|lch|oklab|oklch|color)a?\([^()]*\)|[a-z]+/g

function colourIn(value: string): string | null {
  return (
    coloursIn(value).find((word) => word === 'currentcolor' || readColour(word) !== null) ?? null
  )
}

function coloursIn(value: string): readonly string[] {
  return value.replace(/url\([^)]*\)|"[^"]*"|'[^']*'/g, ' ').match(COLOURS) ?? []
}

/** The colours of a gradient in order; null if unknown. */
export function stopsOf(layer: string): readonly Colour[] | null {
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

export function isPicture(value: string): boolean {
  return value.includes('url(') || value.includes('gradient(') || value.includes('image-set(')
}

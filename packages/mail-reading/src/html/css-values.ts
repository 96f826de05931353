import type { DSNode } from 'css-tree'
import { cssTree } from './css-tree.ts'

const LENGTH = '<length-percentage>'
const SIZE =
  '<length-percentage [0,∞]> | min-content | max-content | fit-content | stretch | -webkit-fill-available'
const OVERFLOW = 'visible | hidden | clip | scroll | auto | overlay'
const OFFSET = `auto | ${LENGTH}`
/** Deprecated system colours (CSS Color 4 appendix A), which browsers accept and Word writes. */
const COLOUR = `<color> | activeborder | activecaption | appworkspace | background | buttonhighlight | buttonshadow
  | captiontext | inactiveborder | inactivecaption | inactivecaptiontext | infobackground | infotext | menu | menutext
  | scrollbar | threeddarkshadow | threedface | threedhighlight | threedlightshadow | threedshadow | window
  | windowframe | windowtext`

/** Values that Chromium accepts, in the grammar of CSS Values 4. */
const SYNTAX: Readonly<Record<string, string>> = {
  display: `none | contents | inline-block | inline-table | inline-flex | inline-grid | -webkit-box | -webkit-inline-box
    | -webkit-flex | -webkit-inline-flex | table-row-group | table-header-group | table-footer-group | table-row
    | table-cell | table-column-group | table-column | table-caption | ruby-text
    | [ [ block | inline ] || [ flow | flow-root | table | flex | grid | ruby | math ] ]
    | [ list-item && [ block | inline ]? && [ flow | flow-root ]? ]`,
  visibility: 'visible | hidden | collapse',
  'content-visibility': 'visible | auto | hidden',
  opacity: '<number> | <percentage>',
  'font-size': `<length-percentage [0,∞]> | xx-small | x-small | small | medium | large | x-large | xx-large
    | xxx-large | -webkit-xxx-large | smaller | larger | math`,
  color: COLOUR,
  'background-color': COLOUR,
  '-webkit-text-fill-color': COLOUR,
  width: `auto | ${SIZE}`,
  height: `auto | ${SIZE}`,
  'max-width': `none | ${SIZE}`,
  'max-height': `none | ${SIZE}`,
  overflow: `[ ${OVERFLOW} ]{1,2}`,
  'overflow-x': OVERFLOW,
  'overflow-y': OVERFLOW,
  position: 'static | relative | absolute | fixed | sticky',
  left: OFFSET,
  top: OFFSET,
  right: OFFSET,
  bottom: OFFSET,
  inset: `[ ${OFFSET} ]{1,4}`,
  margin: `[ ${OFFSET} ]{1,4}`,
  'margin-top': OFFSET,
  'margin-left': OFFSET,
  'text-indent': `${LENGTH} && hanging?`,
  zoom: 'normal | reset | <number [0,∞]> | <percentage [0,∞]>',
  filter: 'none | <filter-value-list>',
  all: 'inherit | initial | unset | revert | revert-layer',
  contain: 'none | strict | content | [ [ size | inline-size ] || layout || style || paint ]',
  'color-scheme': 'normal | [ light | dark | <custom-ident> ]+ && only?',
  '-webkit-text-security': 'none | disc | circle | square',
  'mix-blend-mode': `normal | multiply | screen | overlay | darken | lighten | color-dodge | color-burn | hard-light
    | soft-light | difference | exclusion | hue | saturation | color | luminosity | plus-darker | plus-lighter`,
  // Only Word and Outlook support this property.
  'mso-hide': 'all | none | screen | no',
}

/** Keywords that every property accepts (CSS Cascade 5 §7). */
export const WIDE_KEYWORD = /^(?:inherit|initial|unset|revert|revert-layer)$/

/** Whether the grammar contains the property. Other properties may exist in a single engine. */
export function isKnownProperty(property: string): boolean {
  return property in SYNTAX || cssTree().lexer.getProperty(property, false) !== null
}

/** `value` must be in lower case, without comments, surrounding blanks and `!important`. */
export function isValid(property: string, value: string): boolean {
  if (WIDE_KEYWORD.test(value)) return true
  const key = `${property}:${value}`
  const before = known.get(key)
  if (before !== undefined) return before
  const valid = hasClosedBrackets(value) && !FOREIGN.test(value) && matches(property, value)
  if (known.size >= KNOWN_MAX) known.clear()
  known.set(key, valid)
  return valid
}

/** Results are cached, because mail repeats its values within a message and across messages. */
const known = new Map<string, boolean>()
const KNOWN_MAX = 5_000

/** Whether the value has a function that browsers compute but the hidden text detector cannot. */
export function isUnevaluated(value: string): boolean {
  return value.includes('(') && UNEVALUATED.test(value)
}

const UNEVALUATED =
  /(?<![\w-])(?:attr|if|inherit|random|random-item|anchor|anchor-size|toggle|sibling-index|sibling-count|calc-size|interpolate|progress|contrast-color|shape|path|sin|cos|tan|asin|acos|atan|atan2|pow|sqrt|hypot|log|exp|abs|sign|round|mod|rem|--[\w-]+)\(|(?<![\w-])(?:rgb|hsl|hwb|lab|lch|oklab|oklch|color|alpha)a?\(\s*from\s/

/** Values of other engines, wide-gamut colours, and functions that are not evaluated. */
const FOREIGN =
  /(?:^|[\s,(])-(?:moz|ms|o|khtml)-(?!\s)|-webkit-(?:text|link|activelink|calc|focus)|\b(?:device-cmyk|element|paint|cross-fade|attr|if|random|anchor|anchor-size|toggle|src)\(|\bpath\(|\bellipse\(\s*[^\s),]+\s*\)|\bopacity\(\s*-/

function matches(property: string, value: string): boolean {
  if (property === 'opacity' && !/^[\d.+-]|\(/.test(value)) return false
  if (property === 'font' && /\/\s*-/.test(value)) return false
  const isNumber = /^[+-]?(?:\d+(?:\.\d+)?|\.\d+)(?:e[+-]?\d+)?$/.test(value)
  if (isNumber && Number(value) !== 0 && QUIRKY.has(property)) return hides(property, Number(value))
  const plain = withoutMath(value)
  if (plain === null) return false
  const { lexer } = cssTree()
  const grammar = grammarOf(property)
  const { error } =
    grammar === null ? lexer.matchProperty(property, plain) : lexer.match(grammar, plain)
  return error === null
}

/** Compiled grammars, because the lexer would otherwise parse the text for each value. */
const grammars = new Map<string, DSNode>()

/** The compiled grammar of a property; null if SYNTAX does not contain the property. */
function grammarOf(property: string): DSNode | null {
  const syntax = SYNTAX[property]
  if (syntax === undefined) return null
  const known = grammars.get(property)
  if (known !== undefined) return known
  const grammar = cssTree().lexer.createDescriptor(syntax, 'Type', property)
  grammars.set(property, grammar)
  return grammar
}

/**
 * Properties whose numbers without a unit are pixels in documents without a doctype, and invalid
 * otherwise. Mail is displayed in both modes. Such a number is used if it hides text; otherwise an
 * earlier declaration is used.
 */
const QUIRKY = new Set(
  'font-size width height max-width max-height left top right bottom text-indent margin-top margin-left'.split(
    ' ',
  ),
)

function hides(property: string, number: number): boolean {
  return /size|width|height/.test(property)
    ? number > 0 && number <= 2
    : number <= -500 || number >= 3_000
}

/** Whether all brackets are closed. Browsers close open ones only at the end of a style. */
function hasClosedBrackets(value: string): boolean {
  if (!/["'()[\]{}]/.test(value)) return true
  const open: string[] = []
  for (let at = 0; at < value.length; at++) {
    const char = value.charAt(at)
    if (char === '"' || char === "'") {
      at = value.indexOf(char, at + 1)
      if (at === -1) return false
    } else if (char in CLOSING) {
      open.push(CLOSING[char] ?? '')
    } else if (char === ')' || char === ']' || char === '}') {
      if (open.pop() !== char) return false
    }
  }
  return open.length === 0
}

const CLOSING: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' }

/** Replaces each calculation with a value of its kind. Null if a calculation is invalid. */
function withoutMath(value: string): string | null {
  let plain = ''
  let rest = value
  for (let call = MATH.exec(rest); call !== null; call = MATH.exec(rest)) {
    const end = endOfCall(rest, call.index + call[0].length)
    const sum = rest.slice(call.index, end)
    const measured = measure(sum, 16, 1_000)
    if (measured === null) return null
    const kind = measured.isLength ? (sum.includes('%') ? '1%' : '1px') : '1'
    plain += `${rest.slice(0, call.index)}${kind}`
    rest = rest.slice(end)
  }
  return plain + rest
}

const MATH = /(?<![\w-])(?:calc|min|max|clamp|round|mod|rem|abs|sign|hypot|sqrt|pow|exp|log)\(/

/** The index just past the bracket that closes the call. `at` is just past the opening bracket. */
export function endOfCall(text: string, at: number): number {
  let depth = 1
  let end = at
  for (; end < text.length && depth > 0; end++) {
    const char = text.charAt(end)
    depth += char === '(' ? 1 : char === ')' ? -1 : 0
  }
  return end
}

const PX_PER_UNIT: Readonly<Record<string, number>> = {
  px: 1,
  pt: 4 / 3,
  pc: 16,
  in: 96,
  cm: 37.8,
  mm: 3.78,
  q: 0.945,
  rem: 16,
  rex: 8,
  rch: 8,
  ric: 16,
  rlh: 20,
  rcap: 12,
}
/** Multiples of the element's font size. */
const EM_PER_UNIT: Readonly<Record<string, number>> = {
  em: 1,
  ex: 0.5,
  ch: 0.5,
  ic: 1,
  cap: 0.7,
  lh: 1.2,
}
/** Viewport units: a hundredth of the window, in all variants. */
const VIEWPORT_UNIT = /^(?:[sld]?v|cq)(w|h|i|b|min|max)$/
/** The default base of a percentage: the width of a window. */
const WHOLE_PX = 1_024
const VIEWPORT_PX: Readonly<Record<string, number>> = { w: 10.24, i: 10.24, max: 10.24 }
const VIEWPORT_HEIGHT_PX = 7.68

/**
 * A length in pixels; null for other text. `fontPx` is one `em`, and `wholePx` is 100 %. A number
 * without a unit is in pixels, as in mail without a doctype.
 */
export function lengthPx(
  text: string | undefined,
  fontPx: number,
  wholePx = WHOLE_PX,
): number | null {
  if (text === undefined) return null
  return measure(text, fontPx, wholePx)?.value ?? null
}

type Measured = {
  readonly value: number
  /** True for lengths and percentages, false for plain numbers. */
  readonly isLength: boolean
}

/** Evaluates a number, length, percentage or calculation (CSS Values 4 §10), else null. */
function measure(text: string, fontPx: number, wholePx = WHOLE_PX): Measured | null {
  if (!text.includes('(')) return term(text, fontPx, wholePx)
  if (text.length > CALCULATION_LENGTH_MAX) return null
  return new Calculation(text, fontPx, wholePx).result()
}

const CALCULATION_LENGTH_MAX = 200

function term(text: string, fontPx: number, wholePx: number): Measured | null {
  const found = /^([+-]?(?:\d{1,20}(?:\.\d{1,20})?|\.\d{1,20})(?:e[+-]?\d{1,3})?)([a-z]+|%)?$/.exec(
    text,
  )
  if (found === null) return null
  const number = Number(found[1])
  const unit = found[2]
  if (unit === undefined) return { value: number, isLength: false }
  const px = pxOf(unit, fontPx, wholePx)
  return px === null ? null : { value: number * px, isLength: true }
}

function pxOf(unit: string, fontPx: number, wholePx: number): number | null {
  if (unit === '%') return wholePx / 100
  const em = EM_PER_UNIT[unit]
  if (em !== undefined) return em * fontPx
  const axis = VIEWPORT_UNIT.exec(unit)?.[1]
  if (axis !== undefined) return VIEWPORT_PX[axis] ?? VIEWPORT_HEIGHT_PX
  return PX_PER_UNIT[unit] ?? null
}

const NESTED_MAX = 8

class Calculation {
  readonly #text: string
  readonly #fontPx: number
  readonly #wholePx: number
  #at = 0
  #depth = 0

  constructor(text: string, fontPx: number, wholePx: number) {
    this.#text = text
    this.#fontPx = fontPx
    this.#wholePx = wholePx
  }

  result(): Measured | null {
    const value = this.#value()
    this.#skipBlanks()
    return this.#at === this.#text.length ? value : null
  }

  #sum(): Measured | null {
    let sum = this.#product()
    for (;;) {
      const operator = this.#take(/\s+([+-])(?=\s)/y)
      if (operator === null || sum === null) return sum
      const next = this.#product()
      if (next === null || next.isLength !== sum.isLength) return null
      const sign = operator === '+' ? 1 : -1
      sum = { value: sum.value + sign * next.value, isLength: sum.isLength }
    }
  }

  #product(): Measured | null {
    let product = this.#value()
    for (;;) {
      const operator = this.#take(/\s*([*/])/y)
      if (operator === null || product === null) return product
      const next = this.#value()
      if (next === null) return null
      if (next.isLength && (operator === '/' || product.isLength)) return null
      product = {
        value: operator === '*' ? product.value * next.value : product.value / next.value,
        isLength: product.isLength || next.isLength,
      }
    }
  }

  #value(): Measured | null {
    this.#skipBlanks()
    const call = this.#take(/((?:calc|min|max|clamp)?\()/y)
    if (call === null) {
      const text = this.#take(/([+-]?[\d.]+(?:e[+-]?\d+)?(?:[a-z]+|%)?)/y)
      return text === null ? null : term(text, this.#fontPx, this.#wholePx)
    }
    if (++this.#depth > NESTED_MAX) return null
    const values: Measured[] = []
    do {
      const value = this.#sum()
      if (value === null) return null
      values.push(value)
      this.#skipBlanks()
    } while (this.#take(/(,)/y) !== null)
    if (this.#take(/(\))/y) === null) return null
    this.#depth -= 1
    return combined(call.slice(0, -1), values)
  }

  #skipBlanks(): void {
    this.#take(/(\s*)/y)
  }

  #take(pattern: RegExp): string | null {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#text)
    if (found === null) return null
    this.#at = pattern.lastIndex
    return found[1] ?? ''
  }
}

function combined(name: string, all: readonly Measured[]): Measured | null {
  const [first] = all
  if (first === undefined || all.some(({ isLength }) => isLength !== first.isLength)) return null
  const values = all.map(({ value }) => value)
  const { isLength } = first
  if (name === 'min') return { value: Math.min(...values), isLength }
  if (name === 'max') return { value: Math.max(...values), isLength }
  const [low = 0, middle = 0, high = 0] = values
  if (name === 'clamp') {
    return all.length === 3 ? { value: Math.max(low, Math.min(middle, high)), isLength } : null
  }
  return all.length === 1 ? first : null
}

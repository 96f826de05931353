import { createRequire } from 'node:module'

// Loaded with the first value that is not a plain one: its tables take some 60 ms.
const load = createRequire(import.meta.url)

const LENGTH = '<length-percentage>'
const SIZE =
  '<length-percentage [0,∞]> | min-content | max-content | fit-content | stretch | -webkit-fill-available'
const OVERFLOW = 'visible | hidden | clip | scroll | auto | overlay'
const OFFSET = `auto | ${LENGTH}`
/** CSS Color 4 appendix A: old names that browsers still take, and Word writes. */
const COLOUR = `<color> | activeborder | activecaption | appworkspace | background | buttonhighlight | buttonshadow
  | captiontext | inactiveborder | inactivecaption | inactivecaptiontext | infobackground | infotext | menu | menutext
  | scrollbar | threeddarkshadow | threedface | threedhighlight | threedlightshadow | threedshadow | window
  | windowframe | windowtext`

/** The values that Chromium accepts, in the grammar of CSS Values 4. */
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
  filter: 'none | <filter-value-list>',
  all: 'inherit | initial | unset | revert | revert-layer',
  // A property of Word and Outlook alone.
  'mso-hide': 'all | none | screen | no',
}

/** The keywords of every property (CSS Cascade 5 §7). */
export const WIDE_KEYWORD = /^(?:inherit|initial|unset|revert|revert-layer)$/

/** `value`: lower case, without comments, blanks around it and `!important`. */
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

/** Mail repeats its values, within a message and from one to the next. */
const known = new Map<string, boolean>()
const KNOWN_MAX = 5_000

/** Values of other engines, colours that no screen has, and functions that are not evaluated. */
const FOREIGN =
  /(?:^|[\s,(])-(?:moz|ms|o|khtml)-(?!\s)|-webkit-(?:text|link|activelink|calc|focus)|\b(?:device-cmyk|element|paint|cross-fade|attr|if|random|anchor|anchor-size|toggle|src)\(|\bpath\(|\bellipse\(\s*[^\s),]+\s*\)|\bopacity\(\s*-/

function matches(property: string, value: string): boolean {
  if (property === 'opacity' && !/^[\d.+-]|\(/.test(value)) return false
  if (property === 'font' && /\/\s*-/.test(value)) return false
  const isNumber = /^[+-]?(?:\d+(?:\.\d+)?|\.\d+)(?:e[+-]?\d+)?$/.test(value)
  if (isNumber && Number(value) !== 0 && QUIRKY.has(property)) return hides(property, Number(value))
  const plain = withoutMath(value)
  if (plain === null) return false
  const { lexer } = load('css-tree') as typeof import('css-tree')
  const syntax = SYNTAX[property]
  const { error } =
    syntax === undefined ? lexer.matchProperty(property, plain) : lexer.match(syntax, plain)
  return error === null
}

/**
 * Numbers without a unit are pixels in a document without a doctype, and invalid in one with it. Mail is read in
 * both: such a number counts where it hides; else an earlier declaration counts.
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

/** Whether all brackets are closed: a browser closes open ones only at the end of a style. */
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

/** The value with each calculation replaced by a value of its kind; null where a calculation is invalid. */
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

/** The index after the bracket that closes the call; `at` is after the opening one. */
function endOfCall(text: string, at: number): number {
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
/** A hundredth of the window, in all its forms. */
const VIEWPORT_UNIT = /^(?:[sld]?v|cq)(w|h|i|b|min|max)$/
/** The whole of a percentage where nothing else is known: the width of a window. */
const WHOLE_PX = 1_024
const VIEWPORT_PX: Readonly<Record<string, number>> = { w: 10.24, i: 10.24, max: 10.24 }
const VIEWPORT_HEIGHT_PX = 7.68

/**
 * Null for a text that is no length. `fontPx`: one `em`; `wholePx`: 100 %. A number without a unit counts as
 * pixels, as browsers read it in mail without a doctype.
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
  /** A length or a percentage, and no plain number. */
  readonly isLength: boolean
}

/** A number, a length, a percentage, or a calculation of those (CSS Values 4 §10); null for all else. */
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

/** Reads one calculation from left to right. */
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

export type Colour = {
  readonly red: number
  readonly green: number
  readonly blue: number
  /** 0 to 1. */
  readonly alpha: number
}

export const BLACK: Colour = { red: 0, green: 0, blue: 0, alpha: 1 }
export const WHITE: Colour = { red: 255, green: 255, blue: 255, alpha: 1 }
/** The colour of a link without a style. */
export const LINK_BLUE: Colour = { red: 0, green: 0, blue: 238, alpha: 1 }

/** Text of less contrast cannot be read; light grey fine print on white has 1.3 and more. */
const CONTRAST_MIN = 1.2
const ALPHA_MIN = 0.1

/** A colour of CSS in lower case, without surrounding blanks; null for an unknown one. */
export function readColour(text: string): Colour | null {
  if (text.startsWith('#')) return fromHex(text.slice(1))
  const call = /^(rgb|hsl)a?\(([^()]{1,80})\)$/.exec(text)
  if (call !== null) return fromCall(call[1] ?? '', call[2] ?? '')
  if (text === 'transparent') return { ...BLACK, alpha: 0 }
  const named = NAMED.get(text)
  return named === undefined ? null : fromHex(named)
}

/** The colour of an attribute such as `bgcolor`, where the `#` may be missing. */
export function readAttributeColour(text: string): Colour | null {
  const plain = text.trim().toLowerCase()
  return readColour(plain) ?? fromHex(plain.replace(/^#/, ''))
}

/** Whether text of this colour is too transparent to be seen. */
export function isTransparent({ alpha }: Colour): boolean {
  return alpha < ALPHA_MIN
}

/** `upper` laid over `lower`, which is opaque. */
export function blend(upper: Colour, lower: Colour): Colour {
  const mix = (above: number, below: number) => above * upper.alpha + below * (1 - upper.alpha)
  return {
    red: mix(upper.red, lower.red),
    green: mix(upper.green, lower.green),
    blue: mix(upper.blue, lower.blue),
    alpha: 1,
  }
}

/** Whether two colours are so near (WCAG 2 contrast) that one cannot be read on the other. */
export function isAlike(one: Colour, other: Colour): boolean {
  if (!isNear(one, other)) return false
  const [light = 0, dark = 0] = [luminance(one), luminance(other)].sort((a, b) => b - a)
  return (light + 0.05) / (dark + 0.05) < CONTRAST_MIN
}

/** Dark colours have little contrast among each other and may still be told apart by their hue. */
function isNear(one: Colour, other: Colour): boolean {
  const far = Math.max(
    Math.abs(one.red - other.red),
    Math.abs(one.green - other.green),
    Math.abs(one.blue - other.blue),
  )
  return far < 48
}

function luminance({ red, green, blue }: Colour): number {
  const linear = (value: number) => {
    const share = value / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  }
  return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
}

function fromHex(digits: string): Colour | null {
  if (!/^(?:[0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})$/.test(digits)) return null
  const full = digits.length <= 4 ? digits.replace(/./g, '$&$&') : digits
  const [red = 0, green = 0, blue = 0, alpha = 255] = (full.match(/../g) ?? []).map((pair) =>
    Number.parseInt(pair, 16),
  )
  return { red, green, blue, alpha: alpha / 255 }
}

function fromCall(name: string, list: string): Colour | null {
  const parts = list.split(/[\s,/]+/).filter((part) => part !== '')
  const [first = '', second = '', third = '', fourth = '1'] = parts
  const alpha = shareOf(fourth, 1)
  if (name === 'rgb') {
    const [red, green, blue] = [first, second, third].map((part) => shareOf(part, 255))
    return made(red, green, blue, alpha)
  }
  const hue = Number.parseFloat(first) * (DEGREES[/[a-z]+$/.exec(first)?.[0] ?? 'deg'] ?? 1)
  return fromHsl(hue, shareOf(second, 100) / 100, shareOf(third, 100) / 100, alpha)
}

const DEGREES: Readonly<Record<string, number>> = { rad: 180 / Math.PI, grad: 0.9, turn: 360 }

/** A number, or a percentage of `whole`. */
function shareOf(text: string, whole: number): number {
  if (text === 'none') return 0
  const value = Number.parseFloat(text)
  return text.endsWith('%') ? (value / 100) * whole : value
}

function fromHsl(hue: number, saturation: number, light: number, alpha: number): Colour | null {
  const channel = (offset: number) => {
    const place = (offset + hue / 30) % 12
    const reach = saturation * Math.min(light, 1 - light)
    return 255 * (light - reach * Math.max(-1, Math.min(place - 3, 9 - place, 1)))
  }
  return made(channel(0), channel(8), channel(4), alpha)
}

function made(red = Number.NaN, green = Number.NaN, blue = Number.NaN, alpha = 1): Colour | null {
  return [red, green, blue, alpha].every(Number.isFinite) ? { red, green, blue, alpha } : null
}

/** CSS Color 4 §6.1, and of §6.2 and appendix A what stands for light or dark paper. */
const NAMED: ReadonlyMap<string, string> = new Map(
  `white ffffff snow fffafa ivory fffff0 ghostwhite f8f8ff whitesmoke f5f5f5 floralwhite fffaf0
  mintcream f5fffa azure f0ffff aliceblue f0f8ff seashell fff5ee honeydew f0fff0
  lavenderblush fff0f5 oldlace fdf5e6 linen faf0e6 cornsilk fff8dc lightyellow ffffe0
  lightcyan e0ffff beige f5f5dc gainsboro dcdcdc lavender e6e6fa lemonchiffon fffacd
  lightgoldenrodyellow fafad2 papayawhip ffefd5 blanchedalmond ffebcd antiquewhite faebd7
  mistyrose ffe4e1 bisque ffe4c4 peachpuff ffdab9 moccasin ffe4b5 navajowhite ffdead
  canvas ffffff canvastext 000000 black 000000 red ff0000 lime 00ff00 blue 0000ff
  yellow ffff00 aqua 00ffff cyan 00ffff magenta ff00ff fuchsia ff00ff silver c0c0c0 gray 808080
  grey 808080 lightgray d3d3d3 lightgrey d3d3d3 darkgray a9a9a9 darkgrey a9a9a9 dimgray 696969
  dimgrey 696969 slategray 708090 slategrey 708090 darkslategray 2f4f4f darkslategrey 2f4f4f
  maroon 800000 olive 808000 green 008000 purple 800080 teal 008080 navy 000080 orange ffa500
  orangered ff4500 darkorange ff8c00 tomato ff6347 coral ff7f50 salmon fa8072 crimson dc143c
  darkred 8b0000 firebrick b22222 brown a52a2a gold ffd700 goldenrod daa520 khaki f0e68c
  darkgreen 006400 forestgreen 228b22 seagreen 2e8b57 limegreen 32cd32 lightgreen 90ee90
  steelblue 4682b4 royalblue 4169e1 dodgerblue 1e90ff deepskyblue 00bfff skyblue 87ceeb
  lightblue add8e6 lightskyblue 87cefa cornflowerblue 6495ed darkblue 00008b mediumblue 0000cd
  midnightblue 191970 indigo 4b0082 violet ee82ee darkviolet 9400d3 plum dda0dd orchid da70d6
  pink ffc0cb lightpink ffb6c1 hotpink ff69b4 deeppink ff1493 chocolate d2691e sienna a0522d
  saddlebrown 8b4513 peru cd853f tan d2b48c burlywood deb887 wheat f5deb3 turquoise 40e0d0
  rebeccapurple 663399
  aquamarine 7fffd4 blueviolet 8a2be2 cadetblue 5f9ea0 chartreuse 7fff00 darkcyan 008b8b
  darkgoldenrod b8860b darkkhaki bdb76b darkmagenta 8b008b darkolivegreen 556b2f
  darkorchid 9932cc darksalmon e9967a darkseagreen 8fbc8f darkslateblue 483d8b
  darkturquoise 00ced1 greenyellow adff2f indianred cd5c5c lawngreen 7cfc00 lightcoral f08080
  lightsalmon ffa07a lightseagreen 20b2aa lightslategray 778899 lightslategrey 778899
  lightsteelblue b0c4de mediumaquamarine 66cdaa mediumorchid ba55d3 mediumpurple 9370db
  mediumseagreen 3cb371 mediumslateblue 7b68ee mediumspringgreen 00fa9a mediumturquoise 48d1cc
  mediumvioletred c71585 olivedrab 6b8e23 palegoldenrod eee8aa palegreen 98fb98
  paleturquoise afeeee palevioletred db7093 powderblue b0e0e6 rosybrown bc8f8f sandybrown f4a460
  slateblue 6a5acd springgreen 00ff7f thistle d8bfd8 yellowgreen 9acd32 window ffffff
  windowtext 000000 buttonface efefef buttontext 000000 menu ffffff menutext 000000 field ffffff
  fieldtext 000000 graytext 808080 infobackground ffffff infotext 000000 captiontext 000000
  inactivecaptiontext 808080 activecaption ffffff inactivecaption ffffff background ffffff
  scrollbar ffffff appworkspace ffffff highlighttext ffffff mark ffff00 marktext 000000
  linktext 0000ee visitedtext 551a8b activetext ff0000`
    .trim()
    .split(/\s+/)
    .reduce<[string, string][]>((pairs, word, index, words) => {
      if (index % 2 === 1) pairs.push([words[index - 1] ?? '', word])
      return pairs
    }, []),
)

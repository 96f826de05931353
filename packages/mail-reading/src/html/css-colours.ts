export type Colour = {
  readonly red: number
  readonly green: number
  readonly blue: number
  /** Opacity from 0 to 1. */
  readonly alpha: number
}

export const BLACK: Colour = { red: 0, green: 0, blue: 0, alpha: 1 }
export const WHITE: Colour = { red: 255, green: 255, blue: 255, alpha: 1 }
/** The default colour of links. */
export const LINK_BLUE: Colour = { red: 0, green: 0, blue: 238, alpha: 1 }

/** Text with less contrast is unreadable; light grey fine print on white has at least 1.3. */
const CONTRAST_MIN = 1.2
const ALPHA_MIN = 0.1

/** Parses a CSS colour in lower case without surrounding blanks; null if unknown. */
export function readColour(text: string): Colour | null {
  if (text.startsWith('#')) return fromHex(text.slice(1))
  const call = /^(rgb|hsl|hwb|lab|lch|oklab|oklch|color)a?\(([^()]{1,80})\)$/.exec(text)
  if (call !== null) return fromCall(call[1] ?? '', call[2] ?? '')
  const made = /^(color-mix|light-dark)\((.{1,400})\)$/.exec(text)
  if (made !== null) return fromColours(made[1] ?? '', splitTop(made[2] ?? ''))
  if (text === 'transparent') return { ...BLACK, alpha: 0 }
  const named = NAMED.get(text)
  return named === undefined ? null : fromHex(named)
}

/** Parses the colour of an attribute such as `bgcolor`, which may lack the `#`. */
export function readAttributeColour(text: string): Colour | null {
  const plain = text.trim().toLowerCase()
  return readColour(plain) ?? fromHex(plain.replace(/^#/, ''))
}

/** Whether text of this colour is too transparent to be visible. */
export function isTransparent({ alpha }: Colour): boolean {
  return alpha < ALPHA_MIN
}

export function blend(upper: Colour, lower: Colour): Colour {
  const mix = (above: number, below: number) => above * upper.alpha + below * (1 - upper.alpha)
  return {
    red: mix(upper.red, lower.red),
    green: mix(upper.green, lower.green),
    blue: mix(upper.blue, lower.blue),
    alpha: 1,
  }
}

/** Whether two colours are so close (WCAG 2 contrast) that one is unreadable on the other. */
export function isAlike(one: Colour, other: Colour): boolean {
  if (!isNear(one, other)) return false
  const [light = 0, dark = 0] = [luminance(one), luminance(other)].sort((a, b) => b - a)
  return (light + 0.05) / (dark + 0.05) < CONTRAST_MIN
}

/** Dark colours have little contrast but may still be distinguished by hue. */
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
  if (name === 'color') return fromSpace(parts)
  const [first = '', second = '', third = '', fourth = '1'] = parts
  const alpha = shareOf(fourth, 1)
  switch (name) {
    case 'rgb':
      return made(shareOf(first, 255), shareOf(second, 255), shareOf(third, 255), alpha)
    case 'hsl':
      return fromHsl(hueOf(first), shareOf(second, 100) / 100, shareOf(third, 100) / 100, alpha)
    case 'hwb':
      return fromHwb(hueOf(first), shareOf(second, 100) / 100, shareOf(third, 100) / 100, alpha)
    case 'lab':
      return fromLab([shareOf(first, 100), shareOf(second, 125), shareOf(third, 125)], alpha)
    case 'lch':
      return fromLab([shareOf(first, 100), ...polar(shareOf(second, 150), hueOf(third))], alpha)
    case 'oklab':
      return fromOklab([shareOf(first, 1), shareOf(second, 0.4), shareOf(third, 0.4)], alpha)
    default:
      return fromOklab([shareOf(first, 1), ...polar(shareOf(second, 0.4), hueOf(third))], alpha)
  }
}

const DEGREES: Readonly<Record<string, number>> = { rad: 180 / Math.PI, grad: 0.9, turn: 360 }

function hueOf(text: string): number {
  if (text === 'none') return 0
  return Number.parseFloat(text) * (DEGREES[/[a-z]+$/.exec(text)?.[0] ?? 'deg'] ?? 1)
}

type Triple = readonly [number, number, number]

function polar(chroma: number, hue: number): readonly [number, number] {
  const angle = (hue * Math.PI) / 180
  return [chroma * Math.cos(angle), chroma * Math.sin(angle)]
}

/** Converts hue, whiteness and blackness (CSS Color 4 §8). */
function fromHwb(hue: number, white: number, black: number, alpha: number): Colour | null {
  const sum = white + black
  if (sum >= 1) {
    const grey = (255 * white) / sum
    return made(grey, grey, grey, alpha)
  }
  const pure = fromHsl(hue, 1, 0.5, 1)
  if (pure === null) return null
  const mixed = (channel: number) => channel * (1 - sum) + 255 * white
  return made(mixed(pure.red), mixed(pure.green), mixed(pure.blue), alpha)
}

/** Converts Lab with white point D50 (CSS Color 4 §9.3). */
function fromLab([light, a, b]: Triple, alpha: number): Colour | null {
  const middle = (light + 16) / 116
  const inverse = (value: number) =>
    value ** 3 > 216 / 24389 ? value ** 3 : (116 * value - 16) / (24389 / 27)
  const x = 0.9643 * inverse(middle + a / 500)
  const y = light > 8 ? middle ** 3 : light / (24389 / 27)
  const z = 0.8251 * inverse(middle - b / 200)
  return fromLinear(
    [
      3.1341 * x - 1.6174 * y - 0.4906 * z,
      -0.9788 * x + 1.9163 * y + 0.0334 * z,
      0.0719 * x - 0.229 * y + 1.4053 * z,
    ],
    alpha,
  )
}

/** Converts Oklab (CSS Color 4 §9.4). */
function fromOklab([light, a, b]: Triple, alpha: number): Colour | null {
  const l = (light + 0.39634 * a + 0.2158 * b) ** 3
  const m = (light - 0.10556 * a - 0.06385 * b) ** 3
  const s = (light - 0.08948 * a - 1.29149 * b) ** 3
  return fromLinear(
    [
      4.07674 * l - 3.30771 * m + 0.23097 * s,
      -1.26844 * l + 2.60976 * m - 0.34132 * s,
      -0.0042 * l - 0.70342 * m + 1.70761 * s,
    ],
    alpha,
  )
}

function fromLinear(linear: Triple, alpha: number): Colour | null {
  const [red, green, blue] = linear.map((value) => {
    const share = value <= 0.0031308 ? 12.92 * value : 1.055 * value ** (1 / 2.4) - 0.055
    return 255 * Math.min(1, Math.max(0, share))
  })
  return made(red, green, blue, alpha)
}

/**
 * Parses `color(srgb 1 1 1)`. Wider spaces are treated as sRGB, which preserves white and black.
 */
function fromSpace([space = '', ...parts]: readonly string[]): Colour | null {
  const [red = 0, green = 0, blue = 0] = parts.map((part) => shareOf(part, 1))
  const alpha = shareOf(parts[3] ?? '1', 1)
  if (space === 'srgb-linear') return fromLinear([red, green, blue], alpha)
  if (!/^(?:srgb|display-p3|a98-rgb|prophoto-rgb|rec2020)$/.test(space)) return null
  return made(255 * red, 255 * green, 255 * blue, alpha)
}

/**
 * Always mixes in sRGB, in which similar colours stay similar. Uses the light colour of
 * light-dark().
 */
function fromColours(name: string, parts: readonly string[]): Colour | null {
  if (name === 'light-dark') return readColour(parts[0] ?? '')
  const [one, other] = parts.slice(1).map(mixedPart)
  if (one == null || other == null) return null
  const share = one.share ?? (other.share === null ? 0.5 : 1 - other.share)
  const rest = other.share ?? 1 - share
  if (share + rest <= 0) return null
  const own = share / (share + rest)
  const mix = (a: number, b: number) => a * own + b * (1 - own)
  const alpha = mix(one.colour.alpha, other.colour.alpha)
  if (alpha === 0) return { ...BLACK, alpha }
  const channel = (a: number, b: number) =>
    mix(a * one.colour.alpha, b * other.colour.alpha) / alpha
  return {
    red: channel(one.colour.red, other.colour.red),
    green: channel(one.colour.green, other.colour.green),
    blue: channel(one.colour.blue, other.colour.blue),
    alpha: alpha * Math.min(1, share + rest),
  }
}

function mixedPart(text: string): { colour: Colour; share: number | null } | null {
  const percent = /(?:^|\s)([\d.]+)%(?=\s|$)/.exec(
    text.replace(/\([^()]*\)/g, (all) => '_'.repeat(all.length)),
  )
  const plain =
    percent === null
      ? text
      : text.slice(0, percent.index) + text.slice(percent.index + percent[0].length)
  const colour = readColour(plain.trim())
  return colour && { colour, share: percent === null ? null : Number(percent[1]) / 100 }
}

/** Splits at commas outside brackets and trims the parts. */
export function splitTop(text: string): string[] {
  const parts: string[] = []
  let depth = 0
  let start = 0
  for (let at = 0; at <= text.length; at++) {
    const char = text.charAt(at)
    if (char === '(') depth += 1
    else if (char === ')') depth -= 1
    else if (at === text.length || (char === ',' && depth === 0)) {
      parts.push(text.slice(start, at).trim())
      start = at + 1
    }
  }
  return parts
}

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

/**
 * Named colours (CSS Color 4 §6.1), and system colours (§6.2 and appendix A) that represent light
 * or dark paper.
 */
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

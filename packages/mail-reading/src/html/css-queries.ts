// Evaluates the conditions of at-rules (Media Queries 4, CSS Conditional 3) for a desktop screen in
// light colours.

import { isKnownSelector } from './css-selectors.ts'
import { cssTree } from './css-tree.ts'
import { isKnownProperty, isUnevaluated, isValid, lengthPx } from './css-values.ts'

/** Maximum characters of a condition; longer conditions are not evaluated. */
const QUERY_LENGTH_MAX = 1_000
const DEPTH_MAX = 8

/** The result of a condition; null if browsers differ on it or it is unsupported. */
export type Truth = boolean | null

/** Whether at least one query of the list matches; an empty list ('') matches. */
export function matchesScreen(list: string): Truth {
  if (list.length > QUERY_LENGTH_MAX) return null
  const plain = list.toLowerCase().replace(/\/\*.*?\*\//gs, ' ')
  const all = plain.split(',').map((query) => matchesQuery(query.trim()))
  return all.includes(true) ? true : all.includes(null) ? null : false
}

export function isSupported(condition: string): Truth {
  if (condition.length > QUERY_LENGTH_MAX) return null
  return judge(condition.trim(), supportsDeclaration, 0)
}

function matchesQuery(query: string): Truth {
  if (query === '') return true
  const [, modifier, type, rest] =
    /^(?:(not|only)\s+)?([a-z][\w-]*)(?:\s+and\s+(.*))?$/s.exec(query) ?? []
  if (type === undefined || type === 'not') return judge(query, matchesFeature, 0)
  const isType = type === 'screen' || type === 'all'
  const holds = rest === undefined ? true : judge(rest, matchesFeature, 0)
  if (!isType) return modifier === 'not'
  if (holds === null) return null
  return holds !== (modifier === 'not')
}

const SELECTOR_CALL = /^selector\((.*)\)$/is

/** Evaluates `not`, `and`, `or` and parentheses; `ask` evaluates the innermost conditions. */
function judge(condition: string, ask: (inner: string) => Truth, depth: number): Truth {
  if (depth > DEPTH_MAX) return null
  const text = condition.trim()
  const negated = /^not\s*(?=\()(.*)$/is.exec(text)?.[1] ?? /^not\s+(.*)$/is.exec(text)?.[1]
  if (negated !== undefined) {
    const holds = judge(negated, ask, depth + 1)
    return holds === null ? null : !holds
  }
  for (const word of ['or', 'and'] as const) {
    const parts = splitAt(text, word)
    if (parts.length === 1) continue
    const all = parts.map((part) => judge(part, ask, depth + 1))
    const decides = word === 'or'
    if (all.includes(decides)) return decides
    return all.includes(null) ? null : !decides
  }
  const [, selector] = SELECTOR_CALL.exec(text) ?? []
  if (selector !== undefined && ask === supportsDeclaration) return supportsSelector(selector)
  if (!text.startsWith('(') || !text.endsWith(')')) return null
  const inner = text.slice(1, -1).trim()
  return /^(?:\(|not[\s(]|selector\()/i.test(inner) ? judge(inner, ask, depth + 1) : ask(inner)
}

function splitAt(text: string, word: string): string[] {
  const parts: string[] = []
  let depth = 0
  let start = 0
  for (let at = 0; at < text.length; at++) {
    const char = text.charAt(at)
    if (char === '(') depth += 1
    else if (char === ')') depth -= 1
    if (depth !== 0 || text.slice(at, at + word.length).toLowerCase() !== word) continue
    const isWord = /[\s)]/.test(text.charAt(at - 1)) && /[\s(]/.test(text.charAt(at + word.length))
    if (!isWord) continue
    parts.push(text.slice(start, at))
    start = at + word.length
  }
  return [...parts, text.slice(start)]
}

function supportsSelector(text: string): Truth {
  try {
    const parsed = cssTree().parse(text, { context: 'selector' })
    return parsed.type === 'Selector' ? isKnownSelector(parsed) : null
  } catch {
    return null
  }
}

function supportsDeclaration(inner: string): Truth {
  const [, property = '', value = ''] = /^([\w-]+)\s*:\s*(.+)$/s.exec(inner) ?? []
  if (property === '') return null
  if (property.startsWith('--')) return true
  const lower = value.trim().toLowerCase()
  if (isUnevaluated(lower) || !isKnownProperty(property.toLowerCase())) return null
  return isValid(property.toLowerCase(), lower)
}

const WIDTH_PX = 1_024
const HEIGHT_PX = 768

/** Numeric features: pixels, dots per pixel, bits. */
const NUMBERS: Readonly<Record<string, number>> = {
  width: WIDTH_PX,
  height: HEIGHT_PX,
  'device-width': WIDTH_PX,
  'device-height': HEIGHT_PX,
  'inline-size': WIDTH_PX,
  'block-size': HEIGHT_PX,
  'aspect-ratio': WIDTH_PX / HEIGHT_PX,
  'device-aspect-ratio': WIDTH_PX / HEIGHT_PX,
  resolution: 1,
  '-webkit-device-pixel-ratio': 1,
  color: 8,
  'color-index': 0,
  monochrome: 0,
  grid: 0,
}
const WORDS: Readonly<Record<string, string>> = {
  'prefers-color-scheme': 'light',
  'prefers-reduced-motion': 'no-preference',
  'prefers-reduced-transparency': 'no-preference',
  'prefers-reduced-data': 'no-preference',
  'prefers-contrast': 'no-preference',
  orientation: 'landscape',
  hover: 'hover',
  'any-hover': 'hover',
  pointer: 'fine',
  'any-pointer': 'fine',
  update: 'fast',
  'overflow-block': 'scroll',
  'overflow-inline': 'scroll',
  'display-mode': 'browser',
  'color-gamut': 'srgb',
  'dynamic-range': 'standard',
  'forced-colors': 'none',
  '-ms-high-contrast': 'none',
  'inverted-colors': 'none',
  scripting: 'none',
}

/** Evaluates `name`, `name: value`, `min-name: value`, `name < value` or `value < name < value`. */
function matchesFeature(inner: string): Truth {
  const range = /^([^<>=]+?)\s*(<=?|>=?|=)\s*([^<>=]+?)(?:\s*(<=?|>=?|=)\s*([^<>=]+))?$/.exec(inner)
  if (range !== null) return matchesRange(range)
  const [name = '', value] = inner.split(/\s*:\s*/)
  const word = WORDS[name]
  if (word !== undefined) {
    return value === undefined ? !/^(?:none|no-preference)$/.test(word) : value === word
  }
  const own = NUMBERS[name]
  if (own !== undefined && value === undefined) return own !== 0
  const [, bound, plain = ''] = /^(-webkit-)?(?:min|max)-/.test(name)
    ? (/^((?:-webkit-)?(?:min|max)-)(.+)$/.exec(name) ?? [])
    : [name, '', name]
  const sized = NUMBERS[bound?.startsWith('-webkit-') ? `-webkit-${plain}` : plain]
  const wanted = value === undefined ? null : numberOf(value)
  if (sized === undefined || wanted === null) return null
  if (bound?.endsWith('min-')) return sized >= wanted
  return bound?.endsWith('max-') ? sized <= wanted : sized === wanted
}

function matchesRange([, first = '', one = '', middle = '', other, last]: RegExpExecArray): Truth {
  if (other === undefined || last === undefined) return compare(first, one, middle)
  const [left, right] = [compare(first, one, middle), compare(middle, other, last)]
  return left === null || right === null ? null : left && right
}

function compare(left: string, relation: string, right: string): Truth {
  const [a, b] = [left, right].map((side) => NUMBERS[side.trim()] ?? numberOf(side.trim()))
  if (a == null || b == null) return null
  switch (relation) {
    case '<':
      return a < b
    case '<=':
      return a <= b
    case '>':
      return a > b
    case '>=':
      return a >= b
    default:
      return a === b
  }
}

/** Parses a length in pixels, a ratio, or a resolution in dots per pixel. */
function numberOf(text: string): number | null {
  const ratio = /^(\d+(?:\.\d+)?)\s*\/\s*(\d+(?:\.\d+)?)$/.exec(text)
  if (ratio !== null) return Number(ratio[1]) / Number(ratio[2])
  const dots = /^([\d.]+)(dppx|x|dpi|dpcm)$/.exec(text)
  if (dots !== null) return Number(dots[1]) / (DOTS[dots[2] ?? ''] ?? 1)
  return lengthPx(text, 16)
}

const DOTS: Readonly<Record<string, number>> = { dppx: 1, x: 1, dpi: 96, dpcm: 37.8 }

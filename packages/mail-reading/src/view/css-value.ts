// Whether a browser takes a value for a property, or drops the declaration and keeps an earlier one
// (CSS Syntax 3 §9). In doubt it does not: values of one engine alone, and functions that are not read.

import { createRequire } from 'node:module'
import { measure } from './css-length.ts'

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

/** What Chromium takes, in the grammar of CSS Values 4. */
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
  // Of Word and Outlook alone.
  'mso-hide': 'all | none | screen | no',
}

/** Each property takes them (CSS Cascade 5 §7). */
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

/** Of other engines, of colours that no screen has, or functions that are not evaluated. */
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
 * Numbers without a unit are pixels where a document has no doctype, and nothing where it has one. Mail
 * is read in both: such a number counts where it hides, and else an earlier declaration does.
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

/** A browser closes what the end of a style leaves open, and nothing else. */
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

/** With a value of its kind in the place of each calculation; null where one is none. */
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

/** The index behind the bracket that closes the call; `at` is behind the one that opens it. */
function endOfCall(text: string, at: number): number {
  let depth = 1
  let end = at
  for (; end < text.length && depth > 0; end++) {
    const char = text.charAt(end)
    depth += char === '(' ? 1 : char === ')' ? -1 : 0
  }
  return end
}

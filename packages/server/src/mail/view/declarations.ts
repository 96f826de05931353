// The declarations of CSS that decide whether text is seen, out of style attributes and rules. All
// others are passed over.

export type Declaration = {
  readonly property: string
  /** Lower case, without `!important` and blanks around it. */
  readonly value: string
  readonly isImportant: boolean
}

const RELEVANT = new Set(
  `display visibility opacity font font-size color background background-color background-image
  width height max-width max-height overflow overflow-x overflow-y position left top right bottom
  text-indent margin margin-left margin-top clip clip-path transform filter mso-hide
  content-visibility -webkit-text-fill-color`
    .trim()
    .split(/\s+/),
)
const VALUE_LENGTH_MAX = 200
/** Of one style attribute, in characters; the rest does not count. */
const STYLE_LENGTH_MAX = 4_096
const DECLARATIONS_MAX = 200

/** The relevant ones of a style attribute, in order. Time is linear. */
export function readDeclarations(style: string): Declaration[] {
  const found: Declaration[] = []
  for (const part of splitDeclarations(withoutComments(style.slice(0, STYLE_LENGTH_MAX)))) {
    const colon = part.indexOf(':')
    if (colon === -1) continue
    const declaration = makeDeclaration(part.slice(0, colon), part.slice(colon + 1))
    if (declaration !== null) found.push(declaration)
  }
  return found
}

/** Null for a property that hides nothing, or a value that CSS would not take. */
export function makeDeclaration(name: string, text: string): Declaration | null {
  const property = unescapeCss(name).trim().toLowerCase()
  if (!RELEVANT.has(property)) return null
  const value = unescapeCss(withoutComments(text.slice(0, STYLE_LENGTH_MAX)))
    .trim()
    .toLowerCase()
  const bare = value.replace(/\s*!\s*important$/, '')
  if (bare === '' || bare.length > VALUE_LENGTH_MAX) return null
  return { property, value: bare, isImportant: bare.length < value.length }
}

function withoutComments(text: string): string {
  return text.includes('/*') ? text.replace(/\/\*.*?(?:\*\/|$)/gs, '') : text
}

/** At semicolons that are not within quotes or brackets. */
function splitDeclarations(text: string): string[] {
  if (!/["'(\\]/.test(text)) return text.split(';', DECLARATIONS_MAX)
  const parts: string[] = []
  let start = 0
  let depth = 0
  let quote = ''
  for (let at = 0; at < text.length && parts.length < DECLARATIONS_MAX; at++) {
    const char = text.charAt(at)
    if (char === '\\') at++
    else if (quote !== '') quote = char === quote ? '' : quote
    else if (char === '"' || char === "'") quote = char
    else if (char === '(') depth++
    else if (char === ')') depth = Math.max(0, depth - 1)
    else if (char === ';' && depth === 0) {
      parts.push(text.slice(start, at))
      start = at + 1
    }
  }
  parts.push(text.slice(start))
  return parts
}

/** CSS Syntax 3 §4.3.7: `\64 isplay` is `display`. */
function unescapeCss(text: string): string {
  if (!text.includes('\\')) return text
  return text.replace(/\\(?:([0-9a-f]{1,6})\s?|(.))/gis, (_, hex, char) => {
    if (hex === undefined) return String(char)
    const code = Number.parseInt(hex, 16)
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : '\ufffd'
  })
}

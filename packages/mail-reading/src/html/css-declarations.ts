// The declarations that can hide or show text, with the values that browsers accept.

import { wordSet } from '@mailroom/mail/html/tree.ts'
import type { CssNode, Declaration as DeclarationNode } from 'css-tree'
import { readColour } from './css-colours.ts'
import { cssTree } from './css-tree.ts'
import { endOfCall, isUnevaluated, isValid, WIDE_KEYWORD } from './css-values.ts'

export type Declaration = {
  readonly property: string
  /** The value in lower case except for variables, without `!important` and surrounding blanks. */
  readonly value: string
  readonly isImportant: boolean
  /** Whether browsers compute the value but the hidden text detector cannot. */
  readonly isUnclear: boolean
  /** Whether variables must be substituted first. */
  readonly hasVariables: boolean
}

const RELEVANT = wordSet(`
  display visibility opacity font font-size color background background-color background-image
  width height max-width max-height overflow overflow-x overflow-y position left top right bottom inset
  text-indent margin margin-left margin-top clip clip-path transform filter mso-hide
  content-visibility -webkit-text-fill-color all translate rotate scale zoom backface-visibility mask mask-image
  mask-size background-clip background-size line-height letter-spacing font-size-adjust
  inset-inline inset-block margin-inline margin-block contain animation animation-name content color-scheme container-type
  text-shadow -webkit-text-stroke -webkit-text-stroke-width font-family
  -webkit-text-security mix-blend-mode backdrop-filter
`)
/** Aliases of properties, for text from left to right and top to bottom. */
const ALIASES: Readonly<Record<string, string>> = Object.fromEntries(
  `-webkit-transform transform -webkit-filter filter -webkit-clip-path clip-path -webkit-opacity opacity
  -webkit-backdrop-filter backdrop-filter -webkit-animation animation -webkit-animation-name animation-name
  -webkit-mask mask -webkit-mask-image mask-image -webkit-mask-size mask-size
  -webkit-background-clip background-clip -webkit-background-size background-size
  -webkit-backface-visibility backface-visibility inline-size width block-size height max-inline-size max-width
  max-block-size max-height overflow-inline overflow-x overflow-block overflow-y inset-inline-start left
  inset-inline-end right inset-block-start top inset-block-end bottom margin-inline-start margin-left
  margin-block-start margin-top`
    .trim()
    .split(/\s+/)
    .reduce<[string, string][]>((pairs, word, index, words) => {
      if (index % 2 === 1) pairs.push([words[index - 1] ?? '', word])
      return pairs
    }, []),
)
/** Longer values are treated as invalid, because the lexer's time grows with their length. */
const VALUE_LENGTH_MAX = 2_000

/** The declarations of a style attribute that may hide text, in order. Never throws. */
export function readDeclarations(style: string): Declaration[] {
  const { parse } = cssTree()
  try {
    const list = parse(style, { context: 'declarationList', parseValue: false })
    return list.type === 'DeclarationList' ? declarationsOf(list.children) : []
  } catch {
    // The style is nested too deeply for the parser.
    return []
  }
}

export function declarationsOf(nodes: Iterable<CssNode>): Declaration[] {
  const found: Declaration[] = []
  for (const node of nodes) {
    const declaration = node.type === 'Declaration' ? makeDeclaration(node) : null
    if (declaration !== null) found.push(declaration)
  }
  return found
}

/** Null for a property that cannot hide text, and for a declaration that browsers drop. */
function makeDeclaration({ property, value, important }: DeclarationNode): Declaration | null {
  const isImportant = String(important).toLowerCase()
  if (value.type !== 'Raw' || !/^(?:true|false|important)$/.test(isImportant)) return null
  const written = unescapeCss(property)
  const raw = trimBlanks(withoutComments(value.value))
  const base = {
    isImportant: isImportant !== 'false',
    isUnclear: false,
    hasVariables: /(?<![\w-])(?:var|env)\(/i.test(raw),
  }
  if (written.startsWith('--')) {
    return raw.length > VALUE_LENGTH_MAX ? null : { ...base, property: written, value: raw }
  }
  const lower = written.toLowerCase()
  const name = ALIASES[lower] ?? lower
  if (!RELEVANT.has(name)) return null
  if (raw.length > VALUE_LENGTH_MAX) {
    return base.hasVariables ? { ...base, property: name, value: UNREAD } : null
  }
  // Variable names are case-sensitive.
  if (base.hasVariables) return { ...base, property: name, value: raw }
  const found = evaluate(name, raw)
  return found === null ? null : { ...base, ...found }
}

/** The computed form of a value without variables; null if it is invalid. */
function evaluate(
  property: string,
  raw: string,
): Pick<Declaration, 'property' | 'value' | 'isUnclear'> | null {
  const value = trimBlanks(unescapeCss(raw).toLowerCase())
  if (value === '') return null
  if (isUnclear(property, value)) return { property, value, isUnclear: true }
  return isValid(property, value) ? { property, value, isUnclear: false } : null
}

const REFERRING = /^(?:clip-path|filter|content)$/
const COLOURS = /^(?:color|background-color|-webkit-text-fill-color)$/

/** Whether browsers compute the value but the hidden text detector cannot. */
function isUnclear(property: string, value: string): boolean {
  if (isUnevaluated(value)) return true
  // The effect of a reference is unknown without the picture or shape it names.
  if (REFERRING.test(property)) return value.includes('url(')
  if (!COLOURS.test(property) || WIDE_KEYWORD.test(value)) return false
  return value !== 'currentcolor' && readColour(value) === null && isValid(property, value)
}

/** Substitutes variables. An invalid result is treated as `unset` (CSS Variables 1 §3.1). */
export function resolve(declaration: Declaration, variables: Variables): Declaration {
  const { property, value } = declaration
  const filled = substitute(value, variables)
  const found = filled === null ? null : evaluate(property, filled)
  return found === null ? { ...declaration, value: 'unset' } : { ...declaration, ...found }
}

/** Values of variables by name; undefined for an unset variable. */
export type Variables = { readonly get: (name: string) => string | undefined }

/** Maximum substitutions per value; real mail has two. */
const SUBSTITUTIONS_MAX = 16
/** Replaces a value that is not evaluated, whose effect is therefore unclear. */
const UNREAD = 'if()'

/**
 * Substitutes the variables in a value. Returns null if a variable is unset and has no fallback.
 * Safe-area insets are zero, as on a desktop.
 */
export function substitute(value: string, variables: Variables): string | null {
  let text = value
  for (let count = 0; count < SUBSTITUTIONS_MAX; count++) {
    const call = /(?<![\w-])(var|env)\(\s*([^\s,()]+)\s*/i.exec(text)
    if (call === null) return text
    const start = call.index + call[0].length
    const end = endOfCall(text, start)
    const fallback = text.charAt(start) === ',' ? text.slice(start + 1, end - 1).trim() : null
    const name = unescapeCss(call[2] ?? '')
    const set = call[1]?.toLowerCase() === 'env' ? insetOf(name) : variables.get(name)
    const filled = set ?? fallback
    if (filled === null || text.charAt(end - 1) !== ')') return null
    text = text.slice(0, call.index) + filled + text.slice(end)
    if (text.length > VALUE_LENGTH_MAX) return UNREAD
  }
  return UNREAD
}

function insetOf(name: string): string | undefined {
  return /^safe-area-inset-/i.test(name) ? '0px' : undefined
}

/** A comment separates tokens. Quotes and addresses contain no comments. */
function withoutComments(text: string): string {
  if (!text.includes('/*') || /["']|url\(/i.test(text)) return text
  return text.replace(/\/\*.*?(?:\*\/|$)/gs, ' ')
}

/** White space in CSS (CSS Syntax 3 §4.2) is narrower than in JavaScript. */
function trimBlanks(text: string): string {
  return text.replace(/^[ \t\r\n\f]+/, '').replace(/(?<![ \t\r\n\f])[ \t\r\n\f]+$/, '')
}

/**
 * Decodes escapes (CSS Syntax 3 §4.3.7): `\64 isplay` is `display`. An escape is part of a name. An
 * escape that is not a letter, or would turn the name into a number, therefore becomes a character
 * that occurs in no keyword.
 */
function unescapeCss(text: string): string {
  if (!text.includes('\\')) return text
  return text.replace(/\\(?:([0-9a-f]{1,6})\s?|(.))/gis, (_, hex, char, at: number) => {
    const code = Number.parseInt(hex, 16)
    const isCode = code > 0 && code <= 0x10ffff
    const letter = hex === undefined ? String(char) : isCode ? String.fromCodePoint(code) : ''
    const isExponent = /e/i.test(letter) && /[\d.]/.test(text.charAt(at - 1))
    return /^[a-z_-]$/i.test(letter) && !isExponent ? letter : '\ufffd'
  })
}

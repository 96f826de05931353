// The declarations of CSS that decide whether text is seen, out of style attributes and rules, as far as
// a browser takes them. All others are passed over.

import { createRequire } from 'node:module'
import type { CssNode, Declaration as DeclarationNode } from 'css-tree'
import { isValid } from './css-value.ts'

export type Declaration = {
  readonly property: string
  /** Lower case, without `!important` and blanks around it. */
  readonly value: string
  readonly isImportant: boolean
}

const RELEVANT = new Set(
  `display visibility opacity font font-size color background background-color background-image
  width height max-width max-height overflow overflow-x overflow-y position left top right bottom inset
  text-indent margin margin-left margin-top clip clip-path transform filter mso-hide
  content-visibility -webkit-text-fill-color all`
    .trim()
    .split(/\s+/),
)
/** A longer one is taken for invalid: the lexer's time grows with it. */
const VALUE_LENGTH_MAX = 2_000

// Loaded with the first style.
const load = createRequire(import.meta.url)

/** The relevant ones of a style attribute, in order. Never throws. */
export function readDeclarations(style: string): Declaration[] {
  const { parse } = load('css-tree') as typeof import('css-tree')
  try {
    const list = parse(style, { context: 'declarationList', parseValue: false })
    return list.type === 'DeclarationList' ? declarationsOf(list.children) : []
  } catch {
    // Nested too deep for the parser.
    return []
  }
}

/** Of the children of a block or of a list. */
export function declarationsOf(nodes: Iterable<CssNode>): Declaration[] {
  const found: Declaration[] = []
  for (const node of nodes) {
    const declaration = node.type === 'Declaration' ? makeDeclaration(node) : null
    if (declaration !== null) found.push(declaration)
  }
  return found
}

/** Null for a property that hides nothing, and for what a browser drops. */
function makeDeclaration({ property, value, important }: DeclarationNode): Declaration | null {
  const name = unescapeCss(property).toLowerCase()
  const isImportant = String(important).toLowerCase()
  if (!RELEVANT.has(name) || value.type !== 'Raw') return null
  if (!/^(?:true|false|important)$/.test(isImportant)) return null
  const plain = trimBlanks(unescapeCss(withoutComments(value.value)).toLowerCase())
  const filled = plain.length > VALUE_LENGTH_MAX ? null : substituted(plain)
  if (filled === null || filled === '') return null
  // What is found wrong only when it is computed was taken, and counts as this (CSS Variables 1 §3.1).
  const computed = filled !== plain && !isValid(name, filled) ? 'unset' : filled
  if (!isValid(name, computed)) return null
  return { property: name, value: computed, isImportant: isImportant !== 'false' }
}

/** A comment parts tokens; within quotes and addresses there are none. */
function withoutComments(text: string): string {
  if (!text.includes('/*') || /["']|url\(/i.test(text)) return text
  return text.replace(/\/\*.*?(?:\*\/|$)/gs, ' ')
}

/** CSS Syntax 3 §4.2 knows fewer blanks than JavaScript. */
function trimBlanks(text: string): string {
  return text.replace(/^[ \t\r\n\f]+/, '').replace(/(?<![ \t\r\n\f])[ \t\r\n\f]+$/, '')
}

/**
 * CSS Syntax 3 §4.3.7: `\64 isplay` is `display`. An escape is part of a name: what could be no letter of
 * one, or would make a number of it, becomes a character that no keyword has.
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

/**
 * Variables are not followed: `var()` counts as if its variable were not set, and so does `env()` but for the
 * insets of a screen, which a desktop has none of. Null where it cannot be told.
 */
function substituted(value: string): string | null {
  if (!/(?<![\w-])(?:var|env)\(/.test(value)) return value
  const call = /(?<![\w-])(?:var\(\s*--[\w-]+|env\(\s*([a-z-]+))\s*(?:,([^()]*))?\)/g
  const filled = value.replace(call, (_, name?: string, fallback?: string) => {
    if (name?.startsWith('safe-area-inset-')) return '0px'
    return fallback ?? NOTHING
  })
  return /(?<![\w-])(?:var|env)\(/.test(filled) ? null : trimBlanks(filled)
}

/** No value has it. */
const NOTHING = '\ufffd'

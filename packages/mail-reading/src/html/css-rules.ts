import { type HtmlElement, type HtmlParent, wordSet } from '@mailroom/mail/html/tree.ts'
import type { CssNode, Declaration as DeclarationNode, Rule, Selector } from 'css-tree'
import { isSupported, matchesScreen, QUERY_LENGTH_MAX } from './css-queries.ts'
import {
  type ComplexSelector,
  compileSelector,
  keyOf,
  Matcher,
  matchesNothing,
  specificityOf,
} from './css-selectors.ts'
import { cssTree } from './css-tree.ts'
import { isValid } from './css-values.ts'

export type Declaration = {
  readonly property: string
  /** In lower case, without `!important` and surrounding blanks. */
  readonly value: string
  readonly isImportant: boolean
}

const RELEVANT = wordSet(`
  display visibility opacity font font-size color background background-color background-image
  width height max-width max-height overflow overflow-x overflow-y position left top right bottom inset
  text-indent margin margin-left margin-top clip clip-path transform filter mso-hide
  content-visibility -webkit-text-fill-color all translate rotate scale zoom backface-visibility mask mask-image
  mask-size background-clip background-size line-height letter-spacing font-size-adjust
  inset-inline inset-block margin-inline margin-block
`)
/** Other names of the same properties, for text from left to right and from top to bottom. */
const ALIASES: Readonly<Record<string, string>> = Object.fromEntries(
  `-webkit-transform transform -webkit-filter filter -webkit-clip-path clip-path -webkit-opacity opacity
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
/** A longer value counts as invalid: the lexer's time grows with its length. */
const VALUE_LENGTH_MAX = 2_000

/** The declarations of a style attribute that may hide text, in order. Never throws. */
export function readDeclarations(style: string): Declaration[] {
  const { parse } = cssTree()
  try {
    const list = parse(style, { context: 'declarationList', parseValue: false })
    return list.type === 'DeclarationList' ? declarationsOf(list.children) : []
  } catch {
    // Nested too deep for the parser.
    return []
  }
}

function declarationsOf(nodes: Iterable<CssNode>): Declaration[] {
  const found: Declaration[] = []
  for (const node of nodes) {
    const declaration = node.type === 'Declaration' ? makeDeclaration(node) : null
    if (declaration !== null) found.push(declaration)
  }
  return found
}

/** Null for a property that hides nothing, and for a declaration that a browser drops. */
function makeDeclaration({ property, value, important }: DeclarationNode): Declaration | null {
  const written = unescapeCss(property).toLowerCase()
  const name = ALIASES[written] ?? written
  const isImportant = String(important).toLowerCase()
  if (!RELEVANT.has(name) || value.type !== 'Raw') return null
  if (!/^(?:true|false|important)$/.test(isImportant)) return null
  const plain = trimBlanks(unescapeCss(withoutComments(value.value)).toLowerCase())
  const filled = plain.length > VALUE_LENGTH_MAX ? null : substituted(plain)
  if (filled === null || filled === '') return null
  // A value that is invalid only when computed counts as `unset` (CSS Variables 1 §3.1).
  const computed = filled !== plain && !isValid(name, filled) ? 'unset' : filled
  if (!isValid(name, computed)) return null
  return { property: name, value: computed, isImportant: isImportant !== 'false' }
}

/** A comment separates tokens. Within quotes and addresses there are no comments. */
function withoutComments(text: string): string {
  if (!text.includes('/*') || /["']|url\(/i.test(text)) return text
  return text.replace(/\/\*.*?(?:\*\/|$)/gs, ' ')
}

/** CSS Syntax 3 §4.2 knows fewer blanks than JavaScript. */
function trimBlanks(text: string): string {
  return text.replace(/^[ \t\r\n\f]+/, '').replace(/(?<![ \t\r\n\f])[ \t\r\n\f]+$/, '')
}

/**
 * CSS Syntax 3 §4.3.7: `\64 isplay` is `display`. An escape is part of a name: one that stands for no letter, or
 * would make the name a number, becomes a character that no keyword has.
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
 * The value with `var()` and `env()` replaced as if their variables were not set; the insets of a screen are zero,
 * as on a desktop. Null where a call cannot be read.
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

/** A character that no value has. */
const NOTHING = '\ufffd'
/** Characters of the style sheets of a message; real ones stay under 60,000. */
const STYLE_LENGTH_MAX = 256 * 1024
const RULES_MAX = 5_000
const AT_RULES_DEPTH_MAX = 10

type StyleRule = {
  readonly order: number
  readonly specificity: number
  readonly isLayered: boolean
  readonly declarations: readonly Declaration[]
  readonly selector: ComplexSelector
}

/** The rules of a message's style sheets that can hide or show text. */
export class StyleSheet {
  readonly #rules: Rules
  readonly #matcher = new Matcher()
  readonly #tree: HtmlParent
  readonly #byKey = new Map<string, readonly StyleRule[]>()
  #names: ReadonlySet<string> | null = null

  /**
   * The first STYLE_LENGTH_MAX characters count, and RULES_MAX rules. `hasContainers`: whether any element of the
   * document is one for container queries.
   */
  constructor(texts: readonly string[], tree: HtmlParent, hasContainers: boolean) {
    this.#rules = rulesOf(texts, hasContainers)
    this.#tree = tree
  }

  /** Characters of rules that were not read, and of all rules once there are too many comparisons. */
  get unreadLength(): number {
    return this.#matcher.isSpent ? this.#rules.length : this.#rules.unread
  }

  /** Declarations of the rules that match the element; the last ones win. */
  declarationsFor(element: HtmlElement): readonly Declaration[] {
    if (this.#rules.isEmpty) return NO_DECLARATIONS
    const met: StyleRule[] = []
    this.#meet('*', element, met)
    for (const key of this.#matcher.namesOf(element)) this.#meet(key, element, met)
    if (met.length === 0 || this.#matcher.isSpent) return NO_DECLARATIONS
    met.sort((a, b) => a.specificity - b.specificity || a.order - b.order)
    if (!met.some(({ isLayered }) => isLayered)) {
      return met.flatMap(({ declarations }) => declarations)
    }
    // CSS Cascade 5 §6.4.3: a layer is weaker than what is in none, and stronger where it is important.
    const from = (isLayered: boolean, isImportant: boolean) =>
      met.flatMap((rule) =>
        rule.isLayered === isLayered
          ? rule.declarations.filter((one) => one.isImportant === isImportant)
          : [],
      )
    return [...from(true, false), ...from(false, false), ...from(false, true), ...from(true, true)]
  }

  #meet(key: string, element: HtmlElement, met: StyleRule[]): void {
    for (const rule of this.#rulesWithKey(key)) {
      if (this.#matcher.meets(rule.selector, element)) met.push(rule)
    }
  }

  /** Without the rules whose selector has a part for which the document has no element. */
  #rulesWithKey(key: string): readonly StyleRule[] {
    const known = this.#byKey.get(key)
    if (known !== undefined) return known
    const rules = this.#rules.withKey(key).filter(({ selector }) => this.#mayMeet(selector))
    this.#byKey.set(key, rules)
    return rules
  }

  #mayMeet([, ...others]: ComplexSelector): boolean {
    if (others.length === 0) return true
    this.#names ??= this.#matcher.namesWithin(this.#tree)
    const names = this.#names
    return others.every((part) => part.names.every((name) => names.has(name)))
  }
}

/** Mail repeats its style sheets, from one message of a sender to the next. */
const knownRules = new Map<string, Rules>()
/** Characters of all sheets that are kept. */
const KNOWN_LENGTH_MAX = 256 * 1024
let knownLength = 0

function rulesOf(texts: readonly string[], hasContainers: boolean): Rules {
  if (texts.length === 0) return NO_RULES
  // Markup ends a sheet, so that none holds this.
  const key = `${hasContainers}</style>${texts.join('</style>')}`
  const before = knownRules.get(key)
  if (before !== undefined) return before
  const rules = new Rules(texts, hasContainers)
  if (key.length > KNOWN_LENGTH_MAX / 4) return rules
  knownLength += key.length
  if (knownLength > KNOWN_LENGTH_MAX) {
    knownRules.clear()
    knownLength = key.length
  }
  // A copy: a slice would keep the whole HTML in memory.
  knownRules.set(Buffer.from(key).toString(), rules)
  return rules
}

const NO_STYLE_RULES: readonly StyleRule[] = []

/** Rules as they were read, in order. */
class Rules {
  readonly length: number
  readonly #byKey = new Map<string, StyleRule[]>()
  readonly #hasContainers: boolean
  #order = 0
  #room = STYLE_LENGTH_MAX
  #unread = 0
  /** Layers around what is read. */
  #layers = 0

  constructor(texts: readonly string[], hasContainers: boolean) {
    this.#hasContainers = hasContainers
    this.length = texts.reduce((sum, { length }) => sum + length, 0)
    for (const text of texts) this.#take(text, 0)
  }

  get isEmpty(): boolean {
    return this.#byKey.size === 0
  }

  /** Characters of rules that were not read. */
  get unread(): number {
    return this.#unread
  }

  withKey(key: string): readonly StyleRule[] {
    return this.#byKey.get(key) ?? NO_STYLE_RULES
  }

  #take(text: string, depth: number): void {
    const read = text.slice(0, Math.max(0, this.#room))
    this.#room -= text.length
    this.#unread += text.length - read.length
    if (read !== '') this.#read(read.replace(/<!--|-->/g, ' '), depth)
  }

  #read(text: string, depth: number): void {
    const { parse } = cssTree()
    try {
      const parsed = parse(text, { parseValue: false, parseAtrulePrelude: false })
      if (parsed.type === 'StyleSheet') for (const node of parsed.children) this.#add(node, depth)
    } catch {
      // Nested too deep for the parser: without rules more is shown, not less.
      this.#unread += text.length
    }
  }

  #add(node: CssNode, depth: number): void {
    if (node.type === 'Rule') this.#addRule(node)
    if (node.type !== 'Atrule' || depth > AT_RULES_DEPTH_MAX) return
    const prelude = node.prelude?.type === 'Raw' ? node.prelude.value : ''
    const name = node.name.toLowerCase()
    if (node.block === null) {
      const imported = name === 'import' ? importedSheet(prelude) : null
      if (imported !== null) this.#take(imported, depth + 1)
    } else if (this.#holds(name, prelude)) {
      if (name === 'layer') this.#layers += 1
      for (const inner of node.block.children) this.#add(inner, depth + 1)
      if (name === 'layer') this.#layers -= 1
    } else if (name === 'scope' || prelude.length > QUERY_LENGTH_MAX) {
      this.#unread += 1
    }
  }

  /** Whether the rules within an at-rule of that lower-case name count as if they stood outside of it. */
  #holds(name: string, prelude: string): boolean {
    if (name === 'media') return matchesScreen(prelude)
    if (name === 'supports') return isSupported(prelude)
    // A container is as large as the screen; its name does not matter.
    if (name === 'container') {
      return this.#hasContainers && matchesScreen(prelude.replace(/^[^(]*?(?=not\s|\()/i, ''))
    }
    return name === 'layer'
  }

  #addRule({ block, prelude }: Rule): void {
    for (const { type, ...node } of block.children) {
      if (type === 'Raw' && 'value' in node && HIDES_WITHIN.test(String(node.value))) {
        this.#unread += String(node.value).length
      }
    }
    const declarations = declarationsOf(block.children)
    if (declarations.length === 0 || prelude.type !== 'SelectorList') return
    for (const node of prelude.children) {
      if (this.#order >= RULES_MAX) {
        this.#unread += 1
        return
      }
      const selector = node.type === 'Selector' ? compileSelector(node, 0) : null
      if (selector === null) continue
      const order = ++this.#order
      if (matchesNothing(selector)) continue
      const specificity = specificityOf(node as Selector)
      const rule = { order, specificity, isLayered: this.#layers > 0, declarations, selector }
      const key = keyOf(selector)
      const known = this.#byKey.get(key)
      if (known === undefined) this.#byKey.set(key, [rule])
      else known.push(rule)
    }
  }
}

const NO_DECLARATIONS: readonly Declaration[] = []
const NO_RULES = new Rules([], false)
/** Nested rules are not read. */
const HIDES_WITHIN = /\{/

const DATA_SHEET = /^data:text\/css[^,]*?(;base64)?,/i

/** The style sheet in a `data:` address; null for any other address. Never throws. */
export function sheetOfAddress(address: string): string | null {
  const head = DATA_SHEET.exec(address.trim())
  if (head === null) return null
  const content = address
    .trim()
    .slice(head[0].length)
    .replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return head[1] === undefined ? content : Buffer.from(content, 'base64').toString('utf8')
}

/** The sheet of `@import url(data:…) screen`. */
function importedSheet(prelude: string): string | null {
  const found = /^\s*(?:url\(\s*)?(?:"([^"]*)"|'([^']*)'|([^\s)]+))\s*\)?\s*(.*)$/is.exec(prelude)
  if (found === null) return null
  const query = (found[4] ?? '').replace(/^(?:layer(?:\([^)]*\))?|supports\([^)]*\))\s*/i, '')
  return matchesScreen(query) ? sheetOfAddress(found[1] ?? found[2] ?? found[3] ?? '') : null
}

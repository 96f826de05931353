// The rules in a message's style sheets that can hide or show text.

import type { HtmlElement, HtmlParent } from '@mailroom/mail/html/tree.ts'
import type { Atrule, CssNode, Rule, SelectorList } from 'css-tree'
import { splitTop } from './css-colours.ts'
import { type Declaration, declarationsOf } from './css-declarations.ts'
import { isSupported, matchesScreen, type Truth } from './css-queries.ts'
import {
  type ComplexSelector,
  compileSelector,
  keyOf,
  Matcher,
  matchesNothing,
} from './css-selectors.ts'
import { cssTree } from './css-tree.ts'

/** Maximum characters of the style sheets of a message; real ones stay under 60,000. */
const STYLE_LENGTH_MAX = 256 * 1024
const RULES_MAX = 5_000
const AT_RULES_DEPTH_MAX = 10

export type StyleRule = {
  readonly order: number
  readonly specificity: number
  /** Position in the order of layers, for `compareLayers`. */
  readonly layer: readonly number[]
  readonly declarations: readonly Declaration[]
  readonly selector: ComplexSelector
  /** Whether the rule may not apply even if its selector matches. */
  readonly isUnclear: boolean
}

export type MatchedRules = {
  readonly sure: readonly StyleRule[]
  /** Rules that may or may not apply, at most MAYBE_MAX. */
  readonly unclear: readonly StyleRule[]
}

export type SheetTexts = {
  /** `isUnclear` is true for a sheet in a shadow tree or for an unknown screen. */
  readonly texts: readonly { readonly text: string; readonly isUnclear: boolean }[]
  /** Whether an element of the document is a container for queries. */
  readonly hasContainers: boolean
  readonly isQuirky: boolean
}

const UNCLEAR_MAX = 6

export class StyleSheet {
  readonly #rules: Rules
  readonly #matcher: Matcher
  readonly #tree: HtmlParent
  readonly #byKey = new Map<string, readonly StyleRule[]>()
  #names: ReadonlySet<string> | null = null

  /** Uses only the first STYLE_LENGTH_MAX characters and RULES_MAX rules. */
  constructor(sheets: SheetTexts, tree: HtmlParent) {
    this.#rules = rulesOf(sheets)
    this.#tree = tree
    this.#matcher = new Matcher(sheets.isQuirky)
  }

  /** Characters of unread rules. Once the comparisons are exhausted, characters of all rules. */
  get unreadLength(): number {
    return this.#matcher.isSpent ? this.#rules.length : this.#rules.unread
  }

  /** Variables that `@property` sets for the whole document. */
  get initialVariables(): ReadonlyMap<string, string> {
    return this.#rules.initialVariables
  }

  /** Font families that the message supplies, whose letters may look like any others. */
  get ownFonts(): ReadonlySet<string> {
    return this.#rules.ownFonts
  }

  framesOf(name: string): readonly (readonly Declaration[])[] {
    return this.#rules.animations.get(name) ?? []
  }

  rulesFor(element: HtmlElement): MatchedRules {
    if (this.#rules.isEmpty) return NO_MATCHES
    const sure: StyleRule[] = []
    const unclear: StyleRule[] = []
    for (const key of ['*', ...this.#matcher.namesOf(element)]) {
      for (const rule of this.#rulesWithKey(key)) {
        const truth = this.#matcher.meets(rule.selector, element)
        if (truth === 2 && !rule.isUnclear) sure.push(rule)
        else if (truth > 0 && unclear.length < UNCLEAR_MAX) unclear.push(rule)
      }
    }
    const isNothing = sure.length === 0 && unclear.length === 0
    return isNothing || this.#matcher.isSpent ? NO_MATCHES : { sure, unclear }
  }

  /** The rules for a key whose selector does not require an element missing from the document. */
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

const NO_MATCHES: MatchedRules = { sure: [], unclear: [] }

/**
 * Orders layers from weak to strong (CSS Cascade 5 §6.4.3). Rules outside layers are stronger than
 * any layer.
 */
export function compareLayers(one: readonly number[], other: readonly number[]): number {
  for (let at = 0; at < Math.max(one.length, other.length); at++) {
    const [a, b] = [one[at] ?? OUTSIDE, other[at] ?? OUTSIDE]
    if (a !== b) return a - b
  }
  return 0
}

/** The rank of rules in a layer that are outside its sublayers. */
const OUTSIDE = Number.MAX_SAFE_INTEGER

/** Rules are cached, because senders repeat their style sheets. */
const knownRules = new Map<string, Rules>()
/** Characters of all cached sheets. */
const KNOWN_LENGTH_MAX = 256 * 1024
let knownLength = 0

function rulesOf(sheets: SheetTexts): Rules {
  const { texts, hasContainers, isQuirky } = sheets
  if (texts.length === 0) return NO_RULES
  // The separator cannot occur in a sheet, because markup ends the sheet.
  const parts = texts.map(({ text, isUnclear }) => `${isUnclear}</style>${text}`)
  const key = `${hasContainers}${isQuirky}</style>${parts.join('</style>')}`
  const before = knownRules.get(key)
  if (before !== undefined) return before
  const rules = new Rules(sheets)
  if (key.length > KNOWN_LENGTH_MAX / 4) return rules
  knownLength += key.length
  if (knownLength > KNOWN_LENGTH_MAX) {
    knownRules.clear()
    knownLength = key.length
  }
  // The key is copied, because a slice would keep the complete HTML in memory.
  knownRules.set(Buffer.from(key).toString(), rules)
  return rules
}

const NO_STYLE_RULES: readonly StyleRule[] = []
const ANIMATIONS_MAX = 100

/** Layers by name, in order of first occurrence. */
type Layer = { readonly path: readonly number[]; readonly inner: Map<string, Layer> }

class Rules {
  readonly length: number
  readonly animations = new Map<string, (readonly Declaration[])[]>()
  readonly initialVariables = new Map<string, string>()
  readonly ownFonts = new Set<string>()
  readonly #byKey = new Map<string, StyleRule[]>()
  readonly #namespaces = new Map<string, string>()
  readonly #sheets: SheetTexts
  #order = 0
  #room = STYLE_LENGTH_MAX
  #unread = 0
  #layer: Layer = { path: [], inner: new Map() }
  #isUnclear = false
  #isShadow = false

  constructor(sheets: SheetTexts) {
    this.#sheets = sheets
    this.length = sheets.texts.reduce((sum, { text }) => sum + text.length, 0)
    for (const { text, isUnclear } of sheets.texts) {
      this.#namespaces.clear()
      this.#isShadow = isUnclear
      this.#within({ isUnclear }, () => this.#take(text, 0))
    }
  }

  get isEmpty(): boolean {
    return this.#byKey.size === 0
  }

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
      // The sheet is nested too deeply for the parser. Ignoring its rules shows more text, not
      // less.
      this.#unread += text.length
    }
  }

  #within(change: { isUnclear?: boolean; layer?: Layer }, read: () => void): void {
    const [isUnclear, layer] = [this.#isUnclear, this.#layer]
    this.#isUnclear ||= change.isUnclear ?? false
    this.#layer = change.layer ?? layer
    read()
    this.#isUnclear = isUnclear
    this.#layer = layer
  }

  #add(node: CssNode, depth: number): void {
    if (node.type === 'Rule') this.#addRule(node, depth)
    else if (node.type !== 'Atrule') return
    else if (depth > AT_RULES_DEPTH_MAX) this.#unread += 1
    else this.#addAtrule(node, depth)
  }

  #addAtrule(node: Atrule, depth: number): void {
    const prelude = node.prelude?.type === 'Raw' ? node.prelude.value : ''
    const name = node.name.toLowerCase()
    const { block } = node
    if (name === 'font-face') this.#addFont(block?.children ?? [])
    if (HARMLESS.has(name)) return
    if (name === 'namespace') this.#addNamespace(prelude)
    else if (name === 'import') this.#addImport(prelude, depth)
    else if (name === 'layer' && block === null) {
      for (const one of prelude.split(',')) this.#layerNamed(one)
    } else if (block === null) return
    else if (name === 'property') this.#addProperty(prelude, block.children)
    else if (/^(?:-webkit-)?keyframes$/.test(name)) this.#addAnimation(prelude, block.children)
    else {
      const holds = this.#holds(name, prelude)
      if (holds === false) return
      const layer = name === 'layer' ? this.#layerNamed(prelude) : this.#layer
      this.#within({ isUnclear: holds === null, layer }, () => {
        for (const inner of block.children) this.#add(inner, depth + 1)
      })
    }
  }

  /** Whether the rules in the at-rule (lower-case name) apply as if they were outside it. */
  #holds(name: string, prelude: string): Truth {
    if (name === 'media') return matchesScreen(prelude)
    if (name === 'supports') return isSupported(prelude)
    if (name === 'layer') return true
    // A container is at most as large as the screen, and its name is irrelevant.
    if (name === 'container') {
      if (!this.#sheets.hasContainers) return /style\(/i.test(prelude) ? null : false
      return matchesScreen(prelude.replace(/^[^(]*?(?=not\s|\()/i, '')) || null
    }
    return null
  }

  #layerNamed(name: string): Layer {
    const words = name.trim() === '' ? [`</${this.#order++}`] : name.trim().split('.')
    let layer = this.#layer
    for (const word of words) {
      const known = layer.inner.get(word)
      const next = known ?? { path: [...layer.path, layer.inner.size], inner: new Map() }
      if (known === undefined) layer.inner.set(word, next)
      layer = next
    }
    return layer
  }

  #addNamespace(prelude: string): void {
    const found = /^\s*([^\s"'(]*?)\s*(?:url\(\s*)?["']?([^"')]*)["']?\s*\)?\s*$/is.exec(prelude)
    const isBare = found?.[1]?.toLowerCase() === 'url'
    if (found !== null) this.#namespaces.set(isBare ? '' : (found[1] ?? ''), found[2]?.trim() ?? '')
  }

  #addFont(nodes: Iterable<CssNode>): void {
    let family = ''
    let isOwn = false
    for (const node of nodes) {
      if (node.type !== 'Declaration' || node.value.type !== 'Raw') continue
      if (node.property.toLowerCase() === 'font-family') family = familyName(node.value.value)
      if (node.property.toLowerCase() === 'src')
        isOwn ||= /url\(\s*["']?(?:data|cid):/i.test(node.value.value)
    }
    if (isOwn) this.ownFonts.add(family)
  }

  #addProperty(prelude: string, nodes: Iterable<CssNode>): void {
    for (const node of nodes) {
      const isInitial = node.type === 'Declaration' && node.property === 'initial-value'
      if (isInitial && node.value.type === 'Raw') {
        this.initialVariables.set(prelude.trim(), node.value.value.trim())
      }
    }
  }

  #addAnimation(prelude: string, nodes: Iterable<CssNode>): void {
    const frames: (readonly Declaration[])[] = []
    for (const node of nodes) {
      const frame = node.type === 'Rule' ? declarationsOf(node.block.children) : []
      if (frame.length > 0 && frames.length < UNCLEAR_MAX) frames.push(frame)
    }
    const name = prelude
      .trim()
      .replace(/^["']|["']$/g, '')
      .toLowerCase()
    if (this.animations.size < ANIMATIONS_MAX) this.animations.set(name, frames)
    else if (frames.length > 0) this.#unread += 1
  }

  /** Parses `@import url(data:…) layer(a) supports(…) screen`. */
  #addImport(prelude: string, depth: number): void {
    const found = /^\s*(?:url\(\s*)?(?:"([^"]*)"|'([^']*)'|([^\s)]+))\s*\)?\s*(.*)$/is.exec(prelude)
    const address = found?.[1] ?? found?.[2] ?? found?.[3] ?? ''
    const sheet = sheetOfAddress(address)
    let rest = found?.[4] ?? ''
    const layer = /^layer(?:\(([^)]*)\))?(?=[\s(]|$)\s*/i.exec(rest)
    rest = rest.slice(layer?.[0].length ?? 0)
    let supported: Truth = true
    if (/^supports\(/i.test(rest)) {
      const end = closingOf(rest, 'supports('.length)
      const condition = rest.slice('supports('.length, end - 1)
      supported = isSupported(
        /^\s*(?:\(|not\b|selector\()/i.test(condition) ? condition : `(${condition})`,
      )
      rest = rest.slice(end)
    }
    const holds = matchesScreen(rest.trim())
    if (holds === false || supported === false) return
    if (sheet === null) {
      if (isOfMail(address)) this.#unread += 1
      return
    }
    const change = {
      isUnclear: holds === null || supported === null,
      ...(layer !== null && { layer: this.#layerNamed(layer[1] ?? '') }),
    }
    this.#within(change, () => this.#take(sheet, depth + 1))
  }

  #addRule({ block, prelude }: Rule, depth: number): void {
    if (prelude.type !== 'SelectorList') {
      // A browser may support a selector that the parser does not.
      const text = prelude.type === 'Raw' ? prelude.value : ''
      const mayBeKnown = !INVALID_SELECTOR.test(text) && declarationsOf(block.children).length > 0
      if (mayBeKnown) this.#unread += cssTree().generate(block).length
      return
    }
    this.#addDeclarations(prelude, declarationsOf(block.children))
    for (const node of block.children) {
      if (node.type === 'Declaration') continue
      if (depth > AT_RULES_DEPTH_MAX) this.#unread += 1
      else this.#addNested(prelude, node, depth)
    }
  }

  #addDeclarations(prelude: SelectorList, declarations: readonly Declaration[]): void {
    if (declarations.length === 0) return
    const { isQuirky } = this.#sheets
    const context = { isQuirky, isShadow: this.#isShadow, namespaces: new Map(this.#namespaces) }
    const compiled = prelude.children
      .toArray()
      .map((node) => (node.type === 'Selector' ? compileSelector(node, context) : null))
    // An invalid selector invalidates its list, and browsers support different selectors.
    const isUnknown = compiled.some((one) => one?.isUnknown)
    for (const one of compiled) {
      if (this.#order >= RULES_MAX) {
        this.#unread += 1
        return
      }
      if (one === null) continue
      const order = ++this.#order
      const { selector, specificity } = one
      if (matchesNothing(selector)) continue
      const isUnclear = this.#isUnclear || isUnknown || one.isOfPart
      const layer = this.#layer.path
      const rule = { order, specificity, layer, declarations, selector, isUnclear }
      const key = keyOf(selector)
      const known = this.#byKey.get(key)
      if (known === undefined) this.#byKey.set(key, [rule])
      else known.push(rule)
    }
  }

  /** Rewrites a nested rule as the equivalent rule without nesting (CSS Nesting 1). */
  #addNested(parent: SelectorList, node: CssNode, depth: number): void {
    const { generate } = cssTree()
    const outer = generate(parent)
    const text = node.type === 'Raw' ? node.value : generate(node)
    if (!text.includes('{')) return
    if (outer.length * (text.split('&').length + text.split(',').length) > this.#room) {
      this.#unread += text.length
      return
    }
    this.#take(unnested(text, outer), depth + 1)
  }
}

export function familyName(written: string): string {
  return written
    .trim()
    .replace(/^["']|["']$/g, '')
    .toLowerCase()
}

const NO_RULES = new Rules({ texts: [], hasContainers: false, isQuirky: false })

/** Matches text that is never part of a selector, such as a `;` between rules. */
const INVALID_SELECTOR = /^\s*[;)\]}%\d<!/?]|[;{}]/

/** At-rules that cannot hide text. `@starting-style` is momentary, but longer in some engines. */
const HARMLESS = new Set([
  'charset',
  'font-face',
  'page',
  'counter-style',
  'font-feature-values',
  'font-palette-values',
  'viewport',
  '-ms-viewport',
  'view-transition',
  'color-profile',
  '-moz-keyframes',
  '-o-keyframes',
  '-ms-keyframes',
  'position-try',
])

/** Rewrites a nested block as separate rules; `outer` is the selector of the enclosing rule. */
function unnested(text: string, outer: string): string {
  let rules = ''
  let own = ''
  let at = 0
  while (at < text.length) {
    const end = endOfStatement(text, at)
    const isBlock = text.charAt(end) === '{'
    const statement = text.slice(at, end).trim()
    if (!isBlock) {
      if (statement !== '') own += `${statement};`
      at = end + 1
      continue
    }
    const close = closingOf(text, end + 1)
    const block = text.slice(end + 1, close - 1)
    if (statement !== '' && !statement.startsWith('@'))
      rules += `${related(statement, outer)}{${block}}`
    else if (/^@(?:media|supports|container|layer|scope|starting-style)\b/i.test(statement)) {
      rules += `${statement}{${outer}{${block}}}`
    }
    at = close
  }
  return `${own === '' ? '' : `${outer}{${own}}`}${rules}`
}

function related(prelude: string, outer: string): string {
  const parent = `:is(${outer})`
  return splitTop(prelude)
    .map((one) => {
      const isRelative = !/(?<!\\)&/.test(one) || /^[>+~]/.test(one)
      const named = one.replace(/(?<!\\)&/g, parent)
      return isRelative ? `${parent} ${named}` : named
    })
    .join(',')
}

/** The index of the `;` or `{` that ends the statement, or the length of the text. */
function endOfStatement(text: string, from: number): number {
  let depth = 0
  for (let at = from; at < text.length; at++) {
    const char = text.charAt(at)
    if (char === '\\') at += 1
    else if (char === '"' || char === "'") at = endOfString(text, at)
    else if (char === '(' || char === '[') depth += 1
    else if (char === ')' || char === ']') depth -= 1
    else if (depth <= 0 && (char === ';' || char === '{')) return at
  }
  return text.length
}

function endOfString(text: string, at: number): number {
  const end = text.indexOf(text.charAt(at), at + 1)
  return end === -1 ? text.length : end
}

/** The index just past the bracket, of any kind, that closes the one before `from`. */
function closingOf(text: string, from: number): number {
  let depth = 1
  for (let at = from; at < text.length; at++) {
    const char = text.charAt(at)
    if (char === '\\') at += 1
    else if (char === '"' || char === "'") at = endOfString(text, at)
    else if (char === '(' || char === '[' || char === '{') depth += 1
    else if (char === ')' || char === ']' || char === '}') depth -= 1
    if (depth === 0) return at + 1
  }
  return text.length + 1
}

const DATA_SHEET = /^data:text\/css[^,]*?(;base64)?,/i

export function isOfMail(address: string): boolean {
  return /^\s*(?:cid|mid|data|blob):/i.test(address)
}

/** The style sheet in a `data:` address, or null for any other address. Never throws. */
export function sheetOfAddress(address: string): string | null {
  const head = DATA_SHEET.exec(address.trim())
  if (head === null) return null
  const content = address
    .trim()
    .slice(head[0].length)
    .replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return head[1] === undefined ? content : Buffer.from(content, 'base64').toString('utf8')
}

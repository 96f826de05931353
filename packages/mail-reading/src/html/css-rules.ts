import {
  attributeOf,
  type HtmlElement,
  type HtmlNode,
  type HtmlParent,
  isElement,
  isText,
  wordSet,
} from '@mailroom/mail/html/tree.ts'
import type {
  AttributeSelector,
  CssNode,
  Declaration as DeclarationNode,
  Nth,
  PseudoClassSelector,
  Rule,
  Selector,
} from 'css-tree'
import { isSupported, matchesScreen, QUERY_LENGTH_MAX } from './css-queries.ts'
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
/** Comparisons of selectors with elements; beyond it no further element matches a rule. */
const COMPARISONS_MAX = 500_000
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
      if (selector.some(({ tests }) => tests.includes(never))) continue
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

type Test = (element: HtmlElement, matcher: Matcher) => boolean

/** Conditions on one element; `combinator` is its relation to the part on its left. */
type Compound = {
  readonly combinator: string
  /** As `namesOf` gives them; an id first, then classes, then the tag. */
  readonly names: readonly string[]
  readonly tests: readonly Test[]
}

/** From right to left. */
type ComplexSelector = readonly Compound[]

const PARTS_MAX = 20
/** Selectors listed within `:not()` and the like, and the depth of such lists. */
const LISTED_MAX = 5
const LISTS_DEPTH_MAX = 3

function specificityOf(selector: Selector): number {
  let sum = 0
  for (const node of selector.children) {
    const { type } = node
    if (type === 'IdSelector') sum += 10_000
    else if (type === 'TypeSelector') sum += node.name === '*' ? 0 : 1
    else if (type === 'PseudoClassSelector') sum += specificityOfPseudoClass(node)
    else if (type !== 'Combinator' && type !== 'PseudoElementSelector') sum += 100
  }
  return sum
}

/** Selectors 4 §17: that of the most specific one in its list. */
function specificityOfPseudoClass({ name, children }: PseudoClassSelector): number {
  const list = children?.first
  if (/^where$/i.test(name)) return 0
  if (list?.type !== 'SelectorList' || !/^(?:is|not|has)$/i.test(name)) return 100
  const listed = list.children.toArray().slice(0, LISTED_MAX)
  return Math.max(0, ...listed.map((one) => (one.type === 'Selector' ? specificityOf(one) : 0)))
}

/** Null for a selector of a state or of a part of an element, and for an unknown one. */
function compileSelector(selector: Selector, depth: number): ComplexSelector | null {
  if (selector.children.size > PARTS_MAX || depth > LISTS_DEPTH_MAX) return null
  const parts: Compound[] = []
  let nodes: CssNode[] = []
  let combinator = ''
  const finish = (): boolean => {
    const compound = compileCompound(nodes, combinator, depth)
    if (compound !== null) parts.unshift(compound)
    return compound !== null
  }
  for (const node of selector.children) {
    if (node.type !== 'Combinator') {
      nodes.push(node)
      continue
    }
    if (!finish()) return null
    nodes = []
    combinator = node.name
  }
  return finish() ? parts : null
}

function compileCompound(
  nodes: readonly CssNode[],
  combinator: string,
  depth: number,
): Compound | null {
  if (nodes.length === 0 && combinator === '') return NO_CONDITIONS
  const tags: string[] = []
  const ids: string[] = []
  const classes: string[] = []
  const tests: Test[] = []
  for (const node of nodes) {
    if (node.type === 'TypeSelector')
      tags.push(...(node.name === '*' ? [] : [node.name.toLowerCase()]))
    else if (node.type === 'IdSelector') ids.push(`#${node.name}`)
    else if (node.type === 'ClassSelector') classes.push(`.${node.name}`)
    else {
      const test = testOf(node, depth)
      if (test === null) return null
      tests.push(test)
    }
  }
  return { combinator, names: [...ids, ...classes, ...tags], tests }
}

function testOf(node: CssNode, depth: number): Test | null {
  if (node.type === 'AttributeSelector') return attributeTest(node)
  return node.type === 'PseudoClassSelector' ? pseudoClassTest(node, depth) : null
}

function attributeTest({ name, matcher, value }: AttributeSelector): Test | null {
  const attribute = name.name.toLowerCase()
  if (matcher === null || value === null) {
    return (element) => attributeOf(element, attribute) !== undefined
  }
  const wanted = value.type === 'String' ? value.value : value.name
  const isMet = ATTRIBUTE_MATCHERS[matcher]
  if (isMet === undefined) return null
  return (element) => {
    const own = attributeOf(element, attribute)
    return own !== undefined && isMet(own, wanted)
  }
}

const ATTRIBUTE_MATCHERS: Readonly<Record<string, (value: string, wanted: string) => boolean>> = {
  '=': (value, wanted) => value === wanted,
  '~=': (value, wanted) => value.split(/\s+/).includes(wanted),
  '|=': (value, wanted) => value === wanted || value.startsWith(`${wanted}-`),
  '^=': (value, wanted) => wanted !== '' && value.startsWith(wanted),
  '$=': (value, wanted) => wanted !== '' && value.endsWith(wanted),
  '*=': (value, wanted) => wanted !== '' && value.includes(wanted),
}

function pseudoClassTest({ name, children }: PseudoClassSelector, depth: number): Test | null {
  const simple = PSEUDO_CLASSES[name.toLowerCase()]
  const argument = children?.first ?? null
  if (argument === null) return simple ?? null
  if (argument.type === 'Nth') return nthTest(name.toLowerCase(), argument)
  if (argument.type !== 'SelectorList') return null
  const listed: ComplexSelector[] = []
  if (argument.children.size > LISTED_MAX) return null
  const isHas = /^has$/i.test(name)
  for (const one of argument.children) {
    const selector = one.type === 'Selector' ? compileSelector(one, depth + 1) : null
    if (selector === null) return null
    listed.push(selector)
  }
  if (isHas) return hasTest(listed)
  const isAny: Test = (element, matcher) => listed.some((one) => matcher.meets(one, element))
  if (/^(?:is|where)$/i.test(name)) return isAny
  return /^not$/i.test(name) ? (element, matcher) => !isAny(element, matcher) : null
}

/** Selectors 4 §4.5, of selectors that are relative to the element: `:has(> img)`. */
function hasTest(listed: readonly ComplexSelector[]): Test {
  let scope: HtmlElement | null = null
  const isScope: Test = (element) => element === scope
  const relative = listed.map((selector) => {
    const leftmost = selector.at(-1)
    // A combinator at the beginning stands behind a part without conditions.
    const parts =
      leftmost === NO_CONDITIONS
        ? selector.slice(0, -1)
        : selector.with(-1, { ...NO_CONDITIONS, ...leftmost, combinator: ' ' })
    const isBeside = /[+~]/.test(parts.at(-1)?.combinator ?? '')
    return { parts: [...parts, { ...NO_CONDITIONS, tests: [isScope] }], isBeside }
  })
  return (element, matcher) => {
    const outer = scope
    scope = element
    const found = relative.some(({ parts, isBeside }) => {
      if (!isBeside) return matcher.anyWithin(element.childNodes, parts)
      const { siblings, index } = matcher.placeOf(element)
      return matcher.anyWithin(siblings, parts, index)
    })
    scope = outer
    return found
  }
}

/** The part before a combinator that begins a selector. */
const NO_CONDITIONS: Compound = { combinator: '', names: [], tests: [] }

const isLink: Test = (element) =>
  /^(?:a|area)$/.test(element.tagName) && attributeOf(element, 'href') !== undefined
/** A state that mail at rest is not in. */
const never: Test = () => false

const PSEUDO_CLASSES: Readonly<Record<string, Test>> = {
  link: isLink,
  'any-link': isLink,
  visited: never,
  hover: never,
  active: never,
  focus: never,
  'focus-within': never,
  'focus-visible': never,
  target: never,
  'target-within': never,
  fullscreen: never,
  'popover-open': never,
  defined: () => true,
  scope: ({ tagName }) => tagName === 'html',
  root: ({ tagName }) => tagName === 'html',
  empty: ({ childNodes }) => childNodes.every((node) => !isElement(node) && !isText(node)),
  'first-child': (element, { placeOf }) => placeOf(element).index === 1,
  'last-child': (element, { placeOf }) => placeOf(element).fromEnd === 1,
  'only-child': (element, { placeOf }) =>
    placeOf(element).index === 1 && placeOf(element).fromEnd === 1,
  'first-of-type': (element, { placeOf }) => placeOf(element).ofType === 1,
  'last-of-type': (element, { placeOf }) => placeOf(element).ofTypeFromEnd === 1,
  'only-of-type': (element, { placeOf }) =>
    placeOf(element).ofType === 1 && placeOf(element).ofTypeFromEnd === 1,
}

const NTH_PLACES: Readonly<Record<string, Exclude<keyof Place, 'siblings'>>> = {
  'nth-child': 'index',
  'nth-last-child': 'fromEnd',
  'nth-of-type': 'ofType',
  'nth-last-of-type': 'ofTypeFromEnd',
}

function nthTest(name: string, { nth, selector }: Nth): Test | null {
  const place = NTH_PLACES[name]
  if (place === undefined || selector !== null) return null
  const [step, first] =
    nth.type === 'Identifier'
      ? [2, nth.name.toLowerCase() === 'odd' ? 1 : 0]
      : [Number(nth.a === '-' ? -1 : (nth.a ?? 0)), Number(nth.b ?? 0)]
  return (element, { placeOf }) => {
    const count = placeOf(element)[place] - first
    return step === 0 ? count === 0 : count % step === 0 && count / step >= 0
  }
}

/** Among its siblings, counted from 1. */
type Place = {
  readonly siblings: readonly HtmlElement[]
  readonly index: number
  readonly fromEnd: number
  readonly ofType: number
  readonly ofTypeFromEnd: number
}

class Matcher {
  readonly #places = new Map<HtmlElement, Place>()
  readonly #names = new Map<HtmlElement, readonly string[]>()
  #comparisons = 0

  /** Its tag, its id as `#id` and its classes as `.class`, each once. */
  namesOf(element: HtmlElement): readonly string[] {
    const known = this.#names.get(element)
    if (known !== undefined) return known
    const names = [element.tagName]
    for (const { name, value } of element.attrs) {
      if (name === 'id') names.push(`#${value}`)
      if (name !== 'class') continue
      for (const one of new Set(value.split(/\s+/, CLASSES_MAX))) names.push(`.${one}`)
    }
    this.#names.set(element, names)
    return names
  }

  /** Those of all elements. */
  namesWithin(tree: HtmlParent): ReadonlySet<string> {
    const names = new Set<string>()
    const visit = ({ childNodes }: HtmlParent): void => {
      for (const child of childNodes) {
        if (!isElement(child)) continue
        for (const name of this.namesOf(child)) names.add(name)
        visit(child)
      }
    }
    visit(tree)
    return names
  }

  get isSpent(): boolean {
    return this.#comparisons > COMPARISONS_MAX
  }

  meets(selector: ComplexSelector, element: HtmlElement, at = 0): boolean {
    const compound = selector[at]
    if (compound === undefined || !this.#fits(compound, element)) return false
    const next = selector[at + 1]
    if (next === undefined) return true
    const { combinator } = compound
    if (combinator === '>') {
      const above = parentOf(element)
      return above !== null && this.meets(selector, above, at + 1)
    }
    if (combinator === ' ') return this.#meetsAbove(selector, element, at + 1)
    const { siblings, index } = this.placeOf(element)
    for (let before = index - 2; before >= 0; before--) {
      if (this.meets(selector, siblings[before] as HtmlElement, at + 1)) return true
      if (combinator === '+') return false
    }
    return false
  }

  #meetsAbove(selector: ComplexSelector, element: HtmlElement, at: number): boolean {
    const compound = selector[at] as Compound
    for (let above = parentOf(element); above !== null; above = parentOf(above)) {
      if (this.meets(selector, above, at)) return true
      // The ancestors of the nearest match are ancestors of all others.
      if (compound.combinator === ' ' && this.#fits(compound, above)) return false
    }
    return false
  }

  /** Whether one of the nodes, `from` on, or an element within them, meets the selector. */
  anyWithin(nodes: readonly HtmlNode[], selector: ComplexSelector, from = 0): boolean {
    for (let at = from; at < nodes.length && !this.isSpent; at++) {
      const node = nodes[at]
      if (node === undefined || !isElement(node)) continue
      if (this.meets(selector, node) || this.anyWithin(node.childNodes, selector)) return true
    }
    return false
  }

  /** Computed once for all children of its parent. */
  readonly placeOf = (element: HtmlElement): Place => {
    const known = this.#places.get(element)
    if (known !== undefined) return known
    const siblings = (element.parentNode?.childNodes ?? [element]).filter(isElement)
    const ofType = new Map<string, number>()
    for (const { tagName } of siblings) ofType.set(tagName, (ofType.get(tagName) ?? 0) + 1)
    const seen = new Map<string, number>()
    for (const [at, one] of siblings.entries()) {
      const count = (seen.get(one.tagName) ?? 0) + 1
      seen.set(one.tagName, count)
      this.#places.set(one, {
        siblings,
        index: at + 1,
        fromEnd: siblings.length - at,
        ofType: count,
        ofTypeFromEnd: (ofType.get(one.tagName) ?? 0) - count + 1,
      })
    }
    return this.#places.get(element) ?? NO_PLACE
  }

  #fits({ names, tests }: Compound, element: HtmlElement): boolean {
    if (++this.#comparisons > COMPARISONS_MAX) return false
    if (names.length > 0) {
      const own = this.namesOf(element)
      if (!names.every((name) => own.includes(name))) return false
    }
    return tests.every((test) => test(element, this))
  }
}

const NO_PLACE: Place = { siblings: [], index: 0, fromEnd: 0, ofType: 0, ofTypeFromEnd: 0 }

function parentOf({ parentNode }: HtmlElement): HtmlElement | null {
  return parentNode !== null && isElement(parentNode) ? parentNode : null
}

const CLASSES_MAX = 50

/** The key of a rule: the id, a class or the tag of the element itself, else `*`. */
function keyOf([own]: ComplexSelector): string {
  return own?.names[0] ?? '*'
}

// The style sheets of a mail: of their rules those that can hide or show text, and which of them meet
// an element. Refuses to know what a declaration does.

import type { CssNode, Rule, Selector } from 'css-tree'
import type { Element, Parents, Root } from 'hast'
import { type Declaration, declarationsOf } from './declarations.ts'
import { holdsOutside } from './media-query.ts'
import { type Chain, chainOf, keyOf, keysOf, meets } from './simple-selector.ts'

/** Of the style sheets of a message, in characters; real ones stay under 60,000. */
const VIEW_STYLE_LENGTH_MAX = 256 * 1024
const VIEW_RULES_MAX = 5_000
/** Comparisons of a rule with an element; past it no further element meets a rule. */
const VIEW_RULE_TESTS_MAX = 500_000
/** Selectors that the tree is searched for one by one. */
const VIEW_COMPLEX_SELECTORS_MAX = 20

export type CssLibraries = {
  parse(text: string, options?: object): CssNode
  selectAll(selector: string, tree: Root): Element[]
}

type StyleRule = {
  readonly order: number
  readonly specificity: number
  readonly declarations: readonly Declaration[]
  /** Null where the library found the elements. */
  readonly chain: Chain | null
}

export class StyleSheet {
  readonly #byKey = new Map<string, StyleRule[]>()
  readonly #byElement = new Map<Element, StyleRule[]>()
  readonly #libraries: CssLibraries
  readonly #tree: Root
  #order = 0
  /** Selectors that the tree may still be searched for. */
  #searches: number
  readonly #mayLookBack: boolean
  #tests = 0

  /** Of the style elements the first VIEW_STYLE_LENGTH_MAX characters count, and VIEW_RULES_MAX rules. */
  constructor(texts: readonly string[], tree: Root, libraries: CssLibraries) {
    this.#libraries = libraries
    this.#tree = tree
    const elements = countElements(tree)
    this.#searches = Math.min(VIEW_COMPLEX_SELECTORS_MAX, Math.floor(SEARCHED_MAX / elements))
    // `a ~ b` compares each element with all before it.
    this.#mayLookBack = elements <= LOOKED_BACK_MAX
    let room = VIEW_STYLE_LENGTH_MAX
    for (const text of texts) {
      if (room > 0) this.#read(text.slice(0, room).replace(/<!--|-->/g, ' '))
      room -= text.length
    }
  }

  /** Declarations of the rules that meet the element, the ones that win last. `line`: it and its ancestors. */
  declarationsFor(line: readonly Element[]): Declaration[] {
    const element = line.at(-1)
    if (element === undefined || this.#order === 0) return []
    const met = [...(this.#byElement.get(element) ?? [])]
    for (const key of keysOf(element)) {
      for (const rule of this.#byKey.get(key) ?? []) {
        if (this.#tests++ > VIEW_RULE_TESTS_MAX) return []
        if (rule.chain !== null && meets(rule.chain, line)) met.push(rule)
      }
    }
    met.sort((a, b) => a.specificity - b.specificity || a.order - b.order)
    return met.flatMap(({ declarations }) => declarations)
  }

  #read(text: string): void {
    try {
      const parsed = this.#libraries.parse(text, { parseValue: false, parseAtrulePrelude: false })
      if (parsed.type === 'StyleSheet') for (const node of parsed.children) this.#add(node, 0)
    } catch {
      // Nested too deep for the parser: without rules more is shown, not less.
    }
  }

  #add(node: CssNode, depth: number): void {
    if (node.type === 'Rule') {
      this.#addRule(node)
      return
    }
    if (node.type !== 'Atrule' || node.block === null || depth > AT_RULES_DEPTH_MAX) return
    const prelude = node.prelude?.type === 'Raw' ? node.prelude.value : ''
    if (!holdsOutside(node.name.toLowerCase(), prelude)) return
    for (const inner of node.block.children) this.#add(inner, depth + 1)
  }

  #addRule(rule: Rule): void {
    const declarations = declarationsOf(rule.block.children)
    if (declarations.length === 0 || rule.prelude.type !== 'SelectorList') return
    for (const selector of rule.prelude.children) {
      if (this.#order >= VIEW_RULES_MAX) return
      if (selector.type === 'Selector') this.#addSelector(selector, declarations)
    }
  }

  #addSelector(selector: Selector, declarations: readonly Declaration[]): void {
    const read = chainOf(selector)
    const { specificity } = read
    const order = ++this.#order
    if (read.chain !== null) {
      const key = keyOf(read.chain)
      append(this.#byKey, key, { order, specificity, declarations, chain: read.chain })
      return
    }
    if (read.source === null || (read.source.includes('~ ') && !this.#mayLookBack)) return
    if (this.#searches-- <= 0) return
    const rule = { order, specificity, declarations, chain: null }
    for (const element of this.#find(read.source)) append(this.#byElement, element, rule)
  }

  #find(selector: string): Element[] {
    try {
      return this.#libraries.selectAll(selector, this.#tree)
    } catch {
      // What depends on a pointer or a state is not there when mail is read.
      return []
    }
  }
}

const AT_RULES_DEPTH_MAX = 10
/** Elements looked at by all searches together. */
const SEARCHED_MAX = 40_000
const LOOKED_BACK_MAX = 500

function countElements(parent: Parents): number {
  let count = 1
  for (const child of parent.children) if (child.type === 'element') count += countElements(child)
  return count
}

function append<Key>(map: Map<Key, StyleRule[]>, key: Key, rule: StyleRule): void {
  const known = map.get(key)
  if (known === undefined) map.set(key, [rule])
  else known.push(rule)
}

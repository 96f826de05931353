import { createRequire } from 'node:module'
import type { CssNode, Rule as CssRule } from 'css-tree'
import { type Declaration, declarationsOf } from '#view/declarations.ts'
import { holdsOutside } from '#view/media-query.ts'
import {
  type Chain,
  chainOf,
  keyOf,
  keysOf,
  meets,
  type StyledElement,
} from '#view/simple-selector.ts'

const load = createRequire(import.meta.url)

const SHEET_LENGTH_MAX = 32 * 1024
const RULES_MAX = 500
/** For one message. */
const TESTS_MAX = 5_000

type Rule = {
  readonly chain: Chain
  readonly weight: number
  readonly order: number
  readonly declarations: readonly Declaration[]
}

export class SimpleSheet {
  readonly #byKey = new Map<string, Rule[]>()
  #order = 0
  #tests = 0
  #room = SHEET_LENGTH_MAX
  #hasUnreadGrounds = false

  get isEmpty(): boolean {
    return this.#byKey.size === 0
  }

  /** Whether a rule that could not be read gives something a background. */
  get hasUnreadGrounds(): boolean {
    return this.#hasUnreadGrounds
  }

  /** Of all texts together the first SHEET_LENGTH_MAX characters and RULES_MAX rules count. */
  read(source: string): void {
    const text = source.slice(0, Math.max(0, this.#room)).replace(/<!--|-->/g, ' ')
    this.#room -= source.length
    const { parse } = load('css-tree') as typeof import('css-tree')
    try {
      const sheet = parse(text, { parseValue: false, parseAtrulePrelude: false })
      if (sheet.type === 'StyleSheet') for (const node of sheet.children) this.#add(node, 0)
    } catch {
      // Nested too deep for the parser.
    }
  }

  /** Declarations of the rules that meet the last of the line, the ones that win last. */
  declarationsFor(line: readonly StyledElement[]): readonly Declaration[] {
    const element = line.at(-1)
    if (element === undefined || this.isEmpty) return NONE
    const met: Rule[] = []
    for (const key of keysOf(element)) {
      for (const rule of this.#byKey.get(key) ?? []) {
        if (this.#tests++ > TESTS_MAX) return NONE
        if (meets(rule.chain, line)) met.push(rule)
      }
    }
    if (met.length === 0) return NONE
    if (met.length === 1) return met[0]?.declarations ?? NONE
    met.sort((a, b) => a.weight - b.weight || a.order - b.order)
    return met.flatMap(({ declarations }) => declarations)
  }

  #add(node: CssNode, depth: number): void {
    if (node.type === 'Rule') this.#addRule(node)
    if (node.type !== 'Atrule' || node.block === null || depth > AT_RULES_DEPTH_MAX) return
    const prelude = node.prelude?.type === 'Raw' ? node.prelude.value : ''
    if (!holdsOutside(node.name.toLowerCase(), prelude)) return
    for (const inner of node.block.children) this.#add(inner, depth + 1)
  }

  #addRule({ prelude, block }: CssRule): void {
    const declarations = declarationsOf(block.children)
    if (declarations.length === 0 || prelude.type !== 'SelectorList') return
    for (const selector of prelude.children) {
      if (this.#order >= RULES_MAX || selector.type !== 'Selector') return
      const { chain, specificity: weight } = chainOf(selector)
      if (chain === null) {
        this.#hasUnreadGrounds ||= declarations.some(({ property }) => /^backg/.test(property))
        continue
      }
      const rule = { chain, weight, order: ++this.#order, declarations }
      const key = keyOf(chain)
      const known = this.#byKey.get(key)
      if (known === undefined) this.#byKey.set(key, [rule])
      else known.push(rule)
    }
  }
}

const AT_RULES_DEPTH_MAX = 10
const NONE: readonly Declaration[] = []

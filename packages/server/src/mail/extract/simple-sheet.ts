// The style sheet of a mail as far as one pass over its text tells it: rules whose selectors are tags,
// classes and ids, below ancestors. What other selectors hide is taken for seen.

import { type Declaration, readDeclarations } from '#mail/view/declarations.ts'
import { holdsOnScreen } from '#mail/view/media-query.ts'
import { type Chain, keyOf, keysOf, meets, type StyledElement } from '#mail/view/simple-selector.ts'

const SHEET_LENGTH_MAX = 32 * 1024
const RULES_MAX = 500
const SELECTORS_LENGTH_MAX = 1_000
/** For one message: this runs where connections are served. */
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
    const text = withoutComments(source.slice(0, Math.max(0, this.#room)))
    this.#room -= source.length
    let start = 0
    for (let at = nextMark(text, 0); at !== -1 && this.#order < RULES_MAX; ) {
      const head = text.slice(start, at).trim()
      if (text.charAt(at) !== '{') {
        start = at + 1
      } else if (head.startsWith('@') && holds(head)) {
        start = at + 1
      } else {
        const end = head.startsWith('@') ? endOfBlock(text, at) : text.indexOf('}', at)
        if (end === -1) return
        if (!head.startsWith('@')) this.#addRule(head, text.slice(at + 1, end))
        start = end + 1
      }
      at = nextMark(text, start)
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

  #addRule(selectors: string, body: string): void {
    const declarations = readDeclarations(body)
    if (declarations.length === 0) return
    for (const selector of selectors.slice(-SELECTORS_LENGTH_MAX).split(',')) {
      const chain = readChain(selector.trim())
      if (chain === null) {
        this.#hasUnreadGrounds ||= declarations.some(({ property }) => /^backg/.test(property))
        continue
      }
      const order = ++this.#order
      const rule = { chain, weight: weightOf(chain), order, declarations }
      const key = keyOf(chain)
      const known = this.#byKey.get(key)
      if (known === undefined) this.#byKey.set(key, [rule])
      else known.push(rule)
    }
  }
}

const NONE: readonly Declaration[] = []

function withoutComments(text: string): string {
  const plain = text.replace(/<!--|-->/g, ' ')
  return plain.includes('/*') ? plain.replace(/\/\*[\s\S]*?(?:\*\/|$)/g, ' ') : plain
}

const MARK = /[{};]/g

function nextMark(text: string, start: number): number {
  MARK.lastIndex = start
  return MARK.exec(text)?.index ?? -1
}

/** Whether the rules within count as if they stood outside. */
function holds(head: string): boolean {
  const media = /^@media\b([\s\S]*)$/i.exec(head)
  return media === null ? /^@(?:supports|layer)\b/i.test(head) : holdsOnScreen(media[1] ?? '')
}

/** Of a block with blocks within; -1 where it has no end. */
function endOfBlock(text: string, open: number): number {
  let depth = 0
  const brace = /[{}]/g
  brace.lastIndex = open
  for (let found = brace.exec(text); found !== null; found = brace.exec(text)) {
    depth += found[0] === '{' ? 1 : -1
    if (depth === 0) return found.index
  }
  return -1
}

const COMPOUND = /^([a-z][a-z0-9]*|\*)?((?:[.#][a-z_-][\w-]*)*)$/i
const PARTS_MAX = 8

/** Null for a selector with anything but tags, classes, ids, blanks and `>`. */
function readChain(selector: string): Chain | null {
  const words = selector.replace(/\s*>\s*/g, ' > ').split(/\s+/)
  if (selector === '' || words.length > 2 * PARTS_MAX) return null
  const chain: Chain[number][] = []
  let isParent = false
  for (const word of words) {
    if (word === '>') {
      isParent = true
      continue
    }
    const parts = COMPOUND.exec(word)
    if (parts === null || word === '') return null
    const names = parts[2]?.match(/[.#][\w-]+/g) ?? []
    const tag = parts[1] === undefined || parts[1] === '*' ? null : parts[1].toLowerCase()
    const id = names.find((name) => name.startsWith('#'))?.slice(1) ?? null
    const classes = names.filter((name) => name.startsWith('.')).map((name) => name.slice(1))
    chain.unshift({ isParent, compound: { tag, id, classes, attributes: [] } })
    isParent = false
  }
  return chain.length === 0 ? null : chain
}

function weightOf(chain: Chain): number {
  return chain.reduce((sum, { compound: { tag, id, classes } }) => {
    return sum + (tag === null ? 0 : 1) + 100 * classes.length + (id === null ? 0 : 10_000)
  }, 0)
}

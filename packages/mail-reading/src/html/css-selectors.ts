// Selectors (Selectors 4), and the elements of a document that they match.

import {
  attributeOf,
  type HtmlElement,
  type HtmlNode,
  type HtmlParent,
  isElement,
  isText,
} from '@mailroom/mail/html/tree.ts'
import type { AttributeSelector, CssNode, Nth, PseudoClassSelector, Selector } from 'css-tree'

/** Comparisons of selectors with elements; beyond it no further element matches a rule. */
const COMPARISONS_MAX = 500_000

type Test = (element: HtmlElement, matcher: Matcher) => boolean

/** Conditions on one element; `combinator` is its relation to the part on its left. */
type Compound = {
  readonly combinator: string
  /** As `namesOf` gives them; an id first, then classes, then the tag. */
  readonly names: readonly string[]
  readonly tests: readonly Test[]
}

/** From right to left. */
export type ComplexSelector = readonly Compound[]

const PARTS_MAX = 20
/** Selectors listed within `:not()` and the like, and the depth of such lists. */
const LISTED_MAX = 5
const LISTS_DEPTH_MAX = 3

export function specificityOf(selector: Selector): number {
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
export function compileSelector(selector: Selector, depth: number): ComplexSelector | null {
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

/** Whether the selector asks for a state that mail at rest is not in. */
export function matchesNothing(selector: ComplexSelector): boolean {
  return selector.some(({ tests }) => tests.includes(never))
}

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

export class Matcher {
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
export function keyOf([own]: ComplexSelector): string {
  return own?.names[0] ?? '*'
}

// Selectors (Selectors 4), and the elements of a document that they match.

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
  Nth,
  PseudoClassSelector,
  Selector,
  SelectorList,
} from 'css-tree'
import { cssTree } from './css-tree.ts'

/**
 * Maximum comparisons of selectors with elements. Afterwards, no further element matches a rule.
 */
const COMPARISONS_MAX = 500_000

/** The result of a condition: 0 for no, 1 for unknown, 2 for yes. */
type Truth = 0 | 1 | 2
const NO: Truth = 0
const MAYBE: Truth = 1
const YES: Truth = 2

const both = (one: Truth, other: Truth): Truth => (one < other ? one : other)
const either = (one: Truth, other: Truth): Truth => (one > other ? one : other)
const opposite = (one: Truth): Truth => (one === MAYBE ? MAYBE : one === YES ? NO : YES)
const truthOf = (holds: boolean): Truth => (holds ? YES : NO)

type Test = (element: HtmlElement, matcher: Matcher) => Truth

/** Conditions on one element; `combinator` is its relation to the part on its left. */
type Compound = {
  readonly combinator: string
  /** The names that `namesOf` must return: an id first, then classes, then the tag. */
  readonly names: readonly string[]
  readonly tests: readonly Test[]
}

/** The parts of a selector from right to left. */
export type ComplexSelector = readonly Compound[]

/** The meaning of a selector depends on its sheet and document. */
export type SelectorContext = {
  /** Whether classes and ids ignore case, as in documents without a doctype (Selectors 4 §6). */
  readonly isQuirky: boolean
  readonly isShadow: boolean
  /** Namespace addresses by prefix; '' is for names without a prefix. */
  readonly namespaces: ReadonlyMap<string, string>
}

export type CompiledSelector = {
  readonly selector: ComplexSelector
  readonly specificity: number
  /** Whether the selector is for a part of an element, such as its first line. */
  readonly isOfPart: boolean
  /** Whether a browser may drop the selector, and its whole list, as invalid. */
  readonly isUnknown: boolean
}

const PARTS_MAX = 20
/** Maximum selectors in `:not()` and similar lists, and maximum depth of such lists. */
const LISTED_MAX = 30
const LISTS_DEPTH_MAX = 6

function specificityOf(selector: Selector): number {
  let sum = 0
  for (const node of selector.children) {
    const { type } = node
    if (type === 'IdSelector') sum += 10_000
    else if (type === 'TypeSelector') sum += node.name.endsWith('*') ? 0 : 1
    else if (type === 'PseudoClassSelector') sum += specificityOfPseudoClass(node)
    else if (type === 'PseudoElementSelector') sum += 1
    else if (type !== 'Combinator') sum += 100
  }
  return sum
}

/** The specificity of the most specific selector in its list (Selectors 4 §17). */
function specificityOfPseudoClass({ name, children }: PseudoClassSelector): number {
  const argument = children?.first
  if (/^where$/i.test(name)) return 0
  const list = argument?.type === 'Nth' ? argument.selector : argument
  const own = /^(?:is|not|has)$/i.test(name) ? 0 : 100
  if (list?.type !== 'SelectorList') return 100
  const listed = list.children.toArray().slice(0, LISTED_MAX)
  const most = listed.map((one) => (one.type === 'Selector' ? specificityOf(one) : 0))
  return own + Math.max(0, ...most)
}

/** Null for a selector that cannot hide text of the document, whatever its declarations. */
export function compileSelector(
  selector: Selector,
  context: SelectorContext,
): CompiledSelector | null {
  const compiler = new Compiler(context)
  const parts = compiler.compile(selector, 0)
  if (compiler.part === 'other') return null
  return {
    selector: parts,
    specificity: specificityOf(selector),
    isOfPart: compiler.part === 'text',
    isUnknown: compiler.isUnknown,
  }
}

/** True if every browser supports the selector; null if that is unknown. */
export function isKnownSelector(selector: Selector): true | null {
  const compiler = new Compiler({ isQuirky: false, isShadow: false, namespaces: new Map() })
  compiler.compile(selector, 0)
  return compiler.isUnknown ? null : true
}

/**
 * Pseudo-elements that can hide the element's own text. `first-letter` and `marker` are excluded,
 * because they contain too little text.
 */
const TEXT_PARTS = /^(?:first-line|details-content|slotted|part)$/
/** Pseudo-elements that contain little or no text of the document. */
const OTHER_PARTS =
  /^(?:before|after|first-letter|marker|selection|placeholder|backdrop|cue|cue-region|file-selector-button|grammar-error|spelling-error|target-text|highlight|view-transition.*|scroll-.*|column|checkmark|picker|picker-icon|search-text|-.*)$/

class Compiler {
  isUnknown = false
  part: 'whole' | 'text' | 'other' = 'whole'
  readonly #context: SelectorContext
  /** Depth of lists that ignore unknown selectors (Selectors 4 §4.2). */
  #forgiving = 0

  constructor(context: SelectorContext) {
    this.#context = context
  }

  compile(selector: Selector, depth: number): ComplexSelector {
    const parts: Compound[] = []
    let nodes: CssNode[] = []
    let combinator = ''
    for (const node of selector.children) {
      if (node.type !== 'Combinator') {
        nodes.push(node)
        continue
      }
      parts.unshift(this.#compound(nodes, combinator, depth))
      nodes = []
      combinator = node.name
    }
    const own = this.#compound(nodes, combinator, depth)
    if (parts.length < PARTS_MAX && depth <= LISTS_DEPTH_MAX) return [own, ...parts]
    return [{ ...own, combinator: '', tests: [...own.tests, maybe] }]
  }

  #compound(nodes: readonly CssNode[], combinator: string, depth: number): Compound {
    if (nodes.length === 0 && combinator === '') return NO_CONDITIONS
    const { isQuirky, namespaces } = this.#context
    const named = (name: string) => (isQuirky ? decoded(name).toLowerCase() : decoded(name))
    const tags: string[] = []
    const ids: string[] = []
    const classes: string[] = []
    const tests: Test[] = []
    if (namespaces.has('') && !nodes.some(({ type }) => type === 'TypeSelector')) {
      tests.push(namespaceTest(namespaces.get('')))
    }
    for (const node of nodes) {
      if (node.type === 'TypeSelector') {
        const [, prefix, name = ''] = /^(?:([^|]*)\|)?(.*)$/s.exec(node.name) ?? []
        if (name !== '*') tags.push(decoded(name).toLowerCase())
        const isAny = prefix === '*' || (prefix === undefined && !namespaces.has(''))
        if (!isAny) tests.push(namespaceTest(prefix === '' ? '' : namespaces.get(prefix ?? '')))
      } else if (node.type === 'IdSelector') ids.push(`#${named(node.name)}`)
      else if (node.type === 'ClassSelector') classes.push(`.${named(node.name)}`)
      else tests.push(this.#test(node, depth))
    }
    return { combinator, names: [...ids, ...classes, ...tags], tests }
  }

  #test(node: CssNode, depth: number): Test {
    if (node.type === 'AttributeSelector') return attributeTest(node)
    if (node.type === 'PseudoElementSelector') return this.#partTest(node.name.toLowerCase())
    if (node.type === 'PseudoClassSelector') return this.#pseudoClassTest(node, depth)
    return this.#unknown()
  }

  #unknown(): Test {
    if (this.#forgiving === 0) this.isUnknown = true
    return maybe
  }

  #partTest(name: string): Test {
    if (TEXT_PARTS.test(name)) this.part = this.part === 'other' ? 'other' : 'text'
    else if (OTHER_PARTS.test(name)) this.part = 'other'
    else {
      this.part = 'text'
      return this.#unknown()
    }
    return () => YES
  }

  #pseudoClassTest({ name, children }: PseudoClassSelector, depth: number): Test {
    const lower = name.toLowerCase()
    const argument = children?.first ?? null
    if (/^(?:before|after|first-line|first-letter)$/.test(lower)) return this.#partTest(lower)
    if (/^(?:host|host-context)$/.test(lower)) return this.#context.isShadow ? maybe : never
    if (argument === null) return PSEUDO_CLASSES[lower] ?? this.#unknown()
    if (argument.type === 'Nth') return this.#nthTest(lower, argument, depth)
    const words = children?.toArray() ?? []
    if (lower === 'lang') return langTest(words)
    if (lower === 'dir') return directionTest(words)
    if (argument.type !== 'SelectorList') return this.#unknown()
    const isForgiving = /^(?:is|where)$/.test(lower)
    if (isForgiving) this.#forgiving += 1
    const listed = this.#list(argument, depth)
    if (isForgiving) this.#forgiving -= 1
    if (lower === 'has') return hasTest(listed)
    const isAny = anyTest(listed)
    if (isForgiving || /^(?:matches|-webkit-any)$/.test(lower)) return isAny
    if (lower === '-moz-any') return bothTests(isAny, this.#unknown())
    if (lower === 'not') return (element, matcher) => opposite(isAny(element, matcher))
    return this.#unknown()
  }

  #list({ children }: SelectorList, depth: number): ComplexSelector[] {
    const { part } = this
    const listed: ComplexSelector[] = []
    for (const one of children) {
      if (listed.length >= LISTED_MAX || depth >= LISTS_DEPTH_MAX || one.type !== 'Selector') {
        return [...listed, [{ ...NO_CONDITIONS, tests: [maybe] }]]
      }
      // The list does not select parts of elements.
      this.part = 'whole'
      const compiled = this.compile(one, depth + 1)
      listed.push((this.part as string) === 'whole' ? compiled : [NOTHING])
    }
    this.part = part
    return listed
  }

  #nthTest(name: string, { nth, selector }: Nth, depth: number): Test {
    const place = NTH_PLACES[name]
    if (place === undefined || (selector !== null && !/child/.test(name))) return this.#unknown()
    const [step, first] =
      nth.type === 'Identifier'
        ? [2, nth.name.toLowerCase() === 'odd' ? 1 : 0]
        : [Number(nth.a === '-' ? -1 : (nth.a ?? 0)), Number(nth.b ?? 0)]
    const isCounted = (number: number) => {
      const count = number - first
      return truthOf(step === 0 ? count === 0 : count % step === 0 && count / step >= 0)
    }
    if (selector === null) return (element, { placeOf }) => isCounted(placeOf(element)[place])
    const isListed = anyTest(this.#list(selector, depth))
    return (element, matcher) => {
      const own = isListed(element, matcher)
      if (own === NO || matcher.isSpent) return NO
      const { siblings, index } = matcher.placeOf(element)
      const before = place === 'index' ? siblings.slice(0, index - 1) : siblings.slice(index)
      const truths = before.map((one) => isListed(one, matcher))
      if (own === MAYBE || truths.includes(MAYBE)) return MAYBE
      return isCounted(1 + truths.filter((one) => one === YES).length)
    }
  }
}

function decoded(name: string): string {
  return name.includes('\\') ? cssTree().ident.decode(name) : name
}

function namespaceTest(address: string | undefined): Test {
  if (address === undefined) return maybe
  return ({ namespaceURI }) => truthOf((namespaceURI as string) === address)
}

const bothTests =
  (one: Test, other: Test): Test =>
  (element, matcher) =>
    both(one(element, matcher), other(element, matcher))

function anyTest(listed: readonly ComplexSelector[]): Test {
  return (element, matcher) => {
    let truth: Truth = NO
    for (const one of listed) {
      truth = either(truth, matcher.meets(one, element))
      if (truth === YES) return YES
    }
    return truth
  }
}

function attributeTest({ name, matcher, value, flags }: AttributeSelector): Test {
  const attribute = decoded(name.name).replace(/^.*\|/s, '').toLowerCase()
  if (matcher === null || value === null) {
    return (element) => truthOf(attributeOf(element, attribute) !== undefined)
  }
  const written = value.type === 'String' ? value.value : decoded(value.name)
  const flag = typeof flags === 'string' ? flags.toLowerCase() : null
  const isFolded = flag === 'i' || (flag === null && CASELESS_ATTRIBUTES.has(attribute))
  const wanted = isFolded ? written.toLowerCase() : written
  const isMet = ATTRIBUTE_MATCHERS[matcher]
  if (isMet === undefined || (flag !== null && flag !== 'i' && flag !== 's')) return maybe
  return (element) => {
    const own = attributeOf(element, attribute)
    return truthOf(own !== undefined && isMet(isFolded ? own.toLowerCase() : own, wanted))
  }
}

/** Attributes whose values ignore case (WHATWG HTML §4.16.2). */
const CASELESS_ATTRIBUTES = wordSet(`
  accept accept-charset align alink axis bgcolor charset checked clear codetype color compact declare defer dir
  direction disabled enctype face frame hreflang http-equiv lang language link media method multiple nohref noresize
  noshade nowrap readonly rel rev rules scope scrolling selected shape target text type valign valuetype vlink
`)

const ATTRIBUTE_MATCHERS: Readonly<Record<string, (value: string, wanted: string) => boolean>> = {
  '=': (value, wanted) => value === wanted,
  '~=': (value, wanted) => value.split(/\s+/).includes(wanted),
  '|=': (value, wanted) => value === wanted || value.startsWith(`${wanted}-`),
  '^=': (value, wanted) => wanted !== '' && value.startsWith(wanted),
  '$=': (value, wanted) => wanted !== '' && value.endsWith(wanted),
  '*=': (value, wanted) => wanted !== '' && value.includes(wanted),
}

/** The words of an argument such as `en, "fr"`. */
function wordsOf(nodes: readonly CssNode[]): string[] {
  return nodes.flatMap((node) => {
    if (node.type === 'Identifier') return [decoded(node.name).toLowerCase()]
    return node.type === 'String' ? [node.value.toLowerCase()] : []
  })
}

/** Language ranges (Selectors 4 §7.2); engines differ on ranges with a `*`. */
function langTest(nodes: readonly CssNode[]): Test {
  const ranges = wordsOf(nodes)
  return (element) => {
    const own = inherited(
      element,
      (one) => attributeOf(one, 'lang') ?? attributeOf(one, 'xml:lang'),
    )
    const tag = own?.trim().toLowerCase() ?? ''
    if (ranges.some((range) => range !== '' && (tag === range || tag.startsWith(`${range}-`)))) {
      return YES
    }
    return ranges.some((range) => range.includes('*') || range === '') ? MAYBE : NO
  }
}

function directionTest(nodes: readonly CssNode[]): Test {
  const [wanted = ''] = wordsOf(nodes)
  return (element) => {
    const own = inherited(element, (one) => attributeOf(one, 'dir'))
      ?.trim()
      .toLowerCase()
    if (own === 'auto') return MAYBE
    return truthOf(wanted === (own === 'rtl' ? 'rtl' : 'ltr'))
  }
}

/** The value of the nearest element with the attribute, including the element itself. */
function inherited(
  element: HtmlElement,
  read: (one: HtmlElement) => string | undefined,
): string | undefined {
  for (let one: HtmlElement | null = element; one !== null; one = parentOf(one)) {
    const value = read(one)
    if (value !== undefined) return value
  }
  return undefined
}

/** Selectors relative to the element, such as `:has(> img)` (Selectors 4 §4.5). */
function hasTest(listed: readonly ComplexSelector[]): Test {
  let scope: HtmlElement | null = null
  const isScope: Test = (element) => truthOf(element === scope)
  const relative = listed.map((selector) => {
    const leftmost = selector.at(-1)
    // A leading combinator follows a part without conditions.
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
    let truth: Truth = NO
    for (const { parts, isBeside } of relative) {
      if (truth === YES) break
      const { siblings, index } = isBeside ? matcher.placeOf(element) : NO_PLACE
      const found = isBeside
        ? matcher.anyWithin(siblings, parts, index)
        : matcher.anyWithin(element.childNodes, parts)
      truth = either(truth, found)
    }
    scope = outer
    return truth
  }
}

/** An empty part before a leading combinator. */
const NO_CONDITIONS: Compound = { combinator: '', names: [], tests: [] }

const isLink: Test = (element) =>
  truthOf(/^(?:a|area)$/.test(element.tagName) && attributeOf(element, 'href') !== undefined)
/** A test for a state that requires interaction. */
const never: Test = () => NO
const maybe: Test = () => MAYBE
const NOTHING: Compound = { ...NO_CONDITIONS, tests: [never] }

/** Whether the selector requires a state that never occurs without interaction. */
export function matchesNothing(selector: ComplexSelector): boolean {
  return selector.some(({ tests }) => tests.includes(never))
}

const has = (element: HtmlElement, name: string) => attributeOf(element, name) !== undefined
const of =
  (tags: string, holds: (element: HtmlElement) => boolean | null): Test =>
  (element) => {
    if (!tags.split(' ').includes(element.tagName)) return NO
    const isTrue = holds(element)
    return isTrue === null ? MAYBE : truthOf(isTrue)
  }
const typeOf = (element: HtmlElement) => attributeOf(element, 'type')?.toLowerCase() ?? 'text'
const CONTROLS = 'button input select textarea optgroup option fieldset'
const isWritable = (element: HtmlElement): boolean => {
  if (has(element, 'readonly') || has(element, 'disabled')) return false
  if (element.tagName === 'textarea') return true
  if (element.tagName !== 'input') return has(element, 'contenteditable')
  return !/^(?:hidden|checkbox|radio|button|submit|reset|image|file|range|color)$/.test(
    typeOf(element),
  )
}
/** The states of form controls, which depend on their values. */
const isJudged = of('form fieldset input select textarea button output', () => null)

const PSEUDO_CLASSES: Readonly<Record<string, Test>> = {
  link: isLink,
  'any-link': isLink,
  '-webkit-any-link': isLink,
  ...Object.fromEntries(
    `visited hover active focus focus-within focus-visible target target-within target-current fullscreen
    -webkit-full-screen popover-open modal autofill -webkit-autofill user-valid user-invalid playing paused seeking
    buffering stalled muted volume-locked picture-in-picture current past future active-view-transition xr-overlay
    has-slotted`
      .trim()
      .split(/\s+/)
      .map((name) => [name, never]),
  ),
  defined: () => YES,
  scope: ({ tagName }) => truthOf(tagName === 'html'),
  root: ({ tagName }) => truthOf(tagName === 'html'),
  empty: ({ childNodes }) => truthOf(childNodes.every((node) => !isElement(node) && !isText(node))),
  'first-child': (element, { placeOf }) => truthOf(placeOf(element).index === 1),
  'last-child': (element, { placeOf }) => truthOf(placeOf(element).fromEnd === 1),
  'only-child': (element, { placeOf }) =>
    truthOf(placeOf(element).index === 1 && placeOf(element).fromEnd === 1),
  'first-of-type': (element, { placeOf }) => truthOf(placeOf(element).ofType === 1),
  'last-of-type': (element, { placeOf }) => truthOf(placeOf(element).ofTypeFromEnd === 1),
  'only-of-type': (element, { placeOf }) =>
    truthOf(placeOf(element).ofType === 1 && placeOf(element).ofTypeFromEnd === 1),
  checked: of('input option', (element) =>
    element.tagName === 'option'
      ? has(element, 'selected') || null
      : /^(?:checkbox|radio)$/.test(typeOf(element)) && has(element, 'checked'),
  ),
  disabled: of(CONTROLS, (element) => has(element, 'disabled') || isInDisabled(element)),
  enabled: of(CONTROLS, (element) => !has(element, 'disabled') && !isInDisabled(element)),
  required: of('input select textarea', (element) => has(element, 'required')),
  optional: of('input select textarea', (element) => !has(element, 'required')),
  'read-write': (element) => truthOf(isWritable(element)),
  'read-only': (element) => truthOf(!isWritable(element)),
  'placeholder-shown': of('input textarea', (element) => {
    return has(element, 'placeholder') && (attributeOf(element, 'value') ?? '') === ''
  }),
  open: of('details dialog', (element) => has(element, 'open')),
  valid: isJudged,
  invalid: isJudged,
  default: isJudged,
  indeterminate: of('input progress', () => null),
  'in-range': of('input', () => null),
  'out-of-range': of('input', () => null),
}

/** A disabled fieldset disables its content, except its legend. */
function isInDisabled(element: HtmlElement): boolean | null {
  for (let above = parentOf(element); above !== null; above = parentOf(above)) {
    if (above.tagName === 'fieldset' && has(above, 'disabled')) return null
  }
  return false
}

const NTH_PLACES: Readonly<Record<string, Exclude<keyof Place, 'siblings'>>> = {
  'nth-child': 'index',
  'nth-last-child': 'fromEnd',
  'nth-of-type': 'ofType',
  'nth-last-of-type': 'ofTypeFromEnd',
}

/** Position among siblings, starting at 1. */
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

  readonly #isQuirky: boolean

  constructor(isQuirky: boolean) {
    this.#isQuirky = isQuirky
  }

  /** The tag, the id as `#id` and the classes as `.class`, without duplicates. */
  namesOf(element: HtmlElement): readonly string[] {
    const known = this.#names.get(element)
    if (known !== undefined) return known
    // The names of SVG elements contain capitals.
    const names = [element.tagName.toLowerCase()]
    for (const { name, value: written } of element.attrs) {
      const value = this.#isQuirky ? written.toLowerCase() : written
      if (name === 'id') names.push(`#${value}`)
      if (name !== 'class') continue
      for (const one of new Set(value.split(/\s+/, CLASSES_MAX))) names.push(`.${one}`)
    }
    this.#names.set(element, names)
    return names
  }

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

  meets(selector: ComplexSelector, element: HtmlElement, at = 0): Truth {
    const compound = selector[at]
    const own = compound === undefined ? NO : this.#fits(compound, element)
    const next = selector[at + 1]
    if (compound === undefined || own === NO || next === undefined) return own
    return both(own, this.#meetsBeyond(selector, element, at))
  }

  #meetsBeyond(selector: ComplexSelector, element: HtmlElement, at: number): Truth {
    const { combinator } = selector[at] as Compound
    if (combinator === '>') {
      const above = parentOf(element)
      return above === null ? NO : this.meets(selector, above, at + 1)
    }
    if (combinator === ' ') return this.#meetsAbove(selector, element, at + 1)
    if (combinator !== '+' && combinator !== '~') return MAYBE
    const { siblings, index } = this.placeOf(element)
    let truth: Truth = NO
    for (let before = index - 2; before >= 0 && truth !== YES; before--) {
      truth = either(truth, this.meets(selector, siblings[before] as HtmlElement, at + 1))
      if (combinator === '+') break
    }
    return truth
  }

  #meetsAbove(selector: ComplexSelector, element: HtmlElement, at: number): Truth {
    const compound = selector[at] as Compound
    let truth: Truth = NO
    for (let above = parentOf(element); above !== null; above = parentOf(above)) {
      truth = either(truth, this.meets(selector, above, at))
      if (truth === YES) return YES
      // The ancestors of the nearest match are also ancestors of all other matches.
      if (compound.combinator === ' ' && this.#fits(compound, above) === YES) return truth
    }
    return truth
  }

  /** Whether a node from index `from`, or an element within it, matches the selector. */
  anyWithin(nodes: readonly HtmlNode[], selector: ComplexSelector, from = 0): Truth {
    let truth: Truth = NO
    for (let at = from; at < nodes.length && !this.isSpent && truth !== YES; at++) {
      const node = nodes[at]
      if (node === undefined || !isElement(node)) continue
      truth = either(truth, this.meets(selector, node))
      if (truth !== YES) truth = either(truth, this.anyWithin(node.childNodes, selector))
    }
    return truth
  }

  /** Positions are computed once for all children of a parent. */
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

  #fits({ names, tests }: Compound, element: HtmlElement): Truth {
    if (++this.#comparisons > COMPARISONS_MAX) return NO
    if (names.length > 0) {
      const own = this.namesOf(element)
      if (!names.every((name) => own.includes(name))) return NO
    }
    let truth: Truth = YES
    for (const test of tests) {
      truth = both(truth, test(element, this))
      if (truth === NO) return NO
    }
    return truth
  }
}

const NO_PLACE: Place = { siblings: [], index: 0, fromEnd: 0, ofType: 0, ofTypeFromEnd: 0 }

function parentOf({ parentNode }: HtmlElement): HtmlElement | null {
  return parentNode !== null && isElement(parentNode) ? parentNode : null
}

const CLASSES_MAX = 50

/** The lookup key of a rule: the id, class or tag of the element itself, or `*`. */
export function keyOf([own]: ComplexSelector): string {
  return own?.names[0] ?? '*'
}

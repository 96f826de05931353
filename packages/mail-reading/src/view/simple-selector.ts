// Selectors of tags, classes, ids and attributes, below and beside nothing but ancestors: what mail
// uses. Others are written out again for a library that knows them all.

import type { CssNode, Selector } from 'css-tree'
import type { Element } from 'hast'

/** What of an element styles go by. */
export type StyledElement = Pick<Element, 'tagName' | 'properties'>

type Compound = {
  tag: string | null
  id: string | null
  readonly classes: string[]
  readonly attributes: { name: string; value: string | null }[]
}

/** From right to left; each with how it stands to the one on its left. */
export type Chain = readonly { readonly isParent: boolean; readonly compound: Compound }[]

export type ReadSelector = {
  /** Null for one that is not simple. */
  readonly chain: Chain | null
  /** Of one that is not simple; null when nothing can be made of it. */
  readonly source: string | null
  readonly specificity: number
}

const PARTS_MAX = 20

/** A chain, or the text of the selector. */
export function chainOf(selector: Selector): ReadSelector {
  const nodes = selector.children.toArray()
  const specificity = nodes.reduce((sum, node) => sum + weightOf(node), 0)
  const chain = nodes.length > PARTS_MAX ? null : readChain(nodes)
  const source = chain === null && nodes.length <= PARTS_MAX ? sourceOf(nodes) : null
  return { chain, source, specificity }
}

function weightOf({ type }: CssNode): number {
  if (type === 'IdSelector') return 10_000
  if (type === 'TypeSelector') return 1
  return type === 'Combinator' || type === 'PseudoElementSelector' ? 0 : 100
}

function readChain(nodes: readonly CssNode[]): Chain | null {
  const chain: { isParent: boolean; compound: Compound }[] = []
  let compound = emptyCompound()
  let isParent = false
  for (const node of nodes) {
    if (node.type === 'Combinator') {
      if (node.name !== ' ' && node.name !== '>') return null
      chain.unshift({ isParent, compound })
      compound = emptyCompound()
      isParent = node.name === '>'
    } else if (!addTo(compound, node)) {
      return null
    }
  }
  chain.unshift({ isParent, compound })
  return chain
}

function emptyCompound(): Compound {
  return { tag: null, id: null, classes: [], attributes: [] }
}

function addTo(compound: Compound, node: CssNode): boolean {
  switch (node.type) {
    case 'TypeSelector':
      if (node.name !== '*') compound.tag = node.name.toLowerCase()
      return true
    case 'IdSelector':
      compound.id = node.name
      return true
    case 'ClassSelector':
      compound.classes.push(node.name)
      return true
    case 'AttributeSelector': {
      const { name, matcher, value } = node
      // hast renames attributes; these two keep their names.
      if (!/^(?:id|title)$/i.test(name.name) || (matcher !== null && matcher !== '=')) return false
      const text = value === null ? null : value.type === 'String' ? value.value : value.name
      compound.attributes.push({ name: name.name.toLowerCase(), value: text })
      return true
    }
    default:
      return false
  }
}

/** Only of parts whose text is known; what only a state or a pseudo-element meets is nothing. */
function sourceOf(nodes: readonly CssNode[]): string | null {
  let source = ''
  for (const node of nodes) {
    const text = textOf(node)
    if (text === null) return null
    source += text
  }
  return source
}

const IDENTIFIER = /^-?[a-z_][\w-]*$/i

function textOf(node: CssNode): string | null {
  switch (node.type) {
    case 'Combinator':
      return ` ${node.name} `
    case 'TypeSelector':
      return node.name === '*' || IDENTIFIER.test(node.name) ? node.name : null
    case 'IdSelector':
      return IDENTIFIER.test(node.name) ? `#${node.name}` : null
    case 'ClassSelector':
      return IDENTIFIER.test(node.name) ? `.${node.name}` : null
    case 'AttributeSelector': {
      if (!IDENTIFIER.test(node.name.name)) return null
      if (node.matcher === null || node.value === null) return `[${node.name.name}]`
      const value = node.value.type === 'String' ? node.value.value : node.value.name
      return `[${node.name.name}${node.matcher}${JSON.stringify(value)}]`
    }
    case 'PseudoClassSelector':
      return pseudoOf(node.name.toLowerCase(), node.children?.toArray() ?? [])
    default:
      return null
  }
}

function pseudoOf(name: string, children: readonly CssNode[]): string | null {
  if (/^(?:first|last|only)-(?:child|of-type)$|^(?:empty|root)$/.test(name)) return `:${name}`
  const [child] = children
  if (child?.type === 'Nth' && child.selector === null) {
    const { nth } = child
    const text = nth.type === 'Identifier' ? nth.name : formulaOf(nth)
    return text === null ? null : `:${name}(${text})`
  }
  if (/^(?:not|is|where)$/.test(name) && child?.type === 'SelectorList') {
    const inner = child.children.toArray().slice(0, LISTED_MAX).map(listedSource)
    return inner.includes(null) ? null : `:${name}(${inner.join(',')})`
  }
  return null
}

const LISTED_MAX = 5

function listedSource(node: CssNode): string | null {
  if (node.type !== 'Selector' || node.children.size > 3) return null
  return sourceOf(node.children.toArray())
}

function formulaOf(nth: CssNode): string | null {
  if (nth.type !== 'AnPlusB') return null
  const { a, b } = nth
  if (a === null) return b
  return b === null ? `${a}n` : `${a}n+${b}`.replace('+-', '-')
}

/** By which rules are looked up: the id, a class or the tag of the element itself, else `*`. */
export function keyOf(chain: Chain): string {
  const compound = chain[0]?.compound
  if (compound?.id != null) return `#${compound.id}`
  const name = compound?.classes[0]
  return name === undefined ? (compound?.tag ?? '*') : `.${name}`
}

/** All that `keyOf` may say of a chain whose last part meets the element. */
export function keysOf({ tagName, properties }: StyledElement): string[] {
  const { className, id } = properties
  const classes = Array.isArray(className) ? className.slice(0, CLASSES_MAX) : []
  return [
    '*',
    tagName,
    ...(typeof id === 'string' ? [`#${id}`] : []),
    ...new Set(classes.map((name) => `.${name}`)),
  ]
}

const CLASSES_MAX = 50

/** `line`: the ancestors of the element and itself, from the root on. */
export function meets(chain: Chain, line: readonly StyledElement[]): boolean {
  const [own, ...above] = chain
  const element = line.at(-1)
  if (own === undefined || element === undefined || !fits(own.compound, element)) return false
  let at = line.length - 2
  let { isParent } = own
  for (const link of above) {
    while (at >= 0 && !isParent && !fits(link.compound, line[at])) at--
    if (at < 0 || !fits(link.compound, line[at])) return false
    at--
    isParent = link.isParent
  }
  return true
}

function fits(compound: Compound, element: StyledElement | undefined): boolean {
  if (element === undefined) return false
  const { tag, id, classes, attributes } = compound
  if (tag !== null && tag !== element.tagName) return false
  const { properties } = element
  if (id !== null && properties.id !== id) return false
  const { className } = properties
  if (classes.length > 0) {
    if (!Array.isArray(className)) return false
    if (!classes.every((name) => className.includes(name))) return false
  }
  return attributes.every(({ name, value }) =>
    value === null ? properties[name] !== undefined : properties[name] === value,
  )
}

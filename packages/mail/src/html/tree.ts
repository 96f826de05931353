import { createRequire } from 'node:module'
import type { DefaultTreeAdapterTypes as Tree } from 'parse5'

export type HtmlElement = Tree.Element
type HtmlText = Tree.TextNode
export type HtmlNode = Tree.ChildNode
export type HtmlParent = Tree.ParentNode

/** Maximum characters of HTML; the rest is ignored. Real mail stays under 300,000. */
export const HTML_LENGTH_MAX = 1_000_000
/** HTML with more tags is not parsed: a tree of unclosed tags takes quadratic time. */
export const HTML_TAGS_MAX = 30_000
/** Newsletters nest a dozen tables, with four elements each. */
export const HTML_DEPTH_MAX = 200
/** The parser repeats unclosed elements, so a tree may be larger than its tags suggest. */
const TREE_DEPTH_MAX = 4 * HTML_DEPTH_MAX
const TREE_NODES_MAX = 4 * HTML_TAGS_MAX
/** A tree has fewer nodes than its HTML has characters, plus the few nodes that every tree has. */
const TREE_NODES_MIN = 100
/**
 * Real mail has a dozen per element. More are dropped, because repeated elements copy all of them.
 */
const ATTRIBUTES_MAX = 100

/**
 * The tree that browsers build for a document or fragment (WHATWG HTML §13.2), with `noscript` as
 * an element. Null for HTML beyond one of the bounds above. Takes up to half a second; never
 * throws.
 */
export function readHtml(html: string, tagsMax = HTML_TAGS_MAX): Tree.Document | null {
  if (html.length > HTML_LENGTH_MAX || hasTooManyTags(html, tagsMax)) return null
  const { defaultTreeAdapter: adapter, parse } = load('parse5') as typeof import('parse5')
  const nodesMax = Math.min(TREE_NODES_MAX, TREE_NODES_MIN + html.length)
  let nodes = 0
  let depth = 0
  const count = () => {
    if (++nodes > nodesMax) throw new RangeError('too many nodes')
  }
  try {
    return parse(html, {
      scriptingEnabled: false,
      treeAdapter: {
        ...adapter,
        createElement(tagName, namespace, attrs) {
          count()
          if (attrs.length > ATTRIBUTES_MAX) attrs.length = ATTRIBUTES_MAX
          return adapter.createElement(tagName, namespace, attrs)
        },
        adoptAttributes(element, attrs) {
          if (element.attrs.length < ATTRIBUTES_MAX) adapter.adoptAttributes(element, attrs)
        },
        createTextNode(text) {
          count()
          return adapter.createTextNode(text)
        },
        onItemPush() {
          if (++depth > TREE_DEPTH_MAX) throw new RangeError('too deep')
        },
        onItemPop() {
          depth -= 1
        },
      },
    })
  } catch {
    return null
  }
}

// Loaded with the first HTML, so a process that handles only plain mail never loads it.
const load = createRequire(import.meta.url)

function hasTooManyTags(html: string, tagsMax: number): boolean {
  let count = 0
  for (let at = html.indexOf('<'); at !== -1; at = html.indexOf('<', at + 1)) {
    if (++count > tagsMax) return true
  }
  return false
}

/** Makes a set from a list of words separated by white space. */
export function wordSet(list: string): ReadonlySet<string> {
  return new Set(list.trim().split(/\s+/))
}

export function isElement(node: HtmlNode | HtmlParent): node is HtmlElement {
  return 'tagName' in node
}

export function isText(node: HtmlNode | HtmlParent): node is HtmlText {
  return node.nodeName === '#text'
}

/** `name` is in lower case. */
export function attributeOf({ attrs }: HtmlElement, name: string): string | undefined {
  for (const attribute of attrs) if (attribute.name === name) return attribute.value
  return undefined
}

const BLOCKS = wordSet(
  'address article blockquote br center dd div dl dt footer form h1 h2 h3 h4 h5 h6 header hr li main nav ol p pre section table tbody td th tr ul',
)

/** Whether the element is laid out on lines of its own. */
export function isBlock(tagName: string): boolean {
  return BLOCKS.has(tagName)
}

/** The node's lines that are not blank, up to `linesMax` lines. */
export function textLines(node: HtmlNode, linesMax = Number.POSITIVE_INFINITY): string[] {
  const lines: string[] = []
  let line = ''
  const end = () => {
    const plain = line.replace(/\s+/g, ' ').trim()
    if (plain !== '' && lines.length < linesMax) lines.push(plain)
    line = ''
  }
  const visit = (inner: HtmlNode): void => {
    if (lines.length >= linesMax) return
    if (isText(inner)) line += inner.value
    if (!isElement(inner)) return
    const isOwnLine = isBlock(inner.tagName)
    if (isOwnLine) end()
    for (const child of inner.childNodes) visit(child)
    if (isOwnLine) end()
  }
  visit(node)
  end()
  return lines
}

/** The node's text on one line, at most `lengthMax` characters. */
export function textOf(node: HtmlNode | HtmlParent, lengthMax: number): string {
  let text = ''
  const visit = (inner: HtmlNode | HtmlParent): void => {
    if (text.length > lengthMax) return
    if (isText(inner)) text += inner.value
    else if ('childNodes' in inner) for (const child of inner.childNodes) visit(child)
  }
  visit(node)
  return text.slice(0, lengthMax).replace(/\s+/g, ' ').trim()
}

export function classesOf(node: HtmlNode): readonly string[] {
  return isElement(node) ? (attributeOf(node, 'class')?.split(/\s+/) ?? []) : []
}

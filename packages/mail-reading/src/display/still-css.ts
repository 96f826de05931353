// Style sheets for a page that looks the same in every window, for a person who approves a send.
// Keeps only rules and declarations that the hidden text detector understands and that do not
// depend on window, pointer or time. An omission never hides text. If it removes drawn text or an
// image, it is reported.

import { wordSet } from '@mailroom/mail/html/tree.ts'
import type { Atrule, CssNode, Declaration, Rule } from 'css-tree'
import { readColour } from '#html/css-colours.ts'
import { isSupported, matchesScreen } from '#html/css-queries.ts'
import { type ComplexSelector, compileSelector } from '#html/css-selectors.ts'
import { cssTree } from '#html/css-tree.ts'
import { lengthPx } from '#html/css-values.ts'
import { readImageAddress } from './images.ts'
import { hasState } from './safe-css.ts'

/** An omitted text or image that a style would draw, or an external style sheet or font. */
export type CssOmission = 'drawn' | 'image' | 'sheet'

export type StillCss = {
  readonly css: string
  /** Selectors of rules that display elements which are hidden by default. */
  readonly boxing: readonly ComplexSelector[]
  /** Lower-case names of the attributes that selectors use. */
  readonly attributes: ReadonlySet<string>
}

type OnOmitted = (omission: CssOmission) => void

/** The rules of a style sheet that are kept. Never throws. */
export function stillSheet(sheet: string, onOmitted: OnOmitted): StillCss {
  const writer = new StillWriter(onOmitted)
  const { parse } = cssTree()
  try {
    const read = sheet.slice(0, SHEET_LENGTH_MAX).replace(/<!--|-->/g, ' ')
    const parsed = parse(read, { parseValue: false, parseAtrulePrelude: false })
    if (parsed.type === 'StyleSheet') writer.writeAll(parsed.children, 0)
  } catch {
    // The sheet is nested too deeply for the parser.
    onOmitted('drawn')
  }
  if (sheet.length > SHEET_LENGTH_MAX) onOmitted('drawn')
  const { pieces, boxing, attributes } = writer
  return { css: pieces.join(''), boxing, attributes }
}

/** The safe declarations of a style attribute. Never throws. */
export function stillStyle(style: string, onOmitted: OnOmitted): string {
  const { parse } = cssTree()
  try {
    const list = parse(style, { context: 'declarationList', parseValue: false })
    if (list.type === 'DeclarationList') return stillDeclarations(list.children, onOmitted)
  } catch {
    // The style is nested too deeply for the parser.
  }
  onOmitted('drawn')
  return ''
}

const SHEET_LENGTH_MAX = 256 * 1024
const DEPTH_MAX = 10

class StillWriter {
  readonly pieces: string[] = []
  readonly boxing: ComplexSelector[] = []
  readonly attributes = new Set<string>()
  readonly #onOmitted: OnOmitted

  constructor(onOmitted: OnOmitted) {
    this.#onOmitted = onOmitted
  }

  writeAll(nodes: Iterable<CssNode>, depth: number): void {
    for (const node of nodes) {
      if (node.type === 'Rule') this.#writeRule(node)
      else if (node.type === 'Atrule') this.#writeAtRule(node, depth)
      else this.#omit(node)
    }
  }

  #omit(node: CssNode): void {
    omit(node, this.#onOmitted, (rule) => this.#add(rule))
  }

  /** Records the attributes that a rule tests and the elements that it displays, even if unused. */
  #add({ prelude, block }: Rule): void {
    for (const [, name = ''] of cssTree().generate(prelude).matchAll(ATTRIBUTE)) {
      this.attributes.add(name.toLowerCase())
    }
    const isBoxing = block.children.some((node) => node.type === 'Declaration' && makesBox(node))
    if (!isBoxing || prelude.type !== 'SelectorList') return
    for (const node of prelude.children) {
      const selector = readSelector(node)
      if (selector !== null) this.boxing.push(selector)
      else if (UNSHOWN_NAME.test(cssTree().generate(node))) this.#onOmitted('drawn')
    }
  }

  #writeAtRule(node: Atrule, depth: number): void {
    const prelude = node.prelude?.type === 'Raw' ? node.prelude.value : ''
    const { block } = node
    if (block !== null && depth < DEPTH_MAX && holds(node.name.toLowerCase(), prelude)) {
      this.writeAll(block.children, depth + 1)
    } else this.#omit(node)
  }

  #writeRule(rule: Rule): void {
    const { prelude, block } = rule
    const kept: string[] = []
    for (const node of prelude.type === 'SelectorList' ? prelude.children : []) {
      const text = cssTree().generate(node)
      if (readSelector(node) !== null && isPlain(text)) kept.push(text)
    }
    if (kept.length === 0) {
      this.#omit(rule)
      return
    }
    this.#add(rule)
    const declarations = stillDeclarations(block.children, this.#onOmitted)
    if (declarations === '') return
    this.pieces.push(kept.join(','), '{', declarations, '}\n')
  }
}

/** Matches an undisplayed element in a selector that cannot be parsed. */
const UNSHOWN_NAME =
  /^(?:[:[*]|.*[\s>+~(|*])?(?:head|title|style|script|noembed|noframes|datalist|\*|[:[])/i

const ATTRIBUTE = /\[\s{0,9}(?:[\w*]{0,20}\|)?([\w-]{1,100})/g

function makesBox({ property, value }: Declaration): boolean {
  const name = property.toLowerCase()
  if (name === 'all' || name.includes('\\')) return true
  return name === 'display' && !(value.type === 'Raw' && /^\s*none\s*$/i.test(value.value))
}

const CONTEXT = { isQuirky: true, isShadow: false, namespaces: new Map<string, string>() }

/** Webmail shows a message within a page that has its own language and direction. */
const OF_PAGE_AROUND = /:(?:lang|dir)\(/i

/**
 * Null for a selector that the hidden text detector cannot evaluate, or that needs the page around.
 */
function readSelector(node: CssNode): ComplexSelector | null {
  if (node.type !== 'Selector' || OF_PAGE_AROUND.test(cssTree().generate(node))) return null
  const compiled = compileSelector(node, CONTEXT)
  return compiled === null || compiled.isUnknown || compiled.isOfPart ? null : compiled.selector
}

/** Whether the rules in the at-rule apply in the reference window. */
function holds(name: string, prelude: string): boolean {
  if (name === 'media') return matchesScreen(prelude) === true
  return name === 'supports' && isSupported(prelude) === true
}

/** Excludes selectors that browsers may parse differently from our parser. */
function isPlain(selector: string): boolean {
  return !/\\|\|(?!=)|["'\s][a-z]\]/i.test(selector) && !hasState(selector)
}

/** Keeps only declarations that cannot move text above, outside or behind other text. */
function stillDeclarations(nodes: Iterable<CssNode>, onOmitted: OnOmitted): string {
  const kept: string[] = []
  for (const node of nodes) {
    const declaration = node.type === 'Declaration' ? stillDeclaration(node, onOmitted) : null
    if (declaration !== null) kept.push(declaration)
    else omit(node, onOmitted)
  }
  return kept.join(';')
}

function stillDeclaration({ property, value, important }: Declaration, onOmitted: OnOmitted) {
  const name = property.toLowerCase()
  if (!PROPERTIES.has(name) || value.type !== 'Raw') return null
  let text = value.value.trim()
  if (/^background/.test(name)) {
    // A background without its image may still have a colour.
    text = text.replace(ADDRESS, (address) => {
      if (!isRemote(address)) return address
      onOmitted('image')
      return 'none'
    })
  }
  if (!isRead(name, text.toLowerCase())) return null
  if (draws(name, text)) onOmitted('drawn')
  return `${name}:${text}${important === false ? '' : '!important'}`
}

/** Properties that cannot hide text or that the hidden text detector understands. */
const PROPERTIES = wordSet(`
  display visibility color background background-color background-image background-position
  background-position-x background-position-y background-repeat background-attachment
  font font-family font-size font-style font-weight font-variant letter-spacing line-height
  text-align text-decoration text-decoration-color text-decoration-line text-decoration-style text-transform
  text-underline-offset vertical-align white-space word-break word-wrap overflow-wrap word-spacing
  direction unicode-bidi list-style list-style-type list-style-position
  width min-width max-width min-height
  margin margin-top margin-right margin-bottom margin-left
  padding padding-top padding-right padding-bottom padding-left
  border border-top border-right border-bottom border-left
  border-width border-top-width border-right-width border-bottom-width border-left-width
  border-style border-top-style border-right-style border-bottom-style border-left-style
  border-color border-top-color border-right-color border-bottom-color border-left-color
  border-radius border-top-left-radius border-top-right-radius border-bottom-left-radius border-bottom-right-radius
  border-collapse border-spacing table-layout caption-side empty-cells float clear box-sizing
  flex flex-basis flex-direction flex-flow flex-grow flex-shrink flex-wrap gap row-gap column-gap
  align-items align-self align-content justify-content justify-items justify-self order
`)

const SHOWN_DISPLAY =
  /^(?:none|contents|(?:inline-)?(?:block|flex|grid|table)|inline|list-item|flow-root|table-(?:row|cell|caption|(?:row|header|footer)-group))$/
const WIDE = /^(?:inherit|initial|unset|revert)$/
/** Keywords in backgrounds that are not colours. */
const LAYOUT = wordSet(`
  none transparent currentcolor inherit initial unset repeat no-repeat repeat-x repeat-y space round scroll fixed local
  center top bottom left right cover contain auto border-box padding-box content-box to at from circle ellipse
  closest-side closest-corner farthest-side farthest-corner px em rem ex ch pt pc cm mm in deg rad grad turn
  rgb( rgba( hsl( hsla( linear-gradient( radial-gradient( repeating-linear-gradient( repeating-radial-gradient(
  -webkit-linear-gradient( -moz-linear-gradient( -o-linear-gradient( -webkit-radial-gradient(
`)

/** Whether the hidden text detector evaluates the value as browsers do, in any window. */
function isRead(property: string, value: string): boolean {
  if (/\\|\/\*|(?:^|[^a-z-])(?:var|env|attr|if|light-dark)\(/.test(value)) return false
  if (LENGTHS.test(property) && FAR.test(value)) return false
  if (/^(?:margin|padding|word-spacing)/.test(property)) return !/-\s*[\d.]|\(/.test(value)
  switch (property) {
    case 'display':
      return SHOWN_DISPLAY.test(value)
    case 'font-size':
    case 'letter-spacing':
      return isLength(value) || /^[a-z-]+$/.test(value)
    case 'line-height':
      return !/^[0.-]|\(|v[whib]|vm|cq/.test(value)
    case 'font':
      return !/\(|\d(?:v|cq)|\/\s*[0.-]/.test(value)
    case 'color':
      return readColour(value) !== null || WIDE.test(value) || value === 'currentcolor'
    case 'background':
    case 'background-color':
    case 'background-image':
      return isBackground(value)
    default:
      return true
  }
}

const LENGTHS =
  /^(?:margin|padding|(?:min-|max-)?width|min-height|(?:row-|column-)?gap|(?:word|letter|border)-spacing|flex|vertical)/
/** Matches lengths that move text to where it is found only by scrolling. */
const FAR = /\d{4}|(?!100%)\d{3}(?:%|r?em|ex|ch|v[whib]|in|cm)/

function isLength(value: string): boolean {
  return !/\(|\d(?:v|cq)/.test(value) && lengthPx(value, 16, 16) !== null
}

function isBackground(value: string): boolean {
  const words = value.replace(ADDRESS, ' ').replace(/#[0-9a-f]{3,8}\b/g, ' ')
  const found = words.match(/[a-z][a-z-]*\(?|-[a-z][a-z-]*\(/g) ?? []
  return found.every((word) => LAYOUT.has(word) || readColour(word) !== null)
}

/** Reports what an omitted part of a sheet would draw or fetch. */
function omit(omitted: CssNode, onOmitted: OnOmitted, onRule: (rule: Rule) => void = () => {}) {
  const { walk } = cssTree()
  walk(omitted, {
    enter(node: CssNode) {
      if (node.type === 'Rule') onRule(node)
      else if (node.type === 'Declaration') {
        const value = node.value.type === 'Raw' ? node.value.value : ''
        if (isRemote(value)) onOmitted(/^src$/i.test(node.property) ? 'sheet' : 'image')
        if (draws(node.property.toLowerCase(), value) || IMAGE_OF_MAIL.test(value)) {
          onOmitted('drawn')
        }
      } else if (node.type === 'Atrule') {
        const prelude = node.prelude?.type === 'Raw' ? node.prelude.value : ''
        const name = node.name.toLowerCase()
        if (name === 'import') onOmitted(/data:|cid:/i.test(prelude) ? 'drawn' : 'sheet')
        if (name === 'counter-style' || name.includes('\\')) onOmitted('drawn')
      } else if (node.type === 'Raw' && UNREAD_TEXT.test(node.value)) onOmitted('drawn')
    },
  })
}

/** Whether a declaration draws text of its own, or an image that the page does not show. */
function draws(property: string, value: string): boolean {
  if (property.includes('\\') || value.length > DRAWN_LENGTH_MAX) return /["'\\(]/.test(value)
  if (property === 'content') return !BLANK_CONTENT.test(value.trim())
  const addresses = value.match(ADDRESS) ?? []
  if (addresses.some((address) => /data:/i.test(address) && !isShownImage(address))) return true
  const rest = value.replace(ADDRESS, ' ')
  if (/data:/i.test(rest)) return true
  return !UNDRAWN.test(property) && /["']/.test(rest.replace(/"[ \t]*"|'[ \t]*'/g, ' '))
}

function isShownImage(address: string): boolean {
  return readImageAddress(address.replace(/^url\(\s*["']?|["']?\s*\)$/gi, '')) !== null
}

const DRAWN_LENGTH_MAX = 500_000
/** Properties whose strings are names, and properties of old programs. */
const UNDRAWN = /^(?:font|src$|filter$|grid|-ms-|mso-)/
const BLANK_CONTENT =
  /^(?:none|normal|inherit|initial|unset|revert|(?:\s|"(?:\s|\\0{0,4}(?:a0|20|200b|feff))*"|'(?:\s|\\0{0,4}(?:a0|20|200b|feff))*')*)$/i
/** Text that may draw something in a part that the parser does not understand. */
const UNREAD_TEXT = /content|counter|data:|list-style|quotes/i
const ADDRESS = /url\([^()]*\)/gi
const IMAGE_OF_MAIL = /\b(?:cid|data):/i

function isRemote(css: string): boolean {
  return /(?:url\(|["'])\s{0,9}["']?\s{0,9}(?:https?:)?\/\//i.test(css)
}

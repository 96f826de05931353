// Compares the displayed page with the message. Finds text that a recipient sees but the page
// omits, and content that is sent with the message but never displayed.

import {
  attributeOf,
  HTML_LENGTH_MAX,
  type HtmlElement,
  type HtmlNode,
  type HtmlParent,
  isElement,
  isText,
  readHtml,
  wordSet,
} from '@mailroom/mail/html/tree.ts'
import { countUnseen } from '@mailroom/mail/unseen.ts'
import { type ComplexSelector, Matcher } from '#html/css-selectors.ts'
import { tallyHidden } from '#html/find-hidden.ts'
import { visibleTextOf } from '#html/visible-text.ts'
import { countCodePoints, type Removal, RemovalTally } from '#view/removal.ts'

export type Missed = {
  /** Whether the page shows all the text that the recipient sees, in the same order. */
  readonly isShown: boolean
  /** Text that the recipient does not see. */
  readonly hidden: readonly Removal[]
  readonly unseen: number
  /** Number of characters of the HTML that no page displays. */
  readonly unshown: number
  /** Number of external style sheets and fonts. */
  readonly blockedStyles: number
}

type Judged = {
  readonly html: string
  readonly tree: HtmlParent
  readonly page: string
  /** Selectors of rules that display elements which are hidden by default. */
  readonly boxing: readonly ComplexSelector[]
  /** Attributes that selectors use but pages omit. */
  readonly omittedAttributes: ReadonlySet<string>
  readonly blockedStyles: number
}

export function findMissed(judged: Judged): Missed {
  const { html, tree, page, blockedStyles } = judged
  const counts = new UnshownCounts(judged)
  counts.visit(tree, false)
  const rest = html.slice(HTML_LENGTH_MAX)
  const isShown = !counts.isOther && hasWordsOf(visibleTextOf(page), visibleTextOf(html))
  return {
    isShown,
    hidden: findHidden(html),
    unseen: counts.unseen + countUnseen(rest),
    unshown: counts.unshown + countCodePoints(rest),
    blockedStyles,
  }
}

function findHidden(html: string): Removal[] {
  const tally = new RemovalTally()
  const tree = readHtml(html.slice(0, HTML_LENGTH_MAX))
  if (tree !== null) tallyHidden(tree, tally)
  return tally.list()
}

/** Whether `text` contains the words of `other` in order, possibly with words between them. */
function hasWordsOf(text: string, other: string): boolean {
  const words = wordsOf(text)
  let at = 0
  for (const word of wordsOf(other)) {
    while (at < words.length && words[at] !== word) at++
    if (at === words.length) return false
    at++
  }
  return true
}

/** The words without the characters that only lay out cells, quotes and lists. */
function wordsOf(text: string): string[] {
  return text.split(/\s+/).filter((word) => !/^[|>-]*$/.test(word))
}

/** Elements whose text is never displayed. */
const UNSHOWN = wordSet(`
  applet audio base canvas datalist embed frame frameset iframe input link math meta noembed
  noframes noscript object option rp script select style svg template textarea title video
`)
/** Elements that are not displayed by default but whose text a style sheet can show. */
const BOXLESS = wordSet('title style script noembed noframes datalist')
/** Attributes that contain no words, or whose words a page shows. */
const PLAIN = wordSet(`
  abbr align alink alt background bgcolor border bordercolor cellpadding cellspacing charset cite class color cols
  colspan coords dir face frame headers height href hreflang hspace http-equiv id lang link loading marginheight
  marginwidth leftmargin topmargin rightmargin bottommargin media name noshade nowrap open rel reversed role rowspan
  rows rules scope shape size sizes span src srcset start style summary tabindex target text title type usemap valign
  value version vlink vspace width xmlns xml:lang
`)
/** Attributes that have only a few words in real mail. */
const SHORT = wordSet('class id name headers lang role face rel target type media scope')
const SHORT_LENGTH_MAX = 200
/** Attribute names of programs that write and display mail. */
const NAMED =
  /^(?:(?:data|aria|xmlns|mc|v|o|w)[-:][\w-]{0,16}|x-apple-data-detectors[\w-]{0,16}|item(?:scope|type|prop|id|ref)|on[a-z]{1,20}|content|srcdoc|label|placeholder|contenteditable|spellcheck|dir|slot|hidden|property|prefix)$/
const TECHNICAL = /^(?:true|false|yes|no|on|off|auto|[\d.]{1,4}(?:px|%)?|#[0-9a-f]{3,8})?$/i
/** `meta` fields meant for programs that display mail. */
const TECHNICAL_META =
  /^(?:viewport|color-scheme|supported-color-schemes|format-detection|x-apple-disable-message-reformatting|generator|progid|originator|content-type|x-ua-compatible|robots)$/i

class UnshownCounts {
  unseen = 0
  unshown = 0
  /** Whether a style shows an undisplayed element or depends on an omitted attribute. */
  isOther = false
  readonly #boxing: readonly ComplexSelector[]
  readonly #omittedAttributes: ReadonlySet<string>
  readonly #matcher = new Matcher(true)

  constructor({ boxing, omittedAttributes }: Pick<Judged, 'boxing' | 'omittedAttributes'>) {
    this.#boxing = boxing
    this.#omittedAttributes = omittedAttributes
  }

  visit(parent: HtmlParent, isUnshown: boolean): void {
    for (const node of parent.childNodes) this.#visitNode(node, isUnshown)
  }

  #visitNode(node: HtmlNode, isUnshown: boolean): void {
    if (isText(node)) {
      this.unseen += countUnseen(node.value)
      if (isUnshown) this.unshown += lengthOf(node.value)
    } else if (isElement(node)) this.#visitElement(node, isUnshown)
    else if ('data' in node) {
      this.unseen += countUnseen(node.data)
      this.unshown += lengthOf(node.data)
    }
  }

  #visitElement(element: HtmlElement, isWithinUnshown: boolean): void {
    const { tagName } = element
    const isUnshown = isWithinUnshown || UNSHOWN.has(tagName)
    for (const { name, value } of element.attrs) {
      this.unseen += countUnseen(value)
      this.unshown += unshownOf(element, name, value, isUnshown)
      this.isOther ||= this.#omittedAttributes.has(name) || isImageOfMail(name, value)
    }
    if (BOXLESS.has(tagName)) this.isOther ||= this.#isBoxed(element)
    if (tagName === 'style') this.#visitStyle(element)
    else this.visit(element, isUnshown)
    if ('content' in element) this.visit((element as { content: HtmlParent }).content, true)
  }

  #visitStyle(element: HtmlElement): void {
    const css = element.childNodes.map((node) => (isText(node) ? node.value : '')).join('')
    this.unseen += countUnseen(css)
    const isSheet = /^\s*(?:text\/css)?\s*$/i.test(attributeOf(element, 'type') ?? '')
    this.unshown += isSheet && css.includes('{') ? unshownOfCss(css) : lengthOf(css)
  }

  #isBoxed(element: HtmlElement): boolean {
    if (!element.childNodes.some((node) => isText(node) && node.value.trim() !== '')) return false
    if (/(?:display\s{0,9}:(?!\s{0,9}none)|all\s{0,9}:)/i.test(attributeOf(element, 'style') ?? ''))
      return true
    return this.#boxing.some((selector) => this.#matcher.meets(selector, element))
  }
}

function unshownOf(
  { tagName, attrs }: HtmlElement,
  name: string,
  value: string,
  isUnshown: boolean,
) {
  if (name === 'style') return unshownOfCss(value)
  if (tagName === 'meta') {
    const isTechnical = attrs.some(
      (one) => /^(?:name|http-equiv)$/.test(one.name) && TECHNICAL_META.test(one.value.trim()),
    )
    if (name === 'content' && isTechnical && value.length <= SHORT_LENGTH_MAX) return 0
  }
  const isOfUnshown = isUnshown && /^(?:alt|title|value|label|summary|placeholder)$/.test(name)
  if (!PLAIN.has(name) || isOfUnshown) {
    const ofName = isOfUnshown || NAMED.test(name) ? 0 : countCodePoints(name)
    return ofName + (TECHNICAL.test(value) || name.startsWith('xmlns') ? 0 : lengthOf(value))
  }
  return SHORT.has(name) && value.length > SHORT_LENGTH_MAX ? lengthOf(value) : 0
}

/** Image sources other than `src` are omitted. */
function isImageOfMail(name: string, value: string): boolean {
  return /^(?:srcset|poster|lowsrc|dynsrc)$/.test(name) && /\b(?:data|cid):/i.test(value)
}

/** Number of characters in comments and variables. */
function unshownOfCss(css: string): number {
  let length = 0
  for (let start = css.indexOf('/*'); start !== -1; ) {
    const end = css.indexOf('*/', start + 2)
    length += lengthOf(css.slice(start + 2, end === -1 ? css.length : end))
    start = end === -1 ? -1 : css.indexOf('/*', end + 2)
  }
  for (const [, value = ''] of css.matchAll(VARIABLE)) length += lengthOf(value)
  return length
}

const VARIABLE = /(?<![\w-])--[\w-]{1,100}\s{0,9}:([^;{}]{0,10000})/g

function lengthOf(text: string): number {
  return countCodePoints(text.trim())
}

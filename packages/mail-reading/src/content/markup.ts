// Extracts the text between the tags of HTML, with the source position of each character. Tokenizes
// like a browser (WHATWG HTML §13.2.5), in linear time and without a tree, so that it can handle
// any HTML.

import { isBlock, wordSet } from '@mailroom/mail/html/tree.ts'
import { type Reading, ReadingWriter } from './reading.ts'

/**
 * The text without tags and comments, with references decoded. Tags of blocks become line ends and
 * other tags are removed, so a word with tags inside is one word. Includes hidden text, scripts and
 * styles.
 */
export function readMarkup(html: string): Reading {
  return new MarkupReader(html).read()
}

/** The source of all tags, comments and raw-text elements (such as styles), one per line. */
export function readTags(html: string): string {
  const reader = new MarkupReader(html)
  reader.read()
  return reader.sources.join('\n')
}

/** The HTML with its references decoded, even in attributes, comments and scripts. */
export function readReferences(html: string): Reading {
  const writer = new ReadingWriter(html)
  keepDecoded(writer, html, 0, html.length)
  return writer.finish()
}

/** Elements that separate words without being blocks. */
const APART = wordSet('aside body button caption figcaption figure html option section select')
/** Elements whose content has no tags. */
const RAW = wordSet('iframe noembed noframes script style textarea title xmp')

class MarkupReader {
  readonly #html: string
  readonly #writer: ReadingWriter
  readonly sources: string[] = []
  #at = 0

  constructor(html: string) {
    this.#html = html
    this.#writer = new ReadingWriter(html)
  }

  read(): Reading {
    const html = this.#html
    while (this.#at < html.length) {
      const open = html.indexOf('<', this.#at)
      const end = open === -1 ? html.length : open
      keepDecoded(this.#writer, html, this.#at, end)
      this.#at = end
      if (open !== -1) this.#readTag(open)
    }
    return this.#writer.finish()
  }

  #readTag(open: number): void {
    const html = this.#html
    const name = nameAt(html, open)
    if (name === null) {
      const end = endOfComment(html, open)
      // A `<` that starts no tag is an ordinary character.
      if (end === null) this.#writer.keep(open, open + 1)
      else this.sources.push(html.slice(open, end))
      this.#at = end ?? open + 1
      return
    }
    const end = endOfTag(html, open + 1 + name.length)
    this.sources.push(html.slice(open, end))
    const tagName = name.replace('/', '').toLowerCase()
    if (isBlock(tagName) || APART.has(tagName)) this.#writer.replace(open, end, '\n')
    this.#at = end
    if (RAW.has(name.toLowerCase())) this.#readRaw(name.toLowerCase())
    else if (tagName === 'plaintext') this.#keepTo(html.length)
  }

  #readRaw(name: string): void {
    const closing = new RegExp(`</${name}(?=[\\t\\n\\f\\r />])`, 'gi')
    closing.lastIndex = this.#at
    this.#keepTo(closing.exec(this.#html)?.index ?? this.#html.length)
  }

  #keepTo(end: number): void {
    this.sources.push(this.#html.slice(this.#at, end))
    keepDecoded(this.#writer, this.#html, this.#at, end)
    this.#at = end
  }
}

const NAME = /<(\/?[A-Za-z][^\t\n\f\r />]*)/y

/** The tag name with its slash; null if no tag begins here. */
function nameAt(html: string, open: number): string | null {
  NAME.lastIndex = open
  return NAME.exec(html)?.[1] ?? null
}

/** The index after a comment or declaration; null if none begins here. */
function endOfComment(html: string, open: number): number | null {
  if (!html.startsWith('<!--', open)) {
    if (!/^<(?:[!?]|\/.)/s.test(html.slice(open, open + 3))) return null
    return after(html, '>', open)
  }
  const empty = /<!--(?:>|->)/y
  empty.lastIndex = open
  if (empty.test(html)) return empty.lastIndex
  const closing = /--!?>/g
  closing.lastIndex = open + '<!--'.length
  return closing.test(html) ? closing.lastIndex : html.length
}

const BETWEEN = /[\t\n\f\r /]*/y
const ATTRIBUTE_NAME = /[^\t\n\f\r />][^\t\n\f\r />=]*/y
const EQUALS = /[\t\n\f\r ]*=[\t\n\f\r ]*/y
const UNQUOTED = /[^\t\n\f\r >]*/y

/** The index after the tag, whose name ends at `from`. */
function endOfTag(html: string, from: number): number {
  let at = from
  const skip = (what: RegExp): boolean => {
    what.lastIndex = at
    if (!what.test(html)) return false
    at = what.lastIndex
    return true
  }
  for (;;) {
    skip(BETWEEN)
    if (at >= html.length) return html.length
    if (html[at] === '>') return at + 1
    skip(ATTRIBUTE_NAME)
    if (!skip(EQUALS)) continue
    const quote = html[at]
    if (quote !== '"' && quote !== "'") skip(UNQUOTED)
    else at = after(html, quote, at + 1)
  }
}

function after(html: string, mark: string, from: number): number {
  const found = html.indexOf(mark, from)
  return found === -1 ? html.length : found + mark.length
}

const REFERENCE = /&(?:#(\d{1,7});?|#x([0-9a-f]{1,6});?|([a-z]{2,25});|(amp|gt|lt|nbsp|quot|shy))/gi
const UNICODE_MAX = 0x10ffff

function keepDecoded(writer: ReadingWriter, html: string, start: number, end: number): void {
  let kept = start
  for (const found of html.slice(start, end).matchAll(REFERENCE)) {
    const character = characterOf(found)
    if (character === null) continue
    const at = start + found.index
    writer.keep(kept, at)
    kept = at + found[0].length
    writer.replace(at, kept, character)
  }
  writer.keep(kept, end)
}

function characterOf([, decimal, hex, name, legacy]: RegExpExecArray): string | null {
  const named = name ?? legacy
  if (named !== undefined) return NAMED.get(named) ?? NAMED.get(named.toLowerCase()) ?? null
  const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16)
  return code > 0 && code <= UNICODE_MAX ? String.fromCodePoint(code) : null
}

/** References to ASCII, spaces and invisible characters, which may occur in tokens or addresses. */
const NAMED: ReadonlyMap<string, string> = new Map(
  Object.entries({
    Tab: '\t',
    NewLine: '\n',
    excl: '!',
    quot: '"',
    num: '#',
    dollar: '$',
    percnt: '%',
    amp: '&',
    apos: "'",
    lpar: '(',
    rpar: ')',
    ast: '*',
    midast: '*',
    plus: '+',
    comma: ',',
    period: '.',
    sol: '/',
    colon: ':',
    semi: ';',
    lt: '<',
    equals: '=',
    gt: '>',
    quest: '?',
    commat: '@',
    lsqb: '[',
    lbrack: '[',
    bsol: '\\',
    rsqb: ']',
    rbrack: ']',
    Hat: '^',
    lowbar: '_',
    UnderBar: '_',
    grave: '`',
    lcub: '{',
    lbrace: '{',
    verbar: '|',
    vert: '|',
    rcub: '}',
    rbrace: '}',
    nbsp: '\u00a0',
    ensp: '\u2002',
    emsp: '\u2003',
    thinsp: '\u2009',
    hairsp: '\u200a',
    shy: '',
    zwnj: '',
    zwj: '',
    lrm: '',
    rlm: '',
    ZeroWidthSpace: '',
    NoBreak: '',
    ApplyFunction: '',
    af: '',
    InvisibleTimes: '',
    it: '',
    InvisibleComma: '',
    ic: '',
    hyphen: '-',
    dash: '-',
    ndash: '-',
    mdash: '-',
    minus: '-',
  }),
)

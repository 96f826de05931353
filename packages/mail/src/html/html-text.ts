// HTML to readable plain text. The only file that knows html-to-text; refuses to know who reads the
// result. What a reader of the rendered mail cannot see is left out.

import { createRequire } from 'node:module'
import type { Builder, Formatter, HtmlNode, Selector, Walk } from 'html-to-text'
import { HTML_LINK_LENGTH_MAX } from '#compose/sanitise-style.ts'
import { stripTags } from './html-strip.ts'

/** HTML read for its text, in characters; the rest is left out. Real mail stays under 300,000. */
export const HTML_LENGTH_MAX = 1_000_000
/** Tags beyond which HTML is stripped, not parsed: building the tree of unclosed tags is quadratic. */
export const HTML_TAGS_MAX = 30_000
/** Newsletters nest tables a dozen deep, four elements each. */
export const HTML_DEPTH_MAX = 200
/** Quotes and lists within each other that still indent; each adds to every line within it. */
export const HTML_INDENTS_MAX = 8

/**
 * Never throws. Of input and output what is beyond HTML_LENGTH_MAX is left out; HTML of more than HTML_TAGS_MAX tags,
 * or deeper than HTML_DEPTH_MAX, is stripped of its tags instead of being laid out.
 */
export function textFromHtml(html: string): string {
  const bounded = html.length > HTML_LENGTH_MAX ? html.slice(0, HTML_LENGTH_MAX) : html
  if (hasTooManyTags(bounded)) return tidy(stripTags(bounded))
  try {
    const text = layOut(bounded)
    return tidy(text.includes(TOO_DEEP) ? stripTags(bounded) : text)
  } catch {
    return tidy(stripTags(bounded))
  }
}

/** How deep the walk is in elements that cost on every line, or on every word, within them. */
type Nesting = { blocks: number; isInLink: boolean }

/** Stands in the text for what lay below HTML_DEPTH_MAX. */
const TOO_DEEP = '\0'

let compiled: ((html: string, nesting: Nesting) => string) | null = null

// Loaded with the first HTML: it takes 16 MB, which a process that meets plain mail only never needs.
const load = createRequire(import.meta.url)

function layOut(html: string): string {
  compiled ??= (load('html-to-text') as typeof import('html-to-text')).compile<Nesting>({
    wordwrap: false,
    formatters: {
      link: formatLink,
      row: formatRow,
      alternative: formatAlternative,
      quote: nested('blockquote'),
      bullets: nested('unorderedList'),
      numbers: nested('orderedList'),
    },
    selectors: selectors(),
    // Length is bounded above: the library would write a warning to stderr.
    limits: { maxInputLength: HTML_LENGTH_MAX, maxDepth: HTML_DEPTH_MAX, ellipsis: TOO_DEEP },
  })
  return compiled(html, { blocks: 0, isInLink: false })
}

function selectors(): Selector[] {
  const skipped = ['script', 'style', 'title', 'noscript', 'template', 'object', 'svg', '[hidden]']
  const invisible = ['[style*="display:none" i]', '[style*="display: none" i]']
  const headings = ['h1', 'h2', 'h3', 'h4', 'h5', 'h6']
  return [
    ...[...skipped, ...invisible].map((selector) => ({ selector, format: 'skip' })),
    ...headings.map((selector) => ({ selector, options: { uppercase: false } })),
    { selector: 'p', options: { leadingLineBreaks: 2, trailingLineBreaks: 2 } },
    { selector: 'blockquote', format: 'quote' },
    { selector: 'ul', format: 'bullets', options: { itemPrefix: '- ' } },
    { selector: 'ol', format: 'numbers' },
    { selector: 'hr', options: { length: 8 } },
    { selector: 'a', format: 'link' },
    { selector: 'img', format: 'alternative' },
    { selector: 'tr', format: 'row' },
  ]
}

/** The library's own formatter, down to HTML_INDENTS_MAX: it adds a prefix to each line within. */
function nested(format: string): Formatter<Nesting> {
  return (element, walk, builder, options) => {
    const inner = builder.options.formatters[format]
    const { metadata } = builder
    if (inner === undefined || metadata.blocks >= HTML_INDENTS_MAX) {
      walk(element.children, builder)
      return
    }
    metadata.blocks++
    inner(element, walk, builder, options)
    metadata.blocks--
  }
}

const formatAlternative: Formatter<Nesting> = (element, _walk, builder) => {
  const text = element.attribs?.alt?.trim()
  if (text) builder.addInline(text)
}

const formatLink: Formatter<Nesting> = (element, walk, builder) => {
  const target = linkTarget(element.attribs?.href ?? '')
  if (target === '' || builder.metadata.isInLink) return walk(element.children, builder)
  builder.metadata.isInLink = true
  let text = ''
  builder.pushWordTransform((word) => {
    text += word
    return word
  })
  walk(element.children, builder)
  builder.popWordTransform()
  builder.metadata.isInLink = false
  if (isSameTarget(text, target)) return
  builder.addInline(`${text === '' ? '' : ' '}<${target}>`, { noWordTransform: true })
}

/** '' for what cannot be followed from outside the mail: fragments, cid:, scripts, relative paths. */
function linkTarget(href: string): string {
  const trimmed = href.trim()
  if (trimmed.length > HTML_LINK_LENGTH_MAX || /[\s<>]/.test(trimmed)) return ''
  if (/^(?:mailto|tel):/i.test(trimmed)) {
    return trimmed.slice(trimmed.indexOf(':') + 1).replace(/\?.*$/s, '')
  }
  return /^https?:\/\//i.test(trimmed) ? trimmed : ''
}

function isSameTarget(text: string, target: string): boolean {
  return bareTarget(text) === bareTarget(target)
}

function bareTarget(target: string): string {
  return target
    .toLowerCase()
    .replace(/^(?:https?:\/\/|mailto:|tel:)/, '')
    .replace(/\/$/, '')
}

const BLOCK_TAGS = new Set(
  'table div p ul ol li h1 h2 h3 h4 h5 h6 blockquote pre hr br center section'.split(' '),
)
/** Nodes looked at to tell a cell of data from one that holds a layout. */
const CELL_NODES_MAX = 50

// Mail lays itself out with tables: only cells of plain text are set apart by bars, on one line.
const formatRow: Formatter<Nesting> = (element, walk, builder) => {
  builder.openBlock({ leadingLineBreaks: 1 })
  let isAfterText = false
  for (const cell of element.children ?? []) {
    const content = cell.name === 'td' || cell.name === 'th' ? cellContent(cell) : 'empty'
    if (content === 'text') {
      if (isAfterText) builder.addInline(' | ')
      walk([cell], builder)
      isAfterText = true
    } else if (content === 'blocks') {
      formatBlockCell(cell, walk, builder)
      isAfterText = false
    } else {
      walk([cell], builder)
    }
  }
  builder.closeBlock({ trailingLineBreaks: 1 })
}

function formatBlockCell(cell: HtmlNode, walk: Walk<Nesting>, builder: Builder<Nesting>): void {
  builder.openBlock({ leadingLineBreaks: 1 })
  walk([cell], builder)
  builder.closeBlock({ trailingLineBreaks: 1 })
}

function cellContent(cell: HtmlNode): 'empty' | 'text' | 'blocks' {
  const waiting: HtmlNode[] = [...(cell.children ?? []).slice(0, CELL_NODES_MAX)]
  let hasText = false
  for (let seen = 0; seen < waiting.length && seen < CELL_NODES_MAX; seen++) {
    const node = waiting[seen]
    if (node?.name !== undefined && BLOCK_TAGS.has(node.name)) return 'blocks'
    if (node?.data !== undefined && node.type === 'text' && node.data.trim() !== '') hasText = true
    if (node?.name === 'img' && node.attribs?.alt?.trim()) hasText = true
    if (node?.children) waiting.push(...node.children.slice(0, CELL_NODES_MAX))
  }
  return hasText ? 'text' : 'empty'
}

function hasTooManyTags(html: string): boolean {
  let count = 0
  for (let at = html.indexOf('<'); at !== -1; at = html.indexOf('<', at + 1)) {
    if (++count > HTML_TAGS_MAX) return true
  }
  return false
}

/** Senders pad the preview of their mail with lines of invisible characters. */
const INVISIBLE_LINE = /^(?:[\s\u00ad\u061c\u180e\u200b-\u200f\u2060-\u2064\ufeff]|\u034f)*$/

function tidy(text: string): string {
  const kept: string[] = []
  for (const line of text.split('\n')) {
    const visible = INVISIBLE_LINE.test(line) ? '' : line.replaceAll('\u00a0', ' ').trimEnd()
    if (visible !== '' || (kept.length > 0 && kept.at(-1) !== '')) kept.push(visible)
  }
  while (kept.at(-1) === '') kept.pop()
  return kept.join('\n').slice(0, HTML_LENGTH_MAX)
}

// Converts Markdown to the HTML part of a message: CommonMark with the tables, strikethrough, task
// lists and autolinks of GFM, and with the line breaks of the text. All tags of the result are
// written here; markup in the Markdown is shown as text.

import { escapeHtml } from '@mailroom/mail/html/safe-html.ts'
import { HTML_LINK_LENGTH_MAX } from '@mailroom/mail/html/text.ts'
import { Lexer, type MarkedToken, type Token, type Tokens } from 'marked'
import { BoundedTokenizer, MARKDOWN_DEPTH_MAX, TooDeep, TooSlow } from './bounded-tokenizer.ts'

const MARKDOWN_HTML_LENGTH_MAX = 500_000
/** The API shows HTML with at most 30,000 tags. */
const ELEMENTS_MAX = 12_000

export type MarkdownSource = {
  /** Null for a message whose body is not Markdown. */
  readonly body: string | null
  readonly signature: string | null
  /** Identifiers of the message's own images. Other images are not shown. */
  readonly contentIds: readonly string[]
}

export type MarkdownHtml =
  | {
      readonly kind: 'html'
      /** The body with the signature; '' without a body. */
      readonly body: string
      readonly signature: string
    }
  | { readonly kind: 'too-deep' }
  | { readonly kind: 'too-slow' }
  | { readonly kind: 'too-large' }

/**
 * Converts Markdown to fragments of HTML with inline styles, because mail programs ignore style
 * sheets. Markdown that is known to take quadratic time is refused, but
 * other Markdown may take long or much memory: call this in a guarded thread.
 */
export function markdownHtml({ body, signature, contentIds }: MarkdownSource): MarkdownHtml {
  try {
    const writer = new Writer(new Set(contentIds))
    const written = (text: string | null) => writer.blocks(tokensOf(text ?? ''), 0)
    const [own, last] = [written(body), written(signature)]
    if (own.length + last.length > MARKDOWN_HTML_LENGTH_MAX) return { kind: 'too-large' }
    const signed = last === '' ? '' : `<div style="${SIGNATURE}">${last}</div>`
    const whole = own === '' ? '' : `<div dir="auto" style="${BODY}">${own}${signed}</div>`
    return { kind: 'html', body: whole, signature: signed }
  } catch (error) {
    // The parser overflows the stack before it finds the depth.
    if (error instanceof TooDeep || error instanceof RangeError) return { kind: 'too-deep' }
    if (error instanceof TooSlow) return { kind: 'too-slow' }
    if (error instanceof TooLarge) return { kind: 'too-large' }
    throw error
  }
}

class TooLarge extends Error {}

function tokensOf(text: string): Token[] {
  const tokenizer = new BoundedTokenizer()
  tokenizer.checkBlanks(text)
  return new Lexer({ breaks: true, gfm: true, tokenizer }).lex(text)
}

// Outlook lays out with Word, which ignores the padding of lists and needs the margin instead.
// Only text on a background of its own has a colour, so that dark modes can choose the others.
const BODY = 'font-family:Arial,Helvetica,sans-serif;font-size:15px;line-height:1.5'
const SIGNATURE = 'margin:20px 0 0'
const PARAGRAPH = 'margin:0 0 12px'
const LIST = 'margin:0 0 12px 24px;padding:0'
const QUOTE = 'margin:0 0 12px;padding:0 0 0 12px;border-left:3px solid #ccc'
const RULE = 'margin:16px 0;border:0;border-top:1px solid #ccc'
const TABLE = 'margin:0 0 12px;border-collapse:collapse'
const CELL = 'border:1px solid #ccc;padding:4px 10px'
const CODE =
  'font-family:Menlo,Consolas,monospace;font-size:13px;color:#222;background-color:#f2f2f2'
const CODE_BLOCK = `${CODE};margin:0 0 12px;padding:10px 12px;white-space:pre-wrap`
const IMAGE = 'max-width:100%;height:auto;border:0'
const HEADING_SIZES_PX = [22, 19, 17, 15, 15, 15]

type Inside = { readonly depth: number; readonly isInLink: boolean }

class Writer {
  readonly #contentIds: ReadonlySet<string>
  #elements = 0

  constructor(contentIds: ReadonlySet<string>) {
    this.#contentIds = contentIds
  }

  blocks(tokens: readonly Token[], depth: number): string {
    if (depth > MARKDOWN_DEPTH_MAX) throw new TooDeep()
    return tokens.map((token) => this.#block(token as MarkedToken, depth)).join('')
  }

  #block(token: MarkedToken, depth: number): string {
    switch (token.type) {
      case 'space':
      case 'def':
        return ''
      case 'paragraph':
        return this.#element('p', PARAGRAPH, this.#inlines(token.tokens, outside(depth)))
      case 'heading':
        return this.#heading(token, depth)
      case 'blockquote':
        return this.#element('blockquote', QUOTE, this.blocks(token.tokens, depth + 1))
      case 'list':
        return this.#list(token, depth)
      case 'table':
        return this.#table(token, depth)
      case 'code':
        return this.#element('pre', CODE_BLOCK, escapeHtml(token.text))
      case 'hr':
        this.#count()
        return `<hr style="${RULE}">\n`
      default:
        return this.#inline(token, outside(depth))
    }
  }

  #heading({ depth: level, tokens }: Tokens.Heading, depth: number): string {
    const style = `margin:18px 0 8px;font-size:${HEADING_SIZES_PX[level - 1]}px;line-height:1.3`
    return this.#element(`h${level}`, style, this.#inlines(tokens, outside(depth)))
  }

  #list({ ordered, start, items }: Tokens.List, depth: number): string {
    const content = items.map(({ tokens, loose, task }) => {
      const item = this.blocks(tokens, depth + 1).trimEnd()
      const style = `margin:0 0 ${loose ? '0' : '4px'}${task ? ';list-style-type:none' : ''}`
      this.#count()
      return `<li style="${style}">${item}</li>\n`
    })
    const style = depth > 0 ? LIST.replace('12px', '4px') : LIST
    this.#count()
    if (!ordered) return `<ul style="${style}">\n${content.join('')}</ul>\n`
    const first = start === '' || start === 1 ? '' : ` start="${start}"`
    return `<ol${first} style="${style}">\n${content.join('')}</ol>\n`
  }

  #table({ header, rows }: Tokens.Table, depth: number): string {
    const row = (cells: readonly Tokens.TableCell[], name: 'th' | 'td') => {
      this.#count()
      return `<tr>${cells.map((cell) => this.#cell(cell, name, depth)).join('')}</tr>\n`
    }
    const content = [row(header, 'th'), ...rows.map((cells) => row(cells, 'td'))].join('')
    this.#count()
    return `<table cellspacing="0" style="${TABLE}">\n${content}</table>\n`
  }

  #cell({ align, tokens }: Tokens.TableCell, name: 'th' | 'td', depth: number): string {
    this.#count()
    const content = this.#inlines(tokens, outside(depth))
    return `<${name} align="${align ?? 'left'}" style="${CELL}">${content}</${name}>`
  }

  #inlines(tokens: readonly Token[], inside: Inside): string {
    if (inside.depth > MARKDOWN_DEPTH_MAX) throw new TooDeep()
    return tokens.map((token) => this.#inline(token as MarkedToken, inside)).join('')
  }

  #inline(token: MarkedToken, inside: Inside): string {
    const inner = (tokens: readonly Token[]) =>
      this.#inlines(tokens, { ...inside, depth: inside.depth + 1 })
    switch (token.type) {
      case 'text':
        return token.tokens === undefined ? escapeText(token.text) : inner(token.tokens)
      case 'strong':
      case 'em':
        this.#count()
        return `<${token.type}>${inner(token.tokens)}</${token.type}>`
      case 'del':
        this.#count()
        return `<s>${inner(token.tokens)}</s>`
      case 'codespan':
        this.#count()
        return `<code style="${CODE};padding:1px 4px">${escapeHtml(token.text)}</code>`
      case 'br':
        this.#count()
        return '<br>\n'
      case 'link':
        return this.#link(token, inside)
      case 'image':
        return this.#image(token, inside)
      case 'checkbox':
        return token.checked ? '☑ ' : '☐ '
      case 'escape':
        return escapeHtml(token.text)
      default:
        return escapeHtml(token.raw)
    }
  }

  #link({ href, tokens, text, autolink }: Tokens.Link, inside: Inside): string {
    // An autolink is literal, and its text must not become another link.
    const within = { depth: inside.depth + 1, isInLink: true }
    const content = autolink === true ? escapeHtml(text) : this.#inlines(tokens, within)
    return this.#anchor(autolink === true ? href : decoded(href), content, inside)
  }

  /** An image from elsewhere would show its server who reads the mail, so it becomes a link. */
  #image({ href, text }: Tokens.Image, inside: Inside): string {
    const contentId = /^cid:(.*)$/is.exec(decoded(href))?.[1] ?? ''
    if (!this.#contentIds.has(contentId)) {
      return this.#anchor(decoded(href), escapeText(text || href), inside)
    }
    this.#count()
    return `<img src="cid:${escapeHtml(contentId)}" alt="${escapeText(text)}" style="${IMAGE}">`
  }

  #anchor(address: string, content: string, { isInLink }: Inside): string {
    const href = isInLink ? '' : safeAddress(address)
    if (href === '') return content
    this.#count()
    return `<a href="${escapeHtml(href)}">${content}</a>`
  }

  #element(name: string, style: string, content: string): string {
    this.#count()
    return `<${name} style="${style}">${content}</${name}>\n`
  }

  #count(): void {
    this.#elements += 1
    if (this.#elements > ELEMENTS_MAX) throw new TooLarge()
  }
}

function outside(depth: number): Inside {
  return { depth, isInLink: false }
}

const REFERENCE = '#\\d{1,7}|#x[0-9a-f]{1,6}|[a-z][a-z0-9]{1,31}'
const AMPERSAND = new RegExp(`&(?!(?:${REFERENCE});)`, 'gi')

/** Keeps character references, which Markdown has in common with HTML. */
function escapeText(text: string): string {
  return text
    .replaceAll(AMPERSAND, '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}

/** Any other reference in an address stays as it is written. */
function decoded(address: string): string {
  return address.replaceAll(/&amp;/gi, '&')
}

/** Browsers ignore white space and control characters in a scheme. */
function safeAddress(address: string): string {
  const url = address.replaceAll(/[\x00-\x20\x7f-\xa0\u2028\u2029]/g, '')
  return /^(?:https?:\/\/|mailto:)./i.test(url) && url.length <= HTML_LINK_LENGTH_MAX ? url : ''
}

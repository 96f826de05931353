// The tokenizer of marked, which stops at Markdown that would take it quadratic time.

import { Tokenizer, type Tokens } from 'marked'

/** Quotes, lists and emphasis within each other. */
export const MARKDOWN_DEPTH_MAX = 50
/** Characters scanned again. Depending on the Markdown, this takes from 0.1 to 0.5 seconds. */
const RESCANNED_MAX = 10_000_000
const LONG_BLANKS = /[ \t]{500,}/g
const LIST_ITEM = /^ {0,3}(?:[*+-]|\d{1,9}[.)])(?:\s|$)/

export class TooDeep extends Error {}
export class TooSlow extends Error {}

/** For one document. Without a rule for markup, `<` is text like any other character. */
export class BoundedTokenizer extends Tokenizer {
  #depth = 0
  #rescanned = 0

  /** Runs of blanks are scanned again from each of their characters. */
  checkBlanks(text: string): void {
    for (const [blanks] of text.matchAll(LONG_BLANKS)) {
      this.#count(blanks.length ** 2 / 5)
    }
  }

  /** A delimiter is compared with every later one of the paragraph. */
  override emStrong(text: string, masked: string, previous?: string) {
    if (/^[*_]+[^\s*_]/.test(text)) this.#count(text.length)
    return super.emStrong(text, masked, previous)
  }

  override list(text: string): Tokens.List | undefined {
    if (!LIST_ITEM.test(text)) return undefined
    this.#countLazyLines(text)
    return this.#nested(() => super.list(text))
  }

  override blockquote(text: string): Tokens.Blockquote | undefined {
    return this.#nested(() => super.blockquote(text))
  }

  override html(): undefined {}

  override tag(): undefined {}

  /** Each further line of an item is added by copying the item. */
  #countLazyLines(text: string): void {
    const end = text.search(/\n[ \t]*\n/)
    let [lines, length] = [0, 0]
    for (const line of (end < 0 ? text : text.slice(0, end)).split('\n')) {
      if (LIST_ITEM.test(line.trimStart())) [lines, length] = [0, 0]
      lines += 1
      length += line.length + 1
      this.#count(lines > 1 ? length : 0)
    }
  }

  #nested<Token>(read: () => Token): Token {
    if (this.#depth > MARKDOWN_DEPTH_MAX) throw new TooDeep()
    this.#depth += 1
    try {
      return read()
    } finally {
      this.#depth -= 1
    }
  }

  #count(characters: number): void {
    this.#rescanned += characters
    if (this.#rescanned > RESCANNED_MAX) throw new TooSlow()
  }
}

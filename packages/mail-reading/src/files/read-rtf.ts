// Extracts the text of a Rich Text Format file (specification 1.9.1), without hidden and deleted
// text, objects and field instructions.

import { TextDecoder } from 'node:util'
import { FileFault, type TextWriter } from './file-text.ts'

/** Destinations whose text is not shown. Unknown ones that begin with \* are skipped too. */
const SKIPPED = new Set(
  'fonttbl colortbl stylesheet listtable listoverridetable info pict object objdata themedata colorschememapping datastore latentstyles rsidtbl generator xmlnstbl fldinst filetbl revtbl pgptbl nonshppict bkmkstart bkmkend atnid atnauthor'.split(
    ' ',
  ),
)
/** Groups that begin with \* but are still shown. */
const SHOWN = new Set(['shppict', 'shptxt', 'pn', 'footnote', 'ud'])
const CHARACTERS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    tab: '\t',
    line: '\n',
    emdash: '—',
    endash: '–',
    lquote: '‘',
    rquote: '’',
    ldblquote: '“',
    rdblquote: '”',
    bullet: '•',
    emspace: ' ',
    enspace: ' ',
    '~': ' ',
    _: '-',
  }),
)
const CODE_PAGES: Readonly<Record<number, string>> = {
  437: 'windows-1252',
  850: 'windows-1252',
  866: 'ibm866',
  874: 'windows-874',
  932: 'shift_jis',
  936: 'gbk',
  949: 'euc-kr',
  950: 'big5',
  10000: 'macintosh',
  65001: 'utf-8',
}
/** Code pages by font character set. */
const CHARSETS: Readonly<Record<number, number>> = {
  77: 10000,
  128: 932,
  129: 949,
  134: 936,
  136: 950,
  161: 1253,
  162: 1254,
  163: 1258,
  177: 1255,
  178: 1256,
  186: 1257,
  204: 1251,
  222: 874,
  238: 1250,
}

type Group = {
  isSkipped: boolean
  isHidden: boolean
  isFontTable: boolean
  unicodeSkip: number
  codePage: number | null
}

const TOKEN =
  /([{}])|\\'([0-9a-f]{2})|\\([a-z]{1,32})(-?\d{1,10})? ?|\\([^a-z0-9])|([^{}\\\r\n]+)/giy
/** Maximum nesting of groups; programs write about ten. */
const GROUPS_MAX = 1_000

/** `content` must be decoded as latin1. */
export function readRtf(content: string, writer: TextWriter): void {
  new RtfReader(writer).read(content)
}

class RtfReader {
  readonly #writer: TextWriter
  readonly #groups: Group[] = []
  readonly #fonts = new Map<number, number>()
  #group: Group = {
    isSkipped: false,
    isHidden: false,
    isFontTable: false,
    unicodeSkip: 1,
    codePage: null,
  }
  #codePage = 1252
  #font: number | null = null
  #isStarred = false
  #isInTable = false
  #rows: string[][] = []
  #row: string[] = []
  #toSkip = 0
  #octets: number[] = []
  #text = ''

  constructor(writer: TextWriter) {
    this.#writer = writer
  }

  read(content: string): void {
    for (let at = 0; at < content.length; ) {
      TOKEN.lastIndex = at
      const found = TOKEN.exec(content)
      if (found === null) {
        at += 1
        continue
      }
      at = TOKEN.lastIndex
      const [, brace, hex, word, number, symbol, text] = found
      if (hex !== undefined) this.#octet(Number.parseInt(hex, 16))
      else if (text !== undefined) this.#plain(text)
      else if (brace !== undefined) this.#brace(brace)
      else if (symbol !== undefined) this.#symbol(symbol)
      else if (word === 'bin') at += Math.max(0, Number(number ?? '0'))
      else if (word !== undefined) this.#word(word, number === undefined ? null : Number(number))
    }
    this.#isInTable = false
    this.#endParagraph()
    this.#endTable()
  }

  #brace(brace: string): void {
    this.#flush()
    this.#isStarred = false
    if (brace === '{') {
      if (this.#groups.length >= GROUPS_MAX) {
        throw new FileFault('failed', `It is nested more than ${GROUPS_MAX} levels deep.`)
      }
      this.#groups.push(this.#group)
      this.#group = { ...this.#group }
    } else this.#group = this.#groups.pop() ?? this.#group
  }

  #symbol(symbol: string): void {
    this.#flush()
    if (symbol === '*') this.#isStarred = true
    else if (symbol === '\n' || symbol === '\r') this.#endParagraph()
    else this.#add(CHARACTERS.get(symbol) ?? ('{}\\'.includes(symbol) ? symbol : ''))
  }

  #plain(text: string): void {
    const skipped = Math.min(this.#toSkip, text.length)
    this.#toSkip -= skipped
    for (const letter of text.slice(skipped)) this.#octets.push(letter.charCodeAt(0) & 0xff)
  }

  #octet(octet: number): void {
    if (this.#toSkip > 0) this.#toSkip -= 1
    else this.#octets.push(octet)
  }

  #word(word: string, number: number | null): void {
    this.#flush()
    const isStarred = this.#isStarred
    this.#isStarred = false
    if (word === 'fonttbl') this.#group.isFontTable = true
    if (SKIPPED.has(word) || (isStarred && !SHOWN.has(word))) this.#group.isSkipped = true
    else if (word === 'u' && number !== null) {
      this.#add(String.fromCharCode(number & 0xffff))
      this.#toSkip = this.#group.unicodeSkip
    } else if (!this.#describe(word, number)) this.#structure(word)
  }

  /** Applies a word that affects how text is written; returns false for other words. */
  #describe(word: string, number: number | null): boolean {
    const isOn = number !== 0
    if (word === 'uc') this.#group.unicodeSkip = Math.max(0, number ?? 1)
    else if (word === 'ansicpg') this.#codePage = number ?? 1252
    else if (word === 'v' || word === 'deleted') this.#group.isHidden = isOn
    else if (word === 'plain') this.#group.isHidden = false
    else if (word === 'f') {
      if (this.#group.isFontTable) this.#font = number
      else this.#group.codePage = this.#fonts.get(number ?? -1) ?? null
    } else if (word === 'fcharset') {
      const codePage = CHARSETS[number ?? 0]
      if (this.#font !== null && codePage !== undefined) this.#fonts.set(this.#font, codePage)
    } else return false
    return true
  }

  #structure(word: string): void {
    if (this.#group.isSkipped) return
    const character = CHARACTERS.get(word)
    if (character !== undefined) this.#add(character)
    else if (word === 'par' || word === 'sect' || word === 'page') this.#endParagraph()
    else if (word === 'pard') this.#isInTable = false
    else if (word === 'intbl') this.#isInTable = true
    else if (word === 'cell') {
      this.#row.push(this.#text)
      this.#text = ''
    } else if (word === 'row') {
      this.#rows.push(this.#row)
      this.#row = []
    }
  }

  #endTable(): void {
    const rows = this.#row.length > 0 ? [...this.#rows, this.#row] : this.#rows
    this.#rows = []
    this.#row = []
    this.#writer.addTable(rows)
  }

  #endParagraph(): void {
    this.#flush()
    if (this.#isInTable) {
      this.#text += '\n'
      return
    }
    const text = this.#text.trim()
    this.#text = ''
    if (text === '') return
    this.#endTable()
    this.#writer.add(text)
  }

  #add(text: string): void {
    if (!this.#group.isSkipped && !this.#group.isHidden) this.#text += text
  }

  /** Decodes the pending octets together, because a letter may consist of two. */
  #flush(): void {
    if (this.#octets.length === 0) return
    const octets = Uint8Array.from(this.#octets)
    this.#octets = []
    if (this.#group.isSkipped || this.#group.isHidden) return
    const codePage = this.#group.codePage ?? this.#codePage
    this.#text += decoderOf(codePage).decode(octets)
  }
}

function decoderOf(codePage: number): TextDecoder {
  try {
    return new TextDecoder(CODE_PAGES[codePage] ?? `windows-${codePage}`)
  } catch {
    return new TextDecoder('windows-1252')
  }
}

// Parses JSON more strictly than JSON.parse: input that two readers could understand differently, that a
// database cannot store or that attacks a parser is a named fault (RFC 8259 §4, §8).

export const JSON_DEPTH_MAX = 64
/** Values in one body unless more are allowed, which limits the memory for them and for the list of faults. */
export const JSON_VALUES_MAX = 10_000

export type JsonFaultRule =
  | 'empty'
  | 'byte-order-mark'
  | 'utf-8'
  | 'syntax'
  | 'depth'
  | 'values'
  | 'duplicate-key'
  | 'forbidden-key'
  | 'lone-surrogate'
  | 'nul'
  | 'number-range'

type StrictJson =
  | { readonly kind: 'value'; readonly value: unknown }
  | {
      readonly kind: 'fault'
      readonly rule: JsonFaultRule
      readonly message: string
      /** The place of the fault, such as `attachments[0].filename`; empty for the whole body. */
      readonly path: string
    }

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const lossyDecoder = new TextDecoder('utf-8', { ignoreBOM: true })

/** Parses one JSON text in linear time and memory. Never throws. */
export function readStrictJson(
  bytes: Uint8Array,
  { valuesMax = JSON_VALUES_MAX }: { valuesMax?: number | undefined } = {},
): StrictJson {
  if (bytes.length === 0) return fault('empty')
  // RFC 8259 §8.1: a parser may refuse a byte order mark, and parsers differ in whether they do.
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return fault('byte-order-mark')
  let text: string
  try {
    text = decoder.decode(bytes)
  } catch {
    const found = new Scanner(lossyDecoder.decode(bytes), { valuesMax, isLossy: true }).findFault()
    return found?.rule === 'utf-8' ? found : fault('utf-8')
  }
  const found = new Scanner(text, { valuesMax }).findFault()
  if (found) return found
  try {
    return { kind: 'value', value: JSON.parse(text) }
  } catch {
    return fault('syntax')
  }
}

const messages: Record<JsonFaultRule, string> = {
  empty: 'The body is empty; JSON was expected',
  'byte-order-mark': 'The body begins with a byte order mark, which JSON does not allow',
  'utf-8': 'The body is not valid UTF-8',
  syntax: 'The body is not valid JSON',
  depth: `The body is nested deeper than ${JSON_DEPTH_MAX} levels`,
  values: 'The body has too many values',
  'duplicate-key': 'The body names a key twice in one object',
  'forbidden-key': 'The body uses a key that is not allowed',
  'lone-surrogate': 'The body contains an unpaired surrogate, which is not a character',
  nul: 'The body contains the character U+0000, which is not allowed',
  'number-range': 'The body contains a number that is too large',
}

type Fault = Extract<StrictJson, { kind: 'fault' }>

const KEY_SHOWN_LENGTH = 80
const PATH_SHOWN_LENGTH = 200

function fault(rule: JsonFaultRule, path = ''): Fault {
  const shown = path.slice(0, PATH_SHOWN_LENGTH).toWellFormed()
  const place = shown === '' ? '' : ` (in ${JSON.stringify(shown)})`
  return { kind: 'fault', rule, message: `${messages[rule]}${place}.`, path: shown }
}

function keyFault(rule: JsonFaultRule, key: string, path: string): Fault {
  const shown = JSON.stringify(key.slice(0, KEY_SHOWN_LENGTH).toWellFormed())
  return { ...fault(rule, path), message: `${messages[rule]}: ${shown}.` }
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const LOWER_U = 0x75
const NUMBER = /-?[0-9][0-9.eE+-]*/y

type StringEnd = {
  readonly end: number
  readonly isEscaped: boolean
  /** Whether an escape stands for U+0000 or half of a surrogate pair. */
  readonly isSuspect: boolean
}

type Level = {
  /** The keys so far; null for an array. */
  readonly keys: Set<string> | null
  /** The key of this object or array; '' within an array and at the top. */
  readonly under: string
  /** The key or index of the present member or item. */
  key: string
  index: number
}

/**
 * Finds the faults that JSON.parse accepts, in one pass over a text that need not be JSON. It is exact on
 * valid JSON; on other text it ends, and JSON.parse refuses the text.
 */
class Scanner {
  private readonly text: string
  private readonly levels: Level[] = []
  private position = 0
  private nextBackslash = -1
  private values = 1
  private strings = 0
  private readonly valuesMax: number
  private readonly isLossy: boolean

  /** In a lossy text U+FFFD stands for invalid UTF-8. */
  constructor(
    text: string,
    { valuesMax, isLossy = false }: { valuesMax: number; isLossy?: boolean },
  ) {
    this.text = text
    this.valuesMax = valuesMax
    this.isLossy = isLossy
  }

  findFault(): Fault | null {
    const { text } = this
    while (this.position < text.length) {
      const code = text.charCodeAt(this.position)
      let found: Fault | null = null
      if (code === QUOTE) {
        found = this.readString()
      } else if (code === 0x7b || code === 0x5b) {
        found = this.open(code === 0x7b)
      } else if (code === 0x7d || code === 0x5d) {
        this.levels.pop()
        this.position += 1
      } else if (code === 0x2c) {
        this.position += 1
        this.values += 1
        const level = this.levels.at(-1)
        if (level) level.index += 1
        if (this.values > this.valuesMax) found = this.tooMany()
      } else if (code === 0x2d || (code >= 0x30 && code <= 0x39)) {
        found = this.readNumber()
      } else {
        this.position += 1
      }
      if (found) return found
    }
    return null
  }

  private open(isObject: boolean): Fault | null {
    this.position += 1
    this.values += 1
    if (this.levels.length >= JSON_DEPTH_MAX) return fault('depth')
    if (this.values > this.valuesMax) return this.tooMany()
    const above = this.levels.at(-1)
    const under = above?.keys ? above.key : ''
    this.levels.push({ keys: isObject ? new Set() : null, under, key: '', index: 0 })
    return null
  }

  /** The path of the present value or, for a key, of its object. */
  private path(isKey = false): string {
    const levels = isKey ? this.levels.slice(0, -1) : this.levels
    return levels.reduce(
      (path, { keys, key, index }) => (keys === null ? `${path}[${index}]` : below(path, key)),
      '',
    )
  }

  private tooMany(): Fault {
    return { ...fault('values'), message: `The body has more than ${this.valuesMax} values.` }
  }

  private readString(): Fault | null {
    const { text } = this
    const start = this.position
    this.strings += 1
    // Each string is a value or a key, so a text with more has too many values or is not JSON.
    if (this.strings > 2 * this.valuesMax) return this.tooMany()
    const { end, isEscaped, isSuspect } = this.endOfString(start + 1)
    if (end === -1) {
      this.position = text.length
      return null
    }
    this.position = end + 1
    const isKey = this.isBeforeColon()
    if (this.isLossy && text.slice(start, end).includes('\ufffd')) {
      return fault('utf-8', this.path(isKey))
    }
    if (!isEscaped) return isKey ? this.noteKey(text.slice(start + 1, end)) : null
    if (!isKey && !isSuspect) return null
    let content: string
    try {
      content = JSON.parse(text.slice(start, end + 1))
    } catch {
      return null
    }
    // Valid UTF-8 contains no half of a surrogate pair; only an escape can.
    if (!content.isWellFormed()) return fault('lone-surrogate', this.path(isKey))
    if (content.includes('\0')) return fault('nul', this.path(isKey))
    return isKey ? this.noteKey(content) : null
  }

  /**
   * The end of the string, or -1. Each quote and backslash is searched once, and a string with escapes is
   * scanned from the first, so the pass is linear.
   */
  private endOfString(from: number): StringEnd {
    const { text } = this
    const quote = text.indexOf('"', from)
    if (quote === -1) return { end: -1, isEscaped: false, isSuspect: false }
    if (this.nextBackslash < from) {
      const found = text.indexOf('\\', from)
      this.nextBackslash = found === -1 ? text.length : found
    }
    if (this.nextBackslash > quote) return { end: quote, isEscaped: false, isSuspect: false }
    let isSuspect = false
    for (let at = this.nextBackslash; at < text.length; at += 1) {
      const code = text.charCodeAt(at)
      if (code === QUOTE) return { end: at, isEscaped: true, isSuspect }
      if (code !== BACKSLASH) continue
      at += 1
      if (text.charCodeAt(at) === LOWER_U) isSuspect ||= isSuspectEscape(text, at + 1)
    }
    return { end: -1, isEscaped: true, isSuspect }
  }

  private isBeforeColon(): boolean {
    const { text } = this
    while (isSpace(text.charCodeAt(this.position))) this.position += 1
    return text.charCodeAt(this.position) === 0x3a
  }

  private noteKey(key: string): Fault | null {
    const level = this.levels.at(-1)
    if (!level?.keys) return null
    const path = () => below(this.path(true), key)
    if (level.keys.has(key)) return keyFault('duplicate-key', key, path())
    if (key === '__proto__' || (key === 'prototype' && level.under === 'constructor')) {
      return keyFault('forbidden-key', key, path())
    }
    level.keys.add(key)
    level.key = key
    return null
  }

  private readNumber(): Fault | null {
    NUMBER.lastIndex = this.position
    const digits = NUMBER.exec(this.text)?.[0]
    if (digits === undefined) {
      this.position += 1
      return null
    }
    this.position += digits.length
    const number = Number(digits)
    return number === Infinity || number === -Infinity ? fault('number-range', this.path()) : null
  }
}

function below(path: string, key: string): string {
  const shown = key.slice(0, KEY_SHOWN_LENGTH)
  return path === '' ? shown : `${path}.${shown}`
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09
}

/** Whether the four digits at `at` stand for U+0000 or for U+D800 to U+DFFF. */
function isSuspectEscape(text: string, at: number): boolean {
  const first = text.charCodeAt(at)
  if (first === 0x30) return text.startsWith('0000', at)
  return (first === 0x64 || first === 0x44) && /[89a-f]/i.test(text.charAt(at + 1))
}

// Parses JSON more strictly than JSON.parse. Input that is ambiguous, that a database cannot store,
// or that could exhaust memory is a fault with its path (RFC 8259 §4, §8). `secure-json-parse`
// refuses only `__proto__` and `constructor.prototype`, without their path.

export const JSON_DEPTH_MAX = 64
/** Bounds the memory for values and faults, unless the caller allows more. */
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
      /** A path such as `attachments[0].filename`; empty for the complete body. */
      readonly path: string
    }

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const lossyDecoder = new TextDecoder('utf-8', { ignoreBOM: true })

/** Linear in time and memory. Never throws. */
export function readStrictJson(
  bytes: Uint8Array,
  { valuesMax = JSON_VALUES_MAX }: { valuesMax?: number | undefined } = {},
): StrictJson {
  if (bytes.length === 0) return fault('empty')
  // RFC 8259 §8.1 allows parsers to ignore a byte order mark, so they differ.
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return fault('byte-order-mark')
  let text: string
  try {
    text = decoder.decode(bytes)
  } catch {
    const read = readText(lossyDecoder.decode(bytes), valuesMax, { isLossy: true })
    // The faulty octets may be between values, where there is no path.
    return read.kind === 'fault' && read.rule === 'utf-8' ? read : fault('utf-8')
  }
  return readText(text, valuesMax)
}

/** In lossy text, U+FFFD has replaced invalid UTF-8. */
function readText(text: string, valuesMax: number, { isLossy = false } = {}): StrictJson {
  const found = findInText(text, valuesMax)
  if (found !== null) return found
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return fault('syntax')
  }
  const inside = findInValue(value, { under: '', isLossy })
  if (inside === null) return { kind: 'value', value }
  return fault(inside.rule, inside.steps, inside.key)
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

/** A fault of a key names the key, any other its path. */
function fault(rule: JsonFaultRule, steps: readonly (string | number)[] = [], key?: string): Fault {
  const path = steps.reduce<string>((above, step) => {
    if (typeof step === 'number') return `${above}[${step}]`
    const shown = step.slice(0, KEY_SHOWN_LENGTH)
    return above === '' ? shown : `${above}.${shown}`
  }, '')
  const shown = path.slice(0, PATH_SHOWN_LENGTH).toWellFormed()
  const quotedKey = JSON.stringify(key?.slice(0, KEY_SHOWN_LENGTH).toWellFormed())
  const inPath = shown === '' ? '' : ` (in ${JSON.stringify(shown)})`
  const where = key === undefined ? inPath : `: ${quotedKey}`
  return { kind: 'fault', rule, message: `${messages[rule]}${where}.`, path: shown }
}

type Level = {
  /** Null for an array. */
  readonly keys: Set<string> | null
  step: string | number
}

/** The result is exact for valid JSON; JSON.parse refuses the rest. */
function findInText(text: string, valuesMax: number): Fault | null {
  const levels: Level[] = []
  let values = 1
  let keys = 0
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at]
    const level = levels.at(-1)
    if (char === '"') {
      const end = endOfString(text, at)
      if (end === -1) return null
      if (level?.keys && isBeforeColon(text, end + 1)) {
        const key = parseKey(text.slice(at, end + 1))
        keys += 1
        // In valid JSON each key follows a bracket or a comma.
        if (key === null || keys > values) return null
        level.step = key
        if (level.keys.has(key)) return fault('duplicate-key', stepsOf(levels), key)
        level.keys.add(key)
      }
      at = end
    } else if (char === '}' || char === ']') {
      levels.pop()
    } else if (char === ',' || char === '{' || char === '[') {
      if (char !== ',' && levels.length >= JSON_DEPTH_MAX) return fault('depth')
      values += 1
      if (values > valuesMax) {
        return { ...fault('values'), message: `The body has more than ${valuesMax} values.` }
      }
      if (char !== ',') levels.push({ keys: char === '{' ? new Set() : null, step: 0 })
      else if (typeof level?.step === 'number') level.step += 1
    }
  }
  return null
}

function stepsOf(levels: readonly Level[]): (string | number)[] {
  return levels.map(({ step }) => step)
}

/** The index of the closing quote, or -1. Linear, because each run of backslashes is read once. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let run = end
    while (text[run - 1] === '\\') run -= 1
    if ((end - run) % 2 === 0) return end
  }
  return -1
}

const COLON = /[ \t\n\r]*:/y

function isBeforeColon(text: string, at: number): boolean {
  COLON.lastIndex = at
  return COLON.test(text)
}

function parseKey(quoted: string): string | null {
  try {
    return JSON.parse(quoted)
  } catch {
    return null
  }
}

type Inside = { rule: JsonFaultRule; steps: (string | number)[]; key?: string }

/** `under` is the key of the value. The depth is already bounded. */
function findInValue(value: unknown, of: { under: string; isLossy: boolean }): Inside | null {
  if (typeof value === 'string') return findInString(value, of)
  if (value === Infinity || value === -Infinity) return { rule: 'number-range', steps: [] }
  if (typeof value !== 'object' || value === null) return null
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      const found = findInValue(item, { ...of, under: '' })
      if (found !== null) return { ...found, steps: [index, ...found.steps] }
    }
    return null
  }
  for (const [key, item] of Object.entries(value)) {
    const inKey = findInString(key, of)
    if (inKey !== null) return inKey
    if (key === '__proto__' || (key === 'prototype' && of.under === 'constructor')) {
      return { rule: 'forbidden-key', steps: [key], key }
    }
    const found = findInValue(item, { ...of, under: key })
    if (found !== null) return { ...found, steps: [key, ...found.steps] }
  }
  return null
}

function findInString(text: string, { isLossy }: { isLossy: boolean }): Inside | null {
  if (isLossy && text.includes('\ufffd')) return { rule: 'utf-8', steps: [] }
  if (!text.isWellFormed()) return { rule: 'lone-surrogate', steps: [] }
  return text.includes('\0') ? { rule: 'nul', steps: [] } : null
}

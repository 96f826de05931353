import { decodeText } from './charset.ts'
import { decodeEscapes, decodeWords, type EscapeMarks } from './encoded-word.ts'

/** The percent encoding of RFC 2231 §4. */
const PERCENT_ENCODING: EscapeMarks = { escape: 0x25, space: null }

export type StructuredValue = {
  /** The part before the first `;`, in lower case, trimmed and without comments. */
  readonly value: string
  /**
   * Values by lower-case name; repeated names are ignored. A Map, so that `__proto__` is ordinary.
   */
  readonly parameters: ReadonlyMap<string, string>
}

/** Parses a field with parameters. Never throws; runs in linear time. */
export function parseStructured(field: string): StructuredValue {
  const source = endValue(stripComments(field))
  const semicolon = source.indexOf(';')
  const value = (semicolon < 0 ? source : source.slice(0, semicolon)).trim().toLowerCase()
  if (semicolon < 0) return { value, parameters: NO_PARAMETERS }
  const plain = new Map<string, string>()
  const sections = new Map<string, Section[]>()
  for (const [name, text] of splitParameters(source, semicolon + 1)) {
    const star = name.indexOf('*')
    if (star < 0) {
      if (!plain.has(name)) plain.set(name, text)
    } else {
      const base = name.slice(0, star)
      const section = sectionOf(name.slice(star + 1), text)
      if (section !== null) pushTo(sections, base, section)
    }
  }
  for (const [name, list] of sections) plain.set(name, joinSections(list))
  return { value, parameters: plain }
}

/** Adds the `;` that senders replace with a comma or omit: `text/plain charset=utf-8`. */
function endValue(source: string): string {
  const equals = source.indexOf('=')
  const value = source.slice(0, Math.max(0, equals)).trimEnd()
  if (value === '' || value.includes(';') || value.includes('"')) return source
  let nameAt = value.length
  while (nameAt > 0 && /[\w*-]/.test(value.charAt(nameAt - 1))) nameAt -= 1
  let end = nameAt
  while (end > 0 && /[\s,]/.test(value.charAt(end - 1))) end -= 1
  return end === 0 || end === nameAt ? source : `${value.slice(0, end)};${source.slice(nameAt)}`
}

/** A parameter's text with encoded words decoded, which RFC 2047 §5 forbids but senders use. */
export function readParameter(structured: StructuredValue, name: string): string | null {
  const text = structured.parameters.get(name)
  return text === undefined ? null : decodeWords(text)
}

const NO_PARAMETERS: ReadonlyMap<string, string> = new Map()

type Section = { readonly index: number; readonly isEncoded: boolean; readonly text: string }

function pushTo(sections: Map<string, Section[]>, name: string, section: Section): void {
  const list = sections.get(name)
  if (list === undefined) sections.set(name, [section])
  else list.push(section)
}

/** Parses a name's suffix after its first star (`*`, `*0`, `*0*`); null if it is none of these. */
function sectionOf(suffix: string, text: string): Section | null {
  if (suffix === '') return { index: 0, isEncoded: true, text }
  const match = /^(\d{1,6})(\*?)$/.exec(suffix)
  return match === null ? null : { index: Number(match[1]), isEncoded: match[2] === '*', text }
}

/** Encoded sections are decoded together: a character may be split over two (RFC 2231 §4). */
function joinSections(sections: Section[]): string {
  sections.sort((a, b) => a.index - b.index)
  let charset: string | null = null
  const texts: string[] = []
  let octets: Buffer[] = []
  const flush = () => {
    if (octets.length > 0) texts.push(decodeText(Buffer.concat(octets), charset))
    octets = []
  }
  for (const [position, section] of sections.entries()) {
    if (!section.isEncoded) {
      flush()
      texts.push(section.text)
      continue
    }
    const labelled = position === 0 ? /^([^']*)'[^']*'/.exec(section.text) : null
    if (labelled !== null) charset = labelled[1] ?? null
    octets.push(decodeEscapes(section.text.slice(labelled?.[0].length ?? 0), PERCENT_ENCODING))
  }
  flush()
  return texts.join('')
}
const STOP = /[=;]/g

/** Yields the name and text of each parameter from `start`; a name without `=` has the text ''. */
function* splitParameters(source: string, start: number): Generator<[string, string]> {
  let position = start
  while (position < source.length) {
    STOP.lastIndex = position
    const stop = STOP.exec(source)?.index ?? source.length
    if (source[stop] !== '=') {
      const flag = source.slice(position, stop).trim().toLowerCase()
      if (flag !== '') yield [flag, '']
      position = stop + 1
      continue
    }
    const name = source.slice(position, stop).trim().toLowerCase()
    const read = readText(source, stop + 1)
    if (name !== '') yield [name, read.text]
    position = read.end + 1
  }
}

/**
 * A token or quoted string; `end` is the offset of the `;` after it. A quoted string may follow a
 * token, because senders write that; anything after a quoted string is dropped.
 */
function readText(source: string, start: number): { text: string; end: number } {
  let text = ''
  let isClosed = false
  let position = start
  for (;;) {
    TEXT_STOP.lastIndex = position
    const stop = TEXT_STOP.exec(source)?.index ?? source.length
    const isQuote = source[stop] === '"'
    const token = source.slice(position, stop)
    if (!isClosed) text += text === '' ? token.trimStart() : token
    if (!isQuote) return { text: isClosed ? text : text.trimEnd(), end: stop }
    const quoted = readQuoted(source, stop + 1)
    if (!isClosed) text += quoted.text
    isClosed = true
    position = quoted.end
  }
}

const TEXT_STOP = /[;"]/g

/** Reads a quoted string after its opening quote; `end` is the offset after the closing quote. */
function readQuoted(source: string, start: number): { text: string; end: number } {
  let text = ''
  let from = start
  let position = start
  for (; position < source.length; position += 1) {
    const character = source[position]
    if (character === '"') break
    if (character !== '\\') continue
    text += source.slice(from, position)
    from = position + 1
    position += 1
  }
  const end = Math.min(position, source.length)
  return { text: text + source.slice(from, end), end: Math.min(position + 1, source.length) }
}

/**
 * Removes comments (RFC 5322 §3.2.2). A parenthesis within a token is part of the token
 * (`name=Invoice(1).pdf`). An unclosed parenthesis starts no comment, so that it cannot swallow the
 * boundary.
 */
export function stripComments(field: string): string {
  if (!field.includes('(')) return field
  let result = ''
  let depth = 0
  let isQuoted = false
  let commentAt = 0
  const equals = field.indexOf('=')
  for (let position = 0; position < field.length; position += 1) {
    const character = field[position] ?? ''
    if (character === '\\' && (isQuoted || depth > 0)) {
      if (depth === 0) result += field.slice(position, position + 2)
      position += 1
    } else if (isQuoted) {
      if (character === '"') isQuoted = false
      result += character
    } else if (character === '(' && (depth > 0 || startsComment(field, position, equals))) {
      if (depth === 0) commentAt = position
      depth += 1
    } else if (character === ')' && depth > 0) depth -= 1
    else if (depth === 0) {
      if (character === '"') isQuoted = true
      result += character
    }
  }
  // An unclosed parenthesis starts a comment only in garbage at the very end.
  return depth === 0 || !field.includes(';', commentAt) ? result : field
}

function startsComment(field: string, position: number, equals: number): boolean {
  if (equals < 0 || position < equals) return true
  const before = field[position - 1]
  return before === ' ' || before === '\t' || before === ';'
}

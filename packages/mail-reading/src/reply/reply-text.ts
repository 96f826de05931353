// The new text of a reply: what its author wrote, without the quoted history and the signature.
// Works by lines, in time linear in the text; knows plain text only.

import {
  ATTRIBUTION_LENGTH_MAX,
  endOfQuotedHeader,
  endsLikeAttribution,
  findAttribution,
} from './reply-attribution.ts'
import {
  ANSWER_ABOVE_PATTERN,
  FORWARD_PATTERN,
  ORIGINAL_PATTERN,
  type QuotedField,
  quotedFieldOf,
} from './reply-marks.ts'
import { opensSignature, withoutSignature } from './reply-signature.ts'

/**
 * Text without a quote, and a forward with all that it carries, is returned whole but for blanks at
 * its end; so is text that would be left empty by a quote which is not marked line by line. A
 * signature is left out when a line of its own opens it. When anything is cut, line ends become LF
 * and blanks before them go. '' for a message of nothing but marked quotes.
 */
export function extractReply(text: string): string {
  const stretches = splitReply(text)
  if (stretches === null) return text.trimEnd()
  const lines = text.split(LINE_END)
  const kept: string[] = []
  let length = 0
  for (const stretch of stretches) {
    const own = withoutSignature(stretch.own, kept.length > 0)
    length += own.length
    if (hasText(own)) kept.push(own.map((line) => line.trimEnd()).join('\n'))
  }
  if (length === lines.length) return text.trimEnd()
  return kept.join('\n').replace(/^\n+/, '').trimEnd()
}

export type Stretch = {
  /** Lines that the author wrote. */
  own: string[]
  /** How many lines of quote, with their head, follow them. */
  quotedLines: number
  /** Those lines and the blank ones between them, as they stand. */
  quote: string[]
}

/** What the author wrote between the quotes, with its signature; null for text that is to be left whole. */
export function splitReply(text: string): Stretch[] | null {
  return hasMarks(text) ? newStretches(text.split(LINE_END)) : null
}

const GREATER = 0x3e
const SPACE = 0x20
const TAB = 0x09
const LINE_END = /\r\n|\r|\n/

/** False for most mail that quotes nothing, without taking it apart. */
function hasMarks(text: string): boolean {
  // Of a message's usual line ends the CR does not matter here; alone it ends a line.
  if (text.includes('\r') && /\r(?!\n)/.test(text)) return true
  let start = 0
  let [previous, beforePrevious] = [0, 0]
  while (start < text.length) {
    let end = text.indexOf('\n', start)
    if (end === -1) end = text.length
    const line = text.slice(start, end)
    if (line !== '' && isMark(line)) return true
    if (endsLikeAttribution(line) && mayTellWhen(text, beforePrevious, end)) return true
    beforePrevious = previous
    previous = start
    start = end + 1
  }
  return false
}

function isMark(line: string): boolean {
  return isQuoted(line) || isSeparator(line) || quotedFieldOf(line) !== null || opensSignature(line)
}

/** Whether a number or an address stands near enough before `end`, or dashes stand at it. */
function mayTellWhen(text: string, start: number, end: number): boolean {
  const from = Math.max(start, end - ATTRIBUTION_LENGTH_MAX)
  return text.charAt(end - 1) === '-' || /[\d@]/.test(text.slice(from, end))
}

/**
 * What the author wrote between the quotes, in order; null when the text is to be left whole. A
 * blank line before an attribution stays with the text, one around a bare quote goes with the quote.
 */
function newStretches(lines: readonly string[]): Stretch[] | null {
  const fields = lines.map(quotedFieldOf)
  const finished: Stretch[] = []
  let current: string[] = []
  let at = 0
  while (at < lines.length) {
    const line = lines[at] ?? ''
    const head = headAt(lines, fields, at, current)
    if (head === null && isQuoted(line) && !isPrompt(line)) {
      const end = endOfQuote(lines, at)
      finished.push({
        own: withoutBlankEnd(current),
        quotedLines: countFilled(lines, at, end),
        quote: lines.slice(at, end),
      })
      current = []
      at = skipBlank(lines, end)
      continue
    }
    if (head === null) {
      if (isForward(line)) return null
      current.push(line)
      at++
      continue
    }
    current.length -= head.linesBefore
    if (head.textBefore !== '') current.push(head.textBefore)
    const start = at - head.linesBefore
    at = skipBlank(lines, head.end)
    // A quote that is not marked line by line has no end: all the rest is taken for it.
    const isMarked = isQuoted(lines[at] ?? '')
    const end = isMarked ? endOfQuote(lines, at) : lines.length
    finished.push({
      own: withOneBlankEnd(current),
      quotedLines: countFilled(lines, start, end),
      quote: [afterText(lines[start] ?? '', head.textBefore), ...lines.slice(start + 1, end)],
    })
    current = []
    if (!isMarked) return finished.some(({ own }) => hasText(own)) ? finished : null
    at = skipBlank(lines, end)
  }
  finished.push({ own: current, quotedLines: 0, quote: [] })
  return finished
}

/** What of the line goes on behind a text that it begins with. */
function afterText(line: string, textBefore: string): string {
  const at = textBefore === '' ? -1 : line.indexOf(textBefore)
  return at === -1 ? line : line.slice(at + textBefore.length).trimStart()
}

function countFilled(lines: readonly string[], start: number, end: number): number {
  let count = 0
  for (let at = start; at < end; at++) if ((lines[at] ?? '').trim() !== '') count++
  return count
}

type Head = { readonly end: number; readonly linesBefore: number; readonly textBefore: string }

function headAt(
  lines: readonly string[],
  fields: readonly (QuotedField | null)[],
  at: number,
  current: readonly string[],
): Head | null {
  const line = lines[at] ?? ''
  if (isSeparator(line)) {
    const next = skipBlank(lines, at + 1)
    return { end: endOfQuotedHeader(lines, fields, next) ?? at + 1, linesBefore: 0, textBefore: '' }
  }
  if ((fields[at] ?? null) !== null) {
    const end = endOfQuotedHeader(lines, fields, at)
    if (end !== null) return { end, linesBefore: ruleLength(current), textBefore: '' }
  }
  if (!endsLikeAttribution(line) || (isQuoted(line) && !closesAddress(line, current.at(-1)))) {
    return null
  }
  const isQuoteNext = isQuoted(lines[skipBlank(lines, at + 1)] ?? '')
  const attribution = findAttribution(lines, at - current.length, at, isQuoteNext)
  return attribution === null ? null : { end: at + 1, ...attribution }
}

/** A line of the program's own: it begins and mostly ends with dashes or the like. */
function isSeparator(line: string): boolean {
  if (line.length > SEPARATOR_LENGTH_MAX || !startsWithRule(line)) return false
  return ORIGINAL_PATTERN.test(line) || ANSWER_ABOVE_PATTERN.test(line)
}

const SEPARATOR_LENGTH_MAX = 200

function startsWithRule(line: string): boolean {
  const first = line.charCodeAt(0)
  if (first === SPACE || first === TAB) return /^\s+([^\s])\1/.test(line)
  return first === line.charCodeAt(1)
}

function isForward(line: string): boolean {
  return line.length <= SEPARATOR_LENGTH_MAX && FORWARD_PATTERN.test(line)
}

/** An address broken before its bracket leaves a line that looks quoted: `>:`. */
function closesAddress(line: string, previous: string | undefined): boolean {
  if (previous === undefined || line.length > 40) return false
  return previous.lastIndexOf('<') > previous.lastIndexOf('>')
}

const RULE = /^\s*[-_=*–—]{3,}\s*$/

/** The lines at the end of `lines` that are a horizontal rule and the blanks around it. */
function ruleLength(lines: readonly string[]): number {
  const last = lines.findLastIndex((line) => line.trim() !== '')
  return RULE.test(lines[last] ?? '') ? lines.length - last : 0
}

function isQuoted(line: string): boolean {
  const first = line.charCodeAt(0)
  if (first !== GREATER && first !== SPACE && first !== TAB) return false
  return line.trimStart().startsWith('>') && !line.startsWith('>From ')
}

/** A prompt of an interpreter, or an ornament, unless other quoted lines stand above it. */
function isPrompt(line: string): boolean {
  return line.startsWith('>>> ')
}

function endOfQuote(lines: readonly string[], start: number): number {
  let end = start
  while (end < lines.length) {
    if (isQuoted(lines[end] ?? '') || isWrappedLink(lines, end)) {
      end++
      continue
    }
    const next = skipBlank(lines, end)
    if (next === end || !isQuoted(lines[next] ?? '')) return end
    end = next
  }
  return end
}

/** A link too long for its quoted line, which went on without the mark of a quote. */
function isWrappedLink(lines: readonly string[], at: number): boolean {
  const line = (lines[at] ?? '').trim()
  if (line === '' || !isQuoted(lines[at + 1] ?? '')) return false
  if (/^[(<]https?:/i.test(line)) return true
  const above = lines[at - 1] ?? ''
  const opening = Math.max(above.lastIndexOf('(http'), above.lastIndexOf('<http'))
  return opening !== -1 && !/[\s)>]/.test(above.slice(opening + 1))
}

function skipBlank(lines: readonly string[], start: number): number {
  let at = start
  while (at < lines.length && (lines[at] ?? '').trim() === '') at++
  return at
}

function withoutBlankEnd(lines: string[]): string[] {
  while (lines.length > 0 && lines.at(-1)?.trim() === '') lines.pop()
  return lines
}

function withOneBlankEnd(lines: string[]): string[] {
  const length = lines.length
  const trimmed = withoutBlankEnd(lines)
  if (trimmed.length < length) trimmed.push('')
  return trimmed
}

function hasText(lines: readonly string[]): boolean {
  return lines.some((line) => line.trim() !== '')
}

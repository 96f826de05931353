import {
  asksToAnswerAbove,
  CLOSING_PATTERN,
  DATE_OPENING_PATTERN,
  DEVICE_PATTERN,
  FORWARD_PATTERN,
  INNER_OPENING_PATTERN,
  isSentFrom,
  OPENING_PATTERN,
  ORIGINAL_PATTERN,
  type QuotedField,
  quotedFieldOf,
  SIGNATURE_LINES,
  WROTE_PATTERN,
} from './reply-words.ts'

/** Maximum lines and total characters of "On … wrote:" as wrapped by mail programs. */
const ATTRIBUTION_LINES_MAX = 4
/** Maximum lines of an attribution if HTML conversion put the address on separate lines. */
const SPLIT_LINES_MAX = 9
const ATTRIBUTION_LENGTH_MAX = 600
/** Maximum lines of the header fields above a quoted message, with continuations. */
const QUOTED_HEADER_LINES_MAX = 24
/** If more lines follow a closing ("Kind regards"), it does not start a signature. */
const SIGNATURE_LINES_MAX = 10
const SIGNATURE_LINE_LENGTH_MAX = 120

/**
 * The new text of a reply, without quotes and without a signature introduced by its own line.
 * Unchanged except for trailing blanks are text without a quote, a forward with its content, and
 * text that would become empty by removing a quote without line prefixes. If `isForward` is set,
 * the subject indicates a forward, and the fields of the forwarded message do not start a quote. If
 * anything is cut, line ends become LF and blanks before them are removed. Returns '' for a message
 * that consists of prefixed quotes.
 */
export function extractReply(text: string, { isForward = false } = {}): string {
  const stretches = splitReply(text, isForward)
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

type Stretch = {
  own: string[]
  /** Number of quoted lines that follow, including their attribution. */
  quotedLines: number
  /** The unchanged quote, including its blank lines. */
  quote: string[]
}

/** The author's text between the quotes, with its signature. Null if the text must be unchanged. */
export function splitReply(text: string, isForward = false): Stretch[] | null {
  return hasMarks(text) ? newStretches(text.split(LINE_END), isForward) : null
}

const GREATER = 0x3e
const SPACE = 0x20
const TAB = 0x09
const LINE_END = /\r\n|\r|\n/

/** A fast check that is false for most mail without quotes. */
function hasMarks(text: string): boolean {
  // A lone CR ends a line, while the CR of CRLF is irrelevant here.
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
  if (line.includes('@') && (isFieldWithAddress(line) || endOfRunOn(line) !== -1)) return true
  return (
    isQuoted(line) ||
    isSeparator(line, true) ||
    quotedFieldOf(line) !== null ||
    opensSignature(line)
  )
}

/** Whether a number or an address occurs shortly before `end`, or dashes directly before `end`. */
function mayTellWhen(text: string, start: number, end: number): boolean {
  const from = Math.max(start, end - ATTRIBUTION_LENGTH_MAX)
  return text.charAt(end - 1) === '-' || /[\d@]/.test(text.slice(from, end))
}

/**
 * The author's text between the quotes, in order; null if the text must be unchanged. A blank line
 * before an attribution is part of the text. Blank lines around a quote without attribution are
 * part of the quote.
 */
function newStretches(lines: readonly string[], passesOn: boolean): Stretch[] | null {
  const fields = lines.map(quotedFieldOf)
  const finished: Stretch[] = []
  let current: string[] = []
  let at = 0
  while (at < lines.length) {
    const line = lines[at] ?? ''
    const head = headAt(lines, fields, at, current)
    if (head === null && isQuoted(line) && !isPrompt(line) && !isBracketAlone(line, current)) {
      const end = endOfQuote(lines, at)
      if (finished.length === 0 && isMarkedForward(lines.slice(at, end), passesOn)) return null
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
    if (passesOn && head.isForwardable && finished.length === 0) return null
    current.length -= head.linesBefore
    if (head.textBefore !== '') current.push(head.textBefore)
    const start = at - head.linesBefore
    at = skipBlank(lines, head.end)
    // A quote without line prefixes has no visible end, so it extends to the end of the text.
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

/** Whether a quote is a forwarded message, which Apple Mail prefixes like a quote. */
function isMarkedForward(quote: readonly string[], passesOn: boolean): boolean {
  const lines = quote.slice(0, QUOTED_HEADER_LINES_MAX).map((line) => line.replace(/^\s*>\s?/, ''))
  const start = skipBlank(lines, 0)
  if (isForward(lines[start] ?? '')) return true
  return passesOn && endOfQuotedHeader(lines, lines.map(quotedFieldOf), start) !== null
}

function afterText(line: string, textBefore: string): string {
  const at = textBefore === '' ? -1 : line.indexOf(textBefore)
  return at === -1 ? line : line.slice(at + textBefore.length).trimStart()
}

function countFilled(lines: readonly string[], start: number, end: number): number {
  let count = 0
  for (let at = start; at < end; at++) if ((lines[at] ?? '').trim() !== '') count++
  return count
}

type Head = {
  readonly end: number
  readonly linesBefore: number
  readonly textBefore: string
  /** Whether programs also write this line above a forwarded message. */
  readonly isForwardable: boolean
}

function headAt(
  lines: readonly string[],
  fields: readonly (QuotedField | null)[],
  at: number,
  current: readonly string[],
): Head | null {
  const line = lines[at] ?? ''
  if (isSeparator(line, RULE.test(current.at(-1) ?? ''))) {
    const next = skipBlank(lines, at + 1)
    const end = endOfQuotedHeader(lines, fields, next) ?? at + 1
    return { end, linesBefore: ruleLength(current), textBefore: '', isForwardable: true }
  }
  if ((fields[at] ?? null) !== null || isFieldWithAddress(line)) {
    const named = (fields[at] ?? null) === null ? null : endOfQuotedHeader(lines, fields, at)
    const end = named ?? endOfShapedHeader(lines, at)
    if (end !== null) {
      return { end, linesBefore: ruleLength(current), textBefore: '', isForwardable: true }
    }
  }
  const runOn = isQuoted(line) ? null : runOnAt(lines, at, current)
  if (runOn !== null) return runOn
  if (!endsLikeAttribution(line) || (isQuoted(line) && !closesAddress(line, current))) {
    return null
  }
  const next = lines[skipBlank(lines, at + 1)] ?? ''
  const isQuoteNext = isQuoted(next) && !WROTE_AFTER_BRACKET.test(next)
  const attribution = findAttribution(lines, at - current.length, at, isQuoteNext)
  return attribution === null ? null : { end: at + 1, ...attribution, isForwardable: false }
}

/** The end of an attribution on the same line as its quote, as phones write it; -1 for none. */
function endOfRunOn(line: string): number {
  if (line.length > RUN_ON_LENGTH_MAX || !line.includes('@')) return -1
  const text = line.slice(0, ATTRIBUTION_LENGTH_MAX)
  const end = /[^\s<>@]@[^\s<>@]{1,255}>[^:：]{0,40}[:：]\s{1,9}(?=\S)/u.exec(text)
  return end === null ? -1 : end.index + end[0].trimEnd().length
}

const RUN_ON_LENGTH_MAX = 20_000

function runOnAt(lines: readonly string[], at: number, current: readonly string[]): Head | null {
  const length = endOfRunOn(lines[at] ?? '')
  if (length === -1) return null
  const first = at - Math.min(current.length, 2)
  const head = [...lines.slice(first, at), (lines[at] ?? '').slice(0, length)]
  for (const [linesBefore, text] of candidatesOf(head, 0, head.length - 1).entries()) {
    const isOpened = OPENING_PATTERN.test(text) || DATE_OPENING_PATTERN.test(text)
    if (!isOpened || !YEAR_AND_DAY.test(text) || !TIME_OF_DAY.test(text)) continue
    if (!WROTE_PATTERN.test(text)) continue
    // The rest of the line is also quoted.
    return { end: at + 1, linesBefore, textBefore: '', isForwardable: false }
  }
  return null
}

function isSeparator(line: string, isBelowRule: boolean): boolean {
  if (line.length > SEPARATOR_LENGTH_MAX) return false
  if (startsWithRule(line) && ORIGINAL_PATTERN.test(line)) return true
  return asksToAnswerAbove(line, isBelowRule)
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

/**
 * Whether a line such as `>:` or `> wrote:`, which resembles a quote, is the end of an address that
 * was wrapped before its bracket.
 */
function closesAddress(line: string, current: readonly string[]): boolean {
  if (line.length > 40) return false
  const before = current.slice(1 - SPLIT_LINES_MAX)
  const previous = before.at(-1) ?? ''
  if (previous.lastIndexOf('<') > previous.lastIndexOf('>')) return true
  return WROTE_PATTERN.test(line) && hasOpenBracket(before)
}

const WROTE_AFTER_BRACKET = new RegExp(`^\\s*>\\s?(?:${WROTE_PATTERN.source})\\s?[:：]?\\s*$`, 'iu')

/** Whether the line consists only of the closing bracket of a wrapped address. */
function isBracketAlone(line: string, current: readonly string[]): boolean {
  return line.trim() === '>' && hasOpenBracket(current.slice(1 - SPLIT_LINES_MAX))
}

function hasOpenBracket(lines: readonly string[]): boolean {
  let open = 0
  for (const line of lines) open += line.split('<').length - line.split('>').length
  return open > 0
}

const RULE = /^\s*[-_=*–—#~]{3,200}\s*$/
/** Matches a rule with words in it, above the fields of a quoted message. */
const TITLED_RULE = /^\s*[-_=*–—]{3,60}\s?[^-_=*–—]{1,60}\s?[-_=*–—]{3,60}\s*$/

/** Number of final lines that form a horizontal rule and the blanks around it. */
function ruleLength(lines: readonly string[]): number {
  const last = lines.findLastIndex((line) => line.trim() !== '')
  const line = lines[last] ?? ''
  return RULE.test(line) || TITLED_RULE.test(line) ? lines.length - last : 0
}

function isQuoted(line: string): boolean {
  const first = line.charCodeAt(0)
  if (first !== GREATER && first !== SPACE && first !== TAB) return false
  return line.trimStart().startsWith('>') && !line.startsWith('>From ')
}

/** Whether the line is an interpreter prompt or an ornament. */
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

/** Whether the line is the rest of a link that was wrapped out of its quoted line. */
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

/** Whether a signature may start with the line; cheap, because it is called for every line. */
function opensSignature(line: string): boolean {
  if (line.length > SIGNATURE_LINE_LENGTH_MAX) return false
  const words = line.trim()
  if (words.length <= SIGNATURE_MARK_LENGTH) return SIGNATURE_LINES.has(words)
  return isSentFrom(words) || (words.length <= CLOSING_LENGTH_MAX && CLOSING_PATTERN.test(words))
}

const CLOSING_LENGTH_MAX = 60
const SIGNATURE_MARK_LENGTH = 2

/**
 * The lines without the signature. A signature must follow text, in these lines or before them
 * (`isAfterText`). A line that names a device is always dropped.
 */
function withoutSignature(lines: readonly string[], isAfterText: boolean): string[] {
  const start = lines.findIndex((line) => line.trim() !== '')
  for (let at = Math.max(start, 0); at < lines.length; at++) {
    const line = lines[at] ?? ''
    if (!opensSignature(line) || !isSignatureAt(lines, at)) continue
    if (at > start || isAfterText) return lines.slice(0, at)
    if (isSentFrom(line.trim())) return lines.slice(at + 1)
  }
  return [...lines]
}

function isSignatureAt(lines: readonly string[], at: number): boolean {
  const line = lines[at] ?? ''
  if (line === '-- ') return true
  if (isSentFrom(line.trim())) {
    return isLast(lines, at) || (DEVICE_PATTERN.test(line) && isBlankAt(lines, at + 1))
  }
  return isShortEnd(lines, at + 1)
}

function isShortEnd(lines: readonly string[], at: number): boolean {
  let count = 0
  for (let end = at; end < lines.length; end++) {
    const line = lines[end] ?? ''
    if (line.trim() === '') continue
    if (++count > SIGNATURE_LINES_MAX || line.length > SIGNATURE_LINE_LENGTH_MAX) return false
    // A question or a postscript is part of the text, not of a signature.
    if (/\?\s*$|^\s*P\.?\s?S\.?[\s:.,]/i.test(line)) return false
  }
  return true
}

function isLast(lines: readonly string[], at: number): boolean {
  for (let end = at + 1; end < lines.length; end++) {
    if (!isBlankAt(lines, end)) return opensSignature(lines[end] ?? '')
  }
  return true
}

function isBlankAt(lines: readonly string[], at: number): boolean {
  return (lines[at] ?? '').trim() === ''
}

type Attribution = {
  /** Number of preceding lines that are part of the attribution. */
  readonly linesBefore: number
  /** New text on the attribution's first line; '' for none. */
  readonly textBefore: string
}

const DIRECTION_MARKS = /[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g
const ENDING = /(?:[:：]|[\p{L})]\s{0,3}[-–—]{2,60})\s*[*_]{0,2}$/u
const ADDRESS = /[^\s<>()"']@[^\s<>()"']|&lt;.{0,200}&gt;/
const ADDRESS_ENDING = /@[^\s<>@()]{1,255}\s?(?:>|&gt;|\)){1,3}\s?[:：]?$/
const BETWEEN_DASHES = /^\s*[-–—]{2,60}[^-–—].*[^-–—\s]\s?[-–—]{2,60}$/
const YEAR_AND_DAY =
  /(?:19|20)\d\d\D{1,20}\d|\d\D{1,20}(?:19|20)\d\d|\d{1,2}[./-]\s?\d{1,2}[./-]\s?\d{2}/
const TIME_OF_DAY = /\d{1,2}[:.h]\d\d/

/** Whether the line may end an attribution; cheap, because it is called for every line. */
export function endsLikeAttribution(line: string): boolean {
  const ending = line.length > ATTRIBUTION_LENGTH_MAX ? '' : line.trimEnd()
  if (ending === '') return false
  const last = ending.charCodeAt(ending.length - 1)
  if (isLetterOfWrote(last) && ENDS_WITH_WROTE.test(ending)) return true
  return last < 0x80 ? ':->*_'.includes(ending.charAt(ending.length - 1)) : isOddEnding(last)
}

const ENDS_WITH_WROTE =
  /(?:^|\s)(?:wrote|schrieb|écrit|escribió|escreveu|ha scritto|geschreven|skrev)$/

function isLetterOfWrote(code: number): boolean {
  return 'ebtóunov'.includes(String.fromCharCode(code))
}

/**
 * The attribution that ends with line `end`, or null. `isQuoteNext` means that quoted lines follow,
 * so that weaker signs suffice.
 */
export function findAttribution(
  lines: readonly string[],
  first: number,
  end: number,
  isQuoteNext: boolean,
): Attribution | null {
  const lastTwo = `${end > first ? lines[end - 1] : ''} ${lines[end]}`.replace(DIRECTION_MARKS, '')
  if (lastTwo.length > ATTRIBUTION_LENGTH_MAX) return null
  const candidates = candidatesOf(lines, first, end)
  const shaped = shapedAttribution(candidates, lines, end, isQuoteNext)
  if (!ADDRESS_ENDING.test(lastTwo) && !WROTE_PATTERN.test(lastTwo)) return shaped
  const whole = candidates[0]
  if (whole === undefined) return null
  if (ENDS_WITH_WROTE.test(whole)) return withoutColon(candidates, isQuoteNext)
  if (!ENDING.test(whole) && !(isQuoteNext && ADDRESS_ENDING.test(whole))) return null
  return (
    openedBy(OPENING_PATTERN, candidates, isQuoteNext) ??
    afterTextOf(whole, isQuoteNext) ??
    openedBy(DATE_OPENING_PATTERN, candidates, isQuoteNext) ??
    withoutDate(candidates, isQuoteNext) ??
    shaped
  )
}

/**
 * An attribution in an unknown language: an address, a date, a time and a colon, before a quote or
 * as a separate paragraph.
 */
function shapedAttribution(
  candidates: readonly string[],
  lines: readonly string[],
  end: number,
  isQuoteNext: boolean,
): Attribution | null {
  for (const [linesBefore, candidate] of candidates.slice(0, 3).entries()) {
    const text = withPlainDigits(candidate)
    if (!/[:：]$/.test(text) || !ADDRESS_IN_BRACKETS.test(text)) continue
    if (!YEAR_AND_DAY.test(text) || !TIME_OF_DAY.test(text)) continue
    if (text.startsWith('<') && candidates.length > linesBefore + 1) continue
    const isParagraph = isBlankAt(lines, end + 1) && isBlankAt(lines, end - linesBefore - 1)
    if (isQuoteNext || isParagraph) return { linesBefore, textBefore: '' }
  }
  return null
}

const ADDRESS_IN_BRACKETS = /[<(][^\s<>()@]{1,64}@[^\s<>()]{1,255}[>)]/

/** The zeros of scripts whose digits mail programs use in dates. */
const ZEROS = [0x0660, 0x06f0, 0x0966, 0x09e6, 0x0e50, 0xff10]

function withPlainDigits(text: string): string {
  return text.replace(/(?!\d)\p{Nd}/gu, (digit) => {
    const point = digit.codePointAt(0) ?? 0
    const zero = ZEROS.find((one) => point >= one && point < one + 10)
    return zero === undefined ? digit : String(point - zero)
  })
}

/**
 * An attribution without a colon, which might be ordinary text. It must be followed by a quote, or
 * contain date, time and address.
 */
function withoutColon(candidates: readonly string[], isQuoteNext: boolean): Attribution | null {
  for (const [linesBefore, text] of candidates.entries()) {
    const isWhole = ADDRESS.test(text) && YEAR_AND_DAY.test(text) && TIME_OF_DAY.test(text)
    if (OPENING_PATTERN.test(text) && (isQuoteNext || isWhole))
      return { linesBefore, textBefore: '' }
  }
  return isQuoteNext ? withoutDate(candidates, isQuoteNext) : null
}

/**
 * The text of the last line, of the last two lines, and so on up to a blank line. A blank line
 * inside a split address is skipped.
 */
function candidatesOf(lines: readonly string[], first: number, end: number): string[] {
  const candidates: string[] = []
  let text = ''
  let isSplit = false
  for (let at = end; at >= first && end - at < SPLIT_LINES_MAX; at--) {
    const line = (lines[at] ?? '').replace(DIRECTION_MARKS, '').trim()
    isSplit ||= ADDRESS_PART.test(text)
    if (end - at >= ATTRIBUTION_LINES_MAX && !isSplit) break
    if (line === '' && isSplit && (ADDRESS_PART.test(text) || tellsWhen(lines[at - 1]))) {
      candidates.push(text)
      continue
    }
    if (line === '' || line.length + text.length > ATTRIBUTION_LENGTH_MAX) break
    text = text === '' ? line : `${line} ${text}`
    candidates.push(text)
  }
  return candidates
}

function tellsWhen(line = ''): boolean {
  return (
    line.length <= ATTRIBUTION_LENGTH_MAX && OPENING_PATTERN.test(line) && TIME_OF_DAY.test(line)
  )
}

/** Matches text that starts within or after the address of an attribution. */
const ADDRESS_PART = /^(?:[<>]|mailto:|[^\s@<>]{1,100}@|wrote\b)/i

function openedBy(
  opening: RegExp,
  candidates: readonly string[],
  isQuoteNext: boolean,
): Attribution | null {
  for (const [linesBefore, text] of candidates.entries()) {
    if (opening.test(text) && tellsWhoAndWhen(text, isQuoteNext)) {
      return { linesBefore, textBefore: '' }
    }
  }
  return null
}

function tellsWhoAndWhen(text: string, isQuoteNext: boolean): boolean {
  if (WROTE_PATTERN.test(text)) {
    return isQuoteNext || ADDRESS.test(text) || YEAR_AND_DAY.test(text)
  }
  // Some programs omit the verb and write a date, a name and an address.
  if (!ADDRESS_ENDING.test(text)) return false
  return isQuoteNext || (TIME_OF_DAY.test(text) && YEAR_AND_DAY.test(text))
}

function afterTextOf(line: string, isQuoteNext: boolean): Attribution | null {
  const opening = INNER_OPENING_PATTERN.exec(line)
  if (opening === null) return null
  if (!tellsWhoAndWhen(line.slice(opening.index), isQuoteNext)) return null
  const textBefore = trimDashes(line.slice(0, opening.index))
  return { linesBefore: 0, textBefore }
}

function trimDashes(text: string): string {
  let length = text.length
  while (length > 0 && '- '.includes(text.charAt(length - 1))) length--
  return text.slice(0, length)
}

function withoutDate(candidates: readonly string[], isQuoteNext: boolean): Attribution | null {
  for (const [linesBefore, text] of candidates.slice(0, 2).entries()) {
    const verb = WROTE_PATTERN.exec(text)
    if (verb === null) continue
    const fuller = candidates[linesBefore + 1]
    const isPart = text.startsWith('<') || !/[\p{Nd}@]/u.test(text)
    if (isPart && fuller !== undefined && (ADDRESS.test(fuller) || YEAR_AND_DAY.test(fuller))) {
      return { linesBefore: linesBefore + 1, textBefore: '' }
    }
    const isNamed = ADDRESS.test(text) && /[>)]|&gt;/.test(text)
    if (isNamed || BETWEEN_DASHES.test(text) || isQuoteNext) return { linesBefore, textBefore: '' }
  }
  return null
}

/** The colon of East Asian scripts, bidirectional controls, and dashes of word processors. */
function isOddEnding(code: number): boolean {
  return code === 0xff1a || (code >= 0x200e && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069)
}

/**
 * The index after the header fields of a quoted message that start at `start`, or null if there are
 * no such fields. `fields` returns the field of each line. Three fields are a header, or two if one
 * contains an address.
 */
export function endOfQuotedHeader(
  lines: readonly string[],
  fields: readonly (QuotedField | null)[],
  start: number,
): number | null {
  const seen = new Set<QuotedField>()
  let end = start
  let hasAddress = false
  let continued = 0
  for (let at = start; at < lines.length && at - start < QUOTED_HEADER_LINES_MAX; at++) {
    const line = lines[at] ?? ''
    const field = fields[at] ?? null
    if (field !== null) {
      seen.add(field)
      continued = 0
    } else if (!isContinuation(line, fields, at) || ++continued > 2) {
      break
    }
    hasAddress ||= ADDRESS.test(line.slice(0, ATTRIBUTION_LENGTH_MAX))
    end = at + 1
  }
  return isHeader(seen, hasAddress) ? end : null
}

/** Matches a name, a colon and an address in brackets: the first field in any language. */
const FIELD_WITH_ADDRESS =
  /^[\s*_]{0,4}\p{L}[\p{L}\p{M}\s.'’]{0,30}[*_]{0,2}\s{0,2}[:：][*_]{0,2}\s[^<>@:]{0,100}<[^\s<>@]{1,64}@[^\s<>]{1,255}>/u
const FIELD_OF_ANY_NAME =
  /^[\s*_]{0,4}\p{L}[\p{L}\p{M}\s.'’-]{0,30}[*_]{0,2}\s{0,2}[:：][*_]{0,2}\s*\S/u
const SHAPED_FIELDS_MIN = 4

function isFieldWithAddress(line: string): boolean {
  return line.includes('@') && FIELD_WITH_ADDRESS.test(line.slice(0, ATTRIBUTION_LENGTH_MAX))
}

/** The index after four or more fields with unknown names, one of them with a date and a time. */
function endOfShapedHeader(lines: readonly string[], start: number): number | null {
  if (!isBlankAt(lines, start - 1) || !isFieldWithAddress(lines[start] ?? '')) return null
  let end = start
  let tellsTime = false
  while (end < lines.length && end - start < QUOTED_HEADER_LINES_MAX) {
    const line = (lines[end] ?? '').slice(0, ATTRIBUTION_LENGTH_MAX)
    if (!FIELD_OF_ANY_NAME.test(line)) break
    const text = withPlainDigits(line)
    tellsTime ||= YEAR_AND_DAY.test(text) && /\d{1,2}\D{1,3}\d{2}(?!\d)/.test(text)
    end += 1
  }
  return tellsTime && isBlankAt(lines, end) && end - start >= SHAPED_FIELDS_MIN ? end : null
}

function isHeader(seen: ReadonlySet<QuotedField>, hasAddress: boolean): boolean {
  if (!seen.has('from') && !seen.has('date')) return false
  if (hasAddress) return seen.size >= 2
  return seen.has('from') && seen.has('subject') && seen.size >= 3
}

/**
 * Whether the line continues a field, or is the blank line that some programs write between fields.
 */
function isContinuation(
  line: string,
  fields: readonly (QuotedField | null)[],
  at: number,
): boolean {
  const isFieldNext = (fields[at + 1] ?? null) !== null
  if (line.trim() === '') return isFieldNext
  return isFieldNext || (fields[at + 2] ?? null) !== null || /^\s/.test(line)
}

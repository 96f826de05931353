import { type Candidate, MessageContext, type ReadLine } from './lines.ts'
import {
  asksToEnter,
  givesExample,
  isAboutVerifying,
  type Label,
  leadsToValue,
  likensTo,
  mayNameCode,
  plainForm,
} from './word-tables.ts'

const EXTRACTED_CODES_MAX = 10
/** Maximum code points of a code's source line. */
const EXTRACTED_SOURCE_LENGTH_MAX = 200

export type FoundCode = {
  readonly value: string
  /** A number from 0 to 1, with two decimals. */
  readonly confidence: number
  /** The code's line, or as much around the code as EXTRACTED_SOURCE_LENGTH_MAX allows. */
  readonly source: string
}

type CodeTexts = {
  readonly subject: readonly ReadLine[]
  readonly bodies: readonly (readonly ReadLine[])[]
}

/** A code is dropped if its confidence is this much lower than the best one. */
const CONFIDENCE_GAP_MAX = 0.22
const CONFIDENCE_MIN = 0.6
const CONFIDENCE_MAX = 0.99
/** Bonus for a code in both the subject and the body. */
const AGREEMENT = 0.02
/** Maximum lines with candidates; mail with a code has fewer. */
const CANDIDATE_LINES_MAX = 200

type Met = { readonly value: string; readonly confidence: number; readonly in: Judged }
type Finding = { met: Met; place: number; texts: Set<number> }

/**
 * The codes of a message, best first, each once, at most EXTRACTED_CODES_MAX. A candidate is a code
 * if a word for a code is near it (in its line, above, below or in the subject) and no word for
 * another number is nearer. A value is copied verbatim from its line.
 */
export function findCodes({ subject, bodies }: CodeTexts): FoundCode[] {
  const findings = new Map<string, Finding>()
  const isNamed = [subject, ...bodies].some((lines) =>
    lines.some((line) => mayNameCode(line.folded)),
  )
  const opening = bodies.find((lines) => lines.some((line) => !line.isBlank)) ?? []
  for (const [index, lines] of [subject, ...bodies].entries()) {
    const context = new MessageContext(lines, index === 0 ? opening : subject, index === 0)
    for (const judged of judgeLines(context, isNamed)) {
      const { line, candidate, confidence } = judged
      const value = line.text.slice(candidate.start, candidate.end)
      remember(findings, index, { value, confidence, in: judged })
    }
  }
  return rank([...findings.values()])
}

/** A candidate, its line, and the index of the line in its text. */
type Place = {
  readonly context: MessageContext
  readonly at: number
  readonly line: ReadLine
  readonly candidate: Candidate
}

type Judged = { line: ReadLine; candidate: Candidate; confidence: number }

/** Matches digits, which need no label to be a code: "Use 482913 to sign in". */
const DIGITS = /\d(?:[ ·‐‑–-]?\d){3}/

function* judgeLines(context: MessageContext, isNamed: boolean): Generator<Judged> {
  let judgedLines = 0
  for (const [at, line] of context.lines.entries()) {
    if (!isNamed && !DIGITS.test(line.folded)) continue
    if (line.candidates.length === 0) continue
    if (++judgedLines > CANDIDATE_LINES_MAX) return
    for (const candidate of line.candidates) {
      const place = { context, at, line, candidate }
      const confidence = judgeInLine(place) ?? judgeAlone(place)
      if (confidence < CONFIDENCE_MIN) continue
      context.accept(at, candidate)
      yield { line, candidate, confidence }
    }
  }
}

function remember(findings: Map<string, Finding>, text: number, met: Met): void {
  const key = plainForm(met.value)
    .replace(/[^A-Za-z0-9]/g, '')
    .toUpperCase()
  const known = findings.get(key)
  if (known === undefined) {
    findings.set(key, { met, place: findings.size, texts: new Set([text]) })
    return
  }
  known.texts.add(text)
  if (met.confidence > known.met.confidence) known.met = met
}

function rank(findings: readonly Finding[]): FoundCode[] {
  const codes = findings
    .map(({ met, place, texts }) => {
      const agreed = texts.size > 1 ? met.confidence + AGREEMENT : met.confidence
      const confidence = Math.round(Math.min(agreed, CONFIDENCE_MAX) * 100) / 100
      return { met, confidence, place }
    })
    .sort((a, b) => b.confidence - a.confidence || a.place - b.place)
  const best = codes[0]?.confidence ?? 0
  return codes
    .filter(({ confidence }) => best - confidence <= CONFIDENCE_GAP_MAX)
    .slice(0, EXTRACTED_CODES_MAX)
    .map(({ met, confidence }) => ({
      value: met.value,
      confidence,
      source: sourceOf(met.in.line.text, met.in.candidate),
    }))
}

/** The trimmed line; for a long line, the section around the code. */
function sourceOf(line: string, { start, end }: Candidate): string {
  const trimmed = line.trim()
  const points = [...trimmed]
  if (points.length <= EXTRACTED_SOURCE_LENGTH_MAX) return trimmed
  const before = [...line.slice(0, start)]
  const fromEnd = EXTRACTED_SOURCE_LENGTH_MAX - [...line.slice(start, end)].length
  const shownBefore = before.slice(-Math.floor(fromEnd / 2)).join('')
  const shown = shownBefore + line.slice(start)
  return [...shown].slice(0, EXTRACTED_SOURCE_LENGTH_MAX).join('').trim()
}

const BEFORE_LENGTH_MAX = 240
const GAP_STRONG_MAX = 70
/** Maximum gap if "is" or a colon leads to the value. */
const GAP_LINKED_MAX = 110
const GAP_CODE_MAX = 60
/** The gap in "Account 4821". In contrast, "account: 4821" may end a sentence about a code. */
const TITLE_GAP = /^[\s"'#]*$/
const BLANK_GAP = /^[\s:=\-"'“”„«»‹›[\]【】「」『』()*_`|<>#]*$/

/**
 * Confidence from 0 to 1 that a candidate is a code, by the words of its own sentence: "Your code
 * is 482913", "482913 is your code", "Enter 482913 to sign in". Null if no word describes the
 * candidate, 0 if it is another kind of number. A wrapped sentence includes the next line.
 */
function judgeInLine(place: Place): number | null {
  return judgeBefore(place) ?? judgeAfter(place) ?? judgeEntering(place)
}

type Before = { text: string; labels: readonly Label[]; taken: number }

/**
 * The text before the candidate, including the end of the previous line if that line was wrapped.
 */
function textBefore({ context, at, candidate: { start } }: Place): Before {
  const cut = Math.max(0, start - BEFORE_LENGTH_MAX)
  const own = stretchOf(context, at, cut, start)
  const above = context.lineAt(at - 1)
  const isWrapped = above !== null && above.text.length >= WRAPPED_LENGTH_MIN
  if (!isWrapped || cut > 0 || SENTENCE_END.test(own.text)) return own
  const { length } = above.folded
  const tail = stretchOf(context, at - 1, Math.max(0, length - BEFORE_LENGTH_MAX), length)
  const offset = tail.text.length + 1
  const moved = own.labels.map(({ kind, start, end }) => ({
    kind,
    start: start + offset,
    end: end + offset,
  }))
  return {
    text: `${tail.text} ${own.text}`,
    labels: [...tail.labels, ...moved],
    taken: own.taken > 0 ? own.taken + offset : tail.taken,
  }
}

/** A range of a line with its labels, and the end of the last code found in it. */
function stretchOf(context: MessageContext, at: number, from: number, to: number): Before {
  const line = context.lineAt(at)
  if (line === null) return { text: '', labels: [], taken: 0 }
  const labels = line.labels
    .filter(({ start, end }) => start >= from && end <= to)
    .map(({ kind, start, end }) => ({ kind, start: start - from, end: end - from }))
  const taken = (context.acceptedAt(at).at(-1)?.end ?? 0) - from
  return { text: line.folded.slice(from, to), labels, taken }
}

function judgeBefore(place: Place): number | null {
  const { text, labels, taken } = textBefore(place)
  const open = withoutServed(text, withoutClosedParentheses(text, labels))
  const label = open.at(-1)
  if (label === undefined) return null
  const gap = text.slice(label.end)
  if (label.kind === 'title') {
    if (TITLE_GAP.test(gap)) return 0
    return judgeLabelBefore(place, { text, labels: open.slice(0, -1), taken })
  }
  return judgeLabelBefore(place, { text, labels: open, taken })
}

function judgeLabelBefore(place: Place, { text, labels, taken }: Before): number | null {
  const { line, candidate } = place
  const label = labels.findLast(({ kind }) => kind !== 'title')
  if (label === undefined) return null
  const gap = text.slice(label.end)
  if (crossesSentence(gap, line, candidate)) return null
  if (taken > label.end) return LIST_GAP.test(text.slice(taken)) ? 0.9 : null
  if (label.kind === 'number') return judgeBehindNumber(text, labels, label, candidate)
  const isDirect = BLANK_GAP.test(gap)
  const isLinked = isDirect || leadsToValue(text)
  if (namesExample(text, label) || isQuoted(text, label, line, candidate)) return 0
  if (candidate.form === 'word' && isShoutedWord(line, candidate, isDirect)) return null
  if (candidate.form === 'letters' && !endsClause(line, candidate)) return null
  if (label.kind === 'strong') return judgeStrong(candidate, { gap, isDirect, isLinked })
  return judgeCode(place, { gap, isDirect, isLinked })
}

/**
 * Whether the candidate is a word without digits in a line of capitals. Such a word must directly
 * follow its label and end the sentence.
 */
function isShoutedWord(line: ReadLine, { start, end }: Candidate, isDirect: boolean): boolean {
  if (/\d/.test(line.text.slice(start, end))) return false
  const around = line.text.slice(0, start) + line.text.slice(end)
  if (/\p{Ll}/u.test(around) || !/\p{Lu}{2}/u.test(around)) return false
  return !isDirect || !/^[\s"'”»\])】」*_]*(?:[.!]|$)/.test(line.text.slice(end))
}

/** Whether the candidate ends its clause or is in quotation marks. */
function endsClause({ text }: ReadLine, { start, end }: Candidate): boolean {
  if (/["'“„«‹「『]/.test(text.charAt(start - 1)) && /["'”“»›」』]/.test(text.charAt(end)))
    return true
  return /^["'”»\])】」*_]*\s{0,2}(?:[.!,(。！，（]|$)/.test(text.slice(end))
}

/**
 * The text between a label and the candidate. `isDirect`: it has only blanks and punctuation.
 * `isLinked`: it leads to a value.
 */
type Gap = { readonly gap: string; readonly isDirect: boolean; readonly isLinked: boolean }

function judgeStrong({ form }: Candidate, { gap, isDirect, isLinked }: Gap): number | null {
  if (gap.length > (isLinked ? GAP_LINKED_MAX : GAP_STRONG_MAX)) return null
  if (form === 'word' || form === 'letters') return isLinked && gap.length <= 20 ? 0.85 : null
  if (form === 'year' || form === 'odd') return isLinked ? 0.9 : null
  if (isDirect) return 0.97
  if (isLinked) return 0.96
  return form === 'digits' && !/[,:]/.test(gap) ? 0.75 : null
}

function judgeCode(
  { context, at, line, candidate }: Place,
  { gap, isDirect, isLinked }: Gap,
): number | null {
  const { form } = candidate
  if (!isLinked || gap.length > GAP_CODE_MAX) return null
  const { isVerifying, isElsewhere } = context.aboutAt(at)
  if (isElsewhere || TECHNICAL.test(line.folded) || isOfNumber(line, candidate)) return 0
  if (isVerifying) {
    if (form === 'word' || form === 'letters') {
      const isPlain = !/[\d-]/.test(line.text.slice(candidate.start, candidate.end))
      // Matches "Use this code to sign in: TRGQKM".
      const isLast = /[:：]\s*$/.test(gap) && endsClause(line, candidate)
      return (isDirect && !isPlain) || isLast ? 0.75 : null
    }
    if (form === 'year') return gap.length <= 20 ? 0.75 : null
    return isDirect ? 0.92 : 0.9
  }
  return form === 'digits' && gap.length <= 30 ? 0.65 : null
}

/** "Code 4711 of the price list" is not a sign-in code. */
function isOfNumber({ labels, folded }: ReadLine, { end }: Candidate): boolean {
  const next = labels.find(({ start }) => start >= end)
  return (
    next?.kind === 'number' &&
    /^ (?:of|from|in) (?:\p{L}{1,4} )?$/u.test(folded.slice(end, next.start))
  )
}

/**
 * In "Your verification code for the mobile app is 482913", the sentence continues after the other
 * noun. In "code for order 482913", the number belongs to the order.
 */
function judgeBehindNumber(
  text: string,
  labels: readonly Label[],
  number: Label,
  { form }: Candidate,
): number {
  const gap = text.slice(number.end)
  const earlier = labels[labels.indexOf(number) - 1]
  // Matches "Code, um Ihr Konto zu bestätigen: 771034".
  if (earlier?.kind === 'code' && form === 'digits' && gap.endsWith(': ')) {
    const isShort = text.length - earlier.end <= GAP_LINKED_MAX
    if (isShort && isAboutVerifying(gap) && !SENTENCE_END.test(text.slice(earlier.end))) return 0.75
  }
  if (earlier?.kind !== 'strong' || form === 'word' || form === 'year') return 0
  const between = text.slice(earlier.end)
  if (between.length > GAP_STRONG_MAX + 20 || SENTENCE_END.test(between)) return 0
  if (/[:|;]/.test(text.slice(earlier.end, number.start))) return 0
  return /\p{L}/u.test(gap) && leadsToValue(text) ? 0.85 : 0
}

function namesExample(text: string, { start, end }: Label): boolean {
  return (
    givesExample(text.slice(Math.max(0, start - EXAMPLE_LENGTH_MAX))) || likensTo(text.slice(end))
  )
}

/** Whether label and value are in quotation marks: phishers send "your code is 123456". */
function isQuoted(text: string, { start }: Label, line: ReadLine, { end }: Candidate): boolean {
  const isOpen = /["“„«][^"”»“„«]{0,60}$/.test(text.slice(Math.max(0, start - 61), start))
  return isOpen && /^[.!]?["”»“]/.test(line.text.slice(end))
}

/** Characters before a label that are searched for "for example". */
const EXAMPLE_LENGTH_MAX = 24

/** Whether a sentence ends in the gap, unless the candidate is a sentence of its own. */
function crossesSentence(gap: string, line: ReadLine, { end }: Candidate): boolean {
  const match = /^([\s\S]*)(?:[.!?…]\s|[。！？；])([\s\S]*)$/.exec(gap)
  if (match === null) return false
  const isFirst = !/[\p{L}\p{N}]/u.test(match[2] ?? '')
  const rest = line.text.slice(end)
  return !(
    isFirst &&
    /^[\s"'”»\])】」*_]*(?:[.!。！]|$)/.test(rest) &&
    !/[.!?…。]/.test(match[1] ?? '')
  )
}

const LIST_GAP =
  /^[\s,;/|&、，·-]{1,6}$|^\s?,?\s?(?:and|or|und|oder|et|ou|y|o|e|i|и|ve|と|和|및|و)\s$/

function withoutClosedParentheses(text: string, labels: readonly Label[]): readonly Label[] {
  if (!text.includes(')') && !text.includes('）')) return labels
  return labels.filter(({ end }) => {
    const closing = text.slice(end).search(/[)）]/)
    const opening = text.slice(end).search(/[(（]/)
    return closing === -1 || (opening !== -1 && opening < closing)
  })
}

/** Drops labels that already have their own number: "TAN for no. 3, amount 1482,90 PLN: 66014". */
function withoutServed(text: string, labels: readonly Label[]): readonly Label[] {
  return labels.filter(({ kind, end }, index) => {
    if (kind !== 'number' && kind !== 'title') return true
    const next = labels[index + 1]?.start ?? text.length
    return !/\d/.test(text.slice(end, next))
  })
}

/** Words in logs and source code, where a code identifies an error. */
const TECHNICAL =
  /error|errno|exception|refused|return(?:ed|s)|failure|fehler|erreur|ошибк|エラー|错误|錯誤|오류|\b(?:exit|failed|status|http)\b/

const ENTER_GAP_MAX = 16

/** Confidence for sentences without a word for a code: "Use 482913 to sign in". */
function judgeEntering({ context, at, line, candidate }: Place): number | null {
  const { start, end, form } = candidate
  const isInGroups = form === 'word' && /^[A-Z]{3,6}-/.test(line.text.slice(start, end))
  if (form !== 'digits' && !isInGroups) return null
  const nearBefore = line.folded.slice(Math.max(0, start - ENTER_GAP_MAX), start)
  const nearAfter = line.folded.slice(end, end + ENTER_GAP_MAX)
  if (!asksToEnter(nearBefore, nearAfter)) return null
  const { isElsewhere } = context.aboutAt(at)
  return isAboutVerifying(line.folded) && !isElsewhere ? 0.85 : null
}

/** Shorter lines were ended by the writer, not wrapped by a program. */
const WRAPPED_LENGTH_MIN = 40
const SENTENCE_END = /[.!?…]\s|[。！？;；]|\.$/
const GAP_AFTER_MAX = 45
const PLAIN_GAP = /^[\p{L}\p{M}\p{N}\s"'“”„«»‹›[\]【】「」『』()（）*_`,，、&-]*$/u
const PLURAL = /(?:codes|codici|codigos|passwords|passcodes|pins|koder|kody)$/

/** Whether the line begins with letters in groups: "KXR-PLM is your sign-in code". */
function opensLine({ text }: ReadLine, { start, end }: Candidate): boolean {
  return !/[\p{L}\p{N}]/u.test(text.slice(0, start)) && text.slice(start, end).includes('-')
}

/** Confidence by the words after the candidate: "482913 is your code". */
function judgeAfter(place: Place): number | null {
  const { context, at, line, candidate } = place
  const { end, form } = candidate
  if ((form === 'word' || form === 'letters') && !opensLine(line, candidate)) return null
  const below = context.lineAt(at + 1)
  const own = line.folded.slice(end)
  const isWrapped =
    below !== null && line.text.length >= WRAPPED_LENGTH_MIN && !SENTENCE_END.test(own)
  const label = line.labels.find((one) => one.start >= end && one.kind !== 'title')
  if (label === undefined && isWrapped) {
    return judgeWrappedAfter(place, own, below)
  }
  if (label === undefined) return null
  const gap = line.folded.slice(end, label.start)
  if (
    !isPlainGap(gap) ||
    line.candidates.some(({ start }) => start >= end && start < label.start)
  ) {
    return null
  }
  const named = /^\S*/.exec(line.folded.slice(label.end))?.[0] ?? ''
  // Matches "730418 (expires at 14:05)".
  if (label.kind === 'number' && /^\s{0,2}\d/.test(line.folded.slice(label.end))) return null
  if (gap.trim() === '' && PLURAL.test(line.folded.slice(label.start, label.end) + named)) return 0
  if (namesAnother(line, label)) return null
  return judgeLabelAfter(place, label, gap)
}

function judgeLabelAfter(
  { context, at, candidate: { form } }: Place,
  { kind }: Label,
  gap: string,
): number | null {
  if (kind === 'number') return gap.length <= 12 ? 0 : null
  if (kind !== 'strong' && (form === 'word' || form === 'letters')) return null
  if (kind === 'strong') return form === 'year' && gap.trim() === '' ? 0 : 0.95
  const { isVerifying, isElsewhere } = context.aboutAt(at)
  if (isElsewhere) return 0
  if (isVerifying) return form === 'year' ? null : 0.88
  return form === 'digits' && gap.length <= 25 ? 0.65 : null
}

function judgeWrappedAfter({ context, at }: Place, own: string, below: ReadLine): number | null {
  const label = below.labels.find(({ kind }) => kind !== 'title')
  if (label === undefined || label.kind === 'number') return null
  const gap = `${own.trimEnd()} ${below.folded.slice(0, label.start)}`
  if (own.trim() === '' || !isPlainGap(gap) || namesAnother(below, label)) return null
  if (label.kind === 'strong') return 0.9
  return context.aboutAt(at).isVerifying && !context.aboutAt(at).isElsewhere ? 0.8 : null
}

function isPlainGap(gap: string): boolean {
  return gap.length <= GAP_AFTER_MAX && PLAIN_GAP.test(gap)
}

function namesAnother(line: ReadLine, { end }: Label): boolean {
  const next = line.candidates.find(({ start }) => start >= end)
  const rest = line.folded.slice(end)
  if (/^\s{0,2}[:：|]/.test(rest)) return true
  return (
    next !== undefined && next.start - end <= 12 && leadsToValue(rest.slice(0, next.start - end))
  )
}

/** Lines with text above and below a candidate that may contain its label. */
const LINES_ABOVE = 5
const LINES_BELOW = 2
const DISTANCE_MAX = 16
/** A caption such as "Order number:"; longer lines are sentences. */
const CAPTION_LENGTH_MAX = 45

/**
 * Confidence from 0 to 1 that a candidate alone on its line or in its cell is a code, by the
 * nearest line above with a label, the line below, or the subject.
 */
function judgeAlone(place: Place): number {
  const isAlone = place.line.isAlone(place.candidate)
  if (isAlone === false || place.context.isSubject) return 0
  if (isAlone === 'with-remark') return judgeUnderCaption(place) || (judgeBelow(place) ?? 0)
  return judgeColumn(place) ?? judgeAbove(place) ?? judgeBelow(place) ?? judgeBySubject(place)
}

/** A candidate followed by a remark is judged only by the line directly above. */
function judgeUnderCaption(place: Place): number {
  const { context, at, candidate } = place
  if (candidate.form !== 'digits' && candidate.form !== 'mixed') return 0
  let above = at - 1
  while (above >= 0 && context.lineAt(above)?.isBlank === true) above--
  const line = context.lineAt(above)
  return line === null ? 0 : (judgeCaption(place, line, 1) ?? 0)
}

/** A candidate in a row of cells is judged only by the head of its column. */
function judgeColumn(place: Place): number | null {
  const { context, at, line, candidate } = place
  const { cells } = line
  if (cells.length < 2) return null
  for (let above = at - 1; above >= 0 && at - above <= DISTANCE_MAX; above--) {
    const head = context.lineAt(above)
    if (head === null || head.isBlank) continue
    if (head.cells.length !== cells.length) return 0
    const column = line.cellAt(candidate.start).index
    const own = head.labels.filter((label) => head.cellAt(label.start).index === column)
    const label = own.findLast(({ kind }) => kind !== 'title')
    if (label?.kind !== 'strong' && label?.kind !== 'code') return 0
    return confidenceOf(place, label.kind, 1)
  }
  return 0
}

function judgeAbove(place: Place): number | null {
  const { context, at, candidate } = place
  let distance = 0
  let isAfterText = false
  for (let above = at - 1; above >= 0 && at - above <= DISTANCE_MAX; above--) {
    const line = context.lineAt(above)
    if (line === null || line.isBlank) continue
    const accepted = context.acceptedAt(above)
    if (accepted.length > 0) {
      // Codes in a list directly follow each other, so a number after other text is not in the
      // list.
      const isList = !isAfterText && accepted.some((one) => line.isAlone(one))
      if (!isList) return 0
      const last = accepted.at(-1)
      return last !== undefined && last.form === candidate.form ? 0.85 : 0
    }
    isAfterText = true
    if (++distance > LINES_ABOVE) return null
    const found = judgeCaption(place, line, distance)
    if (found !== null) return found
  }
  return null
}

/** Confidence by a line above; null if that line has no label for the candidate. */
function judgeCaption(place: Place, line: ReadLine, distance: number): number | null {
  const labels = line.labels.filter(({ kind }) => kind !== 'title')
  const last = labels.at(-1)
  if (last === undefined) return null
  const text = line.folded.trim()
  const isCaption = text.length <= CAPTION_LENGTH_MAX || /[:：]$/.test(text)
  if (last.kind === 'number' && isCaption) {
    const isForCode = labels.some(({ kind }) => kind === 'strong') && !/[:：]$/.test(text)
    if (!isForCode) return 0
  }
  const named =
    labels.findLast(({ kind }) => kind === 'strong') ??
    labels.findLast(({ kind }) => kind === 'code')
  if (named === undefined || named.kind === 'number' || named.kind === 'title') return null
  return confidenceOf(place, named.kind, distance)
}

function judgeBelow(place: Place): number | null {
  const { context, at } = place
  let distance = 0
  for (let below = at + 1; distance < LINES_BELOW && below - at <= DISTANCE_MAX; below++) {
    const line = context.lineAt(below)
    if (line === null) return null
    if (line.isBlank) continue
    distance++
    const label = line.labels.find(({ kind }) => kind !== 'title')
    if (label === undefined) continue
    if (label.kind === 'number' || label.kind === 'title') return null
    if (/[:：|]/.test(line.folded.slice(label.end))) return null
    // "The PIN pads arrive on Monday" is not about the number below it.
    const isAbout = line.isVerifying || asksToEnter(line.folded, line.folded)
    if (label.kind === 'code' && !isAbout) return null
    if (line.candidates.some(({ start }) => start >= label.end)) return null
    return 0.97 * confidenceOf(place, label.kind, distance)
  }
  return null
}

function judgeBySubject({ context, at, candidate }: Place): number {
  if (candidate.form !== 'digits' && candidate.form !== 'mixed') return 0
  const labels = context.other.flatMap((line) => line.labels)
  if (labels.some(({ kind }) => kind === 'strong')) return 0.8
  const { isVerifying, isElsewhere } = context.aboutAt(at)
  const isNamed = labels.some(({ kind }) => kind === 'code')
  return isNamed && isVerifying && !isElsewhere ? 0.75 : 0
}

function confidenceOf(
  { context, at, candidate: { form } }: Place,
  kind: 'strong' | 'code',
  distance: number,
): number {
  const far = 0.03 * (distance - 1)
  const isSure = form === 'digits' || form === 'mixed'
  if (kind === 'strong') {
    if (isSure) return 0.96 - far
    return distance <= 2 ? 0.8 : 0
  }
  const { isVerifying, isElsewhere } = context.aboutAt(at)
  if (isElsewhere) return 0
  if (isVerifying) return isSure ? 0.9 - far : distance === 1 ? 0.7 : 0
  return form === 'digits' && distance === 1 ? 0.62 : 0
}

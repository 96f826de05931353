// How sure it is that a candidate is a code, by the words of its own sentence: "Your code is 482913",
// "482913 is your code", "Enter 482913 to sign in". A line that was wrapped goes on in the next.

import type { Candidate } from './code-candidates.ts'
import { asksToEnter, isAboutVerifying, type Label, leadsToValue } from './code-labels.ts'
import { judgeAfter, SENTENCE_END, WRAPPED_LENGTH_MIN } from './judge-after.ts'
import type { MessageContext } from './message-context.ts'
import type { ReadLine } from './read-lines.ts'

const BEFORE_LENGTH_MAX = 240
const GAP_STRONG_MAX = 70
/** Where "is" or a colon leads on to the value. */
const GAP_LINKED_MAX = 110
const GAP_CODE_MAX = 60
/** "Account 4821", where "account: 4821" may end a sentence about a code. */
const TITLE_GAP = /^[\s"'#]*$/
const BLANK_GAP = /^[\s:=\-"'“”„«»‹›[\]【】「」『』()*_`|<>#]*$/

/** From 0 to 1; null where no word of its sentence names it, 0 where one names it as something else. */
export function judgeInLine(
  context: MessageContext,
  at: number,
  candidate: Candidate,
): number | null {
  const line = context.lineAt(at)
  if (line === null) return 0
  const before = judgeBefore(context, at, line, candidate)
  if (before !== null) return before
  const after = judgeAfter(context, at, line, candidate)
  if (after !== null) return after
  return judgeEntering(context, at, line, candidate)
}

type Before = { text: string; labels: readonly Label[]; taken: number }

/** The text before the candidate, with the end of the line above where that was wrapped. */
function textBefore(context: MessageContext, at: number, { start }: Candidate): Before {
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

/** A part of a line with its labels, and where in it the last code ends that was found already. */
function stretchOf(context: MessageContext, at: number, from: number, to: number): Before {
  const line = context.lineAt(at)
  if (line === null) return { text: '', labels: [], taken: 0 }
  const labels = line.labels
    .filter(({ start, end }) => start >= from && end <= to)
    .map(({ kind, start, end }) => ({ kind, start: start - from, end: end - from }))
  const taken = (context.acceptedAt(at).at(-1)?.end ?? 0) - from
  return { text: line.folded.slice(from, to), labels, taken }
}

function judgeBefore(
  context: MessageContext,
  at: number,
  line: ReadLine,
  candidate: Candidate,
): number | null {
  const { text, labels, taken } = textBefore(context, at, candidate)
  const open = withoutServed(text, withoutClosedParentheses(text, labels))
  const label = open.at(-1)
  if (label === undefined) return null
  const gap = text.slice(label.end)
  if (label.kind === 'title') {
    if (TITLE_GAP.test(gap)) return 0
    return judgeLabelBefore(context, at, line, candidate, {
      text,
      labels: open.slice(0, -1),
      taken,
    })
  }
  return judgeLabelBefore(context, at, line, candidate, { text, labels: open, taken })
}

function judgeLabelBefore(
  context: MessageContext,
  at: number,
  line: ReadLine,
  candidate: Candidate,
  { text, labels, taken }: Before,
): number | null {
  const label = labels.findLast(({ kind }) => kind !== 'title')
  if (label === undefined) return null
  const gap = text.slice(label.end)
  if (crossesSentence(gap, line, candidate)) return null
  if (taken > label.end) return isListGap(text.slice(taken)) ? 0.9 : null
  if (label.kind === 'number') return judgeBehindNumber(text, labels, label, candidate)
  const isDirect = BLANK_GAP.test(gap)
  const isLinked = isDirect || leadsToValue(text)
  if (label.kind === 'strong') return judgeStrong(candidate, gap, isDirect, isLinked)
  return judgeCode(context, at, line, candidate, gap, isDirect, isLinked)
}

function judgeStrong(
  { form }: Candidate,
  gap: string,
  isDirect: boolean,
  isLinked: boolean,
): number | null {
  if (gap.length > (isLinked ? GAP_LINKED_MAX : GAP_STRONG_MAX)) return null
  if (form === 'word') return isLinked && gap.length <= 20 ? 0.85 : null
  if (form === 'year' || form === 'odd') return isLinked ? 0.9 : null
  if (isDirect) return 0.97
  if (isLinked) return 0.96
  return form === 'digits' && !/[,:]/.test(gap) ? 0.75 : null
}

function judgeCode(
  context: MessageContext,
  at: number,
  line: ReadLine,
  candidate: Candidate,
  gap: string,
  isDirect: boolean,
  isLinked: boolean,
): number | null {
  const { form } = candidate
  if (!isLinked || gap.length > GAP_CODE_MAX) return null
  const { isVerifying, isElsewhere } = context.aboutAt(at)
  if (isElsewhere || TECHNICAL.test(line.folded)) return 0
  if (isVerifying) {
    if (form === 'word') return isDirect && /[\d-]/.test(shownAs(line, candidate)) ? 0.75 : null
    if (form === 'year') return gap.length <= 20 ? 0.75 : null
    return isDirect ? 0.92 : 0.9
  }
  return form === 'digits' && gap.length <= 30 ? 0.65 : null
}

/**
 * "Your verification code for the mobile app is 482913" names one other thing on the way, and goes on
 * from it with words; "code for order 482913" names the order.
 */
function judgeBehindNumber(
  text: string,
  labels: readonly Label[],
  number: Label,
  { form }: Candidate,
): number {
  const gap = text.slice(number.end)
  const earlier = labels[labels.indexOf(number) - 1]
  if (earlier?.kind !== 'strong' || form === 'word' || form === 'year') return 0
  const between = text.slice(earlier.end)
  if (between.length > GAP_STRONG_MAX + 20 || SENTENCE_END.test(between)) return 0
  if (/[:|;]/.test(text.slice(earlier.end, number.start))) return 0
  return /\p{L}/u.test(gap) && leadsToValue(text) ? 0.85 : 0
}

/** Past the end of a sentence only what stands in a sentence of its own. */
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

function isListGap(between: string): boolean {
  return LIST_GAP.test(between)
}

function withoutClosedParentheses(text: string, labels: readonly Label[]): readonly Label[] {
  if (!text.includes(')') && !text.includes('）')) return labels
  return labels.filter(({ end }) => {
    const closing = text.slice(end).search(/[)）]/)
    const opening = text.slice(end).search(/[(（]/)
    return closing === -1 || (opening !== -1 && opening < closing)
  })
}

/** Labels of other numbers that have their own: "TAN for no. 3, amount 1482,90 PLN: 66014". */
function withoutServed(text: string, labels: readonly Label[]): readonly Label[] {
  return labels.filter(({ kind, end }, index) => {
    if (kind !== 'number' && kind !== 'title') return true
    const next = labels[index + 1]?.start ?? text.length
    return !/\d/.test(text.slice(end, next))
  })
}

/** Lines of logs and of programmers, whose codes are of errors. */
const TECHNICAL =
  /error|errno|exception|refused|return(?:ed|s)|failure|fehler|erreur|ошибк|エラー|错误|錯誤|오류|\b(?:exit|failed|status|http)\b/

function shownAs(line: ReadLine, { start, end }: Candidate): string {
  return line.text.slice(start, end)
}

const ENTER_GAP_MAX = 16

/** "Use 482913 to sign in": no word for a code at all. */
function judgeEntering(
  context: MessageContext,
  at: number,
  line: ReadLine,
  { start, end, form }: Candidate,
): number | null {
  if (form !== 'digits') return null
  const nearBefore = line.folded.slice(Math.max(0, start - ENTER_GAP_MAX), start)
  const nearAfter = line.folded.slice(end, end + ENTER_GAP_MAX)
  if (!asksToEnter(nearBefore, nearAfter)) return null
  const { isElsewhere } = context.aboutAt(at)
  return isAboutVerifying(line.folded) && !isElsewhere ? 0.85 : null
}

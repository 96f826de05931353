// How sure it is that a candidate is a code, by the words behind it: "482913 is your code". A line that
// was wrapped goes on in the next.

import type { Candidate } from './code-candidates.ts'
import { type Label, leadsToValue } from './code-labels.ts'
import type { MessageContext } from './message-context.ts'
import type { ReadLine } from './read-lines.ts'

/** Shorter lines are not wrapped by a program: they end where the writer ended them. */
export const WRAPPED_LENGTH_MIN = 40
export const SENTENCE_END = /[.!?…]\s|[。！？;；]|\.$/
const GAP_AFTER_MAX = 45
const PLAIN_GAP = /^[\p{L}\p{M}\p{N}\s"'“”„«»‹›[\]【】「」『』()（）*_`,，、&-]*$/u
const PLURAL = /(?:codes|codici|codigos|passwords|passcodes|pins|koder|kody)$/

/** From 0 to 1; null where nothing behind it names it, 0 where it is named as something else. */
export function judgeAfter(
  context: MessageContext,
  at: number,
  line: ReadLine,
  candidate: Candidate,
): number | null {
  const { end, form } = candidate
  if (form === 'word') return null
  const below = context.lineAt(at + 1)
  const own = line.folded.slice(end)
  const isWrapped =
    below !== null && line.text.length >= WRAPPED_LENGTH_MIN && !SENTENCE_END.test(own)
  const label = line.labels.find((one) => one.start >= end && one.kind !== 'title')
  if (label === undefined && isWrapped) {
    return judgeWrappedAfter(context, at, own, below)
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
  if (gap.trim() === '' && PLURAL.test(line.folded.slice(label.start, label.end) + named)) return 0
  if (namesAnother(line, label)) return null
  return judgeLabelAfter(context, at, candidate, label, gap)
}

function judgeLabelAfter(
  context: MessageContext,
  at: number,
  { form }: Candidate,
  { kind }: Label,
  gap: string,
): number | null {
  if (kind === 'number') return gap.length <= 12 ? 0 : null
  if (kind === 'strong') return form === 'year' && gap.trim() === '' ? 0 : 0.95
  const { isVerifying, isElsewhere } = context.aboutAt(at)
  if (isElsewhere) return 0
  if (isVerifying) return form === 'year' ? null : 0.88
  return form === 'digits' && gap.length <= 25 ? 0.65 : null
}

function judgeWrappedAfter(
  context: MessageContext,
  at: number,
  own: string,
  below: ReadLine,
): number | null {
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

/** Whether the label leads on to a value of its own. */
function namesAnother(line: ReadLine, { end }: Label): boolean {
  const next = line.candidates.find(({ start }) => start >= end)
  const rest = line.folded.slice(end)
  if (/^\s{0,2}[:：|]/.test(rest)) return true
  return (
    next !== undefined && next.start - end <= 12 && leadsToValue(rest.slice(0, next.start - end))
  )
}

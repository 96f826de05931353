// How sure it is that a candidate that stands alone on its line, or in its cell, is a code: by the
// nearest line above that names one, the line below, or the subject.

import type { Candidate } from './code-candidates.ts'
import { asksToEnter } from './code-labels.ts'
import type { MessageContext } from './message-context.ts'
import type { ReadLine } from './read-lines.ts'

/** Lines with text above and below in which a word is looked for. */
const LINES_ABOVE = 5
const LINES_BELOW = 2
/** Blank lines and all. */
const DISTANCE_MAX = 16
/** A line that names one thing, as "Order number:" does; longer ones are sentences. */
const CAPTION_LENGTH_MAX = 45

/** From 0 to 1. */
export function judgeAlone(context: MessageContext, at: number, candidate: Candidate): number {
  const line = context.lineAt(at)
  if (line === null || context.isSubject) return 0
  const column = judgeColumn(context, at, line, candidate)
  if (column !== null) return column
  const above = judgeAbove(context, at, candidate)
  if (above !== null) return above
  const below = judgeBelow(context, at, candidate)
  if (below !== null) return below
  return judgeBySubject(context, at, candidate)
}

/** In a row of cells the head of the same column says what it is, and nothing else does. */
function judgeColumn(
  context: MessageContext,
  at: number,
  line: ReadLine,
  candidate: Candidate,
): number | null {
  const { cells } = line
  if (cells.length < 2) return null
  for (let above = at - 1; above >= 0 && at - above <= DISTANCE_MAX; above--) {
    const head = context.lineAt(above)
    if (head === null || head.isBlank) continue
    if (head.cells.length !== cells.length) return 0
    const place = line.cellAt(candidate.start).index
    const own = head.labels.filter((label) => head.cellAt(label.start).index === place)
    const label = own.findLast(({ kind }) => kind !== 'title')
    if (label?.kind !== 'strong' && label?.kind !== 'code') return 0
    return confidenceOf(context, at, candidate, label.kind, 1)
  }
  return 0
}

function judgeAbove(context: MessageContext, at: number, candidate: Candidate): number | null {
  let distance = 0
  let isAfterText = false
  for (let above = at - 1; above >= 0 && at - above <= DISTANCE_MAX; above--) {
    const line = context.lineAt(above)
    if (line === null || line.isBlank) continue
    const accepted = context.acceptedAt(above)
    if (accepted.length > 0) {
      // Codes in a list follow each other; what comes after other text is another number.
      const isList = !isAfterText && accepted.some((one) => line.isAlone(one))
      if (!isList) return 0
      const last = accepted.at(-1)
      return last !== undefined && last.form === candidate.form ? 0.85 : 0
    }
    isAfterText = true
    if (++distance > LINES_ABOVE) return null
    const found = judgeCaption(context, at, candidate, line, distance)
    if (found !== null) return found
  }
  return null
}

/** What a line above says of the candidate; null when it says nothing. */
function judgeCaption(
  context: MessageContext,
  at: number,
  candidate: Candidate,
  line: ReadLine,
  distance: number,
): number | null {
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
  return confidenceOf(context, at, candidate, named.kind, distance)
}

function judgeBelow(context: MessageContext, at: number, candidate: Candidate): number | null {
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
    // "The PIN pads arrive on Monday" is not about what stands above it.
    const isAbout = line.isVerifying || asksToEnter(line.folded, line.folded)
    if (label.kind === 'code' && !isAbout) return null
    if (line.candidates.some(({ start }) => start >= label.end)) return null
    return 0.97 * confidenceOf(context, at, candidate, label.kind, distance)
  }
  return null
}

function judgeBySubject(context: MessageContext, at: number, candidate: Candidate): number {
  if (candidate.form !== 'digits' && candidate.form !== 'mixed') return 0
  const labels = context.other.flatMap((line) => line.labels)
  if (labels.some(({ kind }) => kind === 'strong')) return 0.8
  const { isVerifying, isElsewhere } = context.aboutAt(at)
  const isNamed = labels.some(({ kind }) => kind === 'code')
  return isNamed && isVerifying && !isElsewhere ? 0.75 : 0
}

function confidenceOf(
  context: MessageContext,
  at: number,
  { form }: Candidate,
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

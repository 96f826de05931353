import { isSentFrom } from './reply-words.ts'

/** Matches the start of a signature or list footer below a quote. */
const FOOTER = /^\s*(?:--\s?|[-_=]{3,}.*)$/

/** Whether the lines between quotes contain text of the author before a signature. */
export function hasOwnText(lines: readonly string[]): boolean {
  const line = lines.find((one) => one.trim() !== '')
  return line !== undefined && !FOOTER.test(line) && !isSentFrom(line.trim())
}

/**
 * The quotes that are context for inline answers: quotes between own text, and the first of several
 * that are answered. A single quote above or below all own text is history. `hasOwn` lists whether
 * own text precedes each quote and follows the last one.
 */
export function contextsOf(hasOwn: readonly boolean[]): ReadonlySet<number> {
  const quotes = hasOwn.length - 1
  const answered = Array.from({ length: Math.max(0, quotes) }, (_, index) => index).filter(
    (index) => hasOwn[index + 1],
  )
  return new Set(
    answered.filter((index) => answered.length > 1 || hasOwn.slice(0, index + 1).some(Boolean)),
  )
}

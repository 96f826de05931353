// The end of what an author wrote: where the signature begins. Knows lines only, not quotes.

import { CLOSING_PATTERN, DEVICE_PATTERN, isSentFrom, SIGNATURE_LINES } from './reply-marks.ts'

/** A closing ("Kind regards") with more lines after it than this does not start a signature. */
const SIGNATURE_LINES_MAX = 10
const SIGNATURE_LINE_LENGTH_MAX = 120

/** Whether a signature may begin with the line; cheap, to be asked of every line. */
export function opensSignature(line: string): boolean {
  if (line.length > SIGNATURE_LINE_LENGTH_MAX) return false
  const words = line.trim()
  if (words.length <= SIGNATURE_MARK_LENGTH) return SIGNATURE_LINES.has(words)
  return isSentFrom(words) || (words.length <= CLOSING_LENGTH_MAX && CLOSING_PATTERN.test(words))
}

const CLOSING_LENGTH_MAX = 60
const SIGNATURE_MARK_LENGTH = 2

/**
 * The lines without the signature. One that no text stands above, here or (`isAfterText`) before the
 * lines, is no signature; but the line that names a device is left out even then.
 */
export function withoutSignature(lines: readonly string[], isAfterText: boolean): string[] {
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
    // A question or a postscript is part of what the author has to say.
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

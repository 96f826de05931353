// Finds secrets that a message would leak: private keys, tokens, card and account numbers.

import { hash } from 'node:crypto'
import { readMarkup, readReferences } from '#content/markup.ts'
import { type ContentPart, type MailContent, partsOf } from '#content/parts.ts'
import { plainReading, type Reading, readAgain } from '#content/reading.ts'
import { unmask } from '#content/unmask.ts'
import { type FoundSecret, findKeyBlocks, findLabelled, findUrlPasswords } from './key-blocks.ts'
import { findCardNumbers, findIbans } from './numbers.ts'
import { LEAD_LENGTH_MAX, TOKEN_RULES, type TokenRule, UNMARKED_RULES } from './token-rules.ts'

/** A secret, without its value. */
export type SecretFinding = {
  readonly kind: string
  readonly part: string
  /** Offset in UTF-16 units in the text of the part, or in the source of HTML. */
  readonly offset: number
  /** Length in UTF-16 units, including tags and invisible characters inside the secret. */
  readonly length: number
  /** Hexadecimal SHA-256 of the UTF-8 of these units of the part. */
  readonly sha256: string
}

export const SECRET_FINDINGS_MAX = 100

/**
 * The secrets in subject, bodies, textual files and file names, ordered by part and offset. Null if
 * the message has more text than CONTENT_LENGTH_MAX or messages nested too deeply. Other files are
 * not searched. Runs in linear time.
 */
export function findSecrets(content: MailContent): SecretFinding[] | null {
  const parts = partsOf(content)
  if (parts === null) return null
  const findings: SecretFinding[] = []
  for (const part of parts) {
    findings.push(...findInPart(part))
    if (findings.length >= SECRET_FINDINGS_MAX) return findings.slice(0, SECRET_FINDINGS_MAX)
  }
  return findings
}

function findInPart({ part, isHtml, windows }: ContentPart): SecretFinding[] {
  const found: (FoundSecret & { sha256: string })[] = []
  for (const { text, offset, isLast } of windows()) {
    for (const { kind, start, end } of findInText(text, isHtml)) {
      // A finding that touches the end may continue in the next window, which overlaps this window.
      if (end === text.length && !isLast) continue
      const sha256 = hash('sha256', text.slice(start, end))
      addApart(found, { kind, start: offset + start, end: offset + end, sha256 })
    }
  }
  found.sort((one, other) => one.start - other.start)
  return found.map(({ start, end, ...secret }) => ({
    ...secret,
    part,
    offset: start,
    length: end - start,
  }))
}

function findInText(text: string, isHtml: boolean): FoundSecret[] {
  const readings = isHtml ? [readMarkup(text), readReferences(text)] : [plainReading(text)]
  const found: FoundSecret[] = []
  for (const reading of readings) {
    const unmasked = readAgain(reading, unmask)
    for (const secret of findIn(unmasked)) addApart(found, placed(secret, unmasked))
  }
  return found
}

function placed({ kind, start, end }: FoundSecret, reading: Reading): FoundSecret {
  return { kind, ...reading.sourceOf(start, end) }
}

/** The secrets in a text, without those inside an earlier one. */
function findIn({ text }: Reading): FoundSecret[] {
  const found: FoundSecret[] = []
  const finders = [findKeyBlocks, findTokens, findLabelled, findUrlPasswords]
  // An account number may contain the digits of a card number.
  for (const find of [...finders, findIbans, findCardNumbers]) {
    for (const secret of find(text)) addApart(found, secret)
  }
  return found
}

function addApart<Found extends FoundSecret>(found: Found[], secret: Found): void {
  if (found.length >= SECRET_FINDINGS_MAX) return
  if (!found.some(({ start, end }) => secret.start < end && start < secret.end)) found.push(secret)
}

function* findTokens(text: string): Generator<FoundSecret> {
  for (const { kind, rest, isValid } of UNMARKED_RULES) {
    for (const { 0: token, index } of text.matchAll(rest)) {
      if (isValid(token)) yield { kind, start: index, end: index + token.length }
    }
  }
  for (const rule of TOKEN_RULES) yield* findMarked(text, rule)
}

/** A token may follow any character but letters and digits, or an escape. */
const BOUNDARY = /(?:^|[^A-Za-z0-9]|\\[nrt]|\\u[0-9A-Fa-f]{4}|%[0-9A-Fa-f]{2})$/
const BOUNDARY_LENGTH = 6

function* findMarked(
  text: string,
  { kind, mark, lead, rest, isValid }: TokenRule,
): Generator<FoundSecret> {
  const needsBoundary = lead === null && /^[A-Za-z0-9]/.test(mark)
  let next = 0
  for (let at = text.indexOf(mark); at !== -1; at = text.indexOf(mark, next)) {
    next = at + mark.length
    if (needsBoundary && isWithinWord(text, at)) continue
    rest.lastIndex = at + mark.length
    if (!rest.test(text)) continue
    const end = rest.lastIndex
    let start = at
    if (lead !== null) {
      const before = lead.exec(text.slice(Math.max(0, at - LEAD_LENGTH_MAX), at))
      if (before === null) continue
      start -= before[0].length
    }
    if (!isValid(text.slice(start, end))) continue
    yield { kind, start, end }
    next = end
  }
}

function isWithinWord(text: string, at: number): boolean {
  const before = text.charCodeAt(at - 1)
  // Fast check, because most characters before a token are blanks and punctuation.
  if (Number.isNaN(before) || !/[A-Za-z0-9]/.test(String.fromCharCode(before))) return false
  return !BOUNDARY.test(text.slice(Math.max(0, at - BOUNDARY_LENGTH), at))
}

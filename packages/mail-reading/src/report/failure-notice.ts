// Failures that a mail system reports in plain words: for each recipient named, what is said of it, and
// what that means. Refuses to know any one system.

import { cleanLine } from '@mailroom/mail/safe-text.ts'
import { classifyBounce, type Failure, stageOf } from './bounce-class.ts'
import { RESPONSE_LENGTH_MAX } from './delivery-status.ts'
import { namedRecipients } from './named-recipients.ts'
import { isFailurePhrase, saysDelayed } from './notice-marks.ts'
import type { ReportedRecipient } from './report.ts'
import { type FoundCodes, findCodes } from './status-code.ts'

/** Words in which codes and reasons are looked for, in characters; for each recipient anew. */
const REPORT_WORDS_LENGTH_MAX = 8_000

export type NoticeContext = {
  /** Lower-case addresses that are no recipients: who sent the message, who reports. */
  readonly strangers: ReadonlySet<string>
  readonly subject: string
}

/** At least one where the lines hold a failure; `recipient` is null where they name none. */
export function readNotice(lines: readonly string[], context: NoticeContext): ReportedRecipient[] {
  const named = namedRecipients(lines, context.strangers)
  const whole = wholeOf(wordsOf(lines), context.subject)
  const common = failureOf('', whole)
  if (named.length === 0) return [common]
  const isAlone = named.length === 1
  const read = named.map(({ address, reason }) => {
    const own = wordsOf(reason)
    const { replyCode, enhancedCode } = findCodes(own)
    const hasCode = replyCode !== null || enhancedCode !== null
    return {
      address,
      own,
      hasCode,
      isOwn: own !== '' && (hasCode || isFailurePhrase(own) || !isAlone),
    }
  })
  // What is said once, apart from the list of recipients, is said of them all; what a server said of one is
  // said of nobody else.
  const isOfOne = read.some(({ isOwn, hasCode }) => isOwn && hasCode)
  const ofOthers = isOfOne && common.bounceClass === 'hard' ? SOFT : null
  return read.map(({ address, own, isOwn }) => ({
    ...(isOwn ? failureOf(own, whole) : { ...common, ...ofOthers }),
    recipient: address,
  }))
}

const SOFT = { bounceClass: 'soft' } as const

/** What all the words say, looked at once for all recipients. */
type Whole = {
  readonly words: string
  readonly subject: string
  readonly codes: FoundCodes
  readonly saysDelayed: boolean
  readonly isTemporary: boolean
  readonly stage: Failure['stage']
}

function wholeOf(words: string, subject: string): Whole {
  return {
    words,
    subject,
    codes: findCodes(words),
    saysDelayed: saysDelayed(`${subject} ${words}`),
    isTemporary: isTemporary(words),
    stage: stageOf(words),
  }
}

/** The lines as one, as far as they are looked at. */
export function wordsOf(lines: readonly string[]): string {
  const words: string[] = []
  let length = 0
  for (const line of lines) {
    const text = line.trim()
    if (text === '') continue
    words.push(text)
    length += text.length + 1
    if (length > REPORT_WORDS_LENGTH_MAX) break
  }
  return words.join(' ').slice(0, REPORT_WORDS_LENGTH_MAX)
}

/** `own` is what is said of the recipient, '' where that is what the whole report says. */
function failureOf(own: string, whole: Whole): ReportedRecipient {
  const said = own === '' ? whole.words : own
  const codes = own === '' ? whole.codes : findCodes(own)
  const replyCode = codes.replyCode ?? (codes.enhancedCode === null ? whole.codes.replyCode : null)
  const isDelayed = (replyCode === null || replyCode < 500) && whole.saysDelayed
  const text = own === '' ? `${said} ${whole.subject}` : own
  const enhancedCode =
    codes.enhancedCode ??
    (replyCode === null ? whole.codes.enhancedCode : null) ??
    classCode(replyCode, isDelayed || whole.isTemporary || isTemporary(text))
  return {
    recipient: null,
    originalRecipient: null,
    action: isDelayed ? 'delayed' : 'failed',
    enhancedCode,
    replyCode,
    diagnostic: cleanLine(diagnosticOf(said)).slice(0, RESPONSE_LENGTH_MAX),
    bounceClass: classifyBounce({ enhancedCode, replyCode, text, stage: whole.stage }),
  }
}

function classCode(replyCode: number | null, isTemporary: boolean): string {
  if (replyCode !== null) return `${Math.floor(replyCode / 100)}.0.0`
  return isTemporary ? '4.0.0' : '5.0.0'
}

function isTemporary(text: string): boolean {
  return /\b(?:temporar(?:y|ily)|timed? ?out|expired|retry time(?:out)?|too long|not responding|connection (?:refused|timed)|deferred)\b/i.test(
    text,
  )
}

/** From the first reply or failure on: what stands before it is the report's greeting. */
function diagnosticOf(words: string): string {
  const reply = /(?:^|\s)[45]\d\d[ -]/.exec(words)
  if (reply !== null) return words.slice(reply.index)
  const sentences = words.split(/(?<=[.:!])\s+/)
  const first = sentences.findIndex(isFailurePhrase)
  return first <= 0 ? words : sentences.slice(first).join(' ')
}

import { cleanLine } from '@mailroom/mail/charset.ts'
import { classifyBounce, type Failure, stageOf } from './bounce-class.ts'
import { REPORT_RECIPIENTS_MAX, RESPONSE_LENGTH_MAX, type ReportedRecipient } from './report.ts'
import {
  type FoundCodes,
  findAddresses,
  findCodes,
  isFailurePhrase,
  saysDelayed,
} from './report-words.ts'

/** Characters per recipient that are searched for codes and reasons. */
const REPORT_WORDS_LENGTH_MAX = 8_000
/** Lines of a report that may be about one recipient. */
const REPORT_REASON_LINES_MAX = 40

type NoticeContext = {
  /** Lower-case addresses of the sender and the reporter, which are not recipients. */
  readonly strangers: ReadonlySet<string>
  readonly subject: string
}

/**
 * The reported recipients, at least one if the lines describe a failure. `recipient` is null if the
 * lines name no address.
 */
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
  // A statement outside the list of recipients applies to all of them. A server's reply to one
  // recipient applies only to that recipient.
  const isOfOne = read.some(({ isOwn, hasCode }) => isOwn && hasCode)
  const ofOthers = isOfOne && common.bounceClass === 'hard' ? SOFT : null
  return read.map(({ address, own, isOwn }) => ({
    ...(isOwn ? failureOf(own, whole) : { ...common, ...ofOthers }),
    recipient: address,
  }))
}

const SOFT = { bounceClass: 'soft' } as const

/** All words of the report, analysed once for all recipients. */
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

/** The lines joined, up to REPORT_WORDS_LENGTH_MAX. */
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

/** `own` is the text about the recipient; '' if the complete report is about the recipient. */
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

/** The words from the first reply or failure on, without the greeting before it. */
function diagnosticOf(words: string): string {
  const reply = /(?:^|\s)[45]\d\d[ -]/.exec(words)
  if (reply !== null) return words.slice(reply.index)
  const sentences = words.split(/(?<=[.:!])\s+/)
  const first = sentences.findIndex(isFailurePhrase)
  return first <= 0 ? words : sentences.slice(first).join(' ')
}

/** A recipient that the words name, and the lines that may be about it. */
type NamedRecipient = { readonly address: string; readonly reason: readonly string[] }

/** Every recipient that the lines name, each once, in order. */
export function namedRecipients(
  lines: readonly string[],
  strangers: ReadonlySet<string>,
): NamedRecipient[] {
  const found = new Map<string, Collected>()
  let current: Collected | null = null
  let isListed = false
  for (const line of lines) {
    const text = line.trim()
    if (text === '') continue
    const naming: Naming | null = isSenderLine(text) ? null : nameIn(text, isListed)
    isListed = naming === null ? announcesList(text) || (isListed && text.length < 4) : true
    const key = naming?.address.toLowerCase() ?? ''
    if (naming !== null && !strangers.has(key)) {
      const known = found.get(key)
      if (known === undefined && found.size >= REPORT_RECIPIENTS_MAX) break
      current = known ?? new Collected(naming.address)
      current.isWeak &&= /^to\s*:/i.test(text)
      found.set(key, current)
      if (naming.rest !== '') current.add(naming.rest)
    } else if (current !== null && isRule(text) && current.hasReply()) {
      // The transcript of the complete session follows.
      current = null
    } else current?.add(text)
  }
  // The To field of a described message names its recipients, not the failed ones.
  const all = [...found.values()]
  const strong = all.filter(({ isWeak }) => !isWeak)
  return strong.length > 0 ? strong : all
}

function isRule(text: string): boolean {
  return /^[-=_*]{4}/.test(text)
}

class Collected implements NamedRecipient {
  readonly address: string
  readonly reason: string[] = []
  isWeak = true
  #replyAt: number | null = null
  #searched = 0

  constructor(address: string) {
    this.address = address
  }

  add(text: string): void {
    if (this.reason.length < REPORT_REASON_LINES_MAX) this.reason.push(text)
  }

  /** Reads each line once, however often the method is called. */
  hasReply(): boolean {
    while (this.#replyAt === null && this.#searched < this.reason.length) {
      const { replyCode } = findCodes(this.reason[this.#searched] ?? '')
      if (replyCode !== null) this.#replyAt = this.#searched
      this.#searched += 1
    }
    return this.#replyAt !== null
  }
}

/** Maximum addresses examined per line, and characters before an address that may label it. */
const ADDRESSES_OF_LINE = 4
const LABEL_LENGTH = 160

type Naming = { readonly address: string; readonly rest: string }

/** The recipient that the line is about; null if there is none. */
function nameIn(text: string, isListed: boolean): Naming | null {
  for (const { address, start, end } of findAddresses(text).slice(0, ADDRESSES_OF_LINE)) {
    const label = text.slice(Math.max(0, start - LABEL_LENGTH), start)
    const before = cutTail(label, `"'<([ \t`).replace(/\s+/g, ' ').trim()
    const rest = text
      .slice(end)
      .replace(/^["'>)\]]+/, '')
      .trim()
    if (isAboutSender(before)) continue
    if (before === '' || /^(?:[-*•>+#.:=]+|\(?\d{1,3}[.)]|>>>)$/.test(before)) {
      return leads(rest) || isListed ? { address, rest } : null
    }
    // In `550 <address>... words`, a reply starts with its recipient, after `<<<` in a transcript.
    if (/^(?:<<< ?)?[45]\d\d[- ]?(?: ?[45]\.\d{1,3}\.\d{1,3})?(?: ?error:)?$/i.test(before)) {
      return { address, rest: `${before} ${rest}` }
    }
    if (isLabel(before)) return { address, rest }
    // An entry such as `Name <address>` in a list of recipients.
    if (isListed && before.length < 60 && rest.length < 4) return { address, rest }
  }
  return null
}

/** Removes trailing characters of `set`. A pattern with `+$` would take quadratic time. */
function cutTail(text: string, set: string): string {
  let end = text.length
  while (end > 0 && set.includes(text[end - 1] ?? '')) end -= 1
  return text.slice(0, end)
}

/** Whether a line is about the address that it starts with; `rest` is the text after it. */
function leads(rest: string): boolean {
  return (
    rest === '' ||
    /^[:;([.,=-]|^(?:on|in|was|failed|delivery|could|error|invalid|user|mailbox|unknown|not|has|is|\d{3}|host|smtp)\b|^[A-Z]/i.test(
      rest,
    )
  )
}

/** Characters before an introducing word that are searched for a word for a recipient. */
const LABEL_WORDS_LENGTH = 64

/** The text in `before` has only single spaces. */
function isLabel(before: string): boolean {
  if (/^(?:to|for|recipients?|user|address|mailbox|account|rcpt) ?:?$/i.test(before)) return true
  const link = LINK.exec(before)
  if (link === null) return false
  const earlier = before.slice(Math.max(0, link.index - LABEL_WORDS_LENGTH), link.index)
  return LABEL_WORD.test(earlier.slice(earlier.lastIndexOf('@') + 1))
}

const LINK = /(?:\b(?:to|for|is|user(?:id)?|recipient|address|of|mailbox)|:) ?:?$/i
const LABEL_WORD =
  /\b(?:rcpt|recipients?|deliver(?:y|ed)?|message|mail|e-?mail|addressed|addressee?s?|sent|send|forward(?:ed)?|relay(?:ed)?|transmit|reach|user|userid|unknown|failed|undeliverable|for|mailbox|account|original address)\b/i

function isSenderLine(text: string): boolean {
  return /^(?:>>>\s*)?mail from\b|^(?:from|sender|reply-to|return-path|original sender|received from|message-id|reporting-mta)\s*:/i.test(
    text,
  )
}

/** The text in `before` has only single spaces. */
function isAboutSender(before: string): boolean {
  return (
    /\b(?:from|sender|contact|by|reply to|postmaster at|write to|e-?mail us at|forward(?:ed)? (?:this|it)|envelope-from|mail from) ?:? ?=?$/i.test(
      before,
    ) ||
    /\b(?:contact|please (?:send|forward|e-?mail)|assistance|help|sent by|message-id)\b/i.test(
      before,
    )
  )
}

/** Whether the line introduces a list of recipients, each on a separate line. */
function announcesList(text: string): boolean {
  const words = cutTail(text, ':.-–—) \t').slice(-LABEL_LENGTH).split(/\s+/).slice(-4)
  return words.some(
    (word, index) =>
      LIST_WORD.test(word) && words.slice(index + 1).every((next) => /^\w+$/.test(next)),
  )
}

const LIST_WORD =
  /^["'([]?(?:recipients?|address(?:es)?|addressees?|reach|users?|destinations?|failed|to)(?:\(?e?s)?\)?$|(?:получателям|адресатам|受信者|宛先)$|アドレス/i

// Parses mail without holding up the main thread: small plain messages at once, all others in a few worker
// threads, which are replaced when a message exceeds their time or memory.

import {
  type AttachmentContent,
  INLINE_PARSE_BYTES_MAX,
  readDefeatedAttachment,
} from '@mailroom/mail/mime/mime-message.ts'
import type { ParsedMessage } from '@mailroom/mail/mime/parsed-message.ts'
import type { SendContent } from '@mailroom/mail-reading/content/parts.ts'
import type { ShownHtml, ShownSource } from '@mailroom/mail-reading/display/shown-html.ts'
import type { ExtractedFrom, MessageReading } from '@mailroom/mail-reading/extract/extract.ts'
import { HIDDEN_SEARCH_LENGTH_MAX, unreadContent } from '@mailroom/mail-reading/extract/extract.ts'
import type { InviteAnswer, InviteReply } from '@mailroom/mail-reading/invites/write-calendar.ts'
import { parseDefeated, parseIfPlainAndSmall } from '@mailroom/mail-reading/parse-message.ts'
import {
  type BodyParts,
  type BodySource,
  bodyParts,
  INLINE_HTML_LENGTH_MAX,
  isQuick,
  plainBodyParts,
} from '@mailroom/mail-reading/quote/body-parts.ts'
import { REPORT_BYTES_MAX } from '@mailroom/mail-reading/report/open-report.ts'
import { readReport } from '@mailroom/mail-reading/report/read-report.ts'
import type { Report, ReportEnvelope } from '@mailroom/mail-reading/report/report.ts'
import type { SecretFinding } from '@mailroom/mail-reading/secrets/find-secrets.ts'
import type { ViewBody, ViewSource } from '@mailroom/mail-reading/view/plain-body.ts'
import { systemClock } from '#platform/clock.ts'
import { type Log, silentLog } from '#platform/log.ts'
import { AppError } from '#platform/problem.ts'
import { Semaphore } from '#platform/semaphore.ts'
import { SECOND_MS } from '#platform/units.ts'
import { GuardedWorker, type WorkOutcome } from './guarded-worker.ts'
import type { AskedMentions, Parser, ParserAnswer, ParserAnswers, ParserRequest } from './parser.ts'
import { openThreadHost } from './thread-host.ts'

/** Processor time for one message. */
const PARSE_MS_MAX = 2 * SECOND_MS
const PARSE_HEAP_MIB_MAX = 192
const PARSE_WORKERS_MAX = 2
const PARSE_QUEUE_MAX = 500
/** Processor time for one view; a message that takes longer is shown as its plain text. */
const VIEW_MS_MAX = 1_500
/**
 * Time for the guards of a send, as a multiple of that for one message: they read every file that is text, and a
 * mail that they cannot read in time does not leave.
 */
const GUARD_TIME_FACTOR = 4
/** Octets of a report that is read on the main thread, which takes a millisecond or two at worst. */
export const REPORT_INLINE_BYTES_MAX = 4 * 1024
/** Wall-clock time as a multiple of the limit of processor time, because the machine does other work. */
const PARSE_WALL_FACTOR = 5
/** A thread loads its modules in 100 ms, on a busy machine in many times that. */
const PARSE_THREAD_START_MS_MAX = 20 * SECOND_MS

export type ParserPool = Parser & {
  /** Codes, links and hidden text of a message; unread when it took too long. Rejects like `parse`. */
  readContent(source: ExtractedFrom): Promise<MessageReading>
  /** The number of requests that wait for a thread. */
  waiting(): number
  /** Ends the threads; rejects requests that wait or are under way. */
  close(): Promise<void>
}

type ParserPoolOptions = {
  readonly workersMax?: number
  /** Processor time for one message. */
  readonly timeoutMs?: number
  /** JavaScript heap of one thread. */
  readonly heapMib?: number
  readonly queueMax?: number
  readonly log?: Log
  /** Called for each parsed message; the duration excludes the wait for a thread. */
  readonly onParsed?: (parse: { isInline: boolean; durationMs: number }) => void
}

/** Starts no thread before the first message that needs one. Idle threads do not keep the process alive. */
export function openParserPool(options: ParserPoolOptions = {}): ParserPool {
  return new ThreadPool(options)
}

class ThreadPool implements ParserPool {
  readonly #timeoutMs: number
  readonly #heapMib: number
  readonly #log: Log
  readonly #onParsed: NonNullable<ParserPoolOptions['onParsed']>
  readonly #threads = new Set<ParserThread>()
  readonly #idle: ParserThread[] = []
  readonly #slots: Semaphore
  readonly #closing = new AbortController()

  constructor({
    workersMax = PARSE_WORKERS_MAX,
    timeoutMs = PARSE_MS_MAX,
    heapMib = PARSE_HEAP_MIB_MAX,
    queueMax = PARSE_QUEUE_MAX,
    log = silentLog,
    onParsed = () => {},
  }: ParserPoolOptions) {
    this.#timeoutMs = timeoutMs
    this.#heapMib = heapMib
    this.#slots = new Semaphore({
      limit: workersMax,
      waitingMax: queueMax,
      refuse: (why) =>
        why === 'aborted'
          ? closedError()
          : new AppError('service_unavailable', `${queueMax} messages wait to be parsed already.`),
    })
    this.#log = log
    this.#onParsed = onParsed
  }

  async parse(raw: Uint8Array): Promise<ParsedMessage> {
    const startMs = systemClock.monotonic()
    const plain = parseIfPlainAndSmall(raw)
    if (plain !== null) {
      this.#onParsed({ isInline: true, durationMs: systemClock.monotonic() - startMs })
      return plain
    }
    const outcome = await this.#submit({ kind: 'parse', raw })
    if (outcome.kind === 'answered') {
      const { message, isAllNew } = outcome.answer
      return isAllNew ? { ...message, extractedText: message.text } : message
    }
    return parseDefeated(raw, outcome.kind === 'timed-out' ? 'parse-timed-out' : 'parse-failed')
  }

  async readAttachment(raw: Uint8Array, filename: string): Promise<AttachmentContent | null> {
    const found = await this.#ask({ kind: 'read-attachment', raw, filename })
    // A `parse` that failed may have listed it, even if this request did not fail.
    return found ?? readDefeatedAttachment(raw, filename)
  }

  async readAttachments(raw: Uint8Array): Promise<readonly AttachmentContent[]> {
    const found = await this.#ask({ kind: 'read-attachments', raw })
    if (found !== null) return found
    const whole = readDefeatedAttachment(raw, 0)
    return whole === null ? [] : [whole]
  }

  async readReport(raw: Uint8Array, envelope: ReportEnvelope): Promise<Report> {
    if (raw.length <= REPORT_INLINE_BYTES_MAX) return readReport(raw, envelope)
    // Only the part that is read is copied for the thread.
    const part = raw.subarray(0, REPORT_BYTES_MAX)
    const report = await this.#ask({ kind: 'read-report', raw: part, envelope })
    return report ?? { kind: 'none' }
  }

  async makeBodies(source: BodySource): Promise<BodyParts> {
    if (isQuick(source)) return bodyParts(source)
    return (await this.#ask({ kind: 'make-bodies', source })) ?? plainBodyParts(source)
  }

  async makeView(source: ViewSource): Promise<ViewBody> {
    const { isQuickView, plainBody } = await import('@mailroom/mail-reading/view/plain-body.ts')
    if (isQuickView(source)) return plainBody({ ...source, isHtmlUnread: false })
    const view = await this.#ask({ kind: 'make-view', source })
    if (view !== null) return view
    // The HTML took too long: the text remains.
    const textOnly = { ...source, html: '' }
    if (isQuickView(textOnly)) return plainBody({ ...source, isHtmlUnread: true })
    const viewOfText = await this.#ask({ kind: 'make-view', source: textOnly })
    if (viewOfText !== null) return { ...viewOfText, source: 'unread-html' }
    const text = source.text.slice(0, INLINE_PARSE_BYTES_MAX)
    return { ...plainBody({ ...source, text, isHtmlUnread: true }), isCut: true }
  }

  async show(source: ShownSource): Promise<ShownHtml | null> {
    if (source.html.length > INLINE_HTML_LENGTH_MAX || source.findsMissed) {
      return this.#ask({ kind: 'show', source })
    }
    // Loaded only when somebody looks at a message.
    const { showSource } = await import('@mailroom/mail-reading/display/shown-html.ts')
    return showSource(source)
  }

  async readContent(source: ExtractedFrom): Promise<MessageReading> {
    // The thread reads no more than this; one more tells that there is more.
    const text = source.text.slice(0, HIDDEN_SEARCH_LENGTH_MAX + 1)
    const html = source.html.slice(0, HIDDEN_SEARCH_LENGTH_MAX + 1)
    const read = await this.#ask({ kind: 'read-content', source: { ...source, text, html } })
    return read ?? unreadContent(source)
  }

  async replyToInvite(raw: Uint8Array, answer: InviteAnswer): Promise<InviteReply> {
    const reply = await this.#ask({ kind: 'reply-to-invite', raw, answer })
    return reply ?? { kind: 'no-invitation' }
  }

  findSecrets(content: SendContent): Promise<readonly SecretFinding[] | null> {
    return this.#ask({ kind: 'find-secrets', content })
  }

  findMentions(raw: Uint8Array, asked: AskedMentions): Promise<readonly string[] | null> {
    return this.#ask({ kind: 'find-mentions', raw, asked })
  }

  async indexMentions(text: string): Promise<string | null> {
    return text === '' ? '' : this.#ask({ kind: 'index-mentions', text })
  }

  waiting(): number {
    return this.#slots.waiting
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await Promise.all([...this.#threads].map((thread) => thread.close()))
  }

  /** The answer of a thread; null when it failed or exceeded its time or memory. */
  async #ask<Kind extends keyof ParserAnswers>(
    request: RequestOf<Kind>,
  ): Promise<ParserAnswers[Kind] | null> {
    const outcome = await this.#submit(request)
    return outcome.kind === 'answered' ? outcome.answer : null
  }

  #submit<Kind extends keyof ParserAnswers>(
    request: RequestOf<Kind>,
  ): Promise<ThreadOutcome<ParserAnswers[Kind]>> {
    const { signal } = this.#closing
    return this.#slots.run({ signal }, async () => {
      const thread = this.#takeIdle() ?? this.#startThread()
      const startMs = systemClock.monotonic()
      const outcome = await this.#runRequest(thread, request)
      if (request.kind === 'parse') {
        this.#onParsed({ isInline: false, durationMs: systemClock.monotonic() - startMs })
      }
      if (thread.isAlive) this.#idle.push(thread)
      else this.#threads.delete(thread)
      if (signal.aborted) throw closedError()
      if (outcome.kind !== 'answered') this.#report(request, outcome)
      return outcome as ThreadOutcome<ParserAnswers[Kind]>
    })
  }

  #takeIdle(): ParserThread | null {
    for (let thread = this.#idle.pop(); thread !== undefined; thread = this.#idle.pop()) {
      if (thread.isAlive) return thread
      this.#threads.delete(thread)
    }
    return null
  }

  #startThread(): ParserThread {
    const thread = new GuardedWorker<ParserRequest, ParserAnswer>(
      openThreadHost(new URL('./parser-worker.ts', import.meta.url), this.#heapMib),
      { startMsMax: PARSE_THREAD_START_MS_MAX, wallFactor: PARSE_WALL_FACTOR },
    )
    this.#threads.add(thread)
    return thread
  }

  async #runRequest(thread: ParserThread, request: ParserRequest): Promise<ThreadOutcome> {
    if (request.kind === 'find-secrets' || request.kind === 'find-mentions') {
      return thread.run(request, GUARD_TIME_FACTOR * this.#timeoutMs)
    }
    if (request.kind !== 'make-view') return thread.run(request, this.#timeoutMs)
    const loaded = await thread.run({ kind: 'load-view' }, PARSE_THREAD_START_MS_MAX)
    if (loaded.kind !== 'answered') return loaded
    return thread.run(request, Math.min(VIEW_MS_MAX, this.#timeoutMs))
  }

  #report(request: ParserRequest, outcome: Exclude<ThreadOutcome, { kind: 'answered' }>): void {
    const error = outcome.kind === 'died' ? outcome.cause : undefined
    const text =
      request.kind === 'make-bodies'
        ? 'the parser failed on the HTML of a send, or took too much time or memory'
        : 'the parser failed on a message, or took too much time or memory'
    this.#log.warn({ outcome: outcome.kind, sizeBytes: sizeOf(request), error }, text)
  }
}

type ParserThread = GuardedWorker<ParserRequest, ParserAnswer>
type ThreadOutcome<Answer = ParserAnswer> = WorkOutcome<Answer>

type RequestOf<Kind extends keyof ParserAnswers> = Extract<ParserRequest, { kind: Kind }>

function sizeOf(request: ParserRequest): number {
  if ('raw' in request) return request.raw.length
  switch (request.kind) {
    case 'make-bodies':
      return request.source.body.length
    case 'show':
      return request.source.html.length
    case 'make-view':
    case 'read-content':
      return request.source.html.length + request.source.text.length
    case 'find-secrets':
      return request.content.attachments.reduce((sum, { content }) => sum + content.length, 0)
    case 'index-mentions':
      return request.text.length
    case 'load-view':
      return 0
  }
}

function closedError(): AppError {
  return new AppError('service_unavailable', 'The parser is closed.')
}

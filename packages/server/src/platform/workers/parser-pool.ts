// Parses mail without holding up the main thread: small plain messages where they stand, all others
// in a few worker threads that are replaced when a message defeats them.

import { setImmediate } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import {
  type BodyParts,
  type BodySource,
  bodyParts,
  INLINE_HTML_LENGTH_MAX,
  isQuick,
  plainBodyParts,
} from '@mailroom/mail/compose/body-parts.ts'
import {
  type AttachmentContent,
  INLINE_PARSE_BYTES_MAX,
  readDefeatedAttachment,
} from '@mailroom/mail/mime/mime-message.ts'
import type { ParsedMessage } from '@mailroom/mail/mime/parsed-message.ts'
import type { ShownHtml, ShownSource } from '@mailroom/mail-reading/display/shown-html.ts'
import type { Extracted, ExtractedFrom } from '@mailroom/mail-reading/extract/extract.ts'
import {
  EXTRACTED_HTML_LENGTH_MAX,
  EXTRACTED_TEXT_LENGTH_MAX,
} from '@mailroom/mail-reading/extract/extract.ts'
import { parseDefeated, parseIfPlainAndSmall } from '@mailroom/mail-reading/parse-message.ts'
import { REPORT_BYTES_MAX } from '@mailroom/mail-reading/report/open-report.ts'
import { readReport } from '@mailroom/mail-reading/report/read-report.ts'
import type { Report, ReportEnvelope } from '@mailroom/mail-reading/report/report.ts'
import type { ViewBody, ViewSource } from '@mailroom/mail-reading/view/plain-body.ts'
import { type Clock, systemClock } from '#platform/clock.ts'
import { type Log, silentLog } from '#platform/log.ts'
import { AppError } from '#platform/problem.ts'
import { Semaphore } from '#platform/semaphore.ts'
import { SECOND_MS } from '#platform/units.ts'
import type { ParserAnswer, ParserRequest } from './parser.ts'

/** Of processor time, for one message. */
const PARSE_MS_MAX = 2 * SECOND_MS
const PARSE_HEAP_MIB_MAX = 192
const PARSE_WORKERS_MAX = 2
const PARSE_QUEUE_MAX = 500
/** For one message, from when a thread takes it up; what takes longer is shown as its plain text. */
const VIEW_MS_MAX = 1_500
/** A report read where it stands, in octets: a millisecond or two, however it is made. */
export const REPORT_INLINE_BYTES_MAX = 4 * 1024

export type ParserPool = {
  /**
   * What was read out of the message; of one that could not be parsed within time and memory its
   * headers, with the defect `parse-timed-out` or `parse-failed`. Rejects only when PARSE_QUEUE_MAX
   * messages wait already, or after `close`, with `service_unavailable`.
   */
  parse(raw: Uint8Array): Promise<ParsedMessage>
  /** The attachment listed under `filename` by `parse` of the same bytes, or null. Rejects as `parse`. */
  readAttachment(raw: Uint8Array, filename: string): Promise<AttachmentContent | null>
  /** What the message reports; `none` when it could not be read in time. Rejects as `parse`. */
  readReport(raw: Uint8Array, envelope: ReportEnvelope): Promise<Report>
  /** The bodies of a message to send. Rejects as `parse`; what defeats a thread is made plainly. */
  makeBodies(source: BodySource): Promise<BodyParts>
  /** The body of a message as a model reads it. Rejects as `parse`; of HTML that defeats a thread the text. */
  makeView(source: ViewSource): Promise<ViewBody>
  /** Its HTML as a person is shown it, null for one that cannot be. Rejects as `parse`. */
  show(source: ShownSource): Promise<ShownHtml | null>
  /** Its codes and links; none of a message that defeats a thread. Rejects as `parse`. */
  extract(source: ExtractedFrom): Promise<Extracted>
  /** How many wait for a thread now. */
  waiting(): number
  /** Ends the threads; what waits or is under way is rejected. */
  close(): Promise<void>
}

type ParserPoolOptions = {
  readonly workersMax?: number
  /** For one message, from when a thread takes it up. */
  readonly timeoutMs?: number
  /** JavaScript heap of one thread. */
  readonly heapMib?: number
  readonly queueMax?: number
  readonly log?: Log
  readonly clock?: Clock
  /** Told of each message parsed: on the main thread (inline) or in another, without its waiting. */
  readonly onParsed?: (parse: { isInline: boolean; durationMs: number }) => void
}

/** Starts no thread before the first message that needs one. Idle threads do not keep the process. */
export function openParserPool(options: ParserPoolOptions = {}): ParserPool {
  return new ThreadPool(options)
}

class ThreadPool implements ParserPool {
  readonly #timeoutMs: number
  readonly #heapMib: number
  readonly #log: Log
  readonly #clock: Clock
  readonly #onParsed: NonNullable<ParserPoolOptions['onParsed']>
  readonly #threads = new Set<ParserThread>()
  readonly #idle: ParserThread[] = []
  readonly #slots: Semaphore
  readonly #closing = new AbortController()

  constructor(options: ParserPoolOptions) {
    this.#timeoutMs = options.timeoutMs ?? PARSE_MS_MAX
    this.#heapMib = options.heapMib ?? PARSE_HEAP_MIB_MAX
    const { workersMax = PARSE_WORKERS_MAX, queueMax = PARSE_QUEUE_MAX } = options
    this.#slots = new Semaphore({
      limit: workersMax,
      waitingMax: queueMax,
      refuse: (why) =>
        why === 'aborted'
          ? closedError()
          : new AppError('service_unavailable', `${queueMax} messages wait to be parsed already.`),
    })
    this.#log = options.log ?? silentLog
    this.#clock = options.clock ?? systemClock
    this.#onParsed = options.onParsed ?? (() => {})
  }

  async parse(raw: Uint8Array): Promise<ParsedMessage> {
    const startMs = this.#clock.monotonic()
    const plain = parseIfPlainAndSmall(raw)
    if (plain !== null) {
      this.#onParsed({ isInline: true, durationMs: this.#clock.monotonic() - startMs })
      return plain
    }
    const outcome = await this.#submit({ kind: 'parse', raw })
    if (outcome.kind === 'answered' && outcome.answer.kind === 'parsed') {
      const { message, isAllNew } = outcome.answer
      return isAllNew ? { ...message, extractedText: message.text } : message
    }
    const defect = outcome.kind === 'timed-out' ? 'parse-timed-out' : 'parse-failed'
    return parseDefeated(raw, defect)
  }

  async readAttachment(raw: Uint8Array, filename: string): Promise<AttachmentContent | null> {
    const outcome = await this.#submit({ kind: 'read-attachment', raw, filename })
    const answer = outcome.kind === 'answered' ? outcome.answer : null
    if (answer?.kind === 'attachment' && answer.found !== null) return answer.found
    // Listed by a parse that was defeated, be it that this one was not.
    return readDefeatedAttachment(raw, filename)
  }

  async readReport(raw: Uint8Array, envelope: ReportEnvelope): Promise<Report> {
    if (raw.length <= REPORT_INLINE_BYTES_MAX) return readReport(raw, envelope)
    // No more than is read of it is copied for the thread.
    const read = raw.subarray(0, REPORT_BYTES_MAX)
    const outcome = await this.#submit({ kind: 'read-report', raw: read, envelope })
    const isRead = outcome.kind === 'answered' && outcome.answer.kind === 'report'
    return isRead ? outcome.answer.report : { kind: 'none' }
  }

  async makeBodies(source: BodySource): Promise<BodyParts> {
    if (isQuick(source)) return bodyParts(source)
    const outcome = await this.#submit({ kind: 'make-bodies', source })
    const isMade = outcome.kind === 'answered' && outcome.answer.kind === 'bodies'
    return isMade ? outcome.answer.parts : plainBodyParts(source)
  }

  async makeView(source: ViewSource): Promise<ViewBody> {
    const { isQuickView, plainBody } = await import('@mailroom/mail-reading/view/plain-body.ts')
    if (isQuickView(source)) return plainBody({ ...source, isHtmlUnread: false })
    const outcome = await this.#submit({ kind: 'make-view', source })
    if (outcome.kind === 'answered' && outcome.answer.kind === 'view') return outcome.answer.body
    return this.#viewOfText(source)
  }

  /** Without the HTML, which was too much. */
  async #viewOfText(source: ViewSource): Promise<ViewBody> {
    const { isQuickView, plainBody } = await import('@mailroom/mail-reading/view/plain-body.ts')
    const textOnly = { ...source, html: '' }
    if (isQuickView(textOnly)) return plainBody({ ...source, isHtmlUnread: true })
    const outcome = await this.#submit({ kind: 'make-view', source: textOnly })
    if (outcome.kind === 'answered' && outcome.answer.kind === 'view') {
      return { ...outcome.answer.body, source: 'unread-html' }
    }
    const text = source.text.slice(0, INLINE_PARSE_BYTES_MAX)
    return { ...plainBody({ ...source, text, isHtmlUnread: true }), isCut: true }
  }

  async show(source: ShownSource): Promise<ShownHtml | null> {
    if (source.html.length <= INLINE_HTML_LENGTH_MAX) {
      // A service to which nobody looks need not hold it.
      const { showSource } = await import('@mailroom/mail-reading/display/shown-html.ts')
      return showSource(source)
    }
    const outcome = await this.#submit({ kind: 'show', source })
    const isShown = outcome.kind === 'answered' && outcome.answer.kind === 'shown'
    return isShown ? outcome.answer.shown : null
  }

  async extract(source: ExtractedFrom): Promise<Extracted> {
    // The thread looks at no more.
    const text = source.text.slice(0, EXTRACTED_TEXT_LENGTH_MAX)
    const html = source.html.slice(0, EXTRACTED_HTML_LENGTH_MAX)
    const outcome = await this.#submit({ kind: 'extract', source: { ...source, text, html } })
    const isFound = outcome.kind === 'answered' && outcome.answer.kind === 'extracted'
    return isFound ? outcome.answer.extracted : { codes: [], links: [] }
  }

  waiting(): number {
    return this.#slots.waiting
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await Promise.all([...this.#threads].map((thread) => thread.close()))
  }

  #submit(request: ParserRequest): Promise<ThreadOutcome> {
    const { signal } = this.#closing
    return this.#slots.run({ signal }, async () => {
      const thread = this.#takeIdle() ?? this.#startThread()
      const startMs = this.#clock.monotonic()
      const outcome = await this.#runRequest(thread, request)
      if (request.kind === 'parse') {
        this.#onParsed({ isInline: false, durationMs: this.#clock.monotonic() - startMs })
      }
      if (thread.isAlive) this.#idle.push(thread)
      else this.#threads.delete(thread)
      if (signal.aborted) throw closedError()
      if (outcome.kind !== 'answered') this.#report(request, outcome)
      return outcome
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
    const thread = new ParserThread(this.#heapMib, this.#clock)
    this.#threads.add(thread)
    return thread
  }

  async #runRequest(thread: ParserThread, request: ParserRequest): Promise<ThreadOutcome> {
    if (request.kind !== 'make-view') return thread.run(request, this.#timeoutMs)
    const loaded = await thread.run({ kind: 'load-view' }, PARSE_THREAD_START_MS_MAX)
    if (loaded.kind !== 'answered') return loaded
    return thread.run(request, Math.min(VIEW_MS_MAX, this.#timeoutMs))
  }

  #report(request: ParserRequest, outcome: ThreadOutcome): void {
    const isRead = 'raw' in request
    const sizeBytes = isRead ? request.raw.length : sizeOf(request)
    const error = outcome.kind === 'died' ? outcome.cause : undefined
    const text =
      isRead || request.kind !== 'make-bodies'
        ? 'a message defeated the parser'
        : 'the HTML of a send defeated the parser'
    this.#log.warn({ outcome: outcome.kind, sizeBytes, error }, text)
  }
}

function sizeOf(request: Exclude<ParserRequest, { raw: Uint8Array }>): number {
  switch (request.kind) {
    case 'make-bodies':
      return request.source.body.length
    case 'make-view':
      return request.source.html.length + request.source.text.length
    case 'show':
      return request.source.html.length
    case 'extract':
      return request.source.html.length + request.source.text.length
    case 'load-view':
      return 0
  }
}

function closedError(): AppError {
  return new AppError('service_unavailable', 'The parser is closed.')
}

/** How many times a limit of processor time the clock may show: what else the machine does. */
const PARSE_WALL_FACTOR = 5
/** Loading its modules takes a parser thread a tenth of a second; a busy machine makes it many. */
const PARSE_THREAD_START_MS_MAX = 20 * SECOND_MS

type ThreadOutcome =
  | { readonly kind: 'answered'; readonly answer: ParserAnswer }
  | { readonly kind: 'timed-out' }
  | { readonly kind: 'died'; readonly cause: unknown }

class ParserThread {
  readonly #worker: Worker
  readonly #clock: Clock
  #isReady = false
  #isAlive = true
  #settle: ((outcome: ThreadOutcome) => void) | null = null
  #request: ParserRequest | null = null
  #timeoutMs = 0
  #timer: NodeJS.Timeout | null = null

  /** `heapMib`: JavaScript heap of the thread; the process survives when it is used up. */
  constructor(heapMib: number, clock: Clock) {
    this.#clock = clock
    this.#worker = new Worker(new URL('./parser-worker.ts', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: heapMib },
      // Flags of the process (a test runner's, `--input-type`) are not for its threads.
      execArgv: [],
    })
    this.#worker.unref()
    this.#worker.on('message', (answer: ParserAnswer) => this.#receive(answer))
    this.#worker.on('error', (cause) => this.#end({ kind: 'died', cause }))
    this.#worker.on('exit', (code) => this.#end({ kind: 'died', cause: `exit ${code}` }))
  }

  get isAlive(): boolean {
    return this.#isAlive
  }

  /**
   * One request at a time. The time limit is of the thread's processor time from when it takes the
   * request up, so that a busy machine defeats no message, and PARSE_WALL_FACTOR times as much on the
   * clock. The request's octets are copied. Never rejects; after any outcome but `answered` the thread
   * is not alive.
   */
  run(request: ParserRequest, timeoutMs: number): Promise<ThreadOutcome> {
    if (!this.#isAlive) return Promise.resolve({ kind: 'died', cause: 'ended before' })
    if (this.#settle !== null) throw new Error('a parser thread takes one request at a time')
    return new Promise((resolve) => {
      this.#settle = resolve
      this.#request = request
      this.#timeoutMs = timeoutMs
      this.#worker.ref()
      if (this.#isReady) void this.#send()
      else this.#startTimer(PARSE_THREAD_START_MS_MAX)
    })
  }

  /** Ends the thread at once; a request under way has the outcome `died`. */
  async close(): Promise<void> {
    this.#end({ kind: 'died', cause: 'closed' })
    await this.#worker.terminate()
  }

  #receive(answer: ParserAnswer): void {
    if (answer.kind === 'ready') {
      this.#isReady = true
      void this.#send()
      return
    }
    this.#worker.unref()
    this.#resolve({ kind: 'answered', answer })
  }

  async #send(): Promise<void> {
    const request = this.#request
    if (request === null) return
    this.#request = null
    if (!('raw' in request)) {
      this.#watchWork(this.#timeoutMs)
      this.#worker.postMessage(request)
      return
    }
    // The caller goes on using its octets, which may be a view of a larger buffer: send a copy.
    const raw = await copyInSlices(request.raw)
    if (!this.#isAlive) return
    this.#watchWork(this.#timeoutMs)
    this.#worker.postMessage({ ...request, raw }, [raw.buffer])
  }

  #startTimer(delayMs: number, onTime = () => this.#timeOut()): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = setTimeout(onTime, Math.max(0, delayMs))
  }

  #timeOut(): void {
    this.#end({ kind: 'timed-out' })
    void this.#worker.terminate()
  }

  #watchWork(workMsMax: number): void {
    const settle = this.#settle
    const before = this.#worker.cpuUsage()
    // Of a thread that ends before anybody asks again.
    before.catch(() => {})
    const deadlineMs = this.#clock.monotonic() + workMsMax * PARSE_WALL_FACTOR
    const look = async (): Promise<void> => {
      // A thread that cannot even say what it used is ended by the clock.
      this.#startTimer(deadlineMs - this.#clock.monotonic())
      const usedMs = await workedMs(this.#worker, before)
      if (usedMs === null || this.#settle !== settle || settle === null) return
      if (usedMs >= workMsMax) this.#timeOut()
      else
        this.#startTimer(
          Math.min(workMsMax - usedMs, deadlineMs - this.#clock.monotonic()),
          () => void look(),
        )
    }
    this.#startTimer(workMsMax, () => void look())
  }

  #end(outcome: ThreadOutcome): void {
    this.#isAlive = false
    this.#resolve(outcome)
  }

  #resolve(outcome: ThreadOutcome): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    const settle = this.#settle
    this.#settle = null
    settle?.(outcome)
  }
}

type Usage = ReturnType<Worker['cpuUsage']>

/** Null for a thread that has ended. */
async function workedMs(worker: Worker, before: Usage): Promise<number | null> {
  try {
    const { user, system } = await worker.cpuUsage(await before)
    return (user + system) / 1_000
  } catch {
    return null
  }
}

/** Copying 30 MiB at once takes up to 20 ms, in which no connection would be served. */
async function copyInSlices(source: Uint8Array): Promise<Uint8Array<ArrayBuffer>> {
  const copy = Buffer.allocUnsafeSlow(source.length)
  for (let start = 0; start < source.length; start += COPY_SLICE_BYTES) {
    if (start > 0) await setImmediate()
    copy.set(source.subarray(start, start + COPY_SLICE_BYTES), start)
  }
  return copy
}

const COPY_SLICE_BYTES = 1024 * 1024

// The threads that receive mail: each listens on the same port, has its own connections to the database, and passes
// what it accepted to the one writer. A thread that ends or hangs costs its connections, and another takes its place.

import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { type MessagePort, Worker } from 'node:worker_threads'
import { makePortCounts, PortCounts } from '@mailroom/smtp/server/port-counts.ts'
import type { SmtpServer } from '@mailroom/smtp/server/server.ts'
import type { Settings } from '#config/settings.ts'
import { raceAbort } from '#platform/abort.ts'
import type { Log, LogFields } from '#platform/log.ts'
import {
  type MetricCall,
  type Metrics,
  repeatCalls,
  silentMetrics,
} from '#platform/telemetry/metrics.ts'
import type { Certificate, ServerTls } from '#platform/tls/server-tls.ts'
import type { Db } from '#schema/tables.ts'

/** The `workerData` of an intake thread: its row in the counts of the port. */
export type IntakeThreadIndex = number

export type IntakeThreadData = {
  readonly settings: Settings
  /** The name of this service, for traces. */
  readonly instance: string
  readonly certificate: Certificate
  readonly counts: SharedArrayBuffer
  readonly threads: number
  readonly isMetered: boolean
}

export type ToIntakeThread =
  /** The first message; until then the thread loads its modules. */
  | { readonly kind: 'open'; readonly data: IntakeThreadData }
  /** For writes, until another port comes. */
  | { readonly kind: 'writer'; readonly port: MessagePort }
  /** The service has started: recipients may be looked up. */
  | { readonly kind: 'started' }
  | { readonly kind: 'certificate'; readonly certificate: Certificate }
  | { readonly kind: 'sweep' }
  /** Answered by `figures` with the same number. */
  | { readonly kind: 'report'; readonly id: number }
  | { readonly kind: 'close'; readonly drainMs: number }

export type FromIntakeThread =
  | { readonly kind: 'listening'; readonly address: AddressInfo }
  | { readonly kind: 'wake' }
  /** No connection is left; what the thread still closes concerns nobody else. */
  | { readonly kind: 'drained' }
  /** Everything is closed, but a connection to a collector that hangs may keep the thread for seconds. */
  | { readonly kind: 'closed' }
  | {
      readonly kind: 'log'
      readonly level: keyof Log
      readonly fields: LogFields
      readonly text: string
    }
  | {
      readonly kind: 'figures'
      readonly answers: number | null
      readonly calls: readonly MetricCall[]
      readonly load: IntakeLoad
    }

export type IntakeLoad = {
  /** Writes that wait, and how long the oldest has waited. */
  readonly waiting: number
  readonly oldestMs: number
  readonly isStrained: boolean
  readonly parserQueue: number
  /** To the database; null where it has none of its own. */
  readonly connections: Readonly<Record<'busy' | 'idle' | 'waiting', number>> | null
}

type IntakeThreadsOptions = {
  /** The module of a thread. */
  readonly entry: URL
  /** Number of threads. */
  readonly threads: number
  readonly log: Log
  /** How long a thread may leave its main thread without an answer. */
  readonly silenceMsMax?: number
}

type IntakeOptions = {
  readonly settings: Settings
  readonly instance: string
  readonly tls: ServerTls
  readonly db: Db
  readonly started: Promise<void>
  readonly metrics: Metrics
  /** New events are in the log. */
  readonly onEvents: () => void
}

/** The pause before a thread that ended is replaced; twice as long after each that did not listen. */
const RESTART_MS = 500
const RESTART_MS_MAX = 30_000
/** The longest wait for the figures of all threads: a busy thread must not delay a scrape. */
const REPORT_MS_MAX = 1_000
/** The longest time that a thread takes to end after its connections have ended. */
const END_MS_MAX = 1_000
/**
 * A thread that is silent for so long hangs. It would still be given connections, because the kernel accepts them for
 * it. A parse or a query of a thread takes milliseconds, so only a fault takes this long.
 */
const SILENCE_MS_MAX = 30_000
/** A thread hangs after so many questions without an answer, and counts as not listening after a third of them. */
const QUESTIONS = 6

/** Receives mail in this thread, or in several of its own. */
export type MailListener = SmtpServer | IntakeThreads

/** They load their modules at once, and receive mail after `open`. */
export class IntakeThreads {
  readonly #options: IntakeThreadsOptions
  readonly #counts: SharedArrayBuffer
  readonly #threads: (IntakeThread | null)[]
  #address: AddressInfo | null = null
  #isOpen = false
  #isEnding = false
  #watch: NodeJS.Timeout | undefined
  #closing: Promise<void> | null = null

  constructor(options: IntakeThreadsOptions) {
    const { entry, threads } = options
    this.#options = options
    this.#counts = makePortCounts(threads)
    this.#threads = Array.from({ length: threads }, (_, index) => new IntakeThread(entry, index))
  }

  /** Rejects when the address cannot be listened on. */
  async open(intake: IntakeOptions): Promise<void> {
    const { tls, metrics } = intake
    const { silenceMsMax = SILENCE_MS_MAX } = this.#options
    metrics.beforeRender(() => this.#report())
    tls.listen(() => this.#post({ kind: 'certificate', certificate: tls.certificate() }))
    try {
      await this.#requireFreePort(intake.settings)
      // The first one may choose the port.
      const [first, ...others] = this.#threads
      if (first) await this.#open(first, intake)
      await Promise.all(others.map((thread) => thread && this.#open(thread, intake)))
      this.#isOpen = true
    } catch (error) {
      await this.end()
      throw error
    }
    const check = () => this.#check(silenceMsMax)
    this.#watch = setInterval(check, silenceMsMax / QUESTIONS).unref()
  }

  get address(): AddressInfo {
    if (this.#address === null) throw new Error('SMTP is not listening')
    return this.#address
  }

  isListening(): boolean {
    return this.#threads.some((thread) => thread?.isListening)
  }

  stats(): { connections: number; heldBytes: number } {
    const { connections, heldBytes } = new PortCounts(this.#counts, 0)
    return { connections, heldBytes }
  }

  sweep(): void {
    this.#post({ kind: 'sweep' })
  }

  /** As the threads reported them last. */
  loads(): IntakeLoad[] {
    return this.#threads.flatMap((thread) => (thread === null ? [] : [thread.load]))
  }

  /** Drains all threads as `SmtpServer.close` does. A second call returns the first one's promise. */
  close(asked: { drainMs: number }): Promise<void> {
    clearInterval(this.#watch)
    this.#isEnding = true
    this.#closing ??= Promise.all(this.#threads.map((thread) => thread?.close(asked))).then(
      () => {},
    )
    return this.#closing
  }

  /** Ends the threads: at once, or soon after `close`, so that they can still close what they have. */
  async end(): Promise<void> {
    clearInterval(this.#watch)
    this.#isEnding = true
    await Promise.all(this.#threads.map((thread) => thread?.end()))
  }

  /** A port that threads share would also admit another process of the same user by accident. */
  async #requireFreePort({ smtpHost: host, smtpPort: port, reusePort }: Settings): Promise<void> {
    if (reusePort || port === 0 || this.#threads.length === 1) return
    const probe = createServer()
    probe.listen({ host, port })
    await once(probe, 'listening')
    probe.close()
    await once(probe, 'close')
  }

  async #report(): Promise<void> {
    const reports = this.#threads.map((thread) => thread?.isListening && thread.report())
    await raceAbort(Promise.all(reports), { timeoutMs: REPORT_MS_MAX })
  }

  #check(silenceMsMax: number): void {
    for (const thread of this.#threads) {
      if (thread?.isHanging) {
        const text = `The thread did not answer for ${silenceMsMax / 1_000} seconds.`
        void thread.terminate(new Error(text))
      } else thread?.ask()
    }
  }

  async #open(thread: IntakeThread, intake: IntakeOptions, pauseMs = RESTART_MS): Promise<void> {
    const { log } = this.#options
    const { settings, instance, tls, metrics } = intake
    const port = this.#address?.port ?? settings.smtpPort
    const threads = this.#threads.length
    const isShared = settings.reusePort || threads > 1
    const data: IntakeThreadData = {
      // A block list of proxies is no plain data, and of no use to SMTP.
      settings: { ...settings, smtpPort: port, reusePort: isShared, trustedProxies: null },
      ...{ instance, threads },
      isMetered: metrics !== silentMetrics,
      certificate: tls.certificate(),
      counts: this.#counts,
    }
    let nextPauseMs = Math.min(2 * pauseMs, RESTART_MS_MAX)
    void thread.ended.then((reason) => {
      this.#replace(thread, intake, { reason, pauseMs: nextPauseMs })
    })
    this.#address = await thread.open(data, { ...intake, log })
    nextPauseMs = RESTART_MS
  }

  #replace(
    { index }: IntakeThread,
    intake: IntakeOptions,
    { reason, pauseMs }: { reason: unknown; pauseMs: number },
  ): void {
    const { log, entry } = this.#options
    this.#threads[index] = null
    new PortCounts(this.#counts, index).clear()
    if (this.#isEnding || !this.#isOpen) return
    log.error({ error: reason }, 'a thread that receives mail ended; another is started')
    setTimeout(() => {
      if (this.#isEnding) return
      const thread = new IntakeThread(entry, index)
      this.#threads[index] = thread
      this.#open(thread, intake, pauseMs).catch(() => {})
    }, pauseMs).unref()
  }

  #post(message: ToIntakeThread): void {
    for (const thread of this.#threads) thread?.post(message)
  }
}

const NO_LOAD: IntakeLoad = {
  waiting: 0,
  oldestMs: 0,
  isStrained: false,
  parserQueue: 0,
  connections: null,
}

class IntakeThread {
  readonly index: number
  /** Resolves with the reason when the thread has ended. */
  readonly ended: Promise<unknown>
  load: IntakeLoad = NO_LOAD
  readonly #worker: Worker
  readonly #listened = Promise.withResolvers<AddressInfo>()
  readonly #drained = Promise.withResolvers<void>()
  /** Reports that are awaited, by their numbers. */
  readonly #reports = new Map<number, () => void>()
  #lastReport = 0
  #hasListened = false
  #isClosing = false
  /** Questions since the thread last sent anything. */
  #unanswered = 0
  #reason: unknown = new Error('The thread ended.')

  constructor(entry: URL, index: IntakeThreadIndex) {
    this.index = index
    this.#worker = new Worker(entry, { workerData: index, execArgv: [] })
    this.#listened.promise.catch(() => {})
    this.#worker.on('error', (error) => {
      this.#reason = error
    })
    this.ended = new Promise((resolve) => this.#worker.on('exit', resolve)).then(() => {
      this.#hasListened = false
      this.#listened.reject(this.#reason)
      for (const resolve of this.#reports.values()) resolve()
      return this.#reason
    })
  }

  /** Resolves when it listens; rejects with the reason if it ends before. */
  open(data: IntakeThreadData, intake: IntakeOptions & { log: Log }): Promise<AddressInfo> {
    const { db, started } = intake
    this.#worker.on('message', (message: FromIntakeThread) => this.#receive(message, intake))
    this.post({ kind: 'open', data })
    const sharing = db.shareWriter?.((port) =>
      this.#worker.postMessage({ kind: 'writer', port } satisfies ToIntakeThread, [port]),
    )
    void this.ended.then(() => sharing?.[Symbol.dispose]())
    started.then(
      () => this.post({ kind: 'started' }),
      () => {},
    )
    return this.#listened.promise
  }

  get isListening(): boolean {
    return this.#hasListened && this.#unanswered <= QUESTIONS / 3
  }

  /** Whether it has listened, and left every question without an answer. */
  get isHanging(): boolean {
    return this.#hasListened && this.#unanswered >= QUESTIONS
  }

  /** By the next call, a thread that works has sent something. */
  ask(): void {
    if (!this.#hasListened) return
    this.#unanswered += 1
    void this.report()
  }

  post(message: ToIntakeThread): void {
    this.#worker.postMessage(message)
  }

  report(): Promise<void> {
    this.#lastReport += 1
    const id = this.#lastReport
    return new Promise((resolve) => {
      this.#reports.set(id, resolve)
      this.post({ kind: 'report', id })
    })
  }

  async close({ drainMs }: { drainMs: number }): Promise<void> {
    this.#isClosing = true
    this.post({ kind: 'close', drainMs })
    const done = Promise.race([this.#drained.promise, this.ended])
    await raceAbort(done, { timeoutMs: drainMs + END_MS_MAX })
  }

  async end(): Promise<void> {
    if (this.#isClosing) await raceAbort(this.ended, { timeoutMs: END_MS_MAX })
    await this.terminate(this.#reason)
  }

  async terminate(reason: unknown): Promise<void> {
    this.#reason = reason
    await this.#worker.terminate()
  }

  #receive(message: FromIntakeThread, { log, metrics, onEvents }: IntakeOptions & { log: Log }) {
    this.#unanswered = 0
    switch (message.kind) {
      case 'listening':
        this.#hasListened = true
        this.#listened.resolve(message.address)
        break
      case 'wake':
        onEvents()
        break
      case 'drained':
        this.#drained.resolve()
        break
      case 'closed':
        void this.#worker.terminate()
        break
      case 'log':
        log[message.level](message.fields, message.text)
        break
      case 'figures': {
        const { answers, calls, load } = message
        repeatCalls(metrics, calls)
        this.load = load
        if (answers === null) break
        this.#reports.get(answers)?.()
        this.#reports.delete(answers)
      }
    }
  }
}

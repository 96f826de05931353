// The threads that receive mail: each listens on the same port, has its own connections to the database, and passes
// what it accepted to the one writer. A thread that ends costs its connections, and another takes its place.

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

/** The `workerData` of an intake thread. */
export type IntakeThreadData = {
  readonly settings: Settings
  /** The name of this service, for traces. */
  readonly instance: string
  readonly certificate: Certificate
  readonly counts: SharedArrayBuffer
  /** The thread's row in `counts`. */
  readonly index: number
  readonly threads: number
  readonly isMetered: boolean
}

export type ToIntakeThread =
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
  readonly settings: Settings
  /** Number of threads. */
  readonly threads: number
  readonly instance: string
  readonly tls: ServerTls
  readonly db: Db
  readonly started: Promise<void>
  readonly log: Log
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

/** Receives mail in this thread, or in several of its own. */
export type MailListener = SmtpServer | IntakeThreads

/** Rejects when the address cannot be listened on. */
export async function openIntakeThreads(options: IntakeThreadsOptions): Promise<IntakeThreads> {
  const threads = new IntakeThreads(options)
  await threads.open()
  return threads
}

export class IntakeThreads {
  readonly #options: IntakeThreadsOptions
  readonly #counts: SharedArrayBuffer
  readonly #threads: (IntakeThread | null)[]
  #address: AddressInfo | null = null
  #isOpen = false
  #closing: Promise<void> | null = null

  constructor(options: IntakeThreadsOptions) {
    this.#options = options
    this.#counts = makePortCounts(options.threads)
    this.#threads = new Array(options.threads).fill(null)
  }

  async open(): Promise<void> {
    const { tls, metrics } = this.#options
    metrics.beforeRender(() => this.#report())
    tls.listen(() => this.#post({ kind: 'certificate', certificate: tls.certificate() }))
    try {
      await this.#requireFreePort()
      // The first one may choose the port.
      await this.#start(0)
      await Promise.all(this.#threads.slice(1).map((_, index) => this.#start(index + 1)))
      this.#isOpen = true
    } catch (error) {
      await this.close({ drainMs: 0 })
      throw error
    }
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
    this.#closing ??= Promise.all(this.#threads.map((thread) => thread?.close(asked))).then(
      () => {},
    )
    return this.#closing
  }

  /** A port that threads share would also admit another process of the same user by accident. */
  async #requireFreePort(): Promise<void> {
    const { smtpHost: host, smtpPort: port, reusePort } = this.#options.settings
    if (reusePort || port === 0 || this.#options.threads === 1) return
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

  async #start(index: number, pauseMs = RESTART_MS): Promise<void> {
    const { settings, instance, tls, metrics, entry, started } = this.#options
    const port = this.#address?.port ?? settings.smtpPort
    const isShared = settings.reusePort || this.#options.threads > 1
    const data: IntakeThreadData = {
      // A block list of proxies is no plain data, and of no use to SMTP.
      settings: { ...settings, smtpPort: port, reusePort: isShared, trustedProxies: null },
      ...{ instance, index, threads: this.#options.threads },
      isMetered: metrics !== silentMetrics,
      certificate: tls.certificate(),
      counts: this.#counts,
    }
    const thread = new IntakeThread(entry, data, this.#options)
    this.#threads[index] = thread
    started.then(
      () => thread.post({ kind: 'started' }),
      () => {},
    )
    let nextPauseMs = Math.min(2 * pauseMs, RESTART_MS_MAX)
    void thread.ended.then((reason) => this.#replace(index, { reason, pauseMs: nextPauseMs }))
    this.#address = await thread.listening
    nextPauseMs = RESTART_MS
  }

  #replace(index: number, { reason, pauseMs }: { reason: unknown; pauseMs: number }): void {
    this.#threads[index] = null
    new PortCounts(this.#counts, index).clear()
    if (this.#closing !== null || !this.#isOpen) return
    this.#options.log.error(
      { error: reason },
      'a thread that receives mail ended; another is started',
    )
    setTimeout(() => {
      if (this.#closing === null) this.#start(index, pauseMs).catch(() => {})
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
  readonly listening: Promise<AddressInfo>
  /** Resolves with the reason when the thread has ended. */
  readonly ended: Promise<unknown>
  isListening = false
  load: IntakeLoad = NO_LOAD
  readonly #options: IntakeThreadsOptions
  readonly #worker: Worker
  readonly #listened = Promise.withResolvers<AddressInfo>()
  /** Reports that are awaited, by their numbers. */
  readonly #reports = new Map<number, () => void>()
  #lastReport = 0

  constructor(entry: URL, data: IntakeThreadData, options: IntakeThreadsOptions) {
    this.#options = options
    this.#worker = new Worker(entry, { workerData: data, execArgv: [] })
    this.listening = this.#listened.promise
    this.listening.catch(() => {})
    this.#worker.on('message', (message: FromIntakeThread) => this.#receive(message))
    let reason: unknown = new Error('The thread ended.')
    this.#worker.on('error', (error) => {
      reason = error
    })
    const sharing = options.db.shareWriter?.((port) =>
      this.#worker.postMessage({ kind: 'writer', port } satisfies ToIntakeThread, [port]),
    )
    this.ended = new Promise((resolve) => this.#worker.on('exit', resolve)).then(() => {
      sharing?.[Symbol.dispose]()
      this.isListening = false
      this.#listened.reject(reason)
      for (const resolve of this.#reports.values()) resolve()
      return reason
    })
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
    this.post({ kind: 'close', drainMs })
    await raceAbort(this.ended, { timeoutMs: drainMs + END_MS_MAX })
    await this.#worker.terminate()
  }

  #receive(message: FromIntakeThread): void {
    const { log, metrics, onEvents } = this.#options
    switch (message.kind) {
      case 'listening':
        this.isListening = true
        this.#listened.resolve(message.address)
        break
      case 'wake':
        onEvents()
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

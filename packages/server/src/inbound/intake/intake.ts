// Manages the threads that receive mail on one port. They read with their own database connections
// and pass accepted messages to the writer. A thread that ends or hangs is replaced.

import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { type MessagePort, Worker } from 'node:worker_threads'
import { makePortCounts, PortCounts } from '@mailroom/smtp/server/port-counts.ts'
import type { SmtpServer } from '@mailroom/smtp/server/server.ts'
import type { Settings } from '#config/settings.ts'
import { raceAbort } from '#platform/abort.ts'
import type { Log, LogFields } from '#platform/log.ts'
import { type MetricCall, type Metrics, repeatCalls } from '#platform/telemetry/metrics.ts'
import type { Certificate, ServerTls } from '#platform/tls/server-tls.ts'
import type { Db } from '#store/tables.ts'

export type IntakeThreadData = {
  readonly settings: Settings
  readonly instance: string
  readonly certificate: Certificate
  readonly counts: SharedArrayBuffer
  readonly writer: MessagePort | null
}

export type ToIntakeThread =
  /** The first message to a thread. Until then, the thread loads its modules. */
  | { readonly kind: 'open'; readonly data: IntakeThreadData }
  | { readonly kind: 'started' }
  | { readonly kind: 'certificate'; readonly certificate: Certificate }
  | { readonly kind: 'close'; readonly drainMs: number }

export type FromIntakeThread =
  | { readonly kind: 'listening'; readonly address: AddressInfo }
  | { readonly kind: 'wake' }
  | { readonly kind: 'log'; readonly level: keyof Log; readonly line: [LogFields, string] }
  /** A thread sends this several times a second; one that stays silent hangs. */
  | {
      readonly kind: 'figures'
      readonly calls: readonly MetricCall[]
      readonly load: IntakeLoad
    }

export type IntakeLoad = {
  readonly waiting: number
  readonly oldestMs: number
  readonly isStrained: boolean
  readonly parserQueue: number
  /** Null if the thread has no database connections of its own. */
  readonly connections: Readonly<Record<'busy' | 'idle' | 'waiting', number>> | null
}

type IntakeOptions = {
  readonly settings: Settings
  readonly instance: string
  readonly tls: ServerTls
  readonly db: Db
  readonly log: Log
  readonly started: Promise<void>
  readonly metrics: Metrics
  readonly onEvents: () => void
}

/** The pause doubles after each thread that failed to listen. */
const RESTART_MS = 500
const RESTART_MS_MAX = 30_000
/** A drained thread closes its resources within this time. */
const END_MS_MAX = 1_000
/**
 * The kernel keeps accepting connections for a thread that hangs. Parses and queries take
 * milliseconds, so such a long silence is a fault.
 */
const SILENCE_MS_MAX = 30_000
/** A thread is replaced after this many silent checks, and is not ready after a third of them. */
const SILENT_CHECKS_MAX = 6

export type MailListener = SmtpServer | IntakeThreads

/** The threads load their modules immediately, but receive no mail until `open`. */
export class IntakeThreads {
  readonly #entry: URL
  readonly #counts: SharedArrayBuffer
  readonly #threads: IntakeThread[]
  readonly #watch: NodeJS.Timeout
  #address: AddressInfo | null = null
  #isEnding = false
  #failures = 0

  constructor(entry: URL, count: number, silenceMsMax = SILENCE_MS_MAX) {
    this.#entry = entry
    this.#counts = makePortCounts(count)
    this.#threads = Array.from({ length: count }, (_, index) => new IntakeThread(entry, index))
    const check = () => {
      for (const thread of this.#threads) thread.check(silenceMsMax)
    }
    this.#watch = setInterval(check, silenceMsMax / SILENT_CHECKS_MAX).unref()
  }

  async open(intake: IntakeOptions): Promise<void> {
    const { tls, settings } = intake
    tls.listen(() => {
      const certificate = tls.certificate()
      for (const thread of this.#threads) thread.post({ kind: 'certificate', certificate })
    })
    try {
      await this.#requireFreePort(settings)
      // The first thread opens alone, because it may choose the port.
      const [first, ...others] = this.#threads
      if (first) await this.#open(first, intake)
      await Promise.all(others.map((thread) => this.#open(thread, intake)))
    } catch (error) {
      await this.end()
      throw error
    }
  }

  get address(): AddressInfo {
    if (this.#address === null) throw new Error('SMTP is not listening')
    return this.#address
  }

  isListening(): boolean {
    return this.#threads.some((thread) => thread.isListening)
  }

  stats(): { connections: number; heldBytes: number } {
    const { connections, heldBytes } = new PortCounts(this.#counts, 0)
    return { connections, heldBytes }
  }

  loads(): IntakeLoad[] {
    return this.#threads.flatMap(({ load }) => load ?? [])
  }

  async close({ drainMs }: { drainMs: number }): Promise<void> {
    this.#stop()
    await Promise.all(this.#threads.map((thread) => thread.close(drainMs)))
  }

  /** Closes all connections immediately. */
  async end(): Promise<void> {
    this.#stop()
    await Promise.all(this.#threads.map((thread) => thread.end()))
  }

  #stop(): void {
    clearInterval(this.#watch)
    this.#isEnding = true
  }

  /** A shared port would let another process of the same user listen on it by accident. */
  async #requireFreePort({ smtpHost: host, smtpPort: port, reusePort }: Settings): Promise<void> {
    if (reusePort || port === 0 || this.#threads.length === 1) return
    const probe = createServer()
    probe.listen({ host, port })
    await once(probe, 'listening')
    probe.close()
    await once(probe, 'close')
  }

  async #open(thread: IntakeThread, intake: IntakeOptions): Promise<void> {
    const { settings, instance, tls, db } = intake
    const data = {
      settings: {
        ...settings,
        smtpPort: this.#address?.port ?? settings.smtpPort,
        reusePort: settings.reusePort || this.#threads.length > 1,
        // A BlockList cannot be sent to a thread, and SMTP does not use it.
        trustedProxies: null,
      },
      ...{ instance, counts: this.#counts, certificate: tls.certificate() },
      writer: db.shareWriter?.() ?? null,
    }
    this.#address = await thread.open(data, intake)
    this.#failures = 0
    void thread.ended.then((reason) => this.#replace(thread.index, intake, reason))
  }

  #replace(index: number, intake: IntakeOptions, reason: unknown): void {
    new PortCounts(this.#counts, index).clear()
    if (this.#isEnding) return
    intake.log.error({ error: reason }, 'a receiving thread ended and is being replaced')
    const pauseMs = Math.min(RESTART_MS * 2 ** this.#failures, RESTART_MS_MAX)
    this.#failures += 1
    const start = () => {
      if (this.#isEnding) return
      const thread = new IntakeThread(this.#entry, index)
      this.#threads[index] = thread
      this.#open(thread, intake).catch((error) => this.#replace(index, intake, error))
    }
    setTimeout(start, pauseMs).unref()
  }
}

class IntakeThread {
  readonly index: number
  /** Resolves with the reason why the thread ended. */
  readonly ended: Promise<unknown>
  load: IntakeLoad | null = null
  readonly #worker: Worker
  #silentChecks = 0
  #reason: unknown = new Error('The thread ended.')

  constructor(entry: URL, index: number) {
    this.index = index
    this.#worker = new Worker(entry, { workerData: index, execArgv: [] })
    this.#worker.on('error', (error) => {
      this.#reason = error
    })
    this.ended = new Promise((resolve) => this.#worker.on('exit', resolve)).then(() => {
      this.load = null
      return this.#reason
    })
  }

  /** Rejects with the reason if the thread ends before it listens. */
  open(data: IntakeThreadData, intake: IntakeOptions): Promise<AddressInfo> {
    const { started, log, metrics, onEvents } = intake
    const listened = Promise.withResolvers<AddressInfo>()
    void this.ended.then(listened.reject)
    this.#worker.on('message', (message: FromIntakeThread) => {
      this.#silentChecks = 0
      switch (message.kind) {
        case 'listening':
          listened.resolve(message.address)
          break
        case 'wake':
          onEvents()
          break
        case 'log':
          log[message.level](...message.line)
          break
        case 'figures':
          this.load = message.load
          repeatCalls(metrics, message.calls)
      }
    })
    const transferred = data.writer === null ? [] : [data.writer]
    this.#worker.postMessage({ kind: 'open', data } satisfies ToIntakeThread, transferred)
    started.then(
      () => this.post({ kind: 'started' }),
      () => {},
    )
    return listened.promise
  }

  get isListening(): boolean {
    return this.load !== null && this.#silentChecks <= SILENT_CHECKS_MAX / 3
  }

  check(silenceMsMax: number): void {
    if (this.load === null) return
    this.#silentChecks += 1
    if (this.#silentChecks < SILENT_CHECKS_MAX) return
    const text = `The thread did not answer for ${silenceMsMax / 1_000} seconds.`
    this.#reason = new Error(text)
    void this.end()
  }

  post(message: ToIntakeThread): void {
    this.#worker.postMessage(message)
  }

  async close(drainMs: number): Promise<void> {
    this.post({ kind: 'close', drainMs })
    await raceAbort(this.ended, { timeoutMs: drainMs + END_MS_MAX })
    await this.end()
  }

  async end(): Promise<void> {
    await this.#worker.terminate()
  }
}

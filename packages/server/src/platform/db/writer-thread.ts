// The main thread's end of the writer thread: calls by name go out, answers come back, and a thread
// that died is replaced.

import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { DbObserver } from './db.ts'
import type { GroupReport, WriteFailure, WriteRequest } from './sqlite-writer.ts'
import { StorageError, tooManyWrites } from './storage-error.ts'
import { WRITE_QUEUE_MAX } from './write-groups.ts'

/** What the module at `writerEntry` is given as its `workerData`. */
export type WriterData = { path: string; reservePath: string | null }

export type WriterThreadOptions = WriterData & { writerEntry: URL; observer: DbObserver }

type Waiting = {
  resolve: (value: never) => void
  reject: (error: Error) => void
}

const RESTART_MS = 500

export class WriterThread {
  readonly #options: WriterThreadOptions
  readonly #waiting = new Map<number, Waiting>()
  #worker: Worker | null = null
  #outbox: WriteRequest[] = []
  #nextId = 1
  #closing: Promise<boolean> | null = null
  #onIdle: (() => void) | null = null

  constructor(options: WriterThreadOptions) {
    this.#options = options
  }

  /** Resolves when the thread has opened the database; rejects with the reason when it cannot. */
  async start(): Promise<void> {
    const { path, reservePath, writerEntry } = this.#options
    const worker = new Worker(writerEntry, {
      workerData: { path, reservePath } satisfies WriterData,
    })
    let reason: unknown = 'The writer thread ended.'
    worker.on('error', (error) => {
      reason = error
    })
    const ended = once(worker, 'exit').then(() => 'exited')
    const first = await Promise.race([once(worker, 'message').then(([text]) => text), ended])
    if (first !== 'ready') {
      throw new StorageError('unavailable', 'The writer thread did not start.', reason)
    }
    this.#worker = worker
    worker.on('message', (report: GroupReport) => this.#settle(report))
    worker.on('exit', () => this.#end(reason))
  }

  /** Throws when there is no thread to write with just now. */
  check(): void {
    if (this.#worker === null) throw unavailable()
  }

  /** Runs a named transaction; see `Db.write`. */
  submit<Value>(name: string, input: unknown, traceParent?: string): Promise<Value> {
    if (this.#worker === null || this.#closing !== null) return Promise.reject(unavailable())
    if (this.#waiting.size >= WRITE_QUEUE_MAX) {
      return Promise.reject(tooManyWrites())
    }
    return new Promise((resolve, reject) => {
      const id = this.#nextId++
      this.#waiting.set(id, { resolve, reject })
      this.#outbox.push({ id, name, input, ...(traceParent && { traceParent }) })
      // One wake-up of the writer for everything that this turn of the event loop has to write; an idle
      // writer starts with the first of it.
      if (this.#outbox.length > 1) return
      if (this.#waiting.size === 1) queueMicrotask(() => this.#post())
      else setImmediate(() => this.#post())
    })
  }

  /** Waits for what is under way, then ends the thread. False when it was called before. */
  close(): Promise<boolean> {
    if (this.#closing !== null) return this.#closing.then(() => false)
    this.#closing = this.#finish()
    return this.#closing
  }

  async #finish(): Promise<boolean> {
    if (this.#waiting.size > 0) {
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve
      })
    }
    if (this.#worker !== null) {
      this.#worker.postMessage('close')
      await once(this.#worker, 'exit')
    }
    return true
  }

  #post(): void {
    const requests = this.#outbox
    this.#outbox = []
    this.#worker?.postMessage(requests)
  }

  #settle({ answers, groupSize, durationMs }: GroupReport): void {
    for (const answer of answers) {
      const entry = this.#waiting.get(answer.id)
      this.#waiting.delete(answer.id)
      if ('failure' in answer) entry?.reject(asError(answer.failure))
      else entry?.resolve(answer.value as never)
    }
    this.#options.observer.committed(groupSize, durationMs)
    if (this.#waiting.size === 0) this.#onIdle?.()
  }

  /** What was under way may have been committed or not: the callers are told that it is not known. */
  #end(reason: unknown): void {
    this.#worker = null
    this.#outbox = []
    for (const { reject } of this.#waiting.values()) reject(unavailable(reason))
    this.#waiting.clear()
    this.#onIdle?.()
    if (this.#closing === null) this.#restart()
  }

  #restart(): void {
    const timer = setTimeout(() => {
      if (this.#closing === null) this.start().catch(() => this.#restart())
    }, RESTART_MS)
    timer.unref()
  }
}

function unavailable(cause?: unknown): StorageError {
  return new StorageError('unavailable', 'The writer thread is not running.', cause)
}

function asError(failure: WriteFailure): Error {
  if (failure.kind !== 'fault') return new StorageError(failure.kind, failure.message)
  const error = new Error(failure.message)
  if (failure.stack !== undefined) error.stack = failure.stack
  return error
}

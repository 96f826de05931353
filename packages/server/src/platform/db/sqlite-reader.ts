// The reader thread of SQLite. It runs long reads by name, without blocking the main thread.

import { type MessagePort, Worker } from 'node:worker_threads'
import { onAbort } from '#platform/abort.ts'
import { MINUTE_MS } from '#platform/units.ts'
import type { AnyLongRead, Reading } from './db.ts'
import { openSqliteConnection, queriesOn } from './sqlite-connection.ts'
import { type Failure, fromFailure, StorageError, toFailure } from './storage-error.ts'

/** An idle thread costs memory; starting one takes a fraction of a second. */
const READER_IDLE_MS = 5 * MINUTE_MS

export type ReaderData = { path: string }

type ReaderMessage = { id: number; name: string; input: unknown } | { cancel: number }

type ReadAnswer = { id: number; value: unknown } | { id: number; failure: Failure }

type ReaderOptions<Schema> = {
  path: string
  port: MessagePort
  reads: readonly AnyLongRead<Schema>[]
}

/** Serves the port until the thread is terminated. Reads take turns whenever they await. */
export function runSqliteReader<Schema>({ path, port, reads }: ReaderOptions<Schema>): void {
  const queries = queriesOn<Schema>(openSqliteConnection({ path, mode: 'read' }))
  const reading: Reading<Schema> = {
    read: queries.query,
    reading: { engine: 'sqlite', ...queries },
  }
  const underWay = new Map<number, AbortController>()
  const run = (name: string, input: unknown, signal: AbortSignal): Promise<unknown> => {
    const read = reads.find((one) => one.name === name)
    if (read === undefined) throw new Error(`No long read is named ${name}`)
    return read.run(reading, input as never, signal)
  }
  port.on('message', async (message: ReaderMessage) => {
    if ('cancel' in message) {
      underWay.get(message.cancel)?.abort()
      return
    }
    const { id, name, input } = message
    const ending = new AbortController()
    underWay.set(id, ending)
    let answer: ReadAnswer
    try {
      answer = { id, value: await run(name, input, ending.signal) }
    } catch (error) {
      answer = { id, failure: toFailure(error) }
    }
    underWay.delete(id)
    port.postMessage(answer)
  })
}

type ReaderThreadOptions = ReaderData & {
  readerEntry: URL
  onError(error: Error): void
  readerIdleMs?: number
}

type Waiting = { resolve: (value: never) => void; reject: (error: Error) => void }

export class ReaderThread {
  readonly #options: ReaderThreadOptions
  readonly #waiting = new Map<number, Waiting>()
  #worker: Worker | null = null
  #idle: NodeJS.Timeout | undefined
  #lastId = 0
  #isClosed = false

  constructor(options: ReaderThreadOptions) {
    this.#options = options
  }

  async read<Value>(name: string, input: unknown, signal: AbortSignal): Promise<Value> {
    if (this.#isClosed) throw ended()
    clearTimeout(this.#idle)
    const worker = this.#worker ?? this.#start()
    this.#worker = worker
    this.#lastId += 1
    const id = this.#lastId
    const answer = new Promise<Value>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject })
    })
    worker.postMessage({ id, name, input } satisfies ReaderMessage)
    using _ = onAbort(signal, () => worker.postMessage({ cancel: id } satisfies ReaderMessage))
    return await answer
  }

  /** Pending reads fail. */
  async close(): Promise<void> {
    this.#isClosed = true
    const worker = this.#leave()
    this.#lose(ended())
    await worker?.terminate()
  }

  #start(): Worker {
    const { path, readerEntry } = this.#options
    const worker = new Worker(readerEntry, {
      workerData: { path } satisfies ReaderData,
      execArgv: [],
    })
    let reason: unknown
    worker.on('message', (answer: ReadAnswer) => this.#settle(answer))
    worker.on('error', (error) => {
      reason = error
    })
    worker.on('exit', () => {
      if (this.#worker !== worker) return
      this.#leave()
      const error = ended(reason)
      this.#options.onError(error)
      this.#lose(error)
    })
    return worker
  }

  #settle(answer: ReadAnswer): void {
    const entry = this.#waiting.get(answer.id)
    this.#waiting.delete(answer.id)
    if ('failure' in answer) entry?.reject(fromFailure(answer.failure))
    else entry?.resolve(answer.value as never)
    if (this.#waiting.size > 0) return
    const { readerIdleMs = READER_IDLE_MS } = this.#options
    this.#idle = setTimeout(() => void this.#leave()?.terminate(), readerIdleMs)
    this.#idle.unref()
  }

  #leave(): Worker | null {
    clearTimeout(this.#idle)
    const worker = this.#worker
    this.#worker = null
    return worker
  }

  #lose(error: Error): void {
    for (const { reject } of this.#waiting.values()) reject(error)
    this.#waiting.clear()
  }
}

function ended(cause?: unknown): StorageError {
  return new StorageError('unavailable', 'The reader thread ended.', cause)
}

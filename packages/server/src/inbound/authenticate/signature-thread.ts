// The thread in which signatures are checked: each takes as long as all the rest of taking in a small
// message. It is started with the first, bounded in memory and time, and anew when one has ended it: who
// was at work then is told so, and the others are checked in the new one.

import { setImmediate } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { Log } from '#platform/log.ts'
import { SECOND_MS } from '#platform/units.ts'
import type { SignatureResults } from './check-signatures.ts'
import type { FindKeys } from './signature-keys.ts'
import type { FromThread, ThreadOptions, ToThread } from './signature-port.ts'

/**
 * Of the thread that checks signatures: its heap in all, and the part for what is new, of which each
 * message makes half a mebibyte.
 */
const SIGNATURE_HEAP_MIB_MAX = 96
const SIGNATURE_YOUNG_MIB_MAX = 48
/** How long the thread may take to load. */
const SIGNATURE_LOAD_MS_MAX = 10 * SECOND_MS
/** So long does the thread do one thing at most, which is a matter of 0.1 s, until it is ended. */
const SIGNATURE_SILENT_MS_MAX = 2 * SECOND_MS
/** How often it is asked for a sign of life while it has work. */
const SIGNATURE_LOOK_MS = 500

/**
 * `threw`: the verifier could not take the message. `stuck`: it ended the thread. `ended`: the thread did,
 * or the time was over.
 */
export type ThreadOutcome = SignatureResults | 'threw' | 'stuck' | 'ended'

type Task = {
  readonly raw: Uint8Array
  readonly nowMs: number
  /** Whether a thread ended while it was in hand. */
  isAgain: boolean
  /** Whether the keys' time is over. */
  isLate: boolean
  readonly resolve: (outcome: ThreadOutcome) => void
  readonly timers: readonly NodeJS.Timeout[]
}

type Thread = {
  readonly worker: Worker
  readonly atWork: Int32Array
  isReady: boolean
  /** Signs of life that it was asked for and has not given. */
  unanswered: number
  readonly watch: NodeJS.Timeout
}

export class SignatureThread {
  readonly #findKeys: FindKeys
  readonly #log: Log
  readonly #tasks = new Map<number, Task>()
  #thread: Thread | null = null
  #lastId = 0
  #isClosed = false

  constructor(options: { findKeys: FindKeys; log: Log }) {
    this.#findKeys = options.findKeys
    this.#log = options.log
  }

  /**
   * Never rejects, and takes `allMs` at most; keys that have not come within `keysMs` are not waited for.
   * `raw` is not to change meanwhile.
   */
  check(
    raw: Uint8Array,
    { nowMs, keysMs, allMs }: { nowMs: number; keysMs: number; allMs: number },
  ) {
    return new Promise<ThreadOutcome>((resolve) => {
      if (this.#isClosed) return resolve('ended')
      this.#lastId += 1
      const id = this.#lastId
      const giveUpKeys = () => {
        task.isLate = true
        this.#tell({ kind: 'keys-late', id })
      }
      const timers = [
        setTimeout(giveUpKeys, keysMs),
        setTimeout(() => {
          this.#settle(id, 'ended')
          this.#tell({ kind: 'drop', id })
        }, allMs),
      ]
      const task: Task = { raw, nowMs, isAgain: false, isLate: false, resolve, timers }
      this.#tasks.set(id, task)
      void this.#give(id)
    })
  }

  async close(): Promise<void> {
    this.#isClosed = true
    for (const id of [...this.#tasks.keys()]) this.#settle(id, 'ended')
    const thread = this.#thread
    if (thread === null) return
    this.#drop(thread)
    await thread.worker.terminate()
  }

  async #give(id: number): Promise<void> {
    const task = this.#tasks.get(id)
    if (task === undefined) return
    // The caller goes on using its octets, which may be a view of a larger buffer: send a copy.
    const raw = await copyInSlices(task.raw)
    if (!this.#tasks.has(id)) return
    this.#thread ??= this.#start()
    this.#thread.worker.ref()
    this.#tell({ kind: 'check', id, raw, nowMs: task.nowMs }, [raw.buffer])
    if (task.isLate) this.#tell({ kind: 'keys-late', id })
  }

  #settle(id: number, outcome: ThreadOutcome): void {
    const task = this.#tasks.get(id)
    if (task === undefined) return
    for (const timer of task.timers) clearTimeout(timer)
    this.#tasks.delete(id)
    if (this.#tasks.size === 0) this.#thread?.worker.unref()
    task.resolve(outcome)
  }

  #start(): Thread {
    const atWork = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)
    const worker = new Worker(new URL('./signature-worker.ts', import.meta.url), {
      resourceLimits: {
        maxOldGenerationSizeMb: SIGNATURE_HEAP_MIB_MAX,
        maxYoungGenerationSizeMb: SIGNATURE_YOUNG_MIB_MAX,
      },
      workerData: { atWork } satisfies ThreadOptions,
      // Flags of the process (a test runner's, `--input-type`) are not for its threads.
      execArgv: [],
    })
    const watch = setInterval(() => this.#look(thread), SIGNATURE_LOOK_MS)
    watch.unref()
    const thread: Thread = {
      worker,
      atWork: new Int32Array(atWork),
      isReady: false,
      unanswered: 0,
      watch,
    }
    worker.unref()
    worker.on('message', (message: FromThread) => this.#receive(thread, message))
    worker.on('error', (cause) => this.#end(thread, cause))
    worker.on('exit', (code) => this.#end(thread, `exit ${code}`))
    return thread
  }

  /** Counts how often it was asked, not the time: a machine that was suspended is no thread that is stuck. */
  #look(thread: Thread): void {
    if (thread !== this.#thread || this.#tasks.size === 0) return
    const silentMs = thread.unanswered * SIGNATURE_LOOK_MS
    const limitMs = thread.isReady ? SIGNATURE_SILENT_MS_MAX : SIGNATURE_LOAD_MS_MAX
    if (silentMs >= limitMs) {
      this.#end(thread, 'silent')
      return
    }
    thread.unanswered += 1
    this.#tell({ kind: 'look' })
  }

  #receive(thread: Thread, message: FromThread): void {
    if (thread !== this.#thread) return
    thread.unanswered = 0
    switch (message.kind) {
      case 'alive':
        break
      case 'ready':
        thread.isReady = true
        break
      case 'question':
        void this.#answer(thread, message.name)
        break
      case 'checked':
        this.#settle(message.id, message.results ?? 'threw')
    }
  }

  async #answer(thread: Thread, name: string): Promise<void> {
    const answer = await this.#findKeys(name)
    if (thread === this.#thread) this.#tell({ kind: 'answer', name, answer })
  }

  #tell(message: ToThread, moved: ArrayBuffer[] = []): void {
    this.#thread?.worker.postMessage(message, moved)
  }

  #drop(thread: Thread): void {
    clearInterval(thread.watch)
    if (thread === this.#thread) this.#thread = null
  }

  #end(thread: Thread, cause: unknown): void {
    if (thread !== this.#thread) return
    this.#log.warn({ cause, messages: this.#tasks.size }, 'the signature checking thread stopped')
    this.#drop(thread)
    void thread.worker.terminate()
    const atWork = Atomics.load(thread.atWork, 0)
    // What ends a thread in another way, such as its memory, may be of many messages.
    const isItsDoing = cause === 'silent' || this.#tasks.get(atWork)?.isAgain === true
    if (isItsDoing) this.#settle(atWork, 'stuck')
    for (const [id, task] of this.#tasks) {
      if (task.isAgain) this.#settle(id, 'ended')
      else void this.#give(id)
      task.isAgain = true
    }
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

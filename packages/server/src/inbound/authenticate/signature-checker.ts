// Checks signatures in a separate thread, because a check takes as long as all other work on a
// small message. The thread is replaced when it ends.

import { setImmediate } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { DkimResult, SignatureFields } from '@mailroom/mail/authentication.ts'
import type { Resolver } from '#platform/dns/resolver.ts'
import type { Log } from '#platform/log.ts'
import { Semaphore } from '#platform/semaphore.ts'
import { SECOND_MS } from '#platform/units.ts'
import { SIGNATURES_CHECKED_MAX, type SignatureResults } from './check-signatures.ts'
import type { FindKeys, KeyAnswer } from './signature-keys.ts'
import { UsualSignatures } from './usual-signatures.ts'

/** Total size of the messages in the thread, unless there is only one. */
const SIGNATURE_BYTES_AT_ONCE = 64 * 1024 * 1024
/** Messages up to this size do not wait for larger ones. */
const SIGNATURE_SMALL_BYTES_MAX = 256 * 1024
/** The record of a 4096-bit key has 800 characters. */
const SIGNATURE_KEY_LENGTH_MAX = 4 * 1024
const SIGNATURE_KEY_RECORDS_MAX = 10

export const UNSIGNED: SignatureResults = { dkim: [], arc: 'none', outgrown: [], signed: null }

type Limits = {
  readonly nowMs: number
  keysMs(): number
  allMs(): number
}

export class SignatureChecker {
  readonly #usual = new UsualSignatures()
  readonly #thread: SignatureThread
  /** One unit of each semaphore is a byte. */
  readonly #small = new Semaphore({ limit: SIGNATURE_BYTES_AT_ONCE })
  readonly #large = new Semaphore({ limit: SIGNATURE_BYTES_AT_ONCE })

  constructor({ resolver, log }: { resolver: Resolver; log: Log }) {
    const find: FindKeys = async (name) => {
      const answer = await findKeys(resolver, name)
      this.#usual.learn(name, answer)
      return answer
    }
    this.#thread = new SignatureThread({ findKeys: find, log })
  }

  async check(
    raw: Uint8Array,
    fields: SignatureFields,
    { nowMs, keysMs, allMs }: Limits,
  ): Promise<SignatureResults> {
    if (!fields.isCheckable) return allAlike(fields, 'policy')
    const good = await this.#usual.check(raw, fields, nowMs)
    if (good !== null) return good
    const semaphore = raw.length <= SIGNATURE_SMALL_BYTES_MAX ? this.#small : this.#large
    const outcome = await semaphore.run({ weight: raw.length }, async () => {
      const leftMs = allMs()
      if (leftMs <= 0) return 'ended'
      return this.#thread.check(raw, { nowMs, keysMs: keysMs(), allMs: leftMs })
    })
    if (outcome === 'threw') return allAlike(fields, 'permerror')
    if (outcome === 'stuck') return allAlike(fields, 'policy')
    return outcome === 'ended' ? allAlike(fields, 'temperror') : outcome
  }

  close(): Promise<void> {
    return this.#thread.close()
  }
}

export function hasSignatures({ count, hasArc }: SignatureFields): boolean {
  return count > 0 || hasArc
}

/** Gives all signatures the same result, or `policy` beyond SIGNATURES_CHECKED_MAX. */
export function allAlike(
  { signers, hasArc }: SignatureFields,
  result: 'policy' | 'permerror' | 'temperror',
): SignatureResults {
  const dkim: DkimResult[] = signers.map((signer, index) => ({
    result: index < SIGNATURES_CHECKED_MAX ? result : 'policy',
    ...signer,
  }))
  return { dkim, arc: hasArc ? result : 'none', outgrown: [], signed: null }
}

async function findKeys(resolver: Resolver, name: string): ReturnType<FindKeys> {
  const answer = await resolver.txt(name)
  switch (answer.kind) {
    case 'found': {
      const { ttlMs } = answer
      const records = answer.records
        .filter(({ length }) => length <= SIGNATURE_KEY_LENGTH_MAX)
        .slice(0, SIGNATURE_KEY_RECORDS_MAX)
      return records.length > 0 ? { kind: 'found', records, ttlMs } : { kind: 'large', ttlMs }
    }
    case 'none':
      return { kind: 'none', isNameMissing: answer.isNameMissing, ttlMs: answer.ttlMs }
    case 'fault':
      return { kind: 'fault', text: answer.text }
  }
}

const SIGNATURE_HEAP_MIB_MAX = 96
/** The thread's heap for new objects, in MiB. Each message allocates half a MiB. */
const SIGNATURE_YOUNG_MIB_MAX = 48
const SIGNATURE_LOAD_MS_MAX = 10 * SECOND_MS
/** A thread that does not reply within this time is ended. Its longest step takes about 0.1 s. */
const SIGNATURE_SILENT_MS_MAX = 2 * SECOND_MS
const SIGNATURE_PING_MS = 500

/** `stuck`: this message blocked the thread. `ended`: any other reason, including the deadline. */
type ThreadOutcome = SignatureResults | 'threw' | 'stuck' | 'ended'

type Task = {
  readonly raw: Uint8Array
  readonly nowMs: number
  isRetry: boolean
  isLate: boolean
  readonly resolve: (outcome: ThreadOutcome) => void
  readonly timers: readonly NodeJS.Timeout[]
}

type Thread = {
  readonly worker: Worker
  readonly atWork: Int32Array
  isReady: boolean
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

  /** Never rejects, and takes at most `allMs`. `raw` must not change until then. */
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
        this.#post({ kind: 'keys-late', id })
      }
      const timers = [
        setTimeout(giveUpKeys, keysMs),
        setTimeout(() => {
          this.#settle(id, 'ended')
          this.#post({ kind: 'drop', id })
        }, allMs),
      ]
      const task: Task = { raw, nowMs, isRetry: false, isLate: false, resolve, timers }
      this.#tasks.set(id, task)
      void this.#submit(id)
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

  async #submit(id: number): Promise<void> {
    const task = this.#tasks.get(id)
    if (task === undefined) return
    // The bytes are copied because the caller may still use them or the buffer that contains them.
    const raw = await copyInSlices(task.raw)
    if (!this.#tasks.has(id)) return
    this.#thread ??= this.#start()
    this.#thread.worker.ref()
    this.#post({ kind: 'check', id, raw, nowMs: task.nowMs }, [raw.buffer])
    if (task.isLate) this.#post({ kind: 'keys-late', id })
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
      // Threads must not inherit process flags, such as those of a test runner or `--input-type`.
      execArgv: [],
    })
    const watch = setInterval(() => this.#ping(thread), SIGNATURE_PING_MS)
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

  /** Counts pings instead of time, so that a suspended machine makes no thread stuck. */
  #ping(thread: Thread): void {
    if (thread !== this.#thread || this.#tasks.size === 0) return
    const silentMs = thread.unanswered * SIGNATURE_PING_MS
    const limitMs = thread.isReady ? SIGNATURE_SILENT_MS_MAX : SIGNATURE_LOAD_MS_MAX
    if (silentMs >= limitMs) {
      this.#end(thread, 'silent')
      return
    }
    thread.unanswered += 1
    this.#post({ kind: 'ping' })
  }

  #receive(thread: Thread, message: FromThread): void {
    if (thread !== this.#thread) return
    thread.unanswered = 0
    switch (message.kind) {
      case 'pong':
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
    if (thread === this.#thread) this.#post({ kind: 'answer', name, answer })
  }

  #post(message: ToThread, moved: ArrayBuffer[] = []): void {
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
    // Other causes, such as memory, may be due to several messages, so each is retried once.
    const isCulprit = cause === 'silent' || this.#tasks.get(atWork)?.isRetry === true
    if (isCulprit) this.#settle(atWork, 'stuck')
    for (const [id, task] of this.#tasks) {
      if (task.isRetry) this.#settle(id, 'ended')
      else void this.#submit(id)
      task.isRetry = true
    }
  }
}

/** Copying 30 MiB in one step would block all connections for up to 20 ms. */
async function copyInSlices(source: Uint8Array): Promise<Uint8Array<ArrayBuffer>> {
  const copy = Buffer.allocUnsafeSlow(source.length)
  for (let start = 0; start < source.length; start += COPY_SLICE_BYTES) {
    if (start > 0) await setImmediate()
    copy.set(source.subarray(start, start + COPY_SLICE_BYTES), start)
  }
  return copy
}

const COPY_SLICE_BYTES = 1024 * 1024

export type ThreadOptions = {
  /** The id of the message whose step ran last. */
  readonly atWork: SharedArrayBuffer
}

export type ToThread =
  | {
      readonly kind: 'check'
      readonly id: number
      readonly raw: Uint8Array
      readonly nowMs: number
    }
  | { readonly kind: 'keys-late'; readonly id: number }
  | { readonly kind: 'drop'; readonly id: number }
  | { readonly kind: 'ping' }
  | { readonly kind: 'answer'; readonly name: string; readonly answer: KeyAnswer }

export type FromThread =
  | { readonly kind: 'ready' }
  | { readonly kind: 'pong' }
  | { readonly kind: 'question'; readonly name: string }
  | { readonly kind: 'checked'; readonly id: number; readonly results: SignatureResults | null }

// Extracts the text of files in a separate process, so that a hostile file costs no more than its
// time and memory.

import { kindOfFile, type NamedFile } from '@mailroom/mail-reading/files/file-kind.ts'
import {
  FILE_BYTES_MAX,
  type FileText,
  tooLarge,
  UNKNOWN_KIND,
  unreadText,
} from '@mailroom/mail-reading/files/file-text.ts'
import { type Log, silentLog } from '#platform/log.ts'
import { AppError } from '#platform/problem.ts'
import { Semaphore } from '#platform/semaphore.ts'
import { SECOND_MS } from '#platform/units.ts'
import { GuardedWorker, type WorkOutcome } from './guarded-worker.ts'
import { MEMORY_EXCEEDED, openProcessHost } from './process-host.ts'
import type { ImageReader } from './read-image.ts'

/** Processor time, so that no file fails because the machine is busy. */
const READ_MS_MAX = 10 * SECOND_MS
/** The process has a low priority, so it mostly waits while all processors are busy. */
const WALL_FACTOR = 6
const READ_MEMORY_MIB_MAX = 256
/** The remaining memory is for the program and for file contents outside the heap. */
const READ_HEAP_MIB_MAX = 160
const READS_WAITING_MAX = 100
const READ_WAIT_MS_MAX = 30 * SECOND_MS
const START_MS_MAX = 60 * SECOND_MS
/** A process that used more is replaced, so that the next file can use all memory. */
const KEPT_MEMORY_MIB_MAX = 160
/** An idle process is ended after this time to free its memory. */
const IDLE_MS = 30 * SECOND_MS

export type FileRequest = NamedFile
export type FileAnswer = { readonly text: FileText; readonly usedMib: number }

export type FileReader = {
  /** Callers with different keys take turns. Rejects only with `service_unavailable`. */
  read(file: NamedFile, options: { key: string }): Promise<FileText>
  readonly readsImages: boolean
  /** Files that could not be read are read again when the reader's name changes. */
  readonly name: string
  close(): Promise<void>
}

type Options = {
  readonly log?: Log
  /** Null if Tesseract is not installed. */
  readonly images?: ImageReader | null
  readonly timeoutMs?: number
  readonly memoryMib?: number
}

/** Starts no process before the first file. */
export function openFileReader(options: Options = {}): FileReader {
  return new ProcessReader(options)
}

/** Must be raised when more kinds of files can be read. */
const VERSION = '2'

class ProcessReader implements FileReader {
  readonly #log: Log
  readonly #images: ImageReader | null
  readonly #timeoutMs: number
  readonly #memoryMib: number
  readonly #closing = new AbortController()
  readonly #slots: Semaphore
  #worker: GuardedWorker<FileRequest, FileAnswer> | null = null
  #idle: NodeJS.Timeout | undefined

  constructor({
    log = silentLog,
    images = null,
    timeoutMs = READ_MS_MAX,
    memoryMib = READ_MEMORY_MIB_MAX,
  }: Options) {
    this.#log = log
    this.#images = images
    this.#timeoutMs = timeoutMs
    this.#memoryMib = memoryMib
    this.#slots = new Semaphore({
      limit: 1,
      waitingMax: READS_WAITING_MAX,
      waitMsMax: READ_WAIT_MS_MAX,
      refuse: (why) =>
        unavailable(
          why === 'aborted' ? 'The service is closing.' : 'Too many files wait to be read.',
        ),
    })
  }

  get readsImages(): boolean {
    return this.#images !== null
  }

  get name(): string {
    return this.readsImages ? `${VERSION}+ocr` : VERSION
  }

  read(file: NamedFile, { key }: { key: string }): Promise<FileText> {
    return this.#slots.run({ key, signal: this.#closing.signal }, () => this.#readNow(file))
  }

  async close(): Promise<void> {
    this.#closing.abort()
    clearTimeout(this.#idle)
    await Promise.all([this.#worker?.close(), this.#images?.close()])
  }

  async #readNow(file: NamedFile): Promise<FileText> {
    if (file.content.length > FILE_BYTES_MAX) return tooLarge()
    const kind = kindOfFile(file)
    if (kind === 'other') return unreadText('unsupported', UNKNOWN_KIND)
    if (kind === 'image') {
      const text = await this.#images?.read(file.content)
      if (this.#closing.signal.aborted) throw unavailable('The service is closing.')
      return text ?? unreadText('unsupported', NO_OCR)
    }
    let outcome = await this.#run(file)
    // Another process killed it, perhaps before it had the file, so the file is read once more.
    if (outcome.kind === 'died' && outcome.cause === 'SIGKILL') outcome = await this.#run(file)
    return outcome.kind === 'answered' ? outcome.answer.text : this.#explain(file, outcome)
  }

  async #run(file: NamedFile): Promise<WorkOutcome<FileAnswer>> {
    clearTimeout(this.#idle)
    const worker = this.#worker?.isAlive === true ? this.#worker : this.#start()
    this.#worker = worker
    const outcome = await worker.run(file, this.#timeoutMs)
    if (this.#closing.signal.aborted) throw unavailable('The service is closing.')
    if (!worker.isReady) throw unavailable('The process that reads files did not start.')
    this.#idle = setTimeout(() => void worker.close(), IDLE_MS)
    this.#idle.unref()
    const usedMib = outcome.kind === 'answered' ? outcome.answer.usedMib : 0
    if (usedMib > KEPT_MEMORY_MIB_MAX) await worker.close()
    return outcome
  }

  #start(): GuardedWorker<FileRequest, FileAnswer> {
    const host = openProcessHost<FileRequest>(new URL('./file-reader-entry.ts', import.meta.url), {
      heapMib: READ_HEAP_MIB_MAX,
      memoryMib: this.#memoryMib,
    })
    return new GuardedWorker(host, { startMsMax: START_MS_MAX, wallFactor: WALL_FACTOR })
  }

  #explain(
    { content }: NamedFile,
    outcome: Exclude<WorkOutcome<FileAnswer>, { kind: 'answered' }>,
  ): FileText {
    const cause = outcome.kind === 'died' ? outcome.cause : undefined
    this.#log.warn(
      { outcome: outcome.kind, sizeBytes: content.length, cause },
      'a file could not be read, or took too much time or memory',
    )
    if (outcome.kind === 'timed-out') {
      const seconds = this.#timeoutMs / SECOND_MS
      return {
        ...unreadText('failed', `Reading it takes more than ${seconds} seconds.`),
        mayPass: true,
      }
    }
    // V8 ends the process by a signal when its heap is full.
    const isMemory = cause === MEMORY_EXCEEDED || cause === 'SIGABRT' || cause === 'SIGTRAP'
    return unreadText(
      'failed',
      isMemory
        ? `Reading it takes more than ${this.#memoryMib} MiB of memory.`
        : 'The program that reads it has failed.',
    )
  }
}

const NO_OCR = 'It is an image, and this service does not read images.'

function unavailable(message: string): AppError {
  return new AppError('service_unavailable', message)
}

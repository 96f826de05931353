// The writer thread of SQLite. It runs transactions by name, in order of arrival for each thread,
// and commits all waiting ones together.

import { closeSync, fsyncSync, openSync, rmSync, statfsSync, statSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import { systemClock } from '#platform/clock.ts'
import type { AnyTransaction, Tx } from './db.ts'
import {
  BUSY_TIMEOUT_MS,
  DATABASE_PAGE_BYTES,
  openSqliteConnection,
  queriesOn,
  type SqliteConnection,
} from './sqlite-connection.ts'
import { asStorageError, type Failure, toFailure } from './storage-error.ts'
import { openUnusedBytesPass, type UnusedBytesPass } from './unused-bytes.ts'

export const COMMIT_GROUP_MAX = 100
/** Pause in which the callers of the last commit write again, for fewer and larger commits. */
const COMMIT_PAUSE_MS = 0.5
const COMMIT_PAUSE_GROUP_MIN = 3
/** 16 MiB, or less on a small disk. */
const LOG_PAGES_MAX = 2_000

export type WriteRequest = { id: number; name: string; input: unknown; traceParent?: string }

type WriteAnswer = { id: number; value: unknown } | { id: number; failure: Failure }

type PortRequest = WriteRequest & { readonly port: MessagePort }
type Outcome = { readonly request: PortRequest } & ({ value: unknown } | { failure: Failure })

/** Only one of the threads that shared a commit gets the report. */
export type GroupReport = {
  answers: WriteAnswer[]
  commit: { groupSize: number; durationMs: number } | null
}

export type WriterMessage =
  | WriteRequest[]
  | { connect: MessagePort }
  | { overwrite: number }
  | 'close'

type WriterOptions<Schema> = {
  path: string
  /** The database file, open for writing until the process has closed its last connection. */
  file: number
  port: MessagePort
  transactions: ReadonlyMap<string, AnyTransaction<Schema>>
  reservePath: string | null
}

/** Delay before the next try to empty the log, after a reader prevented it. */
const ERASE_RETRY_MS = 250

/** Never changes, so that waiting for a change means sleeping. */
const PAUSE = new Int32Array(new SharedArrayBuffer(4))

/** Serves the port until it is closed. Posts `'ready'` first. */
export function runSqliteWriter<Schema>(options: WriterOptions<Schema>): void {
  const { transactions } = options
  const connection = openSqliteConnection({ path: options.path, mode: 'write' })
  // On a small disk the log is kept small, because the reserve must be able to hold it.
  const logPages = Math.floor(logBytesMax(options.path) / DATABASE_PAGE_BYTES)
  const checkpointPages = Math.min(LOG_PAGES_MAX, logPages)
  connection.exec(`PRAGMA wal_autocheckpoint = ${checkpointPages}`)
  const tx: Tx<Schema> = { engine: 'sqlite', ...queriesOn<Schema>(connection) }
  const reserve = options.reservePath === null ? NO_RESERVE : openDiskReserve(options.reservePath)
  const ports = new Ports()
  const overwriting = new Overwriting({ ...options, connection, checkpointPages })
  const store = { connection, tx, reserve, nextRestoreMs: 0 }
  const writer: Writer<Schema> = { transactions, ...store, overwriting }
  let isRunning = false
  let isClosing = false
  /** Deleted data may still be in the log. */
  let mustErase = false
  let eraseTimer: NodeJS.Timeout | undefined
  const end = () => {
    clearTimeout(eraseTimer)
    overwriting.close()
    connection.close()
    ports.close()
  }

  const drain = async () => {
    if (isRunning) return
    isRunning = true
    for (let group = ports.takeGroup(); group.length > 0; group = ports.takeGroup()) {
      const startMs = systemClock.monotonic()
      const answers = await commitGroup(writer, group)
      const durationMs = systemClock.monotonic() - startMs
      ports.report(answers, { groupSize: group.length, durationMs })
      if (group.length >= COMMIT_PAUSE_GROUP_MIN) Atomics.wait(PAUSE, 0, 0, COMMIT_PAUSE_MS)
      ports.takeWaiting()
      mustErase ||= group.some(({ name }) => transactions.get(name)?.erasing)
    }
    // An overwriting pass reads the log before it empties it.
    if (mustErase && !overwriting.isUnderWay) {
      mustErase = !truncateLog(connection)
      clearTimeout(eraseTimer)
      if (mustErase) eraseTimer = setTimeout(() => void drain(), ERASE_RETRY_MS)
    }
    isRunning = false
    if (isClosing) end()
  }

  const serve = (port: MessagePort) => {
    ports.add(port)
    port.on('message', (message: WriterMessage) => {
      if (message === 'close') {
        isClosing = true
        if (!isRunning) end()
      } else if ('connect' in message) serve(message.connect)
      else if ('overwrite' in message) {
        overwriting.ask(port, message.overwrite, {
          isBusy: () => isRunning,
          onDone: () => void drain(),
        })
      } else {
        ports.enqueue(port, message)
        void drain()
      }
    })
  }
  serve(options.port)
  options.port.postMessage('ready')
}

/** Rest between overwriting steps, as a multiple of the last step's duration. */
const OVERWRITE_REST_FACTOR = 3
const OVERWRITE_REST_MS_MIN = 1
const OVERWRITE_RETRY_MS = 50

/** Requests during a pass are answered at its end. */
class Overwriting {
  readonly #options: OverwriteTarget
  readonly #asked: { port: MessagePort; id: number }[] = []
  #pass: UnusedBytesPass | null = null
  #timer: NodeJS.Timeout | undefined

  constructor(options: OverwriteTarget) {
    this.#options = options
  }

  get isUnderWay(): boolean {
    return this.#pass !== null
  }

  ask(port: MessagePort, id: number, turn: OverwriteTurn): void {
    this.#asked.push({ port, id })
    if (this.#pass !== null) return
    const { connection } = this.#options
    // The steps empty the log; an automatic checkpoint could restart it before a step has read it.
    connection.exec('PRAGMA wal_autocheckpoint = 0')
    this.#pass = openUnusedBytesPass({ ...this.#options, emptyLog: () => truncateLog(connection) })
    this.#next(0, turn)
  }

  beginAgain(): void {
    this.#pass?.beginAgain()
  }

  close(): void {
    clearTimeout(this.#timer)
  }

  #next(delayMs: number, turn: OverwriteTurn): void {
    this.#timer = setTimeout(() => this.#step(turn), delayMs)
  }

  #step(turn: OverwriteTurn): void {
    if (this.#pass === null) return
    if (turn.isBusy()) {
      this.#next(OVERWRITE_REST_MS_MIN, turn)
      return
    }
    const startMs = systemClock.monotonic()
    try {
      const outcome = this.#pass.step()
      const tookMs = systemClock.monotonic() - startMs
      if (outcome === 'done') this.#end({ value: null }, turn)
      else if (outcome === 'blocked') this.#next(OVERWRITE_RETRY_MS, turn)
      else this.#next(Math.max(OVERWRITE_REST_MS_MIN, tookMs * OVERWRITE_REST_FACTOR), turn)
    } catch (error) {
      this.#end({ failure: toFailure(error) }, turn)
    }
  }

  #end(answer: { value: null } | { failure: Failure }, turn: OverwriteTurn): void {
    this.#pass = null
    const { connection, checkpointPages } = this.#options
    connection.exec(`PRAGMA wal_autocheckpoint = ${checkpointPages}`)
    for (const { port, id } of this.#asked.splice(0)) {
      port.postMessage({ answers: [{ id, ...answer }], commit: null } satisfies GroupReport)
    }
    turn.onDone()
  }
}

type OverwriteTarget = {
  connection: SqliteConnection
  path: string
  file: number
  checkpointPages: number
}

type OverwriteTurn = { isBusy(): boolean; onDone(): void }

/** Each thread has its own queue, so that none is delayed by a burst of another. */
class Ports {
  readonly #queues = new Map<MessagePort, PortRequest[]>()

  add(port: MessagePort): void {
    this.#queues.set(port, [])
    // The thread has ended. Its uncommitted writes were not acknowledged.
    port.on('close', () => this.#queues.delete(port))
  }

  enqueue(port: MessagePort, requests: readonly WriteRequest[]): void {
    this.#queues.get(port)?.push(...requests.map((request) => ({ ...request, port })))
  }

  takeGroup(): PortRequest[] {
    const waiting = [...this.#queues].filter(([, queue]) => queue.length > 0)
    // The shortest queue comes first, because it may leave part of its share to the others.
    waiting.sort(([, one], [, other]) => one.length - other.length)
    const group: PortRequest[] = []
    for (const [index, [, queue]] of waiting.entries()) {
      const share = Math.ceil((COMMIT_GROUP_MAX - group.length) / (waiting.length - index))
      group.push(...queue.splice(0, share))
    }
    return group
  }

  /** Takes requests that arrived during the last commit, without returning to the event loop. */
  takeWaiting(): void {
    for (const port of this.#queues.keys()) {
      for (;;) {
        const waiting = receiveMessageOnPort(port)
        if (waiting === undefined) break
        if (Array.isArray(waiting.message)) this.enqueue(port, waiting.message)
        else port.emit('message', waiting.message)
      }
    }
  }

  report(outcomes: readonly Outcome[], commit: GroupReport['commit']): void {
    let reported = commit
    for (const [port, own] of Map.groupBy(outcomes, ({ request }) => request.port)) {
      const answers = own.map(({ request: { id }, ...outcome }) => ({ id, ...outcome }))
      port.postMessage({ answers, commit: reported } satisfies GroupReport)
      reported = null
    }
  }

  close(): void {
    for (const port of this.#queues.keys()) port.close()
  }
}

/** Returns false if a reader or a full disk prevents it. */
function truncateLog(connection: SqliteConnection): boolean {
  connection.exec('PRAGMA busy_timeout = 0')
  try {
    const [outcome] = connection.rows('PRAGMA wal_checkpoint(TRUNCATE)')
    return outcome?.busy === 0
  } catch (error) {
    if (asStorageError(error) === null) throw error
    return false
  } finally {
    connection.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
  }
}

type Writer<Schema> = {
  transactions: ReadonlyMap<string, AnyTransaction<Schema>>
  connection: SqliteConnection
  tx: Tx<Schema>
  reserve: ReturnType<typeof openDiskReserve>
  nextRestoreMs: number
  overwriting: Overwriting
}

async function commitGroup<Schema>(
  writer: Writer<Schema>,
  group: PortRequest[],
): Promise<Outcome[]> {
  const refused: Outcome[] = []
  let admitted = group
  if (!isReserveWhole(writer)) {
    admitted = group.filter((request) => isEssential(writer, request))
    for (const request of group) {
      if (!isEssential(writer, request)) refused.push(failureOf(request, DISK_FULL))
    }
    if (admitted.length === 0) return refused
  }
  const answers = await tryTogether(writer, admitted)
  if (answers !== null) return [...answers, ...refused]
  // One request failed and all were rolled back; running each alone shows which.
  for (const request of admitted) refused.push(await runAlone(writer, request))
  return refused
}

function isEssential<Schema>({ transactions }: Writer<Schema>, { name }: PortRequest): boolean {
  return transactions.get(name)?.essential ?? false
}

const DISK_FULL: Failure = { kind: 'full', message: 'database or disk is full' }

function isReserveWhole<Schema>(writer: Writer<Schema>): boolean {
  if (writer.reserve.isWhole) return true
  const nowMs = systemClock.monotonic()
  if (nowMs < writer.nextRestoreMs) return false
  writer.nextRestoreMs = nowMs + 500
  return writer.reserve.restore()
}

async function runAlone<Schema>(writer: Writer<Schema>, request: PortRequest): Promise<Outcome> {
  let outcome = await tryOne(writer, request)
  if (outcome.isFull && isEssential(writer, request)) {
    writer.reserve.giveUp()
    truncateLog(writer.connection)
    outcome = await tryOne(writer, request)
  }
  if (outcome.isFull && isEssential(writer, request)) {
    // Overwriting deleted content needs as much space in the log. Freeing space comes first, and
    // freed pages are overwritten when they are reused.
    writer.connection.exec('PRAGMA secure_delete = FAST')
    outcome = await tryOne(writer, request)
    writer.connection.exec('PRAGMA secure_delete = ON')
    writer.overwriting.beginAgain()
  }
  return outcome.answer
}

async function tryOne<Schema>(writer: Writer<Schema>, request: PortRequest) {
  try {
    const answers = await inTransaction(writer, [request])
    return { answer: answers[0] as Outcome, isFull: false }
  } catch (error) {
    const failure = toFailure(error)
    return { answer: failureOf(request, failure), isFull: failure.kind === 'full' }
  }
}

async function tryTogether<Schema>(
  writer: Writer<Schema>,
  group: PortRequest[],
): Promise<Outcome[] | null> {
  try {
    return await inTransaction(writer, group)
  } catch (error) {
    const failure = toFailure(error)
    // A busy database would be busy for each request, and each would wait for the timeout.
    if (failure.kind === 'busy') return group.map((request) => failureOf(request, failure))
    return null
  }
}

async function inTransaction<Schema>(
  writer: Writer<Schema>,
  group: PortRequest[],
): Promise<Outcome[]> {
  const { connection } = writer
  const answers: Outcome[] = []
  connection.run('BEGIN IMMEDIATE')
  try {
    while (answers.length < group.length) {
      answers.push(...(await runNext(writer, group.slice(answers.length))))
    }
    connection.run('COMMIT')
    return answers
  } catch (error) {
    if (connection.isInTransaction) connection.run('ROLLBACK')
    throw error
  }
}

/** Runs the first request, together with the following requests that share its statements. */
async function runNext<Schema>(
  { tx, transactions }: Writer<Schema>,
  requests: PortRequest[],
): Promise<Outcome[]> {
  const [first] = requests
  const transaction = transactions.get(first?.name ?? '')
  if (first === undefined || transaction === undefined) {
    throw new Error(`No transaction is named ${first?.name}`)
  }
  const { name, group: form } = transaction
  const own = requests.findIndex(
    (one) => one.name !== name || form === null || form.sizeOf(one.input as never) === null,
  )
  const sharing = requests.slice(0, own < 0 ? requests.length : own)
  if (form !== null && sharing.length > 1) {
    const values = await form.run(tx, sharing as never)
    return sharing.map((request, index) => ({ request, value: values[index] }))
  }
  const { traceParent } = first
  const traced = traceParent === undefined ? tx : { ...tx, traceParent }
  return [{ request: first, value: await transaction.run(traced, first.input as never) }]
}

function failureOf(request: PortRequest, failure: Failure): Outcome {
  return { request, failure }
}

/** Size of a file that is deleted when the disk is full, because deleting mail needs space. */
const RESERVE_BYTES = 16 * 1024 * 1024

type DiskReserve = {
  readonly isWhole: boolean
  giveUp(): void
  /** Returns whether the file is complete. Needs free space of twice the file's size. */
  restore(): boolean
}

const NO_RESERVE: DiskReserve = { isWhole: true, giveUp: () => {}, restore: () => true }

function openDiskReserve(path: string): DiskReserve {
  const wantedBytes = reserveBytes(path)
  let isWhole = heldBytes(path) >= wantedBytes
  const restore = () => {
    if (isWhole) return true
    try {
      if (freeBytes(path) < 2 * wantedBytes) return false
      const file = openSync(path, 'w')
      try {
        writeSync(file, Buffer.alloc(wantedBytes))
        fsyncSync(file)
      } finally {
        closeSync(file)
      }
      isWhole = true
    } catch {
      rmSync(path, { force: true })
    }
    return isWhole
  }
  restore()
  return {
    get isWhole() {
      return isWhole
    },
    giveUp() {
      rmSync(path, { force: true })
      isWhole = false
    },
    restore,
  }
}

/** A service that cannot open its database on a full disk could not delete anything. */
export function giveUpReserveOnFullDisk(path: string): void {
  if (freeBytes(path) < reserveBytes(path) / 4) rmSync(path, { force: true })
}

function logBytesMax(path: string): number {
  return diskBytes(path) / 16
}

function reserveBytes(path: string): number {
  return Math.min(RESERVE_BYTES, Math.floor(diskBytes(path) / 8))
}

function heldBytes(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

function freeBytes(path: string): number {
  const { bavail, bsize } = statfsSync(dirname(path))
  return bavail * bsize
}

function diskBytes(path: string): number {
  const { blocks, bsize } = statfsSync(dirname(path))
  return blocks * bsize
}

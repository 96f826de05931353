// SQLite behind the database port, with a thread that writes and one for long reads.

import { once } from 'node:events'
import { closeSync, existsSync, openSync, rmSync } from 'node:fs'
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads'
import type { Db, DbObserver, Reading, ReadingDb } from './db.ts'
import {
  type AppliedMigration,
  MIGRATIONS_TABLE,
  type Migration,
  type MigrationPlan,
  type MigrationTarget,
  migrate,
  planMigrations,
  readMigrations,
  type SchemaState,
  toApplied,
} from './migrate.ts'
import {
  openSqliteConnection,
  queriesOn,
  type SqliteConnection,
  sqliteVersion,
} from './sqlite-connection.ts'
import { ReaderThread } from './sqlite-reader.ts'
import {
  COMMIT_GROUP_MAX,
  type GroupReport,
  giveUpReserveOnFullDisk,
  type WriteRequest,
  type WriterMessage,
} from './sqlite-writer.ts'
import { fromFailure, StorageError } from './storage-error.ts'
import { openWriteSlots } from './write-slots.ts'

type SqliteOptions = {
  path: string
  /** A module that calls `runSqliteWriter` with all transactions; its data is `WriterData`. */
  writerEntry: URL
  /** A module that calls `runSqliteReader` with all long reads; its data is `ReaderData`. */
  readerEntry: URL
  /** Null for short-lived writers; only the service manages the reserve. */
  reservePath: string | null
  observer: DbObserver
  /** Called when the reader thread ends unexpectedly. The next read starts a new thread. */
  onError(error: Error): void
  readerIdleMs?: number
}

/** Throws with the cause if the file cannot be opened. */
export async function openSqlite<Schema>(options: SqliteOptions): Promise<Db<Schema>> {
  if (options.reservePath !== null) giveUpReserveOnFullDisk(options.reservePath)
  await migrateSqlite(options.path)
  const file = openSync(options.path, 'r+')
  const writer = new WriterThread({ ...options, file })
  await writer.start()
  const reader = openSqliteConnection({ path: options.path, mode: 'read' })
  const queries = queriesOn<Schema>(reader)
  const thread = new ReaderThread(options)

  return {
    engine: 'sqlite',
    description: `SQLite ${sqliteVersion(reader)} at ${options.path}`,
    read: queries.query,
    reading: { engine: 'sqlite', ...queries },
    readLong: ({ name }, input, signal) => thread.read(name, input, signal),
    write: sharedBy(writer.writes),
    async check() {
      reader.rows('select 1 from schema_migrations limit 1')
      writer.check()
    },
    shareWriter: () => writer.share(),
    overwriteUnused: () => writer.writes.overwrite(),
    async close() {
      await thread.close()
      if (!(await writer.close())) return
      reader.close()
      closeSync(file)
    },
  }
}

/** `writer` comes from `shareWriter`. */
export function openSqliteInThread<Schema>({
  path,
  observer,
  writer,
}: Pick<SqliteOptions, 'path' | 'observer'> & { writer: MessagePort }): Db<Schema> {
  const reader = openSqliteConnection({ path, mode: 'read' })
  const queries = queriesOn<Schema>(reader)
  const reading: Reading<Schema> = {
    read: queries.query,
    reading: { engine: 'sqlite', ...queries },
  }
  const writes = new PortWrites(observer)
  let connected: MessagePort | null = null
  writer.on('message', (port: MessagePort) => {
    // The writer has restarted, so writes sent to the previous port get no answer.
    connected?.close()
    if (connected !== null) writes.lose()
    connected = port
    port.on('close', () => connected === port && writes.lose())
    writes.open(port)
  })
  return {
    engine: 'sqlite',
    description: `SQLite ${sqliteVersion(reader)} at ${path}`,
    ...reading,
    readLong: (read, input, signal) => read.run(reading, input, signal),
    write: sharedBy(writes),
    async check() {
      reader.rows('select 1 from schema_migrations limit 1')
    },
    async close() {
      writer.close()
      await writes.close()
      connected?.close()
      reader.close()
    },
  }
}

export function openSqliteToRead<Schema>(path: string): ReadingDb<Schema> {
  const reader = openSqliteConnection({ path, mode: 'look' })
  const queries = queriesOn<Schema>(reader)
  return {
    read: queries.query,
    reading: { engine: 'sqlite', ...queries },
    close: async () => reader.close(),
  }
}

/** Creates the file if it is absent. Returns the names of the applied migrations. */
export async function migrateSqlite(
  path: string,
  migrations: readonly Migration[] = readMigrations('sqlite'),
): Promise<string[]> {
  // Opening for writing changes the file, even if it is then refused.
  const { refusal } = existsSync(path) ? planOf(path, migrations) : { refusal: null }
  if (refusal !== null) throw new Error(refusal)
  const connection = openSqliteConnection({ path, mode: 'write' })
  try {
    const ran = await migrate(migrationTarget(connection), migrations)
    return ran.map((migration) => migration.name)
  } finally {
    connection.close()
  }
}

export function inspectSqlite(path: string): SchemaState {
  return { plan: planOf(path, readMigrations('sqlite')), others: null, aheadMs: null }
}

function planOf(path: string, migrations: readonly Migration[]): MigrationPlan {
  const connection = openSqliteConnection({ path, mode: 'look' })
  try {
    return planMigrations(readApplied(connection), migrations)
  } finally {
    connection.close()
  }
}

function readApplied(connection: SqliteConnection): AppliedMigration[] {
  const table = "select 1 from sqlite_schema where name = 'schema_migrations'"
  if (connection.rows(table).length === 0) return []
  return connection.rows('select * from schema_migrations order by version').map(toApplied)
}

function migrationTarget(connection: SqliteConnection): MigrationTarget {
  return {
    async applied() {
      connection.exec(MIGRATIONS_TABLE)
      return readApplied(connection)
    },
    async run({ version, name, checksum, compatibleFrom, sql }) {
      return atomically(connection, () => {
        const query = 'select 1 from schema_migrations where version = ?'
        if (connection.rows(query, version).length > 0) return false
        connection.exec(sql)
        connection.rows(
          'insert into schema_migrations (version, name, checksum, compatible_from) values (?, ?, ?, ?)',
          version,
          name,
          checksum,
          compatibleFrom,
        )
        return true
      })
    },
  }
}

function atomically(connection: SqliteConnection, run: () => boolean): boolean {
  connection.exec('BEGIN IMMEDIATE')
  try {
    const isDone = run()
    connection.exec(isDone ? 'COMMIT' : 'ROLLBACK')
    return isDone
  } catch (error) {
    if (connection.isInTransaction) connection.exec('ROLLBACK')
    throw error
  }
}

export type WriterData = { path: string; file: number; reservePath: string | null }

type WriterThreadOptions = WriterData & { writerEntry: URL; observer: DbObserver }

type Waiting = {
  resolve: (value: never) => void
  reject: (error: Error) => void
}

class PortWrites {
  readonly #observer: DbObserver
  readonly #waiting = new Map<number, Waiting>()
  readonly #overwrites = new Set<number>()
  #port: Pick<MessagePort, 'postMessage'> | null = null
  #outbox: WriteRequest[] = []
  #lastId = 0
  #isClosed = false
  #onIdle: (() => void) | null = null

  constructor(observer: DbObserver) {
    this.#observer = observer
  }

  open(port: Worker | MessagePort): void {
    this.#port = port
    port.on('message', (report: GroupReport) => this.#settle(report))
  }

  /** Rejects pending writes. Their outcome is unknown, because some may have been committed. */
  lose(reason?: unknown): void {
    this.#port = null
    this.#outbox = []
    for (const { reject } of this.#waiting.values()) reject(unavailable(reason))
    this.#waiting.clear()
    this.#overwrites.clear()
    this.#onIdle?.()
  }

  submit<Value>(name: string, input: unknown, traceParent?: string): Promise<Value> {
    if (this.#port === null || this.#isClosed) return Promise.reject(unavailable())
    return new Promise((resolve, reject) => {
      this.#lastId += 1
      const id = this.#lastId
      this.#waiting.set(id, { resolve, reject })
      this.#outbox.push({ id, name, input, ...(traceParent && { traceParent }) })
      // Wakes the writer once for all writes of this turn of the event loop.
      if (this.#outbox.length > 1) return
      if (this.#waiting.size === 1) queueMicrotask(() => this.#post())
      else setImmediate(() => this.#post())
    })
  }

  overwrite(): Promise<void> {
    const port = this.#port
    if (port === null || this.#isClosed) return Promise.reject(unavailable())
    return new Promise((resolve, reject) => {
      this.#lastId += 1
      this.#waiting.set(this.#lastId, { resolve, reject })
      this.#overwrites.add(this.#lastId)
      port.postMessage({ overwrite: this.#lastId } satisfies WriterMessage)
    })
  }

  /** Refuses new writes and waits for pending ones. An overwriting pass is abandoned. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const id of this.#overwrites) {
      this.#waiting.get(id)?.reject(unavailable())
      this.#waiting.delete(id)
    }
    if (this.#waiting.size === 0) return
    await new Promise<void>((resolve) => {
      this.#onIdle = resolve
    })
  }

  #post(): void {
    const requests = this.#outbox
    this.#outbox = []
    this.#port?.postMessage(requests)
  }

  #settle({ answers, commit }: GroupReport): void {
    for (const answer of answers) {
      const entry = this.#waiting.get(answer.id)
      this.#waiting.delete(answer.id)
      this.#overwrites.delete(answer.id)
      if ('failure' in answer) entry?.reject(fromFailure(answer.failure))
      else entry?.resolve(answer.value as never)
    }
    if (commit !== null) this.#observer.committed(commit.groupSize, commit.durationMs)
    if (this.#waiting.size === 0) this.#onIdle?.()
  }
}

/** One account can fill the next commit, but then leaves one commit to other accounts. */
function sharedBy<Schema>(writes: PortWrites): Db<Schema>['write'] {
  const limit = 4 * COMMIT_GROUP_MAX
  const limitPerKey = limit - COMMIT_GROUP_MAX
  const slots = openWriteSlots({ limit, limitPerKey, waitMsMax: null })
  return ({ name, accountOf }, input, traceParent) =>
    slots.run({ key: accountOf(input) ?? '' }, () => writes.submit(name, input, traceParent))
}

const RESTART_MS = 500

class WriterThread {
  readonly writes: PortWrites
  readonly #options: WriterThreadOptions
  readonly #sharers = new Set<MessagePort>()
  #worker: Worker | null = null
  #closing: Promise<boolean> | null = null

  constructor(options: WriterThreadOptions) {
    this.#options = options
    this.writes = new PortWrites(options.observer)
  }

  /** Resolves once the thread has opened the database; rejects with the reason if it cannot. */
  async start(): Promise<void> {
    const { path, file, reservePath, writerEntry } = this.#options
    const worker = new Worker(writerEntry, {
      workerData: { path, file, reservePath } satisfies WriterData,
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
    this.writes.open(worker)
    for (const sharer of this.#sharers) connect(sharer, worker)
    worker.on('exit', () => this.#end(reason))
  }

  check(): void {
    if (this.#worker === null) throw unavailable()
  }

  share(): MessagePort {
    const { port1: sharer, port2 } = new MessageChannel()
    this.#sharers.add(sharer)
    sharer.on('close', () => this.#sharers.delete(sharer))
    if (this.#worker !== null) connect(sharer, this.#worker)
    return port2
  }

  /** Waits for pending writes, then ends the thread. A repeated call returns false. */
  close(): Promise<boolean> {
    if (this.#closing !== null) return this.#closing.then(() => false)
    this.#closing = this.#finish()
    return this.#closing
  }

  async #finish(): Promise<boolean> {
    await this.writes.close()
    if (this.#worker !== null) {
      this.#worker.postMessage('close' satisfies WriterMessage)
      await once(this.#worker, 'exit')
    }
    return true
  }

  #end(reason: unknown): void {
    this.#worker = null
    this.writes.lose(reason)
    if (this.#closing === null) this.#restart()
  }

  #restart(): void {
    const timer = setTimeout(() => {
      if (this.#closing === null) this.start().catch(() => this.#restart())
    }, RESTART_MS)
    timer.unref()
  }
}

function connect(sharer: MessagePort, worker: Worker): void {
  const { port1, port2 } = new MessageChannel()
  worker.postMessage({ connect: port1 } satisfies WriterMessage, [port1])
  sharer.postMessage(port2, [port2])
}

function unavailable(cause?: unknown): StorageError {
  return new StorageError('unavailable', 'The writer thread is not running.', cause)
}

/** Returns the ids of the raw messages whose bytes are in the blob store. Replaces `to`. */
export function backUpSqlite(files: { from: string; to: string }): string[] {
  rmSync(files.to, { force: true })
  const source = openSqliteConnection({ path: files.from, mode: 'read' })
  try {
    source.rows('vacuum into ?', files.to)
  } finally {
    source.close()
  }
  const copy = openSqliteConnection({ path: files.to, mode: 'read' })
  try {
    const rows = copy.rows('select id from raw_messages where content is null')
    return rows.map((row) => String(row.id))
  } finally {
    copy.close()
  }
}

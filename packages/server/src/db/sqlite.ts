// The embedded engine behind the database port: reads here, writes by name in the writer thread.

import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { WRITE_QUEUE_MAX } from '#base/limits.ts'
import type { Db, DbObserver, TransactionTable } from './db.ts'
import { MIGRATIONS_TABLE, type MigrationTarget, migrate, readMigrations } from './migrate.ts'
import { kyselyOn, openSqliteConnection, sqliteVersion } from './sqlite-connection.ts'
import type { GroupReport, WriteRequest } from './sqlite-writer.ts'
import { StorageError } from './storage-error.ts'

export type SqliteOptions = {
  path: string
  /** Module that runs `runSqliteWriter` with the transactions; it is given `workerData`. */
  writerEntry: URL
  /** Null for short-lived writers, which leave the reserve to the service. */
  reservePath: string | null
  observer: DbObserver
}

export type WriterData = { path: string; reservePath: string | null }

type Waiting = { resolve: (value: never) => void; reject: (error: Error) => void }

/** Opens, migrates and serves the database file. Throws with the cause when it cannot be opened. */
export async function openSqlite<Schema, Table extends TransactionTable<Schema>>(
  options: SqliteOptions,
): Promise<Db<Schema, Table>> {
  await migrateSqlite(options.path)
  const writer = await startWriter(options)
  const reader = openSqliteConnection({ path: options.path, mode: 'read' })
  const read = kyselyOn<Schema>(reader)

  return {
    engine: 'sqlite',
    description: `SQLite ${sqliteVersion(reader)} at ${options.path}`,
    read,
    write: (name, input) => writer.submit(name, input),
    async check() {
      reader.rows('select 1 from schema_migrations limit 1')
      if (writer.hasFailed()) throw new StorageError('unavailable', 'The writer thread has ended.')
    },
    async close() {
      if (await writer.close()) reader.close()
    },
  }
}

/** Applies missing migrations to a database file, creating it when absent; returns their names. */
export async function migrateSqlite(path: string): Promise<string[]> {
  const connection = openSqliteConnection({ path, mode: 'write' })
  const target: MigrationTarget = {
    async applied() {
      connection.exec(MIGRATIONS_TABLE)
      const rows = connection.rows('select version, checksum from schema_migrations')
      return rows as { version: number; checksum: string }[]
    },
    async run({ version, name, checksum, sql }) {
      connection.exec('BEGIN IMMEDIATE')
      try {
        connection.exec(sql)
        connection.rows(
          'insert into schema_migrations (version, name, checksum) values (?, ?, ?)',
          version,
          name,
          checksum,
        )
        connection.exec('COMMIT')
      } catch (error) {
        if (connection.isInTransaction) connection.exec('ROLLBACK')
        throw error
      }
    },
  }
  try {
    return (await migrate(target, readMigrations('sqlite'))).map((migration) => migration.name)
  } finally {
    connection.close()
  }
}

async function startWriter(options: SqliteOptions) {
  const { path, reservePath, observer } = options
  const worker = new Worker(options.writerEntry, {
    workerData: { path, reservePath } satisfies WriterData,
  })
  const waiting = new Map<number, Waiting>()
  let outbox: WriteRequest[] = []
  let nextId = 1
  let failure: Error | null = null
  let closing: Promise<boolean> | null = null
  let onIdle: (() => void) | null = null

  const failAll = (error: Error) => {
    failure = error
    for (const { reject } of waiting.values()) reject(error)
    waiting.clear()
    onIdle?.()
  }
  worker.on('error', (error) => failAll(new StorageError('unavailable', error.message, error)))
  worker.on('exit', () => failAll(new StorageError('unavailable', 'The writer thread has ended.')))
  const [first] = await Promise.race([
    once(worker, 'message'),
    once(worker, 'exit').then(() => ['exited']),
  ])
  if (first !== 'ready') throw failure ?? new Error('The writer thread did not start.')

  worker.on('message', (report: GroupReport | 'closed') => {
    if (report === 'closed') return
    for (const answer of report.answers) {
      const entry = waiting.get(answer.id)
      waiting.delete(answer.id)
      if ('failure' in answer) entry?.reject(asError(answer.failure))
      else entry?.resolve(answer.value as never)
    }
    observer.committed(report.groupSize, report.durationMs)
    observer.queued(waiting.size)
    if (waiting.size === 0) onIdle?.()
  })

  return {
    hasFailed: () => failure !== null,
    submit<Value>(name: string, input: unknown): Promise<Value> {
      if (failure !== null) return Promise.reject(failure)
      if (waiting.size >= WRITE_QUEUE_MAX) {
        return Promise.reject(new StorageError('busy', 'Too many writes are waiting.'))
      }
      return new Promise((resolve, reject) => {
        const id = nextId++
        waiting.set(id, { resolve, reject })
        outbox.push({ id, name, input })
        // One wake-up of the writer for everything that this turn of the event loop has to write.
        if (outbox.length === 1) {
          setImmediate(() => {
            const requests = outbox
            outbox = []
            worker.postMessage(requests)
          })
        }
      })
    },
    /** Resolves to false when it was closed before. */
    close(): Promise<boolean> {
      if (closing !== null) return closing.then(() => false)
      closing = (async () => {
        if (waiting.size > 0) await new Promise<void>((resolve) => (onIdle = resolve))
        if (failure === null) {
          worker.postMessage('close')
          await once(worker, 'exit')
        }
        return true
      })()
      return closing
    },
  }
}

function asError(failure: { kind: string; message: string; stack?: string }): Error {
  if (failure.kind === 'full' || failure.kind === 'busy' || failure.kind === 'unavailable') {
    return new StorageError(failure.kind, failure.message)
  }
  const error = new Error(failure.message)
  if (failure.stack !== undefined) error.stack = failure.stack
  return error
}

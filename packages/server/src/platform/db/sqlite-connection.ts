// One connection to the embedded database. This is the only file that uses `node:sqlite`.

import { existsSync } from 'node:fs'
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { Kysely, type LimitNode, SqliteDialect, SqliteQueryCompiler, ValueNode } from 'kysely'
import { SECOND_MS } from '#platform/units.ts'
import type { RunSql } from './db.ts'
import { asStorageError } from './storage-error.ts'

export const BUSY_TIMEOUT_MS = 2 * SECOND_MS
/** A page of 8 KiB holds three messages of 2 KiB, a page of 4 KiB only one. */
export const DATABASE_PAGE_BYTES = 8 * 1024

export type SqliteConnection = {
  exec(sql: string): void
  run(sql: string): void
  rows(sql: string, ...parameters: SQLInputValue[]): Record<string, unknown>[]
  readonly isInTransaction: boolean
  close(): void
  readonly raw: DatabaseSync
}

type SqliteConnectionOptions = {
  path: string
  /**
   * `bare` opens for writing but leaves the file alone; `look` reads and leaves no files behind.
   */
  mode: 'read' | 'write' | 'bare' | 'look'
  busyTimeoutMs?: number
}

/**
 * WAL with `synchronous=FULL` syncs the log before a commit returns. `secure_delete` overwrites
 * deleted mail.
 */
export function openSqliteConnection(options: SqliteConnectionOptions): SqliteConnection {
  const raw = new DatabaseSync(options.mode === 'look' ? urlToRead(options.path) : options.path, {
    readOnly: options.mode === 'read' || options.mode === 'look',
    timeout: options.busyTimeoutMs ?? BUSY_TIMEOUT_MS,
  })
  // These pragmas read the file, which may be locked.
  if (options.mode !== 'bare') raw.exec('PRAGMA temp_store = MEMORY; PRAGMA cache_size = -32768;')
  if (options.mode === 'write') {
    raw.exec(`PRAGMA page_size = ${DATABASE_PAGE_BYTES}; PRAGMA journal_mode = WAL;`)
    raw.exec('PRAGMA synchronous = FULL; PRAGMA secure_delete = ON;')
  }
  const prepared = new Map<string, StatementSync>()
  return {
    raw,
    run(sql) {
      const statement = prepared.get(sql) ?? raw.prepare(sql)
      prepared.set(sql, statement)
      statement.run()
    },
    exec: (sql) => raw.exec(sql),
    rows: (sql, ...parameters) => raw.prepare(sql).all(...parameters),
    get isInTransaction() {
      return raw.isTransaction
    },
    close: () => raw.close(),
  }
}

/**
 * SQLite creates a log even for reading, and a reader does not remove it. Without a log, the file
 * alone is complete.
 */
function urlToRead(path: string): string | URL {
  if (existsSync(`${path}-wal`)) return path
  const url = pathToFileURL(path)
  url.searchParams.set('immutable', '1')
  return url
}

export function sqliteVersion(connection: SqliteConnection): string {
  return String(connection.rows('select sqlite_version() as version')[0]?.version)
}

export function queriesOn<Schema>(connection: SqliteConnection): {
  query: Kysely<Schema>
  runSql: RunSql
} {
  const prepared = new Map<string, ReturnType<typeof adapt>>()
  const prepare = (sql: string) => {
    let statement = prepared.get(sql)
    if (statement === undefined) {
      // Lists of varying length produce ever new texts, so the cache needs a bound.
      if (prepared.size >= PREPARED_MAX) prepared.clear()
      statement = adapt(connection.raw.prepare(sql))
      prepared.set(sql, statement)
    }
    return statement
  }
  const database = { prepare, close: () => connection.close() }
  return {
    query: new Kysely<Schema>({ dialect: new Dialect({ database }) }),
    runSql(sql, parameters) {
      const statement = prepare(sql)
      if (statement.reader) return statement.all(parameters)
      statement.run(parameters)
      return []
    },
  }
}

const PREPARED_MAX = 500

class Dialect extends SqliteDialect {
  override createQueryCompiler() {
    return new Compiler()
  }
}

class Compiler extends SqliteQueryCompiler {
  /** SQLite replans a statement with a bound limit on each run. */
  protected override visitLimit(node: LimitNode): void {
    const { limit } = node
    if (ValueNode.is(limit) && typeof limit.value === 'number') this.append(`limit ${limit.value}`)
    else super.visitLimit(node)
  }
}

function adapt(statement: StatementSync) {
  const values = (parameters: readonly unknown[]) => parameters as SQLInputValue[]
  return {
    reader: statement.columns().length > 0,
    all: (parameters: readonly unknown[]) => statement.all(...values(parameters)),
    run: (parameters: readonly unknown[]) => statement.run(...values(parameters)),
    iterate: (parameters: readonly unknown[]) => statement.iterate(...values(parameters)),
  }
}

const NOT_A_DATABASE = 26

/**
 * Throws if another process holds the lock. The lock ends with the process, even after kill -9.
 * Returns a function that releases it.
 */
export function takeProcessLock(path: string): () => void {
  const connection = openSqliteConnection({ path, mode: 'bare', busyTimeoutMs: 0 })
  try {
    // The lock must work on a full disk, where a journal could not be written.
    connection.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
  } catch (error) {
    connection.close()
    if (error instanceof Error && 'errcode' in error && error.errcode === NOT_A_DATABASE) {
      throw new Error(
        `${path} is not the lock file of this service: something else was written to it. Make sure that no service uses this data directory, remove the file and start again.`,
        { cause: error },
      )
    }
    if (asStorageError(error)?.kind !== 'busy') throw error
    throw new Error(
      `Another process already serves this data directory (${path} is locked). Stop it first, choose another folder with MAILROOM_DATA_DIR, or use PostgreSQL to run several processes.`,
      { cause: error },
    )
  }
  return () => connection.close()
}

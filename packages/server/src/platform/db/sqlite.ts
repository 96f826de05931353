// The embedded engine behind the database port: reads here, writes by name in the writer thread.

import type { Db, DbObserver, ReadingDb } from './db.ts'
import { giveUpReserveOnFullDisk } from './disk-reserve.ts'
import { readApplied } from './inspect-schema.ts'
import {
  COMPATIBLE_COLUMN,
  MIGRATIONS_TABLE,
  type Migration,
  type MigrationTarget,
  migrate,
  readMigrations,
} from './migrate.ts'
import {
  openSqliteConnection,
  queriesOn,
  type SqliteConnection,
  sqliteVersion,
} from './sqlite-connection.ts'
import { WriterThread } from './writer-thread.ts'

export type SqliteOptions = {
  path: string
  /** Module that runs `runSqliteWriter` with the transactions; it is given `workerData`. */
  writerEntry: URL
  /** Null for short-lived writers, which leave the reserve to the service. */
  reservePath: string | null
  observer: DbObserver
}

/** Opens, migrates and serves the database file. Throws with the cause when it cannot be opened. */
export async function openSqlite<Schema>(options: SqliteOptions): Promise<Db<Schema>> {
  if (options.reservePath !== null) giveUpReserveOnFullDisk(options.reservePath)
  await migrateSqlite(options.path)
  const writer = new WriterThread(options)
  await writer.start()
  const reader = openSqliteConnection({ path: options.path, mode: 'read' })
  const queries = queriesOn<Schema>(reader)

  return {
    engine: 'sqlite',
    description: `SQLite ${sqliteVersion(reader)} at ${options.path}`,
    read: queries.query,
    reading: { engine: 'sqlite', ...queries },
    write: ({ name }, input, traceParent) => writer.submit(name, input, traceParent),
    async check() {
      reader.rows('select 1 from schema_migrations limit 1')
      writer.check()
    },
    async close() {
      if (await writer.close()) reader.close()
    },
  }
}

/** A file that is there and current, to be looked into: nothing is made, written or changed. */
export function openSqliteToRead<Schema>(path: string): ReadingDb<Schema> {
  const reader = openSqliteConnection({ path, mode: 'look' })
  const queries = queriesOn<Schema>(reader)
  return {
    read: queries.query,
    reading: { engine: 'sqlite', ...queries },
    close: async () => reader.close(),
  }
}

/**
 * Applies missing migrations to a database file, creating it when absent; returns their names. Those of
 * this program, unless others are given.
 */
export async function migrateSqlite(
  path: string,
  migrations: readonly Migration[] = readMigrations('sqlite'),
): Promise<string[]> {
  const connection = openSqliteConnection({ path, mode: 'write' })
  try {
    const ran = await migrate(migrationTarget(connection), migrations)
    return ran.map((migration) => migration.name)
  } finally {
    connection.close()
  }
}

function migrationTarget(connection: SqliteConnection): MigrationTarget {
  return {
    async applied() {
      connection.exec(MIGRATIONS_TABLE)
      const isNoted = "select 1 from pragma_table_info('schema_migrations') where name = ?"
      const prepare = () => {
        if (connection.rows(isNoted, 'compatible_from').length > 0) return false
        connection.exec(COMPATIBLE_COLUMN)
        return true
      }
      if (connection.rows(isNoted, 'compatible_from').length === 0) atomically(connection, prepare)
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

/** Commits what `run` does; where it says that there is nothing to do, or fails, nothing was done. */
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

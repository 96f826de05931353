// The embedded engine behind the database port: reads here, writes by name in the writer thread.

import type { Db, DbObserver, ReadingDb, TransactionTable } from './db.ts'
import { giveUpReserveOnFullDisk } from './disk-reserve.ts'
import { MIGRATIONS_TABLE, type MigrationTarget, migrate, readMigrations } from './migrate.ts'
import { openSqliteConnection, queriesOn, sqliteVersion } from './sqlite-connection.ts'
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
export async function openSqlite<Schema, Table extends TransactionTable<Schema>>(
  options: SqliteOptions,
): Promise<Db<Schema, Table>> {
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
    write: (name, input) => writer.submit(name, input),
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
        const query = 'select 1 from schema_migrations where version = ?'
        if (connection.rows(query, version).length > 0) {
          connection.exec('ROLLBACK')
          return false
        }
        connection.exec(sql)
        connection.rows(
          'insert into schema_migrations (version, name, checksum) values (?, ?, ?)',
          version,
          name,
          checksum,
        )
        connection.exec('COMMIT')
        return true
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

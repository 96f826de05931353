// A look at a database that changes nothing: whether it can be reached, and which migrations it lacks.

import { type Migration, readMigrations } from './migrate.ts'
import { openSqliteConnection } from './sqlite-connection.ts'

export type SchemaState = {
  /** Names, in order. */
  readonly missing: readonly string[]
  /** It was made by a newer program. */
  readonly isNewer: boolean
  /** How far the server's clock is ahead of this process's, in milliseconds; null without a server. */
  readonly aheadMs: number | null
}

/** Throws when the file cannot be opened or is no database. */
export function inspectSqlite(path: string): SchemaState {
  const connection = openSqliteConnection({ path, mode: 'look' })
  try {
    const tables = connection.rows(
      "select name from sqlite_master where type = 'table' and name = 'schema_migrations'",
    )
    const rows = tables.length === 0 ? [] : connection.rows('select version from schema_migrations')
    const versions = rows.map(({ version }) => Number(version))
    return { ...compareSchema(versions, readMigrations('sqlite')), aheadMs: null }
  } finally {
    connection.close()
  }
}

/** What these versions, of those that were applied, lack of the migrations that there are. */
export function compareSchema(
  applied: readonly number[],
  migrations: readonly Migration[],
): Pick<SchemaState, 'missing' | 'isNewer'> {
  const newest = migrations.at(-1)?.version ?? 0
  return {
    missing: migrations.filter(({ version }) => !applied.includes(version)).map(({ name }) => name),
    isNewer: applied.some((version) => version > newest),
  }
}

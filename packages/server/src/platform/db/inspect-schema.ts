// A look at a database that changes nothing: whether it can be reached, and which migrations it lacks.

import { type Kysely, sql } from 'kysely'
import type { Engine } from './db.ts'
import {
  type AppliedMigration,
  findIncompatible,
  type MigrationPlan,
  planMigrations,
  readMigrations,
  toApplied,
} from './migrate.ts'
import { openSqliteConnection, type SqliteConnection } from './sqlite-connection.ts'

export type SchemaState = {
  readonly plan: MigrationPlan
  /** Connections of processes that serve it; null where that cannot be told. */
  readonly others: number | null
  /** How far the server's clock is ahead of this process's, in milliseconds; null without a server. */
  readonly aheadMs: number | null
}

/** Throws when the file cannot be opened or is no database. */
export function inspectSqlite(path: string): SchemaState {
  const connection = openSqliteConnection({ path, mode: 'look' })
  try {
    const plan = planMigrations(readApplied(connection), readMigrations('sqlite'))
    return { plan, others: null, aheadMs: null }
  } finally {
    connection.close()
  }
}

/** What was applied, from a table that may lack a column, or not be there. */
export function readApplied(connection: SqliteConnection): AppliedMigration[] {
  const columns = connection
    .rows("select name from pragma_table_info('schema_migrations')")
    .map(({ name }) => name)
  if (columns.length === 0) return []
  const compatible = columns.includes('compatible_from') ? '' : ', null as compatible_from'
  return connection
    .rows(`select *${compatible} from schema_migrations order by version`)
    .map(toApplied)
}

/**
 * Why a program that has opened this database does not work with it any more, because a newer one has
 * changed it since; null while it does.
 */
export async function findSchemaChange<Schema>(db: {
  readonly engine: Engine
  readonly read: Kysely<Schema>
}): Promise<string | null> {
  newestOf[db.engine] ??= readMigrations(db.engine).at(-1)?.version ?? 0
  const newest = newestOf[db.engine] ?? 0
  const { rows } = await sql<Record<string, unknown>>`
    select version, name, checksum, compatible_from from schema_migrations where version > ${newest}
  `.execute(db.read)
  return findIncompatible(rows.map(toApplied), newest)
}

const newestOf: { [Name in Engine]?: number } = {}

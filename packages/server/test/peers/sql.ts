// SQL of a test, beside other users of the database.

import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'

type Settings = { readonly dataDir: string; readonly databaseUrl: string | null }

/** A file of SQLite, the URL of a PostgreSQL database, or a service with its settings. */
export type AnyPlace = { readonly place: string } | { readonly settings: Settings }

/** Runs one statement and returns its rows. */
export async function runSql(
  at: AnyPlace,
  text: string,
  { hasLargeNumbers = false }: { hasLargeNumbers?: boolean } = {},
): Promise<Record<string, unknown>[]> {
  const place = 'place' in at ? at.place : placeOf(at.settings)
  if (/^postgres(?:ql)?:/.test(place)) return (await poolOf(place).query(text)).rows
  using database = new DatabaseSync(place, { timeout: 10_000 })
  const statement = database.prepare(text)
  statement.setReadBigInts(hasLargeNumbers)
  return statement.all()
}

function placeOf({ dataDir, databaseUrl }: Settings): string {
  return databaseUrl ?? join(dataDir, 'mailroom.db')
}

/** Kept open, because tests query often, and a connection costs the server a process. */
const pools = new Map<string, pg.Pool>()

function poolOf(connectionString: string): pg.Pool {
  let pool = pools.get(connectionString)
  if (pool === undefined) {
    pool = new pg.Pool({ connectionString, idleTimeoutMillis: 2_000, allowExitOnIdle: true })
    // The server may be killed: the next statement opens another connection.
    pool.on('error', () => {})
    pools.set(connectionString, pool)
  }
  return pool
}

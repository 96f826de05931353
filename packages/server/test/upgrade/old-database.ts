// Databases as earlier versions of the service left them: their schema, and rows that they wrote.

import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import type { TestContext } from 'node:test'
import pg from 'pg'
import type { Engine } from '#platform/db/db.ts'
import { MIGRATIONS_TABLE, type Migration, readMigrations } from '#platform/db/migrate.ts'
import { createTestDatabase } from '#test/peers/postgres.ts'
import { runSql } from '#test/peers/sql.ts'

/** Key of the service that wrote the rows, which seals its secrets. */
export const SECRET_KEY = Buffer.alloc(32, 7).toString('base64')

/** Schema versions with recorded rows. */
export const VERSIONS = ['0003', '0004', '0007'] as const

type Rows = Record<string, Record<string, unknown>[]>

export type Place = {
  readonly engine: Engine
  readonly dataDir: string
  /** A file or a URL. */
  readonly place: string
  /** Settings of a service that is to be started on it. */
  readonly env: Record<string, string>
  run(text: string): Promise<Record<string, unknown>[]>
}

/** A database without a table. */
export async function emptyPlace(engine: Engine, t: TestContext): Promise<Place> {
  const dataDir = await mkdtemp(join(tmpdir(), 'mailroom-test-'))
  t.after(() => rm(dataDir, { recursive: true, force: true }))
  const env = { MAILROOM_DATA_DIR: dataDir, MAILROOM_SECRET_KEY: SECRET_KEY }
  const place = engine === 'postgres' ? await createTestDatabase() : join(dataDir, 'mailroom.db')
  return {
    engine,
    dataDir,
    place,
    env: { ...env, ...(engine === 'postgres' && { MAILROOM_DATABASE_URL: place }) },
    run: (text) => runSql({ place }, text),
  }
}

/** The schema as a program of this version makes it, without notes of compatibility. */
export async function oldPlace(engine: Engine, t: TestContext, version: string): Promise<Place> {
  const place = await emptyPlace(engine, t)
  await place.run(MIGRATIONS_TABLE)
  for (const migration of readMigrations(engine)) {
    if (migration.version <= Number(version)) await applyAsBefore(place, migration)
  }
  return place
}

async function applyAsBefore(place: Place, { version, name, checksum, sql }: Migration) {
  if (place.engine === 'postgres') await place.run(sql)
  else {
    const database = new DatabaseSync(place.place)
    database.exec(sql)
    database.close()
  }
  const row = `values (${version}, '${name}', '${checksum}')`
  await place.run(`insert into schema_migrations (version, name, checksum) ${row}`)
}

/** The same with the rows that the service of this version wrote. */
export async function livedInPlace(
  engine: Engine,
  t: TestContext,
  version: string,
): Promise<Place> {
  const place = await oldPlace(engine, t, version)
  const url = new URL(`./data/${version}.${engine}.json`, import.meta.url)
  const tables = JSON.parse(readFileSync(url, 'utf8')) as Rows
  if (engine === 'sqlite') fillSqlite(place.place, tables)
  else await fillPostgres(place.place, tables)
  return place
}

function fillSqlite(path: string, tables: Rows): void {
  const database = new DatabaseSync(path, { enableForeignKeyConstraints: false })
  for (const [table, rows] of Object.entries(tables)) {
    database.exec(`delete from ${table}`)
    for (const row of rows) {
      const names = Object.keys(row)
      const places = names.map(() => '?').join(', ')
      database
        .prepare(`insert into ${table} (${names.join(', ')}) values (${places})`)
        .run(...(Object.values(row).map(parameterOf) as SQLInputValue[]))
    }
  }
  database.close()
}

async function fillPostgres(url: string, tables: Rows): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    // Without triggers there are no references.
    await client.query('set session_replication_role = replica')
    for (const [table, rows] of Object.entries(tables)) {
      await client.query(`delete from ${table}`)
      for (const row of rows) {
        const names = Object.keys(row)
        const places = names.map((_, index) => `$${index + 1}`).join(', ')
        await client.query(
          `insert into ${table} (${names.join(', ')}) overriding system value values (${places})`,
          Object.values(row).map(parameterOf),
        )
      }
    }
    const max = '(select max(sequence) from events)'
    await client.query(`select setval(pg_get_serial_sequence('events', 'sequence'), ${max})`)
  } finally {
    await client.end()
  }
}

function parameterOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  return Buffer.from((value as { hex: string }).hex, 'hex')
}

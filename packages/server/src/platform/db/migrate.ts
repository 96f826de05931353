// Applies numbered migrations in order. Each is recorded with a checksum, to detect later edits of
// the file, and with the oldest schema version whose programs can still use the database.

import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type Kysely, sql } from 'kysely'
import type { Engine } from './db.ts'

export type Migration = {
  version: number
  name: string
  sql: string
  checksum: string
  /** Programs that know at least this version can use the migrated database. */
  compatibleFrom: number
  /** False if PostgreSQL commits the statements one by one. Such statements can be repeated. */
  isAtomic: boolean
}

export type AppliedMigration = {
  version: number
  name: string
  checksum: string
  compatibleFrom: number
}

export type MigrationTarget = {
  applied(): Promise<AppliedMigration[]>
  /** Applies and records the migration. Returns false if another process has already done so. */
  run(migration: Migration): Promise<boolean>
}

export type MigrationPlan = {
  readonly pending: readonly Migration[]
  readonly breaking: readonly Migration[]
  /** Names of applied migrations that this program does not know yet. */
  readonly newer: readonly string[]
  readonly refusal: string | null
}

export function readMigrations(engine: Engine): Migration[] {
  const folder = fileURLToPath(new URL('../../store/', import.meta.url))
  return readdirSync(folder)
    .filter((file) => file.endsWith('.sql'))
    .sort()
    .map((file) => parseMigration(engine, file, readFileSync(`${folder}${file}`, 'utf8')))
}

/**
 * Migrations only add, so older programs work with them, unless a comment says `-- Needs programs
 * of schema N.` With the comment `-- Without a transaction.`, PostgreSQL commits each statement
 * separately, as building an index `:online` requires.
 */
export function parseMigration(engine: Engine, file: string, text: string): Migration {
  const needed = /^-- Needs programs of schema (\d+)\.$/m.exec(text)?.[1]
  return {
    version: Number.parseInt(file, 10),
    name: file.replace(/\.sql$/, ''),
    sql: translate(engine, text),
    checksum: createHash('sha256').update(text).digest('hex'),
    compatibleFrom: Number(needed ?? 1),
    isAtomic: !/^-- Without a transaction\.$/m.test(text),
  }
}

/** Dialect tokens. `:online` and `:absent` are for migrations without a transaction. */
const TOKENS: Readonly<Record<Engine, Readonly<Record<string, string>>>> = {
  sqlite: {
    ':key': 'text',
    ':int': 'integer',
    ':bytes': 'blob',
    ':clustered': 'strict, without rowid',
    ':heap': 'strict',
    ':online': '',
    ':absent': '',
  },
  postgres: {
    ':key': 'text collate "C"',
    ':int': 'bigint',
    ':bytes': 'bytea',
    ':clustered': '',
    ':heap': '',
    ':online': 'concurrently if not exists',
    ':absent': 'if not exists',
  },
}

function translate(engine: Engine, text: string): string {
  const other = engine === 'sqlite' ? 'postgres' : 'sqlite'
  return text
    .replace(new RegExp(`^ *:${other} .*\n`, 'gm'), '')
    .replace(new RegExp(`^( *):${engine} `, 'gm'), '$1')
    .replace(/\s+:include (\([^)]*\))/g, engine === 'sqlite' ? '' : ' include $1')
    .replace(/ (:[a-z]+)/g, (text, token) => {
      const word = TOKENS[engine][token]
      return word === undefined ? text : word && ` ${word}`
    })
}

export function statementsOf({ sql }: { sql: string }): string[] {
  return sql
    .replace(/^\s*--.*$/gm, '')
    .split(/;\s*$/m)
    .map((text) => text.trim())
    .filter((text) => text !== '')
}

/** The first migration of checkouts older than version 0.1.0. */
const UNRELEASED = '0001_receiving'

export function planMigrations(
  applied: readonly AppliedMigration[],
  migrations: readonly Migration[],
): MigrationPlan {
  const known = new Map(migrations.map((migration) => [migration.version, migration]))
  const newest = migrations.at(-1)?.version ?? 0
  const done = new Set(applied.map(({ version }) => version))
  const newer = applied.filter(({ version }) => version > newest)
  const changed = applied.find(({ version, checksum }) => {
    const migration = known.get(version)
    return migration !== undefined && migration.checksum !== checksum
  })
  const isUnreleased = applied.some(({ name }) => name === UNRELEASED)
  const pending = migrations.filter(({ version }) => !done.has(version))
  // Running programs know at most the migration before the first pending one.
  const first = pending[0]?.version ?? 0
  return {
    pending,
    breaking: done.size === 0 ? [] : pending.filter((one) => one.compatibleFrom >= first),
    newer: newer.map(({ name }) => name),
    refusal: isUnreleased
      ? 'This database was made by a checkout from before version 0.1.0, and this version cannot use it. Export its mail with the old checkout and import it into a new database: see docs/upgrading.md.'
      : changed === undefined
        ? findIncompatible(newer, newest)
        : `Migration ${known.get(changed.version)?.name} differs from the one that this database was made with.`,
  }
}

/** Returns the reason, or null if a program with schema `newest` can use the database. */
function findIncompatible(applied: readonly AppliedMigration[], newest: number): string | null {
  for (const { version, name, compatibleFrom } of applied) {
    if (version > newest && compatibleFrom > newest) {
      return `The database has been changed by migration ${name}, which needs programs of schema ${compatibleFrom} or later, and this program knows only ${newest}: start the newer program.`
    }
  }
  return null
}

export function toApplied(row: Record<string, unknown>): AppliedMigration {
  return {
    version: Number(row.version),
    name: String(row.name),
    checksum: String(row.checksum),
    compatibleFrom: Number(row.compatible_from),
  }
}

/** Throws if this program cannot use the database, or if a recorded file has changed. */
export async function migrate(
  target: MigrationTarget,
  migrations: readonly Migration[],
): Promise<Migration[]> {
  const { pending, refusal } = planMigrations(await target.applied(), migrations)
  if (refusal !== null) throw new Error(refusal)
  const ran: Migration[] = []
  for (const migration of pending) if (await target.run(migration)) ran.push(migration)
  return ran
}

export const MIGRATIONS_TABLE =
  'create table if not exists schema_migrations (version integer primary key, name text not null, checksum text not null, compatible_from integer not null)'

export type SchemaState = {
  readonly plan: MigrationPlan
  readonly others: number | null
  /** Milliseconds by which the server's clock is ahead of this process; null on SQLite. */
  readonly aheadMs: number | null
}

/** Why this program can no longer use the database; null while it can. */
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

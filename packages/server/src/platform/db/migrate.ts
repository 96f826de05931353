// Schema changes: plain numbered SQL files, applied in order, recorded with a checksum so that a file
// changed after its release is noticed, and with the oldest programs that go on working beside it.

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
  /** Programs that know the schema of this version, or a later one, work with it. */
  compatibleFrom: number
  /** False for one whose statements each commit by themselves, and can be run again. */
  isAtomic: boolean
}

export type AppliedMigration = {
  version: number
  name: string
  checksum: string
  /** Null where a program applied it that did not note it yet. */
  compatibleFrom: number | null
}

/** What an engine must offer to be migrated. */
export type MigrationTarget = {
  applied(): Promise<AppliedMigration[]>
  /** Applies the text and records it, atomically; false when another process did meanwhile. */
  run(migration: Migration): Promise<boolean>
}

/** What a database lacks, and whether this program may work with it at all. */
export type MigrationPlan = {
  /** In order. */
  readonly pending: readonly Migration[]
  /** Those of them that programs which work with the database now would not survive. */
  readonly breaking: readonly Migration[]
  /** Names of what newer programs have applied. */
  readonly newer: readonly string[]
  /** Why this program must leave the database alone, in a sentence; null when it need not. */
  readonly refusal: string | null
}

/** Up to here migrations changed what was there; later ones add to it, or say that they do not. */
const LAST_THAT_CHANGED = 4

/** The migrations of one engine, in order of their numbers. */
export function readMigrations(engine: Engine): Migration[] {
  const folder = fileURLToPath(new URL(`../../schema/migrations/${engine}/`, import.meta.url))
  return readdirSync(folder)
    .filter((file) => file.endsWith('.sql'))
    .sort()
    .map((file) => parseMigration(file, readFileSync(`${folder}${file}`, 'utf8')))
}

/**
 * A migration of a file's name and text. Programs that know schema 4 work with it, unless one of its
 * comments says `-- Needs programs of schema N.`; a comment `-- Without a transaction.` has each statement
 * committed by itself.
 */
export function parseMigration(file: string, sql: string): Migration {
  const version = Number.parseInt(file, 10)
  const needed = /^-- Needs programs of schema (\d+)\.$/m.exec(sql)?.[1]
  return {
    version,
    name: file.replace(/\.sql$/, ''),
    sql,
    checksum: createHash('sha256').update(sql).digest('hex'),
    compatibleFrom: Number(needed ?? Math.min(version, LAST_THAT_CHANGED)),
    isAtomic: !/^-- Without a transaction\.$/m.test(sql),
  }
}

/** Its statements; one ends with a semicolon at the end of a line. */
export function statementsOf({ sql }: Pick<Migration, 'sql'>): string[] {
  return sql
    .replace(/^\s*--.*$/gm, '')
    .split(/;\s*$/m)
    .map((text) => text.trim())
    .filter((text) => text !== '')
}

/** Compares what was applied with what this program has. */
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
  const pending = migrations.filter(({ version }) => !done.has(version))
  // Whatever runs knows the migration before the first of these, at best.
  const first = pending[0]?.version ?? 0
  return {
    pending,
    breaking: done.size === 0 ? [] : pending.filter((one) => one.compatibleFrom >= first),
    newer: newer.map(({ name }) => name),
    refusal:
      changed === undefined
        ? findIncompatible(newer, newest)
        : `Migration ${known.get(changed.version)?.name} differs from the one that this database was made with.`,
  }
}

/** Why a program whose schema is `newest` does not work with these, in a sentence, or null. */
function findIncompatible(applied: readonly AppliedMigration[], newest: number): string | null {
  for (const { version, name, compatibleFrom } of applied) {
    const needed = compatibleFrom ?? version
    if (version > newest && needed > newest) {
      return `The database has been changed by migration ${name}, which needs programs of schema ${needed} or later, and this program knows only ${newest}: start the newer program.`
    }
  }
  return null
}

/** A row of `schema_migrations`. */
export function toApplied(row: Record<string, unknown>): AppliedMigration {
  return {
    version: Number(row.version),
    name: String(row.name),
    checksum: String(row.checksum),
    compatibleFrom: row.compatible_from === null ? null : Number(row.compatible_from),
  }
}

/**
 * Applies what is missing and returns what it applied; a second call applies nothing. Throws when the
 * database has been changed so that this program does not work with it, or a recorded migration
 * differs from its file.
 */
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
  'create table if not exists schema_migrations (version integer primary key, name text not null, checksum text not null)'

/** Added later: programs of before name the columns that they write. */
export const COMPATIBLE_COLUMN = 'alter table schema_migrations add column compatible_from integer'

export type SchemaState = {
  readonly plan: MigrationPlan
  /** Connections of processes that serve it; null where that cannot be told. */
  readonly others: number | null
  /** How far the server's clock is ahead of this process's, in milliseconds; null without a server. */
  readonly aheadMs: number | null
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

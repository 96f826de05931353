// Schema changes: plain numbered SQL files, applied in order, each in its own transaction, recorded
// with a checksum so that a file changed after its release is noticed.

import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Engine } from './db.ts'

export type Migration = { version: number; name: string; sql: string; checksum: string }

/** What an engine must offer to be migrated. */
export type MigrationTarget = {
  applied(): Promise<{ version: number; checksum: string }[]>
  /** Applies the text and records it, atomically; false when another process did meanwhile. */
  run(migration: Migration): Promise<boolean>
}

/** The migrations of one engine, in order of their numbers. */
export function readMigrations(engine: Engine): Migration[] {
  const folder = fileURLToPath(new URL(`./migrations/${engine}/`, import.meta.url))
  return readdirSync(folder)
    .filter((file) => file.endsWith('.sql'))
    .sort()
    .map((file) => {
      const sql = readFileSync(`${folder}${file}`, 'utf8')
      const checksum = createHash('sha256').update(sql).digest('hex')
      return { version: Number.parseInt(file, 10), name: file.replace(/\.sql$/, ''), sql, checksum }
    })
}

/**
 * Applies what is missing and returns what it applied; a second call applies nothing. Throws when
 * the database is newer than this program or a recorded migration differs from its file.
 */
export async function migrate(
  target: MigrationTarget,
  migrations: Migration[],
): Promise<Migration[]> {
  const applied = new Map((await target.applied()).map((row) => [row.version, row.checksum]))
  const newest = migrations.at(-1)?.version ?? 0
  for (const [version, checksum] of applied) {
    if (version > newest) {
      throw new Error(
        `The database has schema version ${version}, but this program knows only ${newest}: start the newer program.`,
      )
    }
    const known = migrations.find((migration) => migration.version === version)
    if (known !== undefined && known.checksum !== checksum) {
      throw new Error(
        `Migration ${known.name} differs from the one that this database was made with.`,
      )
    }
  }
  const ran: Migration[] = []
  for (const migration of migrations) {
    if (!applied.has(migration.version) && (await target.run(migration))) ran.push(migration)
  }
  return ran
}

export const MIGRATIONS_TABLE =
  'create table if not exists schema_migrations (version integer primary key, name text not null, checksum text not null)'

// Creates or updates the schema without serving, or prints the pending changes.

import { existsSync } from 'node:fs'
import { databasePath } from '#app/open-store.ts'
import type { Settings } from '#config/settings.ts'
import { makePrivateFolder } from '#platform/blobs/durable-folder.ts'
import { planMigrations, readMigrations, type SchemaState } from '#platform/db/migrate.ts'
import { inspectPostgres, migratePostgres } from '#platform/db/postgres.ts'
import { inspectSqlite, migrateSqlite } from '#platform/db/sqlite.ts'
import { loadSettings } from './command.ts'

/** Exit codes of a check, besides 0 for a current schema and 1 for an unreadable database. */
const PENDING = 3
const PENDING_BREAKING = 4
const REFUSED = 5

/** Prints the missing migrations and, without `check`, applies them. */
export async function migrateDatabase({ check = false }: { check?: boolean } = {}): Promise<void> {
  const { settings } = loadSettings()
  if (check) return checkMigrations(settings)
  makePrivateFolder(settings.dataDir)
  const applied =
    settings.databaseUrl === null
      ? await migrateSqlite(databasePath(settings))
      : await migratePostgres(settings.databaseUrl)
  const text = applied.length === 0 ? 'The schema is current.' : `Applied ${applied.join(', ')}.`
  process.stdout.write(`${text}\n`)
}

async function checkMigrations(settings: Settings): Promise<void> {
  const { code, lines } = describeState(await inspect(settings))
  process.stdout.write(`${lines.join('\n')}\n`)
  process.exitCode = code
}

async function inspect(settings: Settings): Promise<SchemaState> {
  if (settings.databaseUrl !== null) return inspectPostgres(settings.databaseUrl)
  const path = databasePath(settings)
  if (existsSync(path)) return inspectSqlite(path)
  return { plan: planMigrations([], readMigrations('sqlite')), others: null, aheadMs: null }
}

export function describeState({ plan, others }: Pick<SchemaState, 'plan' | 'others'>): {
  code: number
  lines: string[]
} {
  const { pending, breaking, newer, refusal } = plan
  if (refusal !== null) return { code: REFUSED, lines: [refusal] }
  const lines =
    newer.length === 0
      ? []
      : [`A newer version has applied ${newer.join(', ')}; this version works with it.`]
  if (pending.length === 0) return { code: 0, lines: ['The schema is current.', ...lines] }
  lines.push(...pending.map(({ name }) => `Would apply ${name}.`))
  if (others !== null) lines.push(`Connections of running processes: ${others}.`)
  if (breaking.length === 0) {
    lines.push('Running processes keep working during and after it.')
    return { code: PENDING, lines }
  }
  const names = breaking.map(({ name }) => name).join(', ')
  lines.push(`Running processes do not survive ${names}: stop them first.`)
  return { code: PENDING_BREAKING, lines }
}

// The database: whether it is there and current, whether its secrets open, and what its clock says.

import { existsSync } from 'node:fs'
import type { Settings } from '#config/settings.ts'
import type { SchemaState } from '#platform/db/migrate.ts'
import { inspectPostgres } from '#platform/db/postgres.ts'
import { inspectSqlite } from '#platform/db/sqlite.ts'
import type { ReadDb } from '#schema/tables.ts'
import { inspectDataKey } from '#wiring/open-keys.ts'
import { databasePath } from '#wiring/open-store.ts'
import { judgeClock } from './check-clock.ts'
import { type Aim, advice, bad, type Finding, good, notNeeded } from './finding.ts'

export type DatabaseReport = {
  readonly findings: Finding[]
  /** Whether it can be opened without changing it. */
  readonly isCurrent: boolean
}

/** Looks without making, migrating or writing anything. */
export async function checkDatabase(settings: Settings): Promise<DatabaseReport> {
  const { databaseUrl } = settings
  const what = databaseUrl === null ? databasePath(settings) : 'PostgreSQL'
  const aim: Aim = { check: 'database', expected: `${what}, reachable, with the current schema` }
  if (databaseUrl === null && !existsSync(databasePath(settings))) {
    const fix = 'Start the service, which creates it, or set MAILROOM_DATA_DIR to its folder.'
    return { findings: [bad(aim, 'it is not there', fix)], isCurrent: false }
  }
  let state: SchemaState
  try {
    state =
      databaseUrl === null
        ? inspectSqlite(databasePath(settings))
        : await inspectPostgres(databaseUrl)
  } catch (error) {
    const found = error instanceof Error ? error.message || error.name : String(error)
    const fix =
      databaseUrl === null
        ? 'Restore it from a backup.'
        : 'Start PostgreSQL, or correct MAILROOM_DATABASE_URL.'
    return { findings: [bad(aim, found, fix)], isCurrent: false }
  }
  const clock = state.aheadMs === null ? [] : [judgeClock('the clock of PostgreSQL', state.aheadMs)]
  const schema = judgeSchema(aim, state)
  return { findings: [schema, ...clock], isCurrent: schema.verdict === 'ok' }
}

function judgeSchema(aim: Aim, { plan: { pending, refusal } }: SchemaState): Finding {
  if (refusal !== null) return bad(aim, refusal, 'Run the same version as the service.')
  if (pending.length === 0) return good(aim, `${aim.expected}`)
  const names = pending.map(({ name }) => name).join(', ')
  return bad(aim, `its schema lacks ${names}`, 'Start the service, or run "mailroom migrate".')
}

/** Whether the secrets of the database open with what is here. */
export async function checkSecretKey(settings: Settings, db: ReadDb): Promise<Finding> {
  const aim: Aim = {
    check: 'secret key',
    expected: 'the key that decrypts the secrets in the database',
  }
  switch (await inspectDataKey({ settings, db })) {
    case 'absent':
      return notNeeded(aim, 'there are no secrets yet')
    case 'sealed':
      return good(aim, 'it is here')
    case 'plain':
      return advice(
        aim,
        'none: anyone who can read the database can read the DKIM keys',
        'Set MAILROOM_SECRET_KEY to 32 random bytes, for example from: openssl rand -base64 32',
      )
    case 'not here':
      return bad(
        aim,
        'no key, or not the one that encrypted them',
        'Set MAILROOM_SECRET_KEY to the key the service was started with, or restore secret.key.',
      )
  }
}

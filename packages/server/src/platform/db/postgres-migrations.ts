// Migrating PostgreSQL while others work with it: no statement waits for a lock for long, because
// everybody else would wait behind it, and indexes of large tables are made beside the writing.

import { setTimeout as pause } from 'node:timers/promises'
import { SECOND_MS } from '#platform/units.ts'
import {
  type AppliedMigration,
  COMPATIBLE_COLUMN,
  MIGRATIONS_TABLE,
  type Migration,
  type MigrationPlan,
  type MigrationTarget,
  migrate,
  planMigrations,
  statementsOf,
  toApplied,
} from './migrate.ts'

/**
 * A migration that waits for a lock has everybody else wait behind it. Longer than PostgreSQL's
 * deadlock_timeout: only after that does it cancel an autovacuum that is in the way.
 */
export const MIGRATION_LOCK_MS_MAX = 1.5 * SECOND_MS
/** Then it lets them go on, and tries again for some minutes. */
const MIGRATION_RETRY_MS = 2 * SECOND_MS
const MIGRATION_TRIES_MAX = 100
/** How often a process looks whether another one has ended its migrations. */
const MIGRATION_TURN_MS = 100

/** One connection. */
export type Session = {
  query(text: string, values?: unknown[]): Promise<{ rows: Record<string, unknown>[] }>
}

const DEADLOCK = '40P01'
/** A lock did not come in time, or was one of two that waited for each other. */
const IS_LOCKED: ReadonlySet<string> = new Set(['55P03', DEADLOCK])

const SETTINGS = [
  // Of the role or the database there may be one that is too short.
  'statement_timeout = 0',
  // A machine that is gone does not keep the turn for two hours.
  'tcp_keepalives_idle = 10',
  'tcp_keepalives_interval = 5',
  'tcp_keepalives_count = 4',
]

/** Any number will do as long as it is always the same. */
const TURN = 727_265

/**
 * Applies what is missing and returns it. Processes that have something to apply wait for each other,
 * without end while one makes a large index; those that have not wait for nobody. Throws where `migrate`
 * does, when a table stays locked by others through MIGRATION_TRIES_MAX tries, and when processes are
 * connected that would not survive what is pending.
 */
export async function migrateSession(
  session: Session,
  migrations: readonly Migration[],
): Promise<Migration[]> {
  const { pending, refusal } = planMigrations(await findApplied(session), migrations)
  if (refusal !== null) throw new Error(refusal)
  if (pending.length === 0) return []
  for (const setting of SETTINGS) await session.query(`set ${setting}`)
  const ran: Migration[] = []
  const target = migrationTarget(session, (migration) => ran.push(migration))
  for (let tries = 1; ; tries++) {
    await takeTurn(session)
    try {
      await refuseToBreak(session, planMigrations(await target.applied(), migrations))
      await migrate(target, migrations)
      return ran
    } catch (error) {
      if (codeOf(error) !== DEADLOCK || tries >= MIGRATION_TRIES_MAX) throw error
    }
    // A program of schema 7 or before waits for its turn by a statement, which an index that is made
    // beside the writing waits for: let it come first, and end.
    await session.query('select pg_advisory_unlock($1)', [TURN])
    await pause(MIGRATION_RETRY_MS)
  }
}

/** What was applied; changes nothing. */
export async function findApplied(session: Session): Promise<AppliedMigration[]> {
  const [table] = (await session.query("select to_regclass('schema_migrations') as name")).rows
  return table?.name == null ? [] : readApplied(session)
}

/**
 * Without a statement that waits: it would hold a snapshot, and who makes an index beside the writing
 * waits for all that were there before.
 */
async function takeTurn(session: Session): Promise<void> {
  for (;;) {
    const { rows } = await session.query('select pg_try_advisory_lock($1) as is_mine', [TURN])
    if (rows[0]?.is_mine === true) return
    await pause(MIGRATION_TURN_MS)
  }
}

async function refuseToBreak(session: Session, plan: MigrationPlan): Promise<void> {
  const [first] = plan.breaking
  if (first === undefined || plan.refusal !== null) return
  const others = await countOthers(session)
  if (others === 0) return
  throw new Error(
    `Migration ${first.name} needs programs of schema ${first.compatibleFrom} or later, and ${others} connections of running processes are open: stop them first.`,
  )
}

/** Connections that other processes of the service have to this database. */
export async function countOthers(session: Session): Promise<number> {
  const { rows } = await session.query(
    `select count(*)::integer as others from pg_stat_activity
      where datname = current_database() and application_name like 'mailroom%'
        and pid <> pg_backend_pid()`,
  )
  return Number(rows[0]?.others ?? 0)
}

/** From a table that may lack the column. */
async function readApplied(session: Session): Promise<AppliedMigration[]> {
  const { rows } = await session.query(
    `select to_jsonb(applied) ->> 'compatible_from' as compatible_from, version, name, checksum
      from schema_migrations as applied order by version`,
  )
  return rows.map(toApplied)
}

function migrationTarget(
  session: Session,
  onApplied: (migration: Migration) => void,
): MigrationTarget {
  return {
    async applied() {
      await prepareTable(session)
      return readApplied(session)
    },
    async run(migration) {
      if (migration.isAtomic) {
        await patiently(migration.name, () =>
          inTransaction(session, async () => {
            await session.query(migration.sql)
            await record(session, migration)
          }),
        )
      } else {
        for (const text of statementsOf(migration)) await runAlone(session, text)
        await record(session, migration)
      }
      onApplied(migration)
      return true
    },
  }
}

async function prepareTable(session: Session): Promise<void> {
  const { rows } = await session.query(
    `select count(*)::integer as columns from pg_attribute
      where attrelid = to_regclass('schema_migrations') and attname = 'compatible_from'`,
  )
  if (Number(rows[0]?.columns) > 0) return
  await patiently('schema_migrations', () =>
    inTransaction(session, async () => {
      await session.query(MIGRATIONS_TABLE)
      await session.query(COMPATIBLE_COLUMN)
    }),
  )
}

function record(session: Session, { version, name, checksum, compatibleFrom }: Migration) {
  return session.query(
    'insert into schema_migrations (version, name, checksum, compatible_from) values ($1, $2, $3, $4)',
    [version, name, checksum, compatibleFrom],
  )
}

async function inTransaction(session: Session, run: () => Promise<void>): Promise<void> {
  await session.query('begin')
  try {
    await session.query(`set local lock_timeout = ${MIGRATION_LOCK_MS_MAX}`)
    await run()
    await session.query('commit')
  } catch (error) {
    await session.query('rollback')
    throw error
  }
}

/** A lock that others hold for long is given up and tried again: meanwhile those behind it go on. */
async function patiently(name: string, run: () => Promise<void>): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await run()
    } catch (error) {
      if (!IS_LOCKED.has(codeOf(error))) throw error
      if (tries >= MIGRATION_TRIES_MAX) {
        throw new Error(
          `Migration ${name} waits for a table that another transaction has held through ${tries} tries: see pg_locks, end it and start again.`,
          { cause: error },
        )
      }
    }
    await pause(MIGRATION_RETRY_MS)
  }
}

function codeOf(error: unknown): string {
  return String((error as { code?: unknown } | null)?.code)
}

/** A statement that cannot be in a transaction, such as an index that is made beside the writing. */
async function runAlone(session: Session, text: string): Promise<void> {
  const name = /^create (?:unique )?index concurrently if not exists (\w+)/i.exec(text)?.[1]
  if (name !== undefined) await dropHalfMade(session, name)
  // It waits for those who are at it, who go on meanwhile.
  await session.query('set lock_timeout = 0')
  await session.query(text)
}

/** A process that ended while it made an index has left one that nobody reads. */
async function dropHalfMade(session: Session, name: string): Promise<void> {
  const { rows } = await session.query(
    'select 1 from pg_index where indexrelid = to_regclass($1) and not indisvalid',
    [name],
  )
  if (rows.length > 0) await session.query(`drop index concurrently ${name}`)
}

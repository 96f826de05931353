// PostgreSQL behind the database port: pooled connections, retried transactions, migrations.

import { setTimeout as pause } from 'node:timers/promises'
import { CompiledQuery, type DatabaseConnection, Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import { systemClock } from '#platform/clock.ts'
import { SECOND_MS } from '#platform/units.ts'
import type { Db, DbObserver, Reading, ReadingDb, Tx } from './db.ts'
import { limitLockWait } from './dialect.ts'
import {
  type AppliedMigration,
  MIGRATIONS_TABLE,
  type Migration,
  type MigrationPlan,
  type MigrationTarget,
  migrate,
  planMigrations,
  readMigrations,
  type SchemaState,
  statementsOf,
  toApplied,
} from './migrate.ts'
import { preparing } from './statement.ts'
import { asStorageError, StorageError } from './storage-error.ts'
import { WriteGroups } from './write-groups.ts'
import { openWriteSlots, WRITE_WAIT_MS_MAX } from './write-slots.ts'

const POSTGRES_POOL_MAX = 10
/** Connections reserved for reads; writes that wait for rows may occupy all others. */
const READERS_MIN = 3
/** Maximum age of a statement's plan on a connection, because a new table grows quickly. */
const PLANS_MS_MAX = SECOND_MS

type PostgresOptions = {
  url: string
  observer: DbObserver
  onError(error: Error): void
  /** False if another thread of the process has already migrated. */
  migrates?: boolean
  connectionsMax?: number
  writeWaitMsMax?: number
}

const CONNECT_MS_MAX = 2_000
const INSPECT_MS_MAX = 4_000
/** Enough, because no statement scans a complete mailbox. */
const STATEMENT_MS_MAX = 10_000
/** If a machine dies within a transaction, its locks are held for this time. */
const IDLE_IN_TRANSACTION_MS_MAX = 20_000
const ATTEMPTS_MAX = 5

/** Throws with the cause if the server cannot be reached. */
export async function openPostgres<Schema>(options: PostgresOptions): Promise<Db<Schema>> {
  if (options.migrates !== false) await migratePostgres(options.url)
  const { connectionsMax = POSTGRES_POOL_MAX } = options
  const pool = openPool(options.url, connectionsMax)
  // Without this listener, the process would end when the server closes an idle connection.
  pool.on('error', (error) => options.onError(error))
  // The same applies to a connection in use; its next statement fails.
  pool.on('connect', (client) => client.on('error', () => {}))
  pool.on('connect', preparing)
  const dialect = new PostgresDialect({ pool, onReserveConnection: renewingPlans() })
  const query = new Kysely<Schema>({ dialect })
  const version = await query.executeQuery<{ server_version: string }>(
    CompiledQuery.raw('show server_version'),
  )
  const reading: Reading<Schema> = { read: query, reading: txOf(query) }
  const writes = openWrites(query, { ...options, connectionsMax })

  return {
    engine: 'postgres',
    description: `PostgreSQL ${version.rows[0]?.server_version} at ${describeUrl(options.url)}`,
    ...reading,
    readLong: (read, input, signal) => read.run(reading, input, signal),
    write: writes.write,
    async check() {
      try {
        await query.executeQuery(CompiledQuery.raw('select 1'))
      } catch (error) {
        throw asStorageError(error) ?? error
      }
    },
    connections() {
      const { totalCount, idleCount, waitingCount } = pool
      return { busy: totalCount - idleCount, idle: idleCount, waiting: waitingCount }
    },
    close: writes.close,
  }
}

function renewingPlans(): (connection: DatabaseConnection) => Promise<void> {
  const plannedMs = new WeakMap<DatabaseConnection, number>()
  return async (connection) => {
    const nowMs = systemClock.monotonic()
    const sinceMs = plannedMs.get(connection)
    if (sinceMs !== undefined && nowMs - sinceMs < PLANS_MS_MAX) return
    plannedMs.set(connection, nowMs)
    // If the connection is lost, the next statement fails as well.
    if (sinceMs === undefined) return
    await connection.executeQuery(CompiledQuery.raw('discard plans')).catch(() => {})
  }
}

function openWrites<Schema>(
  query: Kysely<Schema>,
  options: PostgresOptions & { connectionsMax: number },
): Pick<Db<Schema>, 'write' | 'close'> {
  const { observer, connectionsMax, writeWaitMsMax = WRITE_WAIT_MS_MAX } = options
  const limit = Math.max(1, connectionsMax - READERS_MIN)
  // Writes of one account wait for each other's rows, so other accounts keep at least one slot.
  const limitPerKey = Math.max(1, limit - 1)
  const slots = openWriteSlots({ limit, limitPerKey, waitMsMax: writeWaitMsMax })
  let waiting = 0
  let closing: Promise<void> | null = null
  let onIdle = () => {}
  const commit = async <Value>(work: (tx: Tx<Schema>) => Promise<Value>, size: number) => {
    const startMs = systemClock.monotonic()
    try {
      return await withRepeats(() => query.transaction().execute((tx) => work(txOf(tx))))
    } catch (error) {
      throw asStorageError(error) ?? error
    } finally {
      observer.committed(size, systemClock.monotonic() - startMs)
    }
  }
  const groups = new WriteGroups<Schema>(slots, ({ group, name }, writes, lockWaitMs) => {
    if (group === null) throw new Error(`${name} has no group form.`)
    return commit(async (tx) => {
      if (lockWaitMs !== null) await limitLockWait(tx, lockWaitMs)
      return group.run(tx, writes)
    }, writes.length)
  })
  return {
    async write(transaction, input, traceParent) {
      if (closing !== null) throw new StorageError('unavailable', 'The database was closed.')
      waiting += 1
      const traced = traceParent === undefined ? {} : { traceParent }
      const runAlone = () => commit((tx) => transaction.run({ ...tx, ...traced }, input), 1)
      try {
        return await (groups.write(transaction, { input, ...traced }) ??
          slots.run({ key: transaction.accountOf(input) ?? '' }, runAlone))
      } finally {
        waiting -= 1
        if (waiting === 0) onIdle()
      }
    },
    close(): Promise<void> {
      closing ??= (async () => {
        // Ending the pool drops callers that wait for a connection.
        if (waiting > 0) await new Promise<void>((resolve) => (onIdle = resolve))
        await query.destroy()
      })()
      return closing
    },
  }
}

function txOf<Schema>(query: Kysely<Schema>): Tx<Schema> {
  return { engine: 'postgres', query, runSql: null }
}

export function openPostgresToRead<Schema>(url: string): ReadingDb<Schema> {
  const pool = openPool(url)
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  const query = new Kysely<Schema>({ dialect: new PostgresDialect({ pool }) })
  return {
    read: query,
    reading: txOf(query),
    close: () => query.destroy(),
  }
}

export function migratePostgres(
  url: string,
  migrations: readonly Migration[] = readMigrations('postgres'),
): Promise<string[]> {
  return onClient({ connectionString: url }, async (client) =>
    (await migrateSession(client, migrations)).map((migration) => migration.name),
  )
}

export function inspectPostgres(url: string): Promise<SchemaState> {
  const limits = { connectionTimeoutMillis: INSPECT_MS_MAX, query_timeout: INSPECT_MS_MAX }
  return onClient({ connectionString: url, ...limits }, async (client) => ({
    plan: planMigrations(await findApplied(client), readMigrations('postgres')),
    others: await countOthers(client),
    aheadMs: await readClock(client),
  }))
}

async function readClock(client: pg.Client): Promise<number> {
  const startMs = systemClock.now()
  const text = 'select extract(epoch from clock_timestamp()) * 1000 as now_ms'
  const { rows } = await client.query(text)
  const middleMs = (startMs + systemClock.now()) / 2
  return Math.round(Number(rows[0]?.now_ms) - middleMs)
}

/** A transaction that is left open is rolled back at the end. */
export function onConnection<Value>(
  url: string,
  run: (query: (sql: string) => Promise<Record<string, unknown>[]>) => Promise<Value>,
): Promise<Value> {
  return onClient({ connectionString: url }, (client) =>
    run(async (sql) => (await client.query(sql)).rows),
  )
}

async function onClient<Value>(
  config: pg.ClientConfig,
  run: (client: pg.Client) => Promise<Value>,
): Promise<Value> {
  const client = new pg.Client({ connectionTimeoutMillis: CONNECT_MS_MAX, ...config })
  client.on('error', () => {})
  await client.connect()
  try {
    return await run(client)
  } finally {
    await client.end()
  }
}

function openPool(url: string, connectionsMax = POSTGRES_POOL_MAX): pg.Pool {
  return new pg.Pool({
    connectionString: url,
    max: connectionsMax,
    connectionTimeoutMillis: CONNECT_MS_MAX,
    statement_timeout: STATEMENT_MS_MAX,
    query_timeout: STATEMENT_MS_MAX,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS_MAX,
    application_name: 'mailroom',
    types: {
      getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
        // Times and counters are bigint columns with values far below 2^53.
        oid === pg.types.builtins.INT8
          ? Number
          : pg.types.getTypeParser(oid, format as 'text')) as typeof pg.types.getTypeParser,
    },
  })
}

async function withRepeats<Value>(run: () => Promise<Value>): Promise<Value> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await run()
    } catch (error) {
      const code = (error as { code?: unknown }).code
      if ((code !== '40001' && code !== '40P01') || attempt >= ATTEMPTS_MAX) throw error
    }
  }
}

export function nameServer(error: unknown, url: string): unknown {
  if (!(error instanceof Error)) return error
  const isOfServer = 'code' in error || /timeout|terminated/i.test(error.message)
  if (!isOfServer) return error
  const text = `PostgreSQL at ${describeUrl(url)} (MAILROOM_DATABASE_URL) cannot be used: ${error.message}`
  return new Error(text, { cause: error })
}

function describeUrl(url: string): string {
  const { hostname, port, pathname } = new URL(url)
  return `${hostname}:${port || '5432'}${pathname}`
}

/** Longer than deadlock_timeout, after which PostgreSQL cancels an autovacuum in the way. */
export const MIGRATION_LOCK_MS_MAX = 1.5 * SECOND_MS
/** Pause between attempts, which take a few minutes in total. */
const MIGRATION_RETRY_MS = 2 * SECOND_MS
const MIGRATION_TRIES_MAX = 100
const MIGRATION_POLL_MS = 100

type Session = {
  query(text: string, values?: unknown[]): Promise<{ rows: Record<string, unknown>[] }>
}

const DEADLOCK = '40P01'
const IS_LOCKED: ReadonlySet<string> = new Set(['55P03', DEADLOCK])

const SETTINGS = [
  // The role or the database may set a timeout that is too short.
  'statement_timeout = 0',
  // A dead machine must not hold the advisory lock for two hours.
  'tcp_keepalives_idle = 10',
  'tcp_keepalives_interval = 5',
  'tcp_keepalives_count = 4',
]

const MIGRATION_LOCK = 727_265

/** Also throws if a migration would break connected processes, or if a table stays locked. */
async function migrateSession(
  session: Session,
  migrations: readonly Migration[],
): Promise<Migration[]> {
  const { pending, refusal } = planMigrations(await findApplied(session), migrations)
  if (refusal !== null) throw new Error(refusal)
  if (pending.length === 0) return []
  for (const setting of SETTINGS) await session.query(`set ${setting}`)
  await takeLock(session)
  const target = migrationTarget(session)
  await refuseToBreak(session, planMigrations(await target.applied(), migrations))
  return migrate(target, migrations)
}

async function findApplied(session: Session): Promise<AppliedMigration[]> {
  const [table] = (await session.query("select to_regclass('schema_migrations') as name")).rows
  return table?.name == null ? [] : readApplied(session)
}

/** A waiting statement would hold a snapshot, which blocks concurrent index builds. */
async function takeLock(session: Session): Promise<void> {
  for (;;) {
    const { rows } = await session.query('select pg_try_advisory_lock($1) as is_mine', [
      MIGRATION_LOCK,
    ])
    if (rows[0]?.is_mine === true) return
    await pause(MIGRATION_POLL_MS)
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

async function countOthers(session: Session): Promise<number> {
  const { rows } = await session.query(
    `select count(*)::integer as others from pg_stat_activity
      where datname = current_database() and application_name like 'mailroom%'
        and pid <> pg_backend_pid()`,
  )
  return Number(rows[0]?.others ?? 0)
}

async function readApplied(session: Session): Promise<AppliedMigration[]> {
  const { rows } = await session.query(
    `select to_jsonb(applied) ->> 'compatible_from' as compatible_from, version, name, checksum
      from schema_migrations as applied order by version`,
  )
  return rows.map(toApplied)
}

function migrationTarget(session: Session): MigrationTarget {
  return {
    async applied() {
      await session.query(MIGRATIONS_TABLE)
      return readApplied(session)
    },
    async run(migration) {
      if (migration.isAtomic) {
        await withLockRetries(migration.name, () =>
          inTransaction(session, async () => {
            await session.query(migration.sql)
            await record(session, migration)
          }),
        )
      } else {
        for (const text of statementsOf(migration)) {
          await withLockRetries(migration.name, () => runAlone(session, text))
        }
        await record(session, migration)
      }
      return true
    },
  }
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

async function withLockRetries(name: string, run: () => Promise<void>): Promise<void> {
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

async function runAlone(session: Session, text: string): Promise<void> {
  const name = /^create (?:unique )?index concurrently if not exists (\w+)/i.exec(text)?.[1]
  if (name !== undefined) await dropInvalidIndex(session, name)
  // The statement waits for open transactions without blocking them.
  await session.query('set lock_timeout = 0')
  await session.query(text)
}

/** A process that dies during a concurrent index build leaves an invalid index. */
async function dropInvalidIndex(session: Session, name: string): Promise<void> {
  const { rows } = await session.query(
    'select 1 from pg_index where indexrelid = to_regclass($1) and not indisvalid',
    [name],
  )
  if (rows.length > 0) await session.query(`drop index concurrently ${name}`)
}

/** Returns the ids of the raw messages whose bytes are in the blob store. */
export function backUpPostgres(
  url: string,
  dump: (snapshot: string) => Promise<void>,
): Promise<string[]> {
  return onConnection(url, async (query) => {
    // The snapshot exists as long as the transaction that exported it.
    await query('begin isolation level repeatable read read only')
    const [exported] = await query('select pg_export_snapshot() as name')
    const rows = await query('select id from raw_messages where content is null')
    await dump(String(exported?.name))
    return rows.map((row) => String(row.id))
  })
}

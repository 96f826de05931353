// PostgreSQL behind the database port: reads on pooled connections, writes where they are called,
// each in a transaction of its own that is repeated when the server asks for it.

import { setTimeout as pause } from 'node:timers/promises'
import { CompiledQuery, Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import { systemClock } from '#platform/clock.ts'
import { Semaphore } from '#platform/semaphore.ts'
import { SECOND_MS } from '#platform/units.ts'
import type { Db, DbObserver, ReadingDb, Tx } from './db.ts'
import {
  type AppliedMigration,
  COMPATIBLE_COLUMN,
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
import { asStorageError, StorageError, tooManyWrites } from './storage-error.ts'
import { POSTGRES_WRITES_MAX, WRITE_QUEUE_MAX, WRITE_WAIT_MS_MAX } from './write-groups.ts'

const POSTGRES_POOL_MAX = 10

type PostgresOptions = {
  url: string
  observer: DbObserver
  onError(error: Error): void
  /** How long a write waits for a connection before it is refused as busy; 7 s unless given. */
  writeWaitMsMax?: number
}

const CONNECT_MS_MAX = 2_000
/** Of a look at a server that may be in trouble. */
const INSPECT_MS_MAX = 4_000
/** A statement that takes longer than this is in trouble; nothing here scans a mailbox. */
const STATEMENT_MS_MAX = 10_000
/** A machine that died in a transaction says nothing to the server, which then lets go of its locks. */
const IDLE_IN_TRANSACTION_MS_MAX = 20_000
const ATTEMPTS_MAX = 5

/** Connects, migrates and serves. Throws with the cause when the server cannot be reached. */
export async function openPostgres<Schema>(options: PostgresOptions): Promise<Db<Schema>> {
  await migratePostgres(options.url)
  const pool = openPool(options.url)
  // Without this listener a server that ends an idle connection ends the process.
  pool.on('error', (error) => options.onError(error))
  // Nor may one that ends a connection in use, between two statements of a transaction: the next
  // statement fails then, and tells.
  pool.on('connect', (client) => client.on('error', () => {}))
  pool.on('connect', preparing)
  const query = new Kysely<Schema>({ dialect: new PostgresDialect({ pool }) })
  const version = await query.executeQuery<{ server_version: string }>(
    CompiledQuery.raw('show server_version'),
  )
  const transactions = openTransactions(query, options)
  const write: Db<Schema>['write'] = (transaction, input, traceParent) => {
    const work = (tx: Tx<Schema>) =>
      transaction.run(traceParent === undefined ? tx : { ...tx, traceParent }, input)
    return transactions.run(work, () => 1)
  }

  return {
    engine: 'postgres',
    description: `PostgreSQL ${version.rows[0]?.server_version} at ${describeUrl(options.url)}`,
    read: query,
    reading: { engine: 'postgres', query, runSql: null },
    write,
    writeGroup: groupedBy(transactions.run, write),
    async check() {
      try {
        await query.executeQuery(CompiledQuery.raw('select 1'))
      } catch (error) {
        throw asStorageError(error) ?? error
      }
    },
    connections: () => countConnections(pool),
    close: transactions.close,
  }
}

/** Transactions of one pool: so many at once, each repeated when the server asks for it. */
function openTransactions<Schema>(
  query: Kysely<Schema>,
  { observer, writeWaitMsMax = WRITE_WAIT_MS_MAX }: PostgresOptions,
) {
  const { monotonic } = systemClock
  const semaphore = new Semaphore({
    limit: POSTGRES_WRITES_MAX,
    waitMsMax: writeWaitMsMax,
    refuse: tooManyWrites,
  })
  let waiting = 0
  let closing: Promise<void> | null = null
  let onIdle = () => {}
  return {
    /** `groupSize` is asked at the end. */
    async run<Value>(
      work: (tx: Tx<Schema>) => Promise<Value>,
      groupSize: () => number,
    ): Promise<Value> {
      if (closing !== null) throw new StorageError('unavailable', 'The database was closed.')
      if (waiting >= WRITE_QUEUE_MAX) throw tooManyWrites()
      waiting += 1
      try {
        return await semaphore.run({}, async () => {
          const startMs = monotonic()
          try {
            return await withRepeats(() => query.transaction().execute((tx) => work(txOf(tx))))
          } catch (error) {
            throw asStorageError(error) ?? error
          } finally {
            observer.committed(groupSize(), monotonic() - startMs)
          }
        })
      } finally {
        waiting -= 1
        if (waiting === 0) onIdle()
      }
    },
    close(): Promise<void> {
      closing ??= (async () => {
        // The pool forgets whoever waits for a connection when it is ended.
        if (waiting > 0) await new Promise<void>((resolve) => (onIdle = resolve))
        await query.destroy()
      })()
      return closing
    },
  }
}

type Run<Schema> = ReturnType<typeof openTransactions<Schema>>['run']

/** What fails for a `StorageError` fails for all of a group, and is not tried again. */
function groupedBy<Schema>(
  run: Run<Schema>,
  write: Db<Schema>['write'],
): NonNullable<Db<Schema>['writeGroup']> {
  return async (transaction, first, join = () => []) => {
    const { group } = transaction
    // Who has joined stays, also where the transaction is repeated.
    const writes = [...first]
    const joining: typeof join = (accepts) => {
      const more = join(accepts)
      writes.push(...more)
      return more
    }
    try {
      if (group !== null) {
        const values = await run(
          (tx) => group.run(tx, [...writes], joining),
          () => writes.length,
        )
        return values.map((value) => ({ status: 'fulfilled', value }))
      }
    } catch (error) {
      // What is away or busy is so for each of them. A connection that was lost at the commit leaves
      // open whether it happened, so that nothing may be tried again.
      if (asStorageError(error) !== null) {
        return writes.map(() => ({ status: 'rejected', reason: error }))
      }
    }
    // One after the other, for they would wait for each other's rows.
    const settled = []
    for (const { input, traceParent } of writes) {
      settled.push(...(await Promise.allSettled([write(transaction, input, traceParent)])))
    }
    return settled
  }
}

function txOf<Schema>(query: Kysely<Schema>): Tx<Schema> {
  return { engine: 'postgres', query, runSql: null }
}

function countConnections({ totalCount, idleCount, waitingCount }: pg.Pool) {
  return { busy: totalCount - idleCount, idle: idleCount, waiting: waitingCount }
}

/** A database that is current, to be looked into: nothing is made, written or changed. */
export function openPostgresToRead<Schema>(url: string): ReadingDb<Schema> {
  const pool = openPool(url)
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  const query = new Kysely<Schema>({ dialect: new PostgresDialect({ pool }) })
  return {
    read: query,
    reading: { engine: 'postgres', query, runSql: null },
    close: () => query.destroy(),
  }
}

/**
 * Applies missing migrations and returns their names; see `migrateSession`. Those of this program,
 * unless others are given.
 */
export async function migratePostgres(
  url: string,
  migrations: readonly Migration[] = readMigrations('postgres'),
): Promise<string[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: CONNECT_MS_MAX })
  client.on('error', () => {})
  await client.connect()
  try {
    return (await migrateSession(client, migrations)).map((migration) => migration.name)
  } finally {
    await client.end()
  }
}

/** Throws with the cause when the server does not answer within a few seconds. */
export async function inspectPostgres(url: string): Promise<SchemaState> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: INSPECT_MS_MAX,
    query_timeout: INSPECT_MS_MAX,
  })
  client.on('error', () => {})
  await client.connect()
  try {
    return {
      plan: planMigrations(await findApplied(client), readMigrations('postgres')),
      others: await countOthers(client),
      aheadMs: await readClock(client),
    }
  } finally {
    await client.end()
  }
}

/** Against the middle of the question's time, which is half a network apart at most. */
async function readClock(client: pg.Client): Promise<number> {
  const startMs = systemClock.now()
  const text = 'select extract(epoch from clock_timestamp()) * 1000 as now_ms'
  const { rows } = await client.query(text)
  const middleMs = (startMs + systemClock.now()) / 2
  return Math.round(Number(rows[0]?.now_ms) - middleMs)
}

/** Runs on one connection of its own, with what was begun on it undone at the end. */
export async function onConnection<Value>(
  url: string,
  run: (query: (sql: string) => Promise<Record<string, unknown>[]>) => Promise<Value>,
): Promise<Value> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: CONNECT_MS_MAX })
  client.on('error', () => {})
  await client.connect()
  try {
    return await run(async (sql) => (await client.query(sql)).rows)
  } finally {
    await client.end()
  }
}

function openPool(url: string): pg.Pool {
  return new pg.Pool({
    connectionString: url,
    max: POSTGRES_POOL_MAX,
    connectionTimeoutMillis: CONNECT_MS_MAX,
    statement_timeout: STATEMENT_MS_MAX,
    query_timeout: STATEMENT_MS_MAX,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS_MAX,
    application_name: 'mailroom',
    types: {
      getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
        // Times and counters are bigint columns that stay far below 2^53.
        oid === pg.types.builtins.INT8
          ? Number
          : pg.types.getTypeParser(oid, format as 'text')) as typeof pg.types.getTypeParser,
    },
  })
}

/** Deadlocks and serialization failures are the server's request to start over. */
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

/** The error of a server that cannot be used, with its address and the setting that names it. */
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
type Session = {
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
async function migrateSession(
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
async function findApplied(session: Session): Promise<AppliedMigration[]> {
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
async function countOthers(session: Session): Promise<number> {
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

/**
 * Runs `dump` with the name of a snapshot and returns the ids of the raw messages that, in this same
 * snapshot, have their bytes in the blob store.
 */
export function backUpPostgres(
  url: string,
  dump: (snapshot: string) => Promise<void>,
): Promise<string[]> {
  return onConnection(url, async (query) => {
    // The snapshot lasts as long as the transaction that gave it away.
    await query('begin isolation level repeatable read read only')
    const [exported] = await query('select pg_export_snapshot() as name')
    const rows = await query('select id from raw_messages where content is null')
    await dump(String(exported?.name))
    return rows.map((row) => String(row.id))
  })
}

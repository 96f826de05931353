// PostgreSQL behind the database port: reads on pooled connections, writes where they are called,
// each in a transaction of its own that is repeated when the server asks for it.

import { CompiledQuery, Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import { systemClock } from '#platform/clock.ts'
import { Semaphore } from '#platform/semaphore.ts'
import type { Db, DbObserver, ReadingDb, Tx } from './db.ts'
import type { SchemaState } from './inspect-schema.ts'
import { type Migration, planMigrations, readMigrations } from './migrate.ts'
import { countOthers, findApplied, migrateSession } from './postgres-migrations.ts'
import { preparing } from './prepared-statements.ts'
import { asStorageError, StorageError, tooManyWrites } from './storage-error.ts'
import { POSTGRES_WRITES_MAX, WRITE_QUEUE_MAX, WRITE_WAIT_MS_MAX } from './write-groups.ts'

const POSTGRES_POOL_MAX = 10

export type PostgresOptions = {
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

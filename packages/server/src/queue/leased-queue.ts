// Lease queries that the queues of mail and webhooks share. All times are from the queue clock.

import { type Kysely, type RawBuilder, type SelectQueryBuilder, type SqlBool, sql } from 'kysely'
import { CLOCK_SKEW_MS } from '#platform/clock.ts'
import { type Transaction, transaction } from '#platform/db/db.ts'
import { byBytes, lockRows } from '#platform/db/dialect.ts'
import { statement } from '#platform/db/statement.ts'
import type { ReadDb, Row, Tables, Tx } from '#store/tables.ts'
import type { Head, Share } from './dispatched-queue.ts'
import { isLeasedBy } from './jobs.ts'

const DUE_STEP_ROWS = 1_000

export type QueueTable = 'deliveries' | 'webhook_deliveries'
export type QueueState = 'ready' | 'waiting' | 'leased'

type QueueColumn =
  | 'id'
  | 'account_id'
  | 'lane'
  | 'attempts'
  | 'queue_state'
  | 'next_attempt_at'
  | 'last_attempt_at'
  | 'leased_by'
  | 'lease_until'
type QueueTables = { [Name in QueueTable]: Pick<Tables[Name], QueueColumn> }
type Rows = SelectQueryBuilder<QueueTables, QueueTable, { id: string }>

type DueInput = { queueMs: number; backoffMaxMs: number; leaseMs: number }
type HeadsInput = Head & { lanesEach: number; limit: number }
/** `nowMs` is set if the queue records the start of an attempt. */
type LeaseInput = { worker: string; heads: Share[]; nowMs?: number; leaseUntilMs: number }
type HeldInput = { worker: string; ids: string[] }
type HeldUntil = { id: string; leaseUntilMs: number }

export type LeasedQueue<Held> = {
  /**
   * Pages by account and lane, with at most `lanesEach` lanes per account. The cost grows with
   * accounts and lanes, but not with deliveries.
   */
  listHeads(db: ReadDb, input: HeadsInput): Promise<Head[]>
  /** Leases the most overdue deliveries of each head and counts an attempt for each. */
  readonly lease: Transaction<Tables, LeaseInput, Held[]>
  findHeld(db: ReadDb, input: HeldInput): Promise<HeldUntil[]>
  /** Skips locked rows, which are being settled or are renewed the next time. */
  readonly renew: Transaction<Tables, HeldInput & { untilMs: number }, void>
  /** Returns leased deliveries without counting the attempts that their leases had counted. */
  readonly return: Transaction<Tables, HeldInput, void>
  /** Makes due deliveries, and those with expired leases, ready. True if there may be more. */
  readonly readyDue: Transaction<Tables, DueInput, boolean>
  /** Unlike `readyDue`, this read costs no commit. */
  hasDue(db: ReadDb, input: DueInput): Promise<boolean>
  /** Releases leases of an earlier run of this instance, or of all instances (null). */
  readonly release: Transaction<Tables, { instance: string | null }, void>
}

export const READY = { queue_state: 'ready', leased_by: null, lease_until: null } as const

type Delivery = Pick<Row<QueueTable>, 'id' | 'account_id' | 'lane' | 'attempts'>

type QueueOptions<Name extends QueueTable, Held> = {
  table: Name
  /** Suffix of transaction names, as in `leaseDeliveries`. */
  noun: string
  columns: readonly (keyof Row<Name> & keyof Held)[]
  /** Columns that are set if a lease expires before the outcome is known. */
  takenBack: Partial<Row<Name>>
  /** Columns that are set when an unattempted delivery is returned. */
  returned: { readonly last_attempt_at?: RawBuilder<number | null> }
  /** Settles the deliveries that must not be attempted again, and returns their ids. */
  endLost?: (tx: Tx, ids: string[]) => Promise<string[]>
  isLiving?: RawBuilder<SqlBool>
  /** Returns `ready` and any deliveries that must be leased together with it. */
  complete?: (tx: Tx, head: Share, ready: Held[]) => Promise<Held[]>
  /** Removes deliveries whose inbox was deleted, and returns the rest. */
  dropOrphans?: (tx: Tx, held: Held[]) => Promise<Held[]>
}

export function leasedQueue<Name extends QueueTable, Held extends Delivery>(
  options: QueueOptions<Name, Held>,
): LeasedQueue<Held> {
  const { table, noun } = options
  const write = <Input, Value>(verb: string, run: (tx: Tx, input: Input) => Promise<Value>) =>
    transaction({ name: `${verb}${noun}`, accountOf: () => null, essential: true, run })
  const { renew, returnHeld } = leaseWrites(options)
  const { readyDue, hasDue, release } = dueQueries(options)
  return {
    lease: write('lease', leaseOf(options)),
    renew: write('renew', renew),
    return: write('return', returnHeld),
    readyDue: write('readyDue', readyDue),
    release: write('release', release),
    listHeads: headsOf(table),
    findHeld: heldOf(options),
    hasDue,
  }
}

export function idsOf(rows: readonly { id: string }[]): string[] {
  return rows.map((row) => row.id)
}

function asQueue(query: Kysely<Tables>): Kysely<QueueTables> {
  return query.withTables<QueueTables>()
}

/** Matches the partial index by account; an index by lane cannot find the rows of one account. */
const IS_READY = sql<SqlBool>`queue_state >= 'ready' and queue_state <= 'ready'`

function headsOf(table: QueueTable) {
  const from = sql.table(table)
  // Each step moves to the account's next lane, the end of its lanes (null), or the next account.
  const selectHeads = statement<Tables, HeadsInput, Head>((query, given, engine) => {
    const textOf = (name: 'account' | 'lane') =>
      byBytes(engine, sql<string>`cast(${given(name)} as text)`)
    return {
      compile: () =>
        sql<Head>`
        with recursive heads (account, lane, lanes) as (
          select ${textOf('account')}, ${textOf('lane')}, 0
          union all
          select
            case
              when heads.lane is not null then heads.account
              else (select min(account_id) from ${from}
                where ${IS_READY} and account_id > heads.account)
            end,
            case
              when heads.lane is null then ''
              when heads.lanes < ${given('lanesEach')} then (select min(${from}.lane) from ${from}
                where ${IS_READY} and account_id = heads.account and ${from}.lane > heads.lane)
            end,
            case when heads.lane is null then 0 else heads.lanes + 1 end
          from heads where heads.account is not null
        )
        select account, lane from heads where lanes > 0 and lane is not null
        limit ${given('limit')}
      `.compile(query),
    }
  })
  return (db: ReadDb, input: HeadsInput) => selectHeads(db.reading, input)
}

function leaseOf<Name extends QueueTable, Held extends Delivery>(
  options: QueueOptions<Name, Held>,
) {
  const { table, columns } = options
  const { complete = (_tx, _head, ready) => ready, dropOrphans = (_tx, ready) => ready } = options
  const selectReady = statement<Tables, Share, Held>((query, given, engine) =>
    lockRows(
      { engine },
      asQueue(query)
        .selectFrom<QueueTable>(table)
        .select(columns as readonly QueueColumn[])
        .where(IS_READY)
        .where('account_id', '=', given('account'))
        .where('lane', '=', given('lane'))
        .orderBy('next_attempt_at')
        .orderBy('id')
        .limit(given('limit'))
        .$castTo<Held>(),
      { skipLocked: true },
    ),
  )
  return async (tx: Tx, { worker, heads, nowMs, leaseUntilMs }: LeaseInput): Promise<Held[]> => {
    const ready: Held[] = []
    for (const head of heads) ready.push(...(await complete(tx, head, await selectReady(tx, head))))
    const held = ready.length === 0 ? [] : await dropOrphans(tx, ready)
    if (held.length === 0) return []
    await asQueue(tx.query)
      .updateTable<QueueTable>(table)
      .set((row) => ({
        queue_state: 'leased',
        attempts: row('attempts', '+', 1),
        ...(nowMs !== undefined && { last_attempt_at: nowMs }),
        leased_by: worker,
        lease_until: leaseUntilMs,
      }))
      .where('id', 'in', idsOf(held))
      .execute()
    return held.map((delivery) => ({ ...delivery, attempts: delivery.attempts + 1 }))
  }
}

function heldOf({ table, isLiving }: { table: QueueTable; isLiving?: RawBuilder<SqlBool> }) {
  const selectHeld = (query: Kysely<Tables>, worker: string | RawBuilder<string>) =>
    asQueue(query)
      .selectFrom<QueueTable>(table)
      .select(['id', sql<number>`coalesce(lease_until, 0)`.as('leaseUntilMs')])
      .where('leased_by', '=', worker)
      .where(isLiving ?? sql<SqlBool>`true`)
  const selectOne = statement<Tables, { worker: string; id: string }, HeldUntil>((query, given) =>
    selectHeld(query, given('worker')).where('id', '=', given('id')),
  )
  return async (db: ReadDb, { worker, ids }: HeldInput): Promise<HeldUntil[]> => {
    const [id = '', ...more] = ids
    if (more.length === 0) return selectOne(db.reading, { worker, id })
    return selectHeld(db.read, worker).where('id', 'in', ids).execute()
  }
}

function rowsOf(table: QueueTable) {
  const from = (query: Kysely<Tables>): Rows =>
    asQueue(query).selectFrom<QueueTable>(table).select('id')
  return {
    from,
    async lock(tx: Tx, rows: Rows, options?: { skipLocked: boolean }): Promise<string[]> {
      return idsOf(await lockRows(tx, rows, options).execute())
    },
    async set(tx: Tx, ids: string[], columns: object): Promise<void> {
      if (ids.length === 0) return
      await asQueue(tx.query)
        .updateTable<QueueTable>(table)
        .set(columns)
        .where('id', 'in', ids)
        .execute()
    },
  }
}

function leaseWrites({ table, returned }: { table: QueueTable; returned: object }) {
  const rows = rowsOf(table)
  const heldBy = (tx: Tx, { worker, ids }: HeldInput) =>
    rows.from(tx.query).where('id', 'in', ids).where('leased_by', '=', worker)
  return {
    async renew(tx: Tx, input: HeldInput & { untilMs: number }) {
      if (input.ids.length === 0) return
      const held = await rows.lock(tx, heldBy(tx, input), { skipLocked: true })
      await rows.set(tx, held, { lease_until: input.untilMs })
    },
    async returnHeld(tx: Tx, input: HeldInput) {
      if (input.ids.length === 0) return
      // All transactions lock rows in id order, which prevents deadlocks.
      const held = await rows.lock(tx, heldBy(tx, input).orderBy('id'))
      await rows.set(tx, held, { ...READY, attempts: sql`attempts - 1`, ...returned })
    },
  }
}

type DueOptions = {
  table: QueueTable
  takenBack: object
  endLost?: (tx: Tx, ids: string[]) => Promise<string[]>
}

function dueQueries({ table, takenBack, endLost = async () => [] }: DueOptions) {
  const rows = rowsOf(table)
  const inRange = (query: Kysely<Tables>, { state, column, is, timeMs }: DueRange) =>
    rows.from(query).where('queue_state', '=', sql.lit(state)).where(column, is, timeMs)
  const takeBack = async (tx: Tx, lost: string[]) => {
    const ended = new Set(lost.length === 0 ? [] : await endLost(tx, lost))
    const ids = lost.filter((id) => !ended.has(id))
    await rows.set(tx, ids, { ...READY, ...takenBack })
  }
  return {
    async readyDue(tx: Tx, input: DueInput) {
      let hasMore = false
      for (const range of dueRanges(input)) {
        const due = inRange(tx.query, range).limit(DUE_STEP_ROWS)
        const ids = await rows.lock(tx, due, { skipLocked: true })
        if (range.state === 'leased') await takeBack(tx, ids)
        else await rows.set(tx, ids, { queue_state: 'ready' })
        hasMore ||= ids.length === DUE_STEP_ROWS
      }
      return hasMore
    },
    async hasDue(db: ReadDb, input: DueInput) {
      for (const range of dueRanges(input)) {
        const found = await inRange(db.read, range).limit(1).executeTakeFirst()
        if (found !== undefined) return true
      }
      return false
    },
    async release(tx: Tx, { instance }: { instance: string | null }) {
      const all = rows.from(tx.query).where('queue_state', '=', sql.lit('leased'))
      const leased = instance === null ? all : all.where(isLeasedBy(instance))
      await takeBack(tx, await rows.lock(tx, leased, { skipLocked: true }))
    },
  }
}

type DueRange = {
  state: 'waiting' | 'leased'
  column: 'next_attempt_at' | 'lease_until'
  is: '<=' | '>'
  timeMs: number
}

/**
 * Times beyond any backoff or lease were written before the clock was set back. The ranges are
 * separate queries, because SQLite scans everything between two ranges joined by "or".
 */
function dueRanges({ queueMs, backoffMaxMs, leaseMs }: DueInput): DueRange[] {
  const waiting = { state: 'waiting', column: 'next_attempt_at' } as const
  const leased = { state: 'leased', column: 'lease_until' } as const
  return [
    { ...waiting, is: '<=', timeMs: queueMs },
    { ...waiting, is: '>', timeMs: queueMs + backoffMaxMs + CLOCK_SKEW_MS },
    { ...leased, is: '<=', timeMs: queueMs },
    { ...leased, is: '>', timeMs: queueMs + leaseMs + CLOCK_SKEW_MS },
  ]
}

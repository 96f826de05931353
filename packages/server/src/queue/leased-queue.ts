// The rows that the queues of mail and of webhooks have in common: which accounts have ready deliveries in
// which lanes, who holds what until when, and when it becomes ready again. All times are the queue's.

import { type Kysely, type RawBuilder, type SelectQueryBuilder, type SqlBool, sql } from 'kysely'
import { CLOCK_SKEW_MS } from '#platform/clock.ts'
import { type Transaction, transaction } from '#platform/db/db.ts'
import { byBytes, lockRows } from '#platform/db/dialect.ts'
import { statement } from '#platform/db/statement.ts'
import type { ReadDb, Row, Tables, Tx } from '#store/tables.ts'
import type { Head, Share } from './dispatched-queue.ts'

/** Deliveries moved in one step from waiting to ready. */
const DUE_STEP_ROWS = 1_000

export type QueueTable = 'deliveries' | 'webhook_deliveries'
export type QueueState = 'ready' | 'waiting' | 'leased'

/** The columns that both tables have. */
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
/** `nowMs` is for a queue that writes the start of an attempt. */
type ClaimInput = { worker: string; heads: Share[]; nowMs?: number; leaseUntilMs: number }
type HeldInput = { worker: string; ids: string[] }
type HeldUntil = { id: string; leaseUntilMs: number }

export type LeasedQueue<Held> = {
  /**
   * Accounts with ready deliveries, each with up to `lanesEach` lanes, ordered by account and lane. The page
   * begins after the given head, first with further lanes of that account. The cost depends on accounts and
   * lanes, not on deliveries.
   */
  listHeads(db: ReadDb, input: HeadsInput): Promise<Head[]>
  /** Leases deliveries of these heads, of each the longest due first, and counts an attempt for each. */
  readonly claim: Transaction<Tables, ClaimInput, Held[]>
  /** The deliveries among these that `worker` still holds and may attempt, with the end of each lease. */
  findHeld(db: ReadDb, input: HeldInput): Promise<HeldUntil[]>
  /**
   * Renews the leases that `worker` still holds. Locked rows are being settled, or are renewed the next time.
   */
  readonly renew: Transaction<Tables, HeldInput & { untilMs: number }, void>
  /** Returns deliveries that were not attempted, and takes back the attempts that the claim counted. */
  readonly giveBack: Transaction<Tables, HeldInput, void>
  /**
   * Makes ready the deliveries that are due, and those whose lease has ended; up to DUE_STEP_ROWS of each,
   * true when there may be more.
   */
  readonly readyDue: Transaction<Tables, DueInput, boolean>
  /** Whether `readyDue` would find something: a read, which costs no commit. */
  hasDue(db: ReadDb, input: DueInput): Promise<boolean>
  /**
   * Ends the leases of an instance that has just started, or all of them where there can be no other
   * (null). Names of workers begin with their instance and a space.
   */
  readonly release: Transaction<Tables, { instance: string | null }, void>
}

export const READY = { queue_state: 'ready', leased_by: null, lease_until: null } as const

type Delivery = Pick<Row<QueueTable>, 'id' | 'account_id' | 'lane' | 'attempts'>

type QueueOptions<Name extends QueueTable, Held> = {
  table: Name
  /** The end of the names of its transactions, such as `claimDeliveries`. */
  noun: string
  /** The columns that a holder gets. */
  columns: readonly (keyof Row<Name> & keyof Held)[]
  /** Set on a delivery whose lease ended before its outcome was known. */
  takenBack: Partial<Row<Name>>
  /** Set on a delivery that was returned unattempted. */
  returned: { readonly last_attempt_at?: RawBuilder<number | null> }
  /** Settles those of these deliveries that must not be attempted again, and returns their ids. */
  endLost?: (tx: Tx, ids: string[]) => Promise<string[]>
  /** A delivery may be attempted only where this is true. */
  isLiving?: RawBuilder<SqlBool>
  /** These deliveries of a head, and others that must be claimed with them. */
  complete?: (tx: Tx, head: Share, ready: Held[]) => Promise<Held[]>
  /** Removes deliveries whose inbox was deleted, and returns the others. */
  dropOrphans?: (tx: Tx, held: Held[]) => Promise<Held[]>
}

export function leasedQueue<Name extends QueueTable, Held extends Delivery>(
  options: QueueOptions<Name, Held>,
): LeasedQueue<Held> {
  const { table, noun } = options
  const write = <Input, Value>(verb: string, run: (tx: Tx, input: Input) => Promise<Value>) =>
    transaction({ name: `${verb}${noun}`, accountOf: () => null, essential: true, run })
  const { renew, giveBack } = leaseWrites(options)
  const { readyDue, hasDue, release } = dueQueries(options)
  return {
    claim: write('claim', claimOf(options)),
    renew: write('renew', renew),
    giveBack: write('return', giveBack),
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

/** The same tables, with the columns that both have. */
function asQueue(query: Kysely<Tables>): Kysely<QueueTables> {
  return query.withTables<QueueTables>()
}

/** Written as in the partial index by account; an index by lane would not find one account's rows. */
const IS_READY = sql<SqlBool>`queue_state >= 'ready' and queue_state <= 'ready'`

function headsOf(table: QueueTable) {
  const from = sql.table(table)
  // Each step of the recursion goes to the next lane of the account, to the end of its lanes (null), or to
  // the next account (before its first lane).
  const selectHeads = statement<Tables, HeadsInput, Head>((query, place, engine) => {
    const given = (name: 'account' | 'lane') =>
      byBytes(engine, sql<string>`cast(${place(name)} as text)`)
    return {
      compile: () =>
        sql<Head>`
        with recursive heads (account, lane, lanes) as (
          select ${given('account')}, ${given('lane')}, 0
          union all
          select
            case
              when heads.lane is not null then heads.account
              else (select min(account_id) from ${from}
                where ${IS_READY} and account_id > heads.account)
            end,
            case
              when heads.lane is null then ''
              when heads.lanes < ${place('lanesEach')} then (select min(${from}.lane) from ${from}
                where ${IS_READY} and account_id = heads.account and ${from}.lane > heads.lane)
            end,
            case when heads.lane is null then 0 else heads.lanes + 1 end
          from heads where heads.account is not null
        )
        select account, lane from heads where lanes > 0 and lane is not null
        limit ${place('limit')}
      `.compile(query),
    }
  })
  return (db: ReadDb, input: HeadsInput) => selectHeads(db.reading, input)
}

function claimOf<Name extends QueueTable, Held extends Delivery>(
  options: QueueOptions<Name, Held>,
) {
  const { table, columns } = options
  const { complete = (_tx, _head, ready) => ready, dropOrphans = (_tx, ready) => ready } = options
  const selectReady = statement<Tables, Share, Held>((query, place, engine) =>
    lockRows(
      { engine },
      asQueue(query)
        .selectFrom<QueueTable>(table)
        .select(columns as readonly QueueColumn[])
        .where(IS_READY)
        .where('account_id', '=', place('account'))
        .where('lane', '=', place('lane'))
        .orderBy('next_attempt_at')
        .orderBy('id')
        .limit(place('limit'))
        .$castTo<Held>(),
      { skipLocked: true },
    ),
  )
  return async (tx: Tx, { worker, heads, nowMs, leaseUntilMs }: ClaimInput): Promise<Held[]> => {
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
  // Most calls are for one delivery.
  const selectOne = statement<Tables, { worker: string; id: string }, HeldUntil>((query, place) =>
    selectHeld(query, place('worker')).where('id', '=', place('id')),
  )
  return async (db: ReadDb, { worker, ids }: HeldInput): Promise<HeldUntil[]> => {
    const [id = '', ...more] = ids
    if (more.length === 0) return selectOne(db.reading, { worker, id })
    return selectHeld(db.read, worker).where('id', 'in', ids).execute()
  }
}

/** Rows that a transaction changes. */
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
    async giveBack(tx: Tx, input: HeldInput) {
      if (input.ids.length === 0) return
      // All transactions that lock several rows use one order, so that no two wait for each other.
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
      let leased = rows.from(tx.query).where('queue_state', '=', sql.lit('leased'))
      if (instance !== null) {
        // Names that begin with the instance and a space.
        leased = leased
          .where('leased_by', '>', `${instance} `)
          .where('leased_by', '<', `${instance}!`)
      }
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
 * Times in the past, and times later than any backoff or lease, which were written before the clock was set back.
 * Each range has a query of its own, because for two ends of an index joined by "or" SQLite reads everything between.
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

// The rows that the queues of mail and of webhooks have in common: which accounts have ready deliveries in
// which lanes, who holds what until when, and when it becomes ready again. All times are the queue's.

import { type RawBuilder, type SqlBool, sql } from 'kysely'
import { CLOCK_SKEW_MS } from '#platform/clock.ts'
import { type Transaction, transaction } from '#platform/db/db.ts'
import { lockRows } from '#platform/db/dialect.ts'
import { statement } from '#platform/db/statement.ts'
import type { ReadDb, Row, Tables, Tx } from '#schema/tables.ts'
import type { Head, Share } from './dispatched-queue.ts'

/** Deliveries moved in one step from waiting to ready. */
const DUE_STEP_ROWS = 1_000

export type QueueTable = 'deliveries' | 'webhook_deliveries'
export type QueueState = 'ready' | 'waiting' | 'leased'

type DueInput = { queueMs: number; backoffMaxMs: number; leaseMs: number }

type HeadsInput = Head & { lanesEach: number; limit: number }

export type LeasedQueue<Held> = {
  /**
   * Accounts with ready deliveries, each with up to `lanesEach` lanes, ordered by account and lane. The page
   * begins after the given place, first with further lanes of that account. The cost depends on accounts and
   * lanes, not on deliveries.
   */
  listHeads(db: ReadDb, input: HeadsInput): Promise<Head[]>
  /** Leases deliveries of these heads, of each the longest due first, and counts an attempt for each. */
  readonly claim: QueueTransaction<ClaimInput, Held[]>
  /** The deliveries among these that `worker` still holds and may attempt, with the end of each lease. */
  findHeld(db: ReadDb, input: HeldInput): Promise<HeldUntil[]>
  /**
   * Renews the leases that `worker` still holds. Locked rows are being settled, or are renewed the next time.
   */
  readonly renew: QueueTransaction<HeldInput & { untilMs: number }, void>
  /** Gives back deliveries that were not attempted, and takes back the attempts that the claim counted. */
  readonly giveBack: QueueTransaction<HeldInput, void>
  /**
   * Makes ready the deliveries that are due, and those whose lease has ended; up to DUE_STEP_ROWS of each,
   * true when there may be more.
   */
  readonly readyDue: QueueTransaction<DueInput, boolean>
  /** Whether `readyDue` would find something: a read, which costs no commit. */
  hasDue(db: ReadDb, input: DueInput): Promise<boolean>
  /**
   * Ends the leases of an instance that has just started, or all of them where there can be no other
   * (null). Names of workers begin with their instance and a space.
   */
  readonly release: QueueTransaction<{ instance: string | null }, void>
  /** The number of deliveries in this state, for metrics. */
  count(db: ReadDb, state: QueueState): Promise<number>
}

type QueueTransaction<Input, Value> = Transaction<Tables, Input, Value>

/** `nowMs` is for a queue that writes the start of an attempt. */
type ClaimInput = {
  worker: string
  heads: Share[]
  nowMs?: number | undefined
  leaseUntilMs: number
}
type HeldInput = { worker: string; ids: string[] }
type HeldUntil = { id: string; leaseUntilMs: number }

export const READY = { queue_state: 'ready', leased_by: null, lease_until: null } as const

type QueueOptions<Name extends QueueTable, Column extends keyof Row<Name>> = {
  table: Name
  /** The end of the names of its transactions, such as `claimDeliveries`. */
  noun: string
  /** The columns that a holder gets. */
  columns: readonly Column[]
  /** Set on a delivery whose lease ended before its outcome was known. */
  takenBack: Partial<Row<Name>>
  /** Set on a delivery that was given back unattempted. */
  returned: { readonly last_attempt_at?: RawBuilder<number | null> }
  /** Settles those of these deliveries that must not be attempted again, and returns their ids. */
  endLost?: (tx: Tx, ids: string[]) => Promise<string[]>
  /** A delivery may be attempted only where this is true. */
  isLiving?: RawBuilder<SqlBool>
  /** These deliveries of a head, and others that must be claimed with them. */
  complete?: (
    tx: Tx,
    head: Share,
    ready: Pick<Row<Name>, Column>[],
  ) => Promise<Pick<Row<Name>, Column>[]>
  /** Removes deliveries whose inbox was deleted, and returns the others. */
  dropOrphans?: (tx: Tx, held: Pick<Row<Name>, Column>[]) => Promise<Pick<Row<Name>, Column>[]>
}

/** The queue in a table. The code below names only columns that both tables have. */
export function leasedQueue<Name extends QueueTable, Column extends keyof Row<Name>>(
  options: QueueOptions<Name, Column>,
): LeasedQueue<Pick<Row<Name>, Column>>
export function leasedQueue(given: object): LeasedQueue<unknown> {
  const options = given as AnyOptions
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
    async count(db, state) {
      const { count } = await db.read
        .selectFrom(table)
        .select((row) => row.fn.countAll<number>().as('count'))
        .where('queue_state', '=', sql.lit(state))
        .executeTakeFirstOrThrow()
      return count
    },
  }
}

export function idsOf(rows: readonly { id: string }[]): string[] {
  return rows.map((row) => row.id)
}

type AnyRow = Row<'deliveries'>
type AnyOptions = QueueOptions<'deliveries', keyof AnyRow>

/** Written as in the partial index by account; an index by lane would not find one account's rows. */
const IS_READY = sql<SqlBool>`queue_state >= 'ready' and queue_state <= 'ready'`

function headsOf(table: 'deliveries') {
  const from = sql.table(table)
  // Each step of the recursion goes to the next lane of the account, to the end of its lanes (null), or to
  // the next account (before its first lane).
  const selectHeads = statement<Tables, HeadsInput, Head>((query, place, engine) => {
    // The collation of the columns.
    const collation = engine === 'postgres' ? sql`collate "C"` : sql``
    return {
      compile: () =>
        sql<Head>`
        with recursive heads (account, lane, lanes) as (
          select cast(${place('account')} as text) ${collation},
            cast(${place('lane')} as text) ${collation}, 0
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

function claimOf({ table, columns, ...options }: AnyOptions) {
  const selectReady = statement<Tables, Share, AnyRow>((query, place, engine) =>
    lockRows(
      { engine },
      query
        .selectFrom(table)
        .select(columns)
        .where(IS_READY)
        .where('account_id', '=', place('account'))
        .where('lane', '=', place('lane'))
        .orderBy('next_attempt_at')
        .orderBy('id')
        .limit(place('limit')),
      { skipLocked: true },
    ),
  )
  const { complete = (_tx, _head, ready) => ready, dropOrphans = (_tx, ready) => ready } = options
  return async (tx: Tx, { worker, heads, nowMs, leaseUntilMs }: ClaimInput): Promise<AnyRow[]> => {
    const ready: AnyRow[] = []
    for (const head of heads) ready.push(...(await complete(tx, head, await selectReady(tx, head))))
    const held = ready.length === 0 ? [] : await dropOrphans(tx, ready)
    if (held.length === 0) return []
    await tx.query
      .updateTable(table)
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

function heldOf({ table, isLiving }: AnyOptions) {
  const selectHeld = (query: ReadDb['read'], worker: string | RawBuilder<string>) =>
    query
      .selectFrom(table)
      .select(['id', 'lease_until'])
      .where('leased_by', '=', worker)
      .$if(isLiving !== undefined, (held) => held.where(isLiving as RawBuilder<SqlBool>))
  // Most calls are for one delivery.
  const selectOne = statement<
    Tables,
    { worker: string; id: string },
    Pick<AnyRow, 'id' | 'lease_until'>
  >((query, place) => selectHeld(query, place('worker')).where('id', '=', place('id')))
  return async (db: ReadDb, { worker, ids }: HeldInput): Promise<HeldUntil[]> => {
    const [id = '', ...more] = ids
    const rows =
      more.length === 0
        ? await selectOne(db.reading, { worker, id })
        : await selectHeld(db.read, worker).where('id', 'in', ids).execute()
    return rows.map((row) => ({ id: row.id, leaseUntilMs: row.lease_until ?? 0 }))
  }
}

function leaseWrites({ table, returned }: AnyOptions) {
  return {
    async renew(tx: Tx, input: HeldInput & { untilMs: number }) {
      if (input.ids.length === 0) return
      const leased = tx.query
        .selectFrom(table)
        .select('id')
        .where('id', 'in', input.ids)
        .where('leased_by', '=', input.worker)
      const held = idsOf(await lockRows(tx, leased, { skipLocked: true }).execute())
      if (held.length === 0) return
      await tx.query
        .updateTable(table)
        .set({ lease_until: input.untilMs })
        .where('id', 'in', held)
        .execute()
    },
    async giveBack(tx: Tx, input: HeldInput) {
      if (input.ids.length === 0) return
      const leased = tx.query
        .selectFrom(table)
        .select('id')
        .where('id', 'in', input.ids)
        .where('leased_by', '=', input.worker)
        .orderBy('id')
      // All transactions that lock several rows use one order, so that no two wait for each other.
      const held = idsOf(await lockRows(tx, leased).execute())
      if (held.length === 0) return
      await tx.query
        .updateTable(table)
        .set((row) => ({ ...READY, attempts: row('attempts', '-', 1), ...returned }))
        .where('id', 'in', held)
        .execute()
    },
  }
}

function dueQueries({ table, takenBack, endLost = async () => [] }: AnyOptions) {
  const takeBack = async (tx: Tx, lost: string[]) => {
    const ended = new Set(lost.length === 0 ? [] : await endLost(tx, lost))
    const ids = lost.filter((id) => !ended.has(id))
    if (ids.length === 0) return
    await tx.query
      .updateTable(table)
      .set({ ...READY, ...takenBack })
      .where('id', 'in', ids)
      .execute()
  }
  const selectDue = (query: ReadDb['read'], { state, column, is, timeMs }: DueRange) =>
    query
      .selectFrom(table)
      .select('id')
      .where('queue_state', '=', sql.lit(state))
      .where(column, is, timeMs)
  return {
    async readyDue(tx: Tx, input: DueInput) {
      let hasMore = false
      for (const range of dueRanges(input)) {
        const due = selectDue(tx.query, range).limit(DUE_STEP_ROWS)
        const ids = idsOf(await lockRows(tx, due, { skipLocked: true }).execute())
        if (ids.length === 0) continue
        if (range.state === 'leased') await takeBack(tx, ids)
        else {
          await tx.query
            .updateTable(table)
            .set({ queue_state: 'ready' })
            .where('id', 'in', ids)
            .execute()
        }
        hasMore ||= ids.length === DUE_STEP_ROWS
      }
      return hasMore
    },
    async hasDue(db: ReadDb, input: DueInput) {
      for (const range of dueRanges(input)) {
        const found = await selectDue(db.read, range).limit(1).executeTakeFirst()
        if (found !== undefined) return true
      }
      return false
    },
    async release(tx: Tx, { instance }: { instance: string | null }) {
      let leased = tx.query
        .selectFrom(table)
        .select('id')
        .where('queue_state', '=', sql.lit('leased'))
      if (instance !== null) {
        // Names that begin with the instance and a space.
        leased = leased
          .where('leased_by', '>', `${instance} `)
          .where('leased_by', '<', `${instance}!`)
      }
      await takeBack(tx, idsOf(await lockRows(tx, leased, { skipLocked: true }).execute()))
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

// What the queues of deliveries have in common, of mail and of webhooks: which accounts have something to
// take in which lanes, who holds what and until when, and what makes it ready again. All times are the
// queue's, which every process on the database shares.

import { type RawBuilder, type SqlBool, sql } from 'kysely'
import { CLOCK_SKEW_MS } from '#platform/clock.ts'
import { lockRows } from '#platform/db/dialect.ts'
import { statement } from '#platform/db/statement.ts'
import type { ReadDb, Row, Tables, Tx } from '#schema/tables.ts'
import type { Head, Share } from './dispatched-queue.ts'

/** Deliveries moved in one step from waiting to ready. */
const DUE_STEP_ROWS = 1_000

export type QueueTable = 'deliveries' | 'webhook_deliveries'
export type QueueState = 'ready' | 'waiting' | 'leased'

export type DueInput = { queueMs: number; backoffMaxMs: number; leaseMs: number }

type HeadsInput = Head & { lanesEach: number; limit: number }

export type LeasedQueue<Held> = {
  /**
   * The accounts with deliveries that nobody holds, each with up to `lanesEach` of its lanes, in order of
   * both and after this place: first other lanes of the account that it names. It costs accounts and lanes,
   * not deliveries.
   */
  listHeads(db: ReadDb, input: HeadsInput): Promise<Head[]>
  /** Of an account in a lane what nobody holds, the longest due first, for this transaction to lease. */
  selectReady(tx: Tx, input: Share): Promise<Held[]>
  /** Leases these and counts an attempt for each, at `attemptAtMs` where the outcome does not tell. */
  lease(tx: Tx, input: LeaseInput): Promise<void>
  /**
   * Lengthens the leases of these, as far as `worker` holds them. What is locked is being settled, or
   * is renewed the next time.
   */
  renew(tx: Tx, input: { worker: string; ids: string[]; untilMs: number }): Promise<void>
  /** Gives back what was not attempted; the attempt that the claim counted is not one. */
  giveBack(tx: Tx, input: { worker: string; ids: string[] }): Promise<void>
  /**
   * Makes ready what is due, and what was held by a process that is not heard of any more; up to
   * DUE_STEP_ROWS of each, true when there may be more.
   */
  readyDue(tx: Tx, input: DueInput): Promise<boolean>
  /** Whether `readyDue` would find something: a look, which costs no commit. */
  hasDue(db: ReadDb, input: DueInput): Promise<boolean>
  /**
   * Takes back the leases of an instance that has just started, or all of them where there can be no
   * other (null). Names of workers begin with their instance and a space.
   */
  release(tx: Tx, input: { instance: string | null }): Promise<void>
  /** How many are in this state of the queue, for metrics. */
  count(db: ReadDb, state: QueueState): Promise<number>
}

type LeaseInput = {
  worker: string
  ids: string[]
  attemptAtMs?: number
  leaseUntilMs: number
}

export const READY = { queue_state: 'ready', leased_by: null, lease_until: null } as const

/**
 * The queue in a table: `columns` are those that a holder gets; `takenBack` and `returned` are what is
 * noted with a delivery when the process that held it is gone, and when it gave it back unattempted;
 * `endLost` settles those that are not to be attempted again when their process is gone, and says which.
 */
export function leasedQueue<Name extends QueueTable, Column extends keyof Row<Name>>(options: {
  table: Name
  columns: readonly Column[]
  takenBack: Partial<Row<Name>>
  returned: { readonly last_attempt_at?: RawBuilder<number | null> }
  endLost?: (tx: Tx, ids: string[]) => Promise<string[]>
}): LeasedQueue<Pick<Row<Name>, Column>> {
  // For the compiler it is one of them: columns that only that one has are not to be named below.
  const table = options.table as 'deliveries'
  const queue = {
    ...lookSide(table, options.columns as readonly unknown[] as readonly (keyof AnyRow)[]),
    ...leaseSide(table, options.returned),
    ...dueSide(table, {
      takenBack: options.takenBack as Partial<AnyRow>,
      endLost: options.endLost ?? (() => Promise.resolve([])),
    }),
  }
  return queue as LeasedQueue<unknown> as LeasedQueue<Pick<Row<Name>, Column>>
}

/** Their ids. */
export function idsOf(rows: readonly { id: string }[]): string[] {
  return rows.map((row) => row.id)
}

type AnyRow = Row<'deliveries'>

/** As the index by account says it: an index by lane is no way to one account's. */
const IS_READY = sql<SqlBool>`queue_state >= 'ready' and queue_state <= 'ready'`

function lookSide(table: 'deliveries', columns: readonly (keyof AnyRow)[]) {
  const from = sql.table(table)
  // Each step goes from one row straight to the next: to the next lane of the account, to the end of its
  // lanes (null), or to the next account (before its first lane).
  const selectHeads = statement<Tables, HeadsInput, Head>((query, place, engine) => {
    // As the columns are compared.
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
  const selectReady = statement<Tables, Share, unknown>((query, place, engine) =>
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
  return {
    listHeads: (db: ReadDb, input: HeadsInput) => selectHeads(db.reading, input),
    selectReady,
    async count(db: ReadDb, state: QueueState) {
      const { count } = await db.read
        .selectFrom(table)
        .select((row) => row.fn.countAll<number>().as('count'))
        .where('queue_state', '=', sql.lit(state))
        .executeTakeFirstOrThrow()
      return count
    },
  }
}

function leaseSide(
  table: 'deliveries',
  returned: { readonly last_attempt_at?: RawBuilder<number | null> },
) {
  return {
    async lease(tx: Tx, { worker, ids, attemptAtMs, leaseUntilMs }: LeaseInput) {
      await tx.query
        .updateTable(table)
        .set((row) => ({
          queue_state: 'leased',
          attempts: row('attempts', '+', 1),
          ...(attemptAtMs !== undefined && { last_attempt_at: attemptAtMs }),
          leased_by: worker,
          lease_until: leaseUntilMs,
        }))
        .where('id', 'in', ids)
        .execute()
    },
    async renew(tx: Tx, input: { worker: string; ids: string[]; untilMs: number }) {
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
    async giveBack(tx: Tx, input: { worker: string; ids: string[] }) {
      if (input.ids.length === 0) return
      const leased = tx.query
        .selectFrom(table)
        .select('id')
        .where('id', 'in', input.ids)
        .where('leased_by', '=', input.worker)
        .orderBy('id')
      // In one order with all who lock several, so that no two wait for each other.
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

function dueSide(
  table: 'deliveries',
  options: {
    takenBack: Partial<AnyRow>
    endLost: (tx: Tx, ids: string[]) => Promise<string[]>
  },
) {
  const { takenBack } = options
  const takeBack = async (tx: Tx, lost: string[]) => {
    const ended = new Set(lost.length === 0 ? [] : await options.endLost(tx, lost))
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
        // Between the space and the character after it.
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
 * The past, and times further off than any backoff or lease: those were written before the clock was
 * set back. Each is looked for by itself, because for two ends of an index joined by "or" SQLite reads
 * all that is between them.
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

// Whose deliveries are ready, and of one account what is: the way to an account with little past any
// number of deliveries of others. Each step goes straight from one account, or lane, to the next.

import { type SqlBool, sql } from 'kysely'
import { lockRows } from '#platform/db/dialect.ts'
import { statement } from '#platform/db/statement.ts'
import type { ReadDb, Row, Tables, Tx } from '#schema/tables.ts'
import type { QueueTable } from './leased-queue-rows.ts'

export type ReadyOwners<Held> = {
  /** Accounts with deliveries that nobody holds, in order of their ids, after `after`. */
  listReadyOwners(db: ReadDb, input: { after: string; limit: number }): Promise<string[]>
  /** Lanes in which this account has such, in order of their names, after `after`. */
  listOwnerLanes(
    db: ReadDb,
    input: { owner: string; after: string; limit: number },
  ): Promise<string[]>
  /** Of this account in this lane, the longest due first, for this transaction to lease. */
  selectReadyOf(tx: Tx, input: { owner: string; lane: string; limit: number }): Promise<Held[]>
}

/** As the indexes by account say it: an index by lane is no way to one account's. */
const IS_READY = sql<SqlBool>`queue_state >= 'ready' and queue_state <= 'ready'`

/** Of the queue in a table; `columns` are those that a holder gets. */
export function readyOwners<Name extends QueueTable, Column extends keyof Row<Name>>(
  name: Name,
  columns: readonly Column[],
): ReadyOwners<Pick<Row<Name>, Column>> {
  // For the compiler it is one of them: columns that only that one has are not to be named below.
  const table = name as 'deliveries'
  const from = sql.table(table)
  const selectOwners = statement<Tables, { after: string; limit: number }, { name: string }>(
    (query, place) => ({
      compile: () =>
        sql<{ name: string }>`
          with recursive owners (name) as (
            select min(account_id) from ${from}
            where ${IS_READY} and account_id > ${place('after')}
            union all
            select (
              select min(${from}.account_id) from ${from}
              where ${IS_READY} and ${from}.account_id > owners.name
            )
            from owners where owners.name is not null
          )
          select name from owners where name is not null limit ${place('limit')}
        `.compile(query),
    }),
  )
  type LanesInput = { owner: string; sameOwner: string; after: string; limit: number }
  const selectLanes = statement<Tables, LanesInput, { name: string }>((query, place) => ({
    compile: () =>
      sql<{ name: string }>`
        with recursive lanes (name) as (
          select min(lane) from ${from}
          where ${IS_READY} and account_id = ${place('owner')}
            and lane > ${place('after')}
          union all
          select (
            select min(${from}.lane) from ${from}
            where ${IS_READY} and account_id = ${place('sameOwner')}
              and ${from}.lane > lanes.name
          )
          from lanes where lanes.name is not null
        )
        select name from lanes where name is not null limit ${place('limit')}
      `.compile(query),
  }))
  type ReadyInput = { owner: string; lane: string; limit: number }
  const selectReadyOf = statement<Tables, ReadyInput, unknown>((query, place, engine) =>
    lockRows(
      { engine },
      query
        .selectFrom(table)
        .select(columns as readonly unknown[] as readonly (keyof Row<'deliveries'>)[])
        .where(IS_READY)
        .where('account_id', '=', place('owner'))
        .where('lane', '=', place('lane'))
        .orderBy('next_attempt_at')
        .orderBy('id')
        .limit(place('limit')),
      { skipLocked: true },
    ),
  )
  const owners: ReadyOwners<unknown> = {
    listReadyOwners: async (db, input) => namesOf(await selectOwners(db.reading, input)),
    listOwnerLanes: async (db, input) =>
      namesOf(await selectLanes(db.reading, { ...input, sameOwner: input.owner })),
    selectReadyOf,
  }
  return owners as ReadyOwners<Pick<Row<Name>, Column>>
}

function namesOf(rows: readonly { name: string }[]): string[] {
  return rows.map(({ name }) => name)
}

/** Without those that come again: one transaction finds what it locked itself once more. */
export function eachOnce<Held extends { id: string }>(held: readonly Held[]): Held[] {
  return [...new Map(held.map((one) => [one.id, one])).values()]
}

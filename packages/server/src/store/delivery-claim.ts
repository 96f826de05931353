// The queue of deliveries: what is ready, who takes it and who holds it.

import { sql } from 'kysely'
import { MESSAGE_RECIPIENTS_MAX } from '#base/limits.ts'
import { lockRows } from '#db/dialect.ts'
import { statement } from '#db/statement.ts'
import type { ReadDb, Row, Tables, Tx } from './tables.ts'

/** A delivery in the hands of a worker. */
export type HeldDelivery = Pick<
  Row<'deliveries'>,
  | 'id'
  | 'account_id'
  | 'inbox_id'
  | 'message_id'
  | 'raw_id'
  | 'size_bytes'
  | 'needs_smtputf8'
  | 'recipient'
  | 'lane'
  | 'status'
  | 'attempts'
  | 'ambiguous_attempts'
  | 'expires_at'
>

/**
 * Lanes with deliveries that nobody holds, in order of their names, after `after`. From the first row
 * of one lane straight to the first of the next: what it costs is lanes, not deliveries.
 */
export function listReadyLanes(
  db: ReadDb,
  input: { after: string; limit: number },
): Promise<{ lane: string }[]> {
  return selectLanes(db.reading, input)
}

/**
 * Leases deliveries of these lanes, each lane's longest due first, and counts an attempt for each. The
 * recipients of a message go together, if need be beyond the limit.
 */
export async function claimDeliveries(
  tx: Tx,
  input: {
    worker: string
    lanes: { lane: string; limit: number }[]
    nowMs: number
    leaseUntilMs: number
  },
): Promise<HeldDelivery[]> {
  const held: HeldDelivery[] = []
  for (const lane of input.lanes) held.push(...(await selectWhole(tx, lane)))
  if (held.length === 0) return []
  const living = await dropOrphans(tx, held)
  for (const delivery of living) {
    delivery.attempts += 1
  }
  if (living.length === 0) return []
  await tx.query
    .updateTable('deliveries')
    .set((row) => ({
      queue_state: 'leased',
      attempts: row('attempts', '+', 1),
      last_attempt_at: input.nowMs,
      leased_by: input.worker,
      lease_until: input.leaseUntilMs,
    }))
    .where('id', 'in', idsOf(living))
    .execute()
  return living
}

/** The first of a lane, and with the last of them the rest of its message. */
async function selectWhole(
  tx: Tx,
  { lane, limit }: { lane: string; limit: number },
): Promise<HeldDelivery[]> {
  const first = await selectReady(tx, { lane, limit })
  const last = first.at(-1)
  if (last === undefined || first.length < limit) return first
  const siblings = await selectSiblings(tx, { lane, messageId: last.message_id })
  const known = new Set(idsOf(first))
  return [...first, ...siblings.filter(({ id }) => !known.has(id))]
}

/**
 * Of these, what `worker` still holds, with the end of each lease: not what another has taken over,
 * and not what belongs to an inbox that was deleted.
 */
export async function findHeld(
  db: ReadDb,
  input: { worker: string; ids: string[] },
): Promise<{ id: string; leaseUntilMs: number }[]> {
  const [only] = input.ids
  const rows =
    input.ids.length === 1 && only !== undefined
      ? await selectHeld(db.reading, { worker: input.worker, id: only })
      : await db.read
          .selectFrom('deliveries')
          .innerJoin('inboxes', 'inboxes.id', 'deliveries.inbox_id')
          .select(['deliveries.id', 'deliveries.lease_until'])
          .where('deliveries.id', 'in', input.ids)
          .where('deliveries.leased_by', '=', input.worker)
          .execute()
  return rows.map((row) => ({ id: row.id, leaseUntilMs: row.lease_until ?? 0 }))
}

/**
 * Lengthens the leases of these, as far as `worker` holds them. What is locked is being settled, or is
 * renewed the next time.
 */
export async function renewDeliveries(
  tx: Tx,
  input: { worker: string; ids: string[]; untilMs: number },
): Promise<void> {
  if (input.ids.length === 0) return
  const leased = tx.query
    .selectFrom('deliveries')
    .select('id')
    .where('id', 'in', input.ids)
    .where('leased_by', '=', input.worker)
  const held = idsOf(await lockRows(tx, leased, { skipLocked: true }).execute())
  if (held.length === 0) return
  await tx.query
    .updateTable('deliveries')
    .set({ lease_until: input.untilMs })
    .where('id', 'in', held)
    .execute()
}

/** Gives back deliveries that were not attempted; the attempt that the claim counted is not one. */
export async function returnDeliveries(
  tx: Tx,
  input: { worker: string; ids: string[] },
): Promise<void> {
  if (input.ids.length === 0) return
  await tx.query
    .updateTable('deliveries')
    .set((row) => ({
      ...READY,
      attempts: row('attempts', '-', 1),
      last_attempt_at: sql`case when attempts > 1 then last_attempt_at end`,
    }))
    .where('id', 'in', input.ids)
    .where('leased_by', '=', input.worker)
    .execute()
}

export const READY = { queue_state: 'ready', leased_by: null, lease_until: null } as const

/** Removes those whose inbox was deleted, and gives back the others. */
async function dropOrphans(tx: Tx, held: HeldDelivery[]): Promise<HeldDelivery[]> {
  const inboxIds = [...new Set(held.map((delivery) => delivery.inbox_id))]
  const rows = await tx.query
    .selectFrom('inboxes')
    .select('id')
    .where('id', 'in', inboxIds)
    .execute()
  if (rows.length === inboxIds.length) return held
  const living = new Set(rows.map((row) => row.id))
  const orphans = held.filter((delivery) => !living.has(delivery.inbox_id))
  await tx.query.deleteFrom('deliveries').where('id', 'in', idsOf(orphans)).execute()
  return held.filter((delivery) => living.has(delivery.inbox_id))
}

/** Their ids. */
export function idsOf(rows: readonly { id: string }[]): string[] {
  return rows.map((row) => row.id)
}

const selectLanes = statement<Tables, { after: string; limit: number }, { lane: string }>(
  (query, place) => ({
    compile: () =>
      sql<{ lane: string }>`
        with recursive lanes (lane) as (
          select min(lane) from deliveries
          where queue_state = 'ready' and lane > ${place('after')}
          union all
          select (
            select min(deliveries.lane) from deliveries
            where queue_state = 'ready' and deliveries.lane > lanes.lane
          )
          from lanes where lanes.lane is not null
        )
        select lane from lanes where lane is not null limit ${place('limit')}
      `.compile(query),
  }),
)

const HELD_COLUMNS = [
  'id',
  'account_id',
  'inbox_id',
  'message_id',
  'raw_id',
  'size_bytes',
  'needs_smtputf8',
  'recipient',
  'lane',
  'status',
  'attempts',
  'ambiguous_attempts',
  'expires_at',
] as const

const selectReady = statement<Tables, { lane: string; limit: number }, HeldDelivery>(
  (query, place, engine) =>
    lockRows(
      { engine },
      query
        .selectFrom('deliveries')
        .select(HELD_COLUMNS)
        .where('queue_state', '=', sql.lit('ready'))
        .where('lane', '=', place('lane'))
        .orderBy('next_attempt_at')
        .orderBy('id')
        .limit(place('limit')),
      { skipLocked: true },
    ),
)

const selectSiblings = statement<Tables, { lane: string; messageId: string }, HeldDelivery>(
  (query, place, engine) =>
    lockRows(
      { engine },
      query
        .selectFrom('deliveries')
        .select(HELD_COLUMNS)
        .where('message_id', '=', place('messageId'))
        .where('queue_state', '=', sql.lit('ready'))
        .where('lane', '=', place('lane'))
        .orderBy('id')
        .limit(sql.lit(MESSAGE_RECIPIENTS_MAX)),
      { skipLocked: true },
    ),
)

const selectHeld = statement<
  Tables,
  { worker: string; id: string },
  Pick<Row<'deliveries'>, 'id' | 'lease_until'>
>((query, place) =>
  query
    .selectFrom('deliveries')
    .innerJoin('inboxes', 'inboxes.id', 'deliveries.inbox_id')
    .select(['deliveries.id', 'deliveries.lease_until'])
    .where('deliveries.id', '=', place('id'))
    .where('deliveries.leased_by', '=', place('worker')),
)

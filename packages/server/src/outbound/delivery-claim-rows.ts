// The queue of deliveries: what is ready, who takes it and who holds it.

import { sql } from 'kysely'
import { transaction } from '#platform/db/db.ts'
import { lockRows } from '#platform/db/dialect.ts'
import { statement } from '#platform/db/statement.ts'
import type { Share } from '#queue/dispatched-queue.ts'
import { idsOf, leasedQueue } from '#queue/leased-queue-rows.ts'
import type { ReadDb, Row, Tables, Tx } from '#schema/tables.ts'

/** `to`, fifty `cc` and whoever copied the inbox. */
const MESSAGE_RECIPIENTS_MAX = 52

/** A delivery in the hands of a worker. */
export type HeldDelivery = Pick<Row<'deliveries'>, (typeof HELD_COLUMNS)[number]>

const HELD_COLUMNS = [
  'id',
  'account_id',
  'inbox_id',
  'message_id',
  'raw_id',
  'size_bytes',
  'needs_smtputf8',
  'recipient',
  'return_path',
  'lane',
  'status',
  'attempts',
  'ambiguous_attempts',
  'expires_at',
  'trace_parent',
] as const

const queue = leasedQueue({
  table: 'deliveries',
  columns: HELD_COLUMNS,
  // What the process that held them may have sent is sent again, byte for byte.
  takenBack: {
    response_code: null,
    enhanced_code: null,
    response: 'The service stopped during an attempt, which is made again.',
  },
  // The time of the claim, where an attempt was made before it.
  returned: {
    last_attempt_at: sql<number | null>`case when attempts > 1 then last_attempt_at end`,
  },
})

/** See `LeasedQueue`. */
export const { listHeads, hasDue: hasDueDeliveries, count: countQueue } = queue

export const renewDeliveries = transaction({
  name: 'renewDeliveries',
  accountOf: () => null,
  essential: true,
  run: queue.renew,
})

export const returnDeliveries = transaction({
  name: 'returnDeliveries',
  accountOf: () => null,
  essential: true,
  run: queue.giveBack,
})

export const readyDueDeliveries = transaction({
  name: 'readyDueDeliveries',
  accountOf: () => null,
  essential: true,
  run: queue.readyDue,
})

export const releaseDeliveries = transaction({
  name: 'releaseDeliveries',
  accountOf: () => null,
  essential: true,
  run: queue.release,
})

/**
 * Leases deliveries of these heads, of each the longest due first, and counts an attempt for each. The
 * recipients of a message go together, if need be beyond the limit.
 */
export const claimDeliveries = transaction({
  name: 'claimDeliveries',
  accountOf: () => null,
  essential: true,
  async run(
    tx: Tx,
    input: {
      worker: string
      heads: Share[]
      nowMs: number
      leaseUntilMs: number
    },
  ): Promise<HeldDelivery[]> {
    const held: HeldDelivery[] = []
    for (const head of input.heads) held.push(...(await selectWhole(tx, head)))
    if (held.length === 0) return []
    const living = await dropOrphans(tx, held)
    for (const delivery of living) {
      delivery.attempts += 1
    }
    if (living.length === 0) return []
    const { worker, nowMs, leaseUntilMs } = input
    await queue.lease(tx, { worker, ids: idsOf(living), attemptAtMs: nowMs, leaseUntilMs })
    return living
  },
})

/** The first of a head, and with the last of them the rest of its message. */
async function selectWhole(tx: Tx, head: Share): Promise<HeldDelivery[]> {
  const first = await queue.selectReady(tx, head)
  const last = first.at(-1)
  if (last === undefined || first.length < head.limit) return first
  const siblings = await selectSiblings(tx, { lane: head.lane, messageId: last.message_id })
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

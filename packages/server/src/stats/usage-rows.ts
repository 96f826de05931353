// The rows of daily figures of inboxes, added by the transaction that adds the hours of their account.

import { DAY_MS } from '#platform/units.ts'
import { PURGE_STEP_ROWS } from '#schema/purge-steps.ts'
import type { Page, ReadDb, Tx } from '#schema/tables.ts'

export type MailCounts = { received: number; sent: number; failed: number }

export type InboxUsage = MailCounts & {
  inboxId: string
  /** Null when the inbox is deleted. */
  address: string | null
  storedBytes: number
}

/** Days from `sinceMs` up to `untilMs`, which is not included; both are midnights. */
export type Days = { accountId: string; sinceMs: number; untilMs: number }

/** Adds the figures of an hour to the day of each inbox. */
export async function addInboxDays(
  tx: Tx,
  hour: { accountId: string; hourAtMs: number; inboxes: Readonly<Record<string, MailCounts>> },
): Promise<void> {
  const { accountId, hourAtMs, inboxes } = hour
  for (const [inboxId, { received, sent, failed }] of Object.entries(inboxes)) {
    await tx.query
      .insertInto('inbox_days')
      .values({
        account_id: accountId,
        day_at: Math.floor(hourAtMs / DAY_MS) * DAY_MS,
        inbox_id: inboxId,
        received,
        sent,
        failed,
      })
      .onConflict((conflict) =>
        conflict.columns(['account_id', 'day_at', 'inbox_id']).doUpdateSet(({ eb, ref }) => ({
          received: eb(ref('inbox_days.received'), '+', ref('excluded.received')),
          sent: eb(ref('inbox_days.sent'), '+', ref('excluded.sent')),
          failed: eb(ref('inbox_days.failed'), '+', ref('excluded.failed')),
        })),
      )
      .execute()
  }
}

/** Inboxes with mail in these days, the one with the most messages first, and the sums over all of them. */
export async function listInboxUsage(
  db: ReadDb,
  { accountId, sinceMs, untilMs, limit, offset }: Days & Page,
): Promise<{ entries: InboxUsage[]; total: number; totals: MailCounts }> {
  const rows = await db.read
    .selectFrom('inbox_days')
    .select(({ fn }) => [
      'inbox_id',
      fn.sum<number | string>('received').as('received'),
      fn.sum<number | string>('sent').as('sent'),
      fn.sum<number | string>('failed').as('failed'),
    ])
    .where('account_id', '=', accountId)
    .where('day_at', '>=', sinceMs)
    .where('day_at', '<', untilMs)
    .groupBy('inbox_id')
    .orderBy('inbox_id')
    .execute()
  const counted = rows.map((row) => ({ inboxId: row.inbox_id, ...countsOf(row) }))
  const sizeOf = ({ received, sent, failed }: MailCounts) => received + sent + failed
  const page = counted.toSorted((a, b) => sizeOf(b) - sizeOf(a)).slice(offset, offset + limit)
  const inboxes = await findInboxes(db, { accountId, ids: page.map(({ inboxId }) => inboxId) })
  return {
    entries: page.map((entry) => {
      const inbox = inboxes.get(entry.inboxId)
      return { ...entry, address: inbox?.address ?? null, storedBytes: inbox?.storedBytes ?? 0 }
    }),
    total: counted.length,
    totals: sumOf(counted),
  }
}

/** Sums of `bigint` are texts on PostgreSQL. */
export function countsOf(row: { [Name in keyof MailCounts]: number | string | null }): MailCounts {
  return {
    received: Number(row.received ?? 0),
    sent: Number(row.sent ?? 0),
    failed: Number(row.failed ?? 0),
  }
}

function sumOf(entries: readonly MailCounts[]): MailCounts {
  const sum = { received: 0, sent: 0, failed: 0 }
  for (const entry of entries) {
    sum.received += entry.received
    sum.sent += entry.sent
    sum.failed += entry.failed
  }
  return sum
}

async function findInboxes(
  db: ReadDb,
  { accountId, ids }: { accountId: string; ids: string[] },
): Promise<Map<string, { address: string; storedBytes: number }>> {
  if (ids.length === 0) return new Map()
  const rows = await db.read
    .selectFrom('inboxes')
    .innerJoin('inbox_counters', 'inbox_counters.inbox_id', 'inboxes.id')
    .select([
      'inboxes.id',
      'inboxes.address',
      'inbox_counters.stored_bytes',
      'inbox_counters.quarantined_bytes',
    ])
    .where('inboxes.account_id', '=', accountId)
    .where('inboxes.id', 'in', ids)
    .execute()
  return new Map(
    rows.map((row) => [
      row.id,
      {
        address: row.address,
        storedBytes: Number(row.stored_bytes) + Number(row.quarantined_bytes),
      },
    ]),
  )
}

/** Removes up to PURGE_STEP_ROWS expired days, and returns their number. */
export async function purgeInboxDays(tx: Tx, untilMs: number): Promise<number> {
  const removed = await tx.query
    .deleteFrom('inbox_days')
    .where(({ eb, refTuple, selectFrom }) =>
      eb(
        refTuple('account_id', 'day_at', 'inbox_id'),
        'in',
        selectFrom('inbox_days')
          .select(['account_id', 'day_at', 'inbox_id'])
          .where('day_at', '<', untilMs)
          .limit(PURGE_STEP_ROWS)
          .$asTuple('account_id', 'day_at', 'inbox_id'),
      ),
    )
    .returning('day_at')
    .execute()
  return removed.length
}

// Daily figures count each event once, because the same transaction moves the reader's offset.

import type { LogOffset } from '#events/model.ts'
import { moveReader } from '#events/store/readers.ts'
import { transaction } from '#platform/db/db.ts'
import { forEachRow, rowInsert, rowSelect } from '#platform/db/statement.ts'
import { PURGE_STEP_ROWS } from '#store/purge-steps.ts'
import type { Page, ReadDb, Row, Tables, Tx } from '#store/tables.ts'

export type MailCounts = { received: number; sent: number; failed: number }

export type InboxUsage = MailCounts & {
  inboxId: string
  address: string
  storedBytes: number
}

export const NO_MAIL: MailCounts = { received: 0, sent: 0, failed: 0 }

/** Both times are midnights. The period includes `sinceMs` and excludes `untilMs`. */
export type Days = { accountId: string; sinceMs: number; untilMs: number }

/** Returns false and adds nothing if the reader is not at `from`. Deleted inboxes are skipped. */
export const addInboxDays = transaction({
  name: 'addInboxDays',
  accountOf: () => null,
  async run(
    tx: Tx,
    { from, to, days }: { from: LogOffset; to: LogOffset; days: Row<'inbox_days'>[] },
  ): Promise<boolean> {
    if (!(await moveReader(tx, { name: 'inbox_days', from, to }))) return false
    const ids = new Set(days.map(({ inbox_id }) => inbox_id))
    const found = await selectInboxes(
      tx,
      [...ids].map((id) => ({ id })),
    )
    const known = new Set(found.map(({ id }) => id))
    await upsertDays(
      tx,
      days.filter(({ inbox_id }) => known.has(inbox_id)),
    )
    return true
  },
})

const selectInboxes = forEachRow(
  rowSelect<Tables, { id: string }, { id: string }>('inboxes', (query, given) =>
    query.selectFrom('inboxes').select('id').where('id', '=', given('id')),
  ),
)

const upsertDays = forEachRow(
  rowInsert<Tables, Row<'inbox_days'>>(
    'inbox_days',
    ['account_id', 'day_at', 'inbox_id', 'received', 'sent', 'failed'],
    `on conflict (account_id, day_at, inbox_id) do update set
      received = inbox_days.received + excluded.received,
      sent = inbox_days.sent + excluded.sent,
      failed = inbox_days.failed + excluded.failed`,
  ),
)

/** Lists inboxes with the most messages first; `totals` covers all inboxes. */
export async function listInboxUsage(
  db: ReadDb,
  { accountId, sinceMs, untilMs, limit, offset }: Days & Page,
): Promise<{ entries: InboxUsage[]; total: number; totals: MailCounts }> {
  const rows = await db.read
    .selectFrom('inbox_days')
    .innerJoin('inboxes', 'inboxes.id', 'inbox_days.inbox_id')
    .select(({ fn }) => [
      'inbox_days.inbox_id',
      'inboxes.address',
      fn.sum<number | string>('received').as('received'),
      fn.sum<number | string>('sent').as('sent'),
      fn.sum<number | string>('failed').as('failed'),
    ])
    .where('inbox_days.account_id', '=', accountId)
    .where('inbox_days.day_at', '>=', sinceMs)
    .where('inbox_days.day_at', '<', untilMs)
    .groupBy(['inbox_days.inbox_id', 'inboxes.address'])
    .orderBy('inbox_days.inbox_id')
    .execute()
  const counted = rows.map((row) => {
    return { inboxId: row.inbox_id, address: row.address, ...countsOf(row) }
  })
  const sizeOf = ({ received, sent, failed }: MailCounts) => received + sent + failed
  const page = counted.toSorted((a, b) => sizeOf(b) - sizeOf(a)).slice(offset, offset + limit)
  const stored = await findStored(
    db,
    page.map(({ inboxId }) => inboxId),
  )
  return {
    entries: page.map((entry) => ({ ...entry, storedBytes: stored.get(entry.inboxId) ?? 0 })),
    total: counted.length,
    totals: sumOf(counted),
  }
}

/** PostgreSQL returns sums of `bigint` as text. */
export function countsOf(row: { [Name in keyof MailCounts]: number | string | null }): MailCounts {
  return {
    received: Number(row.received ?? 0),
    sent: Number(row.sent ?? 0),
    failed: Number(row.failed ?? 0),
  }
}

function sumOf(entries: readonly MailCounts[]): MailCounts {
  const sum = { ...NO_MAIL }
  for (const entry of entries) {
    sum.received += entry.received
    sum.sent += entry.sent
    sum.failed += entry.failed
  }
  return sum
}

async function findStored(db: ReadDb, inboxIds: string[]): Promise<Map<string, number>> {
  if (inboxIds.length === 0) return new Map()
  const rows = await db.read
    .selectFrom('inbox_counters')
    .select(['inbox_id', 'stored_bytes', 'quarantined_bytes'])
    .where('inbox_id', 'in', inboxIds)
    .execute()
  return new Map(
    rows.map((row) => [row.inbox_id, Number(row.stored_bytes) + Number(row.quarantined_bytes)]),
  )
}

export async function deleteInboxDays(tx: Tx, inboxId: string): Promise<void> {
  await tx.query.deleteFrom('inbox_days').where('inbox_id', '=', inboxId).execute()
}

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

// Counts the bytes that each inbox of an account stores, and separately its exports, imports and
// uploads.

import { insertEvent } from '#events/store/append.ts'
import { transaction } from '#platform/db/db.ts'
import { statement } from '#platform/db/statement.ts'
import type { ReadDb, Tables, Tx } from '#store/tables.ts'

export type Stored = {
  storedBytes: number
  /** The time when mail to the account was first refused, or null while it is accepted. */
  exceededAtMs: number | null
}

/** Adds up the counters of all inboxes; a plan allows a few hundred. */
export async function readStored(db: ReadDb, accountId: string): Promise<Stored> {
  const [row] = await selectStored(db.reading, { accountId })
  const stored = Number(row?.stored ?? 0) + Number(row?.kept ?? 0)
  return { storedBytes: stored, exceededAtMs: row?.exceeded_at ?? null }
}

const selectStored = statement<
  Tables,
  { accountId: string },
  { stored: number | string | null; kept: number | string | null; exceeded_at: number | null }
>((query, given) =>
  query
    .selectFrom('accounts')
    .leftJoin('inboxes', 'inboxes.account_id', 'accounts.id')
    .leftJoin('inbox_counters', 'inbox_counters.inbox_id', 'inboxes.id')
    .select(({ fn, eb, ref, selectFrom }) => [
      fn
        .sum<number | string | null>(
          eb(ref('inbox_counters.stored_bytes'), '+', ref('inbox_counters.quarantined_bytes')),
        )
        .as('stored'),
      selectFrom('reviews')
        .select((row) => row.fn.sum<number | string | null>('kept_bytes').as('bytes'))
        .whereRef('reviews.account_id', '=', 'accounts.id')
        .where('reviews.kept_until', 'is not', null)
        .as('kept'),
      'accounts.quota_exceeded_at as exceeded_at',
    ])
    .where('accounts.id', '=', given('accountId'))
    .groupBy(['accounts.id', 'accounts.quota_exceeded_at']),
)

export async function readFileBytes(db: ReadDb, accountId: string): Promise<number> {
  const [[transfers], [uploads]] = await Promise.all([
    selectFileBytes(db.reading, { accountId }),
    selectUploadBytes(db.reading, { accountId }),
  ])
  return Number(transfers?.bytes ?? 0) + Number(uploads?.bytes ?? 0)
}

const selectUploadBytes = statement<
  Tables,
  { accountId: string },
  { bytes: number | string | null }
>((query, given) =>
  query
    .selectFrom('uploads')
    .select(({ fn }) => fn.sum<number | string | null>('size_bytes').as('bytes'))
    .where('account_id', '=', given('accountId')),
)

const selectFileBytes = statement<Tables, { accountId: string }, { bytes: number | string | null }>(
  (query, given) =>
    query
      .selectFrom('transfers')
      .select(({ fn }) => fn.sum<number | string | null>('size_bytes').as('bytes'))
      .where('account_id', '=', given('accountId'))
      .where('kind', 'in', ['export', 'import'])
      .where(({ eb, or, and }) =>
        or([
          eb('completed_at', 'is', null),
          and([eb('kind', '=', 'export'), eb('status', '=', 'done')]),
        ]),
      ),
)

/** Returns whether the status changed. The first refusal emits an event. */
export const noteQuota = transaction({
  name: 'noteQuota',
  accountOf: ({ accountId }) => accountId,
  async run(
    tx: Tx,
    input: {
      accountId: string
      eventId: string
      isExceeded: boolean
      storedBytes: number
      limitBytes: number
      nowMs: number
    },
  ): Promise<boolean> {
    const { accountId, isExceeded, nowMs } = input
    const changed = await tx.query
      .updateTable('accounts')
      .set({ quota_exceeded_at: isExceeded ? nowMs : null })
      .where('id', '=', accountId)
      .where('quota_exceeded_at', isExceeded ? 'is' : 'is not', null)
      .returning('id')
      .executeTakeFirst()
    if (changed === undefined) return false
    if (!isExceeded) return true
    const storage = { stored_bytes: input.storedBytes, limit_bytes: input.limitBytes }
    await insertEvent(tx, {
      id: input.eventId,
      kind: 'account.quota_exceeded',
      account_id: accountId,
      pod_id: null,
      inbox_id: null,
      thread_id: null,
      message_id: null,
      occurred_at: nowMs,
      details: JSON.stringify({ storage }),
    })
    return true
  },
})

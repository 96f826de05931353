// The queue of mail to approvers: what is new, gathered into a mail for each, and leased while it is sent.

import { listApproversToTell } from '#accounts/accounts-rows.ts'
import { transaction } from '#platform/db/db.ts'
import { lockRows } from '#platform/db/dialect.ts'
import { type ReadDb, type Row, readIn, type Tx } from '#schema/tables.ts'

export type ReviewMail = {
  id: string
  approverId: string
  accountId: string
  reviewIds: string[]
  /** With this one. */
  attempts: number
  expiresAtMs: number
}

/** An account with a review that was held at `dueMs` or before and that nobody was told of; null for none. */
export async function findAccountWithNews(db: ReadDb, dueMs: number): Promise<string | null> {
  const row = await db.read
    .selectFrom('review_news')
    .select('account_id')
    .where('created_at', '<=', dueMs)
    .orderBy('created_at')
    .limit(1)
    .executeTakeFirst()
  return row?.account_id ?? null
}

/** Makes one mail for each approver with an address of all that is new in the account; none where `mail` is null. */
export const gatherReviewMail = transaction({
  name: 'gatherReviewMail',
  accountOf: ({ accountId }) => accountId,
  essential: true,
  async run(
    tx: Tx,
    input: {
      accountId: string
      mail: { id: string; expiresAtMs: number } | null
      nowMs: number
    },
  ): Promise<void> {
    const { accountId, mail, nowMs } = input
    const news = await tx.query
      .deleteFrom('review_news')
      .where('account_id', '=', accountId)
      .returning('review_id')
      .execute()
    const ids = news.map(({ review_id }) => review_id).sort()
    // Another process may have gathered them.
    if (ids.length === 0 || mail === null) return
    const approverIds = await listApproversToTell(readIn(tx), accountId)
    if (approverIds.length === 0) return
    await tx.query
      .insertInto('review_mails')
      .values(
        approverIds.map((approverId) => ({
          id: mail.id,
          approver_id: approverId,
          account_id: accountId,
          review_ids: JSON.stringify(ids),
          attempts: 0,
          next_attempt_at: nowMs,
          expires_at: mail.expiresAtMs,
        })),
      )
      .execute()
  },
})

export async function hasDueReviewMail(db: ReadDb, nowMs: number): Promise<boolean> {
  const row = await db.read
    .selectFrom('review_mails')
    .select('id')
    .where('next_attempt_at', '<=', nowMs)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** Mails that are due, which no other process gets until `leaseMs` are over. */
export const claimReviewMail = transaction({
  name: 'claimReviewMail',
  accountOf: () => null,
  essential: true,
  async run(
    tx: Tx,
    { nowMs, leaseMs, limit }: { nowMs: number; leaseMs: number; limit: number },
  ): Promise<ReviewMail[]> {
    const due = tx.query
      .selectFrom('review_mails')
      .selectAll()
      .where('next_attempt_at', '<=', nowMs)
      .orderBy('next_attempt_at')
      .limit(limit)
    const rows = await lockRows(tx, due, { skipLocked: true }).execute()
    for (const { id, approver_id } of rows) {
      await tx.query
        .updateTable('review_mails')
        .set((row) => ({ next_attempt_at: nowMs + leaseMs, attempts: row('attempts', '+', 1) }))
        .where('id', '=', id)
        .where('approver_id', '=', approver_id)
        .execute()
    }
    return rows.map(toMail)
  },
})

/** Null: it is sent, or never will be. */
export const settleReviewMail = transaction({
  name: 'settleReviewMail',
  accountOf: ({ accountId }) => accountId,
  essential: true,
  async run(
    tx: Tx,
    input: Pick<ReviewMail, 'id' | 'approverId' | 'accountId'> & { nextAttemptAtMs: number | null },
  ): Promise<void> {
    const { id, approverId, nextAttemptAtMs } = input
    if (nextAttemptAtMs === null) {
      await tx.query
        .deleteFrom('review_mails')
        .where('id', '=', id)
        .where('approver_id', '=', approverId)
        .execute()
      return
    }
    await tx.query
      .updateTable('review_mails')
      .set({ next_attempt_at: nextAttemptAtMs })
      .where('id', '=', id)
      .where('approver_id', '=', approverId)
      .execute()
  },
})

function toMail(row: Row<'review_mails'>): ReviewMail {
  return {
    id: row.id,
    approverId: row.approver_id,
    accountId: row.account_id,
    reviewIds: JSON.parse(row.review_ids) as string[],
    attempts: row.attempts + 1,
    expiresAtMs: row.expires_at,
  }
}

// The queue of mail to approvers: what is new, gathered into a mail for each, and leased while it is sent.

import { listApproversToTell } from '#accounts/accounts-rows.ts'
import { transaction } from '#platform/db/db.ts'
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

type Key = Pick<ReviewMail, 'id' | 'approverId' | 'accountId'>

/** The mail that is due longest in the account whose turn it is after `after`, except `busy` accounts; null for none. */
export async function findDueReviewMail(
  db: ReadDb,
  { nowMs, after, busy }: { nowMs: number; after: string; busy: readonly string[] },
): Promise<Key | null> {
  const allDue = db.read.selectFrom('review_mails').where('next_attempt_at', '<=', nowMs)
  // By the index of times. That by account would pass all that wait for another attempt.
  if ((await allDue.select('id').limit(1).executeTakeFirst()) === undefined) return null
  let due = allDue
    .select(['id', 'approver_id as approverId', 'account_id as accountId'])
    .orderBy('account_id')
    .orderBy('next_attempt_at')
    .limit(1)
  if (busy.length > 0) due = due.where('account_id', 'not in', busy)
  const from = (accountId: string) => due.where('account_id', '>', accountId).executeTakeFirst()
  return (await from(after)) ?? (await from('')) ?? null
}

/** The mail, which no other process gets until `leaseMs` are over; null if another one has it. */
export const claimReviewMail = transaction({
  name: 'claimReviewMail',
  accountOf: ({ accountId }) => accountId,
  essential: true,
  async run(
    tx: Tx,
    { id, approverId, nowMs, leaseMs }: Key & { nowMs: number; leaseMs: number },
  ): Promise<ReviewMail | null> {
    const row = await tx.query
      .updateTable('review_mails')
      .set((columns) => ({
        next_attempt_at: nowMs + leaseMs,
        attempts: columns('attempts', '+', 1),
      }))
      .where('id', '=', id)
      .where('approver_id', '=', approverId)
      .where('next_attempt_at', '<=', nowMs)
      .returningAll()
      .executeTakeFirst()
    return row === undefined ? null : toMail(row)
  },
})

/** Null: it is sent, or never will be. */
export const settleReviewMail = transaction({
  name: 'settleReviewMail',
  accountOf: ({ accountId }) => accountId,
  essential: true,
  async run(tx: Tx, input: Key & { nextAttemptAtMs: number | null }): Promise<void> {
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
    attempts: row.attempts,
    expiresAtMs: row.expires_at,
  }
}

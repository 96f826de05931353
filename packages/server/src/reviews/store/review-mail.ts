import { listApproversWithEmail } from '#accounts/store/approvers.ts'
import { transaction } from '#platform/db/db.ts'
import { insertJobs } from '#queue/jobs.ts'
import { type ReadDb, readIn, type Tx } from '#store/tables.ts'

export type ReviewMail = { approverId: string; reviewIds: string[]; expiresAtMs: number }

/** Finds an account with unreported reviews since `dueMs` or earlier. */
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

/** Queues one mail per approver with an address, or discards the news if `mail` is null. */
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
    // Another process may have gathered the reviews.
    if (ids.length === 0 || mail === null) return
    const approverIds = await listApproversWithEmail(readIn(tx), accountId)
    if (approverIds.length === 0) return
    await insertJobs(
      tx,
      approverIds.map((approverId) => ({
        kind: 'review mail',
        key: `${mail.id}.${approverId}`,
        account_id: accountId,
        due_at: nowMs,
        payload: JSON.stringify({
          approverId,
          reviewIds: ids,
          expiresAtMs: mail.expiresAtMs,
        } satisfies ReviewMail),
      })),
    )
  },
})

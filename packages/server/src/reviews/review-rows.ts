// Reviews of held mail, from rows. `outbound` writes them in the transactions that hold, release and end a send.

import type { ReviewContent } from '@mailroom/contract/reviews.ts'
import type { HoldReason } from '@mailroom/contract/sending.ts'
import type { ReviewStatus } from '@mailroom/contract/vocabulary.ts'
import { COUNTED_MAX } from '@mailroom/contract/vocabulary.ts'
import type { ReadDb, Row } from '#schema/tables.ts'

/** What the digest covers and the message does not have. */
type StoredContent = Omit<ReviewContent, 'subject' | 'bodyText' | 'bodyHtml'>

export type Review = {
  id: string
  accountId: string
  inboxId: string
  threadId: string
  messageId: string
  status: ReviewStatus
  reasons: HoldReason[]
  digest: string
  content: StoredContent
  subject: string
  createdAtMs: number
  expiresAtMs: number
  decidedAtMs: number | null
  decidedBy: string | null
  decidedReason: string | null
}

/** The account's review with this id, or null. */
export async function findReview(
  db: ReadDb,
  { accountId, reviewId }: { accountId: string; reviewId: string },
): Promise<Review | null> {
  const row = await selectReviews(db, accountId)
    .where('reviews.id', '=', reviewId)
    .executeTakeFirst()
  return row === undefined ? null : toReview(row)
}

/** Newest first; the total stops at COUNTED_MAX. */
export async function listReviews(
  db: ReadDb,
  input: {
    accountId: string
    status: ReviewStatus | null
    inboxId: string | null
    limit: number
    offset: number
  },
): Promise<{ reviews: Review[]; total: number }> {
  const { accountId, status, inboxId, limit, offset } = input
  let listed = selectReviews(db, accountId)
  if (status !== null) listed = listed.where('reviews.status', '=', status)
  if (inboxId !== null) listed = listed.where('reviews.inbox_id', '=', inboxId)
  const rows = await listed.orderBy('reviews.id', 'desc').limit(limit).offset(offset).execute()
  const counted = listed.clearSelect().select('reviews.id').limit(COUNTED_MAX).as('counted')
  const { total } = await db.read
    .selectFrom(counted)
    .select(({ fn }) => fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow()
  return { reviews: rows.map(toReview), total: Number(total) }
}

/** Pending reviews of all accounts whose time is over, the oldest first. */
export async function listExpiredReviews(
  db: ReadDb,
  { nowMs, limit }: { nowMs: number; limit: number },
): Promise<{ id: string; accountId: string; messageId: string }[]> {
  return db.read
    .selectFrom('reviews')
    .select(['id', 'account_id as accountId', 'message_id as messageId'])
    .where('status', '=', 'pending')
    .where('expires_at', '<=', nowMs)
    .orderBy('expires_at')
    .limit(limit)
    .execute()
}

function selectReviews(db: ReadDb, accountId: string) {
  return db.read
    .selectFrom('reviews')
    .innerJoin('messages', 'messages.id', 'reviews.message_id')
    .selectAll('reviews')
    .select('messages.subject')
    .where('reviews.account_id', '=', accountId)
}

function toReview(row: Row<'reviews'> & { subject: string }): Review {
  return {
    id: row.id,
    accountId: row.account_id,
    inboxId: row.inbox_id,
    threadId: row.thread_id,
    messageId: row.message_id,
    status: row.status as ReviewStatus,
    reasons: JSON.parse(row.reasons) as HoldReason[],
    digest: row.digest,
    content: JSON.parse(row.content) as StoredContent,
    subject: row.subject,
    createdAtMs: row.created_at,
    expiresAtMs: row.expires_at,
    decidedAtMs: row.decided_at,
    decidedBy: row.decided_by,
    decidedReason: row.decided_reason,
  }
}

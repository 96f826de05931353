// Reviews from the hold to the decision. Each function runs in a transaction of `outbound`.

import type { HoldReason } from '@mailroom/contract/sending.ts'
import { sql } from 'kysely'
import { insertAudit } from '#accounts/store/audit.ts'
import { presentTime } from '#platform/clock.ts'
import { statement } from '#platform/db/statement.ts'
import type { ReadDb, Row, Tables, Tx } from '#store/tables.ts'
import { insertReviewEvent } from './review-events.ts'

/** The reason of a review that ended because its message was removed. */
export const MESSAGE_DELETED = 'message_deleted'

export type NewHold = {
  reviewId: string
  reasons: HoldReason[]
  findingHashes: readonly string[]
  digest: string
  equalKey: string
  /** JSON of the digested values that the message does not have. */
  content: string
  expiresAtMs: number
  eventId: string
}

export async function insertReview(
  tx: Tx,
  message: Pick<Row<'messages'>, 'id' | 'account_id' | 'inbox_id' | 'thread_id'>,
  { hold, nowMs }: { hold: NewHold; nowMs: number },
): Promise<void> {
  await tx.query
    .insertInto('reviews')
    .values({
      id: hold.reviewId,
      account_id: message.account_id,
      inbox_id: message.inbox_id,
      thread_id: message.thread_id,
      message_id: message.id,
      status: 'pending',
      reasons: JSON.stringify(hold.reasons),
      finding_hashes: hashesColumn(hold.findingHashes),
      digest: hold.digest,
      content: hold.content,
      expires_at: hold.expiresAtMs,
      decided_at: null,
      decided_by: null,
      decided_reason: null,
      equal_key: hold.equalKey,
      created_at: nowMs,
    })
    .execute()
  await tx.query
    .insertInto('review_news')
    .values({ review_id: hold.reviewId, account_id: message.account_id, created_at: nowMs })
    .execute()
  await insertReviewEvent(tx, hold.reviewId, {
    kind: 'review.created',
    of: hold.reviewId,
    details: {
      status: 'pending',
      reason: null,
      digest: hold.digest,
      reasons: hold.reasons,
      expires_at: presentTime(hold.expiresAtMs),
    },
    nowMs,
  })
}

export function hashesColumn(hashes: readonly string[]): string | null {
  return hashes.length === 0 ? null : JSON.stringify(hashes)
}

export async function findDigest(tx: Tx, reviewId: string): Promise<string> {
  const { digest } = await tx.query
    .selectFrom('reviews')
    .select('digest')
    .where('id', '=', reviewId)
    .executeTakeFirstOrThrow()
  return digest
}

/** Also adds an entry to the audit. */
export async function endReview(
  tx: Tx,
  reviewId: string,
  end: {
    status: 'approved' | 'rejected' | 'expired'
    /** The approver, or null if the review ends without a decision. */
    decidedBy: string | null
    reason: string | null
    nowMs: number
  },
): Promise<void> {
  const { status, decidedBy, reason, nowMs } = end
  const review = await tx.query
    .updateTable('reviews')
    .set({ status, decided_at: nowMs, decided_by: decidedBy, decided_reason: reason })
    .where('id', '=', reviewId)
    .returning(['account_id', 'inbox_id', 'message_id'])
    .executeTakeFirstOrThrow()
  await insertAudit(tx, [
    {
      // A review ends once, so the id is unique.
      id: reviewId.replace('hld_', 'aud_'),
      accountId: review.account_id,
      direction: 'outbound',
      decision: status,
      podId: null,
      inboxId: review.inbox_id,
      actor: decidedBy === null ? null : { kind: 'approver', approverId: decidedBy },
      details: { reviewId, messageId: review.message_id, note: reason },
      createdAtMs: nowMs,
    },
  ])
  await insertReviewEvent(tx, reviewId, {
    kind: 'review.decided',
    of: reviewId,
    details: { status, reason, decided_by: decidedBy },
    isRemoval: reason === MESSAGE_DELETED && decidedBy === null,
    nowMs,
  })
}

/** Returns when the pending review at `offset` of the inbox expires, earliest first, or null. */
export async function findPendingExpiry(
  tx: Tx,
  pending: { inboxId: string; offset: number },
): Promise<number | null> {
  const [row] = await selectPending(tx, pending)
  return row?.expires_at ?? null
}

const selectPending = statement<
  Tables,
  { inboxId: string; offset: number },
  { expires_at: number }
>((query, given) =>
  query
    .selectFrom('reviews')
    .select('expires_at')
    .where('inbox_id', '=', given('inboxId'))
    // The partial index of pending reviews applies only if the value is a literal.
    .where('status', '=', sql.lit('pending'))
    .orderBy('expires_at')
    .limit(sql.lit(1))
    .offset(given('offset')),
)

export async function countPending(
  db: ReadDb,
  inboxId: string,
): Promise<{ used: number; resetsAtMs: number | null }> {
  const { used, first } = await db.read
    .selectFrom('reviews')
    .select(({ fn }) => [fn.countAll<number>().as('used'), fn.min('expires_at').as('first')])
    .where('inbox_id', '=', inboxId)
    .where('status', '=', 'pending')
    .executeTakeFirstOrThrow()
  return { used: Number(used), resetsAtMs: first === null ? null : Number(first) }
}

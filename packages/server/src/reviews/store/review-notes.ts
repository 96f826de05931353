// The former versions and the comments of a review, which are read only with the whole review.

import {
  REVIEW_COMMENTS_MAX,
  REVIEW_EDITS_MAX,
  type ReviewComment,
  type ReviewVersion,
} from '@mailroom/contract/reviews.ts'
import type { ReviewField } from '@mailroom/contract/vocabulary.ts'
import type { Actor } from '#accounts/store/actor.ts'
import { insertAudit } from '#accounts/store/audit.ts'
import { insertEvent } from '#events/store/append.ts'
import { transaction } from '#platform/db/db.ts'
import { lockRows } from '#platform/db/dialect.ts'
import type { ReadDb, Row, Tx } from '#store/tables.ts'
import { shortened } from './kept-reviews.ts'
import { insertReviewEvent } from './review-events.ts'

export type ReviewNotes = { versions: ReviewVersion[]; comments: ReviewComment[] }

export async function readNotes(db: ReadDb, reviewId: string): Promise<ReviewNotes> {
  const row = await db.read
    .selectFrom('reviews')
    .select(['versions', 'comments'])
    .where('id', '=', reviewId)
    .executeTakeFirst()
  return {
    versions: JSON.parse(row?.versions ?? '[]'),
    comments: JSON.parse(row?.comments ?? '[]'),
  }
}

export type EditedReview = Pick<
  Row<'reviews'>,
  'digest' | 'equal_key' | 'content' | 'reasons' | 'finding_hashes'
>

type Replacement = {
  approval: { reviewId: string; approverId: string; digest: string }
  review: EditedReview
  before: ReviewVersion['content']
  changed: ReviewField[]
  auditId: string
  nowMs: number
}

/**
 * Also adds an entry to the audit, and news for the approvers, because their links have ended. The
 * caller adds `addedBytes` to the storage of the inbox.
 */
export async function replaceVersion(
  tx: Tx,
  { approval, review, before, changed, auditId, nowMs }: Replacement,
): Promise<
  | { kind: 'replaced'; addedBytes: number }
  | { kind: 'review_changed'; digest: string }
  | { kind: 'limit_reached' }
> {
  const { reviewId, approverId } = approval
  const old = await tx.query
    .selectFrom('reviews')
    .select(['digest', 'versions', 'kept_bytes', 'account_id', 'inbox_id', 'message_id'])
    .where('id', '=', reviewId)
    .executeTakeFirstOrThrow()
  const { digest } = old
  if (digest !== approval.digest) return { kind: 'review_changed', digest }
  const versions = JSON.parse(old.versions) as ReviewVersion[]
  if (versions.length >= REVIEW_EDITS_MAX) return { kind: 'limit_reached' }
  const content = { ...before, ...shortened(before) }
  const editedAt = new Date(nowMs).toISOString()
  versions.push({ content, digest, changed, editedBy: approverId, editedAt })
  const kept = JSON.stringify(versions)
  const kept_bytes = Buffer.byteLength(kept)
  await tx.query
    .updateTable('reviews')
    .set({ ...review, versions: kept, kept_bytes })
    .where('id', '=', reviewId)
    .execute()
  await tx.query
    .insertInto('review_news')
    .values({ review_id: reviewId, account_id: old.account_id, created_at: nowMs })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  await insertAudit(tx, [
    {
      id: auditId,
      accountId: old.account_id,
      direction: 'outbound',
      decision: 'edited',
      podId: null,
      inboxId: old.inbox_id,
      actor: { kind: 'approver', approverId },
      details: { reviewId, messageId: old.message_id, note: changed.join(', ') },
      createdAtMs: nowMs,
    },
  ])
  await insertReviewEvent(tx, reviewId, {
    kind: 'review.edited',
    of: auditId,
    details: {
      status: 'pending',
      reason: null,
      digest: review.digest,
      reasons: JSON.parse(review.reasons),
      changed,
      edited_by: approverId,
    },
    nowMs,
  })
  return { kind: 'replaced', addedBytes: kept_bytes - Number(old.kept_bytes) }
}

export const insertComment = transaction({
  name: 'commentOnReview',
  accountOf: ({ accountId, actor }) => (actor.kind === 'approver' ? actor.approverId : accountId),
  async run(
    tx: Tx,
    input: {
      accountId: string
      reviewId: string
      actor: Exclude<Actor, { kind: 'operator' }>
      text: string
      ids: { comment: string; event: string; audit: string }
      nowMs: number
    },
  ): Promise<ReviewComment | 'not_found' | 'limit_reached'> {
    const { accountId, reviewId, actor, text, ids, nowMs } = input
    const review = await lockReview(tx, { accountId, reviewId })
    const author = await authorOf(tx, accountId, actor)
    if (review === null || author === null) return 'not_found'
    const comments = JSON.parse(review.comments) as ReviewComment[]
    if (comments.length >= REVIEW_COMMENTS_MAX) return 'limit_reached'
    const createdAt = new Date(nowMs).toISOString()
    const comment = { id: ids.comment, author, text, createdAt }
    await tx.query
      .updateTable('reviews')
      .set({ comments: JSON.stringify([...comments, comment]) })
      .where('id', '=', reviewId)
      .execute()
    await insertAudit(tx, [
      {
        id: ids.audit,
        accountId,
        direction: 'outbound',
        decision: 'commented',
        podId: null,
        inboxId: review.inbox_id,
        actor,
        details: { reviewId, messageId: review.message_id, note: text },
        createdAtMs: nowMs,
      },
    ])
    // Removed messages have no events.
    if (review.pod_id === null) return comment
    const { status, decided_reason: reason } = review
    await insertEvent(tx, {
      id: ids.event,
      kind: 'message.review_commented',
      account_id: accountId,
      pod_id: review.pod_id,
      inbox_id: review.inbox_id,
      thread_id: review.thread_id,
      message_id: review.message_id,
      occurred_at: nowMs,
      details: JSON.stringify({
        review: { id: reviewId, status, reason, comment_id: comment.id },
      }),
    })
    await insertReviewEvent(tx, reviewId, {
      kind: 'review.commented',
      of: comment.id,
      details: { status, reason, comment_id: comment.id, author_id: author.id },
      nowMs,
    })
    return comment
  },
})

async function lockReview(
  tx: Tx,
  { accountId, reviewId }: { accountId: string; reviewId: string },
): Promise<(Row<'reviews'> & { pod_id: string | null }) | null> {
  const selected = tx.query
    .selectFrom('reviews')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('id', '=', reviewId)
  const review = await lockRows(tx, selected).executeTakeFirst()
  if (review === undefined) return null
  const inbox = await tx.query
    .selectFrom('messages')
    .innerJoin('inboxes', 'inboxes.id', 'messages.inbox_id')
    .select('inboxes.pod_id')
    .where('messages.id', '=', review.message_id)
    .executeTakeFirst()
  return { ...review, pod_id: inbox?.pod_id ?? null }
}

/** Returns null if the key or the approver was deleted. */
async function authorOf(
  tx: Tx,
  accountId: string,
  actor: Exclude<Actor, { kind: 'operator' }>,
): Promise<ReviewComment['author'] | null> {
  const [table, id] =
    actor.kind === 'key'
      ? (['api_keys', actor.keyId] as const)
      : (['approvers', actor.approverId] as const)
  const row = await tx.query
    .selectFrom(table as 'approvers')
    .select('name')
    .where('account_id', '=', accountId)
    .where('id', '=', id)
    .executeTakeFirst()
  return row === undefined ? null : { kind: actor.kind, id, name: row.name }
}

// Events for the webhooks of approvers.

import { hash } from 'node:crypto'
import type { ReviewDetails } from '@mailroom/contract/events.ts'
import { insertEvent } from '#events/store/append.ts'
import { derivedId, lowestIdAt } from '#platform/ids.ts'
import type { Tx } from '#store/tables.ts'

/** Not written if no approver has an enabled webhook. */
export async function insertReviewEvent<Kind extends keyof ReviewDetails>(
  tx: Tx,
  reviewId: string,
  event: {
    kind: Kind
    /** The id of the review, edit or comment. Each has at most one event of the kind. */
    of: string
    details: ReviewDetails[Kind]
    /** Whether the message is about to be removed, with all events that name it or its inbox. */
    isRemoval?: boolean
    nowMs: number
  },
): Promise<void> {
  const { kind, of, details, isRemoval = false, nowMs } = event
  const review = await tx.query
    .selectFrom('reviews')
    .leftJoin('inboxes', 'inboxes.id', 'reviews.inbox_id')
    .select(['reviews.account_id', 'reviews.inbox_id', 'inboxes.pod_id', 'reviews.thread_id'])
    .select('reviews.message_id')
    .where('reviews.id', '=', reviewId)
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('webhooks')
          .select('webhooks.id')
          .whereRef('webhooks.account_id', '=', 'reviews.account_id')
          .where('webhooks.approver_id', 'is not', null)
          .where('webhooks.is_enabled', '=', 1),
      ),
    )
    .executeTakeFirst()
  if (review === undefined) return
  const { message_id, ...named } = review
  const removed = { pod_id: null, inbox_id: null, thread_id: null, message_id: null }
  await insertEvent(tx, {
    id: derivedId('evt', lowestIdAt('evt', nowMs), hash('sha256', `${kind} ${of}`, 'buffer')),
    kind,
    message_id,
    ...named,
    ...(isRemoval && removed),
    occurred_at: nowMs,
    details: JSON.stringify({ review: { id: reviewId, message_id, ...details } }),
  })
}

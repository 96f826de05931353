// Reviews of deleted messages are retained as long as the audit, so that deleting mail hides
// nothing.

import { AUDIT_MS } from '#accounts/store/audit.ts'
import type { KeptTexts } from '#store/nouns.ts'
import { removeOldest } from '#store/purge-steps.ts'
import type { Tx } from '#store/tables.ts'
import { endReview, MESSAGE_DELETED } from './pending-reviews.ts'

/** Characters kept of each body, more than a send may have without a quote. */
const KEPT_LENGTH_MAX = 256 * 1024

/**
 * Must be called before messages are removed. Pending reviews end without a send. Returns the bytes
 * of former versions, which are no longer part of the storage of the inbox.
 */
export async function keepReviews(
  tx: Tx,
  { messageIds, nowMs }: { messageIds: readonly string[]; nowMs: number },
): Promise<number> {
  if (messageIds.length === 0) return 0
  const rows = await tx.query
    .selectFrom('reviews')
    .innerJoin('messages', 'messages.id', 'reviews.message_id')
    .leftJoin('long_bodies', 'long_bodies.raw_id', 'messages.raw_id')
    .select([
      'reviews.id',
      'reviews.decided_at',
      'reviews.kept_bytes',
      'messages.subject',
      'messages.body_text',
      'messages.body_html',
      'long_bodies.body_text as long_text',
      'long_bodies.body_html as long_html',
    ])
    .where('reviews.message_id', 'in', messageIds)
    .execute()
  for (const row of rows) {
    const kept = shortened({
      subject: row.subject,
      bodyText: row.long_text ?? row.body_text,
      bodyHtml: row.long_html ?? row.body_html,
    })
    const kept_texts = JSON.stringify(kept)
    await tx.query
      .updateTable('reviews')
      .set({
        kept_texts,
        kept_bytes: Number(row.kept_bytes) + Buffer.byteLength(kept_texts),
        kept_until: (row.decided_at ?? nowMs) + AUDIT_MS,
      })
      .where('id', '=', row.id)
      .execute()
    if (row.decided_at === null) {
      const end = { status: 'rejected', decidedBy: null, reason: MESSAGE_DELETED } as const
      await endReview(tx, row.id, { ...end, nowMs })
    }
  }
  return sizeOf(rows)
}

function sizeOf(reviews: readonly { kept_bytes: number }[]): number {
  return reviews.reduce((sum, { kept_bytes }) => sum + Number(kept_bytes), 0)
}

export function shortened({ subject, bodyText, bodyHtml }: KeptTexts): KeptTexts {
  return {
    subject,
    bodyText: beginningOf(bodyText),
    bodyHtml: beginningOf(bodyHtml),
  }
}

function beginningOf(text: string): string {
  // The cut may have split a surrogate pair.
  return text.slice(0, KEPT_LENGTH_MAX).replace(/[\ud800-\udbff]$/, '')
}

/** Returns the bytes of former versions. */
export async function removeReviews(tx: Tx, messageIds: readonly string[]): Promise<number> {
  if (messageIds.length === 0) return 0
  const removed = tx.query.deleteFrom('reviews').where('message_id', 'in', messageIds)
  return sizeOf(await removed.returning('kept_bytes').execute())
}

/** Removes a batch of expired reviews and returns their number. */
export async function purgeKeptReviews(tx: Tx, nowMs: number): Promise<number> {
  const removed = await removeOldest(tx, 'reviews', {
    key: ['id'],
    time: 'kept_until',
    until: nowMs,
    returning: 'id',
  })
  return removed.length
}

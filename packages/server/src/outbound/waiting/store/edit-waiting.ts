import type { ReviewContent } from '@mailroom/contract/reviews.ts'
import type { ReviewField } from '@mailroom/contract/vocabulary.ts'
import { lockApprover } from '#accounts/store/approvers.ts'
import { removeOtherTexts } from '#mailbox/attachments/store/texts.ts'
import { dropRawReferences } from '#mailbox/messages/store/raw-messages.ts'
import {
  bodiesForRow,
  changeInboxes,
  insertLongBodies,
  type MessageContent,
  NO_CHANGE,
} from '#mailbox/messages/store/write-messages.ts'
import { renewSummaries } from '#mailbox/threads/store/summaries.ts'
import { lockSentMessages } from '#outbound/deliveries/store/settle.ts'
import { lockCounters } from '#outbound/send/store/check-send.ts'
import { transaction } from '#platform/db/db.ts'
import { findDigest } from '#reviews/store/pending-reviews.ts'
import { type EditedReview, replaceVersion } from '#reviews/store/review-notes.ts'
import { changeSearch } from '#search/store/search-index.ts'
import type { NewRow, Row, Tx } from '#store/tables.ts'
import { type Approval, lockWaiting, recordEvent } from './waiting-sends.ts'

export type EditOutcome =
  | { kind: 'edited'; blobIds: string[] }
  /** The message was released, cancelled or decided by another transaction. */
  | { kind: 'gone' }
  | { kind: 'review_changed'; digest: string }
  | { kind: 'approver_deleted' }
  /** The review has reached its limit of edits. */
  | { kind: 'limit_reached' }

type Edit = {
  accountId: string
  inboxId: string
  messageId: string
  /** The stored message that was read. */
  rawId: string
  approval: Approval
  raw: Omit<NewRow<'raw_messages'>, 'reference_count'>
  message: Pick<
    MessageContent,
    | 'cc'
    | 'bcc'
    | 'recipient_names'
    | 'subject'
    | 'body_length'
    | 'body_text'
    | 'body_html'
    | 'extracted_text'
    | 'attachments'
  > &
    Pick<Row<'messages'>, 'to_addr' | 'to_addrs'>
  filenames: readonly string[]
  /** JSON of the new `WaitingEnvelope`. */
  envelope: string
  review: EditedReview
  before: ReviewContent
  changed: ReviewField[]
  eventId: string
  auditId: string
  nowMs: number
}

/** Replaces a held message and its review. The former version remains in the review. */
export const editWaiting = transaction({
  name: 'editWaiting',
  accountOf: ({ approval }) => approval.approverId,
  async run(tx: Tx, input: Edit): Promise<EditOutcome> {
    const { accountId, messageId, approval, review, changed, nowMs } = input
    await lockCounters(tx, input)
    const [message] = (await lockSentMessages(tx, [messageId])).values()
    const waiting = await lockWaiting(tx, input)
    if (message === undefined || waiting?.review_id !== approval.reviewId) return { kind: 'gone' }
    const { approverId, reviewId } = approval
    if (!(await lockApprover(tx, { accountId, approverId }))) return { kind: 'approver_deleted' }
    if (message.raw_id !== input.rawId) {
      return { kind: 'review_changed', digest: await findDigest(tx, reviewId) }
    }
    const replaced = await replaceVersion(tx, input)
    if (replaced.kind !== 'replaced') return replaced
    await tx.query
      .updateTable('waiting_sends')
      .set({ envelope: input.envelope })
      .where('message_id', '=', messageId)
      .execute()
    const { thread_id: threadId } = message
    const { addedBytes } = replaced
    const blobIds = await replaceMessage(tx, input, { threadId, addedBytes })
    const details = {
      review: { id: reviewId, status: 'pending', reason: null, digest: review.digest, changed },
    }
    const event = { id: input.eventId, kind: 'message.review_edited', details, nowMs } as const
    await recordEvent(tx, message, event)
    return { kind: 'edited', blobIds }
  },
})

async function replaceMessage(
  tx: Tx,
  { messageId, inboxId, raw, message, filenames }: Edit,
  { threadId, addedBytes }: { threadId: string; addedBytes: number },
): Promise<string[]> {
  const old = await tx.query
    .selectFrom('messages')
    .innerJoin('raw_messages', 'raw_messages.id', 'messages.raw_id')
    .select(['messages.raw_id', 'messages.arrival', 'messages.is_trashed'])
    .select('raw_messages.size_bytes')
    .where('messages.id', '=', messageId)
    .executeTakeFirstOrThrow()
  await tx.query
    .insertInto('raw_messages')
    .values({ ...raw, reference_count: 1 })
    .execute()
  await insertLongBodies(tx, raw.id, message)
  await tx.query
    .updateTable('messages')
    .set({ ...bodiesForRow(message), raw_id: raw.id })
    .where('id', '=', messageId)
    .execute()
  // A message that starts a thread gives it its subject.
  await tx.query
    .updateTable('threads')
    .set({ subject: message.subject })
    .where('id', '=', threadId)
    .where('message_count', '=', 1)
    .execute()
  await renewSummaries(tx, [threadId])
  const removedBytes = old.size_bytes + (await removeOtherTexts(tx, { messageId, filenames }))
  const stored_bytes = raw.size_bytes + addedBytes - removedBytes
  await changeInboxes(tx, { counters: [{ ...NO_CHANGE, inbox_id: inboxId, stored_bytes }] })
  if (old.is_trashed === 0) {
    const change = { inboxId, arrivals: [old.arrival] }
    await changeSearch(tx, { ...change, isBack: false })
    await changeSearch(tx, { ...change, isBack: true })
  }
  return dropRawReferences(tx, [old.raw_id])
}

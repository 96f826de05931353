import { insertAudit, type NewAuditEntry } from '#accounts/store/audit.ts'
import { additionsTo, addMessage } from '#mailbox/messages/store/add-message.ts'
import { insertAdditions } from '#mailbox/messages/store/insert-additions.ts'
import type { MessageContent } from '#mailbox/messages/store/write-messages.ts'
import { insertLongBodies } from '#mailbox/messages/store/write-messages.ts'
import { insertDeliveries, type NewDelivery } from '#outbound/deliveries/store/deliveries.ts'
import { insertWaiting, type NewWaiting } from '#outbound/waiting/store/waiting-sends.ts'
import { transaction } from '#platform/db/db.ts'
import type { NewHold } from '#reviews/store/pending-reviews.ts'
import type { NewRow, Tx } from '#store/tables.ts'
import {
  type AllowedSend,
  checkSend,
  countCold,
  countRate,
  countSend,
  reportLoop,
  type SendCheck,
  type SendRefusal,
} from './check-send.ts'
import { findReplay, keepAnswer, type SendAnswer } from './idempotency-keys.ts'
import { noteWrittenTo } from './written-to.ts'

export type SendInput = SendCheck & {
  messageId: string
  podId: string
  raw: Omit<NewRow<'raw_messages'>, 'reference_count'>
  content: MessageContent
  to: string[]
  bcc: string[]
  deliveries: NewDelivery[]
  /** Null if the message is queued now. Otherwise its deliveries are created on release. */
  waiting: NewWaiting | null
  audit: NewAuditEntry | null
  /** The id of the event that the first refusal of a suspected loop emits. */
  loopEventId: string
}

export type SendOutcome =
  | { kind: 'queued'; answer: SendAnswer }
  | { kind: 'waiting'; answer: SendAnswer }
  | SendRefusal

/**
 * Checks a send and stores the message, the answer under its key, and either its deliveries or its
 * waiting state. A refusal writes nothing, except that the first refusal of a suspected loop emits
 * an event.
 */
export const insertSend = transaction({
  name: 'sendMessage',
  accountOf: ({ use }) => use.accountId,
  run: checkAndInsert,
})

async function checkAndInsert(tx: Tx, input: SendInput): Promise<SendOutcome> {
  const { use, inboxId, raw } = input
  const checked = await checkSend(tx, input, 'lock')
  if (checked.kind === 'loop_suspected' && !checked.isReported) {
    const { threadId } = checked
    await reportLoop(tx, { eventId: input.loopEventId, inboxId, threadId, nowMs: use.nowMs })
  }
  if (checked.kind !== 'allowed') return checked
  const answer: SendAnswer = {
    messageId: input.messageId,
    threadId: input.thread.id,
    providerMessageId: input.content.rfc_message_id ?? '',
    status: 'pending',
    inboxId,
    createdAtMs: use.nowMs,
    ...answerOfWaiting(input.waiting),
  }
  if (!(await keepAnswer(tx, use, answer))) {
    return (await findReplay(tx, use)) ?? { kind: 'key_reused' }
  }
  await insertLongBodies(tx, raw.id, input.content)
  await addSent(tx, input, checked)
  if (input.audit !== null) await insertAudit(tx, [input.audit])
  if (input.waiting === null) {
    await insertDeliveries(tx, input.deliveries)
    await noteWrittenTo(tx, input)
    await countSend(tx, input, checked)
    return { kind: 'queued', answer }
  }
  const message = {
    id: input.messageId,
    account_id: use.accountId,
    inbox_id: inboxId,
    thread_id: input.thread.id,
    pod_id: input.podId,
  }
  const { hold, isForUndo } = input.waiting
  if (hold !== null || isForUndo) await countRate(tx, input, checked)
  if (isForUndo) await countCold(tx, input, checked)
  await insertWaiting(tx, message, { ...input.waiting, nowMs: use.nowMs })
  return { kind: 'waiting', answer }
}

function answerOfWaiting(waiting: NewWaiting | null): Pick<SendAnswer, 'hold' | 'scheduledAtMs'> {
  if (waiting === null) return {}
  const { releaseAtMs, hold } = waiting
  return {
    ...(releaseAtMs === null ? {} : { scheduledAtMs: releaseAtMs }),
    ...(hold === null ? {} : { hold: heldAnswer(hold) }),
  }
}

function heldAnswer({ reviewId, reasons, digest, expiresAtMs }: NewHold): SendAnswer['hold'] {
  return { id: reviewId, reasons, digest, expiresAtMs }
}

/** Also sets the thread to read. */
async function addSent(
  tx: Tx,
  { use, inboxId, messageId, content, raw, to, bcc, waiting, thread: { id: threadId } }: SendInput,
  { counters, thread }: AllowedSend,
): Promise<void> {
  const additions = additionsTo([{ ...counters, inbox_id: inboxId }])
  addMessage(additions, {
    message: {
      ...content,
      id: messageId,
      account_id: use.accountId,
      inbox_id: inboxId,
      raw_id: raw.id,
      direction: 'outbound',
      status: 'pending',
      to_addr: to[0] ?? '',
      to_addrs: JSON.stringify(to),
      bcc: bcc.length === 0 ? null : JSON.stringify(bcc),
      recipient: null,
      delivery_role: null,
      failure_reason: null,
      scheduled_at: waiting?.releaseAtMs ?? null,
      is_imported: null,
      created_at: use.nowMs,
    },
    sizeBytes: raw.size_bytes,
    threadBecomes: 'read',
    thread,
    threadId,
  })
  await insertAdditions(tx, additions, { raws: [{ ...raw, reference_count: 1 }] })
}

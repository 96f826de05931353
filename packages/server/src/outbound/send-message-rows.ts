import { insertAudit, type NewAuditEntry } from '#accounts/accounts-rows.ts'
import type { MessageContent } from '#mailbox/mailbox.ts'
import {
  bodiesForRow,
  changeAt,
  changeInboxes,
  changesOfMove,
  firstSummary,
  insertLongBodies,
  insertMessages,
  NO_CHANGE,
  nextSummary,
} from '#mailbox/mailbox-rows.ts'
import { transaction } from '#platform/db/db.ts'
import type { NewRow, Tx } from '#schema/tables.ts'
import {
  type AllowedSend,
  checkSend,
  countRate,
  countSend,
  noteWrittenTo,
  reportLoop,
  type SendCheck,
  type SendRefusal,
} from './check-send-rows.ts'
import { insertDeliveries, type NewDelivery } from './delivery-rows.ts'
import { findReplay, keepAnswer, type SendAnswer } from './idempotency-key-rows.ts'
import { insertWaiting, type NewHold, type NewWaiting } from './waiting-send-rows.ts'

export type SendInput = SendCheck & {
  messageId: string
  podId: string
  raw: Omit<NewRow<'raw_messages'>, 'reference_count'>
  content: MessageContent
  to: string[]
  bcc: string[]
  deliveries: NewDelivery[]
  /** The message waits, and its deliveries are made when it is released; null: it is queued now. */
  waiting: NewWaiting | null
  /** What policy decided; null where none applies. */
  audit: NewAuditEntry | null
  /** Id of the event, should the send be the first refusal of a suspected loop. */
  loopEventId: string
}

export type SendOutcome =
  | { kind: 'queued'; answer: SendAnswer }
  /** Stored, and queued when it is released. */
  | { kind: 'waiting'; answer: SendAnswer }
  | SendRefusal

/**
 * Checks a send and writes all of it: the answer under its key, the message with its thread and counters, and either a
 * delivery for each recipient and the counts behind the limits, or what it waits for. A refusal writes nothing, except that the first
 * refusal of a suspected loop writes its event.
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
  await addMessage(tx, input, checked)
  await setRecipients(tx, input)
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
  if (input.waiting.hold !== null) await countRate(tx, input, checked)
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

/** The columns that few messages need are written apart, so that others have a smaller statement. */
async function setRecipients(
  tx: Tx,
  { messageId, to, bcc, waiting }: Pick<SendInput, 'messageId' | 'to' | 'bcc' | 'waiting'>,
): Promise<void> {
  const scheduled_at = waiting?.releaseAtMs ?? null
  if (to.length === 1 && bcc.length === 0 && scheduled_at === null) return
  await tx.query
    .updateTable('messages')
    .set({
      to_addrs: to.length === 1 ? null : JSON.stringify(to),
      bcc: bcc.length === 0 ? null : JSON.stringify(bcc),
      scheduled_at,
    })
    .where('id', '=', messageId)
    .execute()
}

/** Sending in a thread marks it read, and a thread begun by sending is read. */
async function addMessage(
  tx: Tx,
  input: SendInput,
  { counters, thread }: AllowedSend,
): Promise<void> {
  const { inboxId, content } = input
  const { accountId, nowMs } = input.use
  const position = counters.inbound_count + counters.outbound_count + 1
  const toAddr = input.to[0] ?? ''
  const added = {
    ...content,
    direction: 'outbound',
    to_addr: toAddr,
    to_addrs: JSON.stringify(input.to),
  }
  const at = { account_id: accountId, inbox_id: inboxId }
  const last = { is_read: 1, message_count: 1, last_message_at: nowMs, last_position: position }
  const change = {
    ...NO_CHANGE,
    inbox_id: inboxId,
    outbound_count: 1,
    thread_count: thread === null ? 1 : 0,
    unread_thread_count: thread?.is_read === 0 ? -1 : 0,
    stored_bytes: input.raw.size_bytes,
  }
  const message = {
    ...bodiesForRow(content),
    ...at,
    id: input.messageId,
    thread_id: input.thread.id,
    raw_id: input.raw.id,
    direction: 'outbound',
    status: 'pending',
    position,
    direction_position: counters.outbound_count + 1,
    thread_position: (thread?.message_count ?? 0) + 1,
    to_addr: toAddr,
    recipient: null,
    delivery_role: null,
    created_at: nowMs,
  }
  const rows = { raws: [{ ...input.raw, reference_count: 1 }], messages: [message] }
  if (thread === null) {
    const { subject } = content
    const started = { id: input.thread.id, ...at, subject, created_at: nowMs, ...last }
    const ranges = [changeAt(inboxId, { position, threads: 1, unread: 0 })]
    await changeInboxes(tx, { counters: [change] })
    await insertMessages(tx, { ...rows, ranges, threads: [{ ...started, ...firstSummary(added) }] })
    return
  }
  const { id, last_position, is_read, mark_count } = thread
  const ranges = changesOfMove(inboxId, {
    from: { position: last_position, isRead: is_read },
    to: { position, isRead: 1 },
  })
  const threads = [{ id, ...last, mark_count, ...nextSummary(thread, added) }]
  await changeInboxes(tx, { counters: [change], threads })
  await insertMessages(tx, { ...rows, ranges })
}

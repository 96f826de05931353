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
  countSend,
  reportLoop,
  type SendCheck,
  type SendRefusal,
} from './check-send-rows.ts'
import { insertDeliveries, type NewDelivery } from './delivery-rows.ts'
import { findReplay, keepAnswer, type SendAnswer } from './idempotency-key-rows.ts'

export type SendInput = SendCheck & {
  messageId: string
  raw: Omit<NewRow<'raw_messages'>, 'reference_count'>
  content: MessageContent
  toAddr: string
  deliveries: NewDelivery[]
  /** Id of the event, should the send be the first refusal of a suspected loop. */
  loopEventId: string
}

export type SendOutcome = { kind: 'queued'; answer: SendAnswer } | SendRefusal

/**
 * Checks a send and writes all of it: the answer under its key, the message with its thread and counters, a
 * delivery for each recipient, and the counts behind the limits. A refusal writes nothing, except that the first
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
  }
  if (!(await keepAnswer(tx, use, answer))) {
    return (await findReplay(tx, use)) ?? { kind: 'key_reused' }
  }
  await insertLongBodies(tx, raw.id, input.content)
  await addMessage(tx, input, checked)
  await insertDeliveries(tx, input.deliveries)
  await countSend(tx, input, checked)
  return { kind: 'queued', answer }
}

/** Sending in a thread marks it read (spec §4 rule 5), and a thread begun by sending is read. */
async function addMessage(
  tx: Tx,
  input: SendInput,
  { counters, thread }: AllowedSend,
): Promise<void> {
  const { inboxId, content } = input
  const { accountId, nowMs } = input.use
  const position = counters.inbound_count + counters.outbound_count + 1
  const added = { ...content, direction: 'outbound', to_addr: input.toAddr }
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
    to_addr: input.toAddr,
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
  const { id, last_position, is_read } = thread
  const ranges = changesOfMove(inboxId, {
    from: { position: last_position, isRead: is_read },
    to: { position, isRead: 1 },
  })
  const threads = [{ id, ...last, ...nextSummary(thread, added) }]
  await changeInboxes(tx, { counters: [change], threads })
  await insertMessages(tx, { ...rows, ranges })
}

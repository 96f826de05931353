// The transaction behind every accepted send: the answer under its key, the message with its thread
// and totals, a delivery for each recipient, and what the limits count. All of it or, with the reason,
// nothing.

import {
  type KeyUse,
  keepAnswer,
  type Replay,
  replayIn,
  type SendAnswer,
} from '#accounts/idempotency-key-rows.ts'
import { bodiesForRow, insertLongBodies } from '#mailbox/long-body-rows.ts'
import {
  changeInboxes,
  insertMessages,
  type MessageContent,
  NO_CHANGE,
  PARENT_COLUMNS,
  type ParentThread,
} from '#mailbox/message-statements.ts'
import { changeAt, changesOfMove } from '#mailbox/thread-range-rows.ts'
import { firstSummary, nextSummary } from '#mailbox/thread-summary-rows.ts'
import { transaction } from '#platform/db/db.ts'
import { lockRows } from '#platform/db/dialect.ts'
import { statement } from '#platform/db/statement.ts'
import { type NewRow, type ReadDb, type Row, readIn, type Tables, type Tx } from '#schema/tables.ts'
import {
  type CheckedExchange,
  checkExchange,
  countAutomaticSend,
  type LoopSuspected,
  tellLoop,
} from './automatic-sends-rows.ts'
import { insertDeliveries, type NewDelivery } from './delivery-rows.ts'
import {
  type ColdSend,
  checkCold,
  checkSendRate,
  countCold,
  countSend,
  lookAtCold,
  type SendLimits,
  type TooCold,
  type TooMany,
} from './send-limits-rows.ts'
import { findSuppressed } from './suppression-rows.ts'

export type SendInput = {
  use: KeyUse
  inboxId: string
  messageId: string
  thread:
    | { kind: 'new'; id: string }
    /** `messageCount` is what the reply was composed after; null: whatever stands there now. */
    | { kind: 'reply'; id: string; messageCount: number | null }
  raw: Omit<NewRow<'raw_messages'>, 'reference_count'>
  content: MessageContent
  toAddr: string
  deliveries: NewDelivery[]
  /** Keys of all recipients, in their order. */
  recipientKeys: string[]
  cold: Pick<ColdSend, 'candidates' | 'utcDay'>
  limits: SendLimits
  /** Of the event, should the send be the first to be refused as one of a loop. */
  loopEventId: string
}

export type SendOutcome =
  | { kind: 'queued'; answer: SendAnswer }
  | Replay
  | { kind: 'not_found' }
  /** The thread has other messages than the reply was composed after. */
  | { kind: 'thread_changed' }
  | { kind: 'suppressed'; type: string; address: string }
  | LoopSuspected
  | TooMany
  | TooCold

/**
 * Queues the message, unless its key is used, its inbox or thread is gone, a recipient is suppressed,
 * a loop is suspected in its thread or a limit is reached, in this order. What refuses it is looked at
 * before anything is written: a refusal uses up nothing. Of a loop the first refusal is told.
 */
export const sendMessage = transaction({
  name: 'sendMessage',
  accountOf: ({ use }) => use.accountId,
  run: insertSend,
})

async function insertSend(tx: Tx, input: SendInput): Promise<SendOutcome> {
  const { use, inboxId, limits, raw } = input
  const { accountId, nowMs } = use
  // Sends of an inbox wait for each other here, and for arriving mail.
  const counters = await lockCounters(tx, inboxId)
  const replay = await replayIn(tx, use)
  if (replay !== null) return replay
  if (counters === undefined) return { kind: 'not_found' }
  const thread = await findThreadOf(tx, input)
  if (typeof thread === 'string') return { kind: thread }
  const suppressed = await findSuppressed(readIn(tx), accountId, input.recipientKeys)
  if (suppressed !== null) {
    return { kind: 'suppressed', type: suppressed.type, address: suppressed.address }
  }
  const exchange = thread === null ? NO_EXCHANGE : await checkExchange(tx, thread.id, nowMs)
  if (exchange.kind === 'loop_suspected') {
    if (!exchange.isTold)
      await tellLoop(tx, { eventId: input.loopEventId, inboxId, exchange, nowMs })
    return exchange
  }
  const number = counters.outbound_count + 1
  const rate = await checkSendRate(tx, { inboxId, number, limits, nowMs })
  if (rate.kind === 'too_many') return rate
  const cold = { accountId, inboxId, ...input.cold }
  const strangers = await checkCold(tx, { ...cold, limits })
  if (strangers.kind === 'too_cold') return strangers

  const answer: SendAnswer = {
    messageId: input.messageId,
    threadId: thread?.id ?? input.thread.id,
    providerMessageId: input.content.rfc_message_id ?? '',
    status: 'pending',
    inboxId,
    createdAtMs: nowMs,
  }
  if (!(await keepAnswer(tx, use, answer)))
    return (await replayIn(tx, use)) ?? { kind: 'key_reused' }
  await insertLongBodies(tx, raw.id, input.content)
  await addMessage(tx, input, { counters, thread, answer })
  await insertDeliveries(tx, input.deliveries)
  await countSend(tx, { inboxId, number, limits, sentMs: rate.sentMs })
  await countAutomaticSend(tx, exchange)
  await countCold(tx, { ...cold, fresh: strangers.fresh })
  return { kind: 'queued', answer }
}

/** Of a send that starts a thread. */
const NO_EXCHANGE: CheckedExchange = { kind: 'allowed', counted: null }

export type SendRefusal = Exclude<SendOutcome, { kind: 'queued' | 'thread_changed' }>

/**
 * Why `sendMessage` would refuse the send now, as far as recipients and limits go; null when it would
 * not. Takes no lock, so that only `sendMessage` can say yes: this is to refuse early what costs a lot.
 */
export async function findRefusal(
  db: ReadDb,
  input: Pick<SendInput, 'use' | 'inboxId' | 'recipientKeys' | 'cold' | 'limits'> & {
    threadId: string | null
  },
): Promise<SendRefusal | null> {
  const refusal = await findRefusalByLimits(db, input)
  // What used up the limit may be this send itself, under its key; seen in this order, it is there.
  return refusal === null ? null : ((await replayIn(db.reading, input.use)) ?? refusal)
}

async function findRefusalByLimits(
  db: ReadDb,
  { use, inboxId, threadId, recipientKeys, cold, limits }: Parameters<typeof findRefusal>[1],
): Promise<SendRefusal | null> {
  const { accountId, nowMs } = use
  const tx = db.reading
  const [counters] = await readCounters(tx, { inboxId })
  if (counters === undefined) return { kind: 'not_found' }
  const suppressed = await findSuppressed(db, accountId, recipientKeys)
  if (suppressed !== null) {
    return { kind: 'suppressed', type: suppressed.type, address: suppressed.address }
  }
  const exchange = threadId === null ? NO_EXCHANGE : await checkExchange(tx, threadId, nowMs)
  // The first to be refused is told of, which only the transaction can.
  if (exchange.kind === 'loop_suspected') return exchange.isTold ? exchange : null
  const number = counters.outbound_count + 1
  const rate = await checkSendRate(tx, { inboxId, number, limits, nowMs })
  if (rate.kind === 'too_many') return rate
  const strangers = await lookAtCold(tx, { accountId, inboxId, ...cold, limits })
  return strangers.kind === 'too_cold' ? strangers : null
}

type Counters = Pick<Row<'inbox_counters'>, 'inbound_count' | 'outbound_count'>

async function lockCounters(tx: Tx, inboxId: string): Promise<Counters | undefined> {
  const [counters] = await selectCounters(tx, { inboxId })
  return counters
}

async function findThreadOf(
  tx: Tx,
  { thread, inboxId }: SendInput,
): Promise<ParentThread | null | 'not_found' | 'thread_changed'> {
  if (thread.kind === 'new') return null
  const [found] = await selectThread(tx, { id: thread.id, inboxId })
  if (found === undefined) return 'not_found'
  const isAsComposed = thread.messageCount === null || thread.messageCount === found.message_count
  return isAsComposed ? found : 'thread_changed'
}

/** Sending in a thread marks it read (spec §4 rule 5), and a thread begun by sending is read. */
async function addMessage(
  tx: Tx,
  input: SendInput,
  found: { counters: Counters; thread: ParentThread | null; answer: SendAnswer },
): Promise<void> {
  const { inboxId, content } = input
  const { accountId, nowMs } = input.use
  const { counters, thread, answer } = found
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
    thread_id: answer.threadId,
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
    const started = { id: answer.threadId, ...at, subject, created_at: nowMs, ...last }
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

const selectCounters = statement<Tables, { inboxId: string }, Counters>((query, place, engine) =>
  lockRows(
    { engine },
    query
      .selectFrom('inbox_counters')
      .select(['inbound_count', 'outbound_count'])
      .where('inbox_id', '=', place('inboxId')),
  ),
)

const readCounters = statement<Tables, { inboxId: string }, Counters>((query, place) =>
  query
    .selectFrom('inbox_counters')
    .select(['inbound_count', 'outbound_count'])
    .where('inbox_id', '=', place('inboxId')),
)

const selectThread = statement<Tables, { id: string; inboxId: string }, ParentThread>(
  (query, place) =>
    query
      .selectFrom('threads')
      .select(PARENT_COLUMNS)
      .where('id', '=', place('id'))
      .where('inbox_id', '=', place('inboxId')),
)

// The transaction behind every 250: one arriving message, written for each of its recipients with
// its thread, its totals and its event, or kept in quarantine, or recognised as already there.

import { insertEvent } from '#events/event-rows.ts'
import { stillReceives } from '#inboxes/inbox-domain-rows.ts'
import { insertLongBodies } from '#mailbox/long-body-rows.ts'
import {
  addToCounters,
  insertCorrespondent,
  insertMessage,
  insertRaw,
  insertThread,
  type MessageContent,
  type ParentThread,
  selectParent,
  selectReceipts,
  updateThread,
} from '#mailbox/message-statements.ts'
import { countStored } from '#mailbox/stored-bytes-rows.ts'
import { countInRange, moveInRanges } from '#mailbox/thread-range-rows.ts'
import { type AddedMessage, firstSummary, nextSummary } from '#mailbox/thread-summary-rows.ts'
import type { NewRow, Tx } from '#schema/tables.ts'
import { addPostmasterMessage, dropOldestPostmasterMail } from './postmaster-message-rows.ts'
import { addQuarantined } from './quarantine-rows.ts'
import { receivedMessage, receivedRows } from './received-rows-rows.ts'
import type { QuarantineReason } from './sender-rule.ts'

export type ReceivedRaw = Omit<NewRow<'raw_messages'>, 'reference_count'>

export type Receipt = {
  accountId: string
  podId: string
  inboxId: string
  /** Of its inbox; null on the domain of the service, which nobody takes over. */
  domainId: string | null
  messageId: string
  /** Id of the thread, should the message start one. */
  threadId: string
  eventId: string
  toAddr: string
  deliveryRole: 'to' | 'cc'
}

/** Of an inbox that is known to get it, whosever its domain is. */
export type KnownReceipt = Omit<Receipt, 'domainId'>

/** What a recipient's rules keep out of its inbox. */
export type KeptOut = Pick<
  Receipt,
  'accountId' | 'podId' | 'inboxId' | 'domainId' | 'toAddr' | 'deliveryRole'
> & { quarantinedId: string; reason: QuarantineReason; ruleId: string | null }

export type ReceiveInput = {
  raw: ReceivedRaw
  content: MessageContent
  receipts: Receipt[]
  keptOut: KeptOut[]
  /** Mail to the service's postmaster, kept for the operator. */
  postmaster: { recipient: string } | null
  /** Keys of the messages that this one answers, in the order in which they decide its thread. */
  parentKeys: string[]
  /** The author's address as it is compared; null when there is none to write back to. */
  senderKey: string | null
  nowMs: number
}

/** Of a receipt, what all recipients have alike. */
export type ReceivedMail = Pick<ReceiveInput, 'content' | 'parentKeys' | 'senderKey' | 'nowMs'> & {
  raw: { id: string; size_bytes: number }
}

export type ReceiveOutcome = {
  stored: number
  quarantined: number
  duplicates: number
  gone: number
  /** Whether anything refers to the raw message now. */
  isKept: boolean
  /** Ids of the messages that were stored, in the order of their receipts. */
  messageIds: string[]
  /** Of the operator's oldest mail, which made room: bytes in the blob store that nobody refers to any more. */
  blobIds: string[]
}

/**
 * Writes the message for every recipient whose inbox still exists and still receives. The raw bytes are
 * kept only when somebody refers to them.
 */
export async function receiveMessage(tx: Tx, input: ReceiveInput): Promise<ReceiveOutcome> {
  const outcome = { stored: 0, quarantined: 0, duplicates: 0, gone: 0 }
  const receipts = inOrderOfInboxes([...input.receipts, ...input.keptOut])
  const stored = new Set<string>()
  for (const receipt of receipts) {
    if (receipt.domainId !== null && !(await stillReceives(tx, receipt.inboxId))) {
      outcome.gone += 1
      continue
    }
    if ('quarantinedId' in receipt) {
      outcome[await keepOut(tx, input, receipt)] += 1
      continue
    }
    const result = await addReceived(tx, input, receipt)
    outcome[result] += 1
    if (result === 'stored') stored.add(receipt.messageId)
  }
  let blobIds: string[] = []
  let references = outcome.stored + outcome.quarantined
  if (input.postmaster !== null) {
    const isAdded = await addPostmasterMessage(tx, {
      raw_id: input.raw.id,
      receipt_key: input.content.receipt_key ?? null,
      recipient: input.postmaster.recipient,
      from_addr: input.content.from_addr,
      subject: input.content.subject,
      created_at: input.nowMs,
    })
    if (isAdded) {
      references += 1
      blobIds = await dropOldestPostmasterMail(tx, input.raw)
    } else outcome.duplicates += 1
  }
  if (references > 0) await insertRaw(tx, { ...input.raw, reference_count: references })
  if (outcome.stored > 0) await insertLongBodies(tx, input.raw.id, input.content)
  const messageIds = input.receipts.map(({ messageId }) => messageId)
  return {
    ...outcome,
    isKept: references > 0,
    messageIds: messageIds.filter((id) => stored.has(id)),
    blobIds,
  }
}

/** One order everywhere, so that two transactions never wait for each other's inboxes. */
export function inOrderOfInboxes<One extends { inboxId: string }>(receipts: readonly One[]): One[] {
  return [...receipts].sort((a, b) => (a.inboxId < b.inboxId ? -1 : 1))
}

/** A message that the inbox has stays there, whatever its rules say now. */
async function keepOut(
  tx: Tx,
  { raw, content, nowMs }: ReceiveInput,
  keptOut: KeptOut,
): Promise<'quarantined' | 'duplicates' | 'gone'> {
  const { inboxId } = keptOut
  if ((await findDuplicate(tx, inboxId, content)) !== null) return 'duplicates'
  return addQuarantined(tx, {
    id: keptOut.quarantinedId,
    account_id: keptOut.accountId,
    pod_id: keptOut.podId,
    inbox_id: inboxId,
    raw_id: raw.id,
    receipt_key: content.receipt_key ?? null,
    reason: keptOut.reason,
    rule_id: keptOut.ruleId,
    from_addr: content.from_addr,
    to_addr: keptOut.toAddr,
    delivery_role: keptOut.deliveryRole,
    subject: content.subject,
    reverse_path: raw.reverse_path,
    authentication: content.authentication ?? null,
    size_bytes: raw.size_bytes,
    created_at: nowMs,
  })
}

/** Writes the message for one recipient, unless it has it already or its inbox is gone. */
export async function addReceived(
  tx: Tx,
  input: ReceivedMail,
  receipt: KnownReceipt,
): Promise<'stored' | 'duplicates' | 'gone'> {
  const { inboxId } = receipt
  // Counted before anything is looked up: this takes the inbox's lock and makes its positions dense.
  const [counters] = await addToCounters(tx, {
    inboxId,
    inbound: 1,
    outbound: 0,
    threads: 1,
    unread: 1,
  })
  if (counters === undefined) return 'gone'
  if ((await findDuplicate(tx, inboxId, input.content)) !== null) {
    await addToCounters(tx, { inboxId, inbound: -1, outbound: 0, threads: -1, unread: -1 })
    return 'duplicates'
  }
  const position = counters.inbound_count + counters.outbound_count
  const parent = await findParentThread(tx, inboxId, input.parentKeys)
  const thread = parent ?? { id: receipt.threadId, message_count: 0 }
  const added = receivedMessage(input, receipt)
  if (parent === null) await startThread(tx, input, { receipt, position, added })
  else await continueThread(tx, input, { parent, receipt, position, added })
  const { message, event } = receivedRows(input, receipt, {
    thread_id: thread.id,
    position,
    direction_position: counters.inbound_count,
    thread_position: thread.message_count + 1,
  })
  await insertMessage(tx, message)
  await countStored(tx, { inboxId, position, bytes: input.raw.size_bytes })
  if (input.senderKey !== null) {
    const sender = { inbox_id: inboxId, address_key: input.senderKey }
    await insertCorrespondent(tx, { ...sender, first_message_id: receipt.messageId })
  }
  await insertEvent(tx, event)
  return 'stored'
}

type Place = { receipt: KnownReceipt; position: number; added: AddedMessage }

async function startThread(
  tx: Tx,
  { content, nowMs }: ReceivedMail,
  { receipt, position, added }: Place,
): Promise<void> {
  const { inboxId } = receipt
  await insertThread(tx, {
    id: receipt.threadId,
    account_id: receipt.accountId,
    inbox_id: inboxId,
    subject: content.subject,
    is_read: 0,
    now: nowMs,
    position,
    ...firstSummary(added),
  })
  await countInRange(tx, { inboxId, position, threads: 1, unread: 1 })
}

/** The counters took it for a new unread thread; what was not true of it is taken back. */
async function continueThread(
  tx: Tx,
  { nowMs }: ReceivedMail,
  { parent, receipt, position, added }: Place & { parent: ParentThread },
): Promise<void> {
  const { inboxId } = receipt
  const unread = parent.is_read - 1
  await addToCounters(tx, { inboxId, inbound: 0, outbound: 0, threads: -1, unread })
  const summary = nextSummary(parent, added)
  await updateThread(tx, { id: parent.id, isRead: 0, now: nowMs, position, ...summary })
  await moveInRanges(tx, {
    inboxId,
    from: parent.last_position,
    to: position,
    wasRead: parent.is_read === 1,
    isRead: false,
  })
}

/**
 * The id of the same message in the inbox, or null. A peer that lost our answer repeats itself within
 * hours, so of ever so many messages under one Message-ID the newest are looked at.
 */
export async function findDuplicate(
  tx: Tx,
  inboxId: string,
  content: MessageContent,
): Promise<string | null> {
  const { message_key: messageKey, receipt_key: receiptKey } = content
  if (messageKey == null || receiptKey == null) return null
  const same = await selectReceipts(tx, { inboxId, messageKey })
  const found = same.find(({ receipt_key }) => Buffer.compare(receipt_key, receiptKey) === 0)
  return found?.id ?? null
}

/** The thread of the first key that names a message of this inbox; of several, the oldest one's. */
async function findParentThread(
  tx: Tx,
  inboxId: string,
  keys: string[],
): Promise<ParentThread | null> {
  // Most answers name one message; a long chain is looked up in one query, whatever its length.
  const known = keys.length > 1 ? await findKnownKeys(tx, inboxId, keys) : null
  const key = known === null ? keys[0] : keys.find((candidate) => known.has(candidate))
  if (key === undefined) return null
  const [parent] = await selectParent(tx, { inboxId, key })
  return parent ?? null
}

async function findKnownKeys(tx: Tx, inboxId: string, keys: string[]): Promise<Set<string | null>> {
  const rows = await tx.query
    .selectFrom('messages')
    .select('message_key')
    .distinct()
    .where('inbox_id', '=', inboxId)
    .where('message_key', 'in', keys)
    .execute()
  return new Set(rows.map((row) => row.message_key))
}

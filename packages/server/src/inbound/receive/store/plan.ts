// Plans the rows to write for a group of messages, as if they had arrived one after the other. The
// functions are pure and use no database.

import type { EventQuarantined } from '@mailroom/contract/events.ts'
import type { HoldReason } from '@mailroom/contract/sending.ts'
import type { MessageCategory, QuarantineReason } from '@mailroom/contract/vocabulary.ts'
import type { NewAuditEntry } from '#accounts/store/audit.ts'
import type { TracedEvent } from '#events/store/append.ts'
import type { ReachedThrough } from '#inbound/receive/find-recipient.ts'
import {
  type Additions,
  additionsTo,
  addMessage,
  type KnownInbox,
} from '#mailbox/messages/store/add-message.ts'
import {
  MENTIONS_MS,
  mentionRows,
  type ReceivedMentions,
} from '#mailbox/messages/store/mentions.ts'
import { kindOfRow } from '#mailbox/messages/store/message-kind.ts'
import type { Direction } from '#mailbox/messages/store/messages.ts'
import type {
  MessageContent,
  NewRows,
  ThreadState,
} from '#mailbox/messages/store/write-messages.ts'
import type { SenderProof } from '#policy/store/send-policies.ts'
import type { Row } from '#store/tables.ts'

export const SAME_ID_COMPARED_MAX = 100

export type Receipt = {
  accountId: string
  podId: string
  inboxId: string
  messageId: string
  threadId: string
  eventId: string
  toAddr: string
  /** The first RCPT address that reaches the inbox, as the client wrote it. */
  recipient: string | null
  /** This is empty if one of the addresses is on the service's own domain. */
  through: ReachedThrough[]
  deliveryRole: 'to' | 'cc'
}

export type KeptOut = Pick<
  Receipt,
  | 'eventId'
  | 'accountId'
  | 'podId'
  | 'inboxId'
  | 'toAddr'
  | 'recipient'
  | 'through'
  | 'deliveryRole'
> & { quarantinedId: string; auditId: string; reason: QuarantineReason; ruleId: string | null }

export type ReceivedContent = MessageContent & { category: MessageCategory; judgement: string }

export type Arrival = {
  raw: Pick<Row<'raw_messages'>, 'id' | 'size_bytes' | 'reverse_path'>
  content: ReceivedContent
  receipts: readonly Omit<Receipt, 'through'>[]
  keptOut: readonly Omit<KeptOut, 'through'>[]
  /** The order of the keys decides the thread. */
  parentKeys: readonly string[]
  /** This is null if the author's address is not valid. */
  senderKey: string | null
  senderProof: SenderProof
  mentions: ReceivedMentions
  traceParent: string | null
  nowMs: number
  /** Identifies a message without a Message-ID whose reply was lost since `sinceMs`. */
  repeated?: { key: Uint8Array; sinceMs: number }
  imported?: ImportedAs
}

/** An imported message emits no event and keeps its own date. */
export type ImportedAs = {
  direction: Direction
  status: 'received' | 'sent' | 'failed'
  failureReason: string | null
  dateMs: number
  isRead: boolean
  to: string[]
  bcc: string[]
  /** The message continues this thread if the inbox has it, and starts it otherwise. */
  threadId: string | null
}

export type MessageKey = { inbox_id: string; message_key: string }

/** These rows stay locked until the plan is written. */
export type KnownRows = {
  inboxes: readonly KnownInbox[]
  /**
   * Up to SAME_ID_COMPARED_MAX messages for each Message-ID, newest first. Messages without a
   * Message-ID that have the same bytes are under the key ''.
   */
  same: readonly (MessageKey & { id: string; receipt_key: Uint8Array })[]
  /** Threads of the oldest messages that have the answered Message-IDs. */
  parents: readonly (MessageKey & ThreadState)[]
  threads?: readonly ThreadState[]
  quarantined: readonly { inbox_id: string; receipt_key: Uint8Array | null }[]
}

export type ReceiptResult =
  | { kind: 'stored'; messageId: string }
  /** `messageId` is null if the duplicate is in quarantine. */
  | { kind: 'duplicate'; messageId: string | null }
  | { kind: 'quarantined' }
  | { kind: 'gone' }

type ReceivePlan = {
  /** Each arrival has one list, with a result for each recipient. */
  results: ReceiptResult[][]
  additions: Additions
  rows: Pick<NewRows, 'correspondents' | 'quarantined' | 'events'>
  mentions: Row<'mentions'>[]
  audit: NewAuditEntry[]
}

type Draft = Pick<ReceivePlan, 'additions' | 'mentions' | 'audit'> & {
  readonly same: Map<string, { id: string; receipt_key: Uint8Array }[]>
  readonly parents: Map<string, ThreadState>
  readonly named: Map<string, ThreadState>
  readonly quarantined: Set<string>
  readonly correspondents: Map<string, Row<'correspondents'>>
  readonly rows: Pick<NewRows, 'quarantined' | 'events'>
}

export function planReceiving(known: KnownRows, arrivals: readonly Arrival[]): ReceivePlan {
  const draft = draftOf(known)
  const results = arrivals.map((arrival) =>
    inOrderOfInboxes([...arrival.receipts, ...arrival.keptOut]).map((receipt) =>
      'quarantinedId' in receipt
        ? keepOut(draft, arrival, receipt)
        : receive(draft, arrival, receipt),
    ),
  )
  const { additions, mentions, audit } = draft
  const rows = { ...draft.rows, correspondents: [...draft.correspondents.values()] }
  return { results, additions, rows, mentions, audit }
}

/** All transactions lock inboxes in this order to avoid deadlocks. */
export function inOrderOfInboxes<One extends { inboxId: string }>(receipts: readonly One[]): One[] {
  return receipts.toSorted((a, b) => (a.inboxId < b.inboxId ? -1 : 1))
}

export function keyIn(inboxId: string, key: string): string {
  return `${inboxId} ${key}`
}

function draftOf({ inboxes, same, parents, threads = [], quarantined }: KnownRows): Draft {
  return {
    additions: additionsTo(inboxes),
    same: Map.groupBy(same, (row) => keyIn(row.inbox_id, row.message_key)),
    parents: new Map(
      parents.map(({ inbox_id, message_key, ...row }) => [keyIn(inbox_id, message_key), row]),
    ),
    named: new Map(threads.map((thread) => [thread.id, thread])),
    quarantined: new Set(
      quarantined.map(({ inbox_id, receipt_key }) => keyIn(inbox_id, hexOf(receipt_key))),
    ),
    correspondents: new Map(),
    rows: { quarantined: [], events: [] },
    mentions: [],
    audit: [],
  }
}

type ArrivalReceipt = Arrival['receipts'][number]

function receive(draft: Draft, arrival: Arrival, receipt: ArrivalReceipt): ReceiptResult {
  const { content, raw, senderKey, nowMs, imported } = arrival
  const { inboxId, accountId, messageId } = receipt
  if (!draft.additions.inboxes.has(inboxId)) return { kind: 'gone' }
  const duplicate = findDuplicate(draft, inboxId, arrival)
  if (duplicate !== null) return { kind: 'duplicate', messageId: duplicate }
  const { direction = 'inbound' } = imported ?? {}
  const thread = addMessage(draft.additions, {
    message: {
      ...content,
      id: messageId,
      account_id: accountId,
      inbox_id: inboxId,
      raw_id: raw.id,
      direction,
      // Sent messages have no category.
      category: direction === 'inbound' ? content.category : null,
      judgement: direction === 'inbound' ? content.judgement : null,
      status: imported?.status ?? 'received',
      to_addr: receipt.toAddr,
      to_addrs: direction === 'inbound' ? null : JSON.stringify(imported?.to),
      bcc: direction === 'inbound' ? content.bcc : JSON.stringify(imported?.bcc),
      recipient: receipt.recipient,
      delivery_role: direction === 'inbound' ? receipt.deliveryRole : null,
      failure_reason: imported?.failureReason ?? null,
      scheduled_at: null,
      is_imported: imported === undefined ? null : 1,
      created_at: imported?.dateMs ?? nowMs,
    },
    sizeBytes: raw.size_bytes,
    // An imported message that was read or sent leaves its thread as it is.
    threadBecomes: imported?.isRead || direction === 'outbound' ? 'unchanged' : 'unread',
    thread: findThread(draft, arrival, inboxId),
    threadId: receipt.threadId,
  })
  draft.named.set(thread.id, thread)
  const at = { account_id: accountId, inbox_id: inboxId, thread_id: thread.id }
  if (imported === undefined) {
    draft.rows.events.push({
      ...at,
      id: receipt.eventId,
      kind: 'message.received',
      pod_id: receipt.podId,
      message_id: messageId,
      occurred_at: nowMs,
      details: null,
      trace_parent: arrival.traceParent,
      category: content.category ?? null,
    })
  }
  if (senderKey !== null) {
    const key = keyIn(inboxId, senderKey)
    const known = draft.correspondents.get(key)
    draft.correspondents.set(key, {
      inbox_id: inboxId,
      address_key: senderKey,
      first_message_id: known?.first_message_id ?? messageId,
      proof: Math.max(known?.proof ?? 0, arrival.senderProof),
    })
  }
  if (direction === 'inbound') addMentions(draft, arrival, receipt)
  remember(draft, { inboxId, messageId, arrival, thread })
  return { kind: 'stored', messageId }
}

function addMentions(
  draft: Draft,
  { mentions, senderProof, imported, nowMs }: Arrival,
  { messageId, accountId, inboxId, toAddr }: ArrivalReceipt,
): void {
  const receivedAtMs = imported?.dateMs ?? nowMs
  if (receivedAtMs <= nowMs - MENTIONS_MS) return
  const message = {
    message_id: messageId,
    account_id: accountId,
    inbox_id: inboxId,
    proof: senderProof,
    received_at: receivedAtMs,
  }
  const copied = mentions.copied.filter((address) => address !== toAddr)
  draft.mentions.push(...mentionRows(message, { ...mentions, copied }))
}

/** A duplicate of a message in the inbox is not quarantined, even if the rules have changed. */
function keepOut(
  draft: Draft,
  arrival: Arrival,
  keptOut: Arrival['keptOut'][number],
): ReceiptResult {
  const { raw, content, nowMs } = arrival
  const { inboxId } = keptOut
  const inbox = draft.additions.inboxes.get(inboxId)
  if (inbox === undefined) return { kind: 'gone' }
  const messageId = findDuplicate(draft, inboxId, arrival)
  if (messageId !== null) return { kind: 'duplicate', messageId }
  const receipt_key = content.receipt_key ?? null
  if (receipt_key !== null) {
    const key = keyIn(inboxId, hexOf(receipt_key))
    if (draft.quarantined.has(key)) return { kind: 'duplicate', messageId: null }
    draft.quarantined.add(key)
  }
  inbox.change.quarantined_count += 1
  inbox.change.quarantined_bytes += raw.size_bytes
  draft.rows.quarantined.push({
    id: keptOut.quarantinedId,
    account_id: keptOut.accountId,
    pod_id: keptOut.podId,
    inbox_id: inboxId,
    raw_id: raw.id,
    receipt_key,
    reason: keptOut.reason,
    rule_id: keptOut.ruleId,
    from_addr: content.from_addr,
    to_addr: keptOut.toAddr,
    recipient: keptOut.recipient,
    delivery_role: keptOut.deliveryRole,
    subject: content.subject,
    reverse_path: raw.reverse_path,
    authentication: content.authentication ?? null,
    size_bytes: raw.size_bytes,
    category: content.category,
    judgement: content.judgement,
    created_at: nowMs,
  })
  draft.rows.events.push(quarantineEvent(arrival, keptOut))
  draft.audit.push({
    id: keptOut.auditId,
    accountId: keptOut.accountId,
    direction: 'inbound',
    decision: 'quarantine',
    podId: keptOut.podId,
    inboxId,
    actor: null,
    details: {
      messageId: keptOut.quarantinedId,
      sender: content.from_addr,
      recipients: [keptOut.toAddr],
      reasons: [QUARANTINE_REASONS[keptOut.reason]],
    },
    createdAtMs: nowMs,
  })
  return { kind: 'quarantined' }
}

const QUARANTINE_REASONS: Readonly<Record<QuarantineReason, HoldReason>> = {
  blocked: { guard: 'rule', detail: 'A rule blocks the sender.' },
  not_allowed: { guard: 'mode', detail: 'No rule allows the sender.' },
  not_verified: {
    guard: 'mode',
    detail: 'The mail does not prove that it is from the allowed sender.',
  },
  malware: { guard: 'scanner', detail: 'The virus scanner found malware.' },
}

function quarantineEvent(
  { content, nowMs, traceParent }: Arrival,
  keptOut: Arrival['keptOut'][number],
): TracedEvent {
  return {
    id: keptOut.eventId,
    kind: 'message.quarantined',
    account_id: keptOut.accountId,
    pod_id: keptOut.podId,
    inbox_id: keptOut.inboxId,
    thread_id: null,
    message_id: null,
    occurred_at: nowMs,
    details: JSON.stringify({ quarantined: quarantinedOf(keptOut, content) }),
    trace_parent: traceParent,
    category: content.category ?? null,
  }
}

function quarantinedOf(
  keptOut: Arrival['keptOut'][number],
  content: ReceivedContent,
): EventQuarantined {
  const kind = kindOfRow(content)
  return {
    id: keptOut.quarantinedId,
    from: content.from_addr,
    to: keptOut.toAddr,
    subject: content.subject,
    reason: keptOut.reason,
    rule_id: keptOut.ruleId,
    auto_replyable: false,
    category: kind.category,
    category_reasons: kind.categoryReasons,
    verdict: kind.verdict,
    spam_score: kind.spamScore,
  }
}

/**
 * A peer that lost our reply repeats a message within hours, so only the newest messages with the
 * same Message-ID are compared.
 */
function findDuplicate({ same }: Draft, inboxId: string, arrival: Arrival): string | null {
  const compared = comparedKey(arrival)
  const receipt_key = receiptKeyOf(arrival)
  const { content, repeated, imported } = arrival
  const isCompared = content.message_key != null || repeated !== undefined || imported !== undefined
  if (receipt_key === null || !isCompared) return null
  const newest = (same.get(keyIn(inboxId, compared)) ?? []).slice(0, SAME_ID_COMPARED_MAX)
  return newest.find((row) => Buffer.compare(row.receipt_key, receipt_key) === 0)?.id ?? null
}

export function receiptKeyOf({
  content,
  repeated,
}: Pick<Arrival, 'content' | 'repeated'>): Uint8Array | null {
  return content.receipt_key ?? (content.message_key == null ? (repeated?.key ?? null) : null)
}

function comparedKey({ content }: Arrival): string {
  return content.message_key ?? ''
}

function remember(
  { same, parents }: Draft,
  added: { inboxId: string; messageId: string; arrival: Arrival; thread: ThreadState },
): void {
  const compared = comparedKey(added.arrival)
  const { message_key, receipt_key } = added.arrival.content
  const key = keyIn(added.inboxId, compared)
  if (message_key != null && !parents.has(key)) parents.set(key, added.thread)
  if (receipt_key != null) {
    same.set(key, [{ id: added.messageId, receipt_key }, ...(same.get(key) ?? [])])
  }
}

/** An imported message names its thread; otherwise the first answered message decides. */
function findThread(
  { named, parents }: Draft,
  { imported, parentKeys }: Arrival,
  inboxId: string,
): ThreadState | null {
  const keys = parentKeys.map((key) => keyIn(inboxId, key))
  const answered = keys.find((key) => parents.has(key))
  return named.get(imported?.threadId ?? '') ?? parents.get(answered ?? '') ?? null
}

function hexOf(bytes: Uint8Array | null): string {
  return bytes === null ? '' : Buffer.from(bytes).toString('hex')
}

// What several arriving messages come to, as if one had been received after the other, decided in memory:
// the rows to be written, and what each of them is told. Knows no database.

import type { NewEventRow } from '#events/event-rows.ts'
import { longBodyOf } from '#mailbox/long-body-rows.ts'
import type {
  NewMessage,
  NewThread,
  ParentThread,
  SummaryColumns,
} from '#mailbox/message-statements.ts'
import { SAME_ID_LOOKED_AT_MAX } from '#mailbox/message-statements.ts'
import { changeAt, changesOfMove, type RangeChange } from '#mailbox/thread-range-rows.ts'
import { firstSummary, nextSummary } from '#mailbox/thread-summary-rows.ts'
import type { GroupedInput } from '#platform/db/db.ts'
import type { NewRow } from '#schema/tables.ts'
import { inOrderOfInboxes, type ReceiveInput, type ReceiveOutcome } from './receive-message-rows.ts'
import { receivedMessage, receivedRows } from './received-rows-rows.ts'

type Receipt = ReceiveInput['receipts'][number]

/** Of one inbox, what was counted before, and what is added to it. */
export type CountedInbox = {
  readonly inboundCount: number
  readonly outboundCount: number
  inbound: number
  threads: number
  unread: number
  /** Octets of what is added. */
  bytes: number
}

/** What stands in the inboxes, none of which may change until the plan is carried out. */
export type KnownInboxes = {
  /** Those that receive, by id. */
  inboxes: ReadonlyMap<string, CountedInbox>
  /** By `keyIn`: receipts of the messages of an inbox under a Message-ID, the newest first. */
  receipts: Map<string, Uint8Array[]>
  /** By `keyIn`: the thread of the oldest message of an inbox under a Message-ID. */
  parents: Map<string, ParentThread>
}

/** A thread as the messages of the plan leave it. */
type PlannedThread = ParentThread & {
  /** Null where it was there before. */
  row: Omit<NewThread, keyof SummaryColumns> | null
  snippet: string | null
  added: number
  lastMessageAtMs: number
}

/** Where a Message-ID stands in the maps of what is known. */
export function keyIn(inboxId: string, messageKey: string): string {
  return `${inboxId} ${messageKey}`
}

export class ReceivePlan {
  readonly raws: NewRow<'raw_messages'>[] = []
  readonly longBodies: NewRow<'long_bodies'>[] = []
  readonly messages: NewMessage[] = []
  readonly events: NewEventRow[] = []
  readonly ranges: RangeChange[] = []
  readonly #known: KnownInboxes
  readonly #threads = new Map<string, PlannedThread>()
  readonly #correspondents = new Map<string, NewRow<'correspondents'>>()

  constructor(known: KnownInboxes) {
    this.#known = known
  }

  /** The next message, and what is to be told of it. */
  add({ input, traceParent }: GroupedInput<ReceiveInput>): ReceiveOutcome {
    const outcome = { stored: 0, quarantined: 0, duplicates: 0, gone: 0 }
    const stored = new Set<string>()
    for (const receipt of inOrderOfInboxes(input.receipts)) {
      const result = this.#receive(input, receipt, traceParent ?? null)
      outcome[result] += 1
      if (result === 'stored') stored.add(receipt.messageId)
    }
    if (outcome.stored > 0) {
      this.raws.push({ ...input.raw, reference_count: outcome.stored })
      const longBody = longBodyOf(input.raw.id, input.content)
      if (longBody !== null) this.longBodies.push(longBody)
    }
    const messageIds = input.receipts.map(({ messageId }) => messageId)
    return {
      ...outcome,
      isKept: outcome.stored > 0,
      messageIds: messageIds.filter((id) => stored.has(id)),
      blobIds: [],
    }
  }

  get correspondents(): NewRow<'correspondents'>[] {
    return [...this.#correspondents.values()]
  }

  get newThreads(): NewThread[] {
    const rows: NewThread[] = []
    for (const thread of this.#threads.values()) {
      const { row, added, lastMessageAtMs, last_position } = thread
      if (row === null) continue
      const last = { message_count: added, last_message_at: lastMessageAtMs, last_position }
      rows.push({ ...row, ...last, ...summaryOf(thread) })
    }
    return rows
  }

  /** Those that were there before and got messages. */
  get continuedThreads(): PlannedThread[] {
    return [...this.#threads.values()].filter(({ row }) => row === null)
  }

  #receive(
    input: ReceiveInput,
    receipt: Receipt,
    traceParent: string | null,
  ): 'stored' | 'duplicates' | 'gone' {
    const { inboxId } = receipt
    const { content } = input
    const inbox = this.#known.inboxes.get(inboxId)
    if (inbox === undefined) return 'gone'
    if (this.#isThere(inboxId, content)) return 'duplicates'
    inbox.inbound += 1
    inbox.bytes += input.raw.size_bytes
    const directionPosition = inbox.inboundCount + inbox.inbound
    const position = directionPosition + inbox.outboundCount
    const parent = this.#findParent(inboxId, input.parentKeys)
    const place = { receipt, position, inbox }
    const thread =
      parent === null ? this.#start(input, place) : this.#continue(input, parent, place)
    const { message, event } = receivedRows(input, receipt, {
      thread_id: thread.id,
      position,
      direction_position: directionPosition,
      thread_position: thread.message_count,
    })
    this.messages.push(message)
    this.#note(inboxId, content, thread)
    if (input.senderKey !== null) {
      const sender = { inbox_id: inboxId, address_key: input.senderKey }
      const key = keyIn(inboxId, input.senderKey)
      // Of several messages the first is noted.
      if (!this.#correspondents.has(key)) {
        this.#correspondents.set(key, { ...sender, first_message_id: receipt.messageId })
      }
    }
    this.events.push({ ...event, trace_parent: traceParent })
    return 'stored'
  }

  #isThere(inboxId: string, { message_key, receipt_key }: ReceiveInput['content']): boolean {
    if (message_key == null || receipt_key == null) return false
    const same = this.#known.receipts.get(keyIn(inboxId, message_key)) ?? []
    return same
      .slice(0, SAME_ID_LOOKED_AT_MAX)
      .some((other) => Buffer.compare(other, receipt_key) === 0)
  }

  /** So that the next message of the plan finds this one. */
  #note(inboxId: string, content: ReceiveInput['content'], thread: ParentThread): void {
    const { message_key: messageKey, receipt_key: receiptKey } = content
    if (messageKey == null) return
    const key = keyIn(inboxId, messageKey)
    const { parents, receipts } = this.#known
    if (!parents.has(key)) parents.set(key, thread)
    if (receiptKey != null) receipts.set(key, [receiptKey, ...(receipts.get(key) ?? [])])
  }

  #findParent(inboxId: string, keys: readonly string[]): ParentThread | null {
    for (const key of keys) {
      const parent = this.#known.parents.get(keyIn(inboxId, key))
      if (parent !== undefined) return parent
    }
    return null
  }

  #start(input: ReceiveInput, { receipt, position, inbox }: Place): ParentThread {
    const { content, nowMs } = input
    const { inboxId, threadId } = receipt
    const row = {
      id: threadId,
      account_id: receipt.accountId,
      inbox_id: inboxId,
      subject: content.subject,
      is_read: 0,
      message_count: 1,
      last_message_at: nowMs,
      last_position: position,
      created_at: nowMs,
    }
    const last = { message_count: 1, last_position: position, lastMessageAtMs: nowMs }
    const summary = firstSummary(receivedMessage(input, receipt))
    const thread = { id: threadId, is_read: 0, ...last, ...summary, row, added: 1 }
    this.#threads.set(threadId, thread)
    inbox.threads += 1
    inbox.unread += 1
    this.ranges.push(changeAt({ inboxId, position, threads: 1, unread: 1 }))
    return thread
  }

  #continue(
    input: ReceiveInput,
    parent: ParentThread,
    { receipt, position, inbox }: Place,
  ): ParentThread {
    const { nowMs } = input
    const thread = this.#threads.get(parent.id) ?? {
      ...parent,
      row: null,
      snippet: null,
      added: 0,
      lastMessageAtMs: nowMs,
    }
    this.#threads.set(thread.id, thread)
    const wasRead = thread.is_read === 1
    if (wasRead) inbox.unread += 1
    const from = thread.last_position
    const { inboxId } = receipt
    this.ranges.push(...changesOfMove({ inboxId, from, to: position, wasRead, isRead: false }))
    Object.assign(thread, nextSummary(thread, receivedMessage(input, receipt)))
    thread.is_read = 0
    thread.message_count += 1
    thread.added += 1
    thread.last_position = position
    thread.lastMessageAtMs = nowMs
    return thread
  }
}

function summaryOf(thread: PlannedThread): SummaryColumns {
  const { participants, snippet, summary_count, read_count } = thread
  return { participants, snippet, summary_count, read_count }
}

type Place = { receipt: Receipt; position: number; inbox: CountedInbox }

// Several arriving messages in one transaction, with one set of statements: what `receiveMessage` does for
// one, where each round trip to a server would hold the inbox from the next.

import { bodiesForRow, longBodyOf } from '#mailbox/long-body-rows.ts'
import { sumChanges } from '#mailbox/thread-range-rows.ts'
import { type GroupedInput, type JoinGroup, transaction } from '#platform/db/db.ts'
import type { Tx } from '#schema/tables.ts'
import {
  type AskedKeys,
  addToAllCounters,
  insertReceived,
  lockCounters,
  selectOldest,
  selectReceiving,
  selectSame,
  updateThreads,
} from './group-statements-rows.ts'
import { type ReceiveInput, type ReceiveOutcome, receiveMessage } from './receive-message-rows.ts'
import { type CountedInbox, type KnownInboxes, keyIn, ReceivePlan } from './receive-plan-rows.ts'

type Grouped = readonly GroupedInput<ReceiveInput>[]

/** What is rare has no group form: mail that is kept out, or is for the operator. */
export const storeReceived = transaction({
  name: 'receiveMessage',
  accountOf: ({ receipts, keptOut }) => (receipts[0] ?? keptOut[0])?.accountId ?? null,
  group: {
    sizeOf(input: ReceiveInput) {
      const { raw, content, receipts, parentKeys, keptOut, postmaster } = input
      if (keptOut.length > 0 || postmaster !== null || receipts.length === 0) return null
      const onceLength = lengthOf([
        raw.content,
        ...Object.values(longBodyOf(raw.id, content) ?? {}),
      ])
      // For each recipient it is written, and what it answers is looked for.
      const eachLength = lengthOf([...Object.values(bodiesForRow(content)), ...parentKeys])
      return onceLength + receipts.length * (eachLength + ROWS_LENGTH)
    },
    run: receiveMessages,
  },
  run: receiveMessage,
})

/** About what the rows of one recipient have beside what the message says. */
const ROWS_LENGTH = 2_000

function lengthOf(values: readonly unknown[]): number {
  let length = 0
  for (const value of values) {
    if (typeof value === 'string' || value instanceof Uint8Array) length += value.length
  }
  return length
}

/**
 * Receives each as if it came after those before it. Their inboxes are locked first, in the order of
 * their ids, and nothing is looked up before they are. Mail for the same inboxes that came while they
 * were another transaction's joins.
 */
export async function receiveMessages(
  tx: Tx,
  first: Grouped,
  join: JoinGroup<ReceiveInput>,
): Promise<ReceiveOutcome[]> {
  const inboxIds = new Set(first.flatMap(({ input }) => inboxIdsOf(input)))
  const inboxes = await lockInboxes(tx, inboxIds)
  const joined = join((input: ReceiveInput) => inboxIdsOf(input).every((id) => inboxIds.has(id)))
  const writes = [...first, ...joined]
  await leaveOutLost(tx, writes, inboxes)
  const receipts = await findReceipts(tx, writes, inboxes)
  const parents = await findParents(tx, writes, inboxes)
  const plan = new ReceivePlan({ inboxes, receipts, parents })
  const outcomes = writes.map((write) => plan.add(write))
  await carryOut(tx, plan, inboxes)
  return outcomes
}

function inboxIdsOf({ receipts }: ReceiveInput): string[] {
  return receipts.map(({ inboxId }) => inboxId)
}

type Inboxes = Map<string, CountedInbox>

/** Those that are there. */
async function lockInboxes(tx: Tx, inboxIds: ReadonlySet<string>): Promise<Inboxes> {
  const inboxes: Inboxes = new Map()
  for (const row of await lockCounters(tx, { inboxIds: [...inboxIds] })) {
    const counted = { inboundCount: row.inbound_count, outboundCount: row.outbound_count }
    inboxes.set(row.inbox_id, { ...counted, inbound: 0, threads: 0, unread: 0, bytes: 0 })
  }
  return inboxes
}

/** Removes inboxes whose domain is another account's now: whoever takes one over locks their counters. */
async function leaveOutLost(tx: Tx, writes: Grouped, inboxes: Inboxes): Promise<void> {
  const receipts = writes.flatMap(({ input }) => input.receipts)
  const onDomains = new Set(
    receipts.filter(({ domainId }) => domainId !== null).map(({ inboxId }) => inboxId),
  )
  if (onDomains.size === 0) return
  const receiving = await selectReceiving(tx, { inboxIds: [...onDomains] })
  const ids = new Set(receiving.map(({ id }) => id))
  for (const inboxId of onDomains) if (!ids.has(inboxId)) inboxes.delete(inboxId)
}

async function findReceipts(
  tx: Tx,
  writes: Grouped,
  inboxes: Inboxes,
): Promise<KnownInboxes['receipts']> {
  const asked = new Keys()
  for (const { input } of writes) {
    const { message_key, receipt_key } = input.content
    if (message_key == null || receipt_key == null) continue
    for (const { inboxId } of input.receipts)
      if (inboxes.has(inboxId)) asked.add(inboxId, message_key)
  }
  const found: KnownInboxes['receipts'] = new Map()
  for (const row of await asked.look(tx, selectSame)) {
    const key = keyIn(row.inbox_id, row.message_key)
    const same = found.get(key) ?? []
    same.push(row.receipt_key)
    found.set(key, same)
  }
  return found
}

async function findParents(
  tx: Tx,
  writes: Grouped,
  inboxes: Inboxes,
): Promise<KnownInboxes['parents']> {
  const asked = new Keys()
  for (const { input } of writes) {
    for (const { inboxId } of input.receipts) {
      if (!inboxes.has(inboxId)) continue
      for (const key of input.parentKeys) asked.add(inboxId, key)
    }
  }
  const found: KnownInboxes['parents'] = new Map()
  for (const { inbox_id, message_key, ...thread } of await asked.look(tx, selectOldest)) {
    found.set(keyIn(inbox_id, message_key), thread)
  }
  return found
}

/** Message-IDs that are looked for, each once. */
class Keys {
  readonly #asked = new Map<string, readonly [inboxId: string, key: string]>()

  add(inboxId: string, key: string): void {
    this.#asked.set(keyIn(inboxId, key), [inboxId, key])
  }

  async look<Found>(
    tx: Tx,
    select: (tx: Tx, asked: AskedKeys) => Promise<Found[]>,
  ): Promise<Found[]> {
    const pairs = [...this.#asked.values()]
    if (pairs.length === 0) return []
    return select(tx, { inboxIds: pairs.map(([id]) => id), keys: pairs.map(([, key]) => key) })
  }
}

async function carryOut(tx: Tx, plan: ReceivePlan, inboxes: Inboxes): Promise<void> {
  const changed = [...inboxes].filter(([, { inbound }]) => inbound > 0)
  if (changed.length === 0) return
  await addToAllCounters(tx, {
    inboxIds: changed.map(([id]) => id),
    inbound: changed.map(([, one]) => one.inbound),
    threads: changed.map(([, one]) => one.threads),
    unread: changed.map(([, one]) => one.unread),
    bytes: changed.map(([, one]) => one.bytes),
  })
  const continued = plan.continuedThreads
  if (continued.length > 0) {
    await updateThreads(tx, {
      ids: continued.map(({ id }) => id),
      added: continued.map(({ added }) => added),
      atMs: continued.map(({ lastMessageAtMs }) => lastMessageAtMs),
      positions: continued.map(({ last_position }) => last_position),
      participants: continued.map(({ participants }) => participants),
      snippets: continued.map(({ snippet }) => snippet),
      summaryCounts: continued.map(({ summary_count }) => summary_count),
      readCounts: continued.map(({ read_count }) => read_count),
    })
  }
  await insertReceived(tx, {
    threads: plan.newThreads,
    ranges: sumChanges(plan.ranges),
    messages: plan.messages,
    correspondents: plan.correspondents,
    events: plan.events,
    raws: plan.raws,
    longBodies: plan.longBodies,
  })
}

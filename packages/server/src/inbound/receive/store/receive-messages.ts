// The transaction behind every 250. It stores or quarantines arriving messages for their
// recipients, or recognizes duplicates.

import { insertAudit } from '#accounts/store/audit.ts'
import { findServingDomains } from '#domains/store/domains.ts'
import type { Additions } from '#mailbox/messages/store/add-message.ts'
import { insertAdditions } from '#mailbox/messages/store/insert-additions.ts'
import { insertMentions } from '#mailbox/messages/store/mentions.ts'
import {
  bodiesForRow,
  insertLongBodies,
  longBodyOf,
  THREAD_STATE_COLUMNS,
  type ThreadState,
} from '#mailbox/messages/store/write-messages.ts'
import { labelNewMessage, labelNewThread } from '#mailbox/threads/store/change-threads.ts'
import { type GroupedInput, groupTransaction, transaction } from '#platform/db/db.ts'
import { lockRows } from '#platform/db/dialect.ts'
import { forEachRow, rowSelect } from '#platform/db/statement.ts'
import { insertJobs } from '#queue/jobs.ts'
import { type NewRow, readIn, type Tables, type Tx } from '#store/tables.ts'
import {
  type Arrival,
  type ImportedAs,
  inOrderOfInboxes,
  type KeptOut,
  type KnownRows,
  keyIn,
  type MessageKey,
  planReceiving,
  type Receipt,
  type ReceiptResult,
  receiptKeyOf,
  SAME_ID_COMPARED_MAX,
} from './plan.ts'
import { addPostmasterMessage, dropOldestPostmasterMail } from './postmaster-messages.ts'

type ReceivedRaw = Omit<NewRow<'raw_messages'>, 'reference_count'>

export type ReceiveInput = Omit<Arrival, 'raw' | 'receipts' | 'keptOut' | 'traceParent'> & {
  raw: ReceivedRaw
  receipts: Receipt[]
  keptOut: KeptOut[]
  postmaster: { recipient: string } | null
  readsFiles: boolean
}

export type ReceiveOutcome = {
  stored: number
  quarantined: number
  duplicates: number
  gone: number
  isKept: boolean
  messageIds: string[]
  blobIds: string[]
}

type Write = GroupedInput<ReceiveInput>

/**
 * Stores the message for every recipient whose inbox exists and accepts mail. The raw message is
 * kept only if it is referenced.
 */
export const storeReceived = groupTransaction({
  name: 'receiveMessage',
  accountOf: accountOfFirst,
  group: {
    sizeOf(input: ReceiveInput) {
      const { raw, content, receipts, keptOut, parentKeys, mentions, postmaster } = input
      const recipients = receipts.length + keptOut.length
      // Making room for the postmaster's mail depends on rows that are already written.
      if (postmaster !== null || recipients === 0) return null
      const longBody = longBodyOf(raw.id, content) ?? {}
      const onceLength = lengthOf([raw.content, ...Object.values(longBody)])
      const eachLength = lengthOf([
        ...Object.values(bodiesForRow(content)),
        ...parentKeys,
        mentions.content,
      ])
      return onceLength + recipients * (eachLength + ROWS_LENGTH)
    },
    run: receiveMessages,
  },
})

function accountOfFirst({ receipts, keptOut }: ReceiveInput): string | null {
  return (receipts[0] ?? keptOut[0])?.accountId ?? null
}

const ROWS_LENGTH = 2_000

function lengthOf(values: readonly unknown[]): number {
  let length = 0
  for (const value of values) {
    if (typeof value === 'string' || value instanceof Uint8Array) length += value.length
  }
  return length
}

/** Locks all inboxes in one order before it reads anything. */
async function receiveMessages(tx: Tx, given: readonly Write[]): Promise<ReceiveOutcome[]> {
  const inboxIds = new Set(given.flatMap(({ input }) => inboxIdsOf(input)))
  const inboxes = await lockCounters(
    tx,
    [...inboxIds].sort().map((inbox_id) => ({ inbox_id })),
  )
  const writes = await withoutForeign(tx, given)
  const arrivals = writes.map(({ input, traceParent = null }) => ({ ...input, traceParent }))
  const known = await readKnown(tx, inboxes, arrivals)
  const { results, additions, rows, mentions, audit } = planReceiving(known, arrivals)
  const outcomes: ReceiveOutcome[] = []
  const raws: NewRow<'raw_messages'>[] = []
  for (const [index, { input }] of writes.entries()) {
    const counts = countResults(results[index] ?? [])
    const operator = await keepForOperator(tx, input)
    const references = counts.stored + counts.quarantined + operator.references
    if (references > 0) raws.push({ ...input.raw, reference_count: references })
    if (counts.stored > 0) await insertLongBodies(tx, input.raw.id, input.content)
    outcomes.push({
      ...counts,
      duplicates: counts.duplicates + operator.duplicates,
      isKept: references > 0,
      messageIds: storedIds(input, results[index] ?? []),
      blobIds: operator.blobIds,
    })
  }
  await insertAdditions(tx, additions, { ...rows, raws })
  await insertMentions(tx, mentions)
  await insertAudit(tx, audit)
  const toRead = writes.flatMap(({ input }, index) => {
    if (!input.readsFiles) return []
    const stored = new Set(outcomes[index]?.messageIds)
    return input.receipts
      .filter(({ messageId }) => stored.has(messageId))
      .map(({ messageId, accountId }) => readLater({ messageId, accountId }, input.nowMs))
  })
  await insertJobs(tx, toRead)
  return outcomes
}

function readLater(
  { messageId, accountId }: { messageId: string; accountId: string },
  nowMs: number,
): Parameters<typeof insertJobs>[1][number] {
  const kind = 'extraction'
  return { kind, key: messageId, account_id: accountId, due_at: nowMs, payload: null }
}

function inboxIdsOf({ receipts, keptOut }: ReceiveInput): string[] {
  return [...receipts, ...keptOut].map(({ inboxId }) => inboxId)
}

/**
 * Excludes recipients whose domains now belong to another account. A takeover locks the counters of
 * its inboxes, which this transaction has locked.
 */
async function withoutForeign(tx: Tx, writes: readonly Write[]): Promise<readonly Write[]> {
  const names = writes
    .flatMap(({ input }) => [...input.receipts, ...input.keptOut])
    .flatMap(({ through }) => through.map(({ name }) => name))
  if (names.length === 0) return writes
  // Custom domains are never at or below the service's own domain, so it need not be excluded.
  const serving = await findServingDomains({ db: readIn(tx), inboxDomain: '' }, names)
  const isOurs = ({ through }: Pick<Receipt, 'through'>) =>
    through.length === 0 ||
    through.some(({ name, domainId }) => serving.get(name)?.domainId === domainId)
  return writes.map((write) => {
    const { receipts, keptOut } = write.input
    const input = {
      ...write.input,
      receipts: receipts.filter(isOurs),
      keptOut: keptOut.filter(isOurs),
    }
    return { ...write, input }
  })
}

async function readKnown(
  tx: Tx,
  inboxes: KnownRows['inboxes'],
  arrivals: readonly Arrival[],
): Promise<KnownRows> {
  const receiving = new Set(inboxes.map(({ inbox_id }) => inbox_id))
  const same = new Map<string, MessageKey>()
  const answered = new Map<string, MessageKey>()
  const unnamed: SameOctets[] = []
  const quarantined: SameOctets[] = []
  const add = (keys: Map<string, MessageKey>, inbox_id: string, message_key: string) =>
    keys.set(keyIn(inbox_id, message_key), { inbox_id, message_key })
  for (const arrival of arrivals) {
    const { receipts, keptOut, parentKeys, repeated } = arrival
    const { message_key } = arrival.content
    const receipt_key = receiptKeyOf(arrival)
    for (const { inboxId } of [...receipts, ...keptOut]) {
      if (!receiving.has(inboxId)) continue
      if (receipt_key == null) continue
      if (message_key != null) add(same, inboxId, message_key)
      else if (repeated !== undefined) {
        unnamed.push({ inbox_id: inboxId, receipt_key, created_at: repeated.sinceMs })
      }
    }
    for (const { inboxId } of receipts) {
      if (!receiving.has(inboxId)) continue
      for (const key of parentKeys) add(answered, inboxId, key)
    }
    for (const { inboxId } of keptOut) {
      if (receipt_key == null) continue
      const created_at = message_key == null ? (repeated?.sinceMs ?? 0) : 0
      quarantined.push({ inbox_id: inboxId, receipt_key, created_at })
    }
  }
  return {
    inboxes,
    same: [
      ...(await selectSame(tx, [...same.values()])),
      ...(await selectUnnamed(tx, unnamed)).map((row) => ({ ...row, message_key: '' })),
    ],
    parents: await selectParents(tx, [...answered.values()]),
    quarantined: await selectQuarantined(tx, quarantined),
  }
}

function countResults(results: readonly ReceiptResult[]) {
  const counts = { stored: 0, quarantined: 0, duplicates: 0, gone: 0 }
  for (const { kind } of results) counts[kind === 'duplicate' ? 'duplicates' : kind] += 1
  return counts
}

function storedIds({ receipts }: ReceiveInput, results: readonly ReceiptResult[]): string[] {
  const stored = new Set(results.map((one) => (one.kind === 'stored' ? one.messageId : null)))
  return receipts.map(({ messageId }) => messageId).filter((id) => stored.has(id))
}

async function keepForOperator(tx: Tx, { raw, content, postmaster, nowMs }: ReceiveInput) {
  if (postmaster === null) return { references: 0, duplicates: 0, blobIds: [] }
  const isAdded = await addPostmasterMessage(tx, {
    raw_id: raw.id,
    // Without a Message-ID, the same bytes may be a different message a day later.
    receipt_key: content.message_key == null ? null : (content.receipt_key ?? null),
    recipient: postmaster.recipient,
    from_addr: content.from_addr,
    subject: content.subject,
    created_at: nowMs,
  })
  if (!isAdded) return { references: 0, duplicates: 1, blobIds: [] }
  return { references: 1, duplicates: 0, blobIds: await dropOldestPostmasterMail(tx, raw) }
}

export async function receiveKept(
  tx: Tx,
  { readsFiles, ...arrival }: Omit<Arrival, 'keptOut' | 'traceParent'> & { readsFiles: boolean },
): Promise<ReceiptResult | undefined> {
  const arrivals = [{ ...arrival, keptOut: [], traceParent: tx.traceParent ?? null }]
  const ids = inOrderOfInboxes(arrival.receipts).map(({ inboxId }) => ({ inbox_id: inboxId }))
  const known = await readKnown(tx, await lockCounters(tx, ids), arrivals)
  const { results, additions, rows, mentions } = planReceiving(known, arrivals)
  const [result] = results[0] ?? []
  if (result?.kind === 'stored') await insertLongBodies(tx, arrival.raw.id, arrival.content)
  await insertAdditions(tx, additions, rows)
  await insertMentions(tx, mentions)
  if (result?.kind === 'stored' && readsFiles) {
    await insertJobs(
      tx,
      arrival.receipts.map((receipt) => readLater(receipt, arrival.nowMs)),
    )
  }
  return result
}

/**
 * The client closed the connection after our reply and may not have read it. From now on, the same
 * bytes without a Message-ID are treated as a duplicate of this message.
 */
export const noteLostAnswer = transaction({
  name: 'noteLostAnswer',
  accountOf: () => null,
  async run(
    tx: Tx,
    { messageIds, receiptKey }: { messageIds: string[]; receiptKey: Uint8Array },
  ): Promise<void> {
    await tx.query
      .updateTable('messages')
      .set({ receipt_key: receiptKey })
      .where('id', 'in', messageIds)
      .where('message_key', 'is', null)
      .execute()
  },
})

export type ImportedArrival = Omit<Arrival, 'keptOut' | 'traceParent' | 'raw'> & {
  raw: ReceivedRaw
  imported: ImportedAs
  /** The message's id in the exporting service, which may be this one. */
  sourceId: string | null
  /** The labels are valid; `threadLabels` apply only if the message starts its thread. */
  labels: readonly string[]
  threadLabels: readonly string[]
  /** The thread to use if the named one is in the trash or was removed. */
  spareThreadId: string
}

/** Returns results in the order of `given`, with `gone` if the inbox was deleted. */
export async function receiveImported(
  tx: Tx,
  inboxId: string,
  given: readonly ImportedArrival[],
): Promise<ReceiptResult[]> {
  const inboxes = await lockCounters(tx, [{ inbox_id: inboxId }])
  const threadIds = [...new Set(given.flatMap((one) => one.imported.threadId ?? []))]
  const named = await selectThreads(tx, inboxId, threadIds)
  const gone = await selectRemoved(tx, threadIds)
  for (const { id, trashed_at } of named) if (trashed_at !== null) gone.add(id)
  const imported = given.map((one) => withoutThread(one, gone))
  const arrivals = imported.map((one) => ({ ...one, keptOut: [], traceParent: null }))
  const known = await readKnown(tx, inboxes, arrivals)
  const { results, additions, rows, mentions } = planReceiving(
    {
      ...known,
      same: await selectImportedBefore(tx, inboxId, imported),
      threads: named,
    },
    arrivals,
  )
  const flat = results.flat()
  const stored = imported.filter((_, index) => flat[index]?.kind === 'stored')
  for (const { raw, content } of stored) await insertLongBodies(tx, raw.id, content)
  const raws = stored.map(({ raw }) => ({ ...raw, reference_count: 1 }))
  await insertAdditions(tx, additions, { ...rows, raws })
  await insertMentions(tx, mentions)
  await labelImported(tx, stored, additions)
  return flat
}

async function labelImported(
  tx: Tx,
  stored: readonly ImportedArrival[],
  { messages, started }: Additions,
): Promise<void> {
  const added = new Map(messages.map((row) => [row.id, row]))
  const labelsOf = new Map([...started.keys()].map((id) => [id, new Set<string>()]))
  for (const { receipts, labels, threadLabels } of stored) {
    const message = added.get(receipts[0]?.messageId ?? '')
    if (message === undefined) continue
    if (labels.length > 0) await labelNewMessage(tx, message, labels)
    for (const label of threadLabels) labelsOf.get(message.thread_id)?.add(label)
  }
  for (const { id: threadId, account_id: accountId } of started.values()) {
    const labels = [...(labelsOf.get(threadId) ?? [])]
    if (labels.length > 0) await labelNewThread(tx, { accountId, threadId, labels })
  }
}

function withoutThread(one: ImportedArrival, gone: ReadonlySet<string>): ImportedArrival {
  const { imported, receipts, spareThreadId: threadId } = one
  if (imported.threadId === null || !gone.has(imported.threadId)) return one
  return {
    ...one,
    imported: { ...imported, threadId: null },
    receipts: receipts.map((receipt) => ({ ...receipt, threadId })),
  }
}

async function selectImportedBefore(
  tx: Tx,
  inboxId: string,
  imported: readonly ImportedArrival[],
): Promise<KnownRows['same']> {
  const found: KnownRows['same'][number][] = []
  for (const { raw, content, sourceId } of imported) {
    const { message_key = null, receipt_key = null } = content
    if (receipt_key === null) continue
    const sameBytes = tx.query
      .selectFrom('messages')
      .innerJoin('raw_messages', 'raw_messages.id', 'messages.raw_id')
      .select('messages.id')
      .where('messages.inbox_id', '=', inboxId)
      .where('raw_messages.sha256', '=', raw.sha256)
      .limit(1)
    const byKey =
      message_key === null
        ? sameBytes
            .where('messages.message_key', 'is', null)
            .where('messages.receipt_key', '=', receipt_key)
        : sameBytes.where('messages.message_key', '=', message_key)
    const row =
      (await byKey.executeTakeFirst()) ??
      (sourceId === null
        ? undefined
        : await sameBytes.where('messages.id', '=', sourceId).executeTakeFirst())
    const key = { inbox_id: inboxId, message_key: message_key ?? '', receipt_key }
    if (row !== undefined) found.push({ ...key, id: row.id })
  }
  return found
}

async function selectThreads(
  tx: Tx,
  inboxId: string,
  threadIds: readonly string[],
): Promise<(ThreadState & { trashed_at: number | null })[]> {
  if (threadIds.length === 0) return []
  return tx.query
    .selectFrom('threads')
    .select([...THREAD_STATE_COLUMNS, 'threads.trashed_at'])
    .where('inbox_id', '=', inboxId)
    .where('id', 'in', threadIds)
    .execute()
}

async function selectRemoved(tx: Tx, threadIds: readonly string[]): Promise<Set<string>> {
  if (threadIds.length === 0) return new Set()
  const rows = await tx.query
    .selectFrom('removed_messages')
    .select('id')
    .where('id', 'in', threadIds)
    .execute()
  return new Set(rows.map(({ id }) => id))
}

const lockCounters = forEachRow(
  rowSelect<Tables, { inbox_id: string }, KnownRows['inboxes'][number]>(
    'inbox_counters',
    (query, given, engine) =>
      lockRows(
        { engine },
        query
          .selectFrom('inbox_counters')
          .select(['inbox_id', 'last_arrival'])
          .where('inbox_id', '=', given('inbox_id')),
      ),
  ),
)

const selectSame = forEachRow(
  rowSelect<Tables, MessageKey, KnownRows['same'][number]>('messages', (query, given) =>
    query
      .selectFrom('messages')
      .select(['inbox_id', 'message_key', 'id', 'receipt_key'])
      .where('inbox_id', '=', given('inbox_id'))
      .where('message_key', '=', given('message_key'))
      .where('receipt_key', 'is not', null)
      .orderBy('arrival', 'desc')
      .limit(SAME_ID_COMPARED_MAX)
      .$narrowType<{ receipt_key: Uint8Array; message_key: string }>(),
  ),
)

type SameOctets = { inbox_id: string; receipt_key: Uint8Array; created_at: number }

const selectUnnamed = forEachRow(
  rowSelect<Tables, SameOctets, Omit<KnownRows['same'][number], 'message_key'>>(
    'messages',
    (query, given) =>
      query
        .selectFrom('messages')
        .select(['inbox_id', 'id', 'receipt_key'])
        .where('inbox_id', '=', given('inbox_id'))
        .where('receipt_key', '=', given('receipt_key'))
        .where('message_key', 'is', null)
        .where('created_at', '>=', given('created_at'))
        .limit(1)
        .$narrowType<{ receipt_key: Uint8Array }>(),
  ),
)

const selectParents = forEachRow(
  rowSelect<Tables, MessageKey, MessageKey & ThreadState>('messages', (query, given) =>
    query
      .selectFrom('messages')
      .innerJoin('threads', 'threads.id', 'messages.thread_id')
      .select(['messages.inbox_id', 'messages.message_key', ...THREAD_STATE_COLUMNS])
      .where('messages.inbox_id', '=', given('inbox_id'))
      .where('messages.message_key', '=', given('message_key'))
      .where('threads.trashed_at', 'is', null)
      .orderBy('messages.arrival')
      .limit(1)
      .$narrowType<{ message_key: string }>(),
  ),
)

const selectQuarantined = forEachRow(
  rowSelect<Tables, SameOctets, KnownRows['quarantined'][number]>(
    'quarantined_messages',
    (query, given) =>
      query
        .selectFrom('quarantined_messages')
        .select(['inbox_id', 'receipt_key'])
        .where('inbox_id', '=', given('inbox_id'))
        .where('receipt_key', '=', given('receipt_key'))
        .where('created_at', '>=', given('created_at')),
  ),
)

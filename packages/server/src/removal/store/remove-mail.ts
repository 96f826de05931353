// Removes messages of an existing inbox, whose counters the caller must have locked.

import { changeAccountCounters } from '#accounts/store/accounts.ts'
import { removeAttachmentTexts } from '#mailbox/attachments/store/texts.ts'
import { dropRawReferences } from '#mailbox/messages/store/raw-messages.ts'
import { sumUp, type ThreadSummary } from '#mailbox/threads/store/summaries.ts'
import { lockRows } from '#platform/db/dialect.ts'
import { keepReviews, removeReviews } from '#reviews/store/kept-reviews.ts'
import { changeSearch } from '#search/store/search-index.ts'
import { type Row, readIn, type Tx } from '#store/tables.ts'

/** A step takes some ten milliseconds, during which mail to the inbox waits. */
export const REMOVE_STEP_MESSAGES = 200

export type LockedInbox = { accountId: string; counters: Row<'inbox_counters'> }

/** Blocks mail to the inbox until the transaction ends. Returns null if the inbox is deleted. */
export async function lockInbox(
  tx: Tx,
  { accountId, inboxId }: { accountId: string; inboxId: string },
): Promise<LockedInbox | null> {
  const selected = tx.query.selectFrom('inbox_counters').selectAll().where('inbox_id', '=', inboxId)
  const counters = await lockRows(tx, selected).executeTakeFirst()
  return counters === undefined ? null : { accountId, counters }
}

type ChangedCounter =
  | 'inbound_count'
  | 'outbound_count'
  | 'stored_bytes'
  | 'thread_count'
  | 'unread_thread_count'
  | 'trashed_thread_count'
  | 'trashed_unread_count'

type CounterChanges = Partial<Record<ChangedCounter, number>>

export async function changeCounters(
  tx: Tx,
  { counters }: LockedInbox,
  changes: CounterChanges,
): Promise<void> {
  const changed = (Object.keys(changes) as ChangedCounter[]).filter((name) => changes[name] !== 0)
  if (changed.length === 0) return
  await tx.query
    .updateTable('inbox_counters')
    .set((row) =>
      Object.fromEntries(changed.map((name) => [name, row(name, '+', changes[name] ?? 0)])),
    )
    .where('inbox_id', '=', counters.inbox_id)
    .execute()
}

/** With `isBack`, the messages are added to the lists and search again. */
export async function changeLists(
  tx: Tx,
  { counters }: LockedInbox,
  {
    messages,
    isBack,
  }: {
    messages: readonly Pick<Row<'messages'>, 'direction' | 'arrival'>[]
    isBack: boolean
  },
): Promise<CounterChanges> {
  if (messages.length === 0) return {}
  const by = isBack ? 1 : -1
  const arrivals = messages.map(({ arrival }) => arrival)
  await changeSearch(tx, { inboxId: counters.inbox_id, arrivals, isBack })
  const inbound = messages.filter(({ direction }) => direction === 'inbound').length
  return { inbound_count: by * inbound, outbound_count: by * (messages.length - inbound) }
}

type Removed = Pick<
  Row<'messages'>,
  | 'id'
  | 'thread_id'
  | 'raw_id'
  | 'direction'
  | 'arrival'
  | 'is_trashed'
  | 'automatic_reason'
  | 'created_at'
> &
  Pick<Row<'raw_messages'>, 'size_bytes' | 'origin' | 'is_marked'>

/** Also removes empty threads. Keeps reviews, except in an erasure. Returns unreferenced blobs. */
export async function removeMessages(
  tx: Tx,
  inbox: LockedInbox,
  { ids, nowMs, isErasure = false }: { ids: readonly string[]; nowMs: number; isErasure?: boolean },
): Promise<string[]> {
  const removed = await lockMessages(tx, ids)
  if (removed.length === 0) return []
  const threads = await readThreads(tx, removed)
  const listed = removed.filter(({ is_trashed }) => is_trashed === 0)
  const changes = await changeLists(tx, inbox, { messages: listed, isBack: false })
  const sent = removed.filter(({ direction }) => direction === 'outbound')
  const sentIds = sent.map(({ id }) => id)
  const versionBytes = isErasure
    ? await removeReviews(tx, sentIds)
    : await keepReviews(tx, { messageIds: sentIds, nowMs })
  if (sent.length > 0) await removeSent(tx, sentIds)
  const removedIds = removed.map(({ id }) => id)
  await tx.query.deleteFrom('message_labels').where('message_id', 'in', removedIds).execute()
  const otherBytes = versionBytes + (await removeAttachmentTexts(tx, removedIds))
  changes.stored_bytes = -removed.reduce((sum, { size_bytes }) => sum + size_bytes, otherBytes)
  await tx.query.deleteFrom('messages').where('id', 'in', removedIds).execute()
  await tx.query
    .insertInto('removed_messages')
    .values(
      removed.map(({ id, arrival }) => ({
        id,
        account_id: inbox.accountId,
        inbox_id: inbox.counters.inbox_id,
        arrival,
        removed_at: nowMs,
      })),
    )
    .execute()
  const ofThreads = await settleThreads(tx, inbox, { losses: threads, nowMs })
  await changeCounters(tx, inbox, { ...changes, ...ofThreads })
  return dropRawReferences(
    tx,
    removed.map(({ raw_id }) => raw_id),
  )
}

async function lockMessages(tx: Tx, ids: readonly string[]): Promise<Removed[]> {
  if (ids.length === 0) return []
  // Rows are locked in the same order as when deliveries are settled, to avoid deadlocks.
  const locked = tx.query.selectFrom('messages').select('id').where('id', 'in', ids).orderBy('id')
  await lockRows(tx, locked).execute()
  return tx.query
    .selectFrom('messages')
    .innerJoin('raw_messages', 'raw_messages.id', 'messages.raw_id')
    .select([
      'messages.id',
      'messages.thread_id',
      'messages.raw_id',
      'messages.direction',
      'messages.arrival',
      'messages.is_trashed',
      'messages.automatic_reason',
      'messages.created_at',
      'raw_messages.size_bytes',
      'raw_messages.origin',
      'raw_messages.is_marked',
    ])
    .where('messages.id', 'in', ids)
    .execute()
}

export async function removeSent(tx: Tx, ids: readonly string[]): Promise<void> {
  await tx.query.deleteFrom('waiting_sends').where('message_id', 'in', ids).execute()
  await tx.query.deleteFrom('deliveries').where('message_id', 'in', ids).execute()
  const captured = await tx.query
    .deleteFrom('captured_messages')
    .where('message_id', 'in', ids)
    .returning('account_id')
    .execute()
  await uncountCaptured(
    tx,
    captured.map(({ account_id }) => account_id),
  )
}

type ThreadLoss = { row: Row<'threads'>; removed: Removed[] }

async function readThreads(tx: Tx, removed: readonly Removed[]): Promise<ThreadLoss[]> {
  const byThread = Map.groupBy(removed, ({ thread_id }) => thread_id)
  const rows = await tx.query
    .selectFrom('threads')
    .selectAll()
    .where('id', 'in', [...byThread.keys()])
    .execute()
  return rows.map((row) => ({ row, removed: byThread.get(row.id) ?? [] }))
}

async function settleThreads(
  tx: Tx,
  inbox: LockedInbox,
  { losses, nowMs }: { losses: readonly ThreadLoss[]; nowMs: number },
): Promise<CounterChanges> {
  const leftOf = ({ row, removed }: ThreadLoss) => row.message_count - removed.length
  const over = losses.filter((loss) => leftOf(loss) <= 0).map(({ row }) => row)
  await removeThreads(tx, inbox, { ids: over.map(({ id }) => id), nowMs })
  const changes = leavesList(over)
  const left = losses.filter((loss) => leftOf(loss) > 0)
  for (const loss of left.filter(({ row }) => row.trashed_at === 0)) {
    await tx.query
      .updateTable('threads')
      .set({ message_count: leftOf(loss) })
      .where('id', '=', loss.row.id)
      .execute()
  }
  const stays = new Map(
    left.filter(({ row }) => row.trashed_at !== 0).map((loss) => [loss.row.id, loss]),
  )
  for (const summary of await sumUp(readIn(tx), [...stays.keys()])) {
    const loss = stays.get(summary.id)
    if (loss === undefined) continue
    const { row } = loss
    const next = changedThread(loss, summary)
    await tx.query.updateTable('threads').set(next).where('id', '=', row.id).execute()
    if (row.facet_count > 0 && next.last_message_at !== row.last_message_at) {
      await tx.query
        .updateTable('thread_facets')
        .set({ last_message_at: next.last_message_at })
        .where('thread_id', '=', row.id)
        .execute()
    }
    const name = row.trashed_at === null ? 'unread_thread_count' : 'trashed_unread_count'
    changes[name] = (changes[name] ?? 0) + row.is_read - next.is_read
  }
  return changes
}

function changedThread({ row, removed }: ThreadLoss, { id: _, first, ...summary }: ThreadSummary) {
  const isFirstGone = removed.some(
    ({ created_at, id }) =>
      created_at < first.created_at || (created_at === first.created_at && id < first.id),
  )
  const removedUnread = removed.filter(
    ({ direction, arrival }) => direction === 'inbound' && arrival > row.read_arrival,
  ).length
  const unread_count = row.is_read === 1 ? 0 : Math.max(0, row.unread_count - removedUnread)
  // The removed messages were the only unread ones.
  const isRead = row.is_read === 1 || (row.unread_count > 0 && unread_count === 0)
  return {
    ...summary,
    message_count: row.message_count - removed.length,
    removed_count: row.removed_count + removed.length,
    subject: isFirstGone ? first.subject : row.subject,
    is_read: isRead ? 1 : 0,
    unread_count,
    removed_automatic: automaticTimes(row, removed),
  }
}

export function leavesList(rows: readonly Row<'threads'>[]): CounterChanges {
  const changes: CounterChanges = {}
  const add = (name: ChangedCounter, by: number) => {
    changes[name] = (changes[name] ?? 0) + by
  }
  for (const { is_read, trashed_at } of rows) {
    if (trashed_at === 0) continue
    add(trashed_at === null ? 'thread_count' : 'trashed_thread_count', -1)
    add(trashed_at === null ? 'unread_thread_count' : 'trashed_unread_count', is_read - 1)
  }
  return changes
}

/** Records the ids, so that an import cannot reuse them. */
export async function removeThreads(
  tx: Tx,
  { accountId: account_id, counters: { inbox_id } }: LockedInbox,
  { ids, nowMs: removed_at }: { ids: readonly string[]; nowMs: number },
): Promise<void> {
  await deleteThreads(tx, ids)
  if (ids.length === 0) return
  await tx.query
    .insertInto('removed_messages')
    .values(ids.map((id) => ({ id, account_id, inbox_id, arrival: 0, removed_at })))
    .onConflict((conflict) => conflict.column('id').doNothing())
    .execute()
}

export async function deleteThreads(tx: Tx, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  await tx.query.deleteFrom('thread_facets').where('thread_id', 'in', ids).execute()
  await tx.query.deleteFrom('threads').where('id', 'in', ids).execute()
}

/** Loop detection remembers this many removed automatic messages of a thread. */
const AUTOMATIC_REMEMBERED_MAX = 100

/** Loops are detected even if automatic messages are removed. */
function automaticTimes(
  { removed_automatic }: Row<'threads'>,
  removed: readonly Removed[],
): string {
  const times = removed
    .filter(({ direction }) => direction === 'inbound')
    .filter(
      ({ automatic_reason, origin, is_marked }) =>
        automatic_reason !== null || origin === 'service' || is_marked === 1,
    )
    .map(({ created_at }) => created_at)
  if (times.length === 0) return removed_automatic
  const all = [...(JSON.parse(removed_automatic) as number[]), ...times].sort((a, b) => a - b)
  return JSON.stringify(all.slice(-AUTOMATIC_REMEMBERED_MAX))
}

export async function uncountCaptured(tx: Tx, accountIds: readonly string[]): Promise<void> {
  // The order prevents deadlocks between transactions.
  for (const accountId of [...new Set(accountIds)].sort()) {
    const captured = -accountIds.filter((one) => one === accountId).length
    await changeAccountCounters(tx, accountId, { captured })
  }
}

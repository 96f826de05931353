// Removes messages of an inbox that stays, a bounded number in one transaction: from lists, totals, threads, search and
// storage. The caller has locked the counters of the inbox, as mail that arrives does.

import { changeAccountCounters } from '#accounts/accounts-rows.ts'
import {
  changeAt,
  changeRanges,
  changeRemovedRanges,
  changesOfMove,
  type Direction,
  deleteRanges,
  dropRawReferences,
  emptiedRanges,
  listIdOf,
  removeAttachmentTexts,
  sumChanges,
  sumUp,
  sumUpThreads,
  type ThreadSummary,
} from '#mailbox/mailbox-rows.ts'
import { insertWrittenTo } from '#outbound/outbound-rows.ts'
import { lockRows } from '#platform/db/dialect.ts'
import { addressKey } from '#platform/email-address.ts'
import { keepReviews, removeReviews } from '#reviews/reviews-rows.ts'
import { type Row, readIn, type Tx } from '#schema/tables.ts'
import { changeSearch } from '#search/search-rows.ts'

/** Messages that one transaction moves or removes: some ten milliseconds, in which mail to the inbox waits. */
export const REMOVE_STEP_MESSAGES = 200

export type LockedInbox = { accountId: string; counters: Row<'inbox_counters'> }

/** Mail for the inbox waits from here on until the transaction ends. Null once the inbox is deleted. */
export async function lockInbox(
  tx: Tx,
  { accountId, inboxId }: { accountId: string; inboxId: string },
): Promise<LockedInbox | null> {
  const selected = tx.query.selectFrom('inbox_counters').selectAll().where('inbox_id', '=', inboxId)
  const counters = await lockRows(tx, selected).executeTakeFirst()
  return counters === undefined ? null : { accountId, counters }
}

type ChangedCounter =
  | 'removed_inbound'
  | 'removed_outbound'
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

/** What of a message its place in lists follows from. Positions are negative in the trash. */
export type Placed = Pick<Row<'messages'>, 'id' | 'direction' | 'position' | 'direction_position'>

/** Takes messages out of the lists of the inbox and its search, or with `isBack` puts them in again. */
export async function changeLists(
  tx: Tx,
  { counters }: LockedInbox,
  { messages, isBack }: { messages: readonly Placed[]; isBack: boolean },
): Promise<CounterChanges> {
  if (messages.length === 0) return {}
  const by = isBack ? -1 : 1
  const inboxId = counters.inbox_id
  const emptied = messages.flatMap(({ direction, position, direction_position }) => [
    { listId: listIdOf(inboxId, null), position: Math.abs(position), by } as const,
    {
      listId: listIdOf(inboxId, direction as Direction),
      position: Math.abs(direction_position),
      by,
    } as const,
  ])
  await changeRemovedRanges(tx, emptiedRanges(emptied))
  const positions = messages.map(({ position }) => Math.abs(position))
  await changeSearch(tx, { inboxId, positions, isBack })
  const inbound = messages.filter(({ direction }) => direction === 'inbound').length
  return { removed_inbound: by * inbound, removed_outbound: by * (messages.length - inbound) }
}

type Removed = Placed &
  Pick<
    Row<'messages'>,
    'thread_id' | 'raw_id' | 'thread_position' | 'automatic_reason' | 'created_at'
  > &
  Pick<Row<'raw_messages'>, 'size_bytes' | 'origin' | 'is_marked'>

/**
 * Removes messages, which all belong to the inbox, and the threads that have none left. Their reviews stay, except in an
 * erasure. Returns the blobs that nothing refers to any more.
 */
export async function removeMessages(
  tx: Tx,
  inbox: LockedInbox,
  { ids, nowMs, isErasure = false }: { ids: readonly string[]; nowMs: number; isErasure?: boolean },
): Promise<string[]> {
  const removed = await lockMessages(tx, ids)
  if (removed.length === 0) return []
  const threads = await readThreads(tx, removed)
  const listed = removed.filter(({ position }) => position > 0)
  const changes = await changeLists(tx, inbox, { messages: listed, isBack: false })
  const counted = removed.filter(
    ({ position }) => Math.abs(position) <= inbox.counters.counted_position,
  )
  const sent = removed.filter(({ direction }) => direction === 'outbound')
  const sentIds = sent.map(({ id }) => id)
  if (isErasure) await removeReviews(tx, sentIds)
  else await keepReviews(tx, { messageIds: sentIds, nowMs })
  if (sent.length > 0) await removeSent(tx, inbox, sent)
  const removedIds = removed.map(({ id }) => id)
  await tx.query.deleteFrom('message_labels').where('message_id', 'in', removedIds).execute()
  const textBytes = await removeAttachmentTexts(tx, removedIds)
  changes.stored_bytes = -counted.reduce((sum, { size_bytes }) => sum + size_bytes, textBytes)
  await tx.query.deleteFrom('messages').where('id', 'in', removedIds).execute()
  await tx.query
    .insertInto('removed_messages')
    .values(
      removed.map(({ id, position }) => ({
        id,
        account_id: inbox.accountId,
        inbox_id: inbox.counters.inbox_id,
        position: Math.abs(position),
        removed_at: nowMs,
      })),
    )
    .execute()
  const ofThreads = await settleThreads(tx, inbox, { losses: threads, nowMs })
  await changeRanges(tx, sumChanges(ofThreads.ranges))
  await changeCounters(tx, inbox, { ...changes, ...ofThreads.counters })
  return dropRawReferences(
    tx,
    removed.map(({ raw_id }) => raw_id),
  )
}

async function lockMessages(tx: Tx, ids: readonly string[]): Promise<Removed[]> {
  if (ids.length === 0) return []
  // In the order of the transactions that settle deliveries, so that they do not deadlock.
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
      'messages.position',
      'messages.direction_position',
      'messages.thread_position',
      'messages.automatic_reason',
      'messages.created_at',
      'raw_messages.size_bytes',
      'raw_messages.origin',
      'raw_messages.is_marked',
    ])
    .where('messages.id', 'in', ids)
    .execute()
}

/** Deliveries of sent messages, and their copies in the sandbox. */
async function removeSent(
  tx: Tx,
  { counters }: LockedInbox,
  sent: readonly Removed[],
): Promise<void> {
  const inboxId = counters.inbox_id
  const ids = sent.map(({ id }) => id)
  const deliveries = await tx.query
    .deleteFrom('deliveries')
    .where('message_id', 'in', ids)
    .returning(['message_id', 'recipient'])
    .execute()
  // Whom the inbox has written to stays noted: those of messages of before are noted with time, or here.
  const unnoted = new Set(
    sent
      .filter(({ direction_position: at }) => Math.abs(at) > counters.noted_count)
      .map(({ id }) => id),
  )
  const keys = new Set(
    deliveries
      .filter(({ message_id }) => unnoted.has(message_id))
      .map(({ recipient }) => addressKey(recipient)),
  )
  const noted = [...keys].sort().map((address_key) => ({ inbox_id: inboxId, address_key }))
  if (noted.length > 0) await insertWrittenTo(tx, noted)
  await tx.query.deleteFrom('waiting_sends').where('message_id', 'in', ids).execute()
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

type ThreadLoss = { row: Row<'threads'>; removed: Removed[]; unread: number; removedUnread: number }

/** The threads of messages that are about to be removed, and how many of these are unread. */
async function readThreads(tx: Tx, removed: readonly Removed[]): Promise<ThreadLoss[]> {
  const byThread = Map.groupBy(removed, ({ thread_id }) => thread_id)
  const rows = await tx.query
    .selectFrom('threads')
    .selectAll()
    .where('id', 'in', [...byThread.keys()])
    .execute()
  // A program of before may have added messages without counting which of them are read.
  const stale = new Map(
    (
      await sumUpThreads(
        readIn(tx),
        rows.filter(({ trashed_at }) => trashed_at !== 0),
      )
    ).map(({ threadId, readCount }) => [threadId, readCount]),
  )
  const losses: ThreadLoss[] = []
  for (const row of rows) {
    const of = byThread.get(row.id) ?? []
    const isUnread = row.is_read === 0 && row.trashed_at !== 0
    const readCount = stale.get(row.id) ?? row.read_count
    const unread = isUnread ? Math.max(0, row.message_count - readCount) : 0
    losses.push({ row, removed: of, unread, removedUnread: await countUnread(tx, row, unread, of) })
  }
  return losses
}

/** How many of the removed messages are among the newest `unread` ones of the thread. */
async function countUnread(
  tx: Tx,
  { id, message_count, removed_count }: Row<'threads'>,
  unread: number,
  removed: readonly Removed[],
): Promise<number> {
  if (unread === 0) return 0
  if (unread >= message_count - removed_count) return removed.length
  const first = await tx.query
    .selectFrom('messages')
    .select('thread_position')
    .where('thread_id', '=', id)
    .orderBy('thread_position', 'desc')
    .limit(1)
    .offset(unread - 1)
    .executeTakeFirst()
  const from = first?.thread_position ?? 0
  return removed.filter(({ thread_position }) => thread_position >= from).length
}

type OfThreads = { ranges: ReturnType<typeof changeAt>[]; counters: CounterChanges }

/** Updates the threads that have messages left, and removes the others. */
async function settleThreads(
  tx: Tx,
  inbox: LockedInbox,
  { losses, nowMs }: { losses: readonly ThreadLoss[]; nowMs: number },
): Promise<OfThreads> {
  const leftOf = ({ row, removed }: ThreadLoss) =>
    row.message_count - row.removed_count - removed.length
  const over = losses.filter((loss) => leftOf(loss) <= 0)
  const ids = over.map(({ row }) => row.id)
  await removeThreads(tx, inbox, { ids, nowMs })
  const left = losses.filter((loss) => leftOf(loss) > 0)
  const removing = left.filter(({ row }) => row.trashed_at === 0)
  for (const { row, removed } of removing) {
    await tx.query
      .updateTable('threads')
      .set({ removed_count: row.removed_count + removed.length })
      .where('id', '=', row.id)
      .execute()
  }
  const changes = leavesList(over.map(({ row }) => row))
  const stays = left.filter(({ row }) => row.trashed_at !== 0)
  if (stays.length === 0) return changes
  await updateThreads(tx, stays, changes)
  return changes
}

/** Adds to `changes` those of the lists. */
async function updateThreads(
  tx: Tx,
  losses: readonly ThreadLoss[],
  changes: OfThreads,
): Promise<void> {
  const emptied = losses.flatMap(({ row, removed }) =>
    removed.map(({ thread_position: position }) => ({ listId: row.id, position, by: 1 as const })),
  )
  await changeRemovedRanges(tx, emptiedRanges(emptied))
  const ends = await readEnds(
    tx,
    losses.map(({ row }) => row.id),
  )
  const counted = losses.map(({ row, removed, unread, removedUnread }) => ({
    ...row,
    removed_count: row.removed_count + removed.length,
    read_count: row.message_count - (unread - removedUnread),
  }))
  const summaries = await sumUp(readIn(tx), counted)
  for (const [index, loss] of losses.entries()) {
    const { row } = loss
    const summary = summaries[index]
    if (summary === undefined) continue
    const next = changedThread(loss, { summary, ends: ends.get(row.id) ?? {} })
    if (next === null) continue
    const { last_position, is_read } = next
    await tx.query.updateTable('threads').set(next).where('id', '=', row.id).execute()
    if (row.mark_count > 0 && last_position !== row.last_position) {
      await tx.query
        .updateTable('thread_marks')
        .set({ last_position })
        .where('thread_id', '=', row.id)
        .execute()
    }
    changes.ranges.push(
      ...changesOfMove(row.inbox_id, {
        from: { position: row.last_position, isRead: row.is_read },
        to: { position: last_position, isRead: is_read },
      }),
    )
    const name = row.trashed_at === null ? 'unread_thread_count' : 'trashed_unread_count'
    changes.counters[name] = (changes.counters[name] ?? 0) - (is_read - row.is_read)
  }
}

/** The columns of a thread without the removed messages. */
function changedThread(
  { row, removed, unread, removedUnread }: ThreadLoss,
  { summary, ends }: { summary: ThreadSummary; ends: Ends },
) {
  const { newest, oldest, category = null } = ends
  if (newest === undefined || oldest === undefined) return null
  const isFirstGone = removed.some(
    ({ thread_position }) => thread_position < oldest.thread_position,
  )
  // The last unread message is gone: what is left was read before.
  const isRead = row.is_read === 1 || (unread > 0 && removedUnread === unread)
  return {
    removed_count: row.removed_count + removed.length,
    subject: isFirstGone ? oldest.subject : row.subject,
    is_read: isRead ? 1 : 0,
    last_message_at: newest.created_at,
    last_position: Math.abs(newest.position) * (row.trashed_at === null ? 1 : -1),
    participants: summary.participants,
    snippet: summary.snippet,
    summary_count: row.message_count,
    read_count: summary.readCount,
    category,
    removed_automatic: automaticTimes(row, removed),
  }
}

/** The changes for threads that leave the list or the trash of their inbox. */
export function leavesList(rows: readonly Row<'threads'>[]): OfThreads {
  const counters: CounterChanges = {}
  const add = (name: ChangedCounter, by: number) => {
    counters[name] = (counters[name] ?? 0) + by
  }
  const ranges = []
  for (const { inbox_id, is_read, last_position: position } of rows) {
    if (position === 0) continue
    ranges.push(changeAt(inbox_id, { position, threads: -1, unread: is_read - 1 }))
    add(position > 0 ? 'thread_count' : 'trashed_thread_count', -1)
    add(position > 0 ? 'unread_thread_count' : 'trashed_unread_count', is_read - 1)
  }
  return { ranges, counters }
}

/** Notes them as removed, so that an import that names them does not bring their ids back. */
export async function removeThreads(
  tx: Tx,
  { accountId: account_id, counters: { inbox_id } }: LockedInbox,
  { ids, nowMs: removed_at }: { ids: readonly string[]; nowMs: number },
): Promise<void> {
  await deleteThreads(tx, ids)
  if (ids.length === 0) return
  await tx.query
    .insertInto('removed_messages')
    .values(ids.map((id) => ({ id, account_id, inbox_id, position: 0, removed_at })))
    .onConflict((conflict) => conflict.column('id').doNothing())
    .execute()
}

export async function deleteThreads(tx: Tx, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  await tx.query.deleteFrom('thread_marks').where('thread_id', 'in', ids).execute()
  await tx.query.deleteFrom('threads').where('id', 'in', ids).execute()
  await deleteRanges(tx, ids)
}

type Ends = {
  newest?: { position: number; created_at: number }
  oldest?: { thread_position: number; subject: string }
  category?: string | null
}

/** The newest and the oldest message of each thread, and the category of the newest received one. */
async function readEnds(tx: Tx, threadIds: readonly string[]): Promise<Map<string, Ends>> {
  const found = await tx.query
    .selectFrom('threads')
    .select(({ selectFrom }) => {
      const messages = selectFrom('messages').whereRef('messages.thread_id', '=', 'threads.id')
      const newest = messages.orderBy('messages.thread_position', 'desc').limit(1)
      const oldest = messages.orderBy('messages.thread_position').limit(1)
      return [
        'threads.id',
        newest.select('messages.id').as('newest_id'),
        oldest.select('messages.id').as('oldest_id'),
        newest
          .where('messages.direction', '=', 'inbound')
          .select('messages.category')
          .as('category'),
      ]
    })
    .where('threads.id', 'in', threadIds)
    .execute()
  const ids = found.flatMap(({ newest_id, oldest_id }) => [newest_id ?? '', oldest_id ?? ''])
  const messages = await tx.query
    .selectFrom('messages')
    .select(['id', 'position', 'created_at', 'thread_position', 'subject'])
    .where('id', 'in', [...new Set(ids)])
    .execute()
  const byId = new Map(messages.map((message) => [message.id, message]))
  return new Map(
    found.map(({ id, newest_id, oldest_id, category }) => {
      const newest = byId.get(newest_id ?? '')
      const oldest = byId.get(oldest_id ?? '')
      const ends = newest === undefined || oldest === undefined ? {} : { newest, oldest, category }
      return [id, ends]
    }),
  )
}

/** Removed messages of programs that a thread remembers; those that loops are recognised by. */
const AUTOMATIC_REMEMBERED_MAX = 100

/** Removing the messages of a program does not hide that it and the inbox answer each other. */
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
  // In one order everywhere, so that two transactions do not deadlock.
  for (const accountId of [...new Set(accountIds)].sort()) {
    const captured = -accountIds.filter((one) => one === accountId).length
    await changeAccountCounters(tx, accountId, { captured })
  }
}

import { insertEvent } from '#events/store/append.ts'
import { changedMetadata, type MetadataChange, metadataOf } from '#inboxes/store/metadata.ts'
import { type ClaimToken, mayChange } from '#mailbox/claims/store/claim-token.ts'
import {
  changedLabels,
  facetsOf,
  type LabelChange,
  labelsOf,
} from '#mailbox/labels/store/facets.ts'
import { presentTime } from '#platform/clock.ts'
import { transaction } from '#platform/db/db.ts'
import { lockRows } from '#platform/db/dialect.ts'
import type { Row, Tx } from '#store/tables.ts'
import type { ThreadKey } from './threads.ts'

export type ThreadChange = LabelChange & {
  readonly isRead?: boolean
  readonly metadata?: MetadataChange
  readonly assignee?: string | null
  /** Null ends the snooze. */
  readonly snoozedUntilMs?: number | null
}

export type ChangeOutcome =
  | { kind: 'changed' }
  | { kind: 'not_found' }
  | { kind: 'lease_lost' }
  | { kind: 'label_limit_reached' }
  | { kind: 'metadata_limit_reached' }

/** Also updates totals and facets, and emits an event. The change is idempotent. */
export const changeThread = transaction({
  name: 'changeThread',
  accountOf: ({ accountId }) => accountId,
  async run(
    tx: Tx,
    input: ThreadKey & {
      change: ThreadChange
      claim: ClaimToken
      eventId: string
      nowMs: number
    },
  ): Promise<ChangeOutcome> {
    const locked = await lockThread(tx, input)
    if (locked === null) return { kind: 'not_found' }
    if (!mayChange(locked.thread, input.claim)) return { kind: 'lease_lost' }
    return applyChange(tx, locked, input)
  },
})

/** The caller must have locked the thread and checked its claim. */
export async function applyChange(
  tx: Tx,
  { thread, podId }: LockedThread,
  { change, eventId, nowMs }: { change: ThreadChange; eventId: string; nowMs: number },
): Promise<ChangeOutcome> {
  const next = changedColumns(thread, change)
  if ('kind' in next) return next
  const changed = CHANGEABLE.filter((column) => next[column] !== thread[column])
  if (changed.length === 0) return { kind: 'changed' }
  await writeColumns(tx, thread, next)
  await insertEvent(tx, {
    id: eventId,
    kind: 'thread.updated',
    account_id: thread.account_id,
    pod_id: podId,
    inbox_id: thread.inbox_id,
    thread_id: thread.id,
    message_id: null,
    occurred_at: nowMs,
    details: JSON.stringify({
      thread: {
        changed,
        is_read: next.is_read === 1,
        labels: labelsOf(next),
        assignee: next.assignee,
        snoozed_until: next.snoozed_until === null ? null : presentTime(next.snoozed_until),
      },
    }),
  })
  return { kind: 'changed' }
}

async function writeColumns(tx: Tx, thread: Row<'threads'>, next: ChangedColumns): Promise<void> {
  if (next.is_read !== thread.is_read) await countRead(tx, thread, next.is_read)
  const facet_count = await replaceFacets(tx, thread, next)
  await tx.query
    .updateTable('threads')
    .set(({ selectFrom }) => ({
      ...next,
      facet_count,
      ...(next.is_read !== thread.is_read && {
        unread_count: 0,
        read_arrival: selectFrom('inbox_counters')
          .select('last_arrival')
          .where('inbox_id', '=', thread.inbox_id),
      }),
    }))
    .where('account_id', '=', thread.account_id)
    .where('id', '=', thread.id)
    .execute()
}

/** Emits no event. Adds no labels if there would be too many. */
export async function labelNewThread(
  tx: Tx,
  { labels, ...of }: { accountId: string; threadId: string; labels: readonly string[] },
): Promise<void> {
  const thread = await lockRow(tx, of)
  if (thread === null) return
  const next = changedColumns(thread, { addLabels: labels })
  if (!('kind' in next)) await writeColumns(tx, thread, next)
}

/** Fields that an event lists when they change. */
const CHANGEABLE = ['is_read', 'labels', 'metadata', 'assignee', 'snoozed_until'] as const

type ChangedColumns = Pick<Row<'threads'>, (typeof CHANGEABLE)[number]>

function changedColumns(
  thread: Row<'threads'>,
  change: ThreadChange,
): ChangedColumns | { kind: 'label_limit_reached' | 'metadata_limit_reached' } {
  const labels = changedLabels(labelsOf(thread), change)
  if (labels === null) return { kind: 'label_limit_reached' }
  const { metadata: values } = change
  const metadata = values === undefined ? thread.metadata : changedMetadata(thread, values)
  if (metadata === undefined) return { kind: 'metadata_limit_reached' }
  const { isRead = thread.is_read === 1 } = change
  const { assignee = thread.assignee, snoozedUntilMs = thread.snoozed_until } = change
  return {
    is_read: isRead ? 1 : 0,
    labels: labels.length === 0 ? null : JSON.stringify(labels),
    metadata,
    assignee,
    snoozed_until: snoozedUntilMs,
  }
}

export type LockedThread = { thread: Row<'threads'>; podId: string }

/** Returns null during removal, too. Locks the inbox's totals first, as arriving mail does. */
export async function lockThread(
  tx: Tx,
  { accountId, threadId }: ThreadKey,
): Promise<LockedThread | null> {
  const inbox = await findInboxOf(tx, { accountId, threadId })
  if (inbox === null) return null
  const totals = tx.query
    .selectFrom('inbox_counters')
    .select('inbox_id')
    .where('inbox_id', '=', inbox.id)
  if ((await lockRows(tx, totals).executeTakeFirst()) === undefined) return null
  const thread = await lockRow(tx, { accountId, threadId })
  return thread === null ? null : { thread, podId: inbox.pod_id }
}

/**
 * Use this for changes that affect no totals, so that claims do not wait for mail or each other.
 */
export async function lockThreadAlone(
  tx: Tx,
  { accountId, threadId }: ThreadKey,
): Promise<LockedThread | null> {
  const inbox = await findInboxOf(tx, { accountId, threadId })
  const thread = inbox === null ? null : await lockRow(tx, { accountId, threadId })
  return inbox === null || thread === null ? null : { thread, podId: inbox.pod_id }
}

async function findInboxOf(
  tx: Tx,
  { accountId, threadId }: ThreadKey,
): Promise<{ id: string; pod_id: string } | null> {
  const inbox = await tx.query
    .selectFrom('threads')
    .innerJoin('inboxes', 'inboxes.id', 'threads.inbox_id')
    .select(['inboxes.id', 'inboxes.pod_id'])
    .where('threads.id', '=', threadId)
    .where('threads.account_id', '=', accountId)
    .executeTakeFirst()
  return inbox ?? null
}

async function lockRow(tx: Tx, { accountId, threadId }: ThreadKey): Promise<Row<'threads'> | null> {
  const row = tx.query
    .selectFrom('threads')
    .selectAll()
    .where('id', '=', threadId)
    .where('account_id', '=', accountId)
  const thread = await lockRows(tx, row).executeTakeFirst()
  return thread === undefined || thread.trashed_at === 0 ? null : thread
}

async function countRead(tx: Tx, thread: Row<'threads'>, isRead: number): Promise<void> {
  const unread = isRead === 1 ? -1 : 1
  const counted = thread.trashed_at !== null ? 'trashed_unread_count' : 'unread_thread_count'
  await tx.query
    .updateTable('inbox_counters')
    .set((row) => ({ [counted]: row(counted, '+', unread) }))
    .where('inbox_id', '=', thread.inbox_id)
    .execute()
}

/** Returns the new number of facets. */
async function replaceFacets(
  tx: Tx,
  thread: Row<'threads'>,
  next: ChangedColumns,
): Promise<number> {
  const facetsIn = (row: ChangedColumns) =>
    facetsOf({ labels: labelsOf(row), metadata: metadataOf(row), assignee: row.assignee })
  const before = new Set(facetsIn(thread))
  const after = new Set(facetsIn(next))
  const { id: thread_id, account_id, inbox_id, last_message_at } = thread
  const is_trashed = thread.trashed_at === null ? 0 : 1
  const ended = [...before].filter((facet) => !after.has(facet))
  if (ended.length > 0) {
    await tx.query
      .deleteFrom('thread_facets')
      .where('thread_id', '=', thread_id)
      .where('facet', 'in', ended)
      .execute()
  }
  const added = [...after].filter((facet) => !before.has(facet))
  if (added.length > 0) {
    await tx.query
      .insertInto('thread_facets')
      .values(
        added.map((facet) => ({
          thread_id,
          facet,
          account_id,
          inbox_id,
          last_message_at,
          is_trashed,
        })),
      )
      .execute()
  }
  return after.size
}

export const changeMessageLabels = transaction({
  name: 'changeMessageLabels',
  accountOf: ({ accountId }) => accountId,
  async run(
    tx: Tx,
    input: { accountId: string; messageId: string; change: LabelChange; claim: ClaimToken },
  ): Promise<Exclude<ChangeOutcome, { kind: 'metadata_limit_reached' }>> {
    const { accountId, messageId, change } = input
    const message = await tx.query
      .selectFrom('messages')
      .innerJoin('inboxes', 'inboxes.id', 'messages.inbox_id')
      .select(['messages.thread_id', 'messages.inbox_id'])
      .where('messages.id', '=', messageId)
      .where('messages.account_id', '=', accountId)
      .executeTakeFirst()
    if (message === undefined) return { kind: 'not_found' }
    const locked = await lockThread(tx, { accountId, threadId: message.thread_id })
    if (locked === null) return { kind: 'not_found' }
    if (!mayChange(locked.thread, input.claim)) return { kind: 'lease_lost' }
    // The row is read under the lock.
    const row = await tx.query
      .selectFrom('messages')
      .select(['labels', 'created_at', 'is_trashed'])
      .where('id', '=', messageId)
      .executeTakeFirst()
    if (row === undefined) return { kind: 'not_found' }
    const before = labelsOf(row)
    const after = changedLabels(before, change)
    if (after === null) return { kind: 'label_limit_reached' }
    const { inbox_id } = message
    const { created_at, is_trashed } = row
    const labelled = { id: messageId, account_id: accountId, inbox_id, created_at, is_trashed }
    await writeLabels(tx, labelled, { before, after })
    return { kind: 'changed' }
  },
})

type LabelledMessage = Pick<Row<'messages'>, 'id' | 'account_id' | 'inbox_id' | 'created_at'> &
  Partial<Pick<Row<'messages'>, 'is_trashed'>>

async function writeLabels(
  tx: Tx,
  { id: message_id, account_id, inbox_id, created_at, is_trashed = 0 }: LabelledMessage,
  { before, after }: { before: readonly string[]; after: readonly string[] },
): Promise<void> {
  const ended = before.filter((label) => !after.includes(label))
  const added = after.filter((label) => !before.includes(label))
  if (ended.length + added.length === 0) return
  await tx.query
    .updateTable('messages')
    .set({ labels: after.length === 0 ? null : JSON.stringify(after) })
    .where('id', '=', message_id)
    .execute()
  if (ended.length > 0) {
    await tx.query
      .deleteFrom('message_labels')
      .where('message_id', '=', message_id)
      .where('label', 'in', ended)
      .execute()
  }
  if (added.length > 0) {
    await tx.query
      .insertInto('message_labels')
      .values(
        added.map((label) => ({
          label,
          message_id,
          account_id,
          inbox_id,
          created_at,
          is_trashed,
        })),
      )
      .execute()
  }
}

/** Adds no labels if there would be too many. */
export async function labelNewMessage(
  tx: Tx,
  message: LabelledMessage,
  labels: readonly string[],
): Promise<void> {
  const after = changedLabels([], { addLabels: labels })
  if (after !== null) await writeLabels(tx, message, { before: [], after })
}

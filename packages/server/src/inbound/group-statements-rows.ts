// The SQL that a group of arriving messages costs, whatever their number: lists go as arrays, so that the
// texts stay the same. For PostgreSQL alone.

import { sql } from 'kysely'
import { eventRow, type NewEventRow } from '#events/event-rows.ts'
import { longBodyRow } from '#mailbox/long-body-rows.ts'
import {
  correspondentRow,
  messageRow,
  type NewMessage,
  type NewThread,
  PARENT_COLUMNS,
  type ParentThread,
  rawRow,
  SAME_ID_LOOKED_AT_MAX,
  threadRow,
} from '#mailbox/message-statements.ts'
import { ADDED_TO_RANGE, type RangeChange, rangeRow } from '#mailbox/thread-range-rows.ts'
import { lockRows } from '#platform/db/dialect.ts'
import { insertTogether, rowsInsert } from '#platform/db/rows-insert.ts'
import { type Place, statement } from '#platform/db/statement.ts'
import type { NewRow, Row, Tables } from '#schema/tables.ts'

/** Locks the counters of those of the inboxes that there are, in the order of their ids. */
export const lockCounters = statement<
  Tables,
  { inboxIds: string[] },
  Pick<Row<'inbox_counters'>, 'inbox_id' | 'inbound_count' | 'outbound_count'>
>((query, place, engine) =>
  lockRows(
    { engine },
    query
      .selectFrom('inbox_counters')
      .select(['inbox_id', 'inbound_count', 'outbound_count'])
      .where('inbox_id', '=', sql<string>`any(${place('inboxIds')})`)
      .orderBy('inbox_id'),
  ),
)

/** Those of the inboxes whose domain is their account's still. */
export const selectReceiving = statement<Tables, { inboxIds: string[] }, { id: string }>(
  (query, place) =>
    query
      .selectFrom('inboxes')
      .select('id')
      .where('id', '=', sql<string>`any(${place('inboxIds')})`)
      .where('receiving_address', 'is not', null),
)

/** Message-IDs that are looked for, each in the inbox at its place. */
export type AskedKeys = { inboxIds: string[]; keys: string[] }

type Asked = { inbox_id: string; message_key: string }

const askedKeys = (place: Place<AskedKeys>) =>
  sql<Asked>`unnest(${place('inboxIds')}::text[], ${place('keys')}::text[])`.as<'asked'>(
    sql`asked(inbox_id, message_key)`,
  )

/** Receipts of the newest messages under each of them, the newest first. */
export const selectSame = statement<Tables, AskedKeys, Asked & { receipt_key: Uint8Array }>(
  (query, place) =>
    query
      .selectFrom(askedKeys(place))
      .innerJoinLateral(
        (inner) =>
          inner
            .selectFrom('messages')
            .select(['receipt_key', 'position'])
            .whereRef('messages.inbox_id', '=', 'asked.inbox_id')
            .whereRef('messages.message_key', '=', 'asked.message_key')
            .where('receipt_key', 'is not', null)
            .orderBy('position', 'desc')
            .limit(SAME_ID_LOOKED_AT_MAX)
            .as('same'),
        (join) => join.onTrue(),
      )
      .select(['asked.inbox_id', 'asked.message_key', 'same.receipt_key'])
      .orderBy('same.position', 'desc')
      .$narrowType<{ receipt_key: Uint8Array }>(),
)

/** The thread of the oldest message under each of them. */
export const selectOldest = statement<Tables, AskedKeys, Asked & ParentThread>((query, place) =>
  query
    .selectFrom(askedKeys(place))
    .innerJoinLateral(
      (inner) =>
        inner
          .selectFrom('messages')
          .innerJoin('threads', 'threads.id', 'messages.thread_id')
          .select(PARENT_COLUMNS)
          .whereRef('messages.inbox_id', '=', 'asked.inbox_id')
          .whereRef('messages.message_key', '=', 'asked.message_key')
          .orderBy('messages.position')
          .limit(1)
          .as('oldest'),
      (join) => join.onTrue(),
    )
    .select([
      'asked.inbox_id',
      'asked.message_key',
      'oldest.id',
      'oldest.is_read',
      'oldest.message_count',
      'oldest.last_position',
      'oldest.participants',
      'oldest.summary_count',
      'oldest.read_count',
    ]),
)

type Additions = {
  inboxIds: string[]
  inbound: number[]
  threads: number[]
  unread: number[]
  bytes: number[]
}

type Addition = {
  inbox_id: string
  inbound: number
  threads: number
  unread: number
  bytes: number
}

export const addToAllCounters = statement<Tables, Additions, never>((query, place) =>
  query
    .updateTable('inbox_counters')
    .from(
      sql<Addition>`unnest(
        ${place('inboxIds')}::text[], ${place('inbound')}::bigint[],
        ${place('threads')}::bigint[], ${place('unread')}::bigint[],
        ${place('bytes')}::bigint[]
      )`.as<'added'>(sql`added(inbox_id, inbound, threads, unread, bytes)`),
    )
    .set(({ eb, ref }) => ({
      inbound_count: eb(ref('inbound_count'), '+', ref('added.inbound')),
      thread_count: eb(ref('thread_count'), '+', ref('added.threads')),
      unread_thread_count: eb(ref('unread_thread_count'), '+', ref('added.unread')),
      // As countStored does: unless older messages are still to be counted.
      stored_bytes: sql<number>`stored_bytes + case
        when counted_position = inbound_count + outbound_count then added.bytes else 0 end`,
      counted_position: sql<number>`counted_position + case
        when counted_position = inbound_count + outbound_count then added.inbound else 0 end`,
    }))
    .whereRef('inbox_counters.inbox_id', '=', 'added.inbox_id'),
)

type ThreadChanges = {
  ids: string[]
  added: number[]
  atMs: number[]
  positions: number[]
  participants: (string | null)[]
  snippets: (string | null)[]
  summaryCounts: number[]
  readCounts: number[]
}

type ThreadChange = {
  id: string
  added: number
  at: number
  position: number
  participants: string | null
  snippet: string | null
  summary_count: number
  read_count: number
}

/** Threads that got so many messages, the last of them at this time and place. */
export const updateThreads = statement<Tables, ThreadChanges, never>((query, place) =>
  query
    .updateTable('threads')
    .from(
      sql<ThreadChange>`unnest(
        ${place('ids')}::text[], ${place('added')}::bigint[],
        ${place('atMs')}::bigint[], ${place('positions')}::bigint[],
        ${place('participants')}::text[], ${place('snippets')}::text[],
        ${place('summaryCounts')}::bigint[], ${place('readCounts')}::bigint[]
      )`.as<'changed'>(
        sql`changed(id, added, at, position, participants, snippet, summary_count, read_count)`,
      ),
    )
    .set(({ eb, ref }) => ({
      is_read: 0,
      message_count: eb(ref('message_count'), '+', ref('changed.added')),
      last_message_at: ref('changed.at'),
      last_position: ref('changed.position'),
      participants: ref('changed.participants'),
      snippet: ref('changed.snippet'),
      summary_count: ref('changed.summary_count'),
      read_count: ref('changed.read_count'),
    }))
    .whereRef('threads.id', '=', 'changed.id'),
)

/** What a group of received messages adds, written as one statement. */
export const insertReceived = insertTogether<
  Tables,
  {
    threads: NewThread
    ranges: RangeChange
    messages: NewMessage
    correspondents: NewRow<'correspondents'>
    events: NewEventRow
    raws: NewRow<'raw_messages'>
    longBodies: NewRow<'long_bodies'>
  }
>({
  threads: rowsInsert('threads', threadRow),
  ranges: rowsInsert('thread_ranges', rangeRow, ADDED_TO_RANGE),
  messages: rowsInsert('messages', messageRow),
  correspondents: rowsInsert('correspondents', correspondentRow, 'on conflict do nothing'),
  events: rowsInsert('events', eventRow),
  raws: rowsInsert('raw_messages', rawRow),
  longBodies: rowsInsert('long_bodies', longBodyRow, 'on conflict do nothing'),
})

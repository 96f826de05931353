// The newest message of each thread in a list, and whether the thread has attachments.

import type { Thread as ThreadShape } from '@mailroom/contract/threads.ts'
import type { ThreadState } from '@mailroom/contract/vocabulary.ts'
import { sql } from 'kysely'
import { CANCELLED, toOf } from '#mailbox/messages/store/messages.ts'
import { readNames } from '#mailbox/messages/store/recipient-names.ts'
import { addressKey } from '#platform/email-address.ts'
import type { ReadDb } from '#store/tables.ts'

export type NewestFacts = Pick<ThreadShape, 'lastMessage' | 'hasAttachments'>

/** The limit is part of the API. */
const RECIPIENTS_MAX = 10

/** Maps the ids of threads; a thread without messages is missing. */
export async function readNewest(
  db: ReadDb,
  threadIds: readonly string[],
): Promise<Map<string, NewestFacts>> {
  if (threadIds.length === 0) return new Map()
  const rows = await selectNewest(db, threadIds)
  return new Map(
    rows.map((row): [string, NewestFacts] => {
      const isReceived = row.direction === 'inbound'
      const lastMessage: NewestFacts['lastMessage'] = {
        direction: isReceived ? 'inbound' : 'outbound',
        state: stateOf(row),
        to: isReceived ? [] : recipientsOf(row),
      }
      return [row.thread_id, { lastMessage, hasAttachments: row.has_attachments === 1 }]
    }),
  )
}

function recipientsOf(row: Newest): NewestFacts['lastMessage']['to'] {
  const names = readNames(row.recipient_names)
  return toOf(row)
    .slice(0, RECIPIENTS_MAX)
    .map((address) => ({ name: names.get(addressKey(address)) ?? null, address }))
}

function selectNewest(db: ReadDb, threadIds: readonly string[]) {
  return (
    db.read
      .selectFrom('threads')
      .innerJoin('messages', (join) =>
        join.on('messages.id', '=', ({ selectFrom }) =>
          selectFrom('messages as newest')
            .select('newest.id')
            .whereRef('newest.thread_id', '=', 'threads.id')
            .orderBy('newest.created_at', 'desc')
            .orderBy('newest.id', 'desc')
            .limit(1),
        ),
      )
      .leftJoin('waiting_sends', 'waiting_sends.message_id', 'messages.id')
      .select(['messages.thread_id', 'messages.direction', 'messages.status'])
      .select(['messages.failure_reason', 'messages.to_addr', 'messages.to_addrs'])
      // The column is behind the text of the message, which need not be read for received mail.
      .select(
        sql<
          string | null
        >`case when messages.direction = 'outbound' then messages.recipient_names end`.as(
          'recipient_names',
        ),
      )
      .select(['messages.header_to', 'waiting_sends.review_id', 'waiting_sends.release_at'])
      .select(
        sql<number>`case when exists (
        select 1 from messages as with_files
        where with_files.thread_id = threads.id and with_files.attachments <> '[]'
      ) then 1 else 0 end`.as('has_attachments'),
      )
      .where('threads.id', 'in', threadIds)
      .execute()
  )
}

type Newest = Awaited<ReturnType<typeof selectNewest>>[number]

type StateFacts = Pick<
  Newest,
  'direction' | 'status' | 'failure_reason' | 'review_id' | 'release_at'
>

export function stateOf(row: StateFacts): ThreadState {
  const { direction, status, failure_reason: reason } = row
  if (direction === 'inbound') return 'received'
  if (status === 'sent') return 'sent'
  if (status === 'failed') {
    if (reason === CANCELLED) return 'cancelled'
    return reason === 'rejected' || reason === 'review_expired' ? 'rejected' : 'failed'
  }
  if (row.review_id !== null) return 'held'
  return row.release_at === null ? 'queued' : 'scheduled'
}

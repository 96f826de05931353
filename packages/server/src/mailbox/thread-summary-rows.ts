// The summaries of threads, kept in their rows by whatever adds a message. A thread that another program
// added to without them is summed up from its messages when it is listed.

import { sql } from 'kysely'
import { transaction } from '#platform/db/db.ts'
import { lockRows } from '#platform/db/dialect.ts'
import type { ReadDb, Row, Tx } from '#schema/tables.ts'
import type { MessageContent, ParentThread, SummaryColumns } from './message-statements.ts'
import {
  addParticipants,
  type Correspondence,
  type Participant,
  SNIPPET_SOURCE_LENGTH,
  snippetOf,
} from './thread-summary.ts'

/** The newest messages of a thread that are read to sum it up anew. */
const SUMMED_UP_MESSAGES_MAX = 100

/** What a summary reads of a message that is about to be written. */
export type AddedMessage = Correspondence & Pick<MessageContent, 'body_text' | 'extracted_text'>

/** Of a thread that begins with this message. */
export function firstSummary(message: AddedMessage): SummaryColumns {
  return {
    ...summaryAfter([], message),
    summary_count: 1,
    read_count: message.direction === 'inbound' ? 0 : 1,
  }
}

/** Of a thread that this message is added to; without a summary where the thread had none that holds. */
export function nextSummary(thread: ParentThread, message: AddedMessage): SummaryColumns {
  const count = thread.message_count + 1
  const wasReadAt = thread.is_read === 1 ? thread.message_count : thread.read_count
  const read_count = message.direction === 'inbound' ? wasReadAt : count
  if (!isSummedUp(thread))
    return { participants: null, snippet: null, summary_count: 0, read_count }
  const known = JSON.parse(thread.participants ?? '[]') as Participant[]
  return { ...summaryAfter(known, message), summary_count: count, read_count }
}

function summaryAfter(known: readonly Participant[], message: AddedMessage) {
  return {
    participants: JSON.stringify(addParticipants(known, message)),
    snippet: snippetOf(message),
  }
}

function isSummedUp(
  thread: Pick<ParentThread, 'participants' | 'summary_count' | 'message_count'>,
) {
  return thread.participants !== null && thread.summary_count === thread.message_count
}

/** What was found out by reading a thread; `messageCount` is how many messages it had then. */
export type ThreadSummary = {
  threadId: string
  messageCount: number
  participants: string
  snippet: string
  readCount: number
}

/** Summaries of those of the threads that have none that holds: two queries, and none if all have. */
export async function sumUpThreads(
  db: ReadDb,
  threads: readonly Row<'threads'>[],
): Promise<ThreadSummary[]> {
  const stale = threads.filter((thread) => !isSummedUp(thread))
  if (stale.length === 0) return []
  const ids = stale.map(({ id }) => id)
  const newest = await selectNewestTexts(db, ids)
  const messages = await selectCorrespondence(db, ids)
  const byThread = Map.groupBy(messages, ({ thread_id }) => thread_id)
  return stale.map((thread) => {
    const { message_count: messageCount, read_count } = thread
    let participants: Participant[] = []
    let readCount = read_count
    for (const message of byThread.get(thread.id) ?? []) {
      if (message.thread_position > messageCount) continue
      participants = addParticipants(participants, message)
      if (message.direction === 'outbound') readCount = Math.max(readCount, message.thread_position)
    }
    const text = newest.find(({ thread_id }) => thread_id === thread.id)
    return {
      threadId: thread.id,
      messageCount,
      participants: JSON.stringify(participants),
      snippet: text === undefined ? '' : snippetOf(text),
      readCount,
    }
  })
}

/** Oldest first. */
function selectCorrespondence(db: ReadDb, threadIds: readonly string[]) {
  return db.read
    .selectFrom('threads')
    .innerJoin('messages', 'messages.thread_id', 'threads.id')
    .select([
      'messages.thread_id',
      'messages.thread_position',
      'messages.direction',
      'messages.from_addr',
      'messages.to_addr',
      // Of received mail nobody looks at it, and strangers choose its length.
      sql<string>`case when messages.direction = 'outbound' then messages.cc else '[]' end`.as(
        'cc',
      ),
    ])
    .where('threads.id', 'in', threadIds)
    .whereRef(
      'messages.thread_position',
      '>',
      sql<number>`threads.message_count - ${sql.lit(SUMMED_UP_MESSAGES_MAX)}`,
    )
    .orderBy('messages.thread_position')
    .execute()
}

function selectNewestTexts(db: ReadDb, threadIds: readonly string[]) {
  const beginning = (column: 'body_text' | 'extracted_text') =>
    sql<string>`substr(case when long_bodies.raw_id is null then ${sql.ref(`messages.${column}`)}
      else ${sql.ref(`long_bodies.${column}`)} end, 1, ${sql.lit(SNIPPET_SOURCE_LENGTH)})`.as(
      column,
    )
  return db.read
    .selectFrom('threads')
    .innerJoin('messages', (join) =>
      join
        .onRef('messages.thread_id', '=', 'threads.id')
        .onRef('messages.thread_position', '=', 'threads.message_count'),
    )
    .leftJoin('long_bodies', 'long_bodies.raw_id', 'messages.raw_id')
    .select(['messages.thread_id', beginning('body_text'), beginning('extracted_text')])
    .where('threads.id', 'in', threadIds)
    .execute()
}

/** Keeps what was found out about threads of one inbox, unless a message came meanwhile. */
export const keepThreadSummaries = transaction({
  name: 'keepThreadSummaries',
  accountOf: ({ accountId }) => accountId,
  async run(
    tx: Tx,
    input: { accountId: string; inboxId: string; summaries: readonly ThreadSummary[] },
  ): Promise<void> {
    // As whatever changes threads does, before it touches their rows.
    const totals = tx.query
      .selectFrom('inbox_counters')
      .select('inbox_id')
      .where('inbox_id', '=', input.inboxId)
    if ((await lockRows(tx, totals).executeTakeFirst()) === undefined) return
    for (const { threadId, messageCount, participants, snippet, readCount } of input.summaries) {
      await tx.query
        .updateTable('threads')
        .set({
          participants,
          snippet,
          summary_count: messageCount,
          // The thread may have been marked as read since.
          read_count: sql`case when read_count < ${readCount} then ${readCount} else read_count end`,
        })
        .where('id', '=', threadId)
        .where('account_id', '=', input.accountId)
        .where('inbox_id', '=', input.inboxId)
        .where('message_count', '=', messageCount)
        .execute()
    }
  },
})

// Summaries of threads for lists: the participants, and how the newest message begins. Every transaction that adds
// a message keeps them in the thread's row. A thread that an older program changed without them is summed up from
// its messages when it is listed; both give the same result.

import { parseAddressList } from '@mailroom/mail/address-list.ts'
import type { Defect } from '@mailroom/mail/mime/parsed-message.ts'
import { RemovalTally, stripInvisible } from '@mailroom/mail-reading/view/removal.ts'
import { sql } from 'kysely'
import { transaction } from '#platform/db/db.ts'
import { lockRows } from '#platform/db/dialect.ts'
import { addressKey } from '#platform/email-address.ts'
import type { ReadDb, Row, Tx } from '#schema/tables.ts'
import type { MessageContent, ParentThread, SummaryColumns } from './message-statements.ts'

/** Only the newest messages of a thread are read to sum it up. */
const SUMMED_UP_MESSAGES_MAX = 100

export type AddedMessage = Correspondence &
  Pick<MessageContent, 'body_text' | 'extracted_text' | 'defects' | 'category'>

/** The summary of a thread that begins with this message. */
export function firstSummary(message: AddedMessage): SummaryColumns {
  return {
    ...summaryAfter([], message),
    category: message.category ?? null,
    summary_count: 1,
    read_count: message.direction === 'inbound' ? 0 : 1,
  }
}

/** The summary after adding this message; it stays missing or stale where it was. */
export function nextSummary(thread: ParentThread, message: AddedMessage): SummaryColumns {
  const count = thread.message_count + 1
  const wasReadAt = thread.is_read === 1 ? thread.message_count : thread.read_count
  const read_count = message.direction === 'inbound' ? wasReadAt : count
  const category = message.direction === 'inbound' ? (message.category ?? null) : thread.category
  const kept = { read_count, category }
  if (!isSummedUp(thread)) return { participants: null, snippet: null, summary_count: 0, ...kept }
  const known = JSON.parse(thread.participants ?? '[]') as Participant[]
  return { ...summaryAfter(known, message), summary_count: count, ...kept }
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

/** The counts are those of the thread when it was read. */
export type ThreadSummary = {
  threadId: string
  messageCount: number
  removedCount: number
  participants: string
  snippet: string
  readCount: number
}

/** Summaries of the threads that have none or a stale one, by two queries. */
export async function sumUpThreads(
  db: ReadDb,
  threads: readonly Row<'threads'>[],
): Promise<ThreadSummary[]> {
  return sumUp(
    db,
    threads.filter((thread) => !isSummedUp(thread)),
  )
}

/** Summaries of all these threads, from their messages. */
export async function sumUp(
  db: ReadDb,
  threads: readonly Pick<Row<'threads'>, 'id' | 'message_count' | 'removed_count' | 'read_count'>[],
): Promise<ThreadSummary[]> {
  if (threads.length === 0) return []
  const ids = threads.map(({ id }) => id)
  const newest = await selectNewestTexts(db, ids)
  const messages = await selectCorrespondence(db, ids)
  const byThread = Map.groupBy(messages, ({ thread_id }) => thread_id)
  return threads.map((thread) => {
    const { message_count: messageCount, removed_count: removedCount, read_count } = thread
    let participants: Participant[] = []
    let readCount = read_count
    const added = (byThread.get(thread.id) ?? []).filter(
      ({ thread_position }) => thread_position <= messageCount,
    )
    for (const [index, message] of added.entries()) {
      participants = addParticipants(participants, message)
      if (message.direction !== 'outbound') continue
      readCount = Math.max(readCount, messageCount - (added.length - 1 - index))
    }
    const text = newest.find(({ thread_id }) => thread_id === thread.id)
    return {
      threadId: thread.id,
      messageCount,
      removedCount,
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
      'messages.to_addrs',
      // Only sent messages need their Cc; strangers choose the length of received ones.
      sql<string>`case when messages.direction = 'outbound' then messages.cc else '[]' end`.as(
        'cc',
      ),
    ])
    .where('threads.id', 'in', threadIds)
    .where('messages.thread_position', '>=', ({ selectFrom, fn, lit }) =>
      fn.coalesce(
        selectFrom('messages as newest')
          .select('newest.thread_position')
          .whereRef('newest.thread_id', '=', 'threads.id')
          .orderBy('newest.thread_position', 'desc')
          .limit(1)
          .offset(SUMMED_UP_MESSAGES_MAX - 1),
        lit(0),
      ),
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
        .on('messages.thread_position', '=', ({ selectFrom }) =>
          selectFrom('messages as newest')
            .select('newest.thread_position')
            .whereRef('newest.thread_id', '=', 'threads.id')
            .orderBy('newest.thread_position', 'desc')
            .limit(1),
        ),
    )
    .leftJoin('long_bodies', 'long_bodies.raw_id', 'messages.raw_id')
    .select(['messages.thread_id', 'messages.defects'])
    .select([beginning('body_text'), beginning('extracted_text')])
    .where('threads.id', 'in', threadIds)
    .execute()
}

/** Keeps summaries of threads of one inbox, unless a message was added or removed meanwhile. */
export const keepThreadSummaries = transaction({
  name: 'keepThreadSummaries',
  accountOf: ({ accountId }) => accountId,
  async run(
    tx: Tx,
    input: { accountId: string; inboxId: string; summaries: readonly ThreadSummary[] },
  ): Promise<void> {
    // Locked first, as by all transactions that change threads.
    const totals = tx.query
      .selectFrom('inbox_counters')
      .select('inbox_id')
      .where('inbox_id', '=', input.inboxId)
    if ((await lockRows(tx, totals).executeTakeFirst()) === undefined) return
    for (const summary of input.summaries) {
      const { threadId, messageCount, removedCount, participants, snippet, readCount } = summary
      await tx.query
        .updateTable('threads')
        .set({
          participants,
          snippet,
          summary_count: messageCount,
          // The thread may have been marked as read meanwhile.
          read_count: sql`case when read_count < ${readCount} then ${readCount} else read_count end`,
        })
        .where('id', '=', threadId)
        .where('account_id', '=', input.accountId)
        .where('inbox_id', '=', input.inboxId)
        .where('message_count', '=', messageCount)
        .where('removed_count', '=', removedCount)
        .execute()
    }
  },
})

/** `name` is null when no message names them. */
export type Participant = { name: string | null; address: string }

/** The columns of a message that name its participants. */
type Correspondence = {
  direction: string
  from_addr: string
  to_addr: string
  /** A JSON list of a sent message; without it, `to_addr` alone. */
  to_addrs?: string | null
  /** A JSON list. */
  cc: string
}

/** Part of the API. */
const PARTICIPANTS_MAX = 10
/** In code points. Part of the API. */
const THREAD_SNIPPET_LENGTH = 160
/** In UTF-16 units: a snippet is made from so much of a text, invisible characters included. */
const SNIPPET_SOURCE_LENGTH = 8_192

/** In code points; strangers choose the names, and every list shows them. */
const NAME_LENGTH_MAX = 100
/** In code points; RFC 5321 §4.5.3.1 allows 64 octets before the @ and 255 after it. */
const ADDRESS_LENGTH_MAX = 320

/**
 * The participants of a thread after this message: its sender or, for a sent message, its recipients (to, then cc)
 * come first, each address once, at most PARTICIPANTS_MAX. The inbox itself is a participant only while there is no
 * other.
 */
export function addParticipants(
  known: readonly Participant[],
  message: Correspondence,
): Participant[] {
  const byKey = new Map<string, Participant>()
  for (const participant of [...namedIn(message), ...known]) {
    const key = addressKey(participant.address)
    const newer = byKey.get(key)
    if (newer === undefined) byKey.set(key, { ...participant })
    // A later message without the name does not remove it.
    else newer.name ??= participant.name
  }
  if (byKey.size > 1) byKey.delete(addressKey(ownAddressOf(message)))
  return [...byKey.values()].slice(0, PARTICIPANTS_MAX)
}

/**
 * The beginning of a message's extracted text, on one line and without invisible characters; of the whole text when
 * nothing was extracted. Empty where people see another text in the HTML, because a snippet has no mark.
 */
export function snippetOf(text: {
  body_text: string
  extracted_text?: string | null
  /** JSON list. */
  defects?: string
}): string {
  const { body_text: whole, extracted_text: own, defects = '[]' } = text
  if (defects !== '[]' && (JSON.parse(defects) as Defect[]).includes('unsaid-text')) return ''
  return onOneLine(own ?? whole, THREAD_SNIPPET_LENGTH) || onOneLine(whole, THREAD_SNIPPET_LENGTH)
}

function ownAddressOf({ direction, from_addr, to_addr }: Correspondence): string {
  return direction === 'inbound' ? to_addr : (parseAddressList(from_addr)[0]?.address ?? from_addr)
}

function namedIn(message: Correspondence): Participant[] {
  const { direction, from_addr, to_addr, to_addrs = null, cc } = message
  const to: string[] = to_addrs === null ? [to_addr] : JSON.parse(to_addrs)
  const fields = direction === 'inbound' ? [from_addr] : [...to, ...(JSON.parse(cc) as string[])]
  return fields.map(readParticipant).filter(({ address }) => address !== '')
}

function readParticipant(field: string): Participant {
  // A text that is no mailbox, such as a reverse-path, is taken as the address.
  const { name, address } = parseAddressList(field)[0] ?? { name: '', address: field }
  return {
    name: onOneLine(name, NAME_LENGTH_MAX) || null,
    address: onOneLine(address, ADDRESS_LENGTH_MAX),
  }
}

function onOneLine(text: string, lengthMax: number): string {
  const beginning = 4 * lengthMax
  let line = joinLines(text.slice(0, beginning))
  // A code point has at most two units, and what is visible depends on the few characters that follow.
  const isEnough = text.length <= beginning || line.length >= 3 * lengthMax
  if (!isEnough) line = joinLines(text.slice(0, SNIPPET_SOURCE_LENGTH))
  if (line.length <= lengthMax) return line
  const start = line.slice(0, 2 * lengthMax)
  if (!SURROGATE.test(start)) return start.slice(0, lengthMax).trimEnd()
  return Array.from(start).slice(0, lengthMax).join('').trimEnd()
}

function joinLines(text: string): string {
  const whole = text.replace(/[\ud800-\udbff]$/, '')
  const seen = stripInvisible(whole, new RemovalTally()).toWellFormed()
  return seen.replace(WIDE_SPACE, ' ').trim()
}

const SURROGATE = /[\ud800-\udfff]/
/** White space other than single blanks. */
const WIDE_SPACE = /\s{2,}|[^\S ]/g

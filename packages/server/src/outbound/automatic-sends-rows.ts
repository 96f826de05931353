// Two programs that answer each other: how many answers to programs a thread has had lately, read and
// kept in the transaction of the send, which holds the inbox's lock.

import { insertEvent } from '#events/event-rows.ts'
import { CLOCK_SKEW_MS } from '#platform/clock.ts'
import { statement } from '#platform/db/statement.ts'
import { HOUR_MS } from '#platform/units.ts'
import type { Row, Tables, Tx } from '#schema/tables.ts'

/** Answers to programs that a thread takes in any stretch of AUTOMATIC_SENDS_MS. */
export const AUTOMATIC_SENDS_MAX = 10
export const AUTOMATIC_SENDS_MS = HOUR_MS
/** Messages of a thread among which automatic ones are looked for: a burst of them and its answers. */
const AUTOMATIC_SENDS_LOOKED_AT_MAX = 64

export type LoopSuspected = {
  kind: 'loop_suspected'
  threadId: string
  /** When the thread takes a send again. */
  retryAtMs: number
  /** Whether an event of this episode has told of it before. */
  isTold: boolean
}

export type CheckedExchange =
  | {
      kind: 'allowed'
      /** What to keep once the message is sent; null where it answers no program. */
      counted: { threadId: string; times: string } | null
    }
  | LoopSuspected

/**
 * Whether a send in the thread, which exists, would come after AUTOMATIC_SENDS_MAX that answered
 * programs within AUTOMATIC_SENDS_MS. It answers one itself as long as more messages came in meanwhile
 * that are marked as automatic, or were sent by an inbox of this service, than sends were counted: of
 * the newest AUTOMATIC_SENDS_LOOKED_AT_MAX of the thread. Whatever comes after so many is refused,
 * until the first of them is old enough.
 */
export async function checkExchange(
  tx: Tx,
  threadId: string,
  wallMs: number,
): Promise<CheckedExchange> {
  const [thread] = await selectExchange(tx, { threadId })
  if (thread === undefined) return { kind: 'allowed', counted: null }
  // A time well in the future was written before the clock was set back, and says nothing.
  const isPast = (timeMs: number) => timeMs <= wallMs + CLOCK_SKEW_MS
  const times = (JSON.parse(thread.automatic_sends) as number[]).filter(isPast)
  // Processes differ, and what took long to compose comes late: times in order make windows true.
  const nowMs = Math.max(wallMs, times.at(-1) ?? wallMs)
  const recent = times.filter((timeMs) => timeMs > nowMs - AUTOMATIC_SENDS_MS)
  const first = recent.at(-AUTOMATIC_SENDS_MAX)
  if (first !== undefined && recent.length >= AUTOMATIC_SENDS_MAX) {
    const retryAtMs = first + AUTOMATIC_SENDS_MS
    return { kind: 'loop_suspected', threadId, retryAtMs, isTold: isTold(thread, nowMs) }
  }
  // What came all at once may be answered one after the other: each answers one of them.
  const [{ count } = { count: 0 }] = await countAutomatic(tx, {
    threadId,
    afterPosition: thread.message_count - AUTOMATIC_SENDS_LOOKED_AT_MAX,
    afterMs: nowMs - AUTOMATIC_SENDS_MS,
    latestMs: nowMs + CLOCK_SKEW_MS,
  })
  if (Number(count) <= recent.length) return { kind: 'allowed', counted: null }
  const counted = { threadId, times: JSON.stringify([...recent, nowMs]) }
  return { kind: 'allowed', counted }
}

/** Keeps the time of a send that `checkExchange` allowed. */
export async function countAutomaticSend(tx: Tx, exchange: CheckedExchange): Promise<void> {
  if (exchange.kind === 'allowed' && exchange.counted !== null) {
    await updateTimes(tx, exchange.counted)
  }
}

/** Writes the event of an episode that no event has told of. */
export async function tellLoop(
  tx: Tx,
  input: { eventId: string; inboxId: string; exchange: LoopSuspected; nowMs: number },
): Promise<void> {
  const { eventId, inboxId, exchange, nowMs } = input
  const [inbox] = await selectInbox(tx, { id: inboxId })
  if (inbox === undefined) return
  await updateSuspected(tx, { threadId: exchange.threadId, nowMs })
  await insertEvent(tx, {
    id: eventId,
    kind: 'thread.loop_suspected',
    account_id: inbox.account_id,
    pod_id: inbox.pod_id,
    inbox_id: inboxId,
    thread_id: exchange.threadId,
    message_id: null,
    occurred_at: nowMs,
    details: null,
  })
}

type Exchange = Pick<Row<'threads'>, 'automatic_sends' | 'loop_suspected_at' | 'message_count'>

/** One that goes on for hours is told of every hour. */
function isTold({ loop_suspected_at: toldMs }: Exchange, nowMs: number): boolean {
  if (toldMs === null || toldMs > nowMs + CLOCK_SKEW_MS) return false
  return toldMs > nowMs - AUTOMATIC_SENDS_MS
}

const selectExchange = statement<Tables, { threadId: string }, Exchange>((query, place) =>
  query
    .selectFrom('threads')
    .select(['automatic_sends', 'loop_suspected_at', 'message_count'])
    .where('id', '=', place('threadId')),
)

type Stretch = { threadId: string; afterPosition: number; afterMs: number; latestMs: number }

const countAutomatic = statement<Tables, Stretch, { count: number | string | bigint }>(
  (query, place) =>
    query
      .selectFrom('messages')
      .innerJoin('raw_messages', 'raw_messages.id', 'messages.raw_id')
      .select(({ fn }) => fn.countAll().as('count'))
      .where('messages.thread_id', '=', place('threadId'))
      .where('messages.thread_position', '>', place('afterPosition'))
      .where('messages.direction', '=', 'inbound')
      .where('messages.created_at', '>', place('afterMs'))
      .where('messages.created_at', '<=', place('latestMs'))
      .where(({ eb, or }) =>
        or([
          eb('messages.automatic_reason', 'is not', null),
          eb('raw_messages.origin', '=', 'service'),
        ]),
      ),
)

const selectInbox = statement<Tables, { id: string }, { account_id: string; pod_id: string }>(
  (query, place) =>
    query.selectFrom('inboxes').select(['account_id', 'pod_id']).where('id', '=', place('id')),
)

const updateTimes = statement<Tables, { threadId: string; times: string }, never>((query, place) =>
  query
    .updateTable('threads')
    .set({ automatic_sends: place('times') })
    .where('id', '=', place('threadId')),
)

const updateSuspected = statement<Tables, { threadId: string; nowMs: number }, never>(
  (query, place) =>
    query
      .updateTable('threads')
      .set({ loop_suspected_at: place('nowMs') })
      .where('id', '=', place('threadId')),
)

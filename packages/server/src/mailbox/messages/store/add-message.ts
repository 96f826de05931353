// Adds a message to its thread and inbox by computing new rows from given ones, without I/O.

import { addParticipants, snippetOf } from '#mailbox/threads/store/summaries.ts'
import type { Row } from '#store/tables.ts'
import {
  bodiesForRow,
  type CounterChange,
  type NewMessage,
  type NewThread,
  NO_CHANGE,
  type ThreadState,
} from './write-messages.ts'

/** The inbox's counters stay locked until the additions are written. */
export type KnownInbox = Pick<Row<'inbox_counters'>, 'inbox_id' | 'last_arrival'>

export type Additions = {
  readonly inboxes: ReadonlyMap<string, { lastArrival: number; change: CounterChange }>
  readonly started: Map<string, NewThread & ThreadState>
  readonly continued: Map<string, ThreadState>
  readonly messages: NewMessage[]
  /** Threads whose added message is not their newest, so that the summary must be recomputed. */
  readonly unordered: Set<string>
}

export function additionsTo(inboxes: readonly KnownInbox[]): Additions {
  return {
    inboxes: new Map(
      inboxes.map(({ inbox_id, last_arrival: lastArrival }) => [
        inbox_id,
        { lastArrival, change: { inbox_id, ...NO_CHANGE } },
      ]),
    ),
    started: new Map(),
    continued: new Map(),
    messages: [],
    unordered: new Set(),
  }
}

export type Addition = {
  readonly message: Omit<NewMessage, 'thread_id' | 'arrival'>
  readonly sizeBytes: number
  readonly threadBecomes: 'unread' | 'read' | 'unchanged'
  /** If this is null, the message starts a thread with the id `threadId`. */
  readonly thread: ThreadState | null
  readonly threadId: string
}

export function addMessage(additions: Additions, addition: Addition): ThreadState {
  const { message, sizeBytes } = addition
  const inbox = additions.inboxes.get(message.inbox_id)
  if (inbox === undefined) throw new Error('A message was added to an unknown inbox.')
  inbox.lastArrival += 1
  const { change, lastArrival: arrival } = inbox
  change[message.direction === 'inbound' ? 'inbound_count' : 'outbound_count'] += 1
  change.stored_bytes += sizeBytes
  const thread = threadFor(additions, addition)
  const wasRead = thread.is_read
  if (thread.message_count === 0) change.thread_count += 1
  else if (message.created_at < thread.last_message_at) additions.unordered.add(thread.id)
  Object.assign(thread, stateAfter(thread, { ...addition, arrival }))
  change.unread_thread_count += wasRead - thread.is_read
  additions.messages.push({ ...message, ...bodiesForRow(message), thread_id: thread.id, arrival })
  return thread
}

function threadFor(
  { started, continued }: Additions,
  { thread, threadId, message }: Addition,
): ThreadState {
  const id = thread?.id ?? threadId
  const known = started.get(id) ?? continued.get(id)
  if (known !== undefined) return known
  if (thread !== null) {
    const copy = { ...thread }
    continued.set(id, copy)
    return copy
  }
  const { account_id, inbox_id, subject, created_at } = message
  const row = { id, account_id, inbox_id, subject, created_at, ...EMPTY }
  started.set(id, row)
  return row
}

const EMPTY = {
  is_read: 1,
  message_count: 0,
  unread_count: 0,
  read_arrival: 0,
  last_message_at: 0,
  participants: '[]',
  snippet: '',
  category: null,
  facet_count: 0,
}

function stateAfter(
  thread: ThreadState,
  added: Addition & { arrival: number },
): Omit<ThreadState, 'id' | 'facet_count'> {
  const { message } = added
  const message_count = thread.message_count + 1
  const state = { ...thread, ...readStateAfter(thread, added), message_count }
  if (thread.message_count > 0 && message.created_at < thread.last_message_at) return state
  return {
    ...state,
    last_message_at: message.created_at,
    participants: JSON.stringify(addParticipants(JSON.parse(thread.participants), message)),
    snippet: snippetOf(message),
    category: message.direction === 'inbound' ? (message.category ?? null) : thread.category,
  }
}

/** Counts messages received after `read_arrival`. */
function readStateAfter(
  { is_read, unread_count, read_arrival }: ThreadState,
  { threadBecomes, arrival, message: { direction } }: Addition & { arrival: number },
): Pick<ThreadState, 'is_read' | 'unread_count' | 'read_arrival'> {
  if (threadBecomes === 'read' || (threadBecomes === 'unchanged' && is_read === 1)) {
    return { is_read: 1, unread_count: 0, read_arrival: arrival }
  }
  const added = direction === 'inbound' ? 1 : 0
  return {
    is_read: 0,
    unread_count: unread_count + added,
    read_arrival: is_read === 1 ? arrival - added : read_arrival,
  }
}

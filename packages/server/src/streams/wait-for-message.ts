// Waits for a message of an inbox. The hub notifies of new messages, so nothing polls.

import { LOG_STEP_EVENTS } from '#events/events.ts'
import {
  compareOffsets,
  type EventKind,
  type LoggedEvent,
  type LogOffset,
  type MessageCategory,
} from '#events/model.ts'
import { scanLog } from '#events/store/events.ts'
import { readLogHeadOf } from '#events/store/log.ts'
import {
  type Direction,
  findMessage,
  findMessageHeads,
  findRemoved,
  listMessageHeads,
  type Message,
  type MessageHead,
  readCounters,
} from '#mailbox/messages/store/messages.ts'
import { onAbort } from '#platform/abort.ts'
import { isIdOf } from '#platform/ids.ts'
import { notFound, problem, RETRY_AFTER_SECONDS, wrongQuery } from '#platform/problem.ts'
import type { Db } from '#store/tables.ts'
import type { EventText } from './envelope.ts'
import type { EventHub, Listening } from './event-hub.ts'
import { findCursor } from './read-events.ts'

export const WAIT_STEP_MESSAGES = 500
/** The limit covers all accounts. */
export const WAITERS_MAX = 10_000

export type WaitInput = {
  accountId: string
  inboxId: string
  timeoutMs: number
  /** An event of the account or a message of the inbox; null means messages after the call. */
  after: string | null
  /** Part of the sender or the subject, ignoring case. */
  from: string | null
  subject: string | null
  threadId: string | null
  category?: MessageCategory | null
  /** For outbound, sent messages whose outcome is final. */
  direction: Direction
  /** Awaited before a long body is loaded. */
  beforeLong?: () => Promise<void>
  signal: AbortSignal
}

type WaitDeps = { db: Db; events: EventHub }

/**
 * Returns the first match in inbox order, existing or new, or null at the timeout, an abort or a
 * shutdown. Throws `not_found` even if the inbox is deleted during the wait, `bad_request` for an
 * unknown `after`, and `service_unavailable` if WAITERS_MAX requests wait.
 */
export async function waitForMessage(deps: WaitDeps, input: WaitInput): Promise<Message | null> {
  const leave = countWaiter(deps.events)
  try {
    // This is read first, because the wait includes messages from now on.
    const since = await findSince(deps, input)
    return await wait(deps, input, since)
  } finally {
    leave()
  }
}

const waiting = new WeakMap<EventHub, number>()

/** Throws `service_unavailable` at WAITERS_MAX. Call the returned function when the wait ends. */
export function countWaiter(hub: EventHub): () => void {
  const count = waiting.get(hub) ?? 0
  if (count >= WAITERS_MAX) {
    throw problem('service_unavailable', 'Too many requests are waiting.', {
      retryAfterSeconds: RETRY_AFTER_SECONDS,
    })
  }
  waiting.set(hub, count + 1)
  return () => waiting.set(hub, (waiting.get(hub) ?? 1) - 1)
}

/** A match comes after this arrival number in the inbox, or after this offset in the log. */
type Since =
  | { kind: 'message'; arrival: number }
  | { kind: 'event'; offset: LogOffset; except: ReadonlySet<string> }

const NONE: ReadonlySet<string> = new Set()

async function findSince(deps: WaitDeps, input: WaitInput): Promise<Since> {
  const { accountId, inboxId, after, direction } = input
  const counters = await readCounters(deps.db, accountId, inboxId)
  if (counters === null) throw notFound()
  if (after === null) {
    if (direction === 'outbound') return sinceNow(deps, inboxId)
    return { kind: 'message', arrival: counters.last_arrival }
  }
  const cursor = await findCursor(deps, { accountId, after })
  if (cursor !== null) return { kind: 'event', offset: cursor.offset, except: NONE }
  if (isIdOf('msg', after)) {
    const [head] = await findMessageHeads(deps.db, { accountId, inboxId, messageIds: [after] })
    if (head !== undefined) {
      const isOwn = direction === 'outbound' && head.direction === 'outbound'
      return { kind: 'message', arrival: isOwn ? head.arrival - 1 : head.arrival }
    }
    const removed = await findRemoved(deps.db, { accountId, inboxId, messageId: after })
    if (removed !== null) return { kind: 'message', arrival: removed }
  }
  throw wrongQuery('after', 'is neither the id of an event nor a message of this inbox')
}

async function sinceNow(deps: WaitDeps, inboxId: string): Promise<Since> {
  const { offset, unsettledIds } = await readLogHeadOf(deps.db, inboxId)
  return { kind: 'event', offset, except: new Set(unsettledIds) }
}

function kindsOf(direction: Direction): EventKind[] {
  return direction === 'inbound' ? ['message.received'] : ['message.sent', 'message.failed']
}

type Search = {
  isWanted(event: LoggedEvent): boolean
  isMatch(head: Searched, arrival: Arrival): boolean
}

type Searched = Pick<MessageHead, 'threadId' | 'fromAddr' | 'subject' | 'category'>
type Arrival = Pick<MessageHead, 'arrival' | 'isTrashed'>

function makeSearch(input: WaitInput, since: Since): Search {
  const { category = null } = input
  const kinds: readonly string[] = kindsOf(input.direction)
  const from = input.from?.toLowerCase() ?? ''
  const subject = input.subject?.toLowerCase() ?? ''
  return {
    isWanted: (event) =>
      event.inboxId === input.inboxId &&
      kinds.includes(event.kind) &&
      (since.kind === 'message' ||
        (compareOffsets(event.offset, since.offset) > 0 && !since.except.has(event.id))),
    isMatch: (head, { arrival, isTrashed }) =>
      !isTrashed &&
      (since.kind === 'event' || arrival > since.arrival) &&
      (input.threadId === null || head.threadId === input.threadId) &&
      (category === null || head.category === category) &&
      (from === '' || head.fromAddr.toLowerCase().includes(from)) &&
      (subject === '' || head.subject.toLowerCase().includes(subject)),
  }
}

type End = 'time' | 'caller' | 'shutdown' | 'deletion'

/** This is lighter than an AbortSignal, because thousands of requests wait. */
type Over = { why: End | null }

async function wait(deps: WaitDeps, input: WaitInput, since: Since): Promise<Message | null> {
  const search = makeSearch(input, since)
  const over: Over = { why: null }
  const ended = Promise.withResolvers<null>()
  const end = (why: End) => {
    over.why ??= why
    ended.resolve(null)
  }
  const timer = setTimeout(end, input.timeoutMs, 'time')
  using _ = onAbort(input.signal, () => end('caller'))
  const live = watch(deps, input, search)
  let listening: Listening | null = null
  try {
    listening = await deps.events.listen(input.accountId, {
      inboxId: input.inboxId,
      wants: search.isWanted,
      notify: live.notify,
      onInboxDeleted: () => end('deletion'),
      onShutdown: () => end('shutdown'),
    })
    const behind = searchPast(deps, input, { since, search, over })
    const first = behind.then((message) => message ?? live.found)
    first.catch(() => {})
    const message = await Promise.race([first, ended.promise])
    return message ?? (await atEnd(deps, input, { why: over.why, live }))
  } finally {
    listening?.stop()
    clearTimeout(timer)
  }
}

async function atEnd(
  deps: WaitDeps,
  { accountId, inboxId }: WaitInput,
  { why, live }: { why: End | null; live: Live },
): Promise<Message | null> {
  const message = live.known()
  if (message !== null) return message
  // Another process may have deleted the inbox.
  const isGone = async () => (await readCounters(deps.db, accountId, inboxId)) === null
  if (why === 'deletion' || (why === 'time' && (await isGone()))) throw notFound()
  return null
}

type Live = {
  notify(text: EventText): void
  readonly found: Promise<Message>
  known(): Message | null
}

function watch(
  { db }: WaitDeps,
  { accountId, beforeLong: before }: WaitInput,
  search: Search,
): Live {
  const { promise, resolve, reject } = Promise.withResolvers<Message>()
  promise.catch(() => {})
  let first: Message | null = null
  let checking: Promise<void> | null = null
  const check = async (message: Message) => {
    // An event has only the beginning of a long body, and its message may be deleted by now.
    const whole = await findMessage(db, accountId, message.id, { before })
    if (whole !== null) keep(whole)
  }
  const keep = (message: Message) => {
    first ??= message
    resolve(first)
  }
  return {
    notify({ message, arrival, isTruncated }) {
      if (first !== null || message === null || arrival === null) return
      if (!search.isMatch(message, arrival)) return
      if (!isTruncated && checking === null) keep(message)
      else checking = (checking ?? Promise.resolve()).then(() => check(message)).catch(reject)
    },
    found: promise,
    known: () => first,
  }
}

async function searchPast(
  deps: WaitDeps,
  input: WaitInput,
  { since, search, over }: { since: Since; search: Search; over: Over },
): Promise<Message | null> {
  const steps =
    since.kind === 'message'
      ? stepsOfInbox(deps, input, since.arrival)
      : stepsOfLog(deps, input, { since, search })
  const next = async () => (over.why !== null ? null : ((await steps.next()).value ?? null))
  for (let heads = await next(); ; heads = await deps.events.catchUp(input.accountId, next)) {
    if (heads === null) return null
    for (const head of heads) {
      if (!search.isMatch(head, head)) continue
      const longBodies = { before: input.beforeLong }
      const message = await findMessage(deps.db, input.accountId, head.id, longBodies)
      if (message !== null) return message
    }
  }
}

async function* stepsOfInbox(
  deps: WaitDeps,
  { accountId, inboxId, direction }: WaitInput,
  arrival: number,
): AsyncGenerator<MessageHead[], undefined> {
  const limit = WAIT_STEP_MESSAGES
  let after = arrival
  let last: MessageHead | undefined
  do {
    const heads = await listMessageHeads(deps.db, { accountId, inboxId, direction, after, limit })
    yield heads
    last = heads[limit - 1]
    after = last?.arrival ?? after
  } while (last !== undefined)
}

async function* stepsOfLog(
  deps: WaitDeps,
  { accountId, inboxId, direction }: WaitInput,
  { since, search }: { since: { offset: LogOffset }; search: Search },
): AsyncGenerator<MessageHead[], undefined> {
  const filter = { kinds: kindsOf(direction), podIds: [], inboxIds: [inboxId], categories: [] }
  for (let after = since.offset; ; ) {
    const scan = await scanLog(deps.db, { accountId, after, filter, limit: LOG_STEP_EVENTS })
    const messageIds = scan.events.flatMap((event) =>
      search.isWanted(event) && event.messageId !== null ? [event.messageId] : [],
    )
    const heads = await findMessageHeads(deps.db, { accountId, inboxId, messageIds })
    const found = new Map(heads.map((head) => [head.id, head]))
    yield messageIds.flatMap((id) => found.get(id) ?? [])
    if (scan.isEnd) return
    after = scan.reached
  }
}

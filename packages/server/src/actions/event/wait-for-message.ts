// Waiting for a message of an inbox: one that is there already behind the caller's cursor, or the first
// that comes. The hub says what is new, so nothing is asked again and again.

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Deps } from '#actions/deps.ts'
import { isIdOf } from '#base/ids.ts'
import {
  LOG_STEP_EVENTS,
  RETRY_AFTER_SECONDS,
  WAIT_STEP_MESSAGES,
  WAITERS_MAX,
} from '#base/limits.ts'
import {
  comparePositions,
  type EventKind,
  type LoggedEvent,
  type LogPosition,
} from '#model/event.ts'
import type { Direction, Message } from '#model/message.ts'
import { notFound, problem } from '#model/problem.ts'
import { findEvent, listEvents, listUnsettledIds, readLogHead } from '#store/event.ts'
import {
  findMessage,
  findMessageHeads,
  listMessageHeads,
  type MessageHead,
  readCounters,
} from '#store/message.ts'
import type { EventText } from './envelope.ts'
import type { EventHub } from './event-hub.ts'
import { unknownAfter } from './read-events.ts'

export type WaitInput = {
  accountId: string
  inboxId: string
  timeoutMs: number
  /** Id of an event of the account or of a message of the inbox; null: what comes after the call. */
  after: string | null
  /** Contained in the sender or the subject, in any case of letters. */
  from: string | null
  subject: string | null
  threadId: string | null
  /** Outbound: a message that the inbox sent and whose outcome is known. */
  direction: Direction
  signal: AbortSignal
}

export type WaitDeps = Pick<Deps, 'db' | 'events'>

/**
 * The first match, or null after `timeoutMs`, when `signal` is aborted or when the service shuts
 * down. `not_found`, `bad_request` for an `after` that is unknown, `service_unavailable` when
 * WAITERS_MAX wait already.
 */
export async function waitForMessage(deps: WaitDeps, input: WaitInput): Promise<Message | null> {
  const give = takePlace(deps.events)
  try {
    // Before anything else, for what comes from here on counts.
    const since = await findSince(deps, input)
    return await wait(deps, input, since)
  } finally {
    give()
  }
}

const waiting = new WeakMap<EventHub, number>()

function takePlace(hub: EventHub): () => void {
  const count = waiting.get(hub) ?? 0
  if (count >= WAITERS_MAX) {
    throw problem('service_unavailable', 'Too many requests are waiting for messages.', {
      retryAfterSeconds: RETRY_AFTER_SECONDS,
    })
  }
  waiting.set(hub, count + 1)
  return () => waiting.set(hub, (waiting.get(hub) ?? 1) - 1)
}

/** What a match lies behind: a place in the inbox, or in the log. */
type Since =
  | { kind: 'message'; position: number }
  | { kind: 'event'; position: LogPosition; except: ReadonlySet<string> }

const NONE: ReadonlySet<string> = new Set()

async function findSince(deps: WaitDeps, input: WaitInput): Promise<Since> {
  const { accountId, inboxId, after, direction } = input
  const counters = await readCounters(deps.db, accountId, inboxId)
  if (counters === null) throw notFound()
  if (after === null) {
    if (direction === 'outbound') return sinceNow(deps, inboxId)
    return { kind: 'message', position: counters.inbound_count + counters.outbound_count }
  }
  if (isIdOf('evt', after)) {
    const event = await findEvent(deps.db, accountId, after)
    if (event !== null) return { kind: 'event', position: event.position, except: NONE }
  }
  if (isIdOf('msg', after)) {
    const [head] = await findMessageHeads(deps.db, { accountId, inboxId, messageIds: [after] })
    if (head !== undefined) return { kind: 'message', position: head.position }
  }
  throw unknownAfter('is neither an event of this account nor a message of this inbox')
}

/** The end of the log, and what has happened but cannot be read before an older transaction ends. */
async function sinceNow(deps: WaitDeps, inboxId: string): Promise<Since> {
  const position = await readLogHead(deps.db)
  const ids = await listUnsettledIds(deps.db, { inboxId, after: position })
  return { kind: 'event', position, except: new Set(ids) }
}

function kindsOf(direction: Direction): EventKind[] {
  return direction === 'inbound' ? ['message.received'] : ['message.sent', 'message.failed']
}

type Search = {
  isWanted(event: LoggedEvent): boolean
  isMatch(head: Omit<MessageHead, 'id'>): boolean
}

function makeSearch(input: WaitInput, since: Since): Search {
  const kinds = kindsOf(input.direction)
  const from = input.from?.toLowerCase() ?? ''
  const subject = input.subject?.toLowerCase() ?? ''
  return {
    isWanted: (event) =>
      event.inboxId === input.inboxId &&
      kinds.includes(event.kind) &&
      (since.kind === 'message' ||
        (comparePositions(event.position, since.position) > 0 && !since.except.has(event.id))),
    isMatch: (head) =>
      (since.kind === 'event' || head.position > since.position) &&
      (input.threadId === null || head.threadId === input.threadId) &&
      head.fromAddr.toLowerCase().includes(from) &&
      head.subject.toLowerCase().includes(subject),
  }
}

async function wait(deps: WaitDeps, input: WaitInput, since: Since): Promise<Message | null> {
  const search = makeSearch(input, since)
  const found = Promise.withResolvers<EventText | null>()
  const end = () => found.resolve(null)
  const listening = await deps.events.listen(input.accountId, {
    wants: search.isWanted,
    take(text) {
      if (isTextMatch(search, text)) found.resolve(text)
    },
    end,
  })
  const timer = setTimeout(end, input.timeoutMs)
  input.signal.addEventListener('abort', end, { once: true })
  if (input.signal.aborted) end()
  try {
    const there = await lookBehind(deps, input, { since, search })
    if (there !== null) return there
    const text = await found.promise
    if (text === null || text.message === null) return null
    if (!text.isTruncated) return text.message
    return await findMessage(deps.db, input.accountId, text.message.id)
  } finally {
    listening.stop()
    clearTimeout(timer)
    input.signal.removeEventListener('abort', end)
  }
}

function isTextMatch(search: Search, { message, messagePosition }: EventText): boolean {
  if (message === null || messagePosition === null) return false
  return search.isMatch({ ...message, position: messagePosition })
}

/** The first match that is there already. */
async function lookBehind(
  deps: WaitDeps,
  input: WaitInput,
  { since, search }: { since: Since; search: Search },
): Promise<Message | null> {
  const steps =
    since.kind === 'message'
      ? stepsOfInbox(deps, input, since.position)
      : stepsOfLog(deps, input, { since, search })
  for await (const heads of steps) {
    for (const head of heads) {
      if (!search.isMatch(head)) continue
      const message = await findMessage(deps.db, input.accountId, head.id)
      if (message !== null) return message
    }
    if (input.signal.aborted) return null
    await nextTurn()
  }
  return null
}

async function* stepsOfInbox(
  deps: WaitDeps,
  { accountId, inboxId, direction }: WaitInput,
  position: number,
): AsyncGenerator<MessageHead[]> {
  const limit = WAIT_STEP_MESSAGES
  let after = position
  let last: MessageHead | undefined
  do {
    const heads = await listMessageHeads(deps.db, { accountId, inboxId, direction, after, limit })
    yield heads
    last = heads[limit - 1]
    after = last?.position ?? after
  } while (last !== undefined)
}

async function* stepsOfLog(
  deps: WaitDeps,
  { accountId, inboxId, direction }: WaitInput,
  { since, search }: { since: { position: LogPosition }; search: Search },
): AsyncGenerator<MessageHead[]> {
  const filter = { kinds: kindsOf(direction), podIds: [], inboxIds: [inboxId] }
  const limit = LOG_STEP_EVENTS
  let after = since.position
  let last: LoggedEvent | undefined
  do {
    const events = await listEvents(deps.db, { accountId, after, filter, limit })
    const messageIds = events.filter(search.isWanted).flatMap(({ messageId }) => messageId ?? [])
    const heads = await findMessageHeads(deps.db, { accountId, inboxId, messageIds })
    const found = new Map(heads.map((head) => [head.id, head]))
    yield messageIds.flatMap((id) => found.get(id) ?? [])
    last = events[limit - 1]
    after = last?.position ?? after
  } while (last !== undefined)
}

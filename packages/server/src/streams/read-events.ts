// Checks filters and cursors, and loads pages of an account's event log.

import { setTimeout as sleep } from 'node:timers/promises'
import {
  COUNTED_MAX,
  type EventKind,
  eventKinds,
  type MessageCategory,
  messageCategories,
} from '@mailroom/contract/vocabulary.ts'
import { findPodIds } from '#accounts/store/pods.ts'
import { LOG_STALL_MS } from '#events/events.ts'
import {
  type AskedFilter,
  type CheckedFilter,
  type EventFilter,
  LOG_START,
  type LoggedEvent,
  type LogOffset,
} from '#events/model.ts'
import {
  countEvents,
  countShown,
  type EventOrder,
  type EventRange,
  findEventOffset,
  findNewestUnsettled,
  findOffsetOfId,
  LOG_WINDOW_EVENTS,
  scanLog,
  unreadOf,
} from '#events/store/events.ts'
import { findUnsettledSince, offsetBefore } from '#events/store/log.ts'
import { findInboxIds } from '#inboxes/store/inboxes.ts'
import { isIdOf } from '#platform/ids.ts'
import { wrongQuery } from '#platform/problem.ts'
import type { Db } from '#store/tables.ts'
import { type EnvelopeDeps, type EventText, readEnvelopes } from './envelope.ts'
import { EVENTS_LOADED_AT_ONCE, type StreamDeps } from './event-hub.ts'

/** A page scans a large log for about a second at most. */
const LOG_PAGE_EVENTS_MAX = 1_000_000

const SETTLING_MS = [10, 20, 40, 80, 160]

type PageInput = {
  readonly accountId: string
  readonly filter: EventFilter
  readonly after: string | null
  readonly order: EventOrder
  readonly limit: number
  /** Aborting ends the page early, at any event. */
  readonly signal: AbortSignal
}

/**
 * A page ends early only at the log's end or after LOG_PAGE_EVENTS_MAX scanned events. `total` is a
 * bounded count. Throws `bad_request` if `after` is not an event id. Texts are loaded on demand,
 * EVENTS_LOADED_AT_ONCE at a time.
 */
export async function openEventPage(
  deps: StreamDeps,
  input: PageInput,
): Promise<{ texts: AsyncIterable<EventText>; total: number }> {
  const { accountId, filter, order, limit, signal } = input
  const cursor =
    input.after === null ? null : await findCursor(deps, { accountId, after: input.after })
  if (cursor === null && input.after !== null)
    throw wrongQuery('after', 'must be the id of an event')
  const from = cursor?.offset ?? LOG_START
  const range: EventRange =
    order === 'asc'
      ? { accountId, filter, after: from }
      : {
          accountId,
          filter,
          order,
          after: LOG_START,
          ...(cursor !== null && { until: cursor.isHeld ? offsetBefore(from) : from }),
        }
  // Only a page that reaches the newest events waits until they are settled.
  if (order === 'desc' && cursor === null) await untilSettled(deps, input)
  let search = new Search(deps, input, range)
  let first = await search.next(limit)
  if (order === 'asc' && first.length < limit && (await untilSettled(deps, input))) {
    search = new Search(deps, input, range)
    first = await search.next(limit)
  }
  const last = first.at(-1)
  let total = await countShown(deps.db, first)
  if (last !== undefined && first.length >= limit) {
    const behind = unreadOf(range, last.offset)
    total += await countEvents(deps.db, { ...behind, max: COUNTED_MAX - total, signal })
  }
  return { texts: readTexts(deps, { search, first, limit }), total }
}

/**
 * Waits for unsettled events, so that a client that made a change finds its event. An open
 * transaction may delay them, so the wait ends after a third of a second, or immediately if an
 * event has waited for LOG_STALL_MS. Returns false if there was nothing to wait for.
 */
async function untilSettled(
  { db, clock }: StreamDeps,
  { accountId, filter, signal }: PageInput,
): Promise<boolean> {
  const sinceMs = await findUnsettledSince(db)
  if (sinceMs === null || clock.now() - sinceMs > LOG_STALL_MS) return false
  let until = await findNewestUnsettled(db, { accountId, filter })
  const isLate = until !== null
  for (const pauseMs of SETTLING_MS) {
    if (until === null || signal.aborted) break
    await sleep(pauseMs)
    until = await findNewestUnsettled(db, { accountId, filter, until })
  }
  return isLate
}

class Search {
  readonly #deps: StreamDeps
  readonly #input: PageInput
  #unread: EventRange
  #scans = 0
  #isOver = false

  constructor(deps: StreamDeps, input: PageInput, range: EventRange) {
    this.#deps = deps
    this.#input = input
    this.#unread = range
  }

  /** Returns fewer than `limit` only at the end of the search. */
  async next(limit: number): Promise<LoggedEvent[]> {
    const found: LoggedEvent[] = []
    while (found.length < limit && !this.#isOver) {
      const rest = limit - found.length
      const scan = () => this.#scan(rest)
      const isFirst = this.#scans === 0
      found.push(
        ...(await (isFirst ? scan() : this.#deps.events.catchUp(this.#input.accountId, scan))),
      )
    }
    return found
  }

  async #scan(limit: number): Promise<LoggedEvent[]> {
    const { signal } = this.#input
    if (signal.aborted) {
      this.#isOver = true
      return []
    }
    const { events, reached, isEnd } = await scanLog(this.#deps.db, { ...this.#unread, limit })
    this.#unread = unreadOf(this.#unread, reached)
    this.#scans += 1
    this.#isOver = isEnd || this.#scans * LOG_WINDOW_EVENTS >= LOG_PAGE_EVENTS_MAX
    return events
  }
}

async function* readTexts(
  deps: EnvelopeDeps,
  { search, first, limit }: { search: Search; first: LoggedEvent[]; limit: number },
): AsyncGenerator<EventText> {
  let left = limit
  for (let events = first; events.length > 0; events = await search.next(left)) {
    for (let start = 0; start < events.length; start += EVENTS_LOADED_AT_ONCE) {
      const step = events.slice(start, start + EVENTS_LOADED_AT_ONCE)
      const texts = await readEnvelopes(deps, step)
      yield* texts
      left -= texts.length
    }
  }
}

export type Cursor = { readonly offset: LogOffset; readonly isHeld: boolean }

/**
 * Ids begin with their time, so even an id that is not in the log has an offset. Returns null if
 * the text is not an event id.
 */
export async function findCursor(
  deps: { db: Db },
  { accountId, after }: { accountId: string; after: string },
): Promise<Cursor | null> {
  if (!isIdOf('evt', after)) return null
  const held = await findEventOffset(deps.db, accountId, after)
  if (held !== null) return { offset: held, isHeld: true }
  return { offset: await findOffsetOfId(deps.db, accountId, after), isHeld: false }
}

export const UNKNOWN_KIND = 'is not an event type'

/** Replaces a pod's `clientId` by its id. */
export async function checkFilter(deps: { db: Db }, asked: AskedFilter): Promise<CheckedFilter> {
  const { accountId, kinds, podIds, inboxIds, categories = [] } = asked
  const known = kinds.filter(isKind)
  // Without known kinds the list would be empty and pass every kind.
  if (known.length === 0 && kinds.length > 0) {
    return mistake('kinds', { list: kinds, index: 0, message: UNKNOWN_KIND })
  }
  const unknownCategory = categories.findIndex((category) => !isCategory(category))
  if (unknownCategory >= 0) {
    return mistake('categories', {
      list: categories,
      index: unknownCategory,
      message: 'is not a category',
    })
  }
  // PostgreSQL does not accept NUL in text.
  const podNames = podIds.filter((pod) => !pod.includes('\0'))
  const pods = podNames.length === 0 ? new Map() : await findPodIds(deps.db, accountId, podNames)
  const foreignPod = podIds.findIndex((pod) => !pods.has(pod))
  if (foreignPod >= 0) {
    return mistake('podIds', {
      list: podIds,
      index: foreignPod,
      message: 'is not a pod of this account',
    })
  }
  const formed = inboxIds.filter((inbox) => isIdOf('inb', inbox))
  const inboxes = formed.length === 0 ? new Set() : await findInboxIds(deps.db, accountId, formed)
  const foreignInbox = inboxIds.findIndex((inbox) => !inboxes.has(inbox))
  if (foreignInbox >= 0) {
    return mistake('inboxIds', {
      list: inboxIds,
      index: foreignInbox,
      message: 'is not an inbox of this account',
    })
  }
  return {
    kind: 'filter',
    filter: {
      kinds: [...new Set(known)],
      podIds: [...new Set(podIds.flatMap((pod) => pods.get(pod) ?? []))],
      inboxIds: [...new Set(inboxIds)],
      categories: [...new Set(categories.filter(isCategory))],
    },
    unknownKinds: [...new Set(kinds.filter((kind) => !isKind(kind)))],
  }
}

function isKind(text: string): text is EventKind {
  return (eventKinds as readonly string[]).includes(text)
}

function isCategory(text: string): text is MessageCategory {
  return (messageCategories as readonly string[]).includes(text)
}

function mistake(
  field: Extract<CheckedFilter, { kind: 'mistake' }>['field'],
  { list, index, message }: { list: readonly string[]; index: number; message: string },
): CheckedFilter {
  return { kind: 'mistake', field, index, value: list[index] ?? '', message }
}

const KINDS_NAMED_MAX = 5

/** Unknown kinds beside known ones are accepted, because a newer client may know more kinds. */
export function describeUnknownKinds(unknownKinds: readonly string[]): string {
  const named = unknownKinds.slice(0, KINDS_NAMED_MAX).map(quoted).join(', ')
  const more = unknownKinds.length > KINDS_NAMED_MAX ? ' and more' : ''
  return `"event_types" contains unknown event types, ${named}${more}; the other types are subscribed`
}

const QUOTED_LENGTH_MAX = 100

export function quoted(value: unknown): string {
  const text = JSON.stringify(value) ?? ''
  return text.length > QUOTED_LENGTH_MAX ? `${text.slice(0, QUOTED_LENGTH_MAX)}…` : text
}

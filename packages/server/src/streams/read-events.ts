// Reads the events of an account: checks filters and cursors, and reads pages of the log.

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
  type LogPosition,
} from '#events/model.ts'
import {
  countEvents,
  countShown,
  type EventOrder,
  type EventRange,
  findEventPosition,
  findNewestUnsettled,
  findPositionOfId,
  findUnsettledSince,
  LOG_WINDOW_EVENTS,
  positionBefore,
  scanLog,
  unreadOf,
} from '#events/store/events.ts'
import { findInboxIds } from '#inboxes/store/inboxes.ts'
import { isIdOf } from '#platform/ids.ts'
import { wrongQuery } from '#platform/problem.ts'
import type { Db } from '#store/tables.ts'
import { type EnvelopeDeps, type EventText, readEnvelopes } from './envelope.ts'
import type { EventHub } from './event-hub.ts'
import { EVENTS_LOADED_AT_ONCE } from './event-hub.ts'

/** Events that a page scans for those that pass its filter: about a second of a large log. */
const LOG_PAGE_EVENTS_MAX = 1_000_000

/** The pauses before a page looks again for events that cannot be read yet. */
const SETTLING_MS = [10, 20, 40, 80, 160]

type PageInput = {
  readonly accountId: string
  readonly filter: EventFilter
  readonly after: string | null
  readonly order: EventOrder
  readonly limit: number
  /** Aborted when the client has disconnected; the page may then end anywhere. */
  readonly signal: AbortSignal
}

type PageDeps = EnvelopeDeps & { events: EventHub }

/**
 * Up to `limit` events that follow `after` in the order (in descending order older ones), or from the
 * first; fewer only at the end of the log, or where LOG_PAGE_EVENTS_MAX events were scanned. `total` counts
 * them and the matching events after a full page, up to COUNTED_MAX and no further than `countEvents`
 * scans. Waits for events that cannot be read yet, as `untilSettled` does. `bad_request` when `after` is no event id. Texts
 * are read on demand, EVENTS_LOADED_AT_ONCE in memory at a time.
 */
export async function openEventPage(
  deps: PageDeps,
  input: PageInput,
): Promise<{ texts: AsyncIterable<EventText>; total: number }> {
  const { accountId, filter, order, limit, signal } = input
  const cursor =
    input.after === null ? null : await findCursor(deps, { accountId, after: input.after })
  if (cursor === null && input.after !== null)
    throw wrongQuery('after', 'must be the id of an event')
  const place = cursor?.position ?? LOG_START
  const range: EventRange =
    order === 'asc'
      ? { accountId, filter, after: place }
      : {
          accountId,
          filter,
          order,
          after: LOG_START,
          ...(cursor !== null && { until: cursor.isHeld ? positionBefore(place) : place }),
        }
  // Only a page that reaches the newest events waits for them.
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
    const behind = unreadOf(range, last.position)
    total += await countEvents(deps.db, { ...behind, max: COUNTED_MAX - total, signal })
  }
  return { texts: readTexts(deps, { search, first, limit }), total }
}

/**
 * Waits until the events of this moment can be read, so that a client that was told of a change finds its event. Another
 * transaction of the database server can hold them up for as long as it is open: the wait ends after a third of a second,
 * and there is none once an event has waited for LOG_STALL_MS. False where there was nothing to wait for.
 */
async function untilSettled(
  { db, clock }: PageDeps,
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

/** Scans the log for events that pass a filter. */
class Search {
  readonly #deps: PageDeps
  readonly #input: PageInput
  #unread: EventRange
  #scans = 0
  #isOver = false

  constructor(deps: PageDeps, input: PageInput, range: EventRange) {
    this.#deps = deps
    this.#input = input
    this.#unread = range
  }

  /** Up to `limit` more events; fewer only where the search is over. */
  async next(limit: number): Promise<LoggedEvent[]> {
    const found: LoggedEvent[] = []
    while (found.length < limit && !this.#isOver) {
      const rest = limit - found.length
      const scan = () => this.#scan(rest)
      // The first scan is enough without a filter, and does not wait for a slot.
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

/** Replaces events whose message was deleted meanwhile with further ones. */
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

/** The position at which a reader continues; `isHeld`: the log has the event of the cursor. */
export type Cursor = { readonly position: LogPosition; readonly isHeld: boolean }

/**
 * The position of an event id in the log. Ids begin with their time, so an id that the account's log does
 * not have, or not any more, has a position too. Null for a text that is no event id.
 */
export async function findCursor(
  deps: { db: Db },
  { accountId, after }: { accountId: string; after: string },
): Promise<Cursor | null> {
  if (!isIdOf('evt', after)) return null
  const held = await findEventPosition(deps.db, accountId, after)
  if (held !== null) return { position: held, isHeld: true }
  return { position: await findPositionOfId(deps.db, accountId, after), isHeld: false }
}

export const UNKNOWN_KIND = 'is not an event type'

/** The filter, in which pods that were named by `clientId` have their ids, or the first wrong entry. */
export async function checkFilter(deps: { db: Db }, asked: AskedFilter): Promise<CheckedFilter> {
  const { accountId, kinds, podIds, inboxIds, categories = [] } = asked
  const known = kinds.filter(isKind)
  // Without known kinds the list would be empty, and would pass every kind.
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
  // PostgreSQL accepts no NUL in a text.
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

/** Unknown kinds beside known ones are no mistake: a newer client may know more kinds than this service. */
export function describeUnknownKinds(unknownKinds: readonly string[]): string {
  const named = unknownKinds.slice(0, KINDS_NAMED_MAX).map(quoted).join(', ')
  const more = unknownKinds.length > KINDS_NAMED_MAX ? ' and more' : ''
  return `"event_types" names unknown kinds of events, ${named}${more}: the others are subscribed`
}

const QUOTED_LENGTH_MAX = 100

/** A client's value, quoted for a sentence. */
export function quoted(value: unknown): string {
  const text = JSON.stringify(value) ?? ''
  return text.length > QUOTED_LENGTH_MAX ? `${text.slice(0, QUOTED_LENGTH_MAX)}…` : text
}

// Reading the log of an account's events, page by page.

import { type EventKind, eventKinds } from '@mailroom/contract/vocabulary.ts'
import { findPodIds } from '#accounts/pod-rows.ts'
import type { AskedFilter, CheckedFilter } from '#events/event.ts'
import { type EventFilter, LOG_START, type LoggedEvent, type LogPosition } from '#events/event.ts'
import {
  COUNTED_MAX,
  countEvents,
  type EventOrder,
  type EventRange,
  findEventPosition,
  findPlaceOfId,
  LOG_WINDOW_EVENTS,
  lookInLog,
  placeBefore,
  unreadOf,
} from '#events/event-rows.ts'
import { findInboxIds } from '#inboxes/inbox-rows.ts'
import { isIdOf } from '#platform/ids.ts'
import { problem } from '#platform/problem.ts'
import type { Db } from '#schema/tables.ts'
import { type EnvelopeDeps, type EventText, readEnvelopes } from './envelope.ts'
import type { EventHub } from './event-hub.ts'
import { EVENTS_LOADED_AT_ONCE } from './event-hub.ts'

/** Events that a page looks through for those that pass its filter: a second's work of a large log. */
const LOG_PAGE_EVENTS_MAX = 1_000_000

type PageInput = {
  readonly accountId: string
  readonly filter: EventFilter
  readonly after: string | null
  readonly order: EventOrder
  readonly limit: number
  /** Aborted when nobody waits for the page any more: it may end anywhere then. */
  readonly signal: AbortSignal
}

export type PageDeps = EnvelopeDeps & { events: EventHub }

/**
 * From the event that follows `after` in the order, which is an older one in descending order, and
 * without `after` from the first: as many as there are up to `limit`, unless nothing more passes the
 * filter in LOG_PAGE_EVENTS_MAX events. `total` counts them and what passes behind a full page, up to
 * COUNTED_MAX and no further than `countEvents` looks. `bad_request` when `after` is no event id. The
 * texts are read as they are asked for, EVENTS_LOADED_AT_ONCE in memory at a time.
 */
export async function openEventPage(
  deps: PageDeps,
  input: PageInput,
): Promise<{ texts: AsyncIterable<EventText>; total: number }> {
  const { accountId, filter, order, limit, signal } = input
  const cursor =
    input.after === null ? null : await findCursor(deps, { accountId, after: input.after })
  if (cursor === null && input.after !== null) throw wrongCursor('must be the id of an event')
  const place = cursor?.position ?? LOG_START
  const range: EventRange =
    order === 'asc'
      ? { accountId, filter, after: place }
      : {
          accountId,
          filter,
          order,
          after: LOG_START,
          ...(cursor !== null && { until: cursor.isHeld ? placeBefore(place) : place }),
        }
  const search = new Search(deps, input, range)
  const first = await search.next(limit)
  const last = first.at(-1)
  let total = first.length
  if (last !== undefined && total >= limit) {
    const behind = unreadOf(range, last.position)
    total += await countEvents(deps.db, { ...behind, max: COUNTED_MAX - total, signal })
  }
  return { texts: readTexts(deps, { search, first, limit }), total }
}

/** Goes through the log for what passes a filter. */
class Search {
  readonly #deps: PageDeps
  readonly #input: PageInput
  #unread: EventRange
  #looks = 0
  #isOver = false

  constructor(deps: PageDeps, input: PageInput, range: EventRange) {
    this.#deps = deps
    this.#input = input
    this.#unread = range
  }

  /** Up to `limit` more; fewer only where the search is over. */
  async next(limit: number): Promise<LoggedEvent[]> {
    const found: LoggedEvent[] = []
    while (found.length < limit && !this.#isOver) {
      const rest = limit - found.length
      const look = () => this.#look(rest)
      // What is found at once, as without a filter, waits for nobody's search.
      const isFirst = this.#looks === 0
      found.push(
        ...(await (isFirst ? look() : this.#deps.events.catchUp(this.#input.accountId, look))),
      )
    }
    return found
  }

  async #look(limit: number): Promise<LoggedEvent[]> {
    const { signal } = this.#input
    if (signal.aborted) {
      this.#isOver = true
      return []
    }
    const { events, reached, isEnd } = await lookInLog(this.#deps.db, { ...this.#unread, limit })
    this.#unread = unreadOf(this.#unread, reached)
    this.#looks += 1
    this.#isOver = isEnd || this.#looks * LOG_WINDOW_EVENTS >= LOG_PAGE_EVENTS_MAX
    return events
  }
}

/** In place of events whose message was deleted meanwhile it tells further ones. */
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

/** Where a reader goes on from; `isHeld`: whether the log holds the event that the cursor names. */
export type Cursor = { readonly position: LogPosition; readonly isHeld: boolean }

/**
 * The place of an event id in the log. Ids are time-ordered, so one that the account's log does not
 * hold, or not any more, is a place as well. Null for a text that is no event id.
 */
export async function findCursor(
  deps: { db: Db },
  { accountId, after }: { accountId: string; after: string },
): Promise<Cursor | null> {
  if (!isIdOf('evt', after)) return null
  const held = await findEventPosition(deps.db, accountId, after)
  if (held !== null) return { position: held, isHeld: true }
  return { position: await findPlaceOfId(deps.db, accountId, after), isHeld: false }
}

/** What is wrong with a cursor, to follow its name. */
export function wrongCursor(message: string): ReturnType<typeof problem> {
  return problem('bad_request', `after ${message}.`, { details: [{ path: 'after', message }] })
}

export const UNKNOWN_KIND = 'is not an event type'

/** The filter, with the ids of pods whatever they were called, or the first entry that is wrong. */
export async function checkFilter(deps: { db: Db }, asked: AskedFilter): Promise<CheckedFilter> {
  const { accountId, kinds, podIds, inboxIds } = asked
  const known = kinds.filter(isKind)
  // An empty list would let every kind through, which nobody asked for.
  if (known.length === 0 && kinds.length > 0) {
    return mistake('kinds', { list: kinds, index: 0, message: UNKNOWN_KIND })
  }
  // PostgreSQL takes no NUL in a text.
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
    },
    unknownKinds: [...new Set(kinds.filter((kind) => !isKind(kind)))],
  }
}

function isKind(text: string): text is EventKind {
  return (eventKinds as readonly string[]).includes(text)
}

function mistake(
  field: 'kinds' | 'podIds' | 'inboxIds',
  { list, index, message }: { list: readonly string[]; index: number; message: string },
): CheckedFilter {
  return { kind: 'mistake', field, index, value: list[index] ?? '', message }
}

const KINDS_NAMED_MAX = 5

/** Unknown kinds beside known ones: a newer client may know kinds that this service does not. */
export function passedOver(unknownKinds: readonly string[]): string {
  const named = unknownKinds.slice(0, KINDS_NAMED_MAX).map(quoted).join(', ')
  const more = unknownKinds.length > KINDS_NAMED_MAX ? ' and more' : ''
  return `"event_types" names unknown kinds of events, ${named}${more}: the others are subscribed`
}

const QUOTED_LENGTH_MAX = 100

/** A value of a client's as part of a sentence. */
export function quoted(value: unknown): string {
  const text = JSON.stringify(value) ?? ''
  return text.length > QUOTED_LENGTH_MAX ? `${text.slice(0, QUOTED_LENGTH_MAX)}…` : text
}

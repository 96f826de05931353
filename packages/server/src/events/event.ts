// What happened, in the words of the event log, and who wants to hear of it.

import type { EventKind } from '@mailroom/contract/vocabulary.ts'
import { DAY_MS } from '#platform/units.ts'

export const EVENT_MS = 30 * DAY_MS

export type { EventKind }

/** A place in the log: events are in the order of `transactionId`, then of `sequence`. */
export type LogPosition = { readonly transactionId: number; readonly sequence: number }

export const LOG_START: LogPosition = { transactionId: 0, sequence: 0 }

export type LoggedEvent = {
  readonly position: LogPosition
  readonly id: string
  readonly kind: EventKind
  readonly accountId: string
  readonly podId: string | null
  readonly inboxId: string | null
  readonly threadId: string | null
  readonly messageId: string | null
  readonly occurredAtMs: number
  /** What it says that no other row does; its members are the envelope's. */
  readonly details: Readonly<Record<string, unknown>> | null
  /** Where the trace of what it tells of goes on, as a W3C traceparent; null where there is none. */
  readonly traceParent: string | null
}

/** An empty list leaves nothing out. */
export type EventFilter = {
  readonly kinds: readonly EventKind[]
  readonly podIds: readonly string[]
  readonly inboxIds: readonly string[]
}

/** Negative when `one` stands before `other` in the log. */
export function comparePositions(one: LogPosition, other: LogPosition): number {
  return one.transactionId - other.transactionId || one.sequence - other.sequence
}

/** Up to so many entries a list is looked through as quickly as a set. */
const LISTED_MAX = 8

/** What a filter asks of an event. */
export type FilteredEvent = Pick<LoggedEvent, 'kind' | 'podId' | 'inboxId'>

/** Pods and inboxes add up: an event of any of them is wanted. One of no inbox needs both lists empty. */
export function isWanted(event: FilteredEvent, { kinds, podIds, inboxIds }: EventFilter): boolean {
  if (kinds.length > 0 && !kinds.includes(event.kind)) return false
  if (podIds.length === 0 && inboxIds.length === 0) return true
  if (event.inboxId !== null && inboxIds.includes(event.inboxId)) return true
  return event.podId !== null && podIds.includes(event.podId)
}

/** The same question for many events and a filter of many ids. */
export function makeIsWanted(filter: EventFilter): (event: FilteredEvent) => boolean {
  const { kinds, podIds, inboxIds } = filter
  // Most filters are short, and a reader that only waits should cost little.
  if (kinds.length + podIds.length + inboxIds.length <= LISTED_MAX) {
    return (event) => isWanted(event, filter)
  }
  const sets = {
    kinds: new Set(filter.kinds),
    podIds: new Set(filter.podIds),
    inboxIds: new Set(filter.inboxIds),
  }
  return ({ kind, podId, inboxId }) => {
    if (sets.kinds.size > 0 && !sets.kinds.has(kind)) return false
    if (sets.podIds.size === 0 && sets.inboxIds.size === 0) return true
    if (inboxId !== null && sets.inboxIds.has(inboxId)) return true
    return podId !== null && sets.podIds.has(podId)
  }
}

export type AskedFilter = {
  readonly accountId: string
  readonly kinds: readonly string[]
  /** Ids or `clientId`s. */
  readonly podIds: readonly string[]
  readonly inboxIds: readonly string[]
}

export type CheckedFilter =
  | {
      readonly kind: 'filter'
      readonly filter: EventFilter
      /** Left out of the filter, which holds at least one that is known. */
      readonly unknownKinds: readonly string[]
    }
  | {
      readonly kind: 'mistake'
      readonly field: 'kinds' | 'podIds' | 'inboxIds'
      readonly index: number
      readonly value: string
      readonly message: string
    }

/** See `checkFilter`. */
export type CheckFilter = (asked: AskedFilter) => Promise<CheckedFilter>

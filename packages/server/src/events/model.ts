import {
  type EventKind,
  type MessageCategory,
  type ReviewEventKind,
  reviewEventKinds,
} from '@mailroom/contract/vocabulary.ts'
import { DAY_MS } from '#platform/units.ts'

export const EVENT_MS = 30 * DAY_MS

export type { EventKind, MessageCategory }

/** Events are ordered by `transactionId`, then by `sequence`. */
export type LogOffset = { readonly transactionId: number; readonly sequence: number }

export const LOG_START: LogOffset = { transactionId: 0, sequence: 0 }

export type LoggedEvent = {
  readonly offset: LogOffset
  readonly id: string
  readonly kind: EventKind | ReviewEventKind
  readonly accountId: string
  readonly podId: string | null
  readonly inboxId: string | null
  readonly threadId: string | null
  readonly messageId: string | null
  /** The category of the received message; null for other events. */
  readonly category: MessageCategory | null
  readonly occurredAtMs: number
  readonly details: Readonly<Record<string, unknown>> | null
  /** W3C traceparent of the trace that caused the event. */
  readonly traceParent: string | null
}

/** An empty list excludes nothing, except that only the webhooks of approvers get review events. */
export type EventFilter = {
  readonly kinds: readonly (EventKind | ReviewEventKind)[]
  readonly podIds: readonly string[]
  readonly inboxIds: readonly string[]
  /** Events without a category always pass. */
  readonly categories: readonly MessageCategory[]
}

/** Negative if `one` is before `other` in the log. */
export function compareOffsets(one: LogOffset, other: LogOffset): number {
  return one.transactionId - other.transactionId || one.sequence - other.sequence
}

/** Searching a list this short is as fast as a set. */
const LISTED_MAX = 8

type FilteredEvent = Pick<LoggedEvent, 'kind' | 'podId' | 'inboxId' | 'category'>

export function isForApprovers(kind: string): kind is ReviewEventKind {
  return (reviewEventKinds as readonly string[]).includes(kind)
}

/** An event without an inbox passes only if the filter has no pods and no inboxes. */
export function isWanted(event: FilteredEvent, filter: EventFilter): boolean {
  const { kinds, podIds, inboxIds } = filter
  if (!isOfCategory(event, filter)) return false
  if (kinds.length === 0 ? isForApprovers(event.kind) : !kinds.includes(event.kind)) return false
  if (podIds.length === 0 && inboxIds.length === 0) return true
  if (event.inboxId !== null && inboxIds.includes(event.inboxId)) return true
  return event.podId !== null && podIds.includes(event.podId)
}

function isOfCategory({ category }: FilteredEvent, { categories }: EventFilter): boolean {
  return categories.length === 0 || category === null || categories.includes(category)
}

/** Like `isWanted`, but faster for many events and ids. */
export function makeIsWanted(filter: EventFilter): (event: FilteredEvent) => boolean {
  const { kinds, podIds, inboxIds } = filter
  // Most filters are short, and idle readers should use little memory.
  if (kinds.length + podIds.length + inboxIds.length <= LISTED_MAX) {
    return (event) => isWanted(event, filter)
  }
  const sets = {
    kinds: new Set(filter.kinds),
    podIds: new Set(filter.podIds),
    inboxIds: new Set(filter.inboxIds),
  }
  return (event) => {
    const { kind, podId, inboxId } = event
    if (!isOfCategory(event, filter)) return false
    if (sets.kinds.size === 0 ? isForApprovers(kind) : !sets.kinds.has(kind)) return false
    if (sets.podIds.size === 0 && sets.inboxIds.size === 0) return true
    if (inboxId !== null && sets.inboxIds.has(inboxId)) return true
    return podId !== null && sets.podIds.has(podId)
  }
}

export type AskedFilter = {
  readonly accountId: string
  readonly kinds: readonly string[]
  /** Each entry is an id or a `clientId`. */
  readonly podIds: readonly string[]
  readonly inboxIds: readonly string[]
  readonly categories?: readonly string[]
}

export type CheckedFilter =
  | {
      readonly kind: 'filter'
      readonly filter: EventFilter
      /** Unknown kinds are not in the filter, which has at least one known kind. */
      readonly unknownKinds: readonly string[]
    }
  | {
      readonly kind: 'mistake'
      readonly field: 'kinds' | 'podIds' | 'inboxIds' | 'categories'
      readonly index: number
      readonly value: string
      readonly message: string
    }

export type CheckFilter = (asked: AskedFilter) => Promise<CheckedFilter>

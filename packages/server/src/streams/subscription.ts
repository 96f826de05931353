// One subscription of a connection: what it wants, and how much of the log it has been told. Knows
// neither the log nor the connection.

import {
  comparePositions,
  type EventFilter,
  type LoggedEvent,
  type LogPosition,
  makeIsWanted,
} from '#events/event.ts'

/**
 * Everything that it matches behind `from` and up to `toldUntil` has been told on the connection: by
 * itself or by another one.
 */
export class Subscription {
  readonly filter: EventFilter
  readonly from: LogPosition
  toldUntil: LogPosition
  readonly #isWanted: (event: LoggedEvent) => boolean
  /** Inboxes that were taken out of it, and how far it had been told then; null before the first. */
  #excluded: Map<string, LogPosition> | null = null

  constructor(filter: EventFilter, from: LogPosition) {
    this.filter = filter
    this.from = from
    this.toldUntil = from
    this.#isWanted = makeIsWanted(filter)
  }

  /** Whether the event is one that it is told, sooner or later. */
  matches(event: LoggedEvent): boolean {
    if (comparePositions(event.position, this.from) <= 0 || !this.#isWanted(event)) return false
    const until = event.inboxId === null ? undefined : this.#excluded?.get(event.inboxId)
    return until === undefined || comparePositions(event.position, until) <= 0
  }

  hasTold(event: LoggedEvent): boolean {
    return comparePositions(event.position, this.toldUntil) <= 0 && this.matches(event)
  }

  /** How many inboxes were out of it with these. */
  countExclusions(inboxIds: ReadonlySet<string>): number {
    const excluded = this.#excluded
    if (excluded === null) return inboxIds.size
    return excluded.size + [...inboxIds].filter((id) => !excluded.has(id)).length
  }

  /** Takes the inbox out from now on. */
  exclude(inboxId: string): void {
    this.#excluded ??= new Map()
    if (!this.#excluded.has(inboxId)) this.#excluded.set(inboxId, this.toldUntil)
  }

  /** Whether it named inboxes, no pod, and all of them were taken out. */
  get isEmpty(): boolean {
    const { inboxIds, podIds } = this.filter
    if (inboxIds.length === 0 || podIds.length > 0) return false
    return inboxIds.every((id) => this.#excluded?.has(id))
  }
}

/** What any of them may want: at least that. */
export function filterOfAll(subscriptions: readonly Subscription[]): EventFilter {
  const filters = subscriptions.map(({ filter }) => filter)
  const isAnyKind = filters.some(({ kinds }) => kinds.length === 0)
  const isAnywhere = filters.some(
    ({ podIds, inboxIds }) => podIds.length === 0 && inboxIds.length === 0,
  )
  return {
    kinds: isAnyKind ? [] : [...new Set(filters.flatMap(({ kinds }) => kinds))],
    podIds: isAnywhere ? [] : [...new Set(filters.flatMap(({ podIds }) => podIds))],
    inboxIds: isAnywhere ? [] : [...new Set(filters.flatMap(({ inboxIds }) => inboxIds))],
  }
}

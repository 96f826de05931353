// A lane: deliveries that share a destination, and how many of them may be under way. It starts small,
// grows while servers answer and shrinks when none does.

import type { Group } from '#actions/delivery/delivery-queue.ts'
import {
  LANE_AHEAD,
  LANE_AHEAD_UNPROVEN,
  LANE_TRANSACTIONS_MAX,
  LANE_TRANSACTIONS_START,
} from '#base/limits.ts'

export class Lane {
  readonly name: string
  readonly #waiting: Group[] = []
  #limit = LANE_TRANSACTIONS_START
  /** Deliveries, under way and waiting. */
  held = 0
  /** Attempts under way. */
  active = 0
  /** Whether its servers answered the last time. */
  isProven = false

  constructor(name: string) {
    this.name = name
  }

  /** How many more deliveries it may hold; 0 while it still has plenty. */
  get room(): number {
    const capacity = this.#limit * (this.isProven ? LANE_AHEAD : LANE_AHEAD_UNPROVEN)
    return this.held > capacity / 2 ? 0 : capacity - this.held
  }

  get isEmpty(): boolean {
    return this.held === 0
  }

  /** Whether all that it holds is under way. */
  get isStarted(): boolean {
    return this.#waiting.length === 0
  }

  get mayStart(): boolean {
    return this.#waiting.length > 0 && this.active < this.#limit
  }

  add(group: Group): void {
    this.#waiting.push(group)
    this.held += group.length
  }

  /** The next group, which counts as under way from now on. */
  start(): Group | undefined {
    const group = this.#waiting.shift()
    if (group !== undefined) this.active += 1
    return group
  }

  /** A group is over; its deliveries are held no more. */
  end(group: Group, wasReached: boolean): void {
    this.active -= 1
    this.held -= group.length
    this.isProven = wasReached
    this.#limit = wasReached
      ? Math.min(this.#limit + 1, LANE_TRANSACTIONS_MAX)
      : Math.max(1, Math.floor(this.#limit / 2))
  }

  /** Gives up all that was not started. */
  empty(): Group[] {
    const groups = this.#waiting.splice(0)
    for (const group of groups) this.held -= group.length
    return groups
  }
}

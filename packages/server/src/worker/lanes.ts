// The lanes that are known: those with deliveries in hand, and of the others those that something was
// learned about, so many and no more. A name that was only seen makes no lane.

import { LANES_KEPT_MAX } from '#base/limits.ts'
import type { Item } from '#jobs/dispatched-queue.ts'
import { Lane } from './lane.ts'

export class Lanes<Held extends Item> {
  /** From the one used longest ago on. */
  readonly #lanes = new Map<string, Lane<Held>>()

  get size(): number {
    return this.#lanes.size
  }

  all(): Iterable<Lane<Held>> {
    return this.#lanes.values()
  }

  get(name: string): Lane<Held> | undefined {
    return this.#lanes.get(name)
  }

  /** The lane of deliveries that were claimed; used from now on. */
  use(name: string): Lane<Held> {
    const lane = this.#lanes.get(name) ?? new Lane<Held>(name)
    this.#lanes.delete(name)
    this.#lanes.set(name, lane)
    return lane
  }

  /** Forgets the lane if nothing is to be remembered of it, and one of too many: the silent first. */
  tidy(lane: Lane<Held>): void {
    const isHere = this.#lanes.get(lane.name) === lane
    if (isHere && lane.isEmpty && !lane.isKnown) this.#lanes.delete(lane.name)
    if (this.#lanes.size <= LANES_KEPT_MAX) return
    let oldest: Lane<Held> | null = null
    for (const old of this.#lanes.values()) {
      if (!old.isEmpty) continue
      oldest ??= old
      if (old.isProven) continue
      oldest = old
      break
    }
    if (oldest !== null) this.#lanes.delete(oldest.name)
  }

  /** Deliveries in the hands of lanes that did not answer lately. */
  countUnprovenHeld(): number {
    let held = 0
    for (const lane of this.#lanes.values()) if (!lane.isProven) held += lane.held
    return held
  }

  /** Those with room that were not asked in vain after look `sinceLook`, the longest ago first. */
  listProven(sinceLook: number): Lane<Held>[] {
    return [...this.#lanes.values()]
      .filter((lane) => lane.isProven && lane.room > 0 && lane.askedAt <= sinceLook)
      .sort((one, other) => one.askedAt - other.askedAt)
  }
}

// The lanes that are known: those with deliveries in hand, and of the others those that something was
// learned about, so many and no more. A name that was only seen makes no lane.

import type { DispatcherBounds, Item } from './dispatched-queue.ts'
import { Lane, type LaneOptions } from './lane.ts'
import type { Traffic } from './traffic.ts'

export class Lanes<Held extends Item> {
  /** From the one used longest ago on. */
  readonly #lanes = new Map<string, Lane<Held>>()
  readonly #options: Omit<LaneOptions, 'owner'>
  readonly #keptMax: number
  readonly #hasNewcomers: boolean

  constructor(bounds: DispatcherBounds, traffic: Traffic) {
    const { laneStart: start, laneAsideMax: asideMax, trustsLanes: isTrusted } = bounds
    const { lanesKeptMax, newcomers, unprovenAsideBelow } = bounds
    const mayHangUnproven = () => traffic.unproven < unprovenAsideBelow
    this.#options = { start, asideMax, mayHangUnproven, isTrusted }
    this.#keptMax = lanesKeptMax
    this.#hasNewcomers = newcomers !== null
  }

  get size(): number {
    return this.#lanes.size
  }

  all(): Iterable<Lane<Held>> {
    return this.#lanes.values()
  }

  get(name: string): Lane<Held> | undefined {
    return this.#lanes.get(name)
  }

  /** The lane of deliveries that were claimed, of this owner where it is new; used from now on. */
  use(name: string, owner: string | null): Lane<Held> {
    const lane = this.#lanes.get(name) ?? new Lane<Held>(name, { ...this.#options, owner })
    this.#lanes.delete(name)
    this.#lanes.set(name, lane)
    return lane
  }

  /** Forgets the lane if nothing is to be remembered of it, and one of too many: the silent first. */
  tidy(lane: Lane<Held>): void {
    const isHere = this.#lanes.get(lane.name) === lane
    if (isHere && lane.isEmpty && !lane.isKnown) this.#lanes.delete(lane.name)
    if (this.#lanes.size <= this.#keptMax) return
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

  /** Whether nothing is known of the lane, and those are a kind of their own. */
  isNewcomer(name: string): boolean {
    return this.#hasNewcomers && (this.#lanes.get(name)?.standing ?? 'newcomer') === 'newcomer'
  }

  /**
   * Deliveries in the hands of lanes that did not answer lately, those that wait in the hands of
   * newcomers, and both kinds, with what is under way, by owner.
   */
  countUnproven(): { held: number; newcomersWaiting: number; byOwner: Map<string, number> } {
    let [held, newcomersWaiting] = [0, 0]
    const byOwner = new Map<string, number>()
    for (const lane of this.#lanes.values()) {
      if (lane.isProven || lane.isEmpty) continue
      if (this.isNewcomer(lane.name)) newcomersWaiting += lane.held - lane.active
      else held += lane.held
      if (lane.owner !== null) {
        byOwner.set(lane.owner, (byOwner.get(lane.owner) ?? 0) + lane.held)
      }
    }
    return { held, newcomersWaiting, byOwner }
  }

  /** Those with room that were not asked in vain after look `sinceLook`, the longest ago first. */
  listProven(sinceLook: number): Lane<Held>[] {
    return [...this.#lanes.values()]
      .filter((lane) => lane.isProven && lane.room > 0 && lane.askedAt <= sinceLook)
      .sort((one, other) => one.askedAt - other.askedAt)
  }
}

// Looks for lanes that nothing is known of, in the order of names and past all that is known, so that a
// thousand that do not answer are not between a new one and its first attempt.

import { chooseNewcomers, LANES_LOOKED_AT_MAX } from './choose-lanes.ts'
import type { DispatchedQueue, DispatcherBounds, Item, LaneShare } from './dispatched-queue.ts'
import type { Lanes } from './lanes.ts'
import type { Traffic } from './traffic.ts'

const NO_OWNERS: ReadonlyMap<string, string> = new Map()

export class NewcomerSearch<Held extends Item> {
  readonly #queue: DispatchedQueue<Held>
  readonly #bounds: DispatcherBounds
  readonly #lanes: Lanes<Held>
  readonly #traffic: Traffic
  /** The last name that was looked at. */
  #after = ''
  /** How often the end of the names is to be come to. */
  #rounds = 1
  /** How often it was said that there may be new ones. */
  wakes = 0

  constructor(options: {
    queue: DispatchedQueue<Held>
    bounds: DispatcherBounds
    lanes: Lanes<Held>
    traffic: Traffic
  }) {
    this.#queue = options.queue
    this.#bounds = options.bounds
    this.#lanes = options.lanes
    this.#traffic = options.traffic
  }

  /** Any lane may be new. */
  askAnew(): void {
    this.wakes += 1
    // To the end from where the search is, and to there from the beginning.
    this.#rounds = this.#after === '' ? 1 : 2
  }

  /** There may be some, and room for them. */
  get mayFind(): boolean {
    return this.#rounds > 0 && this.#free > 0
  }

  get #free(): number {
    const { newcomersFree } = this.#traffic
    return newcomersFree === 0 ? 0 : newcomersFree - this.#lanes.countUnproven().newcomersWaiting
  }

  /**
   * Newcomers among all names with something to take, or among the next ones (null), which are read
   * after so many wake-ups.
   */
  async find(
    all: readonly string[] | null,
    wakes: number,
  ): Promise<{ shares: LaneShare[]; ownerOf: ReadonlyMap<string, string> }> {
    const { newcomers, laneStart } = this.#bounds
    if (newcomers === null || !this.mayFind) return { shares: [], ownerOf: NO_OWNERS }
    const after = all === null ? this.#after : ''
    const names = all ?? (await this.#queue.listReadyLanes(after, LANES_LOOKED_AT_MAX))
    const unknown = names.filter((name) => this.#lanes.isNewcomer(name))
    const ownerOf = (unknown.length > 0 && (await this.#queue.findOwners?.(unknown))) || NO_OWNERS
    const { shares, passedOver } = chooseNewcomers(this.#lanes, {
      names: unknown,
      free: this.#free,
      laneStart,
      ownerOf,
      owners: { held: this.#lanes.countUnproven().byOwner, heldMax: newcomers.ownerHeldMax },
    })
    // What came since a wake-up may be among names that were read before it.
    const hasWoken = wakes !== this.wakes
    const isRoundOver = passedOver === null && (all !== null || names.length < LANES_LOOKED_AT_MAX)
    if (isRoundOver) {
      this.#after = ''
      this.#rounds = hasWoken ? 1 : all === null ? this.#rounds - 1 : 0
    } else {
      const turns = passedOver === null ? names.length : names.indexOf(passedOver)
      this.#after = names[turns - 1] ?? after
      if (hasWoken) this.#rounds = 2
    }
    return { shares, ownerOf }
  }
}

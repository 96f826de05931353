// What waits to be started: accounts in turn, and of each its lanes in turn. Whoever had its turn is the
// last from then on, so that one with a thousand destinations gets no more turns than one with a single
// message.

import type { Item } from './dispatched-queue.ts'
import type { Lane } from './lane.ts'

export class EagerLanes<Held extends Item> {
  readonly #lanesOf = new Map<string, Set<Lane<Held>>>()

  /** The account has something waiting in the lane. */
  add(owner: string, lane: Lane<Held>): void {
    const lanes = this.#lanesOf.get(owner)
    if (lanes === undefined) this.#lanesOf.set(owner, new Set([lane]))
    else lanes.add(lane)
  }

  /** Starts all that `start` can start; it says whether it has started one of this account in the lane. */
  startAll(start: (owner: string, lane: Lane<Held>) => boolean): void {
    // One walk over the lanes of each account, however often it has its turn.
    const walks = new Map<string, Iterator<Lane<Held>>>()
    for (const [owner, lanes] of this.#lanesOf) {
      const walk = walks.get(owner) ?? lanes.values()
      walks.set(owner, walk)
      const hasStarted = this.#startNext(owner, lanes, { walk, start })
      if (lanes.size > 0 && !hasStarted) continue
      this.#lanesOf.delete(owner)
      // At the end it is come to again.
      if (lanes.size > 0) this.#lanesOf.set(owner, lanes)
    }
  }

  #startNext(
    owner: string,
    lanes: Set<Lane<Held>>,
    {
      walk,
      start,
    }: {
      walk: Iterator<Lane<Held>>
      start: (owner: string, lane: Lane<Held>) => boolean
    },
  ): boolean {
    for (let next = walk.next(); next.done !== true; next = walk.next()) {
      const lane = next.value
      const hasStarted = lane.hasWaiting(owner) && lane.mayStart && start(owner, lane)
      if (hasStarted || !lane.hasWaiting(owner)) lanes.delete(lane)
      if (!hasStarted) continue
      if (lane.hasWaiting(owner)) lanes.add(lane)
      return true
    }
    return false
  }
}

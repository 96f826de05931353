// Whose what a lane holds is: of each account the groups that wait, in their order, and how many are
// under way.

import type { Group, Item } from './dispatched-queue.ts'

type Part<Held extends Item> = { waiting: Group<Held>[]; active: number }

export class LaneOwners<Held extends Item> {
  readonly #parts = new Map<string, Part<Held>>()
  /** Groups that wait, of all. */
  waiting = 0

  /** Groups of this account, waiting and under way. */
  countOf(owner: string): number {
    const part = this.#parts.get(owner)
    return part === undefined ? 0 : part.waiting.length + part.active
  }

  /** Accounts that have something in the lane, but for this one. */
  others(owner: string): number {
    return this.#parts.size - (this.#parts.has(owner) ? 1 : 0)
  }

  hasWaiting(owner: string): boolean {
    return (this.#parts.get(owner)?.waiting.length ?? 0) > 0
  }

  add(group: Group<Held>): void {
    const owner = group[0].account_id
    const part = this.#parts.get(owner) ?? { waiting: [], active: 0 }
    this.#parts.set(owner, part)
    part.waiting.push(group)
    this.waiting += 1
  }

  /** The account's next group that `fits`, which counts as under way from now on. */
  start(owner: string, fits: (group: Group<Held>) => boolean): Group<Held> | undefined {
    const part = this.#parts.get(owner)
    const index = part?.waiting.findIndex(fits) ?? -1
    const [group] = part === undefined || index === -1 ? [] : part.waiting.splice(index, 1)
    if (part === undefined || group === undefined) return undefined
    part.active += 1
    this.waiting -= 1
    return group
  }

  end(group: Group<Held>): void {
    const owner = group[0].account_id
    const part = this.#parts.get(owner)
    if (part === undefined) return
    part.active -= 1
    this.#tidy(owner, part)
  }

  /**
   * Gives up the last group of the account that has most of them waiting; undefined where there is none.
   * `keepsOne`: an account that has nothing under way keeps its only one.
   */
  giveUpLast({ keepsOne }: { keepsOne: boolean }): Group<Held> | undefined {
    let most: [string, Part<Held>] | null = null
    for (const [owner, part] of this.#parts) {
      if (part.waiting.length === (keepsOne && part.active === 0 ? 1 : 0)) continue
      if (part.waiting.length > (most?.[1].waiting.length ?? 0)) most = [owner, part]
    }
    if (most === null) return undefined
    const [owner, part] = most
    const group = part.waiting.pop()
    this.waiting -= 1
    this.#tidy(owner, part)
    return group
  }

  #tidy(owner: string, { waiting, active }: Part<Held>): void {
    if (active === 0 && waiting.length === 0) this.#parts.delete(owner)
  }
}

import type { Group, GroupOutcome, Item } from './dispatched-queue.ts'
import type { LaneBounds, Pool } from './dispatcher-bounds.ts'

/** Maximum concurrent connections to one host. */
export const LANE_ATTEMPTS_MAX = 20
/** Hanging attempts that an answering lane ignores in its limit. */
const HANGING_MAX = 10
/** With more consecutive failures, a lane is unresponsive. Hanging attempts may fail together. */
const FAILURES_MAX = 2 * HANGING_MAX
/** Items that an answering lane leases per attempt, so that leases are rare. */
const LANE_AHEAD = 5
const LANE_HELD_EXTRA = 20

export type Attempt<Held extends Item> = {
  readonly group: Group<Held>
  readonly account: string
  readonly bytes: number
  pool: Pool
  isSlow: boolean
  isHanging: boolean
}

type Share<Held extends Item> = { waiting: Attempt<Held>[]; held: number }

/**
 * The leased items for one destination. The limit of concurrent attempts grows while servers
 * answer, halves when they do not, and does not rise while the host is crowded.
 */
export class Lane<Held extends Item> {
  readonly name: string
  readonly #bounds: LaneBounds
  readonly #shares = new Map<string, Share<Held>>()
  readonly #underWay = new Set<Attempt<Held>>()
  #hanging = 0
  #limit: number
  #failures = 0
  #hasAnswered = false
  #pauses = 0
  /** Number of waiting, running and expected items, without hanging attempts. */
  #held = 0

  constructor(name: string, bounds: LaneBounds) {
    this.name = name
    this.#bounds = bounds
    this.#limit = bounds.first
  }

  get isAnswering(): boolean {
    return this.#bounds.isRelay || (this.#hasAnswered && this.#failures <= FAILURES_MAX)
  }

  get isEmpty(): boolean {
    return this.#held === 0 && this.#underWay.size === 0
  }

  get isKnown(): boolean {
    return this.#hasAnswered || this.#limit < this.#bounds.first || this.#pauses > 0
  }

  /** Always allows an account its even share, even if others exceed theirs. */
  roomFor(account: string): number {
    const own = this.#shares.get(account)?.held ?? 0
    const accounts = this.#shares.size + (own > 0 ? 0 : 1)
    const share = Math.max(1, Math.floor(this.#capacity / accounts))
    // Refilling at half of the share keeps leases rare.
    if (own > (this.isAnswering ? share / 2 : share - 1)) return 0
    return Math.max(0, Math.min(share - own, this.#heldMax - this.#held))
  }

  /** Reserves room before a lease. A negative count releases room. */
  expect(account: string, count: number): void {
    const share = this.#shares.get(account) ?? { waiting: [], held: 0 }
    this.#shares.set(account, share)
    share.held += count
    this.#held += count
    if (share.held === 0) this.#shares.delete(account)
  }

  add(attempt: Attempt<Held>): void {
    this.expect(attempt.account, attempt.group.length)
    this.#shares.get(attempt.account)?.waiting.push(attempt)
  }

  hasWaiting(account: string): boolean {
    return (this.#shares.get(account)?.waiting.length ?? 0) > 0
  }

  start(account: string, mayStart: (attempt: Attempt<Held>) => boolean): Attempt<Held> | null {
    if (this.#underWay.size - this.#hanging >= this.#concurrency) return null
    const { waiting = [] } = this.#shares.get(account) ?? {}
    const index = waiting.findIndex(mayStart)
    const [attempt = null] = index === -1 ? [] : waiting.splice(index, 1)
    if (attempt !== null) this.#underWay.add(attempt)
    return attempt
  }

  /** Must be called when the server's greeting arrives. */
  noteAnswer(): void {
    this.#hasAnswered = true
    this.#releaseHanging()
  }

  noteSlow(attempt: Attempt<Held>): void {
    attempt.isSlow = true
    this.#releaseHanging()
  }

  end(attempt: Attempt<Held>, outcome: GroupOutcome): void {
    this.#underWay.delete(attempt)
    if (attempt.isHanging) this.#hanging -= 1
    else this.expect(attempt.account, -attempt.group.length)
    if (outcome === 'reached') this.#grow()
    else if (outcome === 'unreached') this.#shrink()
    this.#releaseHanging()
  }

  pause(): void {
    this.#pauses += 1
    this.#limit = this.#underWay.size - this.#hanging
  }

  resume(): void {
    this.#pauses -= 1
    if (this.#pauses === 0) this.#limit = Math.max(1, this.#limit)
  }

  /** Removes the newest waiting attempts of the accounts that have most. */
  removeExcess(heldMax = this.#heldMax): Attempt<Held>[] {
    const removed: Attempt<Held>[] = []
    while (this.#held > heldMax) {
      let most: Attempt<Held>[] = []
      for (const { waiting } of this.#shares.values())
        if (waiting.length > most.length) most = waiting
      const attempt = most.pop()
      if (attempt === undefined) break
      removed.push(attempt)
      this.expect(attempt.account, -attempt.group.length)
    }
    return removed
  }

  get #concurrency(): number {
    return Math.min(this.#limit, LANE_ATTEMPTS_MAX - this.#hanging)
  }

  get #capacity(): number {
    return this.#concurrency * (this.isAnswering ? LANE_AHEAD : 1)
  }

  get #heldMax(): number {
    const capacity = this.#capacity
    return this.isAnswering && capacity > 0 ? capacity + LANE_HELD_EXTRA : capacity
  }

  #grow(): void {
    this.#hasAnswered = true
    this.#failures = 0
    if (this.#pauses === 0) this.#limit = Math.min(this.#limit + 1, LANE_ATTEMPTS_MAX)
  }

  #shrink(): void {
    this.#failures += 1
    const least = this.isAnswering ? this.#bounds.first : 1
    // The minimum must not raise a limit that a crowded host has lowered.
    this.#limit = Math.min(this.#limit, Math.max(least, Math.floor(this.#limit / 2)))
  }

  #releaseHanging(): void {
    if (!this.isAnswering) return
    for (const attempt of this.#underWay) {
      if (this.#hanging === HANGING_MAX) return
      if (!attempt.isSlow || attempt.isHanging) continue
      attempt.isHanging = true
      this.#hanging += 1
      this.expect(attempt.account, -attempt.group.length)
    }
  }
}

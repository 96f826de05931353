import type { Group, GroupOutcome, Item } from './dispatched-queue.ts'
import type { LaneBounds, Pool } from './dispatcher-bounds.ts'

/** Attempts of a lane at once, as many as one host has connections. */
export const LANE_ATTEMPTS_MAX = 20
/** Attempts that hang and do not count towards the limit of a lane that answers: half of the connections. */
const HANGING_MAX = 10
/** Failures in a row after which a lane no longer counts as answering: hanging attempts may fail together. */
const FAILURES_MAX = 2 * HANGING_MAX
/** Items that an answering lane holds for each of its attempts, so that claims are rare. */
const LANE_AHEAD = 5
/** Further items for accounts that hold less than their even share of the lane. */
const LANE_HELD_EXTRA = 20

/** A group in hand, waiting or under way. */
export type Attempt<Held extends Item> = {
  readonly group: Group<Held>
  readonly account: string
  readonly bytes: number
  /** Where it is counted. */
  pool: Pool
  isSlow: boolean
  /** It hangs and no longer counts towards the limit of the lane. */
  isHanging: boolean
}

/** The items of one account in a lane, without hanging attempts. */
type Share<Held extends Item> = { waiting: Attempt<Held>[]; held: number }

/**
 * The items in hand for one destination, and the limit of attempts at once: it grows while servers answer, halves when
 * they do not, and stays at the present number while the host is busy.
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
  /** Items waiting, under way and about to be claimed, without those of hanging attempts. */
  #held = 0

  constructor(name: string, bounds: LaneBounds) {
    this.name = name
    this.#bounds = bounds
    this.#limit = bounds.first
  }

  /** Whether servers have answered lately. */
  get isAnswering(): boolean {
    return this.#bounds.isRelay || (this.#hasAnswered && this.#failures <= FAILURES_MAX)
  }

  get isEmpty(): boolean {
    return this.#held === 0 && this.#underWay.size === 0
  }

  /** Whether the lane differs from one that was never used. */
  get isKnown(): boolean {
    return this.#hasAnswered || this.#limit < this.#bounds.first || this.#pauses > 0
  }

  /**
   * How many more items the account may claim: up to its even share of the lane, even when others have more than
   * theirs. 0 while the account has enough of its share.
   */
  roomFor(account: string): number {
    const own = this.#shares.get(account)?.held ?? 0
    const accounts = this.#shares.size + (own > 0 ? 0 : 1)
    const share = Math.max(1, Math.floor(this.#capacity / accounts))
    // An answering lane waits until half are gone, so that claims are rare.
    if (own > (this.isAnswering ? share / 2 : share - 1)) return 0
    return Math.max(0, Math.min(share - own, this.#heldMax - this.#held))
  }

  /** Items are being claimed; negative when the claim has ended. */
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

  /** Starts the account's first attempt that `mayStart`; null when none does, or the lane is at its limit. */
  start(account: string, mayStart: (attempt: Attempt<Held>) => boolean): Attempt<Held> | null {
    if (this.#underWay.size - this.#hanging >= this.#concurrency) return null
    const { waiting = [] } = this.#shares.get(account) ?? {}
    const index = waiting.findIndex(mayStart)
    const [attempt = null] = index === -1 ? [] : waiting.splice(index, 1)
    if (attempt !== null) this.#underWay.add(attempt)
    return attempt
  }

  /** A server has sent its greeting, so the destination is alive. */
  markAnswered(): void {
    this.#hasAnswered = true
    this.#releaseHanging()
  }

  markSlow(attempt: Attempt<Held>): void {
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

  /** The host accepts no further connections: until `resume`, the limit stays at what is under way. */
  pause(): void {
    this.#pauses += 1
    this.#limit = this.#underWay.size - this.#hanging
  }

  /** To be called once for each pause. */
  resume(): void {
    this.#pauses -= 1
    if (this.#pauses === 0) this.#limit = Math.max(1, this.#limit)
  }

  /**
   * Removes waiting attempts past the number of items that the lane may hold, from the account with the most, the last
   * first.
   */
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
    // During a pause a free slot may be used again, but the limit does not rise.
    if (this.#pauses === 0) this.#limit = Math.min(this.#limit + 1, LANE_ATTEMPTS_MAX)
  }

  #shrink(): void {
    this.#failures += 1
    const least = this.isAnswering ? this.#bounds.first : 1
    // A busy host may have left a lower limit.
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

import { SECOND_MS } from '#platform/units.ts'
import type { Group, GroupOutcome, Item } from './dispatched-queue.ts'
import type { DispatcherBounds, LaneState, Slot } from './dispatcher-bounds.ts'

/** Concurrent attempts of a lane whose server answers: as many connections as one host is reserved. */
export const LANE_ATTEMPTS_MAX = 20
/** A lane with fewer attempts under way is small. */
const LANE_ATTEMPTS_FEW = 5
/** Items that an answering lane holds for each of its attempts, so that claims are rare. */
const LANE_AHEAD = 5
/** Further items for accounts that hold less than their even share of the lane. */
const LANE_HELD_EXTRA = 20
/** How long a lane starts nothing when its host is busy: the first pause, and the longest. */
const CROWDED_PAUSE_MS = { min: 200, max: 2 * SECOND_MS }

type LaneBounds = Pick<DispatcherBounds, 'laneState' | 'laneStart' | 'laneUncountedMax'>

export type Attempt<Held extends Item> = {
  readonly group: Group<Held>
  readonly slot: Slot
  isSlow: boolean
  isGreeted: boolean
  /** It hangs and no longer counts towards the limit of the lane. */
  isUncounted: boolean
}

/** What an account has in a lane, without uncounted attempts. */
type Share<Held extends Item> = { waiting: Group<Held>[]; held: number }

/**
 * The items in hand for one destination, and the limit of concurrent attempts: low at first, higher while
 * servers answer, lower when they do not, and no higher than the present number while the host is busy.
 */
export class Lane<Held extends Item> {
  readonly name: string
  readonly #bounds: LaneBounds
  readonly #shares = new Map<string, Share<Held>>()
  readonly #underWay = new Set<Attempt<Held>>()
  #uncountedCount = 0
  #limit: number
  #failures = 0
  #crowdedLimit = 0
  #pauseMs = 0
  #pauses = 0
  #isPaused = false
  state: LaneState
  /** Items waiting and under way, without those of uncounted attempts. */
  held = 0

  constructor(name: string, bounds: LaneBounds) {
    this.name = name
    this.#bounds = bounds
    this.#limit = bounds.laneStart
    this.state = bounds.laneState
  }

  get isAnswering(): boolean {
    return this.state === 'answering'
  }

  get isSmall(): boolean {
    return this.#underWay.size < LANE_ATTEMPTS_FEW
  }

  get isEmpty(): boolean {
    return this.held === 0 && this.#underWay.size === 0
  }

  /** Whether the lane differs from one that was never used. */
  get isKnown(): boolean {
    const { laneState, laneStart } = this.#bounds
    return this.state !== laneState || this.#limit < laneStart || this.#pauseMs > 0
  }

  /** Whether a claim for the lane, or for this account in it, is worth its cost. */
  wantsMore(account: string): boolean {
    return this.held <= this.#claimBelow(this.#capacity) || !this.#shares.has(account)
  }

  *heldByAccount(): Iterable<[account: string, held: number]> {
    for (const [account, { held }] of this.#shares) yield [account, held]
  }

  /**
   * How many more items the account may claim, beside what was `reserved` for other accounts: up to its even
   * share of the lane, even when others have more than theirs. 0 while the account has enough of its share.
   */
  roomFor(account: string, reserved: { accounts: number; held: number }): number {
    const own = this.#shares.get(account)?.held ?? 0
    const others = this.#shares.size - (own > 0 ? 1 : 0) + reserved.accounts
    const share = Math.max(1, Math.floor(this.#capacity / (others + 1)))
    if (own > this.#claimBelow(share)) return 0
    return Math.max(0, Math.min(share - own, this.#heldMax - this.held - reserved.held))
  }

  add(group: Group<Held>): void {
    const account = group[0].account_id
    const share = this.#shares.get(account) ?? { waiting: [], held: 0 }
    this.#shares.set(account, share)
    share.waiting.push(group)
    share.held += group.length
    this.held += group.length
  }

  hasWaiting(account: string): boolean {
    return (this.#shares.get(account)?.waiting.length ?? 0) > 0
  }

  get mayStart(): boolean {
    return this.#underWay.size - this.#uncountedCount < this.#concurrency
  }

  /** Starts the account's first group that gets a slot; null when none does. */
  start(account: string, takeSlot: (group: Group<Held>) => Slot | null): Attempt<Held> | null {
    const waiting = this.#shares.get(account)?.waiting ?? []
    for (const [index, group] of waiting.entries()) {
      const slot = takeSlot(group)
      if (slot === null) continue
      waiting.splice(index, 1)
      const attempt = { group, slot, isSlow: false, isGreeted: false, isUncounted: false }
      this.#underWay.add(attempt)
      return attempt
    }
    return null
  }

  /** A server has sent its greeting, so the destination is alive. */
  markGreeted(attempt: Attempt<Held>): void {
    attempt.isGreeted = true
    this.#releaseHanging()
  }

  markSlow(attempt: Attempt<Held>): void {
    attempt.isSlow = true
    this.#releaseHanging()
  }

  /** No answer has come for long. An uncounted attempt says nothing about the others. */
  markLong(attempt: Attempt<Held>): void {
    if (!attempt.isUncounted) this.#shrink()
  }

  end(attempt: Attempt<Held>, outcome: GroupOutcome): void {
    this.#underWay.delete(attempt)
    if (attempt.isUncounted) this.#uncountedCount -= 1
    else this.#drop(attempt.group)
    if (outcome === 'reached') this.#grow()
    else if (outcome === 'unreached') this.#fail()
    this.#releaseHanging()
  }

  /**
   * The host accepts no further connections: for `pauseMs` the limit stays at what is under way. `resume`
   * ends the pause unless a later pause has begun.
   */
  pause(): { pauseMs: number; resume: () => void } {
    this.#pauses += 1
    const pause = this.#pauses
    const { min, max } = CROWDED_PAUSE_MS
    this.#limit = this.#underWay.size - this.#uncountedCount
    this.#crowdedLimit = this.#limit
    this.#pauseMs = Math.min(Math.max(this.#pauseMs * 2, min), max)
    this.#isPaused = true
    const resume = () => {
      if (pause !== this.#pauses) return
      this.#isPaused = false
      this.#limit = Math.max(1, this.#limit)
    }
    return { pauseMs: this.#pauseMs, resume }
  }

  /**
   * Removes waiting groups past the number of items that the lane may hold, from the account with the most,
   * the last first.
   */
  removeExcess(heldMax = this.#heldMax): Group<Held>[] {
    const groups: Group<Held>[] = []
    while (this.held > heldMax) {
      let most: Group<Held>[] = []
      for (const { waiting } of this.#shares.values())
        if (waiting.length > most.length) most = waiting
      const group = most.pop()
      if (group === undefined) break
      groups.push(group)
      this.#drop(group)
    }
    return groups
  }

  get #concurrency(): number {
    return Math.min(this.#limit, LANE_ATTEMPTS_MAX - this.#uncountedCount)
  }

  /**
   * The number of held items at which more are claimed. An answering lane holds several items per attempt and
   * waits until half are gone, so that claims are rare; other lanes hold one per attempt.
   */
  #claimBelow(share: number): number {
    return this.isAnswering ? share / 2 : share - 1
  }

  get #capacity(): number {
    return this.#concurrency * (this.isAnswering ? LANE_AHEAD : 1)
  }

  get #heldMax(): number {
    const capacity = this.#capacity
    return this.isAnswering && capacity > 0 ? capacity + LANE_HELD_EXTRA : capacity
  }

  #grow(): void {
    this.state = 'answering'
    this.#failures = 0
    // During a pause a free slot may be used again, but the limit does not rise.
    if (this.#isPaused) return
    this.#limit = Math.min(this.#limit + 1, LANE_ATTEMPTS_MAX)
    if (this.#limit > this.#crowdedLimit + 1) this.#pauseMs = 0
  }

  /**
   * An answering lane becomes silent only after more failures than twice its uncounted attempts; until then
   * it keeps its initial limit.
   */
  #fail(): void {
    this.#failures += 1
    const { laneUncountedMax, laneStart } = this.#bounds
    if (this.isAnswering && this.#failures <= 2 * laneUncountedMax) this.#halve(laneStart)
    else this.#shrink()
  }

  #shrink(): void {
    const { laneState, laneStart } = this.#bounds
    if (laneState !== 'answering') this.state = 'silent'
    this.#halve(this.isAnswering ? laneStart : 1)
  }

  #halve(least: number): void {
    // A busy host may have left a lower limit.
    this.#limit = Math.min(this.#limit, Math.max(least, Math.floor(this.#limit / 2)))
  }

  /** Hanging attempts stop counting when the lane answers or a server has greeted them. */
  #releaseHanging(): void {
    for (const attempt of this.#underWay) {
      if (this.#uncountedCount === this.#bounds.laneUncountedMax) return
      const mayHang = attempt.isSlow && (this.isAnswering || attempt.isGreeted)
      if (!mayHang || attempt.isUncounted) continue
      attempt.isUncounted = true
      this.#uncountedCount += 1
      this.#drop(attempt.group)
    }
  }

  #drop(group: Group<Held>): void {
    const account = group[0].account_id
    this.held -= group.length
    const share = this.#shares.get(account)
    if (share === undefined) return
    share.held -= group.length
    if (share.held === 0) this.#shares.delete(account)
  }
}

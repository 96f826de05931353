import { SECOND_MS } from '#platform/units.ts'
import type { Group, GroupOutcome, Item } from './dispatched-queue.ts'
import type { DispatcherBounds, LaneState, Slot } from './dispatcher-bounds.ts'

/** Attempts of a lane at once when all goes well: as many connections as its host is given. */
export const LANE_ATTEMPTS_MAX = 20
/** With fewer under way a lane is a small one. */
const LANE_ATTEMPTS_FEW = 5
/** Items that an answering lane holds for each attempt that it may have, so that claims are few. */
const LANE_AHEAD = 5
/** Items beyond that for accounts that have less than their even part of the lane. */
const LANE_HELD_EXTRA = 20
/** How long a lane whose host is busy begins nothing: at first, and when that goes on. */
const CROWDED_PAUSE_MS = { min: 200, max: 2 * SECOND_MS }

type LaneBounds = Pick<DispatcherBounds, 'laneState' | 'laneStart' | 'laneAsideMax'>

export type Attempt<Held extends Item> = {
  readonly group: Group<Held>
  readonly slot: Slot
  /** It takes longer than most. */
  isSlow: boolean
  /** A server has greeted. */
  isGreeted: boolean
  /** It hangs, and left its place in the lane to others. */
  isAside: boolean
}

/** What an account has in a lane, but for attempts that are aside. */
type Part<Held extends Item> = { waiting: Group<Held>[]; held: number }

/**
 * The items of one destination that are in hand, and how many attempts may be under way: few at first, more
 * while servers answer, fewer when none does, and no more than there are while their host is busy.
 */
export class Lane<Held extends Item> {
  readonly name: string
  readonly #bounds: LaneBounds
  readonly #parts = new Map<string, Part<Held>>()
  readonly #underWay = new Set<Attempt<Held>>()
  #asideCount = 0
  #limit: number
  /** Attempts in a row that reached nothing. */
  #failures = 0
  /** What it had when its host was busy the last time. */
  #crowdedLimit = 0
  #pauseMs = 0
  #pauses = 0
  #isPaused = false
  state: LaneState
  /** Items, waiting and under way, but for those aside. */
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

  /** Whether it differs from a lane that was never used. */
  get isKnown(): boolean {
    const { laneState, laneStart } = this.#bounds
    return this.state !== laneState || this.#limit < laneStart || this.#pauseMs > 0
  }

  /** Whether it is worth a claim to give the lane, or this account in it, more. */
  wantsMore(account: string): boolean {
    return this.held <= this.#lowOf(this.#capacity) || !this.#parts.has(account)
  }

  /** Items of each account. */
  *heldByAccount(): Iterable<[account: string, held: number]> {
    for (const [account, { held }] of this.#parts) yield [account, held]
  }

  /**
   * How many more items the account may be given beside what is about to be `given` to other accounts: up to
   * its even part of the lane, also where others have more than theirs. 0 while it has enough of its part.
   */
  roomFor(account: string, given: { accounts: number; held: number }): number {
    const own = this.#parts.get(account)?.held ?? 0
    const others = this.#parts.size - (own > 0 ? 1 : 0) + given.accounts
    const part = Math.max(1, Math.floor(this.#capacity / (others + 1)))
    if (own > this.#lowOf(part)) return 0
    return Math.max(0, Math.min(part - own, this.#heldMax - this.held - given.held))
  }

  add(group: Group<Held>): void {
    const account = group[0].account_id
    const part = this.#parts.get(account) ?? { waiting: [], held: 0 }
    this.#parts.set(account, part)
    part.waiting.push(group)
    part.held += group.length
    this.held += group.length
  }

  hasWaiting(account: string): boolean {
    return (this.#parts.get(account)?.waiting.length ?? 0) > 0
  }

  get mayStart(): boolean {
    return this.#underWay.size - this.#asideCount < this.#atOnce
  }

  /** Starts the account's next group that gets a slot; null where none does. */
  start(account: string, takeSlot: (group: Group<Held>) => Slot | null): Attempt<Held> | null {
    const waiting = this.#parts.get(account)?.waiting ?? []
    for (const [index, group] of waiting.entries()) {
      const slot = takeSlot(group)
      if (slot === null) continue
      waiting.splice(index, 1)
      const attempt = { group, slot, isSlow: false, isGreeted: false, isAside: false }
      this.#underWay.add(attempt)
      return attempt
    }
    return null
  }

  /** A server has greeted: the destination is not gone. */
  greet(attempt: Attempt<Held>): void {
    attempt.isGreeted = true
    this.#setAside()
  }

  slow(attempt: Attempt<Held>): void {
    attempt.isSlow = true
    this.#setAside()
  }

  /** Nothing has answered for long; an attempt that is aside says nothing about the others. */
  stall(attempt: Attempt<Held>): void {
    if (!attempt.isAside) this.#shrink()
  }

  end(attempt: Attempt<Held>, outcome: GroupOutcome): void {
    this.#underWay.delete(attempt)
    if (attempt.isAside) this.#asideCount -= 1
    else this.#drop(attempt.group)
    if (outcome === 'reached') this.#grow()
    else if (outcome === 'unreached') this.#fail()
    this.#setAside()
  }

  /**
   * Its host has connections enough: for `pauseMs` it gets no more than it has. `resume` ends that, unless
   * another pause has begun since.
   */
  pause(): { pauseMs: number; resume: () => void } {
    this.#pauses += 1
    const pause = this.#pauses
    const { min, max } = CROWDED_PAUSE_MS
    this.#limit = this.#underWay.size - this.#asideCount
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

  /** Removes the groups that wait beyond what it may hold, of whoever has most waiting, the last first. */
  removeExcess(heldMax = this.#heldMax): Group<Held>[] {
    const groups: Group<Held>[] = []
    while (this.held > heldMax) {
      let most: Group<Held>[] = []
      for (const { waiting } of this.#parts.values())
        if (waiting.length > most.length) most = waiting
      const group = most.pop()
      if (group === undefined) break
      groups.push(group)
      this.#drop(group)
    }
    return groups
  }

  get #atOnce(): number {
    return Math.min(this.#limit, LANE_ATTEMPTS_MAX - this.#asideCount)
  }

  /**
   * Items with which more are claimed: half where several are held for each attempt, so that claims are few, and
   * any that are missing where each is one attempt.
   */
  #lowOf(part: number): number {
    return this.isAnswering ? part / 2 : part - 1
  }

  get #capacity(): number {
    return this.#atOnce * (this.isAnswering ? LANE_AHEAD : 1)
  }

  get #heldMax(): number {
    const capacity = this.#capacity
    return this.isAnswering && capacity > 0 ? capacity + LANE_HELD_EXTRA : capacity
  }

  #grow(): void {
    this.state = 'answering'
    this.#failures = 0
    // A place that became free, not one more.
    if (this.#isPaused) return
    this.#limit = Math.min(this.#limit + 1, LANE_ATTEMPTS_MAX)
    if (this.#limit > this.#crowdedLimit + 1) this.#pauseMs = 0
  }

  /**
   * A lane that answers takes more failures than it has attempts that may hang, and as many again, before it
   * is silent: until then it keeps what it started with.
   */
  #fail(): void {
    this.#failures += 1
    const { laneAsideMax, laneStart } = this.#bounds
    if (this.isAnswering && this.#failures <= 2 * laneAsideMax) this.#halve(laneStart)
    else this.#shrink()
  }

  #shrink(): void {
    const { laneState, laneStart } = this.#bounds
    if (laneState !== 'answering') this.state = 'silent'
    this.#halve(this.isAnswering ? laneStart : 1)
  }

  #halve(least: number): void {
    // A busy host may have left it less than that.
    this.#limit = Math.min(this.#limit, Math.max(least, Math.floor(this.#limit / 2)))
  }

  /** Attempts that hang leave their places, where the lane answers or a server has greeted them. */
  #setAside(): void {
    for (const attempt of this.#underWay) {
      if (this.#asideCount === this.#bounds.laneAsideMax) return
      const mayHang = attempt.isSlow && (this.isAnswering || attempt.isGreeted)
      if (!mayHang || attempt.isAside) continue
      attempt.isAside = true
      this.#asideCount += 1
      this.#drop(attempt.group)
    }
  }

  #drop(group: Group<Held>): void {
    const account = group[0].account_id
    this.held -= group.length
    const part = this.#parts.get(account)
    if (part === undefined) return
    part.held -= group.length
    if (part.held === 0) this.#parts.delete(account)
  }
}

// A lane: deliveries that share a destination, and how many of them may be under way. It starts small,
// grows while servers answer, shrinks when none does, and keeps to what it has while its host is busy.
// Where servers answer, an attempt that hangs is set aside: it leaves its place to the next one. So is
// one that a server has greeted where nothing is known, while such lanes have not too many attempts.

import { SECOND_MS } from '#platform/units.ts'
import type { Group, Item } from './dispatched-queue.ts'
import { LANE_TRANSACTIONS_START } from './dispatcher-bounds.ts'
import { LaneOwners } from './lane-owners.ts'

/** Of one lane beyond what it may hold, for accounts that have less than their even part of it. */
const LANE_ACCOUNTS_MAX = 20
export const LANE_TRANSACTIONS_MAX = 20
/** Deliveries that a destination has leased for each transaction it may have, answering or not. */
const LANE_AHEAD = 5
export const LANE_AHEAD_UNPROVEN = 2
/** How long a lane whose host is busy starts nothing: at first, and when that goes on. */
const CROWDED_PAUSE_MS_MIN = 200
const CROWDED_PAUSE_MS_MAX = 2 * SECOND_MS

/** `newcomer`: nothing is known of it; `silent`: its servers did not answer the last time, or lately. */
export type Standing = 'newcomer' | 'proven' | 'silent'

/** What accounts that have nothing in a lane yet are about to have there. */
export type Given = { readonly owners: number; readonly held: number }

/** See `Lane.roomFor`; of a lane that nothing is in yet as well. `owners` are the others. */
export function partOf(
  capacity: number,
  { own, owners, held }: { own: number; owners: number; held: number },
): number {
  if (capacity === 0) return 0
  const part = Math.max(1, Math.floor(capacity / (owners + 1)))
  return Math.max(0, Math.min(part - own, capacity + LANE_ACCOUNTS_MAX - held))
}

export type LaneOptions = {
  /** Attempts that may be under way before anything is known. */
  start: number
  /** Attempts that may be set aside. */
  asideMax: number
  /** Whether one that was greeted may be set aside where servers did not answer lately. */
  mayHangUnproven: () => boolean
  /** It counts as answering whatever becomes of it. */
  isTrusted: boolean
  owner: string | null
}

export class Lane<Held extends Item> {
  readonly name: string
  /** Null where nobody asked. */
  readonly owner: string | null
  readonly #start: number
  readonly #asideMax: number
  readonly #mayHangUnproven: () => boolean
  readonly #isTrusted: boolean
  readonly #owners = new LaneOwners<Held>()
  /** Under way for longer than most, and counted in `active`. */
  readonly #slow = new Set<Group<Held>>()
  /** Under way, and a server has greeted. */
  readonly #greeted = new Set<Group<Held>>()
  /** Set aside: counted in neither `active` nor `held`, nor as its account's. */
  readonly #aside = new Set<Group<Held>>()
  #limit: number
  /** Attempts in a row that reached nothing. */
  #failures = 0
  /** What it had when its host was busy the last time. */
  #crowdedLimit = 0
  #pauseMs = 0
  #pauses = 0
  #isPaused = false
  /** Deliveries, under way and waiting, but for those set aside. */
  held = 0
  /** Attempts under way, but for those set aside. */
  active = 0
  standing: Standing = 'newcomer'
  /** The look that found nothing more for it; 0: there may be more. */
  askedAt = 0

  constructor(name: string, { start, asideMax, mayHangUnproven, isTrusted, owner }: LaneOptions) {
    this.name = name
    this.owner = owner
    this.#start = start
    this.#asideMax = asideMax
    this.#mayHangUnproven = mayHangUnproven
    this.#isTrusted = isTrusted
    this.#limit = start
    if (isTrusted) this.standing = 'proven'
  }

  /** Whether its servers answered lately. */
  get isProven(): boolean {
    return this.standing === 'proven'
  }

  /** How many more deliveries it may hold; 0 while it still has plenty. */
  get room(): number {
    const capacity = this.#capacity
    return this.held > capacity / 2 ? 0 : capacity - this.held
  }

  /**
   * How many more an account may be given past others, of whom some are being `given` theirs: up to its
   * even part of the lane, also where others have more than theirs and must give up some of it.
   */
  roomFor(owner: string, given: Given): number {
    return partOf(this.#capacity, {
      own: this.#owners.countOf(owner),
      owners: this.#owners.others(owner) + given.owners,
      held: this.held + given.held,
    })
  }

  get isEmpty(): boolean {
    return this.held === 0 && this.#aside.size === 0
  }

  /** It knows more than a new lane would: servers answered, or did not, or their host was busy. */
  get isKnown(): boolean {
    const isSlower = this.#limit < this.#start || (this.standing === 'silent' && this.#limit === 1)
    return this.isProven || this.#pauseMs > 0 || isSlower
  }

  /** Whether all that it holds is under way. */
  get isStarted(): boolean {
    return this.#owners.waiting === 0
  }

  get mayStart(): boolean {
    return this.#owners.waiting > 0 && this.active < this.#atOnce
  }

  /** Whether something of this account waits here. */
  hasWaiting(owner: string): boolean {
    return this.#owners.hasWaiting(owner)
  }

  get isSmall(): boolean {
    return this.active + this.#aside.size < LANE_TRANSACTIONS_START
  }

  add(group: Group<Held>): void {
    this.#owners.add(group)
    this.held += group.length
  }

  /** The account's next group that `fits`, which counts as under way from now on. */
  start(owner: string, fits: (group: Group<Held>) => boolean): Group<Held> | undefined {
    const group = this.#owners.start(owner, fits)
    if (group !== undefined) this.active += 1
    return group
  }

  /** A group is over; its deliveries are held no more. */
  end(group: Group<Held>): void {
    this.#slow.delete(group)
    this.#greeted.delete(group)
    if (!this.#aside.delete(group)) this.#leave(group)
    this.#setAside()
  }

  /** A server has greeted the attempt: its destination is not gone. True where it is set aside for that. */
  greet(group: Group<Held>): boolean {
    this.#greeted.add(group)
    if (!this.#slow.has(group)) return false
    this.#setAside()
    return this.#aside.has(group)
  }

  /** The attempt takes longer than most: from now on it may be set aside. */
  slow(group: Group<Held>): void {
    this.#slow.add(group)
    this.#setAside()
  }

  /** None has answered the attempt for long; one that was set aside says nothing about the others. */
  stall(group: Group<Held>): void {
    this.#setAside()
    if (!this.#aside.has(group)) this.#shrink()
  }

  /** A server answered. */
  grow(): void {
    this.standing = 'proven'
    this.#failures = 0
    this.#setAside()
    // A turn that became free, not one more.
    if (this.#isPaused) return
    this.#limit = Math.min(this.#limit + 1, LANE_TRANSACTIONS_MAX)
    if (this.#limit > this.#crowdedLimit + 1) this.#pauseMs = 0
  }

  /**
   * None did. Where some answered lately it takes more than those that may hang, and as many again,
   * until the lane counts as silent: until then it keeps what it started with.
   */
  fail(): void {
    this.#failures += 1
    if (this.isProven && this.#failures <= 2 * this.#asideMax) this.#halve(this.#start)
    else this.#shrink()
  }

  #shrink(): void {
    if (!this.#isTrusted) this.standing = 'silent'
    this.#halve(this.#isTrusted ? this.#start : 1)
  }

  #halve(least: number): void {
    // A busy host may have left it less than that.
    this.#limit = Math.min(this.#limit, Math.max(least, Math.floor(this.#limit / 2)))
  }

  #setAside(): void {
    for (const group of this.#slow) {
      if (this.#aside.size === this.#asideMax) return
      const isAnswered = this.isProven || (this.#greeted.has(group) && this.#mayHangUnproven())
      if (!isAnswered) continue
      this.#slow.delete(group)
      this.#aside.add(group)
      this.#leave(group)
    }
  }

  #leave(group: Group<Held>): void {
    this.active -= 1
    this.held -= group.length
    this.#owners.end(group)
  }

  /**
   * There are connections enough to its host: it gets no more than it has for the milliseconds that
   * this gives, and then `resume` is to be called with the number that this gives.
   */
  pause(): { pauseMs: number; number: number } {
    this.#limit = this.active
    this.#crowdedLimit = this.active
    this.#pauseMs = Math.min(
      Math.max(this.#pauseMs * 2, CROWDED_PAUSE_MS_MIN),
      CROWDED_PAUSE_MS_MAX,
    )
    this.#pauses += 1
    this.#isPaused = true
    this.askedAt = 0
    return { pauseMs: this.#pauseMs, number: this.#pauses }
  }

  /** Ends the pause, unless another has begun since. */
  resume(number: number): void {
    if (number !== this.#pauses) return
    this.#isPaused = false
    this.#limit = Math.max(1, this.#limit)
  }

  /** Gives up what waits beyond its capacity, of whoever has most here the last first. */
  shed(): Group<Held>[] {
    const capacity = this.#capacity
    // Those that were given one past others would be given it again.
    const keepsOne = () => capacity > 0 && this.held <= capacity + LANE_ACCOUNTS_MAX
    return this.#giveUp(() => (this.held > capacity ? { keepsOne: keepsOne() } : null))
  }

  /** Gives up all that was not started. */
  empty(): Group<Held>[] {
    return this.#giveUp(() => ({ keepsOne: false }))
  }

  /** Attempts under way at once, besides those set aside. */
  get #atOnce(): number {
    return Math.min(this.#limit, LANE_TRANSACTIONS_MAX - this.#aside.size)
  }

  get #capacity(): number {
    return this.#atOnce * (this.isProven ? LANE_AHEAD : LANE_AHEAD_UNPROVEN)
  }

  /** For as long as `next` says how. */
  #giveUp(next: () => { keepsOne: boolean } | null): Group<Held>[] {
    const groups: Group<Held>[] = []
    for (let how = next(); how !== null; how = next()) {
      const group = this.#owners.giveUpLast(how)
      if (group === undefined) break
      groups.push(group)
      this.held -= group.length
    }
    return groups
  }
}

// Looks for accounts that have something to take and little in hand, past whatever others have queued:
// each is given some of its own, lane by lane, so that its next attempt waits for nobody's thousands.

import type { DispatchedQueue, DispatcherBounds, Item, LaneShare } from './dispatched-queue.ts'
import { type Given, LANE_AHEAD_UNPROVEN, partOf } from './lane.ts'
import type { Lanes } from './lanes.ts'

/**
 * Deliveries that an account gets leased past those of others, while it has fewer: as many as its fair
 * part of a lane's transactions can be. Leased so beyond HELD_MAX and its like, over all accounts.
 */
const ACCOUNT_HELD_START = 20
/** Accounts that one look finds, those that it gets deliveries for, and lanes of each that it sees. */
const ACCOUNTS_LOOKED_AT_MAX = 200
const ACCOUNTS_SERVED_AT_ONCE = 20
const ACCOUNT_LANES_LOOKED_AT_MAX = 20
/** A process that holds fewer has no lane that is full: nobody is kept from anything. */
const CROWDED_HELD_MIN = 10
const ACCOUNT_ATTEMPTS_FEW = 5

export type OwnerShare = LaneShare & { readonly owner: string }

const NOTHING: Given = { owners: 0, held: 0 }

type InHand = { held: number; active: number }

export class OwnerSearch<Held extends Item> {
  readonly #queue: DispatchedQueue<Held>
  readonly #bounds: DispatcherBounds
  readonly #lanes: Lanes<Held>
  readonly #inHand = new Map<string, InHand>()
  /** Accounts that were given all that they were asked for: there may be more. */
  readonly #mayHaveMore = new Set<string>()
  /** Of these, those that have little in hand by now. */
  readonly #wanting = new Set<string>()
  /** Accounts that nothing of was taken, for want of room in this lane: the first has waited longest. */
  readonly #roomless = new Map<string, Set<string>>()
  /** The lane after which an account's lanes are looked at next. */
  readonly #laneAfter = new Map<string, string>()
  /** The last account that was looked at. */
  #after = ''
  /** How often the end of the accounts is to be come to. */
  #rounds = 1
  #wakes = 0
  #held = 0
  #active = 0

  constructor(options: {
    queue: DispatchedQueue<Held>
    bounds: DispatcherBounds
    lanes: Lanes<Held>
  }) {
    this.#queue = options.queue
    this.#bounds = options.bounds
    this.#lanes = options.lanes
  }

  /** Any account may have something new. */
  askAnew(): void {
    this.#wakes += 1
    // To the end from where the search is, and to there from the beginning.
    this.#rounds = this.#after === '' ? 1 : 2
  }

  /** There may be such accounts, and room for them; where nothing is full they need no search. */
  get mayFind(): boolean {
    if (this.#held < CROWDED_HELD_MIN || this.#free <= 0) return false
    return this.#rounds > 0 || this.#wanting.size > 0
  }

  /** Whether the account has so few attempts under way, where others have some, that some are kept for it. */
  isSmall(owner: string): boolean {
    const active = this.#inHand.get(owner)?.active ?? 0
    return active < ACCOUNT_ATTEMPTS_FEW && active < this.#active
  }

  hold(item: Held): void {
    const counts = this.#inHand.get(item.account_id) ?? { held: 0, active: 0 }
    counts.held += 1
    this.#held += 1
    this.#inHand.set(item.account_id, counts)
  }

  begin({ account_id: owner }: Held): void {
    const counts = this.#inHand.get(owner)
    this.#active += 1
    if (counts !== undefined) counts.active += 1
  }

  end({ account_id: owner }: Held): void {
    const counts = this.#inHand.get(owner)
    this.#active -= 1
    if (counts !== undefined) counts.active -= 1
  }

  /** Is held no more; true when somebody is to be given something now. */
  letGo(item: Held): boolean {
    // Each that goes makes room for one.
    const next = this.#takeRoomless(item.lane)
    if (next !== undefined) this.#wanting.add(next)
    return this.#letGoOf(item) || next !== undefined
  }

  #letGoOf({ account_id: owner }: Held): boolean {
    const counts = this.#inHand.get(owner)
    if (counts === undefined) return false
    counts.held -= 1
    this.#held -= 1
    if (counts.held === 0) this.#inHand.delete(owner)
    if (counts.held > ACCOUNT_HELD_START / 2 || !this.#mayHaveMore.delete(owner)) return false
    // Else whoever takes lane by lane finds it.
    if (this.#held < CROWDED_HELD_MIN) return false
    this.#wanting.add(owner)
    return true
  }

  /** What accounts with little in hand may be given; empty when none was found. */
  async find(): Promise<OwnerShare[]> {
    if (!this.mayFind) return []
    const owners = await this.#nextOwners()
    const each = Math.floor(this.#free / Math.max(1, owners.length))
    const shares: OwnerShare[] = []
    // What a lane has room for is room for all of them together.
    const given = new Map<string, Given>()
    for (const owner of owners) {
      const want = Math.min(Math.max(1, each), ACCOUNT_HELD_START - this.#heldOf(owner))
      if (want > 0) shares.push(...(await this.#sharesOf(owner, want, given)))
    }
    return shares
  }

  /** Notes who got all of a share: of an account's, or of a lane's, which others than it may be in. */
  learn(shares: readonly LaneShare[], claimed: readonly Held[]): void {
    const counts = new Map<string, number>()
    for (const { account_id, lane } of claimed) {
      const key = keyOf(account_id, lane)
      counts.set(key, (counts.get(key) ?? 0) + 1)
      counts.set(lane, (counts.get(lane) ?? 0) + 1)
    }
    const isFull = new Map<string, boolean>()
    for (const { owner, lane, limit } of shares) {
      if (owner === undefined) isFull.set(lane, (counts.get(lane) ?? 0) >= limit)
      else if ((counts.get(keyOf(owner, lane)) ?? 0) >= limit) this.#mayHaveMore.add(owner)
    }
    for (const { account_id, lane } of claimed) {
      if (isFull.get(lane) === true) this.#mayHaveMore.add(account_id)
    }
  }

  #heldOf(owner: string): number {
    return this.#inHand.get(owner)?.held ?? 0
  }

  get #free(): number {
    return this.#bounds.heldMax + this.#bounds.owners.held - this.#held
  }

  /** Those that are known to want something, then those that come next by name and have little. */
  async #nextOwners(): Promise<string[]> {
    // Those that are not known yet have half of the places.
    const max = this.#rounds === 0 ? ACCOUNTS_SERVED_AT_ONCE : ACCOUNTS_SERVED_AT_ONCE / 2
    const owners = [...this.#wanting].slice(0, max)
    for (const owner of owners) this.#wanting.delete(owner)
    const room = ACCOUNTS_SERVED_AT_ONCE - owners.length
    if (this.#rounds === 0) return owners
    const wakes = this.#wakes
    const names = await this.#queue.listReadyOwners(this.#after, ACCOUNTS_LOOKED_AT_MAX)
    const little = names.filter(
      (name) => this.#heldOf(name) <= ACCOUNT_HELD_START / 2 && !owners.includes(name),
    )
    const chosen = little.slice(0, room)
    const isCut = chosen.length < little.length
    const isEnd = names.length < ACCOUNTS_LOOKED_AT_MAX && !isCut
    this.#after = isEnd ? '' : ((isCut ? chosen.at(-1) : names.at(-1)) ?? '')
    // What came since a wake-up may be among accounts that were read before it.
    if (isEnd) this.#forgetEmptyLanes()
    if (wakes !== this.#wakes) this.#rounds = isEnd ? 1 : 2
    else if (isEnd) this.#rounds -= 1
    return [...owners, ...chosen]
  }

  async #sharesOf(owner: string, want: number, given: Map<string, Given>): Promise<OwnerShare[]> {
    const after = this.#laneAfter.get(owner) ?? ''
    const names = await this.#queue.listOwnerLanes(owner, after, ACCOUNT_LANES_LOOKED_AT_MAX)
    const each = Math.max(1, Math.floor(want / Math.max(1, names.length)))
    const shares: OwnerShare[] = []
    let left = want
    for (const lane of names) {
      // Those that nothing is known of have a search of their own, where they are a kind of their own.
      if (left === 0 || this.#lanes.isNewcomer(lane)) continue
      const before = given.get(lane) ?? NOTHING
      const limit = Math.min(each, left, this.#roomOf(lane, owner, before))
      if (limit <= 0) {
        this.#noteRoomless(lane, owner)
        continue
      }
      left -= limit
      given.set(lane, { owners: before.owners + 1, held: before.held + limit })
      shares.push({ lane, owner, limit })
    }
    const last = names.length < ACCOUNT_LANES_LOOKED_AT_MAX ? undefined : names.at(-1)
    if (last === undefined) this.#laneAfter.delete(owner)
    else {
      this.#laneAfter.set(owner, last)
      this.#mayHaveMore.add(owner)
    }
    // Forgotten, it begins with its first lane.
    if (this.#laneAfter.size > ACCOUNTS_LOOKED_AT_MAX) this.#laneAfter.clear()
    return shares
  }

  #noteRoomless(lane: string, owner: string): void {
    const owners = this.#roomless.get(lane)
    if (owners !== undefined) owners.add(owner)
    // A lane that holds nothing makes no room.
    else if (this.#lanes.get(lane)?.isEmpty === false) this.#roomless.set(lane, new Set([owner]))
  }

  /** What is in them goes by a look at all accounts. */
  #forgetEmptyLanes(): void {
    for (const lane of this.#roomless.keys()) {
      if (this.#lanes.get(lane)?.isEmpty !== false) this.#roomless.delete(lane)
    }
  }

  #takeRoomless(lane: string): string | undefined {
    const owners = this.#roomless.get(lane)
    const [first] = owners ?? []
    if (owners === undefined || first === undefined) return undefined
    owners.delete(first)
    if (owners.size === 0) this.#roomless.delete(lane)
    return first
  }

  #roomOf(lane: string, owner: string, given: Given): number {
    const known = this.#lanes.get(lane)
    if (known !== undefined) return known.roomFor(owner, given)
    return partOf(this.#bounds.laneStart * LANE_AHEAD_UNPROVEN, { own: 0, ...given })
  }
}

/** What is left of these shares of lanes once accounts were given theirs in them. */
export function besidesOwners(
  shares: readonly LaneShare[],
  ofOwners: readonly OwnerShare[],
): LaneShare[] {
  if (ofOwners.length === 0) return [...shares]
  const given = new Map<string, number>()
  for (const { lane, limit } of ofOwners) given.set(lane, (given.get(lane) ?? 0) + limit)
  return shares
    .map((share) => ({ ...share, limit: share.limit - (given.get(share.lane) ?? 0) }))
    .filter(({ limit }) => limit > 0)
}

function keyOf(owner: string, lane: string): string {
  return `${owner} ${lane}`
}

// Which lanes get how much of what may be leased ahead: those that answered and those that did not in
// turn, the latter within their part of it; and newcomers, of which each gets one chance, within theirs.

import type { Item, LaneShare } from './dispatched-queue.ts'
import { LANE_AHEAD_UNPROVEN } from './lane.ts'
import type { Lanes } from './lanes.ts'

/** Lanes that one look at the queue finds; the next look goes on after them. */
export const LANES_LOOKED_AT_MAX = 200

export type Look = {
  /** Names of lanes with something to take, in their turn. */
  names: readonly string[]
  /** There are no others. */
  isWhole: boolean
  /** How many deliveries may be taken. */
  free: number
  /** Lanes by name are not asked again that were asked in vain after this look. */
  sinceLook: number
  /** How many of them lanes may have in hand that did not answer lately, and how many these have. */
  unprovenHeldMax: number
  unprovenHeld: number
  laneStart: number
  owners: OwnerBounds
}

/** What lanes of each owner have in hand that never answered, or not lately. */
export type OwnerBounds = {
  held: ReadonlyMap<string, number>
  /** An owner that has so many gets no more. */
  heldMax: number
}

export type Choice = {
  shares: LaneShare[]
  /** The first of the names that had to be passed over for want of room. */
  passedOver: string | null
  /** There are lanes that answered and were not asked. */
  hasMoreProven: boolean
  hasUnprovenRoom: boolean
}

type Candidate = { name: string; room: number; isProven: boolean }

/**
 * Where `names` is not all there is, lanes that answered are asked whether they are among them or not:
 * a thousand that are gone must not be between them and their turn.
 */
export function chooseLanes<Held extends Item>(lanes: Lanes<Held>, look: Look): Choice {
  const { names, isWhole, free, sinceLook } = look
  const named = new Set(names)
  const all = isWhole
    ? lanes.listProven(Number.POSITIVE_INFINITY).filter(({ name }) => named.has(name))
    : lanes.listProven(sinceLook)
  const proven = all.slice(0, LANES_LOOKED_AT_MAX)
  const unproven = listUnproven(lanes, look)
  let unprovenFree = Math.max(0, look.unprovenHeldMax - look.unprovenHeld)
  const candidates = inTurn<Candidate>(proven, unproven.slice(0, unprovenFree))
  const share = Math.max(1, Math.floor(free / Math.max(1, candidates.length)))
  const shares: LaneShare[] = []
  const taken = new Set<string>()
  for (const { name, room, isProven } of candidates.slice(0, free)) {
    const limit = Math.min(share, room, isProven ? share : unprovenFree)
    if (limit <= 0) continue
    if (!isProven) unprovenFree -= limit
    shares.push({ lane: name, limit })
    taken.add(name)
  }
  return {
    shares,
    passedOver: unproven.find(({ name }) => !taken.has(name))?.name ?? null,
    hasMoreProven: all.length > proven.length,
    hasUnprovenRoom: unprovenFree > 0,
  }
}

function listUnproven<Held extends Item>(
  lanes: Lanes<Held>,
  { names, laneStart, owners }: Look,
): Candidate[] {
  const held = new Map(owners.held)
  const unproven: Candidate[] = []
  const newLane = { isProven: false, room: laneStart * LANE_AHEAD_UNPROVEN }
  for (const name of names) {
    if (lanes.isNewcomer(name)) continue
    const lane = lanes.get(name)
    const { isProven, room } = lane ?? newLane
    if (isProven || room <= 0) continue
    const owner = lane?.owner ?? null
    if (owner !== null) {
      const has = held.get(owner) ?? 0
      if (has >= owners.heldMax) continue
      held.set(owner, has + room)
    }
    unproven.push({ name, room, isProven })
  }
  return unproven
}

export type NewcomersLook = {
  names: readonly string[]
  /** How many deliveries newcomers may be given. */
  free: number
  laneStart: number
  /** Of these lanes, as far as it is known. */
  ownerOf: ReadonlyMap<string, string>
  owners: OwnerBounds
}

/**
 * Those of these that nothing is known of and that have nothing in hand. Whose owner has too much in
 * such hands already is left out; `passedOver` is the first for which there was no room.
 */
export function chooseNewcomers<Held extends Item>(
  lanes: Lanes<Held>,
  look: NewcomersLook,
): { shares: LaneShare[]; passedOver: string | null } {
  const { names, ownerOf, owners, laneStart } = look
  let { free } = look
  const shares: LaneShare[] = []
  const heldByOwner = new Map(owners.held)
  for (const name of names) {
    if (!lanes.isNewcomer(name) || lanes.get(name)?.isEmpty === false) continue
    const owner = ownerOf.get(name)
    const held = owner === undefined ? 0 : (heldByOwner.get(owner) ?? 0)
    if (held >= owners.heldMax) continue
    if (free < laneStart) return { shares, passedOver: name }
    free -= laneStart
    if (owner !== undefined) heldByOwner.set(owner, held + laneStart)
    shares.push({ lane: name, limit: laneStart })
  }
  return { shares, passedOver: null }
}

/** One of each list, then the next of each. */
function inTurn<Value>(one: readonly Value[], other: readonly Value[]): Value[] {
  const items: Value[] = []
  for (let index = 0; index < Math.max(one.length, other.length); index += 1) {
    items.push(...one.slice(index, index + 1), ...other.slice(index, index + 1))
  }
  return items
}

// Which lanes get how much of what may be leased ahead: those that answered and those that did not in
// turn, the latter within their part of it.

import { LANES_LOOKED_AT_MAX } from '#base/limits.ts'
import type { Item } from '#jobs/dispatched-queue.ts'
import { NEW_LANE_ROOM } from './lane.ts'
import type { Lanes } from './lanes.ts'

export type LaneShare = { lane: string; limit: number }

export type Look = {
  /** Names of lanes with something to take, in their turn. */
  names: readonly string[]
  /** There are no others. */
  isWhole: boolean
  /** How many deliveries may be taken. */
  free: number
  /** Lanes by name are not asked again that were asked in vain after this look. */
  sinceLook: number
  /** How many of them lanes may have in hand that did not answer lately. */
  unprovenHeldMax: number
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
  const { names, isWhole, free, sinceLook, unprovenHeldMax } = look
  const named = new Set(names)
  const all = isWhole
    ? lanes.listProven(Number.POSITIVE_INFINITY).filter(({ name }) => named.has(name))
    : lanes.listProven(sinceLook)
  const proven = all.slice(0, LANES_LOOKED_AT_MAX)
  const unproven = listUnproven(lanes, names)
  let unprovenFree = Math.max(0, unprovenHeldMax - lanes.countUnprovenHeld())
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
  names: readonly string[],
): Candidate[] {
  const unproven: Candidate[] = []
  for (const name of names) {
    const { isProven, room } = lanes.get(name) ?? { isProven: false, room: NEW_LANE_ROOM }
    if (!isProven && room > 0) unproven.push({ name, room, isProven })
  }
  return unproven
}

/** One of each list, then the next of each. */
function inTurn<Value>(one: readonly Value[], other: readonly Value[]): Value[] {
  const items: Value[] = []
  for (let index = 0; index < Math.max(one.length, other.length); index += 1) {
    items.push(...one.slice(index, index + 1), ...other.slice(index, index + 1))
  }
  return items
}

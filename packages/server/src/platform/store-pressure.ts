// Whether the store keeps up: doors ask before they take on what has to be written, so that work is
// refused before it has cost anything, and goes on by itself when the store does. An account whose writes
// wait for each other is refused alone.

import type { WriteLoad, WriteLoads } from '#platform/db/paced-db.ts'
import { RETRY_AFTER_SECONDS } from './app-error.ts'
import type { Clock } from './clock.ts'
import { problem } from './problem.ts'
import { SECOND_MS } from './units.ts'

/** A write that has waited for so long says that the store does not keep up. */
export const STRAINED_WRITE_MS = 3 * SECOND_MS
/** And so many where fewer did: a burst on a machine that has just become busy. */
export const STRAINED_WRITES_MIN = 32
/** Failed writes in a row after which it is taken for away, and how often it is tried then. */
export const STORE_FAILURES_MAX = 3
export const STORE_PROBE_MS = SECOND_MS / 2

export type StorePressure = {
  /**
   * Whether one more write may be taken on, with `underWay` that will come to one. Of a store that takes
   * no writes it says yes now and then, so that somebody finds out when it is back.
   */
  mayTake(underWay?: number): boolean
  /** The same for what was taken on before, and is about to become expensive. */
  mayGoOn(underWay: number): boolean
  /** Whether one more of this account may be. */
  mayTakeOf(accountId: string): boolean
  /** Throws `service_unavailable`, with the time to come again, where it may not. */
  requireRoom(accountId?: string): void
  /** Whether the store fails, or writes of several accounts wait for long. */
  isStrained(): boolean
  load(): WriteLoad
}

/** `onRefused` is called for each time that it has said no. */
export function openStorePressure(options: {
  loads: WriteLoads
  clock: Pick<Clock, 'monotonic'>
  onRefused?: () => void
}): StorePressure {
  const { loads, clock, onRefused = () => {} } = options
  let probedAtMs = Number.NEGATIVE_INFINITY
  const told = (mayCome: boolean) => {
    if (!mayCome) onRefused()
    return mayCome
  }
  const mayProbe = () => {
    const nowMs = clock.monotonic()
    if (nowMs - probedAtMs < STORE_PROBE_MS) return false
    probedAtMs = nowMs
    return true
  }
  const isAway = (load = loads.load()) => load.failures >= STORE_FAILURES_MAX
  const hasRoomFor = (underWay: number) =>
    !loads.isSlowForSeveral(STRAINED_WRITE_MS) || hasRoom(loads.load(), underWay)
  const mayTake = (underWay = 0) => told(isAway() ? mayProbe() : hasRoomFor(underWay))
  const mayTakeOf = (accountId: string) => {
    const load = loads.loadOf(accountId)
    // Where it is away for all, this was let through to find out.
    return told(isAway(load) && !isAway() ? mayProbe() : hasRoom(load, 0))
  }
  return {
    mayTake,
    mayGoOn: (underWay) => told(hasRoomFor(underWay)),
    mayTakeOf,
    requireRoom(accountId) {
      if (accountId === undefined ? mayTake() : mayTakeOf(accountId)) return
      throw problem('service_unavailable', 'The service is too busy; nothing was changed.', {
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      })
    },
    isStrained: () => isAway() || loads.isSlowForSeveral(STRAINED_WRITE_MS),
    load: () => loads.load(),
  }
}

/** While writes wait for long, no more of them than ended lately: the last of them waits so long. */
function hasRoom({ waiting, oldestMs, endedLately }: WriteLoad, underWay: number): boolean {
  if (oldestMs < STRAINED_WRITE_MS) return true
  return Math.max(waiting, underWay) < Math.max(STRAINED_WRITES_MIN, endedLately)
}

// Measures waits and failures of writes, and decides whether the store can accept more.

import type { Clock } from '#platform/clock.ts'
import { problem, RETRY_AFTER_SECONDS } from '#platform/problem.ts'
import { SECOND_MS } from '#platform/units.ts'
import type { Db } from './db.ts'
import { asStorageError, isRefusal } from './storage-error.ts'

/** While writes are slow, at most as many may wait as ended within this time. */
const WRITES_COUNTED_MS = 5 * SECOND_MS
/** After this time without a failure, the store is presumed to work again. */
export const STORE_AWAY_MS = 10 * SECOND_MS

export type WriteLoad = {
  readonly waiting: number
  readonly oldestMs: number
  /** Writes that ended within the last WRITES_COUNTED_MS while others were waiting. */
  readonly endedLately: number
  /**
   * Consecutive failures. A success, an error of the write itself, or STORE_AWAY_MS without a
   * failure resets the number. Failures of a single account affect only that account.
   */
  readonly failures: number
}

type WriteLoads = {
  load(): WriteLoad
  loadOf(accountId: string): WriteLoad
  /** False if only writes of one account are slow, because they may be waiting for each other. */
  isSlowForSeveral(ms: number): boolean
}

type MeasuredDb<Schema> = WriteLoads & { readonly db: Db<Schema> }

/** `onWrite` receives the duration of each write, including its wait. */
export function measureWrites<Schema>(
  db: Db<Schema>,
  clock: Pick<Clock, 'monotonic'>,
  onWrite: (durationMs: number) => void = () => {},
): MeasuredDb<Schema> {
  const all = openLoad(clock)
  const ofAccounts = new Map<string | null, Load>()
  const failures = openFailures(clock)

  const write: Db<Schema>['write'] = async (transaction, input, traceParent) => {
    const accountId = transaction.accountOf(input)
    const own = ofAccounts.get(accountId) ?? openLoad(clock)
    ofAccounts.set(accountId, own)
    const asked = { askedMs: clock.monotonic() }
    all.begin(asked)
    own.begin(asked)
    try {
      const value = await db.write(transaction, input, traceParent)
      failures.note(accountId, null)
      return value
    } catch (error) {
      failures.note(accountId, error)
      throw error
    } finally {
      all.end(asked)
      own.end(asked)
      if (own.isEmpty()) ofAccounts.delete(accountId)
      onWrite(clock.monotonic() - asked.askedMs)
    }
  }
  return {
    db: { ...db, write },
    load: () => ({ ...all.read(), failures: failures.ofSeveral() }),
    loadOf(accountId) {
      const own = ofAccounts.get(accountId)?.read() ?? NO_WRITES
      return { ...own, failures: failures.of(accountId) }
    },
    isSlowForSeveral(ms) {
      if (all.read().oldestMs < ms) return false
      const slow = [...ofAccounts.values()].filter((load) => load.read().oldestMs >= ms)
      return slow.length > 1
    },
  }
}

const NO_WRITES = { waiting: 0, oldestMs: 0, endedLately: 0 }

function openFailures(clock: Pick<Clock, 'monotonic'>) {
  const accounts = new Set<string | null>()
  let count = 0
  let lastMs = 0
  let last: unknown
  const read = () => (count > 0 && clock.monotonic() - lastMs < STORE_AWAY_MS ? count : 0)
  return {
    /** `error` is null after a success. */
    note(accountId: string | null, error: unknown) {
      if (isRefusal(error)) return
      const kind = error === null ? undefined : asStorageError(error)?.kind
      if (kind === undefined) {
        count = 0
        accounts.clear()
      }
      if (kind !== 'busy' && kind !== 'unavailable') return
      // All writes of a failed group reject with the same error.
      if (error !== last) count += 1
      last = error
      lastMs = clock.monotonic()
      accounts.add(accountId)
    },
    ofSeveral: () => (accounts.size === 1 && !accounts.has(null) ? 0 : read()),
    of: (accountId: string) => (accounts.has(accountId) ? read() : 0),
  }
}

type Load = ReturnType<typeof openLoad>

function openLoad(clock: Pick<Clock, 'monotonic'>) {
  const underWay = new Set<{ askedMs: number }>()
  const ended = openRecentCount()
  return {
    begin: (asked: { askedMs: number }) => void underWay.add(asked),
    end(asked: { askedMs: number }) {
      underWay.delete(asked)
      if (underWay.size > 0) ended.add(clock.monotonic())
    },
    isEmpty: () => underWay.size === 0,
    read(): typeof NO_WRITES {
      const [oldest] = underWay
      if (oldest === undefined) return NO_WRITES
      const nowMs = clock.monotonic()
      const oldestMs = nowMs - oldest.askedMs
      return { waiting: underWay.size, oldestMs, endedLately: ended.count(nowMs) }
    },
  }
}

/** Counts events of the current and the previous half of WRITES_COUNTED_MS. */
function openRecentCount() {
  let half = 0
  let [current, previous] = [0, 0]
  const advance = (nowMs: number) => {
    const passed = Math.floor((2 * nowMs) / WRITES_COUNTED_MS) - half
    if (passed > 0) [previous, current] = [passed === 1 ? current : 0, 0]
    half += passed
  }
  return {
    add(nowMs: number) {
      advance(nowMs)
      current += 1
    },
    count(nowMs: number) {
      advance(nowMs)
      return current + previous
    },
  }
}

export const STRAINED_WRITE_MS = 3 * SECOND_MS
/** Writes that may always wait, even while writes are slow, to absorb a burst. */
export const STRAINED_WRITES_MIN = 32
/** After this many consecutive failures, the store is only probed, every STORE_PROBE_MS. */
export const STORE_FAILURES_MAX = 3
export const STORE_PROBE_MS = SECOND_MS / 2

export type StorePressure = {
  /** `underWay`: operations that will write. While the store is down, only probes are allowed. */
  mayTake(underWay?: number): boolean
  /** Like `mayTake`, but for an expensive step of an operation that was already accepted. */
  mayContinue(underWay: number): boolean
  mayTakeOf(accountId: string): boolean
  /** Throws `service_unavailable` with a retry time. */
  requireRoom(accountId?: string): void
  isStrained(): boolean
  load(): WriteLoad
}

/** If only writes of one account are slow, only that account is refused. */
export function openStorePressure(options: {
  loads: WriteLoads
  clock: Pick<Clock, 'monotonic'>
  onRefused?: () => void
}): StorePressure {
  const { loads, clock, onRefused = () => {} } = options
  let probedAtMs = Number.NEGATIVE_INFINITY
  const noted = (mayCome: boolean) => {
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
  const mayTake = (underWay = 0) => noted(isAway() ? mayProbe() : hasRoomFor(underWay))
  const mayTakeOf = (accountId: string) => {
    const load = loads.loadOf(accountId)
    // If the store is down for all accounts, this write was already admitted as a probe.
    return noted(isAway(load) && !isAway() ? mayProbe() : hasRoom(load, 0))
  }
  return {
    mayTake,
    mayContinue: (underWay) => noted(hasRoomFor(underWay)),
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

/**
 * While writes wait too long, accepts no more writes than have recently ended, so that waits do not
 * grow.
 */
function hasRoom({ waiting, oldestMs, endedLately }: WriteLoad, underWay: number): boolean {
  if (oldestMs < STRAINED_WRITE_MS) return true
  return Math.max(waiting, underWay) < Math.max(STRAINED_WRITES_MIN, endedLately)
}

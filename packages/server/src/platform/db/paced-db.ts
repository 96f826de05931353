// The database port with a fair share of the writes for each account, so that a flood for one account is
// not between another's mail and its commit; and with figures of how writes fare.

import type { Clock } from '#platform/clock.ts'
import { problem, RETRY_AFTER_SECONDS } from '#platform/problem.ts'
import { Semaphore } from '#platform/semaphore.ts'
import { SECOND_MS } from '#platform/units.ts'
import type { Db, Engine } from './db.ts'
import { COMMIT_GROUP_MAX } from './sqlite-writer.ts'
import { asStorageError, tooManyWrites } from './storage-error.ts'
import {
  groupWrites,
  POSTGRES_WRITES_MAX,
  WRITE_QUEUE_MAX,
  WRITE_WAIT_MS_MAX,
} from './write-groups.ts'

/** Then no more writes are taken on than ended in so long, which is what the last of them will wait. */
const WRITES_COUNTED_SECONDS = 5
/** Where the last failure is longer ago nobody tries: it is taken for there again. */
export const STORE_AWAY_MS = 10 * SECOND_MS

/** Of all writes, or of those of one account. */
export type WriteLoad = {
  /** Writes that wait or are under way. */
  readonly waiting: number
  /** How long the oldest of them has been there. */
  readonly oldestMs: number
  /** Writes that ended within the last WRITES_COUNTED_SECONDS, while others waited. */
  readonly endedLately: number
  /**
   * In a row, for a store that is busy or away; what was done, or failed for itself, ends the row, and so
   * do STORE_AWAY_MS without one more. Where all of them were of one account they are that one's alone.
   */
  readonly failures: number
}

type WriteLoads = {
  load(): WriteLoad
  loadOf(accountId: string): WriteLoad
  /** Whether writes of several accounts wait for so long: it is not for each other that they wait. */
  isSlowForSeveral(ms: number): boolean
}

type PacedDb<Schema> = WriteLoads & { readonly db: Db<Schema> }

/** The same database; its loads are cheap enough to be asked for every message. */
export function paceWrites<Schema>(
  db: Db<Schema>,
  clock: Pick<Clock, 'monotonic'>,
): PacedDb<Schema> {
  const slots = new Semaphore({ ...boundsOf(db), preferredKey: '', refuse: tooManyWrites })
  const all = openLoad(clock)
  const ofAccounts = new Map<string | null, Load>()
  const failures = openFailures(clock)
  const { writeGroup } = db
  const writeInGroup =
    writeGroup && groupWrites({ writeGroup, slots, onSettled: failures.noteResult })

  const write: Db<Schema>['write'] = async (transaction, input, traceParent) => {
    const accountId = transaction.accountOf(input)
    const own = ofAccounts.get(accountId) ?? openLoad(clock)
    ofAccounts.set(accountId, own)
    const asked = { askedMs: clock.monotonic() }
    all.begin(asked)
    own.begin(asked)
    try {
      const write = traceParent === undefined ? { input } : { input, traceParent }
      const grouped = writeInGroup?.(transaction, write) ?? null
      if (grouped !== null) return await grouped
      return await slots.run({ key: accountId ?? '' }, async () => {
        const [result] = await Promise.allSettled([db.write(transaction, input, traceParent)])
        failures.noteResult(accountId, result)
        if (result.status === 'rejected') throw result.reason
        return result.value
      })
    } finally {
      all.end(asked)
      own.end(asked)
      if (own.isEmpty()) ofAccounts.delete(accountId)
    }
  }
  return {
    db: { ...db, write },
    load: () => ({ ...all.read(), failures: failures.ofSeveral() }),
    loadOf(accountId) {
      const own = ofAccounts.get(accountId)?.read() ?? NOTHING
      return { ...own, failures: failures.of(accountId) }
    },
    isSlowForSeveral(ms) {
      if (all.read().oldestMs < ms) return false
      let slow = 0
      for (const load of ofAccounts.values()) {
        if (load.read().oldestMs >= ms) slow += 1
        if (slow > 1) return true
      }
      return false
    },
  }
}

/**
 * One account leaves a slot to the others, for writes of one account wait for each other's rows; so does
 * the service, which has every second slot and whose writes may wait for those of an account.
 */
function boundsOf({ engine }: { engine: Engine }) {
  const waitingPerKeyMax = WRITE_QUEUE_MAX / 2
  if (engine === 'postgres') {
    const limit = POSTGRES_WRITES_MAX
    return { limit, limitPerKey: limit - 1, waitingPerKeyMax, waitMsMax: WRITE_WAIT_MS_MAX }
  }
  // So that the next commit is full, also where one account writes.
  const limit = 4 * COMMIT_GROUP_MAX
  return { limit, limitPerKey: limit - COMMIT_GROUP_MAX, waitingPerKeyMax, waitMsMax: null }
}

const NOTHING = { waiting: 0, oldestMs: 0, endedLately: 0 }

/** In a row, of a store that is busy or away. */
function openFailures(clock: Pick<Clock, 'monotonic'>) {
  const accounts = new Set<string | null>()
  let count = 0
  let lastMs = 0
  const read = () => (count > 0 && clock.monotonic() - lastMs < STORE_AWAY_MS ? count : 0)
  return {
    noteResult(accountId: string | null, result: PromiseSettledResult<unknown>) {
      const kind = result.status === 'rejected' ? asStorageError(result.reason)?.kind : undefined
      if (kind === undefined) {
        count = 0
        accounts.clear()
      }
      if (kind !== 'busy' && kind !== 'unavailable') return
      count += 1
      lastMs = clock.monotonic()
      accounts.add(accountId)
    },
    ofSeveral: () => (accounts.size === 1 && !accounts.has(null) ? 0 : read()),
    of: (accountId: string) => (accounts.has(accountId) ? read() : 0),
  }
}

type Load = ReturnType<typeof openLoad>

/** Of writes, each by the time when it was asked for. */
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
    read(): typeof NOTHING {
      const [oldest] = underWay
      if (oldest === undefined) return NOTHING
      const nowMs = clock.monotonic()
      const oldestMs = nowMs - oldest.askedMs
      return { waiting: underWay.size, oldestMs, endedLately: ended.count(nowMs) }
    },
  }
}

/** Counts of this second and of WRITES_COUNTED_SECONDS before it. */
function openRecentCount() {
  // Most accounts have one write at a time, of which nothing is counted.
  let counts: number[] | null = null
  let second = 0
  const turn = (all: number[], nowMs: number) => {
    const current = Math.floor(nowMs / 1000)
    const passed = Math.min(current - second, all.length)
    for (let index = 1; index <= passed; index++) all[(second + index) % all.length] = 0
    second = current
    return current % all.length
  }
  return {
    add(nowMs: number) {
      counts ??= new Array<number>(WRITES_COUNTED_SECONDS + 1).fill(0)
      const index = turn(counts, nowMs)
      counts[index] = (counts[index] ?? 0) + 1
    },
    count(nowMs: number) {
      if (counts === null) return 0
      turn(counts, nowMs)
      return counts.reduce((sum, count) => sum + count, 0)
    },
  }
}

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

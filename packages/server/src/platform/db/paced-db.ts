// The database port with writes in turn by account, so that a flood for one account is not between
// another's mail and its commit; and with what is known of how writes fare.

import type { Clock } from '#platform/clock.ts'
import { SECOND_MS } from '#platform/units.ts'
import type { Db } from '#schema/tables.ts'
import { FairTurns } from './fair-turns.ts'
import { POSTGRES_WRITES_MAX } from './postgres.ts'
import { COMMIT_GROUP_MAX } from './sqlite-writer.ts'
import { asStorageError } from './storage-error.ts'
import { WRITE_QUEUE_MAX, WRITE_WAIT_MS_MAX, WriteGroups } from './write-groups.ts'

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

export type WriteLoads = {
  load(): WriteLoad
  loadOf(owner: string): WriteLoad
  /** Whether writes of several accounts wait for so long: it is not for each other that they wait. */
  isSlowForSeveral(ms: number): boolean
}

export type PacedDb = WriteLoads & { readonly db: Db }

/** The same database; its loads are cheap enough to be asked for every message. */
export function paceWrites(db: Db, clock: Pick<Clock, 'monotonic'>): PacedDb {
  const turns = new FairTurns(boundsOf(db))
  const all = openLoad(clock)
  const ofOwners = new Map<string | null, Load>()
  let next = 0
  const failures = openFailures(clock)
  const groups =
    db.writeGroup &&
    new WriteGroups({
      writeGroup: db.writeGroup,
      turns,
      onSettled(owner, result) {
        if (result.status === 'fulfilled') failures.end()
        else failures.note(result.reason, owner)
      },
    })

  const write: Db['write'] = async (transaction, input, traceParent) => {
    const id = next++
    const owner = transaction.accountOf(input)
    const own = ofOwners.get(owner) ?? openLoad(clock)
    ofOwners.set(owner, own)
    const askedMs = clock.monotonic()
    all.begin(id, askedMs)
    own.begin(id, askedMs)
    try {
      const write = traceParent === undefined ? { input } : { input, traceParent }
      const grouped = groups?.write(transaction, write) ?? null
      if (grouped !== null) return await grouped
      const turn = turns.take(owner)
      if (turn !== null) await turn
      try {
        const value = await db.write(transaction, input, traceParent)
        failures.end()
        return value
      } catch (error) {
        failures.note(error, owner)
        throw error
      } finally {
        turns.give(owner)
      }
    } finally {
      const endedMs = clock.monotonic()
      all.end(id, endedMs)
      own.end(id, endedMs)
      if (own.isEmpty()) ofOwners.delete(owner)
    }
  }
  return {
    db: { ...db, write },
    load: () => ({ ...all.read(), failures: failures.ofSeveral() }),
    loadOf(owner) {
      const own = ofOwners.get(owner)?.read() ?? NOTHING
      return { ...own, failures: failures.of(owner) }
    },
    isSlowForSeveral(ms) {
      if (all.read().oldestMs < ms) return false
      let slow = 0
      for (const load of ofOwners.values()) {
        if (load.read().oldestMs >= ms) slow += 1
        if (slow > 1) return true
      }
      return false
    },
  }
}

const NOTHING = { waiting: 0, oldestMs: 0, endedLately: 0 }

/** In a row, of a store that is busy or away. */
function openFailures(clock: Pick<Clock, 'monotonic'>) {
  const owners = new Set<string | null>()
  let count = 0
  let lastMs = 0
  const end = () => {
    count = 0
    owners.clear()
  }
  const read = () => (count > 0 && clock.monotonic() - lastMs < STORE_AWAY_MS ? count : 0)
  return {
    note(error: unknown, owner: string | null) {
      const kind = asStorageError(error)?.kind
      if (kind === undefined) end()
      if (kind !== 'busy' && kind !== 'unavailable') return
      count += 1
      lastMs = clock.monotonic()
      owners.add(owner)
    },
    end,
    ofSeveral: () => (owners.size === 1 && !owners.has(null) ? 0 : read()),
    of: (owner: string) => (owners.has(owner) ? read() : 0),
  }
}

type Load = ReturnType<typeof openLoad>

function openLoad(clock: Pick<Clock, 'monotonic'>) {
  const since = new Map<number, number>()
  const ended = openRecentCount()
  return {
    begin: (id: number, nowMs: number) => void since.set(id, nowMs),
    end(id: number, nowMs: number) {
      since.delete(id)
      if (since.size > 0) ended.add(nowMs)
    },
    isEmpty: () => since.size === 0,
    read(): typeof NOTHING {
      const { value: oldest } = since.values().next()
      if (oldest === undefined) return NOTHING
      const nowMs = clock.monotonic()
      return { waiting: since.size, oldestMs: nowMs - oldest, endedLately: ended.count(nowMs) }
    },
  }
}

/**
 * One owner leaves a turn to the others, for writes of one account wait for each other's rows; so does
 * the service, whose writes may wait for those of an account.
 */
function boundsOf({ engine }: Db) {
  const waitingEachMax = WRITE_QUEUE_MAX / 2
  if (engine === 'postgres') {
    const atOnce = POSTGRES_WRITES_MAX
    return { atOnce, eachMax: atOnce - 1, waitingEachMax, waitMsMax: WRITE_WAIT_MS_MAX }
  }
  // So that the next commit is full, also where one account writes.
  const atOnce = 4 * COMMIT_GROUP_MAX
  return { atOnce, eachMax: atOnce - COMMIT_GROUP_MAX, waitingEachMax, waitMsMax: null }
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

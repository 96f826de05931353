// Limits across processes that share a database. Each process counts uses in memory and records
// them in batches. Every occupied slot is recorded.

import {
  addUses,
  endHolder,
  freeSlot,
  keepSlots,
  type RecordedUses,
  sweepLimits,
  takeSlot,
} from '#limits/store/limits.ts'
import { raceAbort } from '#platform/abort.ts'
import { StorageError } from '#platform/db/storage-error.ts'
import { withStorageProblem } from '#platform/problem.ts'
import { MINUTE_MS, SECOND_MS } from '#platform/units.ts'
import type { QueueClock } from '#queue/queue-clock.ts'
import type { Store } from '#store/store.ts'
import {
  type Allowance,
  type Budgets,
  type HeldSlot,
  LIMITER_ENTRIES_MAX,
  openOwnBudgets,
  type RateWindow,
  releasedOnce,
  type SlotOptions,
  type WindowOptions,
} from './budgets.ts'

/**
 * The interval of recording. Processes may exceed a limit by the uses that they allow in this time.
 */
const BATCH_MS = 50
const KEYS_PER_BATCH = 100
/** If a process has not renewed for this time, its slots are free. */
const HOLDER_MS = 30 * SECOND_MS
const RENEW_MS = 5 * SECOND_MS
/** A client may reconnect to another process before the release of its slot is recorded. */
const SLOT_WAIT_MS = 200
const SWEEP_MS = MINUTE_MS
const CLOSE_MS_MAX = SECOND_MS

type LimitDeps = Store & { queueClock: QueueClock }

/** Create one per process and close it before the database. */
export function openBudgets(deps: LimitDeps): Budgets {
  return deps.db.engine === 'sqlite' ? openOwnBudgets(deps.clock) : openSharedBudgets(deps)
}

function openSharedBudgets(deps: LimitDeps): Budgets {
  const { db, queueClock, log } = deps
  const slots = holdSlots(deps)
  let sweptMs = queueClock.now()
  async function maintain(): Promise<void> {
    try {
      await queueClock.check()
      await slots.renew()
      let isMore = queueClock.now() - sweptMs >= SWEEP_MS
      if (isMore) sweptMs = queueClock.now()
      while (isMore) isMore = await db.write(sweepLimits, { nowMs: queueClock.now() })
    } catch (error) {
      log.debug({ error }, 'shared limits could not be maintained')
    }
  }
  const timer = setInterval(() => void maintain(), RENEW_MS).unref()
  return {
    openWindow: (options) => sharedWindow(options, deps),
    openSlots: slots.open,
    maintain,
    async close() {
      clearInterval(timer)
      await raceAbort(slots.close(), { timeoutMs: CLOSE_MS_MAX })
    },
  }
}

type Count = {
  readonly name: string
  /** Uses recorded by all processes; null before the first batch. */
  used: number | null
  /** Uses in this process that have not been recorded yet. */
  added: number
  endsAtMs: number
  /** The recorded uses before the first batch of this process. */
  readonly found: PromiseWithResolvers<number>
}

function newCount(name: string): Count {
  const found = Promise.withResolvers<number>()
  found.promise.catch(() => {})
  return { name, used: null, added: 0, endsAtMs: Infinity, found }
}

/** Adds this process's uses to the record and reads the uses of other processes. */
async function recordUses(
  { db, queueClock }: LimitDeps,
  windowMs: number,
  batch: readonly Count[],
): Promise<void> {
  const nowMs = queueClock.now()
  const open = batch.filter(({ endsAtMs }) => endsAtMs > nowMs)
  const uses = open.map((count) => ({ name: count.name, used: count.added }))
  if (uses.length === 0) return
  const recorded = await db.write(addUses, { nowMs, windowMs, uses })
  for (const [index, count] of open.entries()) {
    const added = uses[index]?.used ?? 0
    const { used, endsAtMs } = recorded[index] as RecordedUses
    Object.assign(count, { used, endsAtMs, added: count.added - added })
    count.found.resolve(used - added)
  }
}

function sharedWindow({ name, limit, windowMs }: WindowOptions, deps: LimitDeps): RateWindow {
  const { queueClock } = deps
  /** Counts by key, in order of last use. */
  const counts = new Map<string, Count>()
  const due = new Set<Count>()
  let timer: NodeJS.Timeout | undefined
  let isRunning = false

  function countOf(key: string): Count {
    let count = counts.get(key)
    counts.delete(key)
    if (count === undefined || count.endsAtMs <= queueClock.now()) {
      if (due.size >= LIMITER_ENTRIES_MAX) {
        throw withStorageProblem(new StorageError('busy', 'Too many limits wait for the store.'))
      }
      count = newCount(`${name}:${key}`)
    }
    counts.set(key, count)
    const [leastUsed] = counts.keys()
    if (counts.size > LIMITER_ENTRIES_MAX && leastUsed !== undefined) counts.delete(leastUsed)
    return count
  }

  async function exchangeDue(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    if (isRunning) return
    isRunning = true
    // Requests in the same turn of the event loop share a batch.
    await null
    do {
      const batch = [...due].slice(0, KEYS_PER_BATCH)
      for (const count of batch) due.delete(count)
      await recordUses(deps, windowMs, batch).catch((error) => {
        for (const count of batch.filter(({ used }) => used === null)) {
          count.endsAtMs = 0
          count.found.reject(withStorageProblem(error))
        }
      })
    } while (due.size >= KEYS_PER_BATCH || due.values().some(({ used }) => used === null))
    isRunning = false
    if (due.size > 0) timer ??= setTimeout(exchangeDue, BATCH_MS).unref()
  }

  return {
    async take(key): Promise<Allowance> {
      const count = countOf(key)
      const { used } = count
      let total = (used ?? 0) + count.added + 1
      if (used === null || total <= limit) {
        count.added += 1
        const mine = count.added
        due.add(count)
        if (used !== null) timer ??= setTimeout(exchangeDue, BATCH_MS).unref()
        else {
          void exchangeDue()
          total = (await count.found.promise) + mine
        }
      }
      const waitMs = Math.max(0, count.endsAtMs - queueClock.now())
      return {
        isAllowed: total <= limit,
        limit,
        remaining: Math.max(0, limit - total),
        resetSeconds: Math.ceil(Math.min(waitMs, windowMs) / 1000),
      }
    },
  }
}

function holdSlots({ db, queueClock, makeId }: LimitDeps) {
  const holder = makeId('job')
  const held = new Set<string>()
  /** Released slots that have not been freed in the database yet. */
  const freed = new Set<string>()
  const untilMs = () => queueClock.now() + HOLDER_MS

  async function take(name: string, limit: number): Promise<HeldSlot | null> {
    const id = makeId('job')
    const slot = { id, name, limit, holder, nowMs: queueClock.now(), untilMs: untilMs() }
    const isTaken = await db.write(takeSlot, slot).catch((error) => {
      // The slot may have been recorded despite the error.
      freed.add(id)
      throw withStorageProblem(error)
    })
    if (!isTaken) return null
    held.add(id)
    return releasedOnce(() => {
      held.delete(id)
      freed.add(id)
      void db.write(freeSlot, { id }).then(
        () => freed.delete(id),
        () => {},
      )
    })
  }

  return {
    open: ({ name, limit }: SlotOptions) => ({
      async take(key: string): Promise<HeldSlot | null> {
        const slot = await take(`${name}:${key}`, limit)
        if (slot !== null) return slot
        await new Promise((resolve) => setTimeout(resolve, SLOT_WAIT_MS))
        return take(`${name}:${key}`, limit)
      },
    }),
    async renew(): Promise<void> {
      if (held.size + freed.size === 0) return
      const ids = [...freed]
      await db.write(keepSlots, { holder, untilMs: untilMs(), freed: ids })
      for (const id of ids) freed.delete(id)
    },
    close: () => db.write(endHolder, { holder }).catch(() => {}),
  }
}

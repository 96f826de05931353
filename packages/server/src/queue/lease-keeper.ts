// The delivery leases of one worker, which are renewed until they are dropped.

import type { Log } from '#platform/log.ts'
import { storageErrorKind } from '#platform/problem.ts'
import { SECOND_MS } from '#platform/units.ts'
import type { Db } from '#store/tables.ts'
import type { Head, Share } from './dispatched-queue.ts'
import type { LeasedQueue } from './leased-queue.ts'
import type { QueueClock } from './queue-clock.ts'

/** A lease with less time left is renewed before it is used to send anything. */
const LEASE_LEFT_MS_MIN = 10 * SECOND_MS

type Named = { readonly id: string }

export type LeaseKeeper<Held extends Named> = {
  listHeads(page: { after: Head; lanesEach: number; limit: number }): Promise<Head[]>
  lease(heads: readonly Share[], nowMs?: number): Promise<Held[]>
  /** Stops renewing these leases, except for deliveries that were leased again. */
  drop(held: readonly Held[]): void
  /**
   * Makes unattempted deliveries ready immediately. A new lease of such a delivery is not confirmed
   * before the last attempt of `withRetries`.
   */
  return(held: readonly Held[], withRetries?: Retrying): Promise<void>
  renew(): Promise<void>
  /** Returns the deliveries that are still leased with enough time left to send them. */
  confirm(held: readonly Held[]): Promise<Held[]>
  readyDue(onReady?: () => void, signal?: AbortSignal): Promise<void>
}

type Retrying = (run: () => Promise<void>) => Promise<void>

/** A retry delay longer than `backoffMaxMs` must come from a wrong clock. */
export function openLeaseKeeper<Held extends Named>(
  { db, queueClock }: { db: Db; queueClock: QueueClock },
  options: { queue: LeasedQueue<Held>; worker: string; leaseMs: number; backoffMaxMs: number },
): LeaseKeeper<Held> {
  const { queue, worker, leaseMs, backoffMaxMs } = options
  const inHand = new Map<string, Named>()
  const returns = trackReturns()
  let renewedAtMs = queueClock.now()
  const renewAfter = async (afterMs: number) => {
    const queueMs = queueClock.now()
    if (queueMs - renewedAtMs < afterMs) return
    if (inHand.size > 0) {
      const ids = [...inHand.keys()]
      await db.write(queue.renew, { worker, ids, untilMs: queueMs + leaseMs })
    }
    renewedAtMs = queueMs
  }
  const drop = (held: readonly Named[]) => {
    for (const one of held) if (inHand.get(one.id) === one) inHand.delete(one.id)
  }
  return {
    listHeads: ({ after, ...page }) => queue.listHeads(db, { ...after, ...page }),
    async lease(heads, nowMs) {
      const queueMs = queueClock.now()
      const lease = { worker, heads: [...heads], nowMs, leaseUntilMs: queueMs + leaseMs }
      const held = await db.write(queue.lease, lease)
      if (inHand.size === 0) renewedAtMs = queueMs
      for (const one of held) inHand.set(one.id, one)
      return held
    },
    drop,
    async return(held, withRetries = (run) => run()) {
      drop(held)
      const ids = held.map(({ id }) => id)
      await returns.run(ids, () => withRetries(() => db.write(queue.return, { worker, ids })))
    },
    renew: () => renewAfter(0),
    async confirm(group) {
      const ids = group.map(({ id }) => id)
      // A late retry of an earlier return would end the new lease.
      await returns.wait(ids)
      const isShort = ({ leaseUntilMs }: { leaseUntilMs: number }) =>
        leaseUntilMs < queueClock.now() + LEASE_LEFT_MS_MIN
      let held = await queue.findHeld(db, { worker, ids })
      if (held.some(isShort)) {
        await renewAfter(0)
        held = await queue.findHeld(db, { worker, ids })
      }
      const good = new Set(held.filter((one) => !isShort(one)).map(({ id }) => id))
      return group.filter(({ id }) => good.has(id))
    },
    async readyDue(onReady = () => {}, signal) {
      await queueClock.check()
      // After a suspension or a database outage, leases of running attempts seem expired. Renewing
      // them first prevents sending twice.
      await renewAfter(leaseMs / 2)
      const due = { queueMs: queueClock.now(), backoffMaxMs, leaseMs }
      if (!(await queue.hasDue(db, due))) return
      for (let hasMore = true; hasMore && signal?.aborted !== true; ) {
        hasMore = await db.write(queue.readyDue, due)
        onReady()
      }
    },
  }
}

function trackReturns() {
  const returning = new Map<string, Promise<void>>()
  const wait = (ids: string[]) => Promise.allSettled(ids.map((id) => returning.get(id)))
  return {
    wait,
    async run(ids: string[], giveBack: () => Promise<void>): Promise<void> {
      const earlier = wait(ids)
      const returned = giveBack().finally(() => earlier)
      for (const id of ids) returning.set(id, returned)
      try {
        await returned
      } finally {
        for (const id of ids) if (returning.get(id) === returned) returning.delete(id)
      }
    },
  }
}

const SETTLE_RETRY_MS = 500

/**
 * Retries `run` until the database is available or `signal` aborts. Losing the outcome of a
 * delivery would send accepted mail again.
 */
export async function retryUntilStored<Value>(
  { log }: { log: Log },
  { fields, signal }: { fields: object; signal: AbortSignal },
  run: () => Promise<Value>,
): Promise<Value> {
  for (let failures = 0; ; failures++) {
    try {
      return await run()
    } catch (error) {
      if (storageErrorKind(error) === null || signal.aborted) throw error
      if (failures === 0) log.warn({ error, ...fields }, 'a delivery is waiting for the database')
      await new Promise((resolve) => setTimeout(resolve, SETTLE_RETRY_MS))
    }
  }
}

/** Retries until the database is available or `signal` aborts; then the leases expire. */
export async function returnLeases<Held extends Named>(
  deps: { log: Log },
  held: readonly Held[],
  {
    leases,
    fields,
    signal,
  }: { leases: Pick<LeaseKeeper<Held>, 'return'>; fields: object; signal: AbortSignal },
): Promise<void> {
  try {
    await leases.return(held, (run) => retryUntilStored(deps, { fields, signal }, run))
  } catch (error) {
    if (storageErrorKind(error) === null) throw error
    deps.log.warn(
      { error, ...fields },
      'deliveries could not be released; their leases will expire',
    )
  }
}

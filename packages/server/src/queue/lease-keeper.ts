// What a worker of a queue has in its hands: leases that are renewed until it drops them, and what is due.

import type { Log } from '#platform/log.ts'
import { storageTrouble } from '#platform/problem.ts'
import { SECOND_MS } from '#platform/units.ts'
import type { DueInput } from './leased-queue-rows.ts'
import type { QueueClock } from './queue-clock.ts'

/** A lease that ends sooner is renewed before anything is sent under it. */
const LEASE_LEFT_MS_MIN = 10 * SECOND_MS

type Named = { readonly id: string }

type LeaseStore = {
  renew(ids: string[], untilMs: number): Promise<void>
  /** Of these, what the worker still holds. */
  findHeld(ids: string[]): Promise<{ id: string; leaseUntilMs: number }[]>
  hasDue(due: DueInput): Promise<boolean>
  giveBack(ids: string[]): Promise<void>
  /** One step; true when there may be more. */
  readyDue(due: DueInput): Promise<boolean>
}

export type LeaseKeeper = {
  /** What was claimed at this time of the queue. */
  take(held: readonly Named[], queueMs: number): void
  /** What it lost sight of is not renewed, and comes back. What was claimed anew since stays. */
  drop(held: readonly Named[]): void
  /**
   * The same for what was not attempted, which comes back at once. `patiently` may run it several
   * times: nothing that is claimed anew meanwhile is confirmed before the last of them.
   */
  giveBack(held: readonly Named[], patiently?: Patience): Promise<void>
  renew(): Promise<void>
  /** Of these, what is still held with time enough to send it. */
  confirm<Held extends Named>(held: readonly Held[]): Promise<Held[]>
  /** See `DispatchedQueue`. */
  readyDue(onReady?: () => void, signal?: AbortSignal): Promise<void>
}

type Patience = (run: () => Promise<void>) => Promise<void>

/** `backoffMaxMs`: nothing waits for longer, except what a wrong clock has written. */
export function openLeaseKeeper(
  queueClock: QueueClock,
  options: { leaseMs: number; backoffMaxMs: number; store: LeaseStore },
): LeaseKeeper {
  const { leaseMs, backoffMaxMs, store } = options
  const inHand = new Map<string, Named>()
  const returning = new Map<string, Promise<void>>()
  let renewedAtMs = queueClock.now()
  const renewAfter = async (afterMs: number) => {
    const queueMs = queueClock.now()
    if (queueMs - renewedAtMs < afterMs) return
    if (inHand.size > 0) await store.renew([...inHand.keys()], queueMs + leaseMs)
    renewedAtMs = queueMs
  }
  const drop = (held: readonly Named[]) => {
    for (const one of held) if (inHand.get(one.id) === one) inHand.delete(one.id)
  }
  const untilReturned = (ids: string[]) => Promise.allSettled(ids.map((id) => returning.get(id)))
  return {
    take(held, queueMs) {
      if (inHand.size === 0) renewedAtMs = queueMs
      for (const one of held) inHand.set(one.id, one)
    },
    drop,
    async giveBack(held, patiently = (run) => run()) {
      drop(held)
      const ids = held.map(({ id }) => id)
      const earlier = untilReturned(ids)
      const returned = patiently(() => store.giveBack(ids)).finally(() => earlier)
      for (const id of ids) returning.set(id, returned)
      try {
        await returned
      } finally {
        for (const id of ids) if (returning.get(id) === returned) returning.delete(id)
      }
    },
    renew: () => renewAfter(0),
    async confirm(group) {
      const ids = group.map(({ id }) => id)
      // A return whose answer was lost, and which is tried again, must not be of this claim.
      await untilReturned(ids)
      const isShort = ({ leaseUntilMs }: { leaseUntilMs: number }) =>
        leaseUntilMs < queueClock.now() + LEASE_LEFT_MS_MIN
      let held = await store.findHeld(ids)
      if (held.some(isShort)) {
        await renewAfter(0)
        held = await store.findHeld(ids)
      }
      const good = new Set(held.filter((one) => !isShort(one)).map(({ id }) => id))
      return group.filter(({ id }) => good.has(id))
    },
    async readyDue(onReady = () => {}, signal) {
      await queueClock.check()
      // After a stop of the process or an outage of the store the leases of what is under way seem to
      // have ended: it would be sent twice.
      await renewAfter(leaseMs / 2)
      const due = { queueMs: queueClock.now(), backoffMaxMs, leaseMs }
      // A look costs nothing, a write a commit.
      if (!(await store.hasDue(due))) return
      for (let hasMore = true; hasMore && signal?.aborted !== true; ) {
        hasMore = await store.readyDue(due)
        onReady()
      }
    },
  }
}

/** Between tries to record an outcome while the store is away. */
const SETTLE_RETRY_MS = 500

/**
 * What `run` gives. A store that is away says nothing about a receiver, and what one has taken must
 * not be sent again for it: tried until it is back, or `signal` is aborted. `fields` are for the log.
 */
export async function outlastStore<Value>(
  { log }: { log: Log },
  { fields, signal }: { fields: object; signal: AbortSignal },
  run: () => Promise<Value>,
): Promise<Value> {
  for (let failures = 0; ; failures++) {
    try {
      return await run()
    } catch (error) {
      if (storageTrouble(error) === null || signal.aborted) throw error
      if (failures === 0) log.warn({ error, ...fields }, 'a delivery is waiting for the database')
      await new Promise((resolve) => setTimeout(resolve, SETTLE_RETRY_MS))
    }
  }
}

/**
 * Tried until the store is back, or `signal` is aborted: then the leases end by themselves. `fields` are
 * for the log.
 */
export async function giveBack(
  deps: { log: Log },
  held: readonly { readonly id: string }[],
  {
    leases,
    fields,
    signal,
  }: { leases: Pick<LeaseKeeper, 'giveBack'>; fields: object; signal: AbortSignal },
): Promise<void> {
  try {
    await leases.giveBack(held, (run) => outlastStore(deps, { fields, signal }, run))
  } catch (error) {
    if (storageTrouble(error) === null) throw error
    deps.log.warn(
      { error, ...fields },
      'deliveries could not be released; their leases will expire',
    )
  }
}

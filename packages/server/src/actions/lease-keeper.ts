// What a worker of a queue has in its hands: leases that are renewed until it lets go, and what is due.

import { LEASE_LEFT_MS_MIN } from '#base/limits.ts'
import type { DueInput } from '#store/leased-queue.ts'
import type { QueueClock } from './delivery/queue-clock.ts'

type Named = { readonly id: string }

export type LeaseStore = {
  renew(ids: string[], untilMs: number): Promise<void>
  /** Of these, what the worker still holds. */
  findHeld(ids: string[]): Promise<{ id: string; leaseUntilMs: number }[]>
  hasDue(due: DueInput): Promise<boolean>
  /** One step; true when there may be more. */
  readyDue(due: DueInput): Promise<boolean>
}

export type LeaseKeeper = {
  /** What was claimed at this time of the queue. */
  take(held: readonly Named[], queueMs: number): void
  /** What it lost sight of is not renewed, and comes back. */
  letGo(held: readonly Named[]): void
  renew(): Promise<void>
  /** Of these, what is still held with time enough to send it. */
  confirm<Held extends Named>(held: readonly Held[]): Promise<Held[]>
  /** See `DispatchedQueue`. */
  readyDue(onReady?: () => void, signal?: AbortSignal): Promise<void>
}

/** `backoffMaxMs`: nothing waits for longer, except what a wrong clock has written. */
export function openLeaseKeeper(
  queueClock: QueueClock,
  options: { leaseMs: number; backoffMaxMs: number; store: LeaseStore },
): LeaseKeeper {
  const { leaseMs, backoffMaxMs, store } = options
  const inHand = new Set<string>()
  let renewedAtMs = queueClock.now()
  const renewAfter = async (afterMs: number) => {
    const queueMs = queueClock.now()
    if (queueMs - renewedAtMs < afterMs) return
    if (inHand.size > 0) await store.renew([...inHand], queueMs + leaseMs)
    renewedAtMs = queueMs
  }
  return {
    take(held, queueMs) {
      if (inHand.size === 0) renewedAtMs = queueMs
      for (const { id } of held) inHand.add(id)
    },
    letGo(held) {
      for (const { id } of held) inHand.delete(id)
    },
    renew: () => renewAfter(0),
    async confirm(group) {
      const ids = group.map(({ id }) => id)
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

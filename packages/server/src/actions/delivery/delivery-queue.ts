// The queue of deliveries in the hands of one worker, with what it needs to know of clocks and leases.

import type { Deps } from '#actions/deps.ts'
import { DELIVERY_LEASE_MS } from '#base/limits.ts'
import { BACKOFF_MS_MAX } from '#jobs/delivery-schedule.ts'
import { domainOf } from '#model/inbox.ts'
import type { HeldDelivery } from '#store/delivery.ts'
import * as store from '#store/delivery.ts'
import { hasDueDeliveries } from '#store/due-deliveries.ts'
import { type DeliverDeps, deliver, type Group, type GroupOutcome } from './deliver.ts'

export type { Group, GroupOutcome, HeldDelivery }

export type DeliveryQueue = {
  /** Up to `limit` lanes with deliveries that nobody holds, by name, after `after`. */
  listReadyLanes(after: string, limit: number): Promise<string[]>
  claim(lanes: { lane: string; limit: number }[]): Promise<HeldDelivery[]>
  /** Deliveries of one claim that go together: the same message by the same next hop. */
  group(held: readonly HeldDelivery[]): Group[]
  /** Makes due deliveries ready, and those of a process that is gone; tells whenever some may be. */
  readyDue(onReady?: () => void): Promise<void>
  /** Lengthens the leases of all that was claimed here and is neither delivered nor given back. */
  renew(): Promise<void>
  /** Gives back what was not attempted. */
  giveBack(held: readonly HeldDelivery[]): Promise<void>
  /** See `deliver`. */
  deliver(group: Group, signal: AbortSignal): Promise<GroupOutcome>
}

/** `worker` is a name that no other process has. */
export function openDeliveryQueue(
  deps: DeliverDeps & Pick<Deps, 'laneOf'>,
  worker: string,
): DeliveryQueue {
  const { db, clock } = deps
  /** Ids of what this worker has in its hands; what it lost sight of is not renewed, and comes back. */
  const inHand = new Set<string>()
  let renewedAtMs = clock.now()
  const letGo = (held: readonly HeldDelivery[]) => {
    for (const { id } of held) inHand.delete(id)
  }
  const renew = async () => {
    const nowMs = clock.now()
    const untilMs = nowMs + DELIVERY_LEASE_MS
    if (inHand.size > 0) await db.write('renewDeliveries', { worker, ids: [...inHand], untilMs })
    renewedAtMs = nowMs
  }
  return {
    async listReadyLanes(after, limit) {
      const rows = await store.listReadyLanes(db, { after, limit })
      return rows.map((row) => row.lane)
    },
    async claim(lanes) {
      const claim = { worker, lanes, nowMs: clock.now(), leaseMs: DELIVERY_LEASE_MS }
      const held = await db.write('claimDeliveries', claim)
      if (inHand.size === 0) renewedAtMs = claim.nowMs
      for (const { id } of held) inHand.add(id)
      return held
    },
    group(held) {
      const groups = new Map<string, [HeldDelivery, ...HeldDelivery[]]>()
      for (const delivery of held) {
        // By the next hop of today: what was queued under another mode of delivery has another lane.
        const key = `${delivery.message_id} ${deps.laneOf(domainOf(delivery.recipient))}`
        const group = groups.get(key)
        if (group === undefined) groups.set(key, [delivery])
        else group.push(delivery)
      }
      return [...groups.values()]
    },
    async readyDue(onReady = () => {}) {
      // After a stop of the process, a step of the clock or an outage of the store the leases of what
      // is under way seem to have ended: it would be sent twice.
      if (Math.abs(clock.now() - renewedAtMs) > DELIVERY_LEASE_MS / 2) await renew()
      const due = {
        steadyMs: clock.steady(),
        nowMs: clock.now(),
        backoffMaxMs: BACKOFF_MS_MAX,
        leaseMs: DELIVERY_LEASE_MS,
      }
      // A look costs nothing, a write a commit.
      if (!(await hasDueDeliveries(db, due))) return
      while (await db.write('readyDueDeliveries', due)) onReady()
      onReady()
    },
    renew,
    async giveBack(held) {
      letGo(held)
      await db.write('returnDeliveries', { worker, ids: held.map((delivery) => delivery.id) })
    },
    async deliver(group, signal) {
      try {
        return await deliver(deps, group, { worker, signal })
      } finally {
        letGo(group)
      }
    },
  }
}

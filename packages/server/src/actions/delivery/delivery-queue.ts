// The queue of deliveries in the hands of one worker, with what it needs to know of clocks and leases.

import type { Deps } from '#actions/deps.ts'
import { DELIVERY_LEASE_MS } from '#base/limits.ts'
import { BACKOFF_MS_MAX } from '#jobs/delivery-schedule.ts'
import { domainOf } from '#model/inbox.ts'
import type { HeldDelivery } from '#store/delivery.ts'
import * as store from '#store/delivery.ts'
import { type DeliverDeps, deliver, type Group, type GroupOutcome } from './deliver.ts'

export type { Group, GroupOutcome, HeldDelivery }

export type DeliveryQueue = {
  /** Up to `limit` lanes with deliveries that nobody holds, by name, after `after`. */
  listReadyLanes(after: string, limit: number): Promise<string[]>
  claim(lanes: { lane: string; limit: number }[]): Promise<HeldDelivery[]>
  /** Deliveries of one claim that go together: the same message by the same next hop. */
  group(held: readonly HeldDelivery[]): Group[]
  /** Makes due deliveries ready, and those of a process that is gone. */
  readyDue(): Promise<void>
  /** Lengthens the leases of all that this worker holds. */
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
  return {
    async listReadyLanes(after, limit) {
      const rows = await store.listReadyLanes(db, { after, limit })
      return rows.map((row) => row.lane)
    },
    claim: (lanes) =>
      db.write('claimDeliveries', {
        worker,
        lanes,
        nowMs: clock.now(),
        leaseMs: DELIVERY_LEASE_MS,
      }),
    group(held) {
      // By the next hop of today: what was queued under another mode of delivery has another lane.
      const keyOf = ({ message_id, recipient }: HeldDelivery) =>
        `${message_id} ${deps.laneOf(domainOf(recipient))}`
      return [...Map.groupBy(held, keyOf).values()] as unknown as Group[]
    },
    async readyDue() {
      const due = {
        steadyMs: clock.steady(),
        nowMs: clock.now(),
        backoffMaxMs: BACKOFF_MS_MAX,
        leaseMs: DELIVERY_LEASE_MS,
      }
      // A look costs nothing, a write a commit.
      if (!(await store.hasDueDeliveries(db, due))) return
      while (await db.write('readyDueDeliveries', due));
    },
    renew: () => db.write('renewDeliveries', { worker, untilMs: clock.now() + DELIVERY_LEASE_MS }),
    giveBack: (held) =>
      db.write('returnDeliveries', { worker, ids: held.map((delivery) => delivery.id) }),
    deliver: (group, signal) => deliver(deps, group, { worker, signal }),
  }
}

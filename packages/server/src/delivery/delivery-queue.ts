// The queue of deliveries in the hands of one worker, with what it needs to know of clocks and leases.

import { domainOf } from '#inboxes/inbox.ts'
import * as store from '#outbound/delivery-claim-rows.ts'
import {
  claimDeliveries,
  type HeldDelivery,
  readyDueDeliveries,
  renewDeliveries,
  returnDeliveries,
} from '#outbound/delivery-claim-rows.ts'
import type { DispatchedQueue, GroupOutcome } from '#queue/dispatched-queue.ts'
import { DELIVERY_LEASE_MS } from '#queue/dispatcher-bounds.ts'
import { openLeaseKeeper } from '#queue/lease-keeper.ts'
import { BACKOFF_MS_MAX } from '#queue/retry-schedules.ts'
import { type DeliverDeps, deliver, type Group } from './deliver.ts'

export type { Group, GroupOutcome, HeldDelivery }

export type DeliveryQueue = DispatchedQueue<HeldDelivery>

/** `worker` is a name that no other process has. */
export function openDeliveryQueue(
  deps: DeliverDeps & { laneOf: (domain: string) => string },
  worker: string,
): DeliveryQueue {
  const { db, clock, queueClock } = deps
  const leases = openLeaseKeeper(queueClock, {
    leaseMs: DELIVERY_LEASE_MS,
    backoffMaxMs: BACKOFF_MS_MAX,
    store: {
      renew: (ids, untilMs) => db.write(renewDeliveries, { worker, ids, untilMs }),
      findHeld: (ids) => store.findHeld(db, { worker, ids }),
      hasDue: (due) => store.hasDueDeliveries(db, due),
      giveBack: (ids) => db.write(returnDeliveries, { worker, ids }),
      readyDue: (due) => db.write(readyDueDeliveries, due),
    },
  })
  return {
    listHeads: ({ after, ...page }) => store.listHeads(db, { ...after, ...page }),
    async claim(heads) {
      const queueMs = queueClock.now()
      const leaseUntilMs = queueMs + DELIVERY_LEASE_MS
      const claim = { worker, heads: [...heads], nowMs: clock.now(), leaseUntilMs }
      const held = await db.write(claimDeliveries, claim)
      leases.take(held, queueMs)
      return held
    },
    group: (held) => groupByDomain(held, deps.laneOf),
    readyDue: leases.readyDue,
    renew: leases.renew,
    giveBack: (held) => leases.giveBack(held),
    async deliver(group, signal, observer) {
      try {
        return await deliver(deps, group, { worker, signal, leases, onAnswer: observer?.onAnswer })
      } finally {
        leases.drop(group)
      }
    },
  }
}

/**
 * By the next hop of today, for what was queued under another mode of delivery has another lane; and
 * even where all mail has one next hop by domain: a group has one reverse-path, and who hears it may
 * report of all recipients of the group.
 */
function groupByDomain(held: readonly HeldDelivery[], laneOf: (domain: string) => string): Group[] {
  const groups = new Map<string, [HeldDelivery, ...HeldDelivery[]]>()
  for (const delivery of held) {
    const domain = domainOf(delivery.recipient)
    const key = `${delivery.message_id} ${laneOf(domain)} ${domain}`
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [delivery])
    else group.push(delivery)
  }
  return [...groups.values()]
}

// The queue of deliveries for one worker: claims, leases and attempts.

import { domainOf } from '#inboxes/inbox.ts'
import { deliveryQueue, type HeldDelivery } from '#outbound/delivery-claim-rows.ts'
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
  const leases = openLeaseKeeper(deps, {
    queue: deliveryQueue,
    worker,
    leaseMs: DELIVERY_LEASE_MS,
    backoffMaxMs: BACKOFF_MS_MAX,
  })
  return {
    ...leases,
    claim: (heads) => leases.claim(heads, deps.clock.now()),
    group: (held) => groupByDomain(held, deps.laneOf),
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
 * Groups by the current next hop, because a delivery that was queued under another mode of delivery has
 * another lane. Groups also by domain where all mail has one next hop: a group has one reverse-path, and the
 * server that gets it may report on all recipients of the group.
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

// The queue of deliveries in the hands of one worker, with what it needs to know of clocks and leases.

import type { Deps } from '#actions/deps.ts'
import { DELIVERY_LEASE_MS, LEASE_LEFT_MS_MIN } from '#base/limits.ts'
import { BACKOFF_MS_MAX } from '#jobs/delivery-schedule.ts'
import { domainOf } from '#model/inbox.ts'
import type { HeldDelivery } from '#store/delivery-claim.ts'
import * as store from '#store/delivery-claim.ts'
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
  readyDue(onReady?: () => void, signal?: AbortSignal): Promise<void>
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
  const { db, clock, queueClock } = deps
  const hand = openHand(deps, worker)
  return {
    async listReadyLanes(after, limit) {
      const rows = await store.listReadyLanes(db, { after, limit })
      return rows.map((row) => row.lane)
    },
    async claim(lanes) {
      const queueMs = queueClock.now()
      const leaseUntilMs = queueMs + DELIVERY_LEASE_MS
      const claim = { worker, lanes, nowMs: clock.now(), leaseUntilMs }
      const held = await db.write('claimDeliveries', claim)
      hand.take(held, queueMs)
      return held
    },
    group: (held) => groupByHop(held, deps.laneOf),
    async readyDue(onReady = () => {}, signal) {
      await queueClock.check()
      // After a stop of the process or an outage of the store the leases of what is under way seem to
      // have ended: it would be sent twice.
      await hand.renewAfter(DELIVERY_LEASE_MS / 2)
      const due = {
        queueMs: queueClock.now(),
        backoffMaxMs: BACKOFF_MS_MAX,
        leaseMs: DELIVERY_LEASE_MS,
      }
      // A look costs nothing, a write a commit.
      if (!(await hasDueDeliveries(db, due))) return
      for (let hasMore = true; hasMore && signal?.aborted !== true; ) {
        hasMore = await db.write('readyDueDeliveries', due)
        onReady()
      }
    },
    renew: () => hand.renewAfter(0),
    async giveBack(held) {
      hand.letGo(held)
      await db.write('returnDeliveries', { worker, ids: held.map((delivery) => delivery.id) })
    },
    async deliver(group, signal) {
      try {
        return await deliver(deps, group, { worker, signal, confirm: hand.confirm })
      } finally {
        hand.letGo(group)
      }
    },
  }
}

/** By the next hop of today: what was queued under another mode of delivery has another lane. */
function groupByHop(held: readonly HeldDelivery[], laneOf: Deps['laneOf']): Group[] {
  const groups = new Map<string, [HeldDelivery, ...HeldDelivery[]]>()
  for (const delivery of held) {
    const key = `${delivery.message_id} ${laneOf(domainOf(delivery.recipient))}`
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [delivery])
    else group.push(delivery)
  }
  return [...groups.values()]
}

/** What a worker has in its hands; what it lost sight of is not renewed, and comes back. */
function openHand({ db, queueClock }: Pick<Deps, 'db' | 'queueClock'>, worker: string) {
  const inHand = new Set<string>()
  let renewedAtMs = queueClock.now()
  const renewAfter = async (afterMs: number) => {
    const queueMs = queueClock.now()
    if (queueMs - renewedAtMs < afterMs) return
    const untilMs = queueMs + DELIVERY_LEASE_MS
    if (inHand.size > 0) await db.write('renewDeliveries', { worker, ids: [...inHand], untilMs })
    renewedAtMs = queueMs
  }
  return {
    renewAfter,
    take(held: readonly HeldDelivery[], queueMs: number) {
      if (inHand.size === 0) renewedAtMs = queueMs
      for (const { id } of held) inHand.add(id)
    },
    letGo(held: readonly HeldDelivery[]) {
      for (const { id } of held) inHand.delete(id)
    },
    /** Of the group, what is still held with time enough to send it. */
    async confirm(group: Group): Promise<HeldDelivery[]> {
      const ids = group.map((delivery) => delivery.id)
      const isShort = ({ leaseUntilMs }: { leaseUntilMs: number }) =>
        leaseUntilMs < queueClock.now() + LEASE_LEFT_MS_MIN
      let held = await store.findHeld(db, { worker, ids })
      if (held.some(isShort)) {
        await renewAfter(0)
        held = await store.findHeld(db, { worker, ids })
      }
      const good = new Set(held.filter((one) => !isShort(one)).map(({ id }) => id))
      return group.filter(({ id }) => good.has(id))
    },
  }
}

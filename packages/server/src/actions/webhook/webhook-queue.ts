// The queue of webhook deliveries in the hands of one worker. Each delivery goes alone; its lane is its
// webhook, so that one that is slow holds up no other.

import type { Deps } from '#actions/deps.ts'
import { openLeaseKeeper } from '#actions/lease-keeper.ts'
import { outlastStore } from '#actions/outlast-store.ts'
import { EVENT_BODY_BYTES_MAX, WEBHOOK_LEASE_MS } from '#base/limits.ts'
import type { DispatchedQueue, GroupOutcome } from '#jobs/dispatched-queue.ts'
import { WEBHOOK_WAIT_MS_MAX } from '#jobs/webhook-schedule.ts'
import type { HeldWebhookDelivery } from '#store/webhook-queue.ts'
import * as store from '#store/webhook-queue.ts'
import { type DeliverWebhookDeps, deliverWebhook, type WebhookOutcome } from './deliver-webhook.ts'

/** With the octets that its event takes, about. */
export type HeldWebhook = HeldWebhookDelivery & { readonly size_bytes: number }

export type WebhookQueue = DispatchedQueue<HeldWebhook>

/** `worker` is a name that no other process has. */
export function openWebhookQueue(
  deps: DeliverWebhookDeps & Pick<Deps, 'db'>,
  worker: string,
): WebhookQueue {
  const { db, clock, queueClock } = deps
  const leases = openLeaseKeeper(queueClock, {
    leaseMs: WEBHOOK_LEASE_MS,
    backoffMaxMs: WEBHOOK_WAIT_MS_MAX,
    store: {
      renew: (ids, untilMs) => db.write('renewWebhookDeliveries', { worker, ids, untilMs }),
      findHeld: (ids) => store.findHeldWebhookDeliveries(db, { worker, ids }),
      hasDue: (due) => store.hasDueWebhookDeliveries(db, due),
      readyDue: (due) => db.write('readyDueWebhookDeliveries', due),
    },
  })
  return {
    async listReadyLanes(after, limit) {
      const rows = await store.listReadyWebhooks(db, { after, limit })
      return rows.map((row) => row.lane)
    },
    async claim(lanes) {
      const queueMs = queueClock.now()
      const leaseUntilMs = queueMs + WEBHOOK_LEASE_MS
      const claim = { worker, lanes, nowMs: clock.now(), leaseUntilMs }
      const held = await db.write('claimWebhookDeliveries', claim)
      leases.take(held, queueMs)
      const eventIds = [...new Set(held.map((delivery) => delivery.event_id))]
      // What is not known is small; a look that fails must not cost what was claimed.
      const sizes = await store.findEventSizes(db, eventIds).catch(() => new Map<string, number>())
      return held.map((delivery) => ({
        ...delivery,
        size_bytes: Math.min(sizes.get(delivery.event_id) ?? 0, EVENT_BODIES_BYTES_MAX),
      }))
    },
    group: (held) => held.map((delivery) => [delivery]),
    readyDue: leases.readyDue,
    renew: leases.renew,
    async giveBack(held) {
      leases.letGo(held)
      const ids = held.map((delivery) => delivery.id)
      await db.write('returnWebhookDeliveries', { worker, ids })
    },
    async deliver([held], signal) {
      const fields = { webhook: held.lane, event: held.event_id }
      try {
        const ours = await outlastStore(deps, { fields, signal }, () => leases.confirm([held]))
        if (ours.length === 0) {
          // What is another's stays so.
          await db.write('returnWebhookDeliveries', { worker, ids: [held.id] })
          return 'returned'
        }
        return meaningOf(await deliverWebhook(deps, held, { worker, signal }))
      } finally {
        leases.letGo([held])
      }
    },
  }
}

/** Text, HTML and the new text of a reply. */
const EVENT_BODIES_BYTES_MAX = 3 * EVENT_BODY_BYTES_MAX

/** Any answer shows that the receiver is there. */
function meaningOf(outcome: WebhookOutcome): GroupOutcome {
  if (outcome.kind !== 'attempted') return 'returned'
  const { error } = outcome
  if (error === 'webhook_disabled' || error === 'internal_error') return 'returned'
  return outcome.responseStatus === null ? 'unreached' : 'reached'
}

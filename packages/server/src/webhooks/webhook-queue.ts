// The queue of webhook deliveries in the hands of one worker. Each delivery goes alone; its lane is its
// webhook, so that one that is slow holds up no other.

import { SHOWN_BODY_BYTES_MAX } from '@mailroom/contract/shapes/message.ts'
import type { DispatchedQueue, GroupOutcome } from '#queue/dispatched-queue.ts'
import { WEBHOOK_LEASE_MS } from '#queue/dispatcher-bounds.ts'
import { giveBack, openLeaseKeeper, outlastStore } from '#queue/lease-keeper.ts'
import { WEBHOOK_WAIT_MS_MAX } from '#queue/retry-schedules.ts'
import type { Db } from '#schema/tables.ts'
import { type DeliverWebhookDeps, deliverWebhook, type WebhookOutcome } from './deliver-webhook.ts'
import { openEventTexts } from './event-texts.ts'
import { findEventSizes, type HeldWebhookDelivery, webhookQueue } from './webhook-queue-rows.ts'

/** With the octets that its event takes while it is under way, at a guess. */
export type HeldWebhook = HeldWebhookDelivery & { readonly size_bytes: number }

export type WebhookQueue = DispatchedQueue<HeldWebhook>

/** `worker` is a name that no other process has. */
export function openWebhookQueue(
  deps: DeliverWebhookDeps & { db: Db },
  worker: string,
): WebhookQueue {
  const leases = openLeaseKeeper<HeldWebhookDelivery>(deps, {
    queue: webhookQueue,
    worker,
    leaseMs: WEBHOOK_LEASE_MS,
    backoffMaxMs: WEBHOOK_WAIT_MS_MAX,
  })
  const findText = openEventTexts(deps)
  return {
    ...leases,
    async claim(heads) {
      const held = await leases.claim(heads)
      const eventIds = [...new Set(held.map((delivery) => delivery.event_id))]
      // Should this read fail, the claim stands all the same.
      const sizes = await findEventSizes(deps.db, eventIds).catch(() => null)
      return held.map((delivery) => {
        const rawBytes = sizes === null ? EVENT_BYTES_GUESSED_MAX : sizes.get(delivery.event_id)
        return Object.assign(delivery, { size_bytes: guessBytes(rawBytes ?? 0) })
      })
    },
    group: (held) => held.map((delivery) => [delivery]),
    async deliver([held], signal, observer) {
      const fields = { webhook: held.lane, event: held.event_id }
      try {
        const ours = await outlastStore(deps, { fields, signal }, () => leases.confirm([held]))
        if (ours.length === 0) {
          // What is another's stays so.
          await giveBack(deps, [held], { leases, fields, signal })
          return 'returned'
        }
        const holding = { worker, signal, findText, ...(observer && { onSize: observer.onSize }) }
        return meaningOf(await deliverWebhook(deps, held, holding))
      } finally {
        leases.drop([held])
      }
    },
  }
}

/** Text, HTML and the new text of a reply, and each octet of them once more while they are sent. */
const EVENT_BYTES_GUESSED_MAX = 2 * 3 * SHOWN_BODY_BYTES_MAX
/** What is not of the message. */
const EVENT_BYTES_MIN = 4 * 1024

/**
 * Rather too many than too few: HTML is told as text, too, and as new text, and other charsets than
 * UTF-8 take fewer octets. When the event is rendered it is known.
 */
function guessBytes(rawBytes: number): number {
  return Math.min(EVENT_BYTES_MIN + 6 * rawBytes, EVENT_BYTES_GUESSED_MAX)
}

/** Any whole answer shows that the receiver is there. */
function meaningOf(outcome: WebhookOutcome): GroupOutcome {
  if (outcome.kind !== 'attempted') return 'returned'
  switch (outcome.error) {
    case 'webhook_disabled':
    case 'internal_error':
      return 'returned'
    case null:
    case 'status':
    case 'redirect':
      return 'reached'
    default:
      return 'unreached'
  }
}

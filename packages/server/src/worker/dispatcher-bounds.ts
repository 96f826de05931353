// How much of each queue is worked on at once.

import * as limits from '#base/limits.ts'
import type { DispatcherBounds } from '#jobs/dispatched-queue.ts'

const BYTES = {
  max: limits.OUTBOUND_BYTES_MAX,
  unprovenMax: limits.UNPROVEN_OUTBOUND_BYTES_MAX,
  hardMax: limits.LONG_OUTBOUND_BYTES_MAX,
}

export const MAIL_BOUNDS: DispatcherBounds = {
  attempts: {
    max: limits.TRANSACTIONS_MAX,
    unprovenMax: limits.UNPROVEN_TRANSACTIONS_MAX,
    hardMax: limits.LONG_TRANSACTIONS_MAX,
  },
  smallLaneAttempts: limits.SMALL_LANE_TRANSACTIONS,
  bytes: BYTES,
  heldMax: limits.HELD_MAX,
  unprovenHeldMax: limits.UNPROVEN_HELD_MAX,
  longAttemptMs: limits.LONG_ATTEMPT_MS,
  leaseMs: limits.DELIVERY_LEASE_MS,
}

/** Endpoints are many, small and mostly quick, so that more attempts fit into the same machine. */
export const WEBHOOK_BOUNDS: DispatcherBounds = {
  attempts: {
    max: limits.WEBHOOK_ATTEMPTS_MAX,
    unprovenMax: limits.UNPROVEN_WEBHOOK_ATTEMPTS_MAX,
    hardMax: limits.LONG_WEBHOOK_ATTEMPTS_MAX,
  },
  smallLaneAttempts: limits.SMALL_LANE_WEBHOOK_ATTEMPTS,
  bytes: BYTES,
  heldMax: limits.WEBHOOKS_HELD_MAX,
  unprovenHeldMax: limits.UNPROVEN_WEBHOOKS_HELD_MAX,
  longAttemptMs: limits.WEBHOOK_LONG_MS,
  leaseMs: limits.WEBHOOK_LEASE_MS,
}

// How much of each queue is worked on at once.

import * as limits from '#base/limits.ts'
import type { DispatcherBounds } from '#jobs/dispatched-queue.ts'

/** Of accounts, alike for both queues. */
const OWNER_BOUNDS = {
  smallAttempts: limits.SMALL_ACCOUNT_ATTEMPTS,
  smallBytes: limits.SMALL_ACCOUNT_BYTES,
  held: limits.ACCOUNTS_HELD_MAX,
}

/**
 * Attempts of a lane that may hang while its others go on: half of LANE_TRANSACTIONS_MAX, which is all
 * that its host takes. Of endpoints fewer, since an account may have a hundred that answer now and then.
 */
const LANE_ASIDE_MAX = 10
/** Half: servers that greet and take nothing, however many, leave the rest to destinations that are new. */
const UNPROVEN_ASIDE_BELOW = limits.UNPROVEN_TRANSACTIONS_MAX / 2
const WEBHOOK_LANE_ASIDE_MAX = 5

export const MAIL_BOUNDS: DispatcherBounds = {
  attempts: {
    max: limits.TRANSACTIONS_MAX,
    unprovenMax: limits.UNPROVEN_TRANSACTIONS_MAX,
    hardMax: limits.LONG_TRANSACTIONS_MAX,
  },
  laneStart: limits.LANE_TRANSACTIONS_START,
  laneAsideMax: LANE_ASIDE_MAX,
  unprovenAsideBelow: UNPROVEN_ASIDE_BELOW,
  trustsLanes: false,
  smallLaneAttempts: limits.SMALL_LANE_TRANSACTIONS,
  bytes: {
    max: limits.OUTBOUND_BYTES_MAX,
    unprovenMax: limits.UNPROVEN_OUTBOUND_BYTES_MAX,
    hardMax: limits.LONG_OUTBOUND_BYTES_MAX,
    uncountedMax: limits.ROW_BLOB_BYTES_MAX,
    keptForSmall: 0,
    smallMax: 0,
  },
  newcomers: null,
  owners: OWNER_BOUNDS,
  lanesKeptMax: limits.LANES_KEPT_MAX,
  heldMax: limits.HELD_MAX,
  unprovenHeldMax: limits.UNPROVEN_HELD_MAX,
  longAttemptMs: limits.LONG_ATTEMPT_MS,
  leaseMs: limits.DELIVERY_LEASE_MS,
}

/** The relay is the only way out: whatever it does, there is nobody to be kept from it. */
export const RELAY_BOUNDS: DispatcherBounds = { ...MAIL_BOUNDS, trustsLanes: true }

/**
 * Endpoints are many, small and mostly quick, so that more attempts fit into the same machine. Anybody
 * may add one that never answers, so that those that nobody knows yet have a part of their own.
 */
export const WEBHOOK_BOUNDS: DispatcherBounds = {
  attempts: {
    max: limits.WEBHOOK_ATTEMPTS_MAX,
    unprovenMax: limits.UNPROVEN_WEBHOOK_ATTEMPTS_MAX,
    hardMax: limits.LONG_WEBHOOK_ATTEMPTS_MAX,
  },
  laneStart: limits.WEBHOOK_LANE_START,
  laneAsideMax: WEBHOOK_LANE_ASIDE_MAX,
  // Until an endpoint has answered the whole request nothing says that it is there.
  unprovenAsideBelow: 0,
  trustsLanes: false,
  smallLaneAttempts: limits.SMALL_LANE_WEBHOOK_ATTEMPTS,
  bytes: {
    max: limits.WEBHOOK_BYTES_MAX,
    unprovenMax: limits.UNPROVEN_WEBHOOK_BYTES_MAX,
    hardMax: limits.LONG_WEBHOOK_BYTES_MAX,
    uncountedMax: 0,
    keptForSmall: limits.SMALL_WEBHOOKS_BYTES,
    smallMax: limits.SMALL_WEBHOOK_BYTES_MAX,
  },
  newcomers: {
    attempts: {
      max: limits.NEW_WEBHOOK_ATTEMPTS_MAX,
      hardMax: limits.LONG_NEW_WEBHOOK_ATTEMPTS_MAX,
    },
    bytes: { max: limits.NEW_WEBHOOK_BYTES_MAX, hardMax: limits.LONG_NEW_WEBHOOK_BYTES_MAX },
    longAttemptMs: limits.NEW_WEBHOOK_LONG_MS,
    ownerHeldMax: limits.ACCOUNT_NEW_WEBHOOKS_HELD_MAX,
    ownerSilentHeldMax: limits.ACCOUNT_SILENT_WEBHOOKS_HELD_MAX,
  },
  owners: OWNER_BOUNDS,
  lanesKeptMax: limits.WEBHOOK_LANES_KEPT_MAX,
  heldMax: limits.WEBHOOKS_HELD_MAX,
  unprovenHeldMax: limits.UNPROVEN_WEBHOOKS_HELD_MAX,
  longAttemptMs: limits.WEBHOOK_LONG_MS,
  leaseMs: limits.WEBHOOK_LEASE_MS,
}

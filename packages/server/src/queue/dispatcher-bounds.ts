// How much of each queue is worked on at once.

import { MINUTE_MS, SECOND_MS } from '#platform/units.ts'
import type { DispatcherBounds } from './dispatched-queue.ts'

/** Raw messages up to this size live in the database, in the message's own transaction. */
export const ROW_BLOB_BYTES_MAX = 128 * 1024
/** How long a delivery stays with a process that is not heard of any more. */
export const DELIVERY_LEASE_MS = MINUTE_MS
const ACCOUNTS_HELD_MAX = 1_000
/** Attempts beyond every bound, for accounts that have fewer than ACCOUNT_ATTEMPTS_FEW under way. */
const SMALL_ACCOUNT_ATTEMPTS = 100
const SMALL_ACCOUNT_BYTES = 32 * 1024 * 1024
/** SMTP transactions of a process under way at once. */
export const TRANSACTIONS_MAX = 400
/** Of these, for destinations that no connection has reached lately, and whatever goes on for long. */
export const UNPROVEN_TRANSACTIONS_MAX = 200
/** An attempt under way for longer says that its destination is slow, or will never answer. */
const LONG_ATTEMPT_MS = 30 * SECOND_MS
/** With those that go on for long: they may wait ten minutes for the answer to a final dot. */
const LONG_TRANSACTIONS_MAX = 800
/** Of TRANSACTIONS_MAX, for lanes that have no more under way than they started with. */
export const SMALL_LANE_TRANSACTIONS = 100
/** Transactions to one destination at once: where it starts, and where it ends when all goes well. */
export const LANE_TRANSACTIONS_START = 5
/** Deliveries that a process leases, and of these, for destinations that did not answer lately. */
const HELD_MAX = 1_000
export const UNPROVEN_HELD_MAX = 500
/** Lanes that are remembered as having answered; whichever was used longest ago is forgotten first. */
export const LANES_KEPT_MAX = 1_000
/** Octets of large messages on their way out, and of these, those that LONG_ATTEMPT_MS is about. */
export const OUTBOUND_BYTES_MAX = 128 * 1024 * 1024
export const UNPROVEN_OUTBOUND_BYTES_MAX = 64 * 1024 * 1024
/** With those that go on for long. */
const LONG_OUTBOUND_BYTES_MAX = 256 * 1024 * 1024
/** How long a delivery stays with a process that is not heard of any more. */
export const WEBHOOK_LEASE_MS = MINUTE_MS
/** An attempt under way for longer says that its endpoint is slow. */
const WEBHOOK_LONG_MS = SECOND_MS
/**
 * Attempts of a process under way at once, but for those of endpoints that nothing is known of; most
 * are answered within a few milliseconds.
 */
export const WEBHOOK_ATTEMPTS_MAX = 1_000
/** Of these, for endpoints that did not answer lately, and whatever goes on for long. */
export const UNPROVEN_WEBHOOK_ATTEMPTS_MAX = 400
/** With those that go on for long, up to WEBHOOK_MS_MAX. */
export const LONG_WEBHOOK_ATTEMPTS_MAX = 1_500
/** Of WEBHOOK_ATTEMPTS_MAX, for endpoints that have fewer than LANE_TRANSACTIONS_START under way. */
const SMALL_LANE_WEBHOOK_ATTEMPTS = 250
/** To an endpoint that nothing is known of: one tells whether it answers. */
const WEBHOOK_LANE_START = 1
/** Attempts to such endpoints that began a moment ago: a thousand new ones hold up nobody. */
export const NEW_WEBHOOK_ATTEMPTS_MAX = 1_000
/** Of an attempt to such an endpoint; it is not new any more, whatever comes of it. */
const NEW_WEBHOOK_LONG_MS = SECOND_MS / 2
/** With those that go on for longer, up to WEBHOOK_MS_MAX. */
export const LONG_NEW_WEBHOOK_ATTEMPTS_MAX = 1_750
/**
 * Deliveries held for endpoints of one account that never answered, or not lately. With more, no new
 * one of this account is tried: the last part of LONG_NEW_WEBHOOK_ATTEMPTS_MAX is for the others.
 */
export const ACCOUNT_NEW_WEBHOOKS_HELD_MAX = 1_400
/** With more, none that did not answer is tried again: half of UNPROVEN_WEBHOOK_ATTEMPTS_MAX. */
const ACCOUNT_SILENT_WEBHOOKS_HELD_MAX = 200
/** Endpoints that are remembered as answering or not; forgotten, they are new again. */
const WEBHOOK_LANES_KEPT_MAX = 10_000
/** Deliveries that a process leases, and of these, for endpoints that did not answer lately. */
const WEBHOOKS_HELD_MAX = 3_000
const UNPROVEN_WEBHOOKS_HELD_MAX = 1_500
/** Octets of events as they are posted, under way, and the parts of them as those of the attempts. */
const WEBHOOK_BYTES_MAX = 64 * 1024 * 1024
const UNPROVEN_WEBHOOK_BYTES_MAX = 32 * 1024 * 1024
export const LONG_WEBHOOK_BYTES_MAX = 96 * 1024 * 1024
const NEW_WEBHOOK_BYTES_MAX = 32 * 1024 * 1024
const LONG_NEW_WEBHOOK_BYTES_MAX = 64 * 1024 * 1024
/** Of each of these, for events that are small: most are, and must not wait for large ones. */
const SMALL_WEBHOOKS_BYTES = 8 * 1024 * 1024
export const SMALL_WEBHOOK_BYTES_MAX = 16 * 1024

/** Of accounts, alike for both queues. */
const OWNER_BOUNDS = {
  smallAttempts: SMALL_ACCOUNT_ATTEMPTS,
  smallBytes: SMALL_ACCOUNT_BYTES,
  held: ACCOUNTS_HELD_MAX,
}

/**
 * Attempts of a lane that may hang while its others go on: half of LANE_TRANSACTIONS_MAX, which is all
 * that its host takes. Of endpoints fewer, since an account may have a hundred that answer now and then.
 */
const LANE_ASIDE_MAX = 10
/** Half: servers that greet and take nothing, however many, leave the rest to destinations that are new. */
const UNPROVEN_ASIDE_BELOW = UNPROVEN_TRANSACTIONS_MAX / 2
const WEBHOOK_LANE_ASIDE_MAX = 5

export const MAIL_BOUNDS: DispatcherBounds = {
  attempts: {
    max: TRANSACTIONS_MAX,
    unprovenMax: UNPROVEN_TRANSACTIONS_MAX,
    hardMax: LONG_TRANSACTIONS_MAX,
  },
  laneStart: LANE_TRANSACTIONS_START,
  laneAsideMax: LANE_ASIDE_MAX,
  unprovenAsideBelow: UNPROVEN_ASIDE_BELOW,
  trustsLanes: false,
  smallLaneAttempts: SMALL_LANE_TRANSACTIONS,
  bytes: {
    max: OUTBOUND_BYTES_MAX,
    unprovenMax: UNPROVEN_OUTBOUND_BYTES_MAX,
    hardMax: LONG_OUTBOUND_BYTES_MAX,
    uncountedMax: ROW_BLOB_BYTES_MAX,
    keptForSmall: 0,
    smallMax: 0,
  },
  newcomers: null,
  owners: OWNER_BOUNDS,
  lanesKeptMax: LANES_KEPT_MAX,
  heldMax: HELD_MAX,
  unprovenHeldMax: UNPROVEN_HELD_MAX,
  longAttemptMs: LONG_ATTEMPT_MS,
  leaseMs: DELIVERY_LEASE_MS,
}

/** The relay is the only way out: whatever it does, there is nobody to be kept from it. */
export const RELAY_BOUNDS: DispatcherBounds = { ...MAIL_BOUNDS, trustsLanes: true }

/**
 * Endpoints are many, small and mostly quick, so that more attempts fit into the same machine. Anybody
 * may add one that never answers, so that those that nobody knows yet have a part of their own.
 */
export const WEBHOOK_BOUNDS: DispatcherBounds = {
  attempts: {
    max: WEBHOOK_ATTEMPTS_MAX,
    unprovenMax: UNPROVEN_WEBHOOK_ATTEMPTS_MAX,
    hardMax: LONG_WEBHOOK_ATTEMPTS_MAX,
  },
  laneStart: WEBHOOK_LANE_START,
  laneAsideMax: WEBHOOK_LANE_ASIDE_MAX,
  // Until an endpoint has answered the whole request nothing says that it is there.
  unprovenAsideBelow: 0,
  trustsLanes: false,
  smallLaneAttempts: SMALL_LANE_WEBHOOK_ATTEMPTS,
  bytes: {
    max: WEBHOOK_BYTES_MAX,
    unprovenMax: UNPROVEN_WEBHOOK_BYTES_MAX,
    hardMax: LONG_WEBHOOK_BYTES_MAX,
    uncountedMax: 0,
    keptForSmall: SMALL_WEBHOOKS_BYTES,
    smallMax: SMALL_WEBHOOK_BYTES_MAX,
  },
  newcomers: {
    attempts: {
      max: NEW_WEBHOOK_ATTEMPTS_MAX,
      hardMax: LONG_NEW_WEBHOOK_ATTEMPTS_MAX,
    },
    bytes: { max: NEW_WEBHOOK_BYTES_MAX, hardMax: LONG_NEW_WEBHOOK_BYTES_MAX },
    longAttemptMs: NEW_WEBHOOK_LONG_MS,
    ownerHeldMax: ACCOUNT_NEW_WEBHOOKS_HELD_MAX,
    ownerSilentHeldMax: ACCOUNT_SILENT_WEBHOOKS_HELD_MAX,
  },
  owners: OWNER_BOUNDS,
  lanesKeptMax: WEBHOOK_LANES_KEPT_MAX,
  heldMax: WEBHOOKS_HELD_MAX,
  unprovenHeldMax: UNPROVEN_WEBHOOKS_HELD_MAX,
  longAttemptMs: WEBHOOK_LONG_MS,
  leaseMs: WEBHOOK_LEASE_MS,
}

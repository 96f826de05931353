import { ROW_BLOB_BYTES_MAX } from '#platform/blobs/blob-store.ts'
import { MINUTE_MS, SECOND_MS } from '#platform/units.ts'

/** How long deliveries stay leased to a process that no longer renews. */
export const DELIVERY_LEASE_MS = MINUTE_MS
export const WEBHOOK_LEASE_MS = MINUTE_MS

const KIB = 1024
const MIB = 1024 * KIB

/** `silent`: its servers have not answered lately. `new`: nothing is known; such lanes have a reserve. */
export type LaneState = 'answering' | 'silent' | 'new'

/**
 * Limits of what is under way. An attempt is slow in a lane that has not answered lately, or once it has
 * taken long. Slow attempts count in `max` up to `slowMax`, and in `hardMax` always.
 */
type AmountBounds = { readonly max: number; readonly slowMax: number; readonly hardMax: number }

/** How much of a queue one process works on at once. */
export type DispatcherBounds = {
  readonly attempts: AmountBounds
  /** Attempts, among those above, for lanes with few under way (LANE_ATTEMPTS_FEW). */
  readonly keptForSmallLanes: number
  /** Octets under way. Only items larger than `uncountedMax` count. */
  readonly bytes: AmountBounds & { readonly uncountedMax: number }
  /**
   * Further attempts and octets, for accounts with few attempts under way (ACCOUNT_ATTEMPTS_FEW) and for new
   * lanes, which use nothing else. Slow attempts count in `hardMax` only.
   */
  readonly reserve: { readonly attempts: AmountBounds; readonly bytes: AmountBounds }
  /** Items leased ahead, by the state of their lane. */
  readonly heldMax: Readonly<Record<LaneState, number>>
  /** Items that one account may hold in all its silent and new lanes together. */
  readonly accountHeldMax: Readonly<Record<LaneState, number>>
  /** The state of an unknown lane (`answering` never changes), and the attempts that it starts with. */
  readonly laneState: LaneState
  readonly laneStart: number
  /** Hanging attempts that do not count towards the limit of a lane whose servers answer. */
  readonly laneUncountedMax: number
  /** Lanes whose state is remembered. */
  readonly lanesKeptMax: number
  /** An attempt under way for longer is slow. */
  readonly longAttemptMs: Readonly<Record<LaneState, number>>
  /** Leases are renewed three times as often. */
  readonly leaseMs: number
}

const NO_BOUND = Number.POSITIVE_INFINITY
// A server may take ten minutes to answer the final dot.
const LONG_MAIL_MS = 30 * SECOND_MS

export const MAIL_BOUNDS: DispatcherBounds = {
  attempts: { max: 400, slowMax: 200, hardMax: 800 },
  keptForSmallLanes: 100,
  bytes: {
    max: 128 * MIB,
    slowMax: 64 * MIB,
    hardMax: 256 * MIB,
    uncountedMax: ROW_BLOB_BYTES_MAX,
  },
  reserve: {
    attempts: { max: 100, slowMax: 0, hardMax: 100 },
    bytes: { max: 32 * MIB, slowMax: 0, hardMax: 32 * MIB },
  },
  heldMax: { answering: 1_000, silent: 500, new: 0 },
  accountHeldMax: { answering: NO_BOUND, silent: NO_BOUND, new: NO_BOUND },
  laneState: 'silent',
  laneStart: 5,
  // Half of the connections that a host is given.
  laneUncountedMax: 10,
  lanesKeptMax: 1_000,
  longAttemptMs: { answering: LONG_MAIL_MS, silent: LONG_MAIL_MS, new: LONG_MAIL_MS },
  leaseMs: DELIVERY_LEASE_MS,
}

/** All mail goes through the relay, so there is no other lane to protect from it. */
export const RELAY_BOUNDS: DispatcherBounds = { ...MAIL_BOUNDS, laneState: 'answering' }

/**
 * Endpoints are many, small and mostly quick, so more attempts run at once. Anybody may add an endpoint that
 * never answers: unknown endpoints use the reserve.
 */
export const WEBHOOK_BOUNDS: DispatcherBounds = {
  attempts: { max: 1_000, slowMax: 400, hardMax: 1_500 },
  keptForSmallLanes: 250,
  // Most events are small and do not wait for large ones.
  bytes: { max: 64 * MIB, slowMax: 32 * MIB, hardMax: 96 * MIB, uncountedMax: 16 * KIB },
  reserve: {
    attempts: { max: 1_000, slowMax: 0, hardMax: 1_750 },
    bytes: { max: 32 * MIB, slowMax: 0, hardMax: 64 * MIB },
  },
  heldMax: { answering: 3_000, silent: 1_500, new: 1_000 },
  // Half of the slow attempts, and the last part of the reserve, are left to other accounts.
  accountHeldMax: { answering: NO_BOUND, silent: 200, new: 1_400 },
  laneState: 'new',
  // One attempt shows whether an endpoint answers.
  laneStart: 1,
  // An account may have a hundred endpoints that answer now and then.
  laneUncountedMax: 5,
  lanesKeptMax: 10_000,
  longAttemptMs: { answering: SECOND_MS, silent: SECOND_MS, new: SECOND_MS / 2 },
  leaseMs: WEBHOOK_LEASE_MS,
}

type SlotRequest = {
  readonly state: LaneState
  /** Whether the lane, or the account, has few attempts under way. */
  readonly isSmallLane: boolean
  readonly isSmallAccount: boolean
}

/** An attempt under way. */
export type Slot = {
  /** Replaces the size that the attempt was started with. */
  resize(sizeBytes: number): void
  /** Counts the attempt as slow from now on. */
  markSlow(): void
  /** To be called once. */
  end(): void
}

type Pool = { readonly attempts: Amount; readonly bytes: Amount }

/** Counts what is under way, and gives out slots while there is room. */
export class Slots {
  readonly #bounds: DispatcherBounds
  readonly #common: Pool
  readonly #reserve: Pool

  constructor(bounds: DispatcherBounds) {
    const { attempts, bytes, reserve } = bounds
    this.#bounds = bounds
    this.#common = { attempts: new Amount(attempts), bytes: new Amount(bytes) }
    this.#reserve = { attempts: new Amount(reserve.attempts), bytes: new Amount(reserve.bytes) }
  }

  /** The number of attempts under way. */
  get active(): number {
    return this.#common.attempts.all + this.#reserve.attempts.all
  }

  /** How many attempts small lanes in this state may start. */
  free(state: LaneState): number {
    return state === 'new' ? this.reserveFree : this.#common.attempts.free(state === 'silent')
  }

  get reserveFree(): number {
    return this.#reserve.attempts.free(false)
  }

  hasRoom(request: SlotRequest): boolean {
    return this.#poolsFor(request).length > 0
  }

  /** Null when there is no room. A single item may exceed the limit of octets. */
  take(request: SlotRequest, sizeBytes: number): Slot | null {
    const bytes = this.#counted(sizeBytes)
    for (const pool of this.#poolsFor(request)) {
      const isSlow = request.state === 'silent' && pool === this.#common
      if (bytes === 0 || pool.bytes.free(isSlow) > 0) return this.#begin(pool, bytes, isSlow)
    }
    return null
  }

  /** The pools with a free attempt, the reserve last. */
  #poolsFor({ state, isSmallLane, isSmallAccount }: SlotRequest): Pool[] {
    const kept = isSmallLane ? 0 : this.#bounds.keptForSmallLanes
    const pools: Pool[] = []
    if (state !== 'new' && this.free(state) > kept) pools.push(this.#common)
    if ((state === 'new' || isSmallAccount) && this.reserveFree > 0) pools.push(this.#reserve)
    return pools
  }

  #begin(pool: Pool, counted: number, isSlowAtFirst: boolean): Slot {
    let [bytes, isSlow] = [counted, isSlowAtFirst]
    const add = (attempts: number, octets: number) => {
      pool.attempts.add(attempts, isSlow)
      pool.bytes.add(octets, isSlow)
    }
    add(1, bytes)
    return {
      resize: (sizeBytes) => {
        add(0, this.#counted(sizeBytes) - bytes)
        bytes = this.#counted(sizeBytes)
      },
      markSlow() {
        add(-1, -bytes)
        isSlow = true
        add(1, bytes)
      },
      end: () => add(-1, -bytes),
    }
  }

  #counted(sizeBytes: number): number {
    return sizeBytes > this.#bounds.bytes.uncountedMax ? sizeBytes : 0
  }
}

class Amount {
  readonly #bounds: AmountBounds
  #slow = 0
  all = 0

  constructor(bounds: AmountBounds) {
    this.#bounds = bounds
  }

  /** Below 1 when nothing more may start. */
  free(isSlow: boolean): number {
    const { max, slowMax, hardMax } = this.#bounds
    const counted = this.all - Math.max(0, this.#slow - slowMax)
    const free = Math.min(max - counted, hardMax - this.all)
    return isSlow ? Math.min(free, slowMax - this.#slow) : free
  }

  add(amount: number, isSlow: boolean): void {
    this.all += amount
    if (isSlow) this.#slow += amount
  }
}

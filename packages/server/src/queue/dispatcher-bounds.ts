import { ROW_BLOB_BYTES_MAX } from '#platform/blobs/blob-store.ts'
import { MINUTE_MS, SECOND_MS } from '#platform/units.ts'

/** How long a delivery stays with a process that is not heard of any more. */
export const DELIVERY_LEASE_MS = MINUTE_MS
/** How long a delivery stays with a process that is not heard of any more. */
export const WEBHOOK_LEASE_MS = MINUTE_MS

const KIB = 1024
const MIB = 1024 * KIB

/**
 * `silent`: its servers did not answer the last time, or lately. `new`: nothing is known of it, and there is a
 * reserve for such lanes.
 */
export type LaneState = 'answering' | 'silent' | 'new'

/**
 * Of some amount under way: what may begin, the part of it that is slow, and all of it. Slow are attempts in
 * lanes that did not answer lately and attempts that go on for long. What the latter have beyond `slowMax`
 * takes nothing of `max`.
 */
type AmountBounds = {
  readonly max: number
  readonly slowMax: number
  readonly hardMax: number
}

/** How much of a queue one process works on at once. */
export type DispatcherBounds = {
  readonly attempts: AmountBounds
  /** Of each of these, for lanes with fewer than LANE_ATTEMPTS_FEW under way. */
  readonly keptForSmallLanes: number
  /** Octets under way. Items up to `uncountedMax` are bounded by the attempts. */
  readonly bytes: AmountBounds & { readonly uncountedMax: number }
  /**
   * Attempts and octets beyond all of these, for accounts with fewer than ACCOUNT_ATTEMPTS_FEW attempts under
   * way and for new lanes, which get none of the others. What is slow counts in `hardMax` only.
   */
  readonly reserve: { readonly attempts: AmountBounds; readonly bytes: AmountBounds }
  /** Items leased ahead, by the state of their lanes. */
  readonly heldMax: Readonly<Record<LaneState, number>>
  /** Items of one account in silent and new lanes, past which none of these lanes gets another. */
  readonly accountHeldMax: Readonly<Record<LaneState, number>>
  /** Of a lane that nothing is known of: its state, which `answering` always stays, and its attempts. */
  readonly laneState: LaneState
  readonly laneStart: number
  /** Attempts of a lane that may hang without a place in it, where its servers answer. */
  readonly laneAsideMax: number
  /** Lanes that something is remembered of. */
  readonly lanesKeptMax: number
  /** An attempt under way for longer is slow. */
  readonly longAttemptMs: Readonly<Record<LaneState, number>>
  /** Leases are renewed three times as often. */
  readonly leaseMs: number
}

const NO_BOUND = Number.POSITIVE_INFINITY
// They may wait ten minutes for the answer to a final dot.
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
  // Half of all that a host takes.
  laneAsideMax: 10,
  lanesKeptMax: 1_000,
  longAttemptMs: { answering: LONG_MAIL_MS, silent: LONG_MAIL_MS, new: LONG_MAIL_MS },
  leaseMs: DELIVERY_LEASE_MS,
}

/** The relay is the only way out: whatever it does, there is nobody to be kept from it. */
export const RELAY_BOUNDS: DispatcherBounds = { ...MAIL_BOUNDS, laneState: 'answering' }

/**
 * Endpoints are many, small and mostly quick, so that more attempts fit into the same machine. Anybody may add
 * one that never answers: those that nothing is known of have the reserve.
 */
export const WEBHOOK_BOUNDS: DispatcherBounds = {
  attempts: { max: 1_000, slowMax: 400, hardMax: 1_500 },
  keptForSmallLanes: 250,
  // Most events are small, and do not wait for large ones.
  bytes: { max: 64 * MIB, slowMax: 32 * MIB, hardMax: 96 * MIB, uncountedMax: 16 * KIB },
  reserve: {
    attempts: { max: 1_000, slowMax: 0, hardMax: 1_750 },
    bytes: { max: 32 * MIB, slowMax: 0, hardMax: 64 * MIB },
  },
  heldMax: { answering: 3_000, silent: 1_500, new: 1_000 },
  // Half of what is slow, and the last part of the reserve, are for the others.
  accountHeldMax: { answering: NO_BOUND, silent: 200, new: 1_400 },
  laneState: 'new',
  // One attempt tells whether an endpoint answers.
  laneStart: 1,
  // An account may have a hundred endpoints that answer now and then.
  laneAsideMax: 5,
  lanesKeptMax: 10_000,
  longAttemptMs: { answering: SECOND_MS, silent: SECOND_MS, new: SECOND_MS / 2 },
  leaseMs: WEBHOOK_LEASE_MS,
}

type SlotRequest = {
  readonly state: LaneState
  /** Few attempts of the lane, or of the account, are under way. */
  readonly isSmallLane: boolean
  readonly isSmallAccount: boolean
}

/** An attempt under way. */
export type Slot = {
  /** It takes so many octets, not what was said before. */
  resize(sizeBytes: number): void
  /** It goes on for long: it is slow from now on. */
  turnSlow(): void
  /** Once. */
  end(): void
}

type Pool = { readonly attempts: Amount; readonly bytes: Amount }

/** What is under way, and whether there is room for one more. */
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

  /** Attempts under way. */
  get active(): number {
    return this.#common.attempts.all + this.#reserve.attempts.all
  }

  /** Attempts that lanes of this state may begin, were each of them a small one. */
  free(state: LaneState): number {
    return state === 'new' ? this.reserveFree : this.#common.attempts.free(state === 'silent')
  }

  get reserveFree(): number {
    return this.#reserve.attempts.free(false)
  }

  hasRoom(request: SlotRequest): boolean {
    return this.#poolsFor(request).length > 0
  }

  /** Null where there is no room. One item may be larger than all that is allowed together. */
  take(request: SlotRequest, sizeBytes: number): Slot | null {
    const bytes = this.#counted(sizeBytes)
    for (const pool of this.#poolsFor(request)) {
      const isSlow = request.state === 'silent' && pool === this.#common
      if (bytes === 0 || pool.bytes.free(isSlow) > 0) return this.#begin(pool, bytes, isSlow)
    }
    return null
  }

  /** Those with a free attempt, the reserve last. */
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
      turnSlow() {
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

  /** Below 1 where nothing more may begin. */
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

import type { AmountBounds, DispatcherBounds, LaneState } from './dispatcher-bounds.ts'

export type SlotRequest = {
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

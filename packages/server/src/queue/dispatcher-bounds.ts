import { ROW_BLOB_BYTES_MAX } from '#platform/blobs/blob-store.ts'
import { MINUTE_MS } from '#platform/units.ts'

/** How long deliveries stay leased to a process that no longer renews. */
export const DELIVERY_LEASE_MS = MINUTE_MS
export const WEBHOOK_LEASE_MS = MINUTE_MS

const KIB = 1024
const MIB = 1024 * KIB

export type PoolBounds = { readonly attempts: number; readonly bytes: number }

/** How much of a queue one process works on at once. */
export type DispatcherBounds = {
  /** Attempts to destinations that answer, for their first second. */
  readonly slots: PoolBounds
  /** Attempts that have left their slot, and all to destinations that do not answer. */
  readonly slow: PoolBounds
  /** Octets of a delivery that are not counted. */
  readonly uncountedBytes: number
  readonly lanes: LaneBounds
}

export type LaneBounds = {
  /** Attempts at once to a destination of which nothing is known. */
  readonly first: number
  /** All deliveries have one destination, so that there is no other to protect from it. */
  readonly isRelay: boolean
}

export const MAIL_BOUNDS: DispatcherBounds = {
  slots: { attempts: 700, bytes: 192 * MIB },
  slow: { attempts: 500, bytes: 96 * MIB },
  uncountedBytes: ROW_BLOB_BYTES_MAX,
  lanes: { first: 5, isRelay: false },
}

export const RELAY_BOUNDS: DispatcherBounds = { ...MAIL_BOUNDS, lanes: { first: 5, isRelay: true } }

/** Endpoints are many, small and mostly quick; anybody may add one that never answers. */
export const WEBHOOK_BOUNDS: DispatcherBounds = {
  slots: { attempts: 1_000, bytes: 64 * MIB },
  slow: { attempts: 2_000, bytes: 96 * MIB },
  // Most events are small and do not wait for large ones.
  uncountedBytes: 16 * KIB,
  // One attempt shows whether an endpoint answers.
  lanes: { first: 1, isRelay: false },
}

/** Attempts kept free for accounts that have fewer than ATTEMPTS_FEW. */
const ATTEMPTS_RESERVED = 100
const ATTEMPTS_FEW = 5

/** Attempts and their octets, counted by account. */
export class Pool {
  readonly #attempts: Share
  readonly #bytes: Share

  constructor({ attempts, bytes }: PoolBounds) {
    this.#attempts = new Share({ max: attempts, reserved: ATTEMPTS_RESERVED, few: ATTEMPTS_FEW })
    this.#bytes = new Share({ max: bytes, reserved: bytes / 8, few: 1 })
  }

  /** How many more attempts the account may make. */
  room(account: string): number {
    return Math.floor(this.#attempts.room(account))
  }

  /** Whether there is room for so many octets. A single delivery may exceed the bound. */
  takes(account: string, bytes: number): boolean {
    return bytes === 0 || this.#bytes.room(account) > 0
  }

  add(account: string, attempts: number, bytes = 0): void {
    this.#attempts.add(account, attempts)
    this.#bytes.add(account, bytes)
  }
}

type ShareBounds = { readonly max: number; readonly reserved: number; readonly few: number }

/**
 * An account may use as much as is free, but for what is reserved: half if it is alone, a third if there are two. So it
 * leaves room for others, however many there are. What is reserved serves accounts that use few.
 */
class Share {
  readonly #bounds: ShareBounds
  readonly #usedBy = new Map<string, number>()
  #used = 0

  constructor(bounds: ShareBounds) {
    this.#bounds = bounds
  }

  /** How much the account may add: each unit is one more for it, and one less that is free. */
  room(account: string): number {
    const { max, reserved, few } = this.#bounds
    const own = this.#usedBy.get(account) ?? 0
    const free = max - this.#used
    return Math.max((free - reserved - own) / 2, Math.min(free, few - own))
  }

  add(account: string, amount: number): void {
    const used = (this.#usedBy.get(account) ?? 0) + amount
    this.#used += amount
    if (used === 0) this.#usedBy.delete(account)
    else this.#usedBy.set(account, used)
  }
}

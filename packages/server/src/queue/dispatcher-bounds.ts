import { ROW_BLOB_BYTES_MAX } from '#platform/blobs/blob-store.ts'
import { MINUTE_MS } from '#platform/units.ts'

/** If a process stops renewing, it loses its deliveries after this time. */
export const DELIVERY_LEASE_MS = MINUTE_MS
export const WEBHOOK_LEASE_MS = MINUTE_MS

const KIB = 1024
const MIB = 1024 * KIB

export type PoolBounds = { readonly attempts: number; readonly bytes: number }

export type DispatcherBounds = {
  /** Bounds on attempts to answering destinations, during their first second. */
  readonly slots: PoolBounds
  /** Bounds on attempts longer than a second, and on all attempts to unresponsive destinations. */
  readonly slow: PoolBounds
  /** Smaller deliveries are ignored in `bytes`. */
  readonly uncountedBytes: number
  readonly lanes: LaneBounds
}

export type LaneBounds = {
  /** Maximum concurrent attempts to an unknown destination. */
  readonly first: number
  /** Whether all deliveries have one destination, so that no other one must be protected. */
  readonly isRelay: boolean
}

export const MAIL_BOUNDS: DispatcherBounds = {
  slots: { attempts: 700, bytes: 192 * MIB },
  slow: { attempts: 500, bytes: 96 * MIB },
  uncountedBytes: ROW_BLOB_BYTES_MAX,
  lanes: { first: 5, isRelay: false },
}

export const RELAY_BOUNDS: DispatcherBounds = { ...MAIL_BOUNDS, lanes: { first: 5, isRelay: true } }

/** Endpoints are many, small and mostly fast, but any account may add one that never answers. */
export const WEBHOOK_BOUNDS: DispatcherBounds = {
  slots: { attempts: 1_000, bytes: 64 * MIB },
  slow: { attempts: 2_000, bytes: 96 * MIB },
  uncountedBytes: 16 * KIB,
  lanes: { first: 1, isRelay: false },
}

const ATTEMPTS_RESERVED = 100
const ATTEMPTS_FEW = 5

export class Pool {
  readonly #attempts: Share
  readonly #bytes: Share

  constructor({ attempts, bytes }: PoolBounds) {
    this.#attempts = new Share({ max: attempts, reserved: ATTEMPTS_RESERVED, few: ATTEMPTS_FEW })
    this.#bytes = new Share({ max: bytes, reserved: bytes / 8, few: 1 })
  }

  room(account: string): number {
    return Math.floor(this.#attempts.room(account))
  }

  /** A single delivery may exceed the bound. */
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
 * An account may use as much as it leaves free, except the reserve for accounts that use little.
 */
class Share {
  readonly #bounds: ShareBounds
  readonly #usedBy = new Map<string, number>()
  #used = 0

  constructor(bounds: ShareBounds) {
    this.#bounds = bounds
  }

  /** Each unit raises `own` and lowers `free`, so the difference is halved. */
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

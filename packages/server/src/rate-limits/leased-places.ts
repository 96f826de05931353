// So many at once over all processes on a database: each place that is taken is on record, and is given
// back with the process that holds it, should that end.

import type { Clock } from '#platform/clock.ts'
import { withStorageTold } from '#platform/storage-trouble.ts'
import type { BudgetLedger, LedgerUser } from './budget-ledger.ts'
import type { Place, Places } from './budgets.ts'
import { releasedOnce } from './own-budgets.ts'

/** How long whoever finds all places taken waits for one that is being given back. */
const PLACE_WAIT_MS = 200

/** What this process has of one key's places. */
type Share = {
  readonly key: string
  /** In use here, and on record as held here. */
  used: number
  held: number
  /** They were given to others while they were in use here: they are to be had anew. */
  isLost: boolean
  /** An exchange failed: what the record says is to be put right. */
  isUnsettled: boolean
  readonly waiting: PromiseWithResolvers<Place | null>[]
  working: Promise<void> | null
}

export type LeasedPlacesOptions = { readonly name: string; readonly limit: number }

export class LeasedPlaces implements Places, LedgerUser {
  readonly #options: LeasedPlacesOptions
  readonly #ledger: BudgetLedger
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #shares = new Map<string, Share>()

  constructor(options: LeasedPlacesOptions, ledger: BudgetLedger, clock: Pick<Clock, 'monotonic'>) {
    this.#options = options
    this.#ledger = ledger
    this.#clock = clock
  }

  get isHolding(): boolean {
    return this.#shares.size > 0
  }

  take(key: string): Place | Promise<Place | null> {
    const share = this.#shares.get(key) ?? newShare(key)
    this.#shares.set(key, share)
    if (share.used < share.held && this.#ledger.isAlive(this.#clock.monotonic())) {
      return this.#placeIn(share)
    }
    const waiter = Promise.withResolvers<Place | null>()
    share.waiting.push(waiter)
    this.#start(share)
    return waiter.promise
  }

  lose(): void {
    for (const share of this.#shares.values()) {
      share.held = 0
      share.isLost = share.used > 0
      if (share.isLost) this.#start(share)
    }
  }

  async tidy(): Promise<void> {
    for (const share of this.#shares.values()) if (!isSettled(share)) this.#start(share)
    await this.#settled()
  }

  /** Waits for what is under way; false when places are in use or the store was not told. */
  async close(): Promise<boolean> {
    await this.#settled()
    return this.#shares.size === 0
  }

  async #settled(): Promise<void> {
    await Promise.all(Array.from(this.#shares.values(), ({ working }) => working))
  }

  #placeIn(share: Share): Place {
    share.used += 1
    return releasedOnce(() => {
      share.used -= 1
      this.#start(share)
    })
  }

  #start(share: Share): void {
    share.working ??= this.#work(share).finally(() => {
      share.working = null
      const isOver = share.used === 0 && share.held === 0 && isSettled(share)
      if (isOver) this.#shares.delete(share.key)
      // Who came in the very last moment.
      else if (share.waiting.length > 0) this.#start(share)
    })
  }

  async #work(share: Share): Promise<void> {
    try {
      do {
        if (!(await this.#exchange(share)) || share.waiting.length === 0) continue
        // One that was closed elsewhere a moment ago may not be on record as free yet.
        await new Promise((resolve) => setTimeout(resolve, PLACE_WAIT_MS))
        if (!(await this.#exchange(share))) continue
        for (const { resolve } of share.waiting.splice(0)) resolve(null)
      } while (!isSettled(share))
    } catch (error) {
      share.isUnsettled = true
      for (const { reject } of share.waiting.splice(0)) reject(withStorageTold(error))
    }
  }

  /** Whether there were fewer than all who waited wanted. */
  async #exchange(share: Share): Promise<boolean> {
    const { name, limit } = this.#options
    const { used, held, isLost } = share
    const need = isLost ? used : share.waiting.length
    share.held = isLost ? 0 : used
    share.isLost = false
    const answer = await this.#ledger.exchange(name, {
      name: `${name}:${share.key}`,
      limit,
      windowMs: 0,
      kept: share.held,
      unused: Math.max(0, held - used),
      used: [],
      need,
      isInUse: isLost,
    })
    share.isUnsettled = false
    if (share.isLost) return false
    const isShort = answer.held - share.held < need
    // On record as nobody's: it was given up by mistake, or the record is an older one.
    if (answer.held < share.held) share.isLost = true
    share.held = answer.held
    while (share.waiting.length > 0 && share.used < share.held) {
      share.waiting.shift()?.resolve(this.#placeIn(share))
    }
    return isShort
  }
}

/** Whether the record says what is so. */
function isSettled({ used, held, isLost, isUnsettled, waiting }: Share): boolean {
  return used === held && !isLost && !isUnsettled && waiting.length === 0
}

function newShare(key: string): Share {
  return {
    key,
    used: 0,
    held: 0,
    isLost: false,
    isUnsettled: false,
    waiting: [],
    working: null,
  }
}

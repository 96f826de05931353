// A sliding window over all processes on a database. Each holds some of the tokens and counts with them in
// its memory; it asks the record for more when they are used up, and gives back what it does not need.

import type { Clock } from '#platform/clock.ts'
import { StorageError } from '#platform/db/storage-error.ts'
import { withStorageTold } from '#platform/storage-trouble.ts'
import { SECOND_MS } from '#platform/units.ts'
import type { BudgetAnswer } from './budget.ts'
import { BUDGET_SHORT_MS } from './budget.ts'
import type { BudgetLedger, LedgerUser } from './budget-ledger.ts'
import { BUDGET_ASKS_AT_ONCE } from './budget-ledger.ts'
import type { Allowance, RateWindow, WindowOptions } from './budgets.ts'
import { NOTHING_GIVEN, newShare, takeBack, type WindowShare, wantedBy } from './window-share.ts'

/** Addresses and accounts that the rate limiters remember; the oldest is forgotten first. */
export const LIMITER_ENTRIES_MAX = 10_000
/** A share of it that nobody here asked for so long goes back. */
export const BUDGET_IDLE_MS = 10 * SECOND_MS
/** How long whoever finds nothing free waits for what others give back, and between looks at that. */
export const BUDGET_WAIT_MS_MAX = SECOND_MS
const BUDGET_LOOK_MS = 100
const BUDGET_LOOKS_MIN = 10

export class LeasedWindow implements RateWindow, LedgerUser {
  readonly #options: WindowOptions
  readonly #ledger: BudgetLedger
  readonly #clock: Pick<Clock, 'monotonic'>
  /** In the order of their last use. */
  readonly #shares = new Map<string, WindowShare>()

  constructor(options: WindowOptions, ledger: BudgetLedger, clock: Pick<Clock, 'monotonic'>) {
    this.#options = options
    this.#ledger = ledger
    this.#clock = clock
  }

  get isHolding(): boolean {
    return this.#shares.size > 0
  }

  take(key: string): Allowance | Promise<Allowance> {
    const nowMs = this.#clock.monotonic()
    const share = this.#shareOf(key, nowMs)
    if (share === null) {
      const busy = new StorageError('busy', 'Too many shares of limits wait for the store.')
      return Promise.reject(withStorageTold(busy))
    }
    if (this.#use(share, nowMs)) return this.#allowanceOf(share, nowMs, true)
    if (nowMs < share.refusedUntilMs) return this.#allowanceOf(share, nowMs, false)
    const waiter = Promise.withResolvers<Allowance>()
    share.waiting.push(waiter)
    this.#start(share)
    return waiter.promise
  }

  peek(key: string): Allowance | Promise<Allowance> {
    const nowMs = this.#clock.monotonic()
    const share = this.#shares.get(key)
    if (share?.looksAhead === true && share.working !== null && !this.#hasFree(share, nowMs)) {
      return share.working.then(() => this.#seen(key))
    }
    return this.#seen(key)
  }

  #seen(key: string): Allowance {
    const { limit } = this.#options
    const nowMs = this.#clock.monotonic()
    const share = this.#shares.get(key)
    if (share === undefined) return { isAllowed: true, limit, remaining: limit, resetSeconds: 0 }
    const isAllowed = this.#hasFree(share, nowMs) || nowMs >= share.refusedUntilMs
    return this.#allowanceOf(share, nowMs, isAllowed)
  }

  /** Another process has nothing left for this key. */
  want(key: string): void {
    const share = this.#shares.get(key)
    if (share === undefined) return
    share.room = 0
    if (share.held === 0 && !share.isUnsettled) return
    share.isWanted = true
    this.#start(share)
  }

  /** Another process gave back what it had for this key. */
  hear(key: string): void {
    this.#shares.get(key)?.hear?.()
  }

  /** Another process found that there is none for this key until then, by the ledger's time. */
  hearEnd(key: string, untilMs: number): void {
    const inMs = Math.min(untilMs - this.#ledger.now(), this.#options.windowMs)
    const isFull = this.#shares.size >= LIMITER_ENTRIES_MAX && !this.#shares.has(key)
    if (!(inMs > 0) || isFull) return
    const share = this.#shares.get(key) ?? newShare(key, this.#options.limit)
    this.#shares.set(key, share)
    share.room = 0
    share.nextAtMs = this.#clock.monotonic() + inMs
    share.refusedUntilMs = share.nextAtMs
  }

  lose(): void {
    for (const share of this.#shares.values()) {
      share.held = 0
      share.used.takeAll()
      share.isUnsettled = false
    }
  }

  async tidy(): Promise<void> {
    const nowMs = this.#clock.monotonic()
    let given = 0
    for (const share of this.#shares.values()) {
      const isIdle = nowMs - share.askedAtMs >= BUDGET_IDLE_MS
      if (!isIdle && !share.isUnsettled) continue
      this.#giveUp(share)
      // Whoever asks meanwhile has few before it.
      if (share.working !== null && ++given % BUDGET_ASKS_AT_ONCE === 0) await this.#settled()
    }
    await this.#settled()
  }

  /** Gives everything back; false when the store did not take it. */
  async close(): Promise<boolean> {
    await this.#settled()
    for (const share of this.#shares.values()) this.#giveUp(share)
    await this.#settled()
    return Array.from(this.#shares.values()).every(({ isUnsettled }) => !isUnsettled)
  }

  async #settled(): Promise<void> {
    await Promise.all(Array.from(this.#shares.values(), ({ working }) => working))
  }

  /** Null for a key that is not known while too many are: what they hold is not given back yet. */
  #shareOf(key: string, nowMs: number): WindowShare | null {
    const known = this.#shares.get(key)
    if (known === undefined && this.#shares.size >= 2 * LIMITER_ENTRIES_MAX) return null
    const share = known ?? newShare(key, this.#options.limit)
    this.#shares.delete(key)
    this.#shares.set(key, share)
    share.askedAtMs = nowMs
    if (this.#shares.size > LIMITER_ENTRIES_MAX) {
      const [oldest] = this.#shares.values()
      if (oldest !== undefined) this.#giveUp(oldest)
    }
    return share
  }

  #giveUp(share: WindowShare): void {
    if (share.working !== null) return
    share.isWanted = share.held > 0 || share.isUnsettled
    if (share.isWanted) this.#start(share)
    else this.#forget(share)
  }

  /** While nothing can be free of a key, that is kept. */
  #forget(share: WindowShare): void {
    const isFull = this.#shares.size > LIMITER_ENTRIES_MAX
    const isPast = this.#clock.monotonic() >= share.refusedUntilMs
    if (isPast || isFull) this.#shares.delete(share.key)
  }

  #hasFree(share: WindowShare, nowMs: number): boolean {
    share.used.dropUntil(nowMs - this.#options.windowMs)
    return share.used.size < share.held && this.#ledger.isAlive(nowMs)
  }

  #use(share: WindowShare, nowMs: number): boolean {
    if (!this.#hasFree(share, nowMs)) return false
    share.used.push(nowMs)
    if (this.#options.tellsEnd === true && share.used.size >= share.held) {
      share.looksAhead = true
      this.#start(share)
    }
    return true
  }

  #allowanceOf(share: WindowShare, nowMs: number, isAllowed: boolean): Allowance {
    const { limit, windowMs } = this.#options
    const atMs = this.#nextFreeMs(share, nowMs)
    const waitMs = Number.isFinite(atMs) ? atMs - nowMs : isAllowed ? 0 : windowMs
    const left = Math.max(0, share.held - share.used.size) + share.room
    return {
      isAllowed,
      limit,
      remaining: isAllowed ? Math.min(left, limit) : 0,
      resetSeconds: Math.ceil(Math.min(Math.max(0, waitMs), windowMs) / 1000),
    }
  }

  #nextFreeMs(share: WindowShare, nowMs: number): number {
    const oldestMs = share.used.oldest() ?? Number.POSITIVE_INFINITY
    const elsewhereMs = share.nextAtMs > nowMs ? share.nextAtMs : Number.POSITIVE_INFINITY
    return Math.min(oldestMs + this.#options.windowMs, elsewhereMs)
  }

  #start(share: WindowShare): void {
    share.working ??= this.#work(share).finally(() => {
      share.working = null
      // Who came in the very last moment.
      if (wantedBy(share) > 0 || share.isWanted) this.#start(share)
      else if (share.held === 0 && !share.isUnsettled) this.#forget(share)
    })
  }

  async #work(share: WindowShare): Promise<void> {
    try {
      while (wantedBy(share) > 0 || share.isWanted) await this.#serve(share)
    } catch (error) {
      share.isUnsettled = true
      share.isWanted = false
      share.looksAhead = false
      for (const { reject } of share.waiting.splice(0)) reject(withStorageTold(error))
    }
  }

  /** Until all who wait have an answer, or what was wanted is given back. */
  async #serve(share: WindowShare): Promise<void> {
    let untilMs: number | null = null
    let firstTurn: number | null = null
    for (let looks = 0; ; looks += 1) {
      const { turn, othersSince, isShort } = await this.#exchange(share)
      this.#admit(share)
      if (wantedBy(share) === 0) return
      // They came while it asked for others.
      if (!isShort) continue
      firstTurn ??= turn
      // Whoever has given back everything since this began has nothing that it did not need.
      const mayHaveSome = othersSince !== null && othersSince <= firstTurn
      const nowMs = this.#clock.monotonic()
      untilMs ??= nowMs + BUDGET_WAIT_MS_MAX
      // On a busy machine time passes in which nobody could answer.
      const isLate = nowMs >= untilMs && looks >= BUDGET_LOOKS_MIN
      if (!mayHaveSome || isLate) return this.#refuse(share, mayHaveSome)
      const name = this.#nameOf(share)
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, BUDGET_LOOK_MS)
        share.hear = () => {
          clearTimeout(timer)
          resolve()
        }
        this.#ledger.say('budget wanted', name)
      })
      share.hear = null
    }
  }

  /** `isShort`: there was less than all who waited wanted. */
  async #exchange(share: WindowShare): Promise<BudgetAnswer & { isShort: boolean }> {
    const { limit, windowMs } = this.#options
    const { looksAhead } = share
    const need = wantedBy(share)
    const isGiving = share.isWanted
    share.isWanted = false
    const given = isGiving ? takeBack(share, windowMs, this.#clock.monotonic()) : NOTHING_GIVEN
    const kept = share.held
    const answer = await this.#ledger.exchange(this.#options.name, {
      ...given,
      name: this.#nameOf(share),
      limit,
      windowMs,
      kept,
      need,
      isAhead: looksAhead,
    })
    if (isGiving) this.#ledger.say('budget given', this.#nameOf(share))
    share.held = answer.held
    share.room = answer.room
    share.isUnsettled = false
    const nowMs = this.#clock.monotonic()
    share.nextAtMs = answer.nextInMs === null ? Number.POSITIVE_INFINITY : nowMs + answer.nextInMs
    const isShort = answer.held - kept < need
    if (looksAhead && !isShort) share.looksAhead = false
    return { ...answer, isShort }
  }

  #admit(share: WindowShare): void {
    const nowMs = this.#clock.monotonic()
    while (share.waiting.length > 0 && this.#use(share, nowMs)) {
      share.waiting.shift()?.resolve(this.#allowanceOf(share, nowMs, true))
    }
  }

  #refuse(share: WindowShare, isGuess: boolean): void {
    const nowMs = this.#clock.monotonic()
    const atMs = this.#nextFreeMs(share, nowMs)
    // Of a process that does not answer nothing is known: it is asked again soon.
    const soonMs = nowMs + BUDGET_SHORT_MS
    const knownMs = Number.isFinite(atMs) ? atMs : nowMs + this.#options.windowMs
    share.refusedUntilMs = isGuess ? Math.min(knownMs, soonMs) : knownMs
    share.looksAhead = false
    if (this.#options.tellsEnd === true && !isGuess) {
      const endMs = Math.round(this.#ledger.now() + knownMs - nowMs)
      this.#ledger.say('budget ended', `${this.#options.name}:${endMs}:${share.key}`)
    }
    const refusal = this.#allowanceOf(share, nowMs, false)
    for (const { resolve } of share.waiting.splice(0)) resolve(refusal)
  }

  #nameOf({ key }: WindowShare): string {
    return `${this.#options.name}:${key}`
  }
}

// This process at the record of shared budgets: under which name it holds tokens, whether it may still
// use them, and its exchanges, many in one transaction and one transaction at a time.

import type { Clock } from '#platform/clock.ts'
import type { Signals } from '#platform/db/signals.ts'
import type { MakeId } from '#platform/ids.ts'
import type { Log } from '#platform/log.ts'
import { MINUTE_MS, SECOND_MS } from '#platform/units.ts'
import type { QueueClock } from '#queue/queue-clock.ts'
import type { Db } from '#schema/tables.ts'
import type { BudgetAnswer, BudgetAsk } from './budget.ts'
import {
  addBudgetHolder,
  endBudgetHolder,
  exchangeBudgets,
  renewBudgetHolder,
  sweepBudgets,
} from './budget-rows.ts'

/** How long a process may use what it holds without renewing that it is there, and when it renews. */
export const BUDGET_LEASE_MS = 30 * SECOND_MS
export const BUDGET_RENEW_MS = 10 * SECOND_MS
/** Of its lease a process leaves this much unused, for clocks that do not run quite alike. */
const BUDGET_LEASE_SPARE_MS = 2 * SECOND_MS
/** Budgets of one transaction. */
export const BUDGET_ASKS_AT_ONCE = 100
export const BUDGET_SWEEP_MS = MINUTE_MS

/** What a process tells others of a budget, by its name; it may be lost. */
export type BudgetTopic = 'budget wanted' | 'budget given' | 'budget ended'

export type LedgerDeps = {
  db: Db
  clock: Clock
  queueClock: QueueClock
  makeId: MakeId
  log: Log
  signals: Pick<Signals, 'say' | 'hear'>
}

/** Who holds tokens of some budgets in this process. */
export type LedgerUser = {
  /** Whether there is anything to be kept. */
  readonly isHolding: boolean
  /** Everything that it held was given to others. */
  lose(): void
  /** Called now and then: gives back what is not needed, and tells again what could not be told. */
  tidy(): Promise<void>
}

type NamedAsk = BudgetAsk & { name: string }
type Waiting = { ask: NamedAsk } & Pick<PromiseWithResolvers<BudgetAnswer>, 'resolve' | 'reject'>

export class BudgetLedger {
  readonly #deps: LedgerDeps
  readonly #users: LedgerUser[] = []
  #holder = ''
  #isKnown = false
  /** By the monotonic clock, and by that of the wall: the first stands still with the machine. */
  #aliveUntilMs = Number.NEGATIVE_INFINITY
  #aliveUntilWallMs = Number.NEGATIVE_INFINITY
  #renewing: Promise<void> | null = null
  /** By what they are of, such as requests: a flood of one kind does not hold up the others. */
  readonly #queues = new Map<string, Waiting[]>()
  #isBusy = false
  #sweptMs: number
  #timer: NodeJS.Timeout

  constructor(deps: LedgerDeps) {
    this.#deps = deps
    this.#sweptMs = deps.clock.monotonic()
    this.#timer = setInterval(() => void this.tend(), BUDGET_RENEW_MS / 2).unref()
  }

  add(user: LedgerUser): void {
    this.#users.push(user)
  }

  /** Whether what is held may be used: nobody else can have been given it yet. */
  isAlive(nowMs: number): boolean {
    return nowMs < this.#aliveUntilMs && this.#deps.clock.now() < this.#aliveUntilWallMs
  }

  /** The time that all who share the record go by. */
  now(): number {
    return this.#deps.queueClock.now()
  }

  /**
   * One of a kind, such as requests. Resolves when the exchange is on record. What is given back must not be used from the call on; after
   * a rejection, which is that of the store, it is unknown whether it was.
   */
  exchange(kind: string, ask: NamedAsk): Promise<BudgetAnswer> {
    const { promise, resolve, reject } = Promise.withResolvers<BudgetAnswer>()
    const queue = this.#queues.get(kind) ?? []
    queue.push({ ask, resolve, reject })
    this.#queues.set(kind, queue)
    if (!this.#isBusy) void this.#work()
    return promise
  }

  say(topic: BudgetTopic, name: string): void {
    this.#deps.signals.say(topic, name)
  }

  hear(topic: BudgetTopic, run: (name: string) => void): void {
    this.#deps.signals.hear(topic, run)
  }

  /** After all was given back; with `isSettled` the holder is taken off the record. */
  async close(isSettled: boolean): Promise<void> {
    clearInterval(this.#timer)
    if (!isSettled || !this.#isKnown) return
    await this.#deps.db.write(endBudgetHolder, { holder: this.#holder })
  }

  async #work(): Promise<void> {
    this.#isBusy = true
    while (this.#queues.size > 0) {
      const batch = this.#nextBatch()
      try {
        const answers = await this.#send(batch.map(({ ask }) => ask))
        for (const [index, { resolve }] of batch.entries()) {
          const answer = answers[index]
          if (answer !== undefined) resolve(answer)
        }
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    this.#isBusy = false
  }

  #nextBatch(): Waiting[] {
    const each = Math.ceil(BUDGET_ASKS_AT_ONCE / this.#queues.size)
    const batch: Waiting[] = []
    for (const [kind, queue] of this.#queues) {
      batch.push(...queue.splice(0, each))
      if (queue.length === 0) this.#queues.delete(kind)
    }
    return batch
  }

  async #send(asks: NamedAsk[]): Promise<BudgetAnswer[]> {
    const { db, clock, queueClock } = this.#deps
    if (!this.isAlive(clock.monotonic())) await this.#renew()
    const holder = this.#holder
    const answers = await db.write(exchangeBudgets, { holder, nowMs: queueClock.now(), asks })
    if (holder === this.#holder) return answers
    // Given to a name that is no more; what was held under it is lost, too.
    return this.#send(asks.map((ask) => ({ ...ask, kept: 0, unused: 0, used: [] })))
  }

  #renew(): Promise<void> {
    this.#renewing ??= this.#renewNow().finally(() => {
      this.#renewing = null
    })
    return this.#renewing
  }

  async #renewNow(): Promise<void> {
    const { db, clock, queueClock } = this.#deps
    await queueClock.check()
    const [startMs, startWallMs] = [clock.monotonic(), clock.now()]
    const untilMs = queueClock.now() + BUDGET_LEASE_MS
    if (this.#isKnown) {
      const input = { holder: this.#holder, untilMs }
      if (!(await db.write(renewBudgetHolder, input))) this.#beginAnew()
    }
    if (!this.#isKnown) {
      // Whether a failed write was kept is not known, and a name is used once.
      this.#holder = this.#deps.makeId('job')
      await db.write(addBudgetHolder, { holder: this.#holder, untilMs })
      this.#isKnown = true
    }
    this.#aliveUntilMs = startMs + BUDGET_LEASE_MS - BUDGET_LEASE_SPARE_MS
    this.#aliveUntilWallMs = startWallMs + BUDGET_LEASE_MS - BUDGET_LEASE_SPARE_MS
  }

  #beginAnew(): void {
    this.#isKnown = false
    this.#aliveUntilMs = Number.NEGATIVE_INFINITY
    for (const user of this.#users) user.lose()
  }

  /** Keeps what is held, and the record in order. Never fails. */
  async tend(): Promise<void> {
    const { db, clock, queueClock, log } = this.#deps
    const nowMs = clock.monotonic()
    try {
      const isDue = this.#aliveUntilMs - nowMs < BUDGET_LEASE_MS - BUDGET_RENEW_MS
      if (isDue && this.#users.some(({ isHolding }) => isHolding)) await this.#renew()
      await Promise.all(this.#users.map((user) => user.tidy()))
      if (nowMs - this.#sweptMs < BUDGET_SWEEP_MS) return
      this.#sweptMs = nowMs
      let isMore = true
      while (isMore) isMore = await db.write(sweepBudgets, { nowMs: queueClock.now() })
    } catch (error) {
      log.debug({ error }, 'shared limits could not be tended')
    }
  }
}

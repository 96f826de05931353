// Duties of this process: periodic work that one process at a time does for all that share a database.
// Whoever finds that nobody has a duty takes it; nobody has to live for it to be done.

import { CLOCK_SKEW_MS } from '#platform/clock.ts'
import type { Log } from '#platform/log.ts'
import { storageTrouble } from '#platform/storage-trouble.ts'
import { MINUTE_MS, SECOND_MS } from '#platform/units.ts'
import type { Db } from '#schema/tables.ts'
import { isFree, listDuties, noteDutyDone, returnDuties, takeDuties } from './duty-rows.ts'
import type { QueueClock } from './queue-clock.ts'

/** How long work that one process does for all stays with one that is not heard of any more. */
export const DUTY_LEASE_MS = 30 * SECOND_MS
/** What is done under such a lease is told to end when this is left of it. */
const DUTY_LEASE_LEFT_MS_MIN = 5 * SECOND_MS
/** How often each process looks for such work that nobody has; with the lease, less than a minute. */
export const DUTY_LOOK_MS = 5 * SECOND_MS
/** When work that is due once an hour is tried again after it failed. */
const DUTY_RETRY_MS = MINUTE_MS

export type DutyName =
  | 'retention'
  | 'blob sweep'
  | 'key rotation'
  | 'search index'
  | 'hourly figures'

export type Duty = {
  name: DutyName
  /** How long after it was done it is due again; absent for what goes on all the time. */
  everyMs?: number
  /** Of the loop that asks. */
  signal: AbortSignal
  /** Some of the work, which ends early once its signal is aborted; true when there may be more. */
  run(signal: AbortSignal): Promise<boolean>
}

export type Duties = {
  /** How often to ask for what is due every `everyMs`. */
  lookMs(everyMs: number): number
  /** Runs it where this process has the duty and it is due; true when there may be more. */
  perform(duty: Duty): Promise<boolean>
  /** Those that this process has now. */
  held(): DutyName[]
  /** Tells what runs to end; nothing is performed any more. */
  stop(): void
  /** Lets others have them at once; call it when nothing runs any more. */
  close(): Promise<void>
}

/** Of a process that is alone with its database: it has them all, and its loops keep the time. */
export function openOwnDuties(): Duties {
  return {
    lookMs: (everyMs) => everyMs,
    perform: ({ run, signal }) => run(signal),
    held: () => [],
    stop: () => {},
    close: () => Promise.resolve(),
  }
}

type SharedDeps = { db: Db; queueClock: QueueClock; log: Log }

/**
 * Of one process of several. A duty is held for DUTY_LEASE_MS at a time and renewed when a third of
 * that is over; what runs is told to end DUTY_LEASE_LEFT_MS_MIN before its lease does. A process that
 * was suspended may be at the step that it was at, and no further, when another has the duty: every
 * step is right beside another of its kind. `worker` is a name that no other process has.
 */
export function openSharedDuties(
  deps: SharedDeps,
  options: { worker: string; names: readonly DutyName[] },
): Duties {
  return new SharedDuties(deps, options)
}

/** From when this process has a duty until it has lost or returned it. */
type Term = {
  readonly ending: AbortController
  untilMs: number
  doneAtMs: number | null
  timer: NodeJS.Timeout
}

class SharedDuties implements Duties {
  readonly #deps: SharedDeps
  readonly #worker: string
  readonly #names: readonly DutyName[]
  readonly #terms = new Map<DutyName, Term>()
  /** What failed, or what every process does by itself, is left alone until then. */
  readonly #retryAtMs = new Map<DutyName, number>()
  readonly #timer: NodeJS.Timeout
  #looking: Promise<void> | null = null
  #lookedAtMs = Number.NEGATIVE_INFINITY
  #isStopped = false
  /** Since it asked for the first one, also where it does not know what came of that. */
  #mayHoldSome = false

  constructor(deps: SharedDeps, options: { worker: string; names: readonly DutyName[] }) {
    this.#deps = deps
    this.#worker = options.worker
    this.#names = options.names
    // Also while a step goes on for long.
    this.#timer = setInterval(() => {
      this.#look().catch((error) =>
        deps.log.warn({ error }, 'checking the service-wide duties failed'),
      )
    }, DUTY_LOOK_MS)
    this.#timer.unref()
  }

  lookMs(everyMs: number): number {
    return Math.min(everyMs, DUTY_LOOK_MS)
  }

  async perform(duty: Duty): Promise<boolean> {
    const { name, everyMs } = duty
    if (!this.#names.includes(name)) return this.#performAlone(duty)
    const term = await this.#find(name)
    if (term === null || !this.#isDue(name, term, everyMs)) return false
    const { signal } = term.ending
    const hasMore = await this.#run(duty, signal)
    if (everyMs === undefined || hasMore || signal.aborted) return hasMore
    const queueMs = this.#now()
    term.doneAtMs = queueMs
    await this.#deps.db.write(noteDutyDone, { worker: this.#worker, name, queueMs })
    return false
  }

  /** What every process has to do by itself. */
  async #performAlone(duty: Duty): Promise<boolean> {
    const { name, everyMs, signal } = duty
    const nowMs = this.#now()
    if (everyMs !== undefined && nowMs < (this.#retryAtMs.get(name) ?? nowMs)) return false
    if (everyMs !== undefined) this.#retryAtMs.set(name, nowMs + everyMs)
    return this.#run(duty, signal)
  }

  async #run({ name, everyMs, run }: Duty, signal: AbortSignal): Promise<boolean> {
    try {
      return await run(signal)
    } catch (error) {
      // Loops ask far more often than it is due.
      if (everyMs !== undefined) this.#retryAtMs.set(name, this.#now() + DUTY_RETRY_MS)
      throw error
    }
  }

  held(): DutyName[] {
    return [...this.#terms.keys()]
  }

  stop(): void {
    this.#isStopped = true
    clearInterval(this.#timer)
    for (const { ending, timer } of this.#terms.values()) {
      clearTimeout(timer)
      ending.abort()
    }
  }

  async close(): Promise<void> {
    this.stop()
    await this.#looking?.catch(() => {})
    this.#terms.clear()
    if (!this.#mayHoldSome) return
    this.#mayHoldSome = false
    // Otherwise they end by themselves.
    await this.#deps.db.write(returnDuties, { worker: this.#worker }).catch(() => {})
  }

  #now(): number {
    return this.#deps.queueClock.now()
  }

  async #find(name: DutyName): Promise<Term | null> {
    // A process that was suspended has to know before it goes on.
    await this.#deps.queueClock.check()
    const sinceMs = this.#now() - this.#lookedAtMs
    if (this.#valid(name) === null && (this.#terms.has(name) || sinceMs >= DUTY_LOOK_MS)) {
      await this.#look()
    } else await this.#looking
    return this.#valid(name)
  }

  #valid(name: DutyName): Term | null {
    const term = this.#terms.get(name)
    if (term === undefined || term.ending.signal.aborted) return null
    return this.#now() < term.untilMs ? term : null
  }

  #isDue(name: DutyName, { doneAtMs }: Term, everyMs: number | undefined): boolean {
    if (everyMs === undefined) return true
    const nowMs = this.#now()
    if ((this.#retryAtMs.get(name) ?? nowMs) > nowMs) return false
    // What is to come was written before the clock was set back.
    return doneAtMs === null || nowMs - doneAtMs >= everyMs || doneAtMs > nowMs + CLOCK_SKEW_MS
  }

  /** One at a time; rejects only for what is no trouble of the store. */
  #look(): Promise<void> {
    if (this.#isStopped) return Promise.resolve()
    this.#looking ??= this.#takeAndRenew()
      .catch((error) => {
        if (storageTrouble(error) === null) throw error
      })
      .finally(() => {
        this.#looking = null
      })
    return this.#looking
  }

  async #takeAndRenew(): Promise<void> {
    const { db, queueClock } = this.#deps
    await queueClock.check()
    const queueMs = this.#now()
    this.#lookedAtMs = queueMs
    // What was not renewed in time may have been another's meanwhile.
    for (const [name, { untilMs }] of this.#terms) if (untilMs <= queueMs) this.#end(name)
    const kept = new Map((await listDuties(db, this.#names)).map((row) => [row.name, row]))
    const isWanted = (name: DutyName) => {
      const row = kept.get(name)
      if (row === undefined || isFree(row, { queueMs, leaseMs: DUTY_LEASE_MS })) return true
      const endsSoon = (row.leaseUntilMs ?? 0) - queueMs <= (DUTY_LEASE_MS * 2) / 3
      return row.holder === this.#worker && (endsSoon || this.#valid(name) === null)
    }
    // A look costs nothing, a write a commit.
    const names = this.#names.filter(isWanted)
    for (const name of this.#names) {
      if (!names.includes(name) && kept.get(name)?.holder !== this.#worker) this.#end(name)
    }
    if (names.length === 0) return
    const lease = { worker: this.#worker, names, queueMs, leaseMs: DUTY_LEASE_MS }
    this.#mayHoldSome = true
    const taken = await db.write(takeDuties, lease)
    const doneAt = new Map(taken.map((one) => [one.name, one.doneAtMs]))
    for (const name of names) {
      if (doneAt.has(name)) this.#extend(name, queueMs, doneAt.get(name) ?? null)
      else this.#end(name)
    }
  }

  #extend(name: DutyName, queueMs: number, doneAtMs: number | null): void {
    if (this.#isStopped) return
    const untilMs = queueMs + DUTY_LEASE_MS - DUTY_LEASE_LEFT_MS_MIN
    const known = this.#terms.get(name)
    if (known !== undefined) clearTimeout(known.timer)
    const goesOn = known !== undefined && !known.ending.signal.aborted
    const ending = goesOn ? known.ending : new AbortController()
    const timer = setTimeout(() => ending.abort(), Math.max(0, untilMs - this.#now()))
    timer.unref()
    this.#terms.set(name, { ending, untilMs, doneAtMs, timer })
  }

  #end(name: DutyName): void {
    const term = this.#terms.get(name)
    if (term === undefined) return
    clearTimeout(term.timer)
    term.ending.abort()
    this.#terms.delete(name)
  }
}

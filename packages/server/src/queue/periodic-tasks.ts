// Periodic tasks that one process does for all that share a database, under a leader lease for each task. Any
// process takes a lease that it finds free.

import { CLOCK_SKEW_MS } from '#platform/clock.ts'
import type { Log } from '#platform/log.ts'
import { storageErrorKind } from '#platform/problem.ts'
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '#platform/units.ts'
import type { Db } from '#schema/tables.ts'
import {
  isTaskFree,
  listTaskLeases,
  noteTaskDone,
  returnTaskLeases,
  takeTaskLeases,
} from './periodic-task-rows.ts'
import type { QueueClock } from './queue-clock.ts'
import { openWorkerLoop, type WorkerLoopOptions } from './worker-loop.ts'

/** How long a task stays leased to a process that died. */
export const LEADER_LEASE_MS = 30 * SECOND_MS
/** A run is aborted when this much is left of its lease. */
const LEASE_LEFT_MS_MIN = 5 * SECOND_MS
/** How often each process checks for free leases. With the lease, a task waits less than a minute. */
export const LEADER_CHECK_MS = 5 * SECOND_MS
/** When a failed task is retried, unless it is due sooner. */
const TASK_RETRY_MS = MINUTE_MS

export type TaskName =
  | 'retention'
  | 'blob sweep'
  | 'key rotation'
  | 'search index'
  | 'hourly figures'
  | 'daily figures'
  | 'scheduled sends'
  | 'review mail'
  | 'thread claims'
  | 'expiry'

type PeriodicTask = {
  name: TaskName
  /** Time from the end of a run until the next is due; absent for a task without an interval. */
  everyMs?: number
  signal: AbortSignal
  /** Does some of the work; ends early once its signal is aborted. True when there may be more. */
  run(signal: AbortSignal): Promise<boolean>
}

export type PeriodicTasks = {
  /** How often to call `perform` for a task that is due every `everyMs`. */
  pollMs(name: TaskName, everyMs: number): number
  /** Runs the task if this process leads it and it is due; true when there may be more. */
  perform(task: PeriodicTask): Promise<boolean>
  /** The tasks that this process leads now. */
  led(): TaskName[]
  /** Aborts every run; nothing is performed any more. */
  stop(): void
  /**
   * Returns the leases, so that other processes can take them at once. Call it when nothing runs any more.
   */
  close(): Promise<void>
}

/** For a process that is alone with its database; its loops keep the time. */
export function openOwnTasks(): PeriodicTasks {
  return {
    pollMs: (_name, everyMs) => everyMs,
    perform: ({ run, signal }) => run(signal),
    led: () => [],
    stop: () => {},
    close: () => Promise.resolve(),
  }
}

type TaskDeps = { db: Db; queueClock: QueueClock; log: Log }

type SharedOptions = {
  /** A name that no other process has. */
  readonly worker: string
  /** The tasks that one process does for all. Each process does any other task itself. */
  readonly names: readonly TaskName[]
}

/**
 * For one process of several. A lease is renewed after a third of it. A process that was suspended may still
 * finish a step after another has taken its lease, so every step must be right beside another of its kind.
 */
export function openSharedTasks(deps: TaskDeps, options: SharedOptions): PeriodicTasks {
  return new SharedTasks(deps, options)
}

type LeaderLease = {
  readonly ending: AbortController
  untilMs: number
  doneAtMs: number | null
  timer: NodeJS.Timeout
}

class SharedTasks implements PeriodicTasks {
  readonly #deps: TaskDeps
  readonly #worker: string
  readonly #names: readonly TaskName[]
  readonly #leases = new Map<TaskName, LeaderLease>()
  /** The time until which a failed task is not retried. */
  readonly #retryAtMs = new Map<TaskName, number>()
  readonly #timer: NodeJS.Timeout
  #checking: Promise<void> | null = null
  #checkedAtMs = Number.NEGATIVE_INFINITY
  #isStopped = false
  /** Also true when a lease was requested and the answer is not known. */
  #mayLeadSome = false

  constructor(deps: TaskDeps, { worker, names }: SharedOptions) {
    this.#deps = deps
    this.#worker = worker
    this.#names = names
    // Leases are renewed during long runs, too.
    this.#timer = setInterval(() => {
      this.#check().catch((error) =>
        deps.log.warn({ error }, 'checking the leases of periodic tasks failed'),
      )
    }, LEADER_CHECK_MS)
    this.#timer.unref()
  }

  pollMs(name: TaskName, everyMs: number): number {
    return this.#names.includes(name) ? Math.min(everyMs, LEADER_CHECK_MS) : everyMs
  }

  async perform({ name, everyMs, signal, run }: PeriodicTask): Promise<boolean> {
    if (!this.#names.includes(name)) return run(signal)
    const lease = await this.#findLease(name)
    if (lease === null || !this.#isDue(name, lease, everyMs)) return false
    const ending = lease.ending.signal
    try {
      const hasMore = await run(ending)
      if (everyMs === undefined || hasMore || ending.aborted) return hasMore
    } catch (error) {
      // Loops call far more often than the task is due.
      if (everyMs !== undefined) this.#retryAtMs.set(name, this.#now() + TASK_RETRY_MS)
      throw error
    }
    const queueMs = this.#now()
    lease.doneAtMs = queueMs
    await this.#deps.db.write(noteTaskDone, { worker: this.#worker, name, queueMs })
    return false
  }

  led(): TaskName[] {
    return [...this.#leases.keys()]
  }

  stop(): void {
    this.#isStopped = true
    clearInterval(this.#timer)
    for (const { ending, timer } of this.#leases.values()) {
      clearTimeout(timer)
      ending.abort()
    }
  }

  async close(): Promise<void> {
    this.stop()
    await this.#checking?.catch(() => {})
    this.#leases.clear()
    if (!this.#mayLeadSome) return
    this.#mayLeadSome = false
    // If this fails the leases expire.
    await this.#deps.db.write(returnTaskLeases, { worker: this.#worker }).catch(() => {})
  }

  #now(): number {
    return this.#deps.queueClock.now()
  }

  async #findLease(name: TaskName): Promise<LeaderLease | null> {
    // A process that was suspended must notice before it continues.
    await this.#deps.queueClock.check()
    const sinceMs = this.#now() - this.#checkedAtMs
    if (this.#valid(name) === null && (this.#leases.has(name) || sinceMs >= LEADER_CHECK_MS)) {
      await this.#check()
    } else await this.#checking
    return this.#valid(name)
  }

  #valid(name: TaskName): LeaderLease | null {
    const lease = this.#leases.get(name)
    if (lease === undefined || lease.ending.signal.aborted) return null
    return this.#now() < lease.untilMs ? lease : null
  }

  #isDue(name: TaskName, { doneAtMs }: LeaderLease, everyMs: number | undefined): boolean {
    if (everyMs === undefined) return true
    const nowMs = this.#now()
    if ((this.#retryAtMs.get(name) ?? nowMs) > nowMs) return false
    // A time in the future was written before the clock was set back.
    return doneAtMs === null || nowMs - doneAtMs >= everyMs || doneAtMs > nowMs + CLOCK_SKEW_MS
  }

  /** One check at a time. Rejects only for errors that are not the store's. */
  #check(): Promise<void> {
    if (this.#isStopped) return Promise.resolve()
    this.#checking ??= this.#takeAndRenew()
      .catch((error) => {
        if (storageErrorKind(error) === null) throw error
      })
      .finally(() => {
        this.#checking = null
      })
    return this.#checking
  }

  async #takeAndRenew(): Promise<void> {
    const { db, queueClock } = this.#deps
    await queueClock.check()
    const queueMs = this.#now()
    this.#checkedAtMs = queueMs
    // A lease that was not renewed in time may have been another process's meanwhile.
    for (const [name, { untilMs }] of this.#leases) if (untilMs <= queueMs) this.#end(name)
    const rows = new Map((await listTaskLeases(db, this.#names)).map((row) => [row.name, row]))
    const names = this.#names.filter((name) => {
      const row = rows.get(name)
      if (row === undefined || isTaskFree(row, { queueMs, leaseMs: LEADER_LEASE_MS })) return true
      if (row.holder !== this.#worker) {
        this.#end(name)
        return false
      }
      const endsSoon = (row.leaseUntilMs ?? 0) - queueMs <= (LEADER_LEASE_MS * 2) / 3
      return endsSoon || this.#valid(name) === null
    })
    // A read is cheap; a write costs a commit.
    if (names.length === 0) return
    this.#mayLeadSome = true
    const lease = { worker: this.#worker, names, queueMs, leaseMs: LEADER_LEASE_MS }
    const taken = new Map(
      (await db.write(takeTaskLeases, lease)).map((one) => [one.name, one.doneAtMs]),
    )
    for (const name of names) {
      const doneAtMs = taken.get(name)
      if (doneAtMs === undefined) this.#end(name)
      else this.#extend(name, queueMs, doneAtMs)
    }
  }

  #extend(name: TaskName, queueMs: number, doneAtMs: number | null): void {
    if (this.#isStopped) return
    const untilMs = queueMs + LEADER_LEASE_MS - LEASE_LEFT_MS_MIN
    const known = this.#leases.get(name)
    if (known !== undefined) clearTimeout(known.timer)
    const goesOn = known !== undefined && !known.ending.signal.aborted
    const ending = goesOn ? known.ending : new AbortController()
    const timer = setTimeout(() => ending.abort(), Math.max(0, untilMs - this.#now()))
    timer.unref()
    this.#leases.set(name, { ending, untilMs, doneAtMs, timer })
  }

  #end(name: TaskName): void {
    const lease = this.#leases.get(name)
    if (lease === undefined) return
    clearTimeout(lease.timer)
    lease.ending.abort()
    this.#leases.delete(name)
  }
}

const JOBS_EVERY_MS = SECOND_MS
/** A large mailbox takes minutes, and then another account has its turn. */
const ERASURES_AT_ONCE = 2
/** How often each process searches for due checks. */
const DOMAIN_CHECKS_EVERY_MS = 10 * SECOND_MS
const PURGE_EVERY_MS = HOUR_MS
const ROTATE_EVERY_MS = HOUR_MS
/** The mail of a second shares one commit of the index. */
const SEARCH_POLL_MS = SECOND_MS
const FIGURES_POLL_MS = 2 * SECOND_MS
const SCHEDULE_POLL_MS = SECOND_MS
const REVIEW_MAIL_POLL_MS = SECOND_MS
const CLAIMS_POLL_MS = SECOND_MS
const EXPIRY_POLL_MS = 2 * SECOND_MS

type BackgroundPorts = {
  /** Runs due jobs; true when there may be more. Each function here ends early once its signal is aborted. */
  workJobs(signal: AbortSignal): Promise<boolean>
  /** Works on an export or import; true when there may be more. */
  workTransfers(signal: AbortSignal): Promise<boolean>
  transfersAtOnce: number
  /** Works on the erasures of an account; true when there may be more. */
  workErasures(signal: AbortSignal): Promise<boolean>
  /** Reads the attachments of a message; true when there may be more. */
  readAttachments(signal: AbortSignal): Promise<boolean>
  purgeExpired(signal: AbortSignal): Promise<void>
  sweepBlobs(signal: AbortSignal): Promise<number>
  /** Time from one sweep to the next. */
  sweepEveryMs: number
  /** True when there may be more. */
  checkDomains(signal: AbortSignal): Promise<boolean>
  rotateKeys(signal: AbortSignal): Promise<void>
  /** True when there may be more. */
  indexSearch(signal: AbortSignal): Promise<boolean>
  /** True when there may be more. */
  countHours(): Promise<boolean>
  /** True when there may be more. */
  countDays(): Promise<boolean>
  /** True when there may be more. */
  releaseSends(signal: AbortSignal): Promise<boolean>
  /** True when there may be more. */
  expireClaims(signal: AbortSignal): Promise<boolean>
  /** True when there may be more. */
  mailReviews(signal: AbortSignal): Promise<boolean>
  /** True when there may be more. */
  expire(signal: AbortSignal): Promise<boolean>
  tasks: PeriodicTasks
  log: Log
}

/**
 * Starts the loops of all work that is due by time rather than requested. Each task has its own loop, because
 * DNS or a bucket may delay one. Processes share jobs and checks of domains row by row; one process leads
 * each other task. Call `wakeJobs` when a job was queued.
 */
export function openBackground(ports: BackgroundPorts) {
  const { log, tasks, sweepEveryMs } = ports
  const open = (name: string, everyMs: number, step: WorkerLoopOptions['step']) =>
    openWorkerLoop({ name, everyMs, step, log })
  const goOn = (name: TaskName, pollMs: number, run: PeriodicTask['run']) =>
    open(name, pollMs, (signal) => tasks.perform({ name, signal, run }))
  const repeat = (name: TaskName, everyMs: number, run: (ending: AbortSignal) => Promise<void>) =>
    open(name, tasks.pollMs(name, everyMs), (signal) =>
      tasks.perform({ name, everyMs, signal, run: (ending) => run(ending).then(() => false) }),
    )
  const jobs = open('jobs', JOBS_EVERY_MS, ports.workJobs)
  const transfers = Array.from({ length: ports.transfersAtOnce }, () =>
    open('transfers', JOBS_EVERY_MS, ports.workTransfers),
  )
  // Apart from transfers, which may take hours.
  const erasures = Array.from({ length: ERASURES_AT_ONCE }, () =>
    open('erasures', JOBS_EVERY_MS, ports.workErasures),
  )
  const loops = [
    jobs,
    ...transfers,
    ...erasures,
    open('attachments', JOBS_EVERY_MS, ports.readAttachments),
    open('domains', DOMAIN_CHECKS_EVERY_MS, ports.checkDomains),
    goOn('search index', SEARCH_POLL_MS, ports.indexSearch),
    goOn('hourly figures', FIGURES_POLL_MS, ports.countHours),
    goOn('daily figures', FIGURES_POLL_MS, ports.countDays),
    goOn('scheduled sends', SCHEDULE_POLL_MS, ports.releaseSends),
    goOn('thread claims', CLAIMS_POLL_MS, ports.expireClaims),
    goOn('review mail', REVIEW_MAIL_POLL_MS, ports.mailReviews),
    goOn('expiry', EXPIRY_POLL_MS, ports.expire),
    repeat('retention', PURGE_EVERY_MS, ports.purgeExpired),
    repeat('key rotation', ROTATE_EVERY_MS, ports.rotateKeys),
    repeat('blob sweep', sweepEveryMs, async (ending) => {
      const orphans = await ports.sweepBlobs(ending)
      if (orphans > 0) log.info({ orphans }, 'removed stored files that no message refers to')
    }),
  ]
  return {
    wakeJobs: () => {
      for (const loop of [jobs, ...transfers, ...erasures]) loop.wake()
    },
    /** Aborts the present step of each loop and resolves after it. */
    async close() {
      tasks.stop()
      await Promise.all(loops.map((loop) => loop.close()))
      await tasks.close()
    },
  }
}

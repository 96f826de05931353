// Workers that lease due jobs of one kind, renew the leases and settle the jobs.

import { MINUTE_MS, SECOND_MS } from '#platform/units.ts'
import type { Store } from '#store/store.ts'
import {
  addJobs,
  type Held,
  hasDueJob,
  type Job,
  leaseJobs,
  type Outcome,
  renewJobs,
  settleJob,
} from './jobs.ts'
import { failureOf, type Trouble } from './trouble.ts'
import { openWorkerLoop } from './worker-loop.ts'

const LEASE_MS = MINUTE_MS
const POLL_MS = SECOND_MS
/** Maximum time for one account's job while other accounts wait. */
const TURN_MS = 3 * SECOND_MS

export type JobKind = {
  readonly name: string
  /** Maximum concurrent jobs in a process; 1 by default. */
  readonly atOnce?: number
  readonly isExclusive?: boolean
  /** Maximum jobs of one account in one run; 1 by default. */
  readonly batch?: number
  /** Consecutive faults after which a job is given up; unlimited if absent. */
  readonly faultsMax?: number
  /** Restricts the worker to these keys, and adds missing jobs. */
  readonly keys?: readonly string[]
  readonly leaseMs?: number
  readonly pollMs?: number
  readonly aheadMsMax?: number
  /** Called before renewals and new leases. */
  prepare?(): Promise<void>
  /**
   * Runs jobs of one account. A rejection fails all of them. Must tolerate a rerun from any point.
   */
  run(jobs: readonly [Job, ...Job[]], work: Work): Promise<Outcome>
  /** Called before a job is deleted after `faultsMax` faults. */
  giveUp?(held: Held, trouble: Trouble): Promise<unknown>
}

export type Work = {
  /** Aborts when the worker closes or the lease is lost. */
  readonly signal: AbortSignal
  held(job: Job): Held
  /** True if the job should return, because the worker closes or the account's turn is over. */
  isOver(): Promise<boolean>
  /** Fails a single job of a batch. */
  fail(job: Job, error: unknown): Promise<void>
}

export type JobDeps = Store & {
  /** Returns a name that no worker has used before. */
  makeWorker(): string
}

export type JobWorker = {
  wake(): void
  running(): string[]
  close(): Promise<void>
}

export function openJobWorker(deps: JobDeps, kind: JobKind): JobWorker {
  return new Worker(deps, kind)
}

type Run = {
  readonly worker: string
  readonly jobs: Set<Job>
  readonly ending: AbortController
  renewedMs: number
  done: Promise<void>
}

class Worker implements JobWorker {
  readonly #deps: JobDeps
  readonly #kind: JobKind
  readonly #leaseMs: number
  readonly #runs = new Set<Run>()
  readonly #loop: ReturnType<typeof openWorkerLoop>
  #afterAccount = ''
  #hasKeys = false

  constructor(deps: JobDeps, kind: JobKind) {
    this.#deps = deps
    this.#kind = kind
    this.#leaseMs = kind.leaseMs ?? LEASE_MS
    this.#loop = openWorkerLoop({
      name: kind.name,
      everyMs: kind.pollMs ?? POLL_MS,
      step: (signal) => this.#step(signal),
      log: deps.log,
      clock: deps.clock,
    })
  }

  wake(): void {
    this.#loop.wake()
  }

  running(): string[] {
    return [...this.#runs].flatMap(({ jobs }) => [...jobs].map(({ key }) => key))
  }

  async close(): Promise<void> {
    for (const { ending } of this.#runs) ending.abort()
    await this.#loop.close()
    for (const { ending } of this.#runs) ending.abort()
    await Promise.all([...this.#runs].map(({ done }) => done))
  }

  /** Starts due jobs without waiting for them, so that renewals are not delayed. */
  async #step(signal: AbortSignal): Promise<boolean> {
    await this.#kind.prepare?.()
    await this.#renew()
    const { name: kind, keys, isExclusive, aheadMsMax, atOnce = 1, batch = 1 } = this.#kind
    const { db, clock } = this.#deps
    if (keys !== undefined && !this.#hasKeys) {
      const due_at = clock.now()
      await db.write(addJobs, { jobs: keys.map((key) => ({ kind, key, account_id: '', due_at })) })
      this.#hasKeys = true
    }
    while (this.#runs.size < atOnce && !signal.aborted) {
      const nowMs = clock.now()
      const latestMs = aheadMsMax === undefined ? undefined : nowMs + aheadMsMax
      const due = { kind, keys, isExclusive, nowMs, latestMs }
      if (!(await hasDueJob(db, due))) return false
      const worker = this.#deps.makeWorker()
      const renewedMs = clock.monotonic()
      const lease = { worker, leaseMs: this.#leaseMs, limit: batch }
      const [first, ...more] = await db.write(leaseJobs, {
        ...due,
        ...lease,
        afterAccount: this.#afterAccount,
      })
      if (first === undefined) return false
      this.#afterAccount = first.accountId
      this.#start([first, ...more], { worker, renewedMs })
    }
    return false
  }

  #start(
    jobs: readonly [Job, ...Job[]],
    { worker, renewedMs }: { worker: string; renewedMs: number },
  ): void {
    const ending = new AbortController()
    const run: Run = { worker, jobs: new Set(jobs), ending, renewedMs, done: Promise.resolve() }
    this.#runs.add(run)
    run.done = this.#work(run, jobs)
      .catch((error) => this.#deps.log.warn({ error, kind: this.#kind.name }, OUTCOME_LOST))
      .finally(() => {
        this.#runs.delete(run)
        this.#loop.wake()
      })
  }

  async #work(run: Run, jobs: readonly [Job, ...Job[]]): Promise<void> {
    const { clock } = this.#deps
    const { name: kind } = this.#kind
    const { worker, ending } = run
    const held = ({ key }: Job) => ({ kind, key, worker, nowMs: clock.now() })
    const fail = (job: Job, error: unknown) => this.#fail(run, held(job), { job, error })
    const work = { signal: ending.signal, held, isOver: this.#openTurn(run, jobs[0]), fail }
    let outcome: Outcome
    try {
      outcome = await this.#kind.run(jobs, work)
    } catch (error) {
      for (const job of run.jobs) await fail(job, error)
      return
    }
    for (const job of run.jobs) await this.#settle(run, held(job), { job, outcome })
  }

  async #fail(run: Run, held: Held, { job, error }: { job: Job; error: unknown }): Promise<void> {
    const { log } = this.#deps
    const { kind, key } = held
    // The failure is logged first, because the write may also fail.
    log.warn({ error, kind, job: key }, 'a job failed and will be retried')
    const trouble = await this.#settle(run, held, { job, outcome: { failure: failureOf(error) } })
    if (trouble === null || trouble.faults < this.#faultsMax) return
    log.warn({ kind, job: key }, 'a job failed too often and was given up')
    await this.#kind.giveUp?.(held, trouble)
    await this.#settle(run, held, { job, outcome: 'done' })
  }

  async #settle(
    run: Run,
    held: Held,
    { job, outcome }: { job: Job; outcome: Outcome },
  ): Promise<Trouble | null> {
    run.jobs.delete(job)
    return this.#deps.db.write(settleJob, { ...held, outcome, faultsMax: this.#faultsMax })
  }

  get #faultsMax(): number {
    return this.#kind.faultsMax ?? Number.MAX_SAFE_INTEGER
  }

  /** Aborts runs whose lease is lost or nearly expired. */
  async #renew(): Promise<void> {
    const { db, clock } = this.#deps
    const nowMs = clock.monotonic()
    const old = [...this.#runs].filter(({ renewedMs }) => nowMs - renewedMs >= this.#leaseMs / 3)
    if (old.length === 0) return
    try {
      const workers = old.map(({ worker }) => worker)
      const untilMs = clock.now() + this.#leaseMs
      const kind = this.#kind.name
      const renewed = new Set(await db.write(renewJobs, { kind, workers, untilMs }))
      for (const run of old) {
        if (renewed.has(run.worker)) run.renewedMs = nowMs
        else run.ending.abort()
      }
    } finally {
      const latestMs = clock.monotonic() - this.#leaseMs * (5 / 6)
      for (const { renewedMs, ending } of old) if (renewedMs <= latestMs) ending.abort()
    }
  }

  #openTurn(run: Run, { accountId: exceptAccount }: Job): () => Promise<boolean> {
    const { db, clock } = this.#deps
    const { name: kind, isExclusive } = this.#kind
    const openedMs = clock.monotonic()
    let untilMs: number | null = null
    return async () => {
      if (run.ending.signal.aborted) return true
      const nowMs = clock.monotonic()
      // A job that takes long to resume runs for at least the same time.
      untilMs ??= nowMs + Math.max(TURN_MS, nowMs - openedMs)
      if (nowMs < untilMs) return false
      return hasDueJob(db, { kind, isExclusive, nowMs: clock.now(), exceptAccount })
    }
  }
}

const OUTCOME_LOST = 'the outcome of a job was lost; it runs again after its lease'

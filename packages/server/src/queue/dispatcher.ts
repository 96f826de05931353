import { systemChance } from '#platform/chance.ts'
import type { Clock } from '#platform/clock.ts'
import type { Log } from '#platform/log.ts'
import { MINUTE_MS, SECOND_MS } from '#platform/units.ts'
import type { DispatchedQueue, Group, GroupOutcome, Head, Item, Share } from './dispatched-queue.ts'
import { type DispatcherBounds, MAIL_BOUNDS, Pool } from './dispatcher-bounds.ts'
import { type Attempt, Lane } from './lane.ts'
import { openWorkerLoop } from './worker-loop.ts'

const SCAN_EVERY_MS = SECOND_MS
const RENEW_EVERY_MS = MINUTE_MS / 3
/** Most attempts are shorter; a longer one gives up its slot. */
const SLOW_ATTEMPT_MS = SECOND_MS
const CROWDED_PAUSE_MS = SECOND_MS / 2
/** Maximum deliveries leased ahead of their attempts, for answering destinations only. */
const AHEAD_MAX = { attempts: 2_000, bytes: Number.POSITIVE_INFINITY }
const LANES_MAX = 10_000

export type Dispatcher = {
  wake(): void
  active(): number
  /** Number of lanes with a known state or with running deliveries. */
  lanes(): number
  /**
   * Returns unstarted deliveries, waits up to `drainMs` for running attempts, and aborts the rest.
   */
  close(drainMs: number): Promise<void>
}

export function openDispatcher<Held extends Item>(
  queue: DispatchedQueue<Held>,
  { log, clock }: { log: Log; clock: Pick<Clock, 'every'> },
  options: { name?: string; bounds?: DispatcherBounds } = {},
): Dispatcher {
  const { name = 'deliveries', bounds = MAIL_BOUNDS } = options
  const work = new Work(queue, log, bounds)
  const leasing = openWorkerLoop({
    name,
    everyMs: SCAN_EVERY_MS,
    step: (signal) => work.leaseMore(signal),
    log,
    clock,
  })
  const wake = () => {
    work.requestScan()
    leasing.wake()
  }
  work.wantMore = () => leasing.wake()
  const due = openWorkerLoop({
    name: `due ${name}`,
    everyMs: SCAN_EVERY_MS,
    async step(signal) {
      wake()
      await queue.readyDue(wake, signal)
      return false
    },
    log,
    clock,
  })
  const leases = openWorkerLoop({
    name: `leases of ${name}`,
    everyMs: RENEW_EVERY_MS,
    async step() {
      if (work.isHolding) await queue.renew()
      return false
    },
    log,
    clock,
  })
  return {
    wake,
    active: () => work.active,
    lanes: () => work.lanes,
    async close(drainMs) {
      work.stopStarting()
      await Promise.all([leasing.close(), due.close()])
      await work.drain(drainMs)
      await leases.close()
    },
  }
}

class Work<Held extends Item> {
  readonly #queue: DispatchedQueue<Held>
  readonly #log: Log
  readonly #bounds: DispatcherBounds
  readonly #heads: ReadyHeads
  readonly #ahead = new Pool(AHEAD_MAX)
  readonly #slots: Pool
  readonly #slow: Pool
  /** Lanes by name, least recently used first. */
  readonly #lanes = new Map<string, Lane<Held>>()
  /** Number of leased items by account. */
  readonly #held = new Map<string, number>()
  /**
   * Lanes with waiting attempts. Accounts, and the lanes of each account, are served round robin.
   */
  readonly #waiting = new Map<string, Set<Lane<Held>>>()
  readonly #cut = new AbortController()
  readonly #returning = new Set<Promise<void>>()
  #isEnding = false
  #onEnd: () => void = () => {}
  active = 0
  wantMore: () => void = () => {}

  constructor(queue: DispatchedQueue<Held>, log: Log, bounds: DispatcherBounds) {
    this.#queue = queue
    this.#log = log
    this.#bounds = bounds
    this.#heads = new ReadyHeads(queue)
    this.#slots = new Pool(bounds.slots)
    this.#slow = new Pool(bounds.slow)
  }

  get lanes(): number {
    return this.#lanes.size
  }

  get isHolding(): boolean {
    return this.#held.size > 0
  }

  requestScan(): void {
    this.#heads.requestScan()
  }

  /** Returns true if there may be more. */
  async leaseMore(signal: AbortSignal): Promise<boolean> {
    if (this.#heads.hasUnread) await this.#heads.find((head) => this.#roomFor(head) > 0)
    if (signal.aborted) return false
    const shares = this.#allot()
    const count = shares.length === 0 ? 0 : await this.#lease(shares)
    return count > 0 || this.#heads.hasUnread
  }

  stopStarting(): void {
    this.#isEnding = true
  }

  /** Must be called after the last lease. */
  async drain(drainMs: number): Promise<void> {
    this.#return([...this.#lanes.values()].flatMap((lane) => lane.removeExcess(0)))
    if (this.active > 0) {
      const ended = new Promise<void>((resolve) => {
        this.#onEnd = resolve
      })
      const timer = setTimeout(() => this.#cut.abort(), drainMs)
      await ended
      clearTimeout(timer)
    }
    await Promise.all(this.#returning)
  }

  #laneOf(name: string): Lane<Held> {
    return this.#lanes.get(name) ?? new Lane<Held>(name, this.#bounds.lanes)
  }

  /** An unresponsive destination gets only deliveries whose attempts may start immediately. */
  #poolOf(lane: Lane<Held>): Pool {
    return lane.isAnswering ? this.#ahead : this.#slow
  }

  #roomFor({ account, lane: name }: Head): number {
    const lane = this.#laneOf(name)
    return Math.min(lane.roomFor(account), this.#poolOf(lane).room(account))
  }

  /**
   * Accounts with few unfinished items come first. Allotted items occupy the lane and the pool
   * until the lease is written.
   */
  #allot(): Allotment<Held>[] {
    const heldOf = ({ account }: Head) => this.#held.get(account) ?? 0
    const chosen = [...this.#heads]
      .filter((head) => this.#roomFor(head) > 0)
      .sort((one, other) => heldOf(one) - heldOf(other))
      .slice(0, HEADS_PER_LEASE)
    const allotments: Allotment<Held>[] = []
    for (const [account, heads] of Map.groupBy(chosen, (head) => head.account)) {
      for (const [index, head] of heads.entries()) {
        const pool = this.#poolOf(this.#laneOf(head.lane))
        const even = Math.max(1, Math.floor(pool.room(account) / (heads.length - index)))
        const limit = Math.min(this.#roomFor(head), even)
        if (limit <= 0) continue
        const lane = this.#use(head.lane)
        lane.expect(account, limit)
        pool.add(account, limit)
        allotments.push({ share: { ...head, limit }, lane, pool })
      }
    }
    return allotments
  }

  async #lease(allotments: Allotment<Held>[]): Promise<number> {
    let leased: Held[] = []
    try {
      leased = await this.#queue.lease(allotments.map(({ share }) => share))
    } finally {
      for (const { share, lane, pool } of allotments) {
        lane.expect(share.account, -share.limit)
        pool.add(share.account, -share.limit)
        this.#forgetLanes(lane)
      }
    }
    const counts = new Map<string, number>()
    for (const { account_id: account, lane } of leased) add(counts, keyOf({ account, lane }), 1)
    for (const { share } of allotments) {
      this.#heads.afterLease(share, (counts.get(keyOf(share)) ?? 0) >= share.limit)
    }
    for (const group of this.#queue.group(leased)) this.#take(group)
    this.#start()
    return leased.length
  }

  #take(group: Group<Held>): void {
    const [{ lane: name, account_id: account, size_bytes: sizeBytes }] = group
    const lane = this.#use(name)
    const pool = this.#poolOf(lane)
    const bytes = sizeBytes > this.#bounds.uncountedBytes ? sizeBytes : 0
    lane.add({ group, account, bytes, pool, isSlow: false, isHanging: false })
    pool.add(account, 1)
    add(this.#held, account, group.length)
    const lanes = this.#waiting.get(account)
    if (lanes === undefined) this.#waiting.set(account, new Set([lane]))
    else lanes.add(lane)
  }

  #use(name: string): Lane<Held> {
    const lane = this.#laneOf(name)
    this.#lanes.delete(name)
    this.#lanes.set(name, lane)
    return lane
  }

  #start(): void {
    if (this.#isEnding) return
    for (const [account, lanes] of this.#waiting) {
      const hasStarted = this.#startOne(account, lanes)
      if (lanes.size > 0 && !hasStarted) continue
      this.#waiting.delete(account)
      // A re-inserted account moves to the end of the map, so the loop reaches it again.
      if (lanes.size > 0) this.#waiting.set(account, lanes)
    }
  }

  #startOne(account: string, lanes: Set<Lane<Held>>): boolean {
    for (const lane of lanes) {
      const pool = lane.isAnswering ? this.#slots : this.#slow
      const hasRoom = pool.room(account) > 0
      const attempt =
        hasRoom || pool === this.#slow
          ? lane.start(account, (waiting) => {
              const isCounted = waiting.pool === pool
              return (hasRoom || isCounted) && pool.takes(account, waiting.bytes)
            })
          : null
      if (attempt !== null || !lane.hasWaiting(account)) lanes.delete(lane)
      if (attempt === null) continue
      if (lane.hasWaiting(account)) lanes.add(lane)
      attempt.pool.add(account, -1)
      attempt.pool = pool
      pool.add(account, 1, attempt.bytes)
      void this.#attempt(lane, attempt)
      return true
    }
    return false
  }

  async #attempt(lane: Lane<Held>, attempt: Attempt<Held>): Promise<void> {
    const { group, account } = attempt
    this.active += 1
    const timer = setTimeout(() => this.#leaveSlot(lane, attempt), SLOW_ATTEMPT_MS)
    let outcome: GroupOutcome = 'unreached'
    try {
      outcome = await this.#queue.deliver(group, this.#cut.signal, () => {
        lane.noteAnswer()
        this.#onChange(lane, account)
      })
    } catch (error) {
      const [{ id }] = group
      this.#log.error({ error, delivery: id }, 'the outcome of a delivery could not be recorded')
    }
    clearTimeout(timer)
    this.active -= 1
    attempt.pool.add(account, -1, -attempt.bytes)
    add(this.#held, account, -group.length)
    lane.end(attempt, outcome)
    if (outcome === 'crowded') this.#pause(lane, account)
    if (outcome === 'crowded' || outcome === 'returned') {
      this.#heads.add({ account, lane: lane.name })
    }
    this.#onChange(lane, account)
  }

  #leaveSlot(lane: Lane<Held>, attempt: Attempt<Held>): void {
    const { account, bytes, pool } = attempt
    if (pool !== this.#slow && this.#slow.room(account) > 0 && this.#slow.takes(account, bytes)) {
      pool.add(account, -1, -bytes)
      attempt.pool = this.#slow
      this.#slow.add(account, 1, bytes)
    }
    lane.noteSlow(attempt)
    this.#onChange(lane, account)
  }

  #pause(lane: Lane<Held>, account: string): void {
    lane.pause()
    const resume = () => {
      lane.resume()
      this.#onChange(lane, account)
    }
    // Jitter prevents lanes that paused for the same host from resuming together.
    const [part = 0] = systemChance.bytes(1)
    setTimeout(resume, CROWDED_PAUSE_MS * (0.75 + part / 512)).unref()
  }

  #onChange(lane: Lane<Held>, account: string): void {
    if (this.#isEnding) {
      if (this.active === 0) this.#onEnd()
      return
    }
    this.#return(lane.removeExcess())
    this.#forgetLanes(lane)
    this.#start()
    const isRoom = !lane.isAnswering || lane.roomFor(account) > 0
    if (isRoom && (this.#heads.size > 0 || this.#heads.hasUnread)) this.wantMore()
  }

  /** Forgets an empty, unknown lane and, beyond LANES_MAX, the least recently used empty lane. */
  #forgetLanes(lane: Lane<Held>): void {
    if (lane.isEmpty && !lane.isKnown) this.#lanes.delete(lane.name)
    if (this.#lanes.size <= LANES_MAX) return
    const oldest = this.#lanes.values().find(({ isEmpty }) => isEmpty)
    if (oldest !== undefined) this.#lanes.delete(oldest.name)
  }

  #return(attempts: Attempt<Held>[]): void {
    if (attempts.length === 0) return
    for (const { account, pool, group } of attempts) {
      pool.add(account, -1)
      add(this.#held, account, -group.length)
      this.#heads.add({ account, lane: group[0].lane })
    }
    const held = attempts.flatMap(({ group }) => group)
    const returning = this.#queue.return(held).catch((error: unknown) => {
      this.#log.warn({ error }, 'deliveries could not be released; their leases will expire')
    })
    this.#returning.add(returning)
    void returning.finally(() => this.#returning.delete(returning))
  }
}

type Allotment<Held extends Item> = { share: Share; lane: Lane<Held>; pool: Pool }

const HEADS_PER_LEASE = 200

function add(counts: Map<string, number>, key: string, amount: number): void {
  const count = (counts.get(key) ?? 0) + amount
  if (count === 0) counts.delete(key)
  else counts.set(key, count)
}

const PAGE_HEADS = 200
/** Maximum lanes of one account per scan, before the scan moves to the next account. */
const LANES_EACH = 20
/** Above this number, only heads with room for a lease are added. */
const HEADS_MAX = 5_000

const FIRST: Head = { account: '', lane: '' }

type Rest = { after: Head; isWantedAgain: boolean }

/**
 * Heads with ready deliveries, next to be served first. A scan finds some lanes of every account,
 * and `#rests` pages round robin through the other lanes of large accounts.
 */
class ReadyHeads {
  readonly #queue: Pick<DispatchedQueue<Item>, 'listHeads'>
  readonly #heads = new Map<string, Head>()
  #scan: Head | null = null
  #isScanWanted = true
  readonly #rests = new Map<string, Rest>()
  #hasLeftOut = false

  constructor(queue: Pick<DispatchedQueue<Item>, 'listHeads'>) {
    this.#queue = queue
  }

  get size(): number {
    return this.#heads.size
  }

  [Symbol.iterator](): Iterator<Head> {
    return this.#heads.values()
  }

  requestScan(): void {
    this.#isScanWanted = true
  }

  get hasUnread(): boolean {
    return this.#isScanDue || this.#scan !== null || this.#rests.size > 0
  }

  async find(isLeasable: (head: Head) => boolean): Promise<void> {
    const [rest] = this.#rests
    if (this.#scan === null && this.#isScanDue) {
      this.#isScanWanted = false
      this.#hasLeftOut = false
      this.#scan = FIRST
    }
    const found = this.#scan === null ? [] : await this.#readScan(this.#scan)
    if (rest !== undefined) found.push(...(await this.#readRest(...rest)))
    for (const head of found) {
      if (this.#heads.size < HEADS_MAX || isLeasable(head)) this.add(head)
      else this.#hasLeftOut = true
    }
  }

  async #readScan(after: Head): Promise<Head[]> {
    const found = await this.#queue.listHeads({ after, lanesEach: LANES_EACH, limit: PAGE_HEADS })
    const last = found.length < PAGE_HEADS ? null : (found.at(-1) ?? null)
    this.#scan = last
    for (const [account, heads] of Map.groupBy(found, (head) => head.account)) {
      const [end] = heads.slice(LANES_EACH - 1)
      if (end === undefined) continue
      const rest = this.#rests.get(account)
      if (rest === undefined) this.#rests.set(account, { after: end, isWantedAgain: false })
      else rest.isWantedAgain = true
    }
    return found
  }

  async #readRest(account: string, rest: Rest): Promise<Head[]> {
    const page = { after: rest.after, lanesEach: PAGE_HEADS, limit: PAGE_HEADS }
    const found = (await this.#queue.listHeads(page)).filter((head) => head.account === account)
    const last = found.length < PAGE_HEADS ? undefined : found.at(-1)
    this.#rests.delete(account)
    if (last !== undefined) this.#rests.set(account, { ...rest, after: last })
    else if (rest.isWantedAgain) {
      this.#rests.set(account, { after: { account, lane: '' }, isWantedAgain: false })
    }
    return found
  }

  /** A new head is served last. */
  add(head: Head): void {
    const key = keyOf(head)
    if (!this.#heads.has(key)) this.#heads.set(key, head)
  }

  afterLease(head: Head, mayHaveMore: boolean): void {
    this.#heads.delete(keyOf(head))
    // The next scan finds the head again, after the skipped heads.
    if (mayHaveMore && !this.#hasLeftOut) this.add(head)
  }

  get #isScanDue(): boolean {
    return this.#isScanWanted || (this.#hasLeftOut && this.#heads.size < HEADS_MAX / 2)
  }
}

function keyOf({ account, lane }: Head): string {
  return `${account} ${lane}`
}

import { systemChance } from '#platform/chance.ts'
import type { Log } from '#platform/log.ts'
import { SECOND_MS } from '#platform/units.ts'
import type { DispatchedQueue, Group, GroupOutcome, Head, Item, Share } from './dispatched-queue.ts'
import { type DispatcherBounds, type LaneState, MAIL_BOUNDS, Slots } from './dispatcher-bounds.ts'
import { type Attempt, Lane } from './lane.ts'
import { openWorkerLoop } from './worker-loop.ts'

/** How often the queue is scanned when nothing wakes the loop. */
const SCAN_EVERY_MS = SECOND_MS
/**
 * Most attempts take less. A longer one stops counting towards the limit of a lane whose servers answer, so
 * that ten hanging attempts delay the rest of the lane by a few of these periods only.
 */
const SLOW_ATTEMPT_MS = SECOND_MS
/** An account with fewer attempts under way is small. */
const ACCOUNT_ATTEMPTS_FEW = 5

export type Dispatcher = {
  /** Call it when there may be something to deliver. */
  wake(): void
  active(): number
  /** The number of lanes about which something is known. */
  lanes(): number
  /**
   * Claims nothing more, returns what was not started, waits up to `drainMs` milliseconds for the attempts
   * under way and aborts the others. Resolves when nothing is under way.
   */
  close(drainMs: number): Promise<void>
}

type DispatcherOptions = {
  name?: string
  bounds?: DispatcherBounds
}

/**
 * Starts three loops: one claims and starts deliveries, one makes due deliveries ready, one renews leases.
 * The defaults are those of mail.
 */
export function openDispatcher<Held extends Item>(
  queue: DispatchedQueue<Held>,
  log: Log,
  options: DispatcherOptions = {},
): Dispatcher {
  const { name = 'deliveries', bounds = MAIL_BOUNDS } = options
  const work = new Work(queue, log, bounds)
  const claims = openWorkerLoop({
    name,
    everyMs: SCAN_EVERY_MS,
    step: (signal) => work.claimMore(signal),
    log,
  })
  const wake = () => {
    work.requestScan()
    claims.wake()
  }
  work.wantMore = () => claims.wake()
  const due = openWorkerLoop({
    name: `due ${name}`,
    everyMs: SCAN_EVERY_MS,
    async step(signal) {
      wake()
      await queue.readyDue(wake, signal)
      return false
    },
    log,
  })
  const leases = openWorkerLoop({
    name: `leases of ${name}`,
    everyMs: bounds.leaseMs / 3,
    async step() {
      if (work.isHolding) await queue.renew()
      return false
    },
    log,
  })
  return {
    wake,
    active: () => work.active,
    lanes: () => work.lanes,
    async close(drainMs) {
      work.stopStarting()
      await Promise.all([claims.close(), due.close()])
      await work.drain(drainMs)
      await leases.close()
    },
  }
}

type Counts = { held: number; active: number }

class Work<Held extends Item> {
  readonly #queue: DispatchedQueue<Held>
  readonly #log: Log
  readonly #bounds: DispatcherBounds
  readonly #heads: ReadyHeads
  readonly #slots: Slots
  /** Lanes with items in hand or with a known state, the longest unused first. */
  readonly #lanes = new Map<string, Lane<Held>>()
  readonly #busy = new Set<Lane<Held>>()
  /** Accounts with items in hand. */
  readonly #accounts = new Map<string, Counts>()
  /**
   * For each account, the lanes in which its claimed items wait. Accounts are served round robin, and so are
   * the lanes of each.
   */
  readonly #waiting = new Map<string, Set<Lane<Held>>>()
  readonly #inHand: InHand<Held>
  readonly #cut = new AbortController()
  readonly #returning = new Set<Promise<void>>()
  #isEnding = false
  #onEnd: () => void = () => {}
  wantMore: () => void = () => {}

  constructor(queue: DispatchedQueue<Held>, log: Log, bounds: DispatcherBounds) {
    this.#queue = queue
    this.#log = log
    this.#bounds = bounds
    this.#heads = new ReadyHeads(queue)
    this.#slots = new Slots(bounds)
    const [lanes, busy, accounts] = [this.#lanes, this.#busy, this.#accounts]
    this.#inHand = { bounds, slots: this.#slots, lanes, busy, accounts }
  }

  get active(): number {
    return this.#slots.active
  }

  get lanes(): number {
    return this.#lanes.size
  }

  get isHolding(): boolean {
    return this.#accounts.size > 0
  }

  requestScan(): void {
    this.#heads.requestScan()
  }

  /** Claims as much as there is room for. True when there may be more. */
  async claimMore(signal: AbortSignal): Promise<boolean> {
    if (this.#heads.hasUnread) {
      const allotment = new Allotment(this.#inHand)
      await this.#heads.find((head) => allotment.roomFor(head) > 0)
    }
    if (signal.aborted) return false
    const shares = allot(this.#heads, this.#inHand)
    const count = shares.length === 0 ? 0 : await this.#claim(shares)
    return count > 0 || this.#heads.hasUnread
  }

  stopStarting(): void {
    this.#isEnding = true
  }

  /** Call it after `stopStarting`, once claiming has ended. See `Dispatcher.close`. */
  async drain(drainMs: number): Promise<void> {
    this.#giveBack([...this.#busy].flatMap((lane) => lane.removeExcess(0)))
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

  async #claim(shares: Share[]): Promise<number> {
    const claimed = await this.#queue.claim(shares)
    const counts = new Map<string, number>()
    for (const { account_id: account, lane } of claimed) {
      const key = keyOf({ account, lane })
      counts.set(key, (counts.get(key) ?? 0) + 1)
      this.#count(account, { held: 1 })
    }
    for (const { limit, ...head } of shares) {
      this.#heads.afterClaim(head, (counts.get(keyOf(head)) ?? 0) >= limit)
    }
    for (const group of this.#queue.group(claimed)) {
      const [{ lane: name, account_id: account }] = group
      const lane = this.#use(name)
      lane.add(group)
      const lanes = this.#waiting.get(account)
      if (lanes === undefined) this.#waiting.set(account, new Set([lane]))
      else lanes.add(lane)
    }
    this.#start()
    return claimed.length
  }

  #count(account: string, { held = 0, active = 0 }: Partial<Counts>): void {
    const counts = this.#accounts.get(account) ?? { held: 0, active: 0 }
    this.#accounts.set(account, counts)
    counts.held += held
    counts.active += active
    if (counts.held === 0) this.#accounts.delete(account)
  }

  #use(name: string): Lane<Held> {
    const lane = this.#lanes.get(name) ?? new Lane<Held>(name, this.#bounds)
    this.#lanes.delete(name)
    this.#lanes.set(name, lane)
    this.#busy.add(lane)
    return lane
  }

  /** Starts whatever may start, one attempt per account and round. */
  #start(): void {
    if (this.#isEnding) return
    for (const [account, lanes] of this.#waiting) {
      const hasStarted = this.#startOne(account, lanes)
      if (lanes.size > 0 && !hasStarted) continue
      this.#waiting.delete(account)
      // At the end of the map this loop reaches the account again.
      if (lanes.size > 0) this.#waiting.set(account, lanes)
    }
  }

  #startOne(account: string, lanes: Set<Lane<Held>>): boolean {
    const isSmallAccount = this.#isSmall(account)
    for (const lane of lanes) {
      const { state, isSmall: isSmallLane } = lane
      const request = { state, isSmallLane, isSmallAccount }
      const mayStart = lane.mayStart && this.#slots.hasRoom(request)
      const attempt = mayStart
        ? lane.start(account, ([{ size_bytes: bytes }]) => this.#slots.take(request, bytes))
        : null
      if (attempt !== null || !lane.hasWaiting(account)) lanes.delete(lane)
      if (attempt === null) continue
      if (lane.hasWaiting(account)) lanes.add(lane)
      void this.#attempt(lane, attempt)
      return true
    }
    return false
  }

  /** Whether the account has few attempts under way and other accounts have some. */
  #isSmall(account: string): boolean {
    const active = this.#accounts.get(account)?.active ?? 0
    return active < ACCOUNT_ATTEMPTS_FEW && active < this.active
  }

  async #attempt(lane: Lane<Held>, attempt: Attempt<Held>): Promise<void> {
    const { group, slot } = attempt
    const [{ account_id: account, lane: name, id }] = group
    this.#count(account, { active: 1 })
    const slow = setTimeout(() => {
      lane.markSlow(attempt)
      this.#onChange(lane, account)
    }, SLOW_ATTEMPT_MS)
    const long = setTimeout(() => {
      slot.markSlow()
      lane.markLong(attempt)
      this.#onChange(lane, account)
    }, this.#bounds.longAttemptMs[lane.state])
    let outcome: GroupOutcome = 'unreached'
    try {
      outcome = await this.#queue.deliver(group, this.#cut.signal, {
        onSize: (sizeBytes) => {
          slot.resize(sizeBytes)
          this.#start()
        },
        onAnswer: () => {
          lane.markGreeted(attempt)
          if (attempt.isUncounted) this.#onChange(lane, account)
        },
      })
    } catch (error) {
      this.#log.error({ error, delivery: id }, 'the outcome of a delivery could not be recorded')
    }
    clearTimeout(slow)
    clearTimeout(long)
    slot.end()
    this.#count(account, { held: -group.length, active: -1 })
    lane.end(attempt, outcome)
    if (outcome === 'crowded') this.#pause(lane, account)
    // Deliveries that were not attempted are ready again.
    if (outcome === 'crowded' || outcome === 'returned') this.#heads.add({ account, lane: name })
    this.#onChange(lane, account)
  }

  #pause(lane: Lane<Held>, account: string): void {
    const { pauseMs, resume } = lane.pause()
    // Jitter: lanes that found one host busy at the same time must not all return at the same time.
    const [part = 0] = systemChance.bytes(1)
    const timer = setTimeout(
      () => {
        resume()
        this.#onChange(lane, account)
      },
      pauseMs * (0.75 + part / 512),
    )
    timer.unref()
  }

  /** Continues after a change to the lane, or to this account in it. */
  #onChange(lane: Lane<Held>, account: string): void {
    if (this.#isEnding) {
      if (this.active === 0) this.#onEnd()
      return
    }
    this.#giveBack(lane.removeExcess())
    this.#forgetLanes(lane)
    this.#start()
    // A free slot for slow attempts may be used by any lane.
    const isRoom = !lane.isAnswering || lane.wantsMore(account)
    if (isRoom && (this.#heads.size > 0 || this.#heads.hasUnread)) this.wantMore()
  }

  /**
   * Forgets an empty lane whose state is the initial one and, past the limit, one other empty lane, silent
   * ones first.
   */
  #forgetLanes(lane: Lane<Held>): void {
    if (lane.isEmpty) this.#busy.delete(lane)
    const isKept = this.#lanes.get(lane.name) === lane
    if (isKept && lane.isEmpty && !lane.isKnown) this.#lanes.delete(lane.name)
    if (this.#lanes.size <= this.#bounds.lanesKeptMax) return
    let oldest: Lane<Held> | null = null
    for (const old of this.#lanes.values()) {
      if (!old.isEmpty) continue
      oldest ??= old
      if (old.isAnswering) continue
      oldest = old
      break
    }
    if (oldest !== null) this.#lanes.delete(oldest.name)
  }

  #giveBack(groups: Group<Held>[]): void {
    const held = groups.flat()
    if (held.length === 0) return
    for (const { account_id: account, lane } of held) {
      this.#count(account, { held: -1 })
      this.#heads.add({ account, lane })
    }
    const returning = this.#queue.giveBack(held).catch((error: unknown) => {
      this.#log.warn({ error }, 'deliveries could not be released; their leases will expire')
    })
    this.#returning.add(returning)
    void returning.finally(() => this.#returning.delete(returning))
  }
}

const HEADS_PER_CLAIM = 200
/** An account with fewer items in hand may claim up to this number even when others use all the room. */
const ACCOUNT_HELD_FEW = 20
const EXTRA_HELD_MAX = 1_000

const NONE = { accounts: 0, held: 0 }

type InHand<Held extends Item> = {
  readonly bounds: DispatcherBounds
  readonly slots: Slots
  /** All known lanes, and those of them that are not empty. */
  readonly lanes: ReadonlyMap<string, Lane<Held>>
  readonly busy: Iterable<Lane<Held>>
  /** Accounts with items in hand. */
  readonly accounts: ReadonlyMap<string, { readonly held: number }>
}

/** How many items to claim from each head now. Heads share the room evenly. */
function allot<Held extends Item>(heads: Iterable<Head>, inHand: InHand<Held>): Share[] {
  const allotment = new Allotment(inHand)
  const [small, others]: [Head[], Head[]] = [[], []]
  for (const head of heads) {
    const chosen = allotment.heldOf(head.account) < ACCOUNT_HELD_FEW ? small : others
    if (chosen.length < HEADS_PER_CLAIM && allotment.roomFor(head) > 0) chosen.push(head)
  }
  const chosen = [...small, ...others].slice(0, HEADS_PER_CLAIM)
  const shares: Share[] = []
  for (const [state, peers] of Map.groupBy(chosen, ({ lane }) => allotment.laneOf(lane).state)) {
    const each = Math.max(1, Math.floor(allotment.free[state] / peers.length))
    for (const head of peers) {
      const limit = Math.min(each, allotment.roomFor(head))
      if (limit <= 0) continue
      allotment.reserve(head, limit)
      shares.push({ ...head, limit })
    }
  }
  return shares
}

/** The room that is left for claims, given what is in hand and what was allotted before. */
class Allotment<Held extends Item> {
  readonly #inHand: InHand<Held>
  readonly #unknown: Lane<Held>
  /** Free room in items, by the state of the lane. Below 0 when small accounts have used more. */
  readonly free: Record<LaneState, number>
  /** Items of each account in lanes that do not answer. */
  readonly #unanswered = new Map<string, number>()
  readonly #reservedIn = new Map<string, { accounts: number; held: number }>()
  readonly #reservedFor = new Map<string, number>()

  constructor(inHand: InHand<Held>) {
    const { bounds, slots, busy } = inHand
    this.#inHand = inHand
    this.#unknown = new Lane('', bounds)
    this.free = { ...bounds.heldMax }
    for (const lane of busy) {
      this.free[lane.state] -= lane.held
      if (lane.isAnswering) continue
      for (const [account, count] of lane.heldByAccount()) add(this.#unanswered, account, count)
    }
    for (const state of ['silent', 'new'] as const) {
      this.free[state] = Math.min(this.free[state], slots.free(state))
    }
  }

  laneOf(name: string): Lane<Held> {
    return this.#inHand.lanes.get(name) ?? this.#unknown
  }

  heldOf(account: string): number {
    return (this.#inHand.accounts.get(account)?.held ?? 0) + (this.#reservedFor.get(account) ?? 0)
  }

  roomFor({ account, lane: name }: Head): number {
    const { bounds, slots } = this.#inHand
    const lane = this.laneOf(name)
    const extra = { answering: EXTRA_HELD_MAX, silent: slots.reserveFree, new: 0 }[lane.state]
    const few = Math.min(this.free[lane.state] + extra, ACCOUNT_HELD_FEW - this.heldOf(account))
    const unanswered = this.#unanswered.get(account) ?? 0
    return Math.min(
      Math.max(this.free[lane.state], few),
      bounds.accountHeldMax[lane.state] - unanswered,
      lane.roomFor(account, this.#reservedIn.get(name) ?? NONE),
    )
  }

  reserve({ account, lane: name }: Head, limit: number): void {
    const lane = this.laneOf(name)
    this.free[lane.state] -= limit
    const { accounts, held } = this.#reservedIn.get(name) ?? NONE
    this.#reservedIn.set(name, { accounts: accounts + 1, held: held + limit })
    add(this.#reservedFor, account, limit)
    if (!lane.isAnswering) add(this.#unanswered, account, limit)
  }
}

function add(counts: Map<string, number>, key: string, amount: number): void {
  counts.set(key, (counts.get(key) ?? 0) + amount)
}

const PAGE_HEADS = 200
/** Lanes of one account that a scan lists before it goes on to the next account. */
const LANES_EACH = 20
/** Heads kept in memory. Past this number only heads are added that can be claimed at once. */
const HEADS_MAX = 5_000

const FIRST: Head = { account: '', lane: '' }

type Rest = { after: Head; isWantedAgain: boolean }

/**
 * The known heads with something ready, the next to serve first. A scan of the queue finds some lanes of
 * every account; the further lanes of accounts with many are read beside the scan, round robin.
 */
class ReadyHeads {
  readonly #queue: Pick<DispatchedQueue<Item>, 'listHeads'>
  readonly #heads = new Map<string, Head>()
  /** The place where the current scan continues; null when no scan is under way. */
  #scan: Head | null = null
  #isScanWanted = true
  /** For accounts with many lanes, the place where their further lanes begin. */
  readonly #rests = new Map<string, Rest>()
  /** Some heads were left out because HEADS_MAX was reached. */
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

  /** Call it when any head may have something new. */
  requestScan(): void {
    this.#isScanWanted = true
  }

  /** Whether there may be heads that are not known yet. */
  get hasUnread(): boolean {
    return this.#isScanDue || this.#scan !== null || this.#rests.size > 0
  }

  /** Reads the next page of the scan and a page of one account with many lanes. */
  async find(isClaimable: (head: Head) => boolean): Promise<void> {
    const [rest] = this.#rests
    if (this.#scan === null && this.#isScanDue) {
      this.#isScanWanted = false
      this.#hasLeftOut = false
      this.#scan = FIRST
    }
    const found = this.#scan === null ? [] : await this.#readScan(this.#scan)
    if (rest !== undefined) found.push(...(await this.#readRest(...rest)))
    for (const head of found) {
      if (this.#heads.size < HEADS_MAX || isClaimable(head)) this.add(head)
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

  /** The head may have something ready. A new head is served last. */
  add(head: Head): void {
    const key = keyOf(head)
    if (!this.#heads.has(key)) this.#heads.set(key, head)
  }

  /** Call it after a claim: the head may have more when the claim got all it asked for. */
  afterClaim(head: Head, mayHaveMore: boolean): void {
    this.#heads.delete(keyOf(head))
    // The next scan finds the head again, after the heads that were left out.
    if (mayHaveMore && !this.#hasLeftOut) this.add(head)
  }

  get #isScanDue(): boolean {
    return this.#isScanWanted || (this.#hasLeftOut && this.#heads.size < HEADS_MAX / 2)
  }
}

function keyOf({ account, lane }: Head): string {
  return `${account} ${lane}`
}

import { systemChance } from '#platform/chance.ts'
import type { Log } from '#platform/log.ts'
import { SECOND_MS } from '#platform/units.ts'
import type { DispatchedQueue, Group, GroupOutcome, Head, Item, Share } from './dispatched-queue.ts'
import { type DispatcherBounds, type LaneState, MAIL_BOUNDS, Slots } from './dispatcher-bounds.ts'
import { type Attempt, Lane } from './lane.ts'
import { openWorkerLoop } from './worker-loop.ts'

/** Between scans that nothing asked for. */
const SCAN_EVERY_MS = SECOND_MS
/**
 * Most attempts take less. One that takes longer leaves its place in a lane whose servers answer: ten that
 * hang from the start of a process delay what comes behind them by a few of these.
 */
const SLOW_ATTEMPT_MS = SECOND_MS
/** With fewer attempts under way an account is a small one. */
const ACCOUNT_ATTEMPTS_FEW = 5

export type Dispatcher = {
  /** There may be deliveries now. */
  wake(): void
  /** Attempts under way. */
  active(): number
  /** Lanes that are remembered. */
  lanes(): number
  /**
   * Takes no more, gives back what was not started, lets attempts end for up to `drainMs`
   * milliseconds and cuts the rest. Resolves when nothing is under way.
   */
  close(drainMs: number): Promise<void>
}

type DispatcherOptions = {
  /** Of its loops, for the log. */
  name?: string
  bounds?: DispatcherBounds
}

/**
 * Starts working the queue, as that of mail where `options` say nothing else: one loop takes what is ready,
 * one makes ready what is due, one keeps the leases of what is held.
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
    step: (signal) => work.takeMore(signal),
    log,
  })
  const wake = () => {
    work.scanAnew()
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
  /** Those with items in hand, and those that something is known of; the longest unused first. */
  readonly #lanes = new Map<string, Lane<Held>>()
  /** Of these, those with items in hand. */
  readonly #busy = new Set<Lane<Held>>()
  /** Those with items in hand: items, and attempts under way. */
  readonly #accounts = new Map<string, Counts>()
  /** Lanes in which an account has items that wait in hand; accounts are served in turn, lanes of each, too. */
  readonly #waiting = new Map<string, Set<Lane<Held>>>()
  readonly #inHand: InHand<Held>
  readonly #cut = new AbortController()
  readonly #returning = new Set<Promise<void>>()
  #isEnding = false
  #onEnd: () => void = () => {}
  /** Called when there is room for more. */
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

  scanAnew(): void {
    this.#heads.scanAnew()
  }

  /** Claims what there is room for; true when there may be more. */
  async takeMore(signal: AbortSignal): Promise<boolean> {
    if (this.#heads.mayFind) {
      const allotment = new Allotment(this.#inHand)
      await this.#heads.find((head) => allotment.roomFor(head) > 0)
    }
    if (signal.aborted) return false
    const shares = allot(this.#heads, this.#inHand)
    const count = shares.length === 0 ? 0 : await this.#claim(shares)
    return count > 0 || this.#heads.mayFind
  }

  /** From now on no attempt begins. */
  stopStarting(): void {
    this.#isEnding = true
  }

  /** After `stopStarting`, when nothing is claimed any more; see `Dispatcher.close`. */
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
      this.#heads.served(head, (counts.get(keyOf(head)) ?? 0) >= limit)
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

  /** Starts what may start, one of each account in turn. */
  #start(): void {
    if (this.#isEnding) return
    for (const [account, lanes] of this.#waiting) {
      const hasStarted = this.#startOne(account, lanes)
      if (lanes.size > 0 && !hasStarted) continue
      this.#waiting.delete(account)
      // At the end, where this loop comes to it again.
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

  /** Whether the account has few attempts under way, where others have some. */
  #isSmall(account: string): boolean {
    const active = this.#accounts.get(account)?.active ?? 0
    return active < ACCOUNT_ATTEMPTS_FEW && active < this.active
  }

  async #attempt(lane: Lane<Held>, attempt: Attempt<Held>): Promise<void> {
    const { group, slot } = attempt
    const [{ account_id: account, lane: name, id }] = group
    this.#count(account, { active: 1 })
    const slow = setTimeout(() => {
      lane.slow(attempt)
      this.#goOn(lane, account)
    }, SLOW_ATTEMPT_MS)
    const long = setTimeout(() => {
      slot.turnSlow()
      lane.stall(attempt)
      this.#goOn(lane, account)
    }, this.#bounds.longAttemptMs[lane.state])
    let outcome: GroupOutcome = 'unreached'
    try {
      outcome = await this.#queue.deliver(group, this.#cut.signal, {
        onSize: (sizeBytes) => {
          slot.resize(sizeBytes)
          this.#start()
        },
        onAnswer: () => {
          lane.greet(attempt)
          if (attempt.isAside) this.#goOn(lane, account)
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
    // What was not attempted is ready again.
    if (outcome === 'crowded' || outcome === 'returned') this.#heads.add({ account, lane: name })
    this.#goOn(lane, account)
  }

  #pause(lane: Lane<Held>, account: string): void {
    const { pauseMs, resume } = lane.pause()
    // Lanes that found their host busy together must not come back together.
    const [part = 0] = systemChance.bytes(1)
    const timer = setTimeout(
      () => {
        resume()
        this.#goOn(lane, account)
      },
      pauseMs * (0.75 + part / 512),
    )
    timer.unref()
  }

  /** Something changed for the lane, and for this account in it. */
  #goOn(lane: Lane<Held>, account: string): void {
    if (this.#isEnding) {
      if (this.active === 0) this.#onEnd()
      return
    }
    this.#giveBack(lane.removeExcess())
    this.#tidy(lane)
    this.#start()
    // A slot for slow attempts is one for any lane.
    const isRoom = !lane.isAnswering || lane.wantsMore(account)
    if (isRoom && (this.#heads.size > 0 || this.#heads.mayFind)) this.wantMore()
  }

  /** Forgets the lane if nothing is in it or known of it, and one of too many: the silent first. */
  #tidy(lane: Lane<Held>): void {
    if (lane.isEmpty) this.#busy.delete(lane)
    const isHere = this.#lanes.get(lane.name) === lane
    if (isHere && lane.isEmpty && !lane.isKnown) this.#lanes.delete(lane.name)
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

/** Heads that one claim takes from. */
const HEADS_PER_CLAIM = 200
/** An account with fewer items in hand gets some past all that others hold: so many in all. */
const ACCOUNT_HELD_FEW = 20
const EXTRA_HELD_MAX = 1_000

const NONE = { accounts: 0, held: 0 }

type InHand<Held extends Item> = {
  readonly bounds: DispatcherBounds
  readonly slots: Slots
  /** Those that something is known of, and of these those that are not empty. */
  readonly lanes: ReadonlyMap<string, Lane<Held>>
  readonly busy: Iterable<Lane<Held>>
  /** Of accounts with items in hand. */
  readonly accounts: ReadonlyMap<string, { readonly held: number }>
}

/** How much of each of these heads to claim now: they share evenly what there is room for. */
function allot<Held extends Item>(heads: Iterable<Head>, inHand: InHand<Held>): Share[] {
  const allotment = new Allotment(inHand)
  const [ofSmall, ofOthers]: [Head[], Head[]] = [[], []]
  for (const head of heads) {
    const chosen = allotment.heldOf(head.account) < ACCOUNT_HELD_FEW ? ofSmall : ofOthers
    if (chosen.length < HEADS_PER_CLAIM && allotment.roomFor(head) > 0) chosen.push(head)
  }
  const chosen = [...ofSmall, ...ofOthers].slice(0, HEADS_PER_CLAIM)
  const shares: Share[] = []
  for (const [state, alike] of Map.groupBy(chosen, ({ lane }) => allotment.laneOf(lane).state)) {
    const each = Math.max(1, Math.floor(allotment.free[state] / alike.length))
    for (const head of alike) {
      const limit = Math.min(each, allotment.roomFor(head))
      if (limit <= 0) continue
      allotment.give(head, limit)
      shares.push({ ...head, limit })
    }
  }
  return shares
}

/** What may be claimed beside what is in hand and what was given before. */
class Allotment<Held extends Item> {
  readonly #inHand: InHand<Held>
  readonly #unknown: Lane<Held>
  /** Items, by the state of their lanes; below 0 where small accounts hold more than that. */
  readonly free: Record<LaneState, number>
  /** Items in lanes that do not answer, by account. */
  readonly #unanswered = new Map<string, number>()
  readonly #givenIn = new Map<string, { accounts: number; held: number }>()
  readonly #givenTo = new Map<string, number>()

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
    return (this.#inHand.accounts.get(account)?.held ?? 0) + (this.#givenTo.get(account) ?? 0)
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
      lane.roomFor(account, this.#givenIn.get(name) ?? NONE),
    )
  }

  give({ account, lane: name }: Head, limit: number): void {
    const lane = this.laneOf(name)
    this.free[lane.state] -= limit
    const { accounts, held } = this.#givenIn.get(name) ?? NONE
    this.#givenIn.set(name, { accounts: accounts + 1, held: held + limit })
    add(this.#givenTo, account, limit)
    if (!lane.isAnswering) add(this.#unanswered, account, limit)
  }
}

function add(counts: Map<string, number>, key: string, amount: number): void {
  counts.set(key, (counts.get(key) ?? 0) + amount)
}

/** Heads that one page of a scan has. */
const PAGE_HEADS = 200
/** Lanes of an account that a scan lists before those of the next account. */
const LANES_EACH = 20
/** Heads that are remembered; of others only those that may be claimed now. */
const HEADS_MAX = 5_000

const FIRST: Head = { account: '', lane: '' }

type Rest = { after: Head; isWantedAgain: boolean }

/**
 * The heads that have something ready, as far as it is known, the next to be served first. Scans of the queue
 * find them: some lanes of every account and, beside that, the other lanes of accounts that have more, in turn.
 */
class ReadyHeads {
  readonly #queue: Pick<DispatchedQueue<Item>, 'listHeads'>
  readonly #heads = new Map<string, Head>()
  /** Where the scan under way goes on; null where there is none. */
  #scan: Head | null = null
  #isScanWanted = true
  /** Where the lanes of accounts with many go on. */
  readonly #rests = new Map<string, Rest>()
  /** There were more heads than are remembered. */
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

  /** Any head may have something new. */
  scanAnew(): void {
    this.#isScanWanted = true
  }

  /** There may be heads that are not known. */
  get mayFind(): boolean {
    return this.#isScanDue || this.#scan !== null || this.#rests.size > 0
  }

  /** Reads the next page of the scan, and one of an account with many lanes. */
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

  /** The head may have something ready; if it is not known, it is the last to be served. */
  add(head: Head): void {
    const key = keyOf(head)
    if (!this.#heads.has(key)) this.#heads.set(key, head)
  }

  /** The head was served, and may have more where it had all that was asked for. */
  served(head: Head, mayHaveMore: boolean): void {
    this.#heads.delete(keyOf(head))
    // A scan finds it again, after those that were left out.
    if (mayHaveMore && !this.#hasLeftOut) this.add(head)
  }

  get #isScanDue(): boolean {
    return this.#isScanWanted || (this.#hasLeftOut && this.#heads.size < HEADS_MAX / 2)
  }
}

function keyOf({ account, lane }: Head): string {
  return `${account} ${lane}`
}

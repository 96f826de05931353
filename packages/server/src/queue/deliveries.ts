// Who is served next: takes due deliveries out of the queue a batch ahead, lane by lane in turn, and
// keeps as many attempts under way as a lane has shown that it can bear. A destination that is slow
// or gone holds up nobody but itself.

import { systemChance } from '#platform/chance.ts'
import type { Log } from '#platform/log.ts'
import { SECOND_MS } from '#platform/units.ts'
import { type Choice, chooseLanes, LANES_LOOKED_AT_MAX } from './choose-lanes.ts'
import type {
  DispatchedQueue,
  DispatcherBounds,
  Group,
  GroupOutcome,
  Item,
  LaneShare,
} from './dispatched-queue.ts'
import { EagerLanes } from './eager-lanes.ts'
import type { Lane } from './lane.ts'
import { Lanes } from './lanes.ts'
import { NewcomerSearch } from './newcomer-search.ts'
import { besidesOwners, OwnerSearch, type OwnerShare } from './owner-search.ts'
import { Traffic } from './traffic.ts'

/**
 * An attempt under way for longer leaves its place in a lane whose servers answer. Most take less, and
 * ten that hang from the start of a process delay what comes behind them by a few of these.
 */
const SLOW_ATTEMPT_MS = SECOND_MS

const NO_NAMES = { names: [], isWhole: false }
const NO_CHOICE = { shares: [], passedOver: null, hasMoreProven: false, hasUnprovenRoom: false }

export class Deliveries<Held extends Item> {
  readonly #queue: DispatchedQueue<Held>
  readonly #log: Log
  readonly #bounds: DispatcherBounds
  readonly #lanes: Lanes<Held>
  readonly #traffic: Traffic
  readonly #newcomers: NewcomerSearch<Held>
  readonly #owners: OwnerSearch<Held>
  /** What waits to be started. */
  readonly #eager = new EagerLanes<Held>()
  readonly #cut = new AbortController()
  readonly #returning = new Set<Promise<void>>()
  /** The last lane that had its turn in the order of names: the next look begins after it. */
  #cursor = ''
  #look = 1
  #sinceLook = 1
  /** How often looks have come to the end of the names since one of them found something. */
  #roundsInVain = 0
  #isEnding = false
  #onEnd: () => void = () => {}
  held = 0
  /** Of these, attempts that newcomers began. */
  #newcomersHeld = 0
  /** Called when there is room for more. */
  wantMore: () => void = () => {}

  constructor(queue: DispatchedQueue<Held>, options: { log: Log; bounds: DispatcherBounds }) {
    this.#queue = queue
    this.#log = options.log
    this.#bounds = options.bounds
    this.#traffic = new Traffic(options.bounds)
    this.#lanes = new Lanes(options.bounds, this.#traffic)
    const { bounds } = options
    this.#owners = new OwnerSearch({ queue, bounds, lanes: this.#lanes })
    this.#newcomers = new NewcomerSearch({
      queue,
      bounds,
      lanes: this.#lanes,
      traffic: this.#traffic,
    })
  }

  get active(): number {
    return this.#traffic.active
  }

  get lanes(): number {
    return this.#lanes.size
  }

  get #newcomerLongMs(): number {
    const { newcomers, longAttemptMs } = this.#bounds
    return Math.min(newcomers?.longAttemptMs ?? longAttemptMs, longAttemptMs)
  }

  /** Any lane may have something new. */
  askAnew(): void {
    this.#sinceLook = this.#look
    this.#roundsInVain = 0
    this.#newcomers.askAnew()
    this.#owners.askAnew()
  }

  /** Claims what there is room for; true when there may be more. */
  async takeMore(signal: AbortSignal): Promise<boolean> {
    const hasSearch = this.#newcomers.mayFind || this.#owners.mayFind
    if (signal.aborted || (this.#free <= 0 && !hasSearch)) return false
    const ofOwners = await this.#owners.find()
    const { wakes } = this.#newcomers
    const hasRoom = this.#free > 0
    const { names, isWhole } = hasRoom ? await this.#nextNames() : NO_NAMES
    const newcomers = await this.#newcomers.find(isWhole ? names : null, wakes)
    if (signal.aborted) return false
    const known = hasRoom ? this.#chooseKnown(names, isWhole) : NO_CHOICE
    const shares = besidesOwners([...newcomers.shares, ...known.shares], ofOwners)
    const count = await this.#claim(shares, ofOwners, newcomers.ownerOf)
    if (count > 0) {
      this.#roundsInVain = 0
      return true
    }
    if (known.hasMoreProven || this.#newcomers.mayFind || this.#owners.mayFind) return true
    return !isWhole && known.hasUnprovenRoom && this.#roundsInVain < 2
  }

  /** How many more may be held, but for those of newcomers. */
  get #free(): number {
    return this.#bounds.heldMax - (this.held - this.#newcomersHeld)
  }

  #chooseKnown(names: readonly string[], isWhole: boolean): Choice {
    const { unprovenHeldMax, laneStart, newcomers } = this.#bounds
    const { held: unprovenHeld, byOwner } = this.#lanes.countUnproven()
    const choice = chooseLanes(this.#lanes, {
      names,
      isWhole,
      free: Math.max(0, this.#free),
      sinceLook: this.#sinceLook,
      unprovenHeldMax,
      unprovenHeld,
      laneStart,
      owners: { held: byOwner, heldMax: newcomers?.ownerSilentHeldMax ?? 0 },
    })
    // Those that were passed over are the first the next time.
    const { passedOver } = choice
    const turns = passedOver === null ? names.length : names.indexOf(passedOver)
    this.#cursor = names[turns - 1] ?? this.#cursor
    return choice
  }

  async #claim(
    shares: LaneShare[],
    ofOwners: OwnerShare[],
    ownerOf: ReadonlyMap<string, string>,
  ): Promise<number> {
    if (shares.length + ofOwners.length === 0) return 0
    const claimed = await this.#queue.claim([...ofOwners, ...shares])
    this.held += claimed.length
    for (const item of claimed) this.#owners.hold(item)
    this.#owners.learn([...ofOwners, ...shares], claimed)
    const counts = new Map<string, number>()
    for (const group of this.#queue.group(claimed)) {
      const [{ lane: name, account_id: account }] = group
      const lane = this.#lanes.use(name, ownerOf.get(name) ?? null)
      lane.add(group)
      this.#eager.add(account, lane)
      counts.set(lane.name, (counts.get(lane.name) ?? 0) + group.length)
    }
    this.#look += 1
    for (const { lane: name, limit } of shares) {
      const lane = this.#lanes.get(name)
      if (lane !== undefined) lane.askedAt = (counts.get(name) ?? 0) < limit ? this.#look : 0
    }
    this.#start()
    return claimed.length
  }

  /** From now on no attempt begins. */
  stopStarting(): void {
    this.#isEnding = true
  }

  /** After `stopStarting`, when nothing is claimed any more; see `Dispatcher.close`. */
  async drain(drainMs: number): Promise<void> {
    this.#giveBack([...this.#lanes.all()].flatMap((lane) => lane.empty()))
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

  /** Names of lanes with something to take, from the cursor on and round. */
  async #nextNames(): Promise<{ names: string[]; isWhole: boolean }> {
    const after = await this.#queue.listReadyLanes(this.#cursor, LANES_LOOKED_AT_MAX)
    if (after.length === LANES_LOOKED_AT_MAX) return { names: after, isWhole: false }
    this.#roundsInVain += 1
    const before =
      this.#cursor === '' ? [] : await this.#queue.listReadyLanes('', LANES_LOOKED_AT_MAX)
    const names = [...new Set([...after, ...before])].slice(0, LANES_LOOKED_AT_MAX)
    return { names, isWhole: names.length < LANES_LOOKED_AT_MAX }
  }

  /** Starts what may start, one of each account in turn. */
  #start(): void {
    if (this.#isEnding) return
    this.#eager.startAll((owner, lane) => {
      const { standing } = lane
      const isSmallOwner = this.#owners.isSmall(owner)
      if (!this.#traffic.hasRoomFor(lane, isSmallOwner)) return false
      const group = lane.start(owner, ([{ size_bytes: bytes }]) =>
        this.#traffic.hasBytesFor(standing, bytes, isSmallOwner),
      )
      if (group === undefined) return false
      void this.#run(lane, group)
      return true
    })
  }

  async #run(lane: Lane<Held>, group: Group<Held>): Promise<void> {
    const [{ size_bytes: bytes, id }] = group
    this.#owners.begin(group[0])
    const isNewcomer = this.#lanes.isNewcomer(lane.name)
    const longMs = isNewcomer ? this.#newcomerLongMs : this.#bounds.longAttemptMs
    const underWay = this.#traffic.begin(lane.standing, bytes)
    if (isNewcomer) this.#newcomersHeld += group.length
    const slow = setTimeout(() => {
      lane.slow(group)
      this.#goOn(lane)
    }, SLOW_ATTEMPT_MS)
    const long = setTimeout(() => {
      underWay.turnLong()
      lane.stall(group)
      this.#goOn(lane)
    }, longMs)
    let outcome: GroupOutcome = 'unreached'
    try {
      outcome = await this.#queue.deliver(group, this.#cut.signal, {
        onSize: (sizeBytes) => {
          underWay.resize(sizeBytes)
          this.#start()
        },
        onAnswer: () => {
          if (lane.greet(group)) this.#goOn(lane)
        },
      })
    } catch (error) {
      this.#log.error({ error, delivery: id }, 'the outcome of a delivery could not be recorded')
    }
    clearTimeout(slow)
    clearTimeout(long)
    underWay.end()
    this.#owners.end(group[0])
    this.#letGo(group)
    if (isNewcomer) this.#newcomersHeld -= group.length
    lane.end(group)
    if (outcome === 'reached') lane.grow()
    else if (outcome === 'unreached') lane.fail()
    else if (outcome === 'crowded') this.#pause(lane)
    this.#goOn(lane)
  }

  #pause(lane: Lane<Held>): void {
    const { pauseMs, number } = lane.pause()
    // Lanes that found their host busy together must not come back together.
    const [part = 0] = systemChance.bytes(1)
    const resume = () => {
      lane.resume(number)
      this.#goOn(lane)
    }
    setTimeout(resume, pauseMs * (0.75 + part / 512)).unref()
  }

  /** Something changed for the lane. */
  #goOn(lane: Lane<Held>): void {
    if (this.#isEnding) {
      if (this.active === 0) this.#onEnd()
      return
    }
    this.#giveBack(lane.shed())
    this.#lanes.tidy(lane)
    this.#start()
    if (lane.room > 0) this.wantMore()
  }

  #letGo(held: readonly Held[]): void {
    this.held -= held.length
    // Each is to be counted.
    const wanting = held.filter((item) => this.#owners.letGo(item))
    if (wanting.length > 0 && !this.#isEnding) this.wantMore()
  }

  #giveBack(groups: Group<Held>[]): void {
    const waiting = groups.flat()
    if (waiting.length === 0) return
    this.#letGo(waiting)
    const returning = this.#queue.giveBack(waiting).catch((error: unknown) => {
      this.#log.warn({ error }, 'deliveries could not be released; their leases will expire')
    })
    this.#returning.add(returning)
    void returning.finally(() => this.#returning.delete(returning))
  }
}

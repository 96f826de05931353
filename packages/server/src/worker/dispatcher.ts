// Who is served next: takes due deliveries out of the queue a batch ahead, lane by lane in turn, and
// keeps as many attempts under way as a lane has shown that it can bear. A destination that is slow
// or gone holds up nobody but itself.

import type { DeliveryQueue, Group } from '#actions/delivery/delivery-queue.ts'
import {
  DELIVERY_LEASE_MS,
  HELD_MAX,
  LANES_KEPT_MAX,
  LANES_LOOKED_AT_MAX,
  OUTBOUND_BYTES_MAX,
  TRANSACTIONS_MAX,
  UNPROVEN_HELD_MAX,
  UNPROVEN_TRANSACTIONS_MAX,
} from '#base/limits.ts'
import type { Log } from '#base/log.ts'
import { openWorkerLoop } from '#jobs/worker-loop.ts'
import { Lane } from './lane.ts'

export type Dispatcher = {
  /** There may be deliveries now. */
  wake(): void
  /** Attempts under way. */
  active(): number
  /**
   * Takes no more, gives back what was not started, lets attempts end for up to `drainMs`
   * milliseconds and cuts the rest. Resolves when nothing is under way.
   */
  close(drainMs: number): Promise<void>
}

const LOOK_EVERY_MS = 1_000

/** Starts working the queue. */
export function openDispatcher(queue: DeliveryQueue, log: Log): Dispatcher {
  const state = new Deliveries(queue, log)
  const claims = openWorkerLoop({
    name: 'deliveries',
    everyMs: LOOK_EVERY_MS,
    step: (signal) => state.takeMore(signal),
    log,
  })
  state.wantMore = () => claims.wake()
  const due = openWorkerLoop({
    name: 'due deliveries',
    everyMs: LOOK_EVERY_MS,
    async step() {
      await queue.readyDue(() => claims.wake())
      return false
    },
    log,
  })
  const leases = openWorkerLoop({
    name: 'delivery leases',
    everyMs: DELIVERY_LEASE_MS / 3,
    async step() {
      if (state.held > 0) await queue.renew()
      return false
    },
    log,
  })
  return {
    wake: () => claims.wake(),
    active: () => state.active,
    async close(drainMs) {
      await Promise.all([claims.close(), due.close()])
      await state.drain(drainMs)
      await leases.close()
    },
  }
}

class Deliveries {
  readonly #queue: DeliveryQueue
  readonly #log: Log
  readonly #lanes = new Map<string, Lane>()
  /** Those with something that waits to be started. */
  readonly #eager = new Set<Lane>()
  readonly #cut = new AbortController()
  /** The last lane that was looked at: the next look begins after it. */
  #cursor = ''
  #bytes = 0
  #unproven = 0
  #isEnding = false
  #onEnd: () => void = () => {}
  held = 0
  active = 0
  /** Called when there is room for more. */
  wantMore: () => void = () => {}

  constructor(queue: DeliveryQueue, log: Log) {
    this.#queue = queue
    this.#log = log
  }

  /** Claims what there is room for; true when there may be more. */
  async takeMore(signal: AbortSignal): Promise<boolean> {
    const free = HELD_MAX - this.held
    if (free <= 0 || signal.aborted) return false
    const lanes = await this.#nextLanes()
    if (lanes.length === 0 || signal.aborted) return false
    const wanted = this.#sharesOf(lanes, free)
    if (wanted.length === 0) return false
    // Those that were passed over are the first the next time.
    if (wanted.length < lanes.length) this.#cursor = wanted.at(-1)?.lane ?? ''
    const claimed = await this.#queue.claim(wanted)
    this.held += claimed.length
    for (const group of this.#queue.group(claimed)) {
      const lane = this.#laneOf(group[0].lane)
      lane.add(group)
      this.#eager.add(lane)
    }
    this.#start()
    return claimed.length > 0
  }

  /** See `Dispatcher.close`. */
  async drain(drainMs: number): Promise<void> {
    this.#isEnding = true
    const waiting = [...this.#lanes.values()].flatMap((lane) => lane.empty()).flat()
    this.held -= waiting.length
    try {
      if (waiting.length > 0) await this.#queue.giveBack(waiting)
    } catch (error) {
      this.#log.warn({ error }, 'deliveries could not be given back; their leases will end')
    }
    if (this.active === 0) return
    const ended = new Promise<void>((resolve) => {
      this.#onEnd = resolve
    })
    const timer = setTimeout(() => this.#cut.abort(), drainMs)
    await ended
    clearTimeout(timer)
  }

  /** Lanes with something to take and room for it, each in its turn. */
  async #nextLanes(): Promise<Lane[]> {
    const after = await this.#queue.listReadyLanes(this.#cursor, LANES_LOOKED_AT_MAX)
    const before =
      this.#cursor === '' || after.length === LANES_LOOKED_AT_MAX
        ? []
        : await this.#queue.listReadyLanes('', LANES_LOOKED_AT_MAX)
    const names = [...new Set([...after, ...before])].slice(0, LANES_LOOKED_AT_MAX)
    this.#cursor = names.length < LANES_LOOKED_AT_MAX ? '' : (names.at(-1) ?? '')
    return names.map((name) => this.#laneOf(name)).filter((lane) => lane.room > 0)
  }

  /** How much of each lane to take, `free` in all; of silent destinations only up to their share. */
  #sharesOf(lanes: readonly Lane[], free: number): { lane: string; limit: number }[] {
    const share = Math.max(1, Math.floor(free / lanes.length))
    let unprovenFree = UNPROVEN_HELD_MAX
    for (const lane of this.#lanes.values()) if (!lane.isProven) unprovenFree -= lane.held
    const shares: { lane: string; limit: number }[] = []
    for (const { name, room, isProven } of lanes) {
      if (shares.length === free) break
      const limit = Math.min(share, room, isProven ? share : unprovenFree)
      if (limit <= 0) continue
      if (!isProven) unprovenFree -= limit
      shares.push({ lane: name, limit })
    }
    return shares
  }

  #laneOf(name: string): Lane {
    const known = this.#lanes.get(name)
    if (known !== undefined) return known
    const lane = new Lane(name)
    this.#lanes.set(name, lane)
    return lane
  }

  /** Starts what may start, one of each lane in turn: whoever had its turn is the last from then on. */
  #start(): void {
    for (const lane of this.#eager) {
      if (!lane.mayStart || !this.#hasRoomFor(lane)) continue
      const group = lane.start()
      this.#eager.delete(lane)
      // The loop comes to it again.
      if (!lane.isStarted) this.#eager.add(lane)
      if (group !== undefined) void this.#run(lane, group)
    }
  }

  #hasRoomFor(lane: Lane): boolean {
    if (this.active >= TRANSACTIONS_MAX || this.#isEnding) return false
    // One message may be larger than all that is allowed together.
    if (this.#bytes >= OUTBOUND_BYTES_MAX) return false
    return lane.isProven || this.#unproven < UNPROVEN_TRANSACTIONS_MAX
  }

  async #run(lane: Lane, group: Group): Promise<void> {
    const isUnproven = !lane.isProven
    const [{ size_bytes: bytes }] = group
    this.active += 1
    this.#bytes += bytes
    if (isUnproven) this.#unproven += 1
    let wasReached = false
    try {
      wasReached = (await this.#queue.deliver(group, this.#cut.signal)) === 'reached'
    } catch (error) {
      const { message_id: message } = group[0]
      this.#log.error({ error, message }, 'the outcome of a delivery could not be recorded')
    }
    this.active -= 1
    this.#bytes -= bytes
    if (isUnproven) this.#unproven -= 1
    this.held -= group.length
    lane.end(group, wasReached)
    if (lane.isEmpty && (!lane.isProven || this.#lanes.size > LANES_KEPT_MAX)) {
      this.#lanes.delete(lane.name)
    }
    this.#goOn(lane)
  }

  #goOn(lane: Lane): void {
    if (this.#isEnding) {
      if (this.active === 0) this.#onEnd()
      return
    }
    this.#start()
    if (lane.room > 0) this.wantMore()
  }
}

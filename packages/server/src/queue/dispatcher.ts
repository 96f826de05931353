// The loops that work a queue: one that takes what is ready, one that makes ready what is due, one that
// keeps the leases of what is held.

import type { Log } from '#platform/log.ts'
import { Deliveries } from './deliveries.ts'
import type { DispatchedQueue, DispatcherBounds, Item } from './dispatched-queue.ts'
import { MAIL_BOUNDS } from './dispatcher-bounds.ts'
import { openWorkerLoop } from './worker-loop.ts'

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

const LOOK_EVERY_MS = 1_000

export type DispatcherOptions = {
  /** Of its loops, for the log. */
  name?: string
  bounds?: DispatcherBounds
  /** Shorter in tests. */
  longAttemptMs?: number
}

/** Starts working the queue; as that of mail is worked where `options` say nothing else. */
export function openDispatcher<Held extends Item>(
  queue: DispatchedQueue<Held>,
  log: Log,
  options: DispatcherOptions = {},
): Dispatcher {
  const { name = 'deliveries', bounds = MAIL_BOUNDS } = options
  const { longAttemptMs = bounds.longAttemptMs } = options
  const state = new Deliveries(queue, { log, bounds: { ...bounds, longAttemptMs } })
  const claims = openWorkerLoop({
    name,
    everyMs: LOOK_EVERY_MS,
    step: (signal) => state.takeMore(signal),
    log,
  })
  const wake = () => {
    state.askAnew()
    claims.wake()
  }
  state.wantMore = () => claims.wake()
  const due = openWorkerLoop({
    name: `due ${name}`,
    everyMs: LOOK_EVERY_MS,
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
      if (state.held > 0) await queue.renew()
      return false
    },
    log,
  })
  return {
    wake,
    active: () => state.active,
    lanes: () => state.lanes,
    async close(drainMs) {
      state.stopStarting()
      await Promise.all([claims.close(), due.close()])
      await state.drain(drainMs)
      await leases.close()
    },
  }
}

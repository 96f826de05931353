// A dispatcher over a real queue in a database of its own; the test plays the far end of every connection.

import type { CarryOutcome } from '#delivery/carrier.ts'
import { type DeliveryQueue, openDeliveryQueue } from '#delivery/delivery-queue.ts'
import { deliveryQueue } from '#outbound/deliveries/store/leases.ts'
import { systemClock } from '#platform/clock.ts'
import { silentLog } from '#platform/log.ts'
import { type Dispatcher, openDispatcher } from '#queue/dispatcher.ts'
import type { DispatcherBounds } from '#queue/dispatcher-bounds.ts'
import type { Db, Row } from '#store/tables.ts'
import { ACCEPTED, deliverDeps, openFarEnd, UNSENT } from '#test/conformance/delivering.ts'
import {
  addAccount,
  addInbox,
  makeId,
  openDatabase,
  type TestDatabase,
} from '#test/conformance/open-database.ts'
import { copyMessage, queueAll, sending } from '#test/conformance/sending.ts'

/** Counters that change, and waiters for their values. */
export class Tally {
  readonly #counts = new Map<string, number>()
  #waiting: { isMet: () => boolean; resolve: () => void }[] = []

  of(name: string): number {
    return this.#counts.get(name) ?? 0
  }

  add(name: string, by = 1): void {
    this.#counts.set(name, this.of(name) + by)
    for (const { isMet, resolve } of this.#waiting) if (isMet()) resolve()
    this.#waiting = this.#waiting.filter(({ isMet }) => !isMet())
  }

  /** Resolves when the condition holds, now or after a change. */
  until(isMet: () => boolean): Promise<void> {
    if (isMet()) return Promise.resolve()
    return new Promise((resolve) => this.#waiting.push({ isMet, resolve }))
  }
}

export type Answer = (
  domain: string,
  signal: AbortSignal,
  recipient: string,
) => CarryOutcome | Promise<CarryOutcome>

export type Dispatching = {
  readonly database: TestDatabase
  readonly dispatcher: Dispatcher
  /**
   * `settled`, and each status, counts recipients whose outcome is recorded; `settled <domain>` those of a domain;
   * `<domain>` transactions in progress there, `under way` all, `most` and `most <domain>` their highest numbers so
   * far.
   */
  readonly tally: Tally
  /** The number of times each recipient's message was sent. */
  readonly carried: Map<string, number>
  /** Queues `count` messages for each domain. */
  queue(domains: string[], count: number, sizeBytes?: number): Promise<void>
  rows(): Promise<Row<'deliveries'>[]>
  close(): Promise<void>
}

export async function openDispatching(
  answer: Answer,
  options: {
    on?: (db: Db) => Db
    seen?: (queue: DeliveryQueue) => DeliveryQueue
    bounds?: DispatcherBounds
    /** Servers greet each attempt, whatever they answer afterwards. */
    isGreeted?: boolean
  } = {},
): Promise<Dispatching> {
  const database = await openDatabase('sqlite')
  const { db } = database
  const owner = await addAccount(db)
  const inboxId = await addInbox(db, owner)
  const first = sending(owner, inboxId)
  await queueAll(db, [first])
  const tally = new Tally()
  const carried = new Map<string, number>()
  const farEnd = openFarEnd(async (recipient, { destination, onAnswer }, signal) => {
    if (options.isGreeted) onAnswer?.()
    carried.set(recipient, (carried.get(recipient) ?? 0) + 1)
    for (const [name, most] of [
      [destination, `most ${destination}`],
      ['under way', 'most'],
    ] as const) {
      tally.add(name)
      tally.add(most, Math.max(0, tally.of(name) - tally.of(most)))
    }
    try {
      return await answer(destination, signal, recipient)
    } finally {
      tally.add(destination, -1)
      tally.add('under way', -1)
    }
  })
  const deps = {
    ...deliverDeps(options.on?.(db) ?? db, systemClock, farEnd),
    countDelivery: (status: string) => {
      tally.add(status)
      tally.add('settled')
    },
  }
  const queue = openDeliveryQueue(deps, makeId('job'))
  const counting: DeliveryQueue = {
    ...queue,
    async deliver(group, signal, onAnswer) {
      const outcome = await queue.deliver(group, signal, onAnswer)
      if (outcome !== 'returned') tally.add(`settled ${group[0].lane}`, group.length)
      return outcome
    },
  }
  // All others are copies of this message, which does not count.
  await db.write(deliveryQueue.lease, {
    worker: 'nobody',
    heads: [{ account: owner.accountId, lane: 'far.example', limit: 1 }],
    nowMs: systemClock.now(),
    leaseUntilMs: systemClock.steady() + 10 ** 5,
  })
  const dispatcher = openDispatcher(
    options.seen?.(counting) ?? counting,
    { clock: systemClock, log: silentLog },
    options,
  )
  let isOpen = true
  return {
    database,
    dispatcher,
    tally,
    carried,
    async queue(domains, count, sizeBytes) {
      const copies = { domains, count, ...(sizeBytes === undefined ? {} : { sizeBytes }) }
      await copyMessage(database, first.messageId, copies)
      dispatcher.wake()
    },
    rows: () =>
      db.read
        .selectFrom('deliveries')
        .selectAll()
        .where('message_id', '!=', first.messageId)
        .execute(),
    async close() {
      if (!isOpen) return
      isOpen = false
      await dispatcher.close(0)
      await database.close()
    },
  }
}

export async function dispatching(
  answer: Answer,
  run: (world: Dispatching) => Promise<void>,
  options: Parameters<typeof openDispatching>[1] = {},
): Promise<void> {
  const world = await openDispatching(answer, options)
  try {
    await run(world)
  } finally {
    await world.close()
  }
}

/** Servers whose domain begins with `bad` hang; all others accept. */
export const badHangs: Answer = (domain, signal) =>
  domain.startsWith('bad') ? hang(signal) : ACCEPTED

/** Never answers, and ends when it is aborted. */
export function hang(signal: AbortSignal, outcome = UNSENT): Promise<CarryOutcome> {
  if (signal.aborted) return Promise.resolve(outcome)
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(outcome)))
}

/** Accepts after some milliseconds. */
export async function after(ms: number, outcome = ACCEPTED): Promise<CarryOutcome> {
  await new Promise((resolve) => setTimeout(resolve, ms))
  return outcome
}

export function domains(name: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${name}-${index}.example`)
}

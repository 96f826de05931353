// Requests that wait for threads to claim. In each inbox the oldest requests are served first, one
// transaction at a time, when an event arrives or a claim or snooze ends.

import type { LoggedEvent } from '#events/model.ts'
import { findInbox } from '#inboxes/store/inboxes.ts'
import { hashOfLeaseToken } from '#mailbox/claims/store/claim-token.ts'
import {
  type ClaimedBatch,
  type ClaimRequest,
  claimOldest,
  type MadeClaim,
  releaseClaim,
} from '#mailbox/claims/store/claims.ts'
import { onAbort } from '#platform/abort.ts'
import { BASE62, type Chance, randomText } from '#platform/chance.ts'
import { notFound } from '#platform/problem.ts'
import type { QueueClock } from '#queue/queue-clock.ts'
import type { Store } from '#store/store.ts'
import type { EventHub, Listening } from './event-hub.ts'
import { countWaiter } from './wait-for-message.ts'

/** Threads per transaction. */
const CLAIMS_AT_ONCE = 50
const RETRY_MS = 1_000

/** The token has 238 bits of randomness. */
const TOKEN_LENGTH = 40

export function makeLeaseToken(chance: Chance): string {
  return `mrl_${randomText(chance, BASE62, TOKEN_LENGTH)}`
}

export type GivenClaim = MadeClaim & { readonly leaseToken: string }

export type ClaimWaitDeps = Store & {
  queueClock: QueueClock
  chance: Chance
  events: EventHub
}

type Wanted = Omit<ClaimRequest, 'claims'> & {
  readonly accountId: string
  readonly inboxId: string
  readonly max: number
  readonly waitMs: number
  readonly signal: AbortSignal
}

type End = 'time' | 'caller' | 'shutdown' | 'deletion'

type Waiter = {
  readonly wanted: Wanted
  readonly answer: PromiseWithResolvers<GivenClaim[]>
  /** A running transaction must be awaited even after the wait has ended. */
  isTried: boolean
  over: End | null
}

const queues = new WeakMap<EventHub, Map<string, InboxQueue>>()

/**
 * Returns no claims after `waitMs`, at a shutdown or when `signal` aborts. Throws `not_found` even
 * if the inbox is deleted during the wait, and `service_unavailable` if too many requests wait.
 */
export async function waitForClaims(deps: ClaimWaitDeps, wanted: Wanted): Promise<GivenClaim[]> {
  const requireInbox = async () => {
    const { accountId, inboxId } = wanted
    if ((await findInbox(deps.db, accountId, inboxId)) === null) throw notFound()
  }
  await requireInbox()
  const leave = countWaiter(deps.events)
  try {
    const claims = await enqueue(deps, wanted)
    // Another process may have deleted the inbox.
    if (claims.length === 0 && wanted.waitMs > 0 && !wanted.signal.aborted) await requireInbox()
    return claims
  } finally {
    leave()
  }
}

function enqueue(deps: ClaimWaitDeps, wanted: Wanted): Promise<GivenClaim[]> {
  const { inboxId } = wanted
  const ofHub = queues.get(deps.events) ?? new Map<string, InboxQueue>()
  queues.set(deps.events, ofHub)
  const queue =
    ofHub.get(inboxId) ??
    new InboxQueue(deps, wanted, (empty) => {
      if (ofHub.get(inboxId) === empty) ofHub.delete(inboxId)
    })
  ofHub.set(inboxId, queue)
  return queue.wait(wanted)
}

class InboxQueue {
  readonly #deps: ClaimWaitDeps
  readonly #accountId: string
  readonly #inboxId: string
  readonly #onEmpty: (queue: InboxQueue) => void
  readonly #waiters = new Set<Waiter>()
  #listening: Promise<Listening> | null = null
  #running: Promise<void> | null = null
  #isAwake = false
  #timer: NodeJS.Timeout | null = null
  #timerAtMs = Number.POSITIVE_INFINITY

  constructor(
    deps: ClaimWaitDeps,
    { accountId, inboxId }: { accountId: string; inboxId: string },
    onEmpty: (queue: InboxQueue) => void,
  ) {
    this.#deps = deps
    this.#accountId = accountId
    this.#inboxId = inboxId
    this.#onEmpty = onEmpty
  }

  async wait(wanted: Wanted): Promise<GivenClaim[]> {
    const answer = Promise.withResolvers<GivenClaim[]>()
    const waiter: Waiter = { wanted, answer, isTried: false, over: null }
    this.#waiters.add(waiter)
    const timer =
      wanted.waitMs > 0 ? setTimeout(() => this.#end(waiter, 'time'), wanted.waitMs) : undefined
    using _ = onAbort(wanted.signal, () => this.#end(waiter, 'caller'))
    try {
      this.#wake()
      return await answer.promise
    } finally {
      clearTimeout(timer)
    }
  }

  #end(waiter: Waiter, why: End): void {
    waiter.over ??= why
    if (!waiter.isTried) this.#settle(waiter, [])
  }

  #settle(waiter: Waiter, claims: GivenClaim[]): void {
    this.#remove(waiter)
    if (waiter.over === 'deletion' && claims.length === 0) waiter.answer.reject(notFound())
    else waiter.answer.resolve(claims)
  }

  #remove(waiter: Waiter): void {
    this.#waiters.delete(waiter)
    if (this.#waiters.size > 0 || this.#running !== null) return
    this.#close()
  }

  #close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    this.#timerAtMs = Number.POSITIVE_INFINITY
    this.#stopListening()
    this.#onEmpty(this)
  }

  #stopListening(): void {
    this.#listening?.then((listening) => listening.stop()).catch(() => {})
    this.#listening = null
  }

  #wake(): void {
    this.#isAwake = true
    this.#running ??= this.#run().finally(() => {
      this.#running = null
      if (this.#waiters.size === 0) this.#close()
      else if (this.#isAwake) this.#wake()
    })
  }

  async #run(): Promise<void> {
    try {
      // Listening starts first, so that no change is missed.
      this.#listening ??= this.#listen()
      await this.#listening
      while (this.#isAwake) {
        this.#isAwake = false
        await this.#tryAll()
      }
    } catch (error) {
      this.#stopListening()
      this.#fail([...this.#waiters], error)
    }
  }

  #listen(): Promise<Listening> {
    return this.#deps.events.listen(this.#accountId, {
      inboxId: this.#inboxId,
      wants: (event) => {
        this.#see(event)
        return false
      },
      notify: () => {},
      onThreadsAdded: () => this.#wake(),
      onInboxDeleted: () => this.#endAll('deletion'),
      onShutdown: () => this.#endAll('shutdown'),
    })
  }

  #see(event: LoggedEvent): void {
    if (event.inboxId !== this.#inboxId) return
    switch (event.kind) {
      case 'message.received':
      case 'thread.released':
      case 'thread.updated':
        this.#wake()
        return
      case 'thread.claimed': {
        const { claim } = event.details as { claim: { expires_at: string } }
        this.#wakeIn(Date.parse(claim.expires_at) - this.#deps.clock.now())
      }
    }
  }

  #wakeIn(delayMs: number): void {
    const atMs = this.#deps.clock.monotonic() + Math.max(0, delayMs)
    if (atMs >= this.#timerAtMs) return
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timerAtMs = atMs
    // Timers round down, but the timer must fire after the claim has ended.
    this.#timer = setTimeout(
      () => {
        this.#timerAtMs = Number.POSITIVE_INFINITY
        this.#wake()
      },
      Math.min(Math.max(0, delayMs) + 1, TIMER_MS_MAX),
    )
    this.#timer.unref()
  }

  #endAll(why: End): void {
    for (const waiter of [...this.#waiters]) this.#end(waiter, why)
  }

  #fail(waiters: readonly Waiter[], error: unknown): void {
    for (const waiter of waiters) {
      this.#waiters.delete(waiter)
      waiter.answer.reject(error)
    }
  }

  async #tryAll(): Promise<void> {
    const exhausted = new Set<string>()
    const all = [...this.#waiters]
    for (const left = [...all]; left.length > 0; ) {
      const batch = takeBatch(left, exhausted).filter((waiter) => this.#waiters.has(waiter))
      if (batch.length > 0) await this.#tryBatch(batch, exhausted)
    }
    for (const waiter of all) {
      if (isLastAttempt(waiter) && this.#waiters.has(waiter)) this.#settle(waiter, [])
    }
  }

  async #tryBatch(batch: readonly Waiter[], exhausted: Set<string>): Promise<void> {
    const { db, queueClock, clock, makeId, chance } = this.#deps
    for (const waiter of batch) waiter.isTried = true
    const tokens = batch.map(({ wanted }) =>
      Array.from({ length: wanted.max }, () => makeLeaseToken(chance)),
    )
    const requests = batch.map(({ wanted }, index): ClaimRequest => {
      const { owner, leaseMs, category, facets } = wanted
      const claims = (tokens[index] ?? []).map((token) => ({
        tokenHash: hashOfLeaseToken(token) ?? new Uint8Array(),
        eventId: makeId('evt'),
        expiredEventId: makeId('evt'),
      }))
      return { owner, leaseMs, category, facets, claims }
    })
    let outcome: ClaimedBatch | null
    try {
      await queueClock.check()
      const now = { queueMs: queueClock.now(), nowMs: clock.now() }
      const inbox = { accountId: this.#accountId, inboxId: this.#inboxId }
      outcome = await db.write(claimOldest, { ...inbox, requests, ...now })
    } catch (error) {
      this.#fail(batch, error)
      this.#wakeIn(RETRY_MS)
      return
    }
    if (outcome === null) {
      this.#fail([...this.#waiters], notFound())
      return
    }
    const { made, moreInMs } = outcome
    let isAny = false
    for (const [index, waiter] of batch.entries()) {
      waiter.isTried = false
      const claims = (made[index] ?? []).map((claim, at) => ({
        ...claim,
        leaseToken: tokens[index]?.[at] ?? '',
      }))
      if (claims.length < waiter.wanted.max) exhausted.add(filterKey(waiter))
      if (claims.length > 0) isAny = true
      if (claims.length > 0 && waiter.over === 'caller') {
        releaseClaims(this.#deps, waiter.wanted.accountId, claims)
        this.#settle(waiter, [])
      } else if (claims.length > 0 || isLastAttempt(waiter)) this.#settle(waiter, claims)
    }
    if (isAny) this.#deps.wakeEvents()
    if (moreInMs !== null) this.#wakeIn(moreInMs)
  }
}

/** A request without a wait gets one attempt, even if its time is already over. */
function isLastAttempt({ over, wanted }: Waiter): boolean {
  return over !== null || wanted.waitMs === 0
}

/** The longest delay that a timer allows. */
const TIMER_MS_MAX = 2 ** 31 - 1

function takeBatch(left: Waiter[], exhausted: ReadonlySet<string>): Waiter[] {
  const batch: Waiter[] = []
  let claims = 0
  for (;;) {
    const [next] = left
    if (next === undefined) return batch
    if (!exhausted.has(filterKey(next))) {
      if (batch.length > 0 && claims + next.wanted.max > CLAIMS_AT_ONCE) return batch
      batch.push(next)
      claims += next.wanted.max
    }
    left.shift()
  }
}

function filterKey({ wanted: { category, facets } }: Waiter): string {
  return JSON.stringify([category, facets])
}

/** Releases the claims of a client that has left. If that fails, the claims expire. */
export function releaseClaims(
  deps: ClaimWaitDeps,
  accountId: string,
  claims: readonly GivenClaim[],
): void {
  for (const { threadId, leaseToken } of claims) {
    deps.db
      .write(releaseClaim, {
        accountId,
        threadId,
        tokenHash: hashOfLeaseToken(leaseToken),
        queueMs: deps.queueClock.now(),
        nowMs: deps.clock.now(),
        isRead: null,
        eventId: deps.makeId('evt'),
        changeEventId: deps.makeId('evt'),
      })
      .then(() => deps.wakeEvents())
      .catch((error) => deps.log.debug({ error }, 'a claim could not be released'))
  }
}

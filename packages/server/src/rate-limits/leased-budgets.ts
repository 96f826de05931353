// Limits over processes that share a database. A process leases slices of each window and counts them in
// memory; every held slot is on record. The record decides, in one transaction for many keys.

import { raceAbort } from '#platform/abort.ts'
import type { Clock } from '#platform/clock.ts'
import { StorageError } from '#platform/db/storage-error.ts'
import type { MakeId } from '#platform/ids.ts'
import type { Log } from '#platform/log.ts'
import { withStorageProblem } from '#platform/problem.ts'
import { MINUTE_MS, SECOND_MS } from '#platform/units.ts'
import type { QueueClock } from '#queue/queue-clock.ts'
import type { Db } from '#schema/tables.ts'
import {
  type Allowance,
  type Budgets,
  type HeldSlot,
  LIMITER_ENTRIES_MAX,
  openOwnBudgets,
  releasedOnce,
  type SlotOptions,
  type WindowOptions,
} from './budgets.ts'
import {
  BUDGET_RECORD_MS,
  type BudgetAnswer,
  type BudgetAsk,
  exchangeBudgets,
  renewBudgetHolder,
  sweepBudgets,
} from './rate-limits-rows.ts'

/** A process that has not renewed for this time counts as dead. */
export const BUDGET_LEASE_MS = 30 * SECOND_MS
export const BUDGET_RENEW_MS = 10 * SECOND_MS
/** A process stops using its leases a little earlier, because clocks differ. */
const USE_MS = BUDGET_LEASE_MS - 2 * SECOND_MS
/** Slices of a window. A process leases one in advance, so that few requests need the record. */
export const BUDGET_SLICES = 20
/** A lease is returned when this process has not used its key for this time. */
export const BUDGET_IDLE_MS = 10 * SECOND_MS
/** A record in use is written at least this often, because it is removed after BUDGET_RECORD_MS. */
const REFRESH_MS = BUDGET_RECORD_MS / 2
/** A refused process asks again after this time when others may return tokens. */
const RETRY_MS = SECOND_MS
/** A slot that another process has just released may not be on record as free yet. */
const SLOT_WAIT_MS = 200
/** Keys in one transaction, so that each ends soon. */
const KEYS_PER_EXCHANGE = 100
const SWEEP_MS = MINUTE_MS
/** Time to return leases when closing. */
const CLOSE_MS_MAX = SECOND_MS

type LeaseDeps = { db: Db; clock: Clock; queueClock: QueueClock; makeId: MakeId; log: Log }

/** One for each process; close it before the database. */
export function openBudgets(deps: LeaseDeps): Budgets {
  return deps.db.engine === 'sqlite' ? openOwnBudgets(deps.clock) : openLeasedBudgets(deps)
}

/** Uses the store only once something is taken. */
export function openLeasedBudgets(deps: LeaseDeps): Budgets {
  const { db, clock, queueClock, log } = deps
  const leases: Leases[] = []
  const holder = openHolder(deps, () => {
    for (const each of leases) each.lose()
  })
  let sweptMs = clock.monotonic()
  async function maintain(): Promise<void> {
    try {
      if (leases.some((each) => each.isInUse())) await holder.renew(BUDGET_RENEW_MS)
      await Promise.all(leases.map((each) => each.settle()))
      const nowMs = clock.monotonic()
      let isMore = nowMs - sweptMs >= SWEEP_MS
      if (isMore) sweptMs = nowMs
      while (isMore) isMore = await db.write(sweepBudgets, { nowMs: queueClock.now() })
    } catch (error) {
      log.debug({ error }, 'shared limits could not be maintained')
    }
  }
  const timer = setInterval(() => void maintain(), BUDGET_RENEW_MS / 2).unref()
  return {
    openWindow(options) {
      const window = { ...options, clock }
      const opened = openLeases(windowRules(window), deps, holder)
      leases.push(opened)
      return {
        take(key) {
          const share = opened.shareOf(key)
          const decided = decide(window, share, holder.isAlive())
          opened.review(share)
          return decided ?? opened.wait(share)
        },
      }
    },
    openSlots(options) {
      const opened = openLeases(slotRules(options, clock), deps, holder)
      leases.push(opened)
      async function take(key: string): Promise<HeldSlot | null> {
        const share = opened.shareOf(key)
        if (!(await opened.wait(share))) return null
        return releasedOnce(() => {
          share.used -= 1
          opened.review(share)
        })
      }
      return {
        async take(key) {
          const place = await take(key)
          if (place !== null) return place
          await new Promise((resolve) => setTimeout(resolve, SLOT_WAIT_MS))
          return take(key)
        },
      }
    },
    maintain,
    async close() {
      clearInterval(timer)
      const closing = Promise.all(leases.map((each) => each.close()))
      await raceAbort(closing, { timeoutMs: CLOSE_MS_MAX })
    },
  }
}

type Holder = ReturnType<typeof openHolder>

/** The record of this process, under a new name whenever others may count it as dead. */
function openHolder({ db, clock, queueClock, makeId }: LeaseDeps, onLost: () => void) {
  let name = ''
  /**
   * Time of the last renewal, on the monotonic clock and on the wall clock, because the monotonic clock stops
   * when the machine sleeps.
   */
  let renewedMs = Number.NEGATIVE_INFINITY
  let renewedWallMs = Number.NEGATIVE_INFINITY
  let renewing: Promise<void> | null = null
  const ageMs = () => Math.max(clock.monotonic() - renewedMs, clock.now() - renewedWallMs)
  async function renewNow(): Promise<void> {
    await queueClock.check()
    const [startMs, startWallMs] = [clock.monotonic(), clock.now()]
    const untilMs = queueClock.now() + BUDGET_LEASE_MS
    const isOnRecord = ageMs() < REFRESH_MS
    if (!isOnRecord || !(await db.write(renewBudgetHolder, { holder: name, untilMs }))) {
      renewedMs = Number.NEGATIVE_INFINITY
      name = makeId('job')
      onLost()
      await db.write(renewBudgetHolder, { holder: name, untilMs })
    }
    renewedMs = startMs
    renewedWallMs = startWallMs
  }
  return {
    name: () => name,
    /** Whether leases may be used, because no other process can have them yet. */
    isAlive: () => ageMs() < USE_MS,
    async renew(olderMs: number): Promise<void> {
      if (ageMs() < olderMs) return
      renewing ??= renewNow().finally(() => {
        renewing = null
      })
      await renewing
    },
  }
}

/** The tokens or slots of this process for one key. */
type Share<Answer> = {
  readonly key: string
  readonly waiting: PromiseWithResolvers<Answer>[]
  askedMs: number
  exchangedMs: number
}

type Rules<Answer, Each> = {
  readonly name: string
  newShare(share: Share<Answer>): Each
  /** Whether an exchange with the record is due. */
  isDue(share: Each): boolean
  /** Whether a share without a due exchange can be forgotten. */
  isOver(share: Each): boolean
  ask(share: Each): BudgetAsk
  /** `isSameHolder` is false when this process was counted as dead meanwhile. */
  answer(share: Each, ask: BudgetAsk, answer: BudgetAnswer, isSameHolder: boolean): void
  /** Other processes have all leases. The next exchange updates the record. */
  lose(share: Each): unknown
}

type Leases = Pick<ReturnType<typeof openLeases>, 'isInUse' | 'lose' | 'settle' | 'close'>

/** The shares of one limit, in the order of their last use. */
function openLeases<Answer, Each extends Share<Answer>>(
  rules: Rules<Answer, Each>,
  deps: LeaseDeps,
  holder: Holder,
) {
  const shares = new Map<string, Each>()
  const exchanges = openExchanges(rules, deps, { holder, review })
  function review(share: Each): void {
    if (rules.isDue(share)) exchanges.add(share)
    else if (rules.isOver(share)) shares.delete(share.key)
  }
  return {
    review,
    /** Throws `service_unavailable` while too many shares wait for the store. */
    shareOf(key: string): Each {
      const nowMs = deps.clock.monotonic()
      const known = shares.get(key)
      if (known === undefined && shares.size >= 2 * LIMITER_ENTRIES_MAX) {
        throw withStorageProblem(new StorageError('busy', 'Too many leases wait for the store.'))
      }
      const share =
        known ?? rules.newShare({ key, waiting: [], askedMs: nowMs, exchangedMs: nowMs })
      share.askedMs = nowMs
      shares.delete(key)
      shares.set(key, share)
      const [leastUsed] = shares.values()
      if (shares.size > LIMITER_ENTRIES_MAX && leastUsed !== undefined) {
        leastUsed.askedMs = Number.NEGATIVE_INFINITY
        review(leastUsed)
      }
      return share
    },
    wait(share: Each): Promise<Answer> {
      const waiter = Promise.withResolvers<Answer>()
      share.waiting.push(waiter)
      exchanges.add(share)
      return waiter.promise
    },
    isInUse: () => shares.size > 0,
    lose() {
      for (const share of shares.values()) rules.lose(share)
    },
    /** Returns idle leases and corrects the record. */
    settle() {
      for (const share of shares.values()) review(share)
      return exchanges.settled()
    },
    /** Returns all leases; slots are released by their holders. */
    close() {
      for (const share of shares.values()) share.askedMs = Number.NEGATIVE_INFINITY
      return this.settle()
    },
  }
}

/** Exchanges with the record: many keys in a transaction, one transaction at a time. */
function openExchanges<Answer, Each extends Share<Answer>>(
  rules: Rules<Answer, Each>,
  { db, clock, queueClock }: LeaseDeps,
  { holder, review }: { holder: Holder; review(share: Each): void },
) {
  const due = new Set<Each>()
  let running: Promise<void> | null = null

  async function exchange(batch: readonly Each[]): Promise<void> {
    await holder.renew(USE_MS)
    const name = holder.name()
    const asked = batch.filter(rules.isDue).map((share) => ({ share, ask: rules.ask(share) }))
    if (asked.length === 0) return
    const nowMs = clock.monotonic()
    for (const { share } of asked) share.exchangedMs = nowMs
    const answers = await db.write(exchangeBudgets, {
      holder: name,
      nowMs: queueClock.now(),
      asks: asked.map(({ share, ask }) => ({ ...ask, name: `${rules.name}:${share.key}` })),
    })
    for (const [index, { share, ask }] of asked.entries()) {
      const answer = answers[index]
      if (answer !== undefined) rules.answer(share, ask, answer, holder.name() === name)
      review(share)
    }
  }

  async function run(): Promise<void> {
    // Requests of the same moment share an exchange.
    await null
    while (due.size > 0) {
      const batch = [...due].slice(0, KEYS_PER_EXCHANGE)
      for (const share of batch) due.delete(share)
      await exchange(batch).catch((error) => {
        const waiting = batch.flatMap((share) => share.waiting.splice(0))
        for (const { reject } of waiting) reject(withStorageProblem(error))
      })
    }
    running = null
  }

  return {
    add(share: Each): void {
      due.add(share)
      running ??= run()
    },
    settled: () => running ?? Promise.resolve(),
  }
}

type WindowShare = Share<Allowance> & {
  /** Leased tokens not used yet. */
  left: number
  /** Times of uses that the record does not have. */
  usedMs: number[]
  /** The record may have leases of this process. */
  isOnRecord: boolean
  /** Tokens left for any process, and when the next used token leaves the window, as of the last exchange. */
  room: number
  nextMs: number
  /** No tokens are left until this time. */
  emptyUntilMs: number
}

const NOTHING_LEASED = { left: 0, isOnRecord: false, room: 0, nextMs: 0, emptyUntilMs: 0 }

type Window = WindowOptions & Pick<LeaseDeps, 'clock'>

/** `others` is the number of further uses allowed by the same exchange. */
function allowanceOf(
  { limit, windowMs, clock }: Window,
  { left, usedMs, room, nextMs }: WindowShare,
  { isAllowed, others = 0 }: { isAllowed: boolean; others?: number },
): Allowance {
  const nowMs = clock.monotonic()
  const ownMs = (usedMs[0] ?? Number.NEGATIVE_INFINITY) + windowMs
  const waitMs = Math.min(...[nextMs, ownMs].filter((atMs) => atMs > nowMs)) - nowMs
  return {
    isAllowed,
    limit,
    remaining: isAllowed ? Math.min(left + room + others, limit) : 0,
    resetSeconds: secondsOf(Number.isFinite(waitMs) ? waitMs : isAllowed ? 0 : windowMs, windowMs),
  }
}

/** The answer never exceeds the window, though a token may expire a little later. */
function secondsOf(waitMs: number, windowMs: number): number {
  return Math.ceil(Math.min(Math.round(waitMs), windowMs) / 1000)
}

/** Null when the record is needed. */
function decide(window: Window, share: WindowShare, isAlive: boolean): Allowance | null {
  const nowMs = window.clock.monotonic()
  if (share.left === 0 || !isAlive) {
    return nowMs < share.emptyUntilMs ? allowanceOf(window, share, { isAllowed: false }) : null
  }
  share.left -= 1
  share.usedMs.push(nowMs)
  return allowanceOf(window, share, { isAllowed: true })
}

function windowRules(window: Window): Rules<Allowance, WindowShare> {
  const { name, limit, windowMs, clock } = window
  const slice = Math.floor(limit / BUDGET_SLICES)
  const isIdle = ({ askedMs }: WindowShare) => clock.monotonic() - askedMs >= BUDGET_IDLE_MS
  return {
    name,
    newShare: (share) => ({ ...share, usedMs: [], ...NOTHING_LEASED }),
    isDue(share) {
      if (share.waiting.length > 0) return true
      if (isIdle(share)) return share.isOnRecord
      const nowMs = clock.monotonic()
      // An exchange before the last token is used lets requests rarely wait for the record.
      const isLow = share.left * 2 < slice && nowMs >= share.emptyUntilMs
      return isLow || nowMs - share.exchangedMs >= REFRESH_MS
    },
    isOver: isIdle,
    ask(share) {
      const nowMs = clock.monotonic()
      const need = share.waiting.length
      const kept = need > 0 || isIdle(share) ? 0 : share.left
      const unused = share.left - kept
      const usedAgoMs = share.usedMs.splice(0).map((usedMs) => nowMs - usedMs)
      // Returned tokens are not used from now on, even when the store does not answer.
      share.left = kept
      share.isOnRecord = true
      const ahead = isIdle(share) ? 0 : slice - kept
      return { limit, windowMs, kept, unused, usedAgoMs, need, ahead }
    },
    answer(share, { kept, need }, { granted, held, room, nextInMs, isShared }, isSameHolder) {
      share.left = isSameHolder ? Math.max(0, share.left + held - kept) : 0
      share.room = room
      share.nextMs = share.exchangedMs + (nextInMs ?? windowMs)
      const retryMs = isShared ? clock.monotonic() + RETRY_MS : Number.POSITIVE_INFINITY
      if (room === 0) share.emptyUntilMs = Math.min(share.nextMs, retryMs)
      for (const [index, { resolve }] of share.waiting.splice(0, need).entries()) {
        const others = granted - 1 - index
        resolve(allowanceOf(window, share, { isAllowed: others >= 0, others }))
      }
      // If these tokens were returned, they would look used to requests that wait meanwhile.
      for (const { resolve } of share.waiting.splice(0, share.left)) {
        share.left -= 1
        share.usedMs.push(clock.monotonic())
        resolve(allowanceOf(window, share, { isAllowed: true }))
      }
      share.isOnRecord = share.left > 0 || share.usedMs.length > 0
    },
    lose: (share) => Object.assign(share, { left: 0, usedMs: [], isOnRecord: false }),
  }
}

type SlotShare = Share<boolean> & {
  used: number
  /** The number of slots in use here on record; null when unknown. */
  onRecord: number | null
}

function slotRules(
  { name, limit }: SlotOptions,
  clock: LeaseDeps['clock'],
): Rules<boolean, SlotShare> {
  return {
    name,
    newShare: (share) => ({ ...share, used: 0, onRecord: 0 }),
    isDue: ({ waiting, used, onRecord, exchangedMs }) =>
      waiting.length > 0 || used !== onRecord || clock.monotonic() - exchangedMs >= REFRESH_MS,
    isOver: ({ used }) => used === 0,
    ask(share) {
      share.onRecord = null
      const ask = { limit, windowMs: 0, kept: share.used, need: share.waiting.length }
      return { ...ask, unused: 0, usedAgoMs: [], ahead: 0 }
    },
    answer(share, { need }, { granted, held }, isSameHolder) {
      if (!isSameHolder) return
      share.onRecord = held
      share.used += granted
      for (const [index, { resolve }] of share.waiting.splice(0, need).entries()) {
        resolve(index < granted)
      }
    },
    lose: (share) => Object.assign(share, { onRecord: null }),
  }
}

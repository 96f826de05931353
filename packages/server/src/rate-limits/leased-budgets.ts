// Limits over processes that share a database: a process leases slices of each window and counts with them
// in its memory; each place that is taken is on record. The record decides, in one transaction for many.

import { raceAbort } from '#platform/abort.ts'
import type { Clock } from '#platform/clock.ts'
import { StorageError } from '#platform/db/storage-error.ts'
import type { MakeId } from '#platform/ids.ts'
import type { Log } from '#platform/log.ts'
import { withStorageTold } from '#platform/problem.ts'
import { MINUTE_MS, SECOND_MS } from '#platform/units.ts'
import type { QueueClock } from '#queue/queue-clock.ts'
import type { Db } from '#schema/tables.ts'
import {
  BUDGET_RECORD_MS,
  type BudgetAnswer,
  type BudgetAsk,
  exchangeBudgets,
  renewBudgetHolder,
  sweepBudgets,
} from './budget-rows.ts'
import {
  type Allowance,
  type Budgets,
  LIMITER_ENTRIES_MAX,
  openOwnBudgets,
  type Place,
  type PlacesOptions,
  releasedOnce,
  type WindowOptions,
} from './budgets.ts'

/** Others may take a process for dead that has not renewed for so long. */
export const BUDGET_LEASE_MS = 30 * SECOND_MS
export const BUDGET_RENEW_MS = 10 * SECOND_MS
/** A process stops using its leases a little earlier, for clocks do not run quite alike. */
const USE_MS = BUDGET_LEASE_MS - 2 * SECOND_MS
/** A window has so many slices. A process leases one in advance, so that few requests ask the record. */
export const BUDGET_SLICES = 20
/** A lease is returned when nobody here has asked for its key for so long. */
export const BUDGET_IDLE_MS = 10 * SECOND_MS
/** A record in use is written at least this often, for it is removed after BUDGET_RECORD_MS. */
const REFRESH_MS = BUDGET_RECORD_MS / 2
/** A process that was refused asks again so soon where others may return some. */
const RETRY_MS = SECOND_MS
/** A place that was released elsewhere a moment ago may not be on record as free yet. */
const PLACE_WAIT_MS = 200
/** In one transaction, so that each ends soon however many keys there are. */
const KEYS_PER_EXCHANGE = 100
const SWEEP_MS = MINUTE_MS
/** For returning leases at the end. */
const CLOSE_MS_MAX = SECOND_MS

type LeaseDeps = { db: Db; clock: Clock; queueClock: QueueClock; makeId: MakeId; log: Log }

/** One for a process; close it before the database. */
export function openBudgets(deps: LeaseDeps): Budgets {
  return deps.db.engine === 'sqlite' ? openOwnBudgets(deps.clock) : openLeasedBudgets(deps)
}

/** Asks nothing of the store until something is taken. */
export function openLeasedBudgets(deps: LeaseDeps): Budgets {
  const { db, clock, queueClock, log } = deps
  const leases: Leases[] = []
  const holder = openHolder(deps, () => {
    for (const each of leases) each.lose()
  })
  let sweptMs = clock.monotonic()
  async function tend(): Promise<void> {
    try {
      if (leases.some((each) => each.isInUse())) await holder.renew(BUDGET_RENEW_MS)
      await Promise.all(leases.map((each) => each.settle()))
      const nowMs = clock.monotonic()
      let isMore = nowMs - sweptMs >= SWEEP_MS
      if (isMore) sweptMs = nowMs
      while (isMore) isMore = await db.write(sweepBudgets, { nowMs: queueClock.now() })
    } catch (error) {
      log.debug({ error }, 'shared limits could not be tended')
    }
  }
  const timer = setInterval(() => void tend(), BUDGET_RENEW_MS / 2).unref()
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
    openPlaces(options) {
      const opened = openLeases(placesRules(options, clock), deps, holder)
      leases.push(opened)
      async function take(key: string): Promise<Place | null> {
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
          await new Promise((resolve) => setTimeout(resolve, PLACE_WAIT_MS))
          return take(key)
        },
      }
    },
    tend,
    async close() {
      clearInterval(timer)
      const closing = Promise.all(leases.map((each) => each.close()))
      await raceAbort(closing, { timeoutMs: CLOSE_MS_MAX })
    },
  }
}

type Holder = ReturnType<typeof openHolder>

/** This process on record, under a new name whenever it may have been taken for dead. */
function openHolder({ db, clock, queueClock, makeId }: LeaseDeps, onLost: () => void) {
  let name = ''
  /** Of the last renewal, by the monotonic clock and that of the wall: the first stops with the machine. */
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
    /** Whether leases may be used: nobody else can have been given them yet. */
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

/** Of this process, for one key. */
type Share<Answer> = {
  readonly key: string
  readonly waiting: PromiseWithResolvers<Answer>[]
  askedMs: number
  exchangedMs: number
}

type Rules<Answer, Each> = {
  readonly name: string
  newShare(share: Share<Answer>): Each
  /** Whether the record has to be told or asked. */
  isDue(share: Each): boolean
  /** Whether there is nothing to remember of one that is not due. */
  isOver(share: Each): boolean
  ask(share: Each): BudgetAsk
  /** `isSameHolder` is false when this process was taken for dead meanwhile. */
  answer(share: Each, ask: BudgetAsk, answer: BudgetAnswer, isSameHolder: boolean): void
  /** Others were given all that is leased. The record is told when leases are next settled. */
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
    /** Throws `service_unavailable` while too many wait for the store. */
    shareOf(key: string): Each {
      const nowMs = deps.clock.monotonic()
      const known = shares.get(key)
      if (known === undefined && shares.size >= 2 * LIMITER_ENTRIES_MAX) {
        throw withStorageTold(new StorageError('busy', 'Too many leases wait for the store.'))
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
    /** Returns leases that are idle, and puts the record right where it is not. */
    settle() {
      for (const share of shares.values()) review(share)
      return exchanges.settled()
    },
    /** Returns all leases; places are released by their readers. */
    close() {
      for (const share of shares.values()) share.askedMs = Number.NEGATIVE_INFINITY
      return this.settle()
    },
  }
}

/** Exchanges with the record, many in a transaction and one transaction at a time. */
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
    // Requests of one moment go together.
    await null
    while (due.size > 0) {
      const batch = [...due].slice(0, KEYS_PER_EXCHANGE)
      for (const share of batch) due.delete(share)
      await exchange(batch).catch((error) => {
        const waiting = batch.flatMap((share) => share.waiting.splice(0))
        for (const { reject } of waiting) reject(withStorageTold(error))
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
  /** Leased tokens that were not used yet. */
  left: number
  /** When those were used that the record does not know of. */
  usedMs: number[]
  /** The record may say that some are leased here. */
  isOnRecord: boolean
  /** Left for anybody, and when the next used token leaves the window, as of the last exchange. */
  room: number
  nextMs: number
  /** Until then nothing is left for anybody. */
  emptyUntilMs: number
}

const NOTHING_LEASED = { left: 0, isOnRecord: false, room: 0, nextMs: 0, emptyUntilMs: 0 }

type Window = WindowOptions & Pick<LeaseDeps, 'clock'>

/** `others` are let through by the same exchange, after this one. */
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

/** No answer says more than the window, though a token may rest a little longer. */
function secondsOf(waitMs: number, windowMs: number): number {
  return Math.ceil(Math.min(Math.round(waitMs), windowMs) / 1000)
}

/** Null when the record has to be asked. */
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
      // Before the last token is used, so that requests seldom wait for the record.
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
      // Nothing that is returned is used from now on, also where the store does not say what it did.
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
      // Returned to the record, these tokens would look used up to those who ask meanwhile.
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

type PlacesShare = Share<boolean> & {
  used: number
  /** How many the record says are used here; null where that is not known. */
  onRecord: number | null
}

function placesRules(
  { name, limit }: PlacesOptions,
  clock: LeaseDeps['clock'],
): Rules<boolean, PlacesShare> {
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

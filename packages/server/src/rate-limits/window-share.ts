// What one process has of one key's budget in a window over processes.

import type { BudgetAsk } from './budget.ts'
import { BUDGET_COOLING_STEP_MS } from './budget.ts'
import type { Allowance } from './budgets.ts'
import { TimeRing } from './time-ring.ts'

export type WindowShare = {
  readonly key: string
  held: number
  /** When those of them that were used were. */
  readonly used: TimeRing
  /** What was left for everybody at the last exchange. */
  room: number
  /** When tokens that are not here may be used again, as far as the last exchange told. */
  nextAtMs: number
  /** Until then nothing can be free anywhere. */
  refusedUntilMs: number
  readonly waiting: PromiseWithResolvers<Allowance>[]
  /** To be given back: another process has nothing left, or nobody here asks. */
  isWanted: boolean
  /** One is to be had in advance, to know whether there is one. */
  looksAhead: boolean
  /** An exchange failed: what the record says is to be put right. */
  isUnsettled: boolean
  working: Promise<void> | null
  askedAtMs: number
  hear: (() => void) | null
}

export type GivenBack = Pick<BudgetAsk, 'unused' | 'used'>

export const NOTHING_GIVEN: GivenBack = { unused: 0, used: [] }

/** Tokens, those for who waits and one in advance. */
export function wantedBy({ waiting, looksAhead }: WindowShare): number {
  return waiting.length + Number(looksAhead)
}

/** Of `limit` tokens none yet. */
export function newShare(key: string, limit: number): WindowShare {
  return {
    key,
    held: 0,
    used: new TimeRing(limit),
    room: 0,
    nextAtMs: Number.POSITIVE_INFINITY,
    refusedUntilMs: Number.NEGATIVE_INFINITY,
    waiting: [],
    isWanted: false,
    looksAhead: false,
    isUnsettled: false,
    working: null,
    askedAtMs: 0,
    hear: null,
  }
}

/** All of it, to be given back: it holds nothing from here on. */
export function takeBack(share: WindowShare, windowMs: number, nowMs: number): GivenBack {
  share.used.dropUntil(nowMs - windowMs)
  const unused = Math.max(0, share.held - share.used.size)
  const counts = new Map<number, number>()
  for (const timeMs of share.used.takeAll()) {
    const steps = Math.ceil((timeMs + windowMs - nowMs) / BUDGET_COOLING_STEP_MS)
    counts.set(steps, (counts.get(steps) ?? 0) + 1)
  }
  share.held = 0
  const used = Array.from(counts, ([steps, count]): [number, number] => [
    steps * BUDGET_COOLING_STEP_MS,
    count,
  ])
  return { unused, used }
}

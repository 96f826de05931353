// How much an inbox may send, by its plan and its age.

import type { Plan } from '@mailroom/contract/vocabulary.ts'
import { DAY_MS } from '#platform/units.ts'

/** An inbox or account younger than this has the caps of a young one on strangers. */
export const YOUNG_MS = 30 * DAY_MS

/** What the operator set; null leaves it to the plan. */
export type SendSettings = {
  sendsPerMinute: number
  sendsPerDay: number
  coldPerDay: number
  coldAccountPerDay: number | null
}

const COLD_PER_DAY: Record<Plan, { young: number; grown: number }> = {
  free: { young: 30, grown: 100 },
  developer: { young: 150, grown: 500 },
  launch: { young: 500, grown: 2_000 },
}

/** Strangers that all inboxes of an account may write to in a UTC day. */
export function coldAccountLimit(plan: Plan, isYoung: boolean): number {
  return COLD_PER_DAY[plan][isYoung ? 'young' : 'grown']
}

/** Whether an inbox or account made then still has the caps of a young one. */
export function isYoung(createdAtMs: number, nowMs: number): boolean {
  return nowMs - createdAtMs < YOUNG_MS
}

/** Days since the epoch, UTC. */
export function utcDay(timeMs: number): number {
  return Math.floor(timeMs / DAY_MS)
}

/** The midnight that ends a day of `utcDay`. */
export function endOfUtcDay(day: number): number {
  return (day + 1) * DAY_MS
}

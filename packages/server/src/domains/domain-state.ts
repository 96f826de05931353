// The states of a custom domain: what a check makes of one, and when the next check is due. Pure.

import { DAY_MS, HOUR_MS, MINUTE_MS } from '#platform/units.ts'
import type { DomainStatus } from './domain.ts'

/** How long a domain may take until DNS has its records for the first time. */
const DOMAIN_PENDING_MS_MAX = 14 * DAY_MS
/** How long DNS may have wrong records of a domain until nothing is sent from it any more. */
const DOMAIN_DEGRADED_MS_MAX = 72 * HOUR_MS
export const DOMAIN_CHECK_EVERY_MS = 6 * HOUR_MS
/** Of a new domain in its first day: whoever makes one publishes its records then. */
const NEW_DOMAIN_CHECK_EVERY_MS = 10 * MINUTE_MS
const NEW_DOMAIN_MS = DAY_MS

/** Times in milliseconds of the wall clock. */
export type DomainState = {
  readonly status: DomainStatus
  readonly createdAtMs: number
  /** Since when it has been degraded; null in the other states. */
  readonly degradedAtMs: number | null
}

export type DnsSaid = {
  /** Whether DNS has every record that is required. */
  isRight: boolean
  /** Whether two answers of DNS agree on it, where that changes the state. */
  isSure: boolean
  nowMs: number
}

/** What the state becomes. Answers that disagree change nothing, and do not put off its end either. */
export function nextStatus(state: DomainState, { isRight, isSure, nowMs }: DnsSaid): DomainStatus {
  if (isRight && isSure) return 'verified'
  if (nowMs >= deadlineOf(state)) return 'failed'
  return state.status === 'verified' && isSure ? 'degraded' : state.status
}

/**
 * When the domain is looked at next without being asked for: no later than a wrong one fails, and never
 * at a time that is past.
 */
export function nextCheckAt(state: DomainState, nowMs: number): number {
  const isNew = state.status === 'pending' && nowMs < state.createdAtMs + NEW_DOMAIN_MS
  const regular = nowMs + (isNew ? NEW_DOMAIN_CHECK_EVERY_MS : DOMAIN_CHECK_EVERY_MS)
  const deadline = deadlineOf(state)
  return deadline > nowMs ? Math.min(regular, deadline) : regular
}

/** When it fails unless DNS has its records by then. */
function deadlineOf({ status, createdAtMs, degradedAtMs }: DomainState): number {
  if (status === 'pending') return createdAtMs + DOMAIN_PENDING_MS_MAX
  if (status === 'degraded' && degradedAtMs !== null) return degradedAtMs + DOMAIN_DEGRADED_MS_MAX
  return Number.POSITIVE_INFINITY
}

import type { DomainStatus } from '@mailroom/contract/vocabulary.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '#platform/units.ts'
import type { Domain, RecordCheck } from '#store/nouns.ts'

export type { Domain, DomainStatus, RecordCheck }

/** Mail for a failed domain is sent out, because the account may have lost the domain. */
export function isLocal(domain: Pick<Domain, 'status' | 'isHolder' | 'checks'>): boolean {
  if (isUsable(domain)) return true
  return (
    domain.isHolder && domain.checks.some((one) => one.purpose === 'mx' && one.status === 'valid')
  )
}

export function isUsable({ status, isHolder }: Pick<Domain, 'status' | 'isHolder'>): boolean {
  return isHolder && (status === 'verified' || status === 'degraded')
}

const DOMAIN_PENDING_MS_MAX = 14 * DAY_MS
/** A degraded domain fails after this time, and can then no longer send mail. */
const DOMAIN_DEGRADED_MS_MAX = 72 * HOUR_MS
export const DOMAIN_CHECK_EVERY_MS = 6 * HOUR_MS
/** A new domain is checked more often on its first day, while its owner publishes the records. */
const NEW_DOMAIN_CHECK_EVERY_MS = 10 * MINUTE_MS
const NEW_DOMAIN_MS = DAY_MS

type DomainState = {
  readonly status: DomainStatus
  readonly createdAtMs: number
  readonly degradedAtMs: number | null
}

type DnsAnswers = {
  isRight: boolean
  isSure: boolean
  nowMs: number
}

/** Contradictory answers change nothing and do not extend a deadline. */
export function nextStatus(
  state: DomainState,
  { isRight, isSure, nowMs }: DnsAnswers,
): DomainStatus {
  if (isRight && isSure) return 'verified'
  if (nowMs >= deadlineOf(state)) return 'failed'
  return state.status === 'verified' && isSure ? 'degraded' : state.status
}

/** The time is never after the deadline of a domain with wrong records, and never in the past. */
export function nextCheckAt(state: DomainState, nowMs: number): number {
  const isNew = state.status === 'pending' && nowMs < state.createdAtMs + NEW_DOMAIN_MS
  const regular = nowMs + (isNew ? NEW_DOMAIN_CHECK_EVERY_MS : DOMAIN_CHECK_EVERY_MS)
  const deadline = deadlineOf(state)
  return deadline > nowMs ? Math.min(regular, deadline) : regular
}

function deadlineOf({ status, createdAtMs, degradedAtMs }: DomainState): number {
  if (status === 'pending') return createdAtMs + DOMAIN_PENDING_MS_MAX
  if (status === 'degraded' && degradedAtMs !== null) return degradedAtMs + DOMAIN_DEGRADED_MS_MAX
  return Number.POSITIVE_INFINITY
}

// Leases of threads: who has claimed a thread may change it and send in it, and nobody else may.

import { hash } from 'node:crypto'
import { LEASE_SECONDS_MAX } from '@mailroom/contract/claims.ts'
import { CLOCK_SKEW_MS } from '#platform/clock.ts'
import { SECOND_MS } from '#platform/units.ts'
import type { Row } from '#store/tables.ts'

/** What a request shows of a lease. */
export type Lease = {
  /** SHA-256 of the token; null without one. */
  readonly tokenHash: Uint8Array | null
  /** The time of the queue. */
  readonly queueMs: number
}

type ClaimColumns = Pick<Row<'threads'>, 'claim_token_hash' | 'claim_until'>

/** The time of the queue at which a live claim has this much left, at most. A later one was written by a wrong clock. */
export const LEASE_LEFT_MS_MAX = LEASE_SECONDS_MAX * SECOND_MS + CLOCK_SKEW_MS

/** Whether a lease with this end is live. */
export function isLive(untilMs: number | null, queueMs: number): boolean {
  return untilMs !== null && untilMs > queueMs && untilMs <= queueMs + LEASE_LEFT_MS_MAX
}

/** Without a token while nobody has the thread, and with the token of who has it. */
export function mayChange(row: ClaimColumns, { tokenHash, queueMs }: Lease): boolean {
  if (!isLive(row.claim_until, queueMs)) return tokenHash === null
  const { claim_token_hash: own } = row
  return tokenHash !== null && own !== null && Buffer.compare(tokenHash, own) === 0
}

/** The hash of the header Lease-Token; null without it. */
export function hashOfLeaseToken(token: string | string[] | undefined): Uint8Array | null {
  return token === undefined ? null : new Uint8Array(hash('sha256', String(token), 'buffer'))
}

// While a thread is claimed, only the claiming worker may change it or send in it.

import { hash } from 'node:crypto'
import { LEASE_SECONDS_MAX } from '@mailroom/contract/claims.ts'
import { CLOCK_SKEW_MS } from '#platform/clock.ts'
import { SECOND_MS } from '#platform/units.ts'
import type { Row } from '#store/tables.ts'

/** What a request shows of its claim. */
export type ClaimToken = {
  /** Null without a Lease-Token. */
  readonly tokenHash: Uint8Array | null
  /** In queue time. */
  readonly queueMs: number
}

type ClaimColumns = Pick<Row<'threads'>, 'claim_token_hash' | 'claim_until'>

/** The most that a live claim has left; a later end was written by a wrong clock. */
export const CLAIM_LEFT_MS_MAX = LEASE_SECONDS_MAX * SECOND_MS + CLOCK_SKEW_MS

export function isLive(untilMs: number | null, queueMs: number): boolean {
  return untilMs !== null && untilMs > queueMs && untilMs <= queueMs + CLAIM_LEFT_MS_MAX
}

/** An unclaimed thread is changed without a token, a claimed one with the token of the claim. */
export function mayChange(row: ClaimColumns, { tokenHash, queueMs }: ClaimToken): boolean {
  if (!isLive(row.claim_until, queueMs)) return tokenHash === null
  const { claim_token_hash: own } = row
  return tokenHash !== null && own !== null && Buffer.compare(tokenHash, own) === 0
}

export function hashOfLeaseToken(token: string | string[] | undefined): Uint8Array | null {
  return token === undefined ? null : new Uint8Array(hash('sha256', String(token), 'buffer'))
}

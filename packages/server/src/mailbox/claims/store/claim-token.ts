// While a thread is claimed, only the claiming worker may change it or send in it.

import { hash } from 'node:crypto'
import { LEASE_SECONDS_MAX } from '@mailroom/contract/claims.ts'
import { CLOCK_SKEW_MS } from '#platform/clock.ts'
import { SECOND_MS } from '#platform/units.ts'
import type { Row } from '#store/tables.ts'

/** The claim that a request presents. */
export type ClaimToken = {
  /** The hash is null if the request has no Lease-Token. */
  readonly tokenHash: Uint8Array | null
  /** The time is measured by the queue's clock. */
  readonly queueMs: number
}

type ClaimColumns = Pick<Row<'threads'>, 'claim_token_hash' | 'claim_until'>

/** A live claim cannot expire later than this; a later expiry was written by a wrong clock. */
export const CLAIM_LEFT_MS_MAX = LEASE_SECONDS_MAX * SECOND_MS + CLOCK_SKEW_MS

export function isLive(untilMs: number | null, queueMs: number): boolean {
  return untilMs !== null && untilMs > queueMs && untilMs <= queueMs + CLAIM_LEFT_MS_MAX
}

/** Changing a claimed thread requires the token of its claim; an unclaimed thread needs none. */
export function mayChange(row: ClaimColumns, { tokenHash, queueMs }: ClaimToken): boolean {
  if (!isLive(row.claim_until, queueMs)) return tokenHash === null
  const { claim_token_hash: own } = row
  return tokenHash !== null && own !== null && Buffer.compare(tokenHash, own) === 0
}

export function hashOfLeaseToken(token: string | string[] | undefined): Uint8Array | null {
  return token === undefined ? null : new Uint8Array(hash('sha256', String(token), 'buffer'))
}

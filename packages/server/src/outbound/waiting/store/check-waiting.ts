import { sql } from 'kysely'
import { statement } from '#platform/db/statement.ts'
import { HOUR_MS } from '#platform/units.ts'
import { findPendingExpiry } from '#reviews/store/pending-reviews.ts'
import type { Tables, Tx } from '#store/tables.ts'

const WAITING_PER_INBOX_MAX = 10_000
const WAITING_RETRY_MS = HOUR_MS

export type WaitingRefusal =
  | { kind: 'too_many_waiting'; limit: number; retryAtMs: number }
  | { kind: 'too_many_held'; limit: number; retryAtMs: number }

/** A caller that accepts the message must have locked the counters of the inbox. */
export async function checkWaiting(
  tx: Tx,
  {
    inboxId,
    nowMs,
    isHeld,
    heldMax,
  }: { inboxId: string; nowMs: number; isHeld: boolean; heldMax: number },
): Promise<WaitingRefusal | null> {
  if (isHeld) {
    const refusal = await refuseHeld(tx, { inboxId, heldMax, nowMs })
    if (refusal !== null) return refusal
  }
  const limit = WAITING_PER_INBOX_MAX
  const [last] = await selectWaiting(tx, { inboxId, offset: limit - 1 })
  if (last === undefined) return null
  const [next] = await selectNextRelease(tx, { inboxId })
  return {
    kind: 'too_many_waiting',
    limit,
    retryAtMs: next?.release_at ?? nowMs + WAITING_RETRY_MS,
  }
}

export async function refuseHeld(
  tx: Tx,
  { inboxId, heldMax, nowMs }: { inboxId: string; heldMax: number; nowMs: number },
): Promise<Extract<WaitingRefusal, { kind: 'too_many_held' }> | null> {
  const isFull =
    heldMax === 0 || (await findPendingExpiry(tx, { inboxId, offset: heldMax - 1 })) !== null
  if (!isFull) return null
  const nextExpiryMs = await findPendingExpiry(tx, { inboxId, offset: 0 })
  return {
    kind: 'too_many_held',
    limit: heldMax,
    retryAtMs: nextExpiryMs ?? nowMs + WAITING_RETRY_MS,
  }
}

const selectWaiting = statement<
  Tables,
  { inboxId: string; offset: number },
  { message_id: string }
>((query, given) =>
  query
    .selectFrom('waiting_sends')
    .select('message_id')
    .where('inbox_id', '=', given('inboxId'))
    .orderBy('release_at')
    .orderBy('message_id')
    .limit(sql.lit(1))
    .offset(given('offset')),
)

const selectNextRelease = statement<Tables, { inboxId: string }, { release_at: number | null }>(
  (query, given) =>
    query
      .selectFrom('waiting_sends')
      .select('release_at')
      .where('inbox_id', '=', given('inboxId'))
      .where('release_at', 'is not', null)
      .orderBy('release_at')
      .limit(sql.lit(1)),
)

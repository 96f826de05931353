// The answer to an earlier send under the same key.

import * as store from '#accounts/idempotency-key-rows.ts'
import type { Clock } from '#platform/clock.ts'
import { problem } from '#platform/problem.ts'
import type { Db } from '#schema/tables.ts'

/** Null when the key is free; `idempotency_key_reused` when it stands for another request. */
export async function findReplay(
  deps: { db: Db; clock: Clock },
  input: { accountId: string; key: string; requestHash: Uint8Array },
): Promise<store.SendAnswer | null> {
  const replay = await store.findReplay(deps.db, { ...input, nowMs: deps.clock.now() })
  if (replay?.kind === 'key_reused') throw problem('idempotency_key_reused')
  return replay?.answer ?? null
}

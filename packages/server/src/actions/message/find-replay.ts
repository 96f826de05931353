// The answer to an earlier send under the same key.

import type { Deps } from '#actions/deps.ts'
import { problem } from '#model/problem.ts'
import * as store from '#store/idempotency-key.ts'

/** Null when the key is free; `idempotency_key_reused` when it stands for another request. */
export async function findReplay(
  deps: Pick<Deps, 'db' | 'clock'>,
  input: { accountId: string; key: string; requestHash: Uint8Array },
): Promise<store.SendAnswer | null> {
  const replay = await store.findReplay(deps.db, { ...input, nowMs: deps.clock.now() })
  if (replay?.kind === 'key_reused') throw problem('idempotency_key_reused')
  return replay?.answer ?? null
}

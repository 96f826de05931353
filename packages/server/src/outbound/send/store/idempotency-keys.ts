import { createHash } from 'node:crypto'
import type { HoldReason } from '@mailroom/contract/sending.ts'
import { statement } from '#platform/db/statement.ts'
import { DAY_MS } from '#platform/units.ts'
import type { NewRow, Tables, Tx } from '#store/tables.ts'

export const IDEMPOTENCY_MS = DAY_MS

export type SendAnswer = {
  messageId: string
  threadId: string
  providerMessageId: string
  status: 'pending' | 'sent' | 'failed'
  inboxId: string
  createdAtMs: number
  hold?: { id: string; reasons: HoldReason[]; digest: string; expiresAtMs: number }
  scheduledAtMs?: number
}

export type KeyUse = { accountId: string; key: string; requestHash: Uint8Array; nowMs: number }

export type Replay = { kind: 'replay'; answer: SendAnswer } | { kind: 'key_reused' }

export async function findReplay(tx: Tx, use: KeyUse): Promise<Replay | null> {
  const since = use.nowMs - IDEMPOTENCY_MS
  const [row] = await selectAnswer(tx, { accountId: use.accountId, hash: hashOf(use), since })
  if (row === undefined) return null
  if (Buffer.compare(row.request_hash, use.requestHash) !== 0) return { kind: 'key_reused' }
  return { kind: 'replay', answer: JSON.parse(row.answer) as SendAnswer }
}

/** Replaces an expired answer. Returns false if another transaction has used the key. */
export async function keepAnswer(tx: Tx, use: KeyUse, answer: SendAnswer): Promise<boolean> {
  const kept = await upsertAnswer(tx, {
    account_id: use.accountId,
    idempotency_key: hashOf(use),
    request_hash: use.requestHash,
    answer: JSON.stringify(answer),
    created_at: use.nowMs,
    expired: use.nowMs - IDEMPOTENCY_MS,
  })
  return kept.length > 0
}

/** Keys are hashed, because clients put addresses into them. */
function hashOf({ accountId, key }: KeyUse): string {
  return createHash('sha256').update(`${accountId}\0${key}`).digest('base64url')
}

const selectAnswer = statement<
  Tables,
  { accountId: string; hash: string; since: number },
  { request_hash: Uint8Array; answer: string }
>((query, given) =>
  query
    .selectFrom('idempotency_keys')
    .select(['request_hash', 'answer'])
    .where('account_id', '=', given('accountId'))
    .where('idempotency_key', '=', given('hash'))
    .where('created_at', '>', given('since')),
)

const upsertAnswer = statement<
  Tables,
  NewRow<'idempotency_keys'> & { expired: number },
  { account_id: string }
>((query, given) =>
  query
    .insertInto('idempotency_keys')
    .values({
      account_id: given('account_id'),
      idempotency_key: given('idempotency_key'),
      request_hash: given('request_hash'),
      answer: given('answer'),
      created_at: given('created_at'),
    })
    .onConflict((conflict) =>
      conflict
        .columns(['account_id', 'idempotency_key'])
        .doUpdateSet((row) => ({
          request_hash: row.ref('excluded.request_hash'),
          answer: row.ref('excluded.answer'),
          created_at: row.ref('excluded.created_at'),
        }))
        .where('idempotency_keys.created_at', '<=', given('expired')),
    )
    .returning('account_id'),
)

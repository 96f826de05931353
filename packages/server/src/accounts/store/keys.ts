import { transaction } from '#platform/db/db.ts'
import { statement } from '#platform/db/statement.ts'
import { type Account, apiKeys, type Key } from '#store/nouns.ts'
import type { ReadDb, Row, Tables, Tx } from '#store/tables.ts'
import { findAccount, lockAccount } from './accounts.ts'

export const ACTIVE_KEYS_MAX = 20

export type NewKey = Omit<Key, 'createdAtMs' | 'lastUsedAtMs'> & { tokenHash: Uint8Array }

export const insertKey = transaction({
  name: 'createKey',
  accountOf: ({ accountId }) => accountId,
  async run(
    tx: Tx,
    input: { accountId: string; key: NewKey; nowMs: number },
  ): Promise<'created' | 'limit_reached' | 'no_account'> {
    if (!(await lockAccount(tx, input.accountId))) return 'no_account'
    if ((await activeKeys(tx, input.accountId)).length >= ACTIVE_KEYS_MAX) return 'limit_reached'
    await insertKeyRow(tx, input.accountId, input.key, input.nowMs)
    return 'created'
  },
})

/** Never revokes the last active key. A second call returns `not_found`. */
export const markKeyRevoked = transaction({
  name: 'revokeKey',
  accountOf: ({ accountId }) => accountId,
  essential: true,
  async run(
    tx: Tx,
    input: { accountId: string; keyId: string; nowMs: number },
  ): Promise<'revoked' | 'not_found' | 'last_key'> {
    if (!(await lockAccount(tx, input.accountId))) return 'not_found'
    const active = await activeKeys(tx, input.accountId)
    if (!active.some((key) => key.id === input.keyId)) return 'not_found'
    if (active.length === 1) return 'last_key'
    await tx.query
      .updateTable('api_keys')
      .set({ revoked_at: input.nowMs })
      .where('account_id', '=', input.accountId)
      .where('id', '=', input.keyId)
      .execute()
    return 'revoked'
  },
})

export const touchKeys = transaction({
  name: 'touchKeys',
  accountOf: ({ accountId }) => accountId,
  async run(tx: Tx, input: { accountId: string; keyIds: string[]; nowMs: number }): Promise<void> {
    await tx.query
      .updateTable('api_keys')
      .set({ last_used_at: input.nowMs })
      .where('account_id', '=', input.accountId)
      .where('id', 'in', input.keyIds)
      .execute()
  },
})

export async function listKeys(
  db: ReadDb,
  input: { accountId: string; limit: number; offset: number },
): Promise<{ keys: Key[]; total: number }> {
  const rows = await db.read
    .selectFrom('api_keys')
    .selectAll()
    .where('account_id', '=', input.accountId)
    .where('revoked_at', 'is', null)
    .orderBy('id', 'desc')
    .execute()
  const page = rows.slice(input.offset, input.offset + input.limit)
  return { keys: page.map(apiKeys.read), total: rows.length }
}

export function findKey(db: ReadDb, tokenHash: Uint8Array) {
  return db.read
    .selectFrom('api_keys')
    .select([
      'id as keyId',
      'account_id as accountId',
      'token_hash as tokenHash',
      'last_used_at as lastUsedAtMs',
    ])
    .where('token_hash', '=', tokenHash)
    .where('revoked_at', 'is', null)
    .executeTakeFirst()
}

export async function findKeyWithAccount(
  db: ReadDb,
  { accountId, keyId }: { accountId: string; keyId: string },
): Promise<{ key: Key; account: Account } | null> {
  const account = await findAccount(db, accountId)
  const [key] = await selectActiveKey(db.reading, { accountId, keyId })
  if (account === null || key === undefined) return null
  return { key: apiKeys.read(key), account }
}

const selectActiveKey = statement<Tables, { accountId: string; keyId: string }, Row<'api_keys'>>(
  (query, given) =>
    query
      .selectFrom('api_keys')
      .selectAll()
      .where('id', '=', given('keyId'))
      .where('account_id', '=', given('accountId'))
      .where('revoked_at', 'is', null),
)

/** Returns which of the keys are active, in any account. */
export async function findActiveKeys(db: ReadDb, keyIds: readonly string[]): Promise<string[]> {
  const rows = await db.read
    .selectFrom('api_keys')
    .innerJoin('accounts', 'accounts.id', 'api_keys.account_id')
    .select('api_keys.id')
    .where('api_keys.id', 'in', [...keyIds])
    .where('api_keys.revoked_at', 'is', null)
    .execute()
  return rows.map(({ id }) => id)
}

/** Searches all accounts, because operators do not name one. */
export async function findKeyAccount(db: ReadDb, keyId: string): Promise<string | null> {
  const row = await db.read
    .selectFrom('api_keys')
    .select('account_id')
    .where('id', '=', keyId)
    .where('revoked_at', 'is', null)
    .executeTakeFirst()
  return row?.account_id ?? null
}

function activeKeys(tx: Tx, accountId: string): Promise<{ id: string }[]> {
  return tx.query
    .selectFrom('api_keys')
    .select('id')
    .where('account_id', '=', accountId)
    .where('revoked_at', 'is', null)
    .execute()
}

export async function insertKeyRow(
  tx: Tx,
  accountId: string,
  key: NewKey,
  nowMs: number,
): Promise<void> {
  await tx.query
    .insertInto('api_keys')
    .values({
      ...apiKeys.write({ ...key, createdAtMs: nowMs }),
      account_id: accountId,
      token_hash: key.tokenHash,
    })
    .execute()
}

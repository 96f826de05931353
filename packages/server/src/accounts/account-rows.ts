// Accounts and their keys, to and from rows.

import { transaction } from '#platform/db/db.ts'
import { lockRows, lockTable } from '#platform/db/dialect.ts'
import { statement } from '#platform/db/statement.ts'
import type { ReadDb, Row, Tables, Tx } from '#schema/tables.ts'
import type { Account, FilterMode, Plan } from './account.ts'
import type { Key } from './key.ts'

export const ACTIVE_KEYS_MAX = 20

export type NewKey = {
  id: string
  name: string | null
  tokenHash: Uint8Array
  tokenPrefix: string
  last4: string
}

export type NewAccount = {
  id: string
  name: string
  plan: Plan
  podId: string
  key: NewKey
  nowMs: number
  /** Make it only when there is no account yet. */
  isFirst: boolean
}

/** An account with its default pod and first key. False when `isFirst` and it is not. */
export const insertAccount = transaction({
  name: 'createAccount',
  accountOf: () => null,
  async run(tx: Tx, input: NewAccount): Promise<boolean> {
    if (input.isFirst) {
      // Processes that start together look one after the other.
      await lockTable(tx, 'accounts')
      const any = await tx.query.selectFrom('accounts').select('id').limit(1).executeTakeFirst()
      if (any !== undefined) return false
    }
    await tx.query
      .insertInto('accounts')
      .values({
        id: input.id,
        name: input.name,
        plan: input.plan,
        pod_count: 1,
        created_at: input.nowMs,
      })
      .execute()
    await tx.query
      .insertInto('pods')
      .values({
        id: input.podId,
        account_id: input.id,
        client_id: null,
        name: null,
        is_default: 1,
        created_at: input.nowMs,
      })
      .execute()
    await insertKeyRow(tx, input.id, input.key, input.nowMs)
    return true
  },
})

/** Changes what is given; null when there is no such account. */
export const changeAccount = transaction({
  name: 'updateAccount',
  accountOf: ({ id }) => id,
  async run(
    tx: Tx,
    input: { id: string; name?: string; plan?: Plan; filterMode?: FilterMode },
  ): Promise<Account | null> {
    const change = {
      ...(input.name !== undefined && { name: input.name }),
      ...(input.plan !== undefined && { plan: input.plan }),
      ...(input.filterMode !== undefined && { filter_mode: input.filterMode }),
    }
    if (Object.keys(change).length > 0) {
      await tx.query.updateTable('accounts').set(change).where('id', '=', input.id).execute()
    }
    const row = await tx.query
      .selectFrom('accounts')
      .selectAll()
      .where('id', '=', input.id)
      .executeTakeFirst()
    return row === undefined ? null : toAccount(row)
  },
})

/** The account with this id, or null. */
export async function findAccount(db: ReadDb, accountId: string): Promise<Account | null> {
  const [row] = await selectAccount(db.reading, { id: accountId })
  return row === undefined ? null : toAccount(row)
}

const selectAccount = statement<Tables, { id: string }, Row<'accounts'>>((query, place) =>
  query.selectFrom('accounts').selectAll().where('id', '=', place('id')),
)

/** Newest first. For operators, so that the total may be counted. */
export async function listAccounts(
  db: ReadDb,
  input: { limit: number; offset: number },
): Promise<{ accounts: Account[]; total: number }> {
  const rows = await db.read
    .selectFrom('accounts')
    .selectAll()
    .orderBy('id', 'desc')
    .limit(input.limit)
    .offset(input.offset)
    .execute()
  const { total } = await db.read
    .selectFrom('accounts')
    .select((row) => row.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow()
  return { accounts: rows.map(toAccount), total }
}

/** Adds a key; `limit_reached` when the account has as many active ones as it may. */
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

/** Revokes a key for good; the last active one stays. A second call finds none. */
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

/** Notes when keys of an account were last used. */
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

/** Active keys, newest first. */
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
  return { keys: page.map(toKey), total: rows.length }
}

export type ActiveKey = {
  keyId: string
  accountId: string
  tokenHash: Uint8Array
  lastUsedAtMs: number | null
}

/** The active key with this digest and its account's id, or null. */
export async function findKey(db: ReadDb, tokenHash: Uint8Array): Promise<ActiveKey | null> {
  const row = await db.read
    .selectFrom('api_keys')
    .select(['id', 'account_id', 'token_hash', 'last_used_at'])
    .where('token_hash', '=', tokenHash)
    .where('revoked_at', 'is', null)
    .executeTakeFirst()
  if (row === undefined) return null
  return {
    keyId: row.id,
    accountId: row.account_id,
    tokenHash: row.token_hash,
    lastUsedAtMs: row.last_used_at,
  }
}

/** The account's key while it is active, with the account; null otherwise. */
export async function findKeyWithAccount(
  db: ReadDb,
  { accountId, keyId }: { accountId: string; keyId: string },
): Promise<{ key: Key; account: Account } | null> {
  const [account] = await selectAccount(db.reading, { id: accountId })
  const [key] = await selectActiveKey(db.reading, { accountId, keyId })
  if (account === undefined || key === undefined) return null
  return { key: toKey(key), account: toAccount(account) }
}

const selectActiveKey = statement<Tables, { accountId: string; keyId: string }, Row<'api_keys'>>(
  (query, place) =>
    query
      .selectFrom('api_keys')
      .selectAll()
      .where('id', '=', place('keyId'))
      .where('account_id', '=', place('accountId'))
      .where('revoked_at', 'is', null),
)

/** Those of the keys that are active, of accounts that there still are. */
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

/** Finds an active key by its id, for operators who name no account. */
export async function findKeyAccount(db: ReadDb, keyId: string): Promise<string | null> {
  const row = await db.read
    .selectFrom('api_keys')
    .select('account_id')
    .where('id', '=', keyId)
    .where('revoked_at', 'is', null)
    .executeTakeFirst()
  return row?.account_id ?? null
}

/** Locks the account for guards that count over all of it; null when it does not exist. */
export async function lockAccount(tx: Tx, accountId: string): Promise<Row<'accounts'> | null> {
  const query = tx.query.selectFrom('accounts').selectAll().where('id', '=', accountId)
  return (await lockRows(tx, query).executeTakeFirst()) ?? null
}

function activeKeys(tx: Tx, accountId: string): Promise<{ id: string }[]> {
  return tx.query
    .selectFrom('api_keys')
    .select('id')
    .where('account_id', '=', accountId)
    .where('revoked_at', 'is', null)
    .execute()
}

async function insertKeyRow(tx: Tx, accountId: string, key: NewKey, nowMs: number): Promise<void> {
  await tx.query
    .insertInto('api_keys')
    .values({
      id: key.id,
      account_id: accountId,
      name: key.name,
      token_hash: key.tokenHash,
      token_prefix: key.tokenPrefix,
      last4: key.last4,
      created_at: nowMs,
      last_used_at: null,
      revoked_at: null,
    })
    .execute()
}

function toAccount(row: Row<'accounts'>): Account {
  return {
    id: row.id,
    name: row.name,
    plan: row.plan as Plan,
    filterMode: row.filter_mode as FilterMode,
    createdAtMs: row.created_at,
  }
}

function toKey(row: Row<'api_keys'>): Key {
  return {
    id: row.id,
    name: row.name,
    tokenPrefix: row.token_prefix,
    last4: row.last4,
    createdAtMs: row.created_at,
    lastUsedAtMs: row.last_used_at,
  }
}

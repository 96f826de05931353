import type { Plan } from '@mailroom/contract/vocabulary.ts'
import { sql } from 'kysely'
import { transaction } from '#platform/db/db.ts'
import { lockRows, lockTable } from '#platform/db/dialect.ts'
import { statement } from '#platform/db/statement.ts'
import type { EditsOf } from '#store/columns.ts'
import { type Account, accounts, apiKeys, type Key } from '#store/nouns.ts'
import type { ReadDb, Row, Tables, Tx } from '#store/tables.ts'
import type { Actor } from './actor.ts'

export type { Account, Key }

const INBOXES_MAX: Record<Plan, number> = { free: 3, developer: 10, launch: 200 }

export function inboxesAllowed(plan: Plan): number {
  return INBOXES_MAX[plan]
}

export const ACTIVE_KEYS_MAX = 20

export type NewKey = Omit<Key, 'createdAtMs' | 'lastUsedAtMs'> & { tokenHash: Uint8Array }

type NewAccount = Pick<Account, 'id' | 'name' | 'plan'> & {
  podId: string
  key: NewKey
  nowMs: number
  isFirst: boolean
}

/** Includes its default pod and first key. With `isFirst`, false if an account exists. */
export const insertAccount = transaction({
  name: 'createAccount',
  accountOf: () => null,
  async run(tx: Tx, input: NewAccount): Promise<boolean> {
    const { id, name, plan, nowMs } = input
    if (input.isFirst) {
      // Processes that start together check one after the other.
      await lockTable(tx, 'accounts')
      const any = await tx.query.selectFrom('accounts').select('id').limit(1).executeTakeFirst()
      if (any !== undefined) return false
    }
    await tx.query
      .insertInto('accounts')
      .values({ id, name, plan, pod_count: 1, created_at: nowMs })
      .execute()
    await tx.query
      .insertInto('pods')
      .values({ id: input.podId, account_id: id, is_default: 1, created_at: nowMs })
      .execute()
    await insertKeyRow(tx, id, input.key, nowMs)
    return true
  },
})

export const setAccountRetention = transaction({
  name: 'setAccountRetention',
  accountOf: ({ accountId }) => accountId,
  async run(
    tx: Tx,
    { accountId, retentionDays }: { accountId: string; retentionDays: number | null },
  ): Promise<void> {
    await tx.query
      .updateTable('accounts')
      .set({ retention_days: retentionDays })
      .where('id', '=', accountId)
      .execute()
  },
})

export const changeAccount = transaction({
  name: 'updateAccount',
  accountOf: ({ id }) => id,
  async run(tx: Tx, input: { id: string } & EditsOf<typeof accounts>): Promise<Account | null> {
    const change = accounts.edit(input)
    if (Object.keys(change).length > 0) {
      await tx.query.updateTable('accounts').set(change).where('id', '=', input.id).execute()
    }
    const row = await tx.query
      .selectFrom('accounts')
      .selectAll()
      .where('id', '=', input.id)
      .executeTakeFirst()
    return row === undefined ? null : accounts.read(row)
  },
})

export async function findAccount(db: ReadDb, accountId: string): Promise<Account | null> {
  const [row] = await selectAccount(db.reading, { id: accountId })
  return row === undefined ? null : accounts.read(row)
}

const selectAccount = statement<Tables, { id: string }, Row<'accounts'>>((query, place) =>
  query.selectFrom('accounts').selectAll().where('id', '=', place('id')),
)

/** Newest first. Counts the total, which only operators may ask for. */
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
  return { accounts: rows.map(accounts.read), total }
}

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

/** The last active key stays. A second call returns `not_found`. */
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

/** Newest first. */
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

/** Active keys only. */
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

/** Active keys only. */
export async function findKeyWithAccount(
  db: ReadDb,
  { accountId, keyId }: { accountId: string; keyId: string },
): Promise<{ key: Key; account: Account } | null> {
  const [account] = await selectAccount(db.reading, { id: accountId })
  const [key] = await selectActiveKey(db.reading, { accountId, keyId })
  if (account === undefined || key === undefined) return null
  return { key: apiKeys.read(key), account: accounts.read(account) }
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

/** Searches the keys of all accounts. */
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

/** For operators, who name no account. */
export async function findKeyAccount(db: ReadDb, keyId: string): Promise<string | null> {
  const row = await db.read
    .selectFrom('api_keys')
    .select('account_id')
    .where('id', '=', keyId)
    .where('revoked_at', 'is', null)
    .executeTakeFirst()
  return row?.account_id ?? null
}

/** Locks the account for guards that count; null if it does not exist. */
export async function lockAccount(tx: Tx, accountId: string): Promise<Row<'accounts'> | null> {
  const query = tx.query.selectFrom('accounts').selectAll().where('id', '=', accountId)
  return (await lockRows(tx, query).executeTakeFirst()) ?? null
}

/**
 * Whether a change of an agent's restrictions needs an approver: the account has one, and the actor
 * is a key or a deleted approver. The caller has locked the account, so that none is added.
 */
export async function needsApprover(tx: Tx, accountId: string, actor: Actor): Promise<boolean> {
  return !isAllowed(actor, await activeApprovers(tx, accountId))
}

export function isAllowed(actor: Actor, active: readonly string[]): boolean {
  switch (actor.kind) {
    case 'operator':
      return true
    case 'key':
      return active.length === 0
    case 'approver':
      return active.includes(actor.approverId)
  }
}

/** Whose share of the writes a change uses. Approvers have their own, as for requests. */
export function payerOfChange({ accountId, actor }: { accountId: string; actor: Actor }): string {
  return actor.kind === 'approver' ? actor.approverId : accountId
}

export async function activeApprovers(tx: Tx, accountId: string): Promise<string[]> {
  const rows = await tx.query
    .selectFrom('approvers')
    .select('id')
    .where('account_id', '=', accountId)
    .where('deleted_at', 'is', null)
    .execute()
  return rows.map(({ id }) => id)
}

export async function changeAccountTotal(
  tx: Tx,
  accountId: string,
  { column, by }: { column: 'inbox_count' | 'pod_count' | 'domain_count'; by: 1 | -1 },
): Promise<void> {
  await tx.query
    .updateTable('accounts')
    .set((row) => ({ [column]: row(column, '+', by) }))
    .where('id', '=', accountId)
    .execute()
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
      ...apiKeys.write({ ...key, createdAtMs: nowMs }),
      account_id: accountId,
      token_hash: key.tokenHash,
    })
    .execute()
}

type Counts = Omit<Row<'account_counters'>, 'account_id'>

export async function changeAccountCounters(
  tx: Tx,
  accountId: string,
  by: { suppressions?: number; captured?: number },
): Promise<void> {
  await upsertCounters(tx, {
    account_id: accountId,
    suppression_count: by.suppressions ?? 0,
    captured_count: by.captured ?? 0,
  })
}

export async function readAccountCounters(db: ReadDb, accountId: string): Promise<Counts> {
  const row = await db.read
    .selectFrom('account_counters')
    .select(['suppression_count', 'captured_count'])
    .where('account_id', '=', accountId)
    .executeTakeFirst()
  return row ?? { suppression_count: 0, captured_count: 0 }
}

const upsertCounters = statement<Tables, Row<'account_counters'>, never>((query, place) =>
  query
    .insertInto('account_counters')
    .values({
      account_id: place('account_id'),
      suppression_count: place('suppression_count'),
      captured_count: place('captured_count'),
    })
    .onConflict((conflict) =>
      conflict.column('account_id').doUpdateSet({
        suppression_count: sql`account_counters.suppression_count + excluded.suppression_count`,
        captured_count: sql`account_counters.captured_count + excluded.captured_count`,
      }),
    ),
)

/** The caller has locked the account. */
export async function deleteRulesOf(
  tx: Tx,
  accountId: string,
  scope: { inboxId: string } | { podId: string },
): Promise<void> {
  const removedFrom = async (table: 'sender_rules' | 'recipient_rules') => {
    // Both tables have the columns of recipient_rules.
    const ofAccount = tx.query
      .deleteFrom(table as 'recipient_rules')
      .where('account_id', '=', accountId)
    const query =
      'inboxId' in scope
        ? ofAccount.where('inbox_id', '=', scope.inboxId)
        : ofAccount.where('pod_id', '=', scope.podId)
    return (await query.returning('id').execute()).length
  }
  const inbound = -(await removedFrom('sender_rules'))
  const outbound = -(await removedFrom('recipient_rules'))
  await countRules(tx, accountId, { inbound, outbound })
}

export async function hasPolicy(
  tx: Tx,
  table: 'inboxes' | 'pods',
  { id, account_id }: { id: string; account_id: string },
): Promise<boolean> {
  const own = await tx.query
    .selectFrom(table as 'pods')
    .select(['filter_mode', 'outbound_policy'])
    .where('id', '=', id)
    .where('account_id', '=', account_id)
    .executeTakeFirst()
  if (own?.filter_mode != null || own?.outbound_policy != null) return true
  for (const rules of ['sender_rules', 'recipient_rules'] as const) {
    // Both tables have the columns of recipient_rules.
    const ofAccount = tx.query
      .selectFrom(rules as 'recipient_rules')
      .select('id')
      .where('account_id', '=', account_id)
    const ofOwn =
      table === 'inboxes'
        ? ofAccount.where('inbox_id', '=', id)
        : ofAccount.where('pod_id', '=', id).where('inbox_id', 'is', null)
    if ((await ofOwn.limit(1).executeTakeFirst()) !== undefined) return true
  }
  return false
}

/** Receiving and sending read rules only if the account's total is not 0. */
export async function countRules(
  tx: Tx,
  accountId: string,
  { inbound = 0, outbound = 0 }: { inbound?: number; outbound?: number },
): Promise<void> {
  if (inbound !== 0 || outbound !== 0) await addToRuleCounts(tx, { accountId, inbound, outbound })
}

const addToRuleCounts = statement<
  Tables,
  { accountId: string; inbound: number; outbound: number },
  never
>((query, place) =>
  query
    .updateTable('accounts')
    .set((row) => ({
      sender_rule_count: row('sender_rule_count', '+', place('inbound')),
      recipient_rule_count: row('recipient_rule_count', '+', place('outbound')),
    }))
    .where('id', '=', place('accountId')),
)

/** Idempotent. The row is kept until the session would have expired. */
export const endSession = transaction({
  name: 'endSession',
  accountOf: () => null,
  async run(tx: Tx, { id, expiresAtMs }: { id: string; expiresAtMs: number }): Promise<void> {
    await tx.query
      .insertInto('ended_sessions')
      .values({ id, expires_at: expiresAtMs })
      .onConflict((conflict) => conflict.doNothing())
      .execute()
  },
})

export async function findEndedSessions(db: ReadDb, ids: readonly string[]): Promise<string[]> {
  const rows = await db.read
    .selectFrom('ended_sessions')
    .select('id')
    .where('id', 'in', [...ids])
    .execute()
  return rows.map(({ id }) => id)
}

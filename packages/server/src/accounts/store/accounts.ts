import type { Plan } from '@mailroom/contract/vocabulary.ts'
import { sql } from 'kysely'
import { transaction } from '#platform/db/db.ts'
import { lockRows } from '#platform/db/dialect.ts'
import { statement } from '#platform/db/statement.ts'
import type { EditsOf } from '#store/columns.ts'
import { type Account, accounts, type Key } from '#store/nouns.ts'
import type { ReadDb, Row, Tables, Tx } from '#store/tables.ts'

export type { Account, Key }

const INBOXES_MAX: Record<Plan, number> = { free: 3, developer: 10, launch: 200 }

export function inboxesAllowed(plan: Plan): number {
  return INBOXES_MAX[plan]
}

/** Undefined settings stay unchanged. */
export const setAccountSettings = transaction({
  name: 'setAccountSettings',
  accountOf: ({ accountId }) => accountId,
  async run(
    tx: Tx,
    {
      accountId,
      ...settings
    }: Partial<Pick<Account, 'retentionDays' | 'undoSeconds'>> & {
      accountId: string
    },
  ): Promise<void> {
    await tx.query
      .updateTable('accounts')
      .set(accounts.write(settings))
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

const selectAccount = statement<Tables, { id: string }, Row<'accounts'>>((query, given) =>
  query.selectFrom('accounts').selectAll().where('id', '=', given('id')),
)

/** Lists the newest accounts first. Only operators may request the total. */
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

/** Locks the account, so that limits hold; null if it does not exist. */
export async function lockAccount(tx: Tx, accountId: string): Promise<Row<'accounts'> | null> {
  const query = tx.query.selectFrom('accounts').selectAll().where('id', '=', accountId)
  return (await lockRows(tx, query).executeTakeFirst()) ?? null
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

const upsertCounters = statement<Tables, Row<'account_counters'>, never>((query, given) =>
  query
    .insertInto('account_counters')
    .values({
      account_id: given('account_id'),
      suppression_count: given('suppression_count'),
      captured_count: given('captured_count'),
    })
    .onConflict((conflict) =>
      conflict.column('account_id').doUpdateSet({
        suppression_count: sql`account_counters.suppression_count + excluded.suppression_count`,
        captured_count: sql`account_counters.captured_count + excluded.captured_count`,
      }),
    ),
)

// The totals that an account's lists tell, kept by the transactions that change them.

import { sql } from 'kysely'
import { statement } from '#platform/db/statement.ts'
import type { ReadDb, Row, Tables, Tx } from '#schema/tables.ts'

type Counts = Omit<Row<'account_counters'>, 'account_id'>

/** Adds to the totals that are named; with a negative number it takes away. */
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

/** The same totals; 0 where there never was anything. */
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

/** Removes the rules that are limited to an inbox, or to a pod; its account is locked already. */
export async function deleteRulesOf(
  tx: Tx,
  accountId: string,
  scope: { inboxId: string } | { podId: string },
): Promise<void> {
  const ofAccount = tx.query.deleteFrom('sender_rules').where('account_id', '=', accountId)
  const query =
    'inboxId' in scope
      ? ofAccount.where('inbox_id', '=', scope.inboxId)
      : ofAccount.where('pod_id', '=', scope.podId)
  const removed = await query.returning('id').execute()
  await countSenderRules(tx, accountId, -removed.length)
}

/** Keeps the account's total, which tells arriving mail whether there are any. */
export async function countSenderRules(tx: Tx, accountId: string, by: number): Promise<void> {
  if (by !== 0) await addToRuleCount(tx, { accountId, by })
}

const addToRuleCount = statement<Tables, { accountId: string; by: number }, never>((query, place) =>
  query
    .updateTable('accounts')
    .set((row) => ({ sender_rule_count: row('sender_rule_count', '+', place('by')) }))
    .where('id', '=', place('accountId')),
)

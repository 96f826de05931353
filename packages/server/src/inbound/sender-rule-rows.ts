import { countSenderRules, lockAccount } from '#accounts/account-rows.ts'
// Sender rules, to and from rows: what the account lists, and the few that may be about a message.

import { transaction } from '#platform/db/db.ts'
import type { ReadDb, Row, Tx } from '#schema/tables.ts'
import type { DecidingRule, SenderRule, SenderRuleType } from './sender-rule.ts'

export type SenderRuleFilter = {
  type: SenderRuleType | null
  podId: string | null
  inboxId: string | null
  /** As it is compared. */
  value: string | null
}

/** Newest first. There are at most SENDER_RULES_PER_ACCOUNT_MAX of an account, which are counted. */
export async function listSenderRules(
  db: ReadDb,
  input: SenderRuleFilter & { accountId: string; limit: number; offset: number },
): Promise<{ rules: SenderRule[]; total: number }> {
  let query = db.read.selectFrom('sender_rules').where('account_id', '=', input.accountId)
  if (input.type !== null) query = query.where('type', '=', input.type)
  if (input.podId !== null) query = query.where('pod_id', '=', input.podId)
  if (input.inboxId !== null) query = query.where('inbox_id', '=', input.inboxId)
  if (input.value !== null) query = query.where('value', '=', input.value)
  const { total } = await query
    .select((row) => row.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow()
  const rows = await query
    .selectAll()
    .orderBy('id', 'desc')
    .limit(input.limit)
    .offset(input.offset)
    .execute()
  return { rules: rows.map(toSenderRule), total }
}

/** The account's rule with this id, or null. */
export async function findSenderRule(
  db: ReadDb,
  accountId: string,
  ruleId: string,
): Promise<SenderRule | null> {
  const row = await db.read
    .selectFrom('sender_rules')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('id', '=', ruleId)
    .executeTakeFirst()
  return row === undefined ? null : toSenderRule(row)
}

/** Of these accounts, the rules for one of these values. */
export async function findRulesForValues(
  db: ReadDb,
  accountIds: readonly string[],
  values: readonly string[],
): Promise<(DecidingRule & { accountId: string })[]> {
  if (accountIds.length === 0 || values.length === 0) return []
  const rows = await db.read
    .selectFrom('sender_rules')
    .selectAll()
    .where('account_id', 'in', accountIds)
    .where('value', 'in', values)
    .execute()
  return rows.map((row) => ({ ...toSenderRule(row), accountId: row.account_id }))
}

/** False when the account has no such rule. */
export const removeSenderRule = transaction({
  name: 'deleteSenderRule',
  accountOf: ({ accountId }) => accountId,
  essential: true,
  async run(tx: Tx, input: { accountId: string; ruleId: string }): Promise<boolean> {
    await lockAccount(tx, input.accountId)
    const removed = await tx.query
      .deleteFrom('sender_rules')
      .where('account_id', '=', input.accountId)
      .where('id', '=', input.ruleId)
      .returning('id')
      .execute()
    await countSenderRules(tx, input.accountId, -removed.length)
    return removed.length > 0
  },
})

/** A rule as its row has it. */
export function toSenderRule(row: Row<'sender_rules'>): SenderRule {
  return {
    id: row.id,
    type: row.type as SenderRuleType,
    value: row.value,
    podId: row.pod_id,
    inboxId: row.inbox_id,
    requiresVerified: row.needs_verified === 1,
    createdAtMs: row.created_at,
  }
}

// Policies of pods and inboxes, and the counts of an account's rules. The feature `policy` changes
// them. Accounts and inboxes, on a lower floor, use them when a pod or an inbox is removed.

import { statement } from '#platform/db/statement.ts'
import type { Tables, Tx } from './tables.ts'

/** The caller must have locked the account. */
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

/** Receiving and sending read rules only if the account has any. */
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
>((query, given) =>
  query
    .updateTable('accounts')
    .set((row) => ({
      sender_rule_count: row('sender_rule_count', '+', given('inbound')),
      recipient_rule_count: row('recipient_rule_count', '+', given('outbound')),
    }))
    .where('id', '=', given('accountId')),
)

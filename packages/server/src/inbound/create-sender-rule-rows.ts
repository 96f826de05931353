// The transaction that adds a sender rule, with what guards it.

import { countSenderRules, lockAccount } from '#accounts/account-rows.ts'
import { findPodRow } from '#accounts/pod-rows.ts'
import { findInbox } from '#inboxes/inbox-rows.ts'
import { transaction } from '#platform/db/db.ts'
import { type Row, readIn, type Tx } from '#schema/tables.ts'
import type { SenderRule, SenderRuleType } from './sender-rule.ts'
import { toSenderRule } from './sender-rule-rows.ts'

export const SENDER_RULES_PER_ACCOUNT_MAX = 10_000

export type NewSenderRule = {
  id: string
  accountId: string
  type: SenderRuleType
  /** As it is compared. */
  value: string
  /** Pod id or `clientId`; null for all pods. */
  pod: string | null
  inboxId: string | null
  requiresVerified: boolean
  nowMs: number
}

export type SenderRuleCreation =
  | { kind: 'stands'; rule: SenderRule }
  | { kind: 'no_account' }
  | { kind: 'invalid_pod' }
  | { kind: 'unknown_inbox' }
  | { kind: 'inbox_of_other_pod' }
  | { kind: 'limit_reached' }

/**
 * Adds a rule, or gives back the same one where it is there already, whatever the limit, with
 * `requiresVerified` as it is asked for now.
 */
export const insertSenderRule = transaction({
  name: 'createSenderRule',
  accountOf: ({ accountId }) => accountId,
  async run(tx: Tx, input: NewSenderRule): Promise<SenderRuleCreation> {
    const { accountId } = input
    // As deletions of inboxes and pods do, so that no rule is made for one that is going.
    const account = await lockAccount(tx, accountId)
    if (account === null) return { kind: 'no_account' }
    const scope = await findScope(tx, input)
    if ('kind' in scope) return scope
    const needsVerified = input.requiresVerified ? 1 : 0
    const standing = await findSame(tx, input, scope)
    if (standing !== null) {
      if (standing.needs_verified !== needsVerified) {
        await tx.query
          .updateTable('sender_rules')
          .set({ needs_verified: needsVerified })
          .where('id', '=', standing.id)
          .execute()
      }
      return { kind: 'stands', rule: toSenderRule({ ...standing, needs_verified: needsVerified }) }
    }
    if (account.sender_rule_count >= SENDER_RULES_PER_ACCOUNT_MAX) return { kind: 'limit_reached' }
    const row = {
      id: input.id,
      account_id: accountId,
      ...scope,
      type: input.type,
      value: input.value,
      needs_verified: needsVerified,
      created_at: input.nowMs,
    }
    await tx.query.insertInto('sender_rules').values(row).execute()
    await countSenderRules(tx, accountId, 1)
    return { kind: 'stands', rule: toSenderRule(row) }
  },
})

type Scope = Pick<Row<'sender_rules'>, 'pod_id' | 'inbox_id'>
type Refusal = Exclude<SenderRuleCreation, { kind: 'stands' }>

/** A rule for one inbox says its pod, too, so that one limit is written one way. */
async function findScope(tx: Tx, input: NewSenderRule): Promise<Scope | Refusal> {
  const { accountId, inboxId } = input
  const pod = input.pod === null ? null : await findPodRow(readIn(tx), accountId, input.pod)
  if (input.pod !== null && pod === null) return { kind: 'invalid_pod' }
  if (inboxId === null) return { pod_id: pod?.id ?? null, inbox_id: null }
  const inbox = await findInbox(readIn(tx), accountId, inboxId)
  if (inbox === null) return { kind: 'unknown_inbox' }
  if (pod !== null && pod.id !== inbox.podId) return { kind: 'inbox_of_other_pod' }
  return { pod_id: inbox.podId, inbox_id: inbox.id }
}

async function findSame(
  tx: Tx,
  { accountId, type, value }: NewSenderRule,
  scope: Scope,
): Promise<Row<'sender_rules'> | null> {
  const row = await tx.query
    .selectFrom('sender_rules')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('value', '=', value)
    .where('type', '=', type)
    .where('pod_id', scope.pod_id === null ? 'is' : '=', scope.pod_id)
    .where('inbox_id', scope.inbox_id === null ? 'is' : '=', scope.inbox_id)
    .executeTakeFirst()
  return row ?? null
}

import type { SenderRuleType } from '@mailroom/contract/vocabulary.ts'
import { lockAccount } from '#accounts/store/accounts.ts'
import type { Actor } from '#accounts/store/actor.ts'
import { needsApprover, payerOfChange } from '#accounts/store/authority.ts'
import { findPodRow } from '#accounts/store/pods.ts'
import { findInbox } from '#inboxes/store/inboxes.ts'
import { transaction } from '#platform/db/db.ts'
import { senderRules } from '#store/nouns.ts'
import { type ReadDb, readIn, type Tx } from '#store/tables.ts'
import { noteAddedRule } from './change-policy.ts'
import type { DecidingRule, SenderRule } from './match-sender.ts'
import { addRule, type RuleScope } from './rules.ts'

type SenderRuleFilter = {
  type: SenderRuleType | null
  podId: string | null
  inboxId: string | null
  value: string | null
}

/** Lists rules newest first and counts all, because an account has at most POLICY_RULES_MAX. */
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
  return { rules: rows.map(senderRules.read), total }
}

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
  return row === undefined ? null : senderRules.read(row)
}

export async function findRulesForValues(
  db: ReadDb,
  accountIds: readonly string[],
  { values, nowMs }: { values: readonly string[]; nowMs: number },
): Promise<(DecidingRule & { accountId: string })[]> {
  if (accountIds.length === 0 || values.length === 0) return []
  const rows = await db.read
    .selectFrom('sender_rules')
    .selectAll()
    .where('account_id', 'in', accountIds)
    .where('value', 'in', values)
    .where(({ eb, or }) => or([eb('expires_at', 'is', null), eb('expires_at', '>', nowMs)]))
    .execute()
  return rows.map(senderRules.read)
}

type NewSenderRule = {
  id: string
  accountId: string
  type: SenderRuleType
  /** The address or domain in canonical form. */
  value: string
  /** A pod's id or `clientId`, or null for all pods. */
  pod: string | null
  inboxId: string | null
  requireVerified: boolean
  expiresAtMs: number | null
  note: string | null
  actor: Actor
  auditId: string
  nowMs: number
}

export type SenderRuleCreation =
  | { kind: 'created'; rule: SenderRule }
  | { kind: 'no_account' }
  | { kind: 'approver_required' }
  | { kind: 'invalid_pod' }
  | { kind: 'unknown_inbox' }
  | { kind: 'inbox_of_other_pod' }
  | { kind: 'limit_reached' }

/** Changes the terms of an equal rule, if any, regardless of the limit. */
export const insertSenderRule = transaction({
  name: 'createSenderRule',
  accountOf: payerOfChange,
  async run(tx: Tx, input: NewSenderRule): Promise<SenderRuleCreation> {
    // Deletions of inboxes and pods take this lock too, so that no rule outlives them.
    const account = await lockAccount(tx, input.accountId)
    if (account === null) return { kind: 'no_account' }
    if (await needsApprover(tx, account.id, input.actor)) return { kind: 'approver_required' }
    const scope = await findScope(tx, input)
    if ('kind' in scope) return scope
    const { id, type, value, note, nowMs } = input
    const terms = { needs_verified: input.requireVerified ? 1 : 0, expires_at: input.expiresAtMs }
    const rule = { id, type, value, ...terms, note }
    const added = await addRule(tx, 'inbound', { account, scope, rule, nowMs })
    if (added === null) return { kind: 'limit_reached' }
    await noteAddedRule(tx, { ...input, direction: 'inbound' }, added)
    return { kind: 'created', rule: senderRules.read(added.row) }
  },
})

type Refusal = Exclude<SenderRuleCreation, { kind: 'created' }>

async function findScope(tx: Tx, input: NewSenderRule): Promise<RuleScope | Refusal> {
  const { accountId, inboxId } = input
  const pod = input.pod === null ? null : await findPodRow(readIn(tx), accountId, input.pod)
  if (input.pod !== null && pod === null) return { kind: 'invalid_pod' }
  if (inboxId === null) return { pod_id: pod?.id ?? null, inbox_id: null }
  const inbox = await findInbox(readIn(tx), accountId, inboxId)
  if (inbox === null) return { kind: 'unknown_inbox' }
  if (pod !== null && pod.id !== inbox.podId) return { kind: 'inbox_of_other_pod' }
  return { pod_id: inbox.podId, inbox_id: inbox.id }
}

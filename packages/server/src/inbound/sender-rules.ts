// The account's rules about who may write to its inboxes.

import { findPod } from '#accounts/pod-rows.ts'
import type { Clock } from '#platform/clock.ts'
import type { MakeId } from '#platform/ids.ts'
import { notFound, problem } from '#platform/problem.ts'
import type { Db, Page } from '#schema/tables.ts'
import {
  insertSenderRule,
  SENDER_RULES_PER_ACCOUNT_MAX,
  type SenderRuleCreation,
} from './create-sender-rule-rows.ts'
import { compareValue, readRuleValue, type SenderRule, type SenderRuleType } from './sender-rule.ts'
import * as store from './sender-rule-rows.ts'
import { removeSenderRule } from './sender-rule-rows.ts'

export type CreateSenderRule = {
  accountId: string
  type: SenderRuleType
  /** An address or a domain, as somebody writes it. */
  value: string
  /** Id or `clientId`; null for all pods. */
  pod: string | null
  inboxId: string | null
  /** Of an allow rule, null for what is usual; of any other it is refused. */
  requiresVerified: boolean | null
}

/**
 * The rule that stands then, be it new or there already. Refused with `bad_request` for a wrong value
 * or inbox, `invalid_pod`, or `sender_rule_limit_reached`.
 */
export async function createSenderRule(
  deps: { db: Db; clock: Clock; makeId: MakeId },
  { accountId, type, value, pod, inboxId, requiresVerified }: CreateSenderRule,
): Promise<SenderRule> {
  if (type !== 'allow' && requiresVerified !== null) {
    throw wrong('requireVerified', 'is only for rules of type allow')
  }
  const read = await readRuleValue(value)
  if (read.kind === 'defect') throw wrong('value', read.message)
  const creation = await deps.db.write(insertSenderRule, {
    id: deps.makeId('rul'),
    accountId,
    type,
    value: read.value,
    pod,
    inboxId,
    requiresVerified: type === 'allow' && requiresVerified !== false,
    nowMs: deps.clock.now(),
  })
  if (creation.kind === 'stands') return creation.rule
  throw refusal(creation)
}

function refusal({ kind }: Exclude<SenderRuleCreation, { kind: 'stands' }>) {
  switch (kind) {
    case 'no_account':
      return notFound()
    case 'invalid_pod':
      return wrong('podId', 'is not a pod of this account', 'invalid_pod')
    case 'unknown_inbox':
      return wrong('inboxId', 'is not an inbox of this account')
    case 'inbox_of_other_pod':
      return wrong('inboxId', 'is not in the pod of podId')
    case 'limit_reached': {
      const most = `The account has reached the limit of ${SENDER_RULES_PER_ACCOUNT_MAX} sender rules.`
      return problem('sender_rule_limit_reached', most)
    }
  }
}

function wrong(path: string, message: string, code: 'bad_request' | 'invalid_pod' = 'bad_request') {
  return problem(code, `The field "${path}" ${message}.`, { details: [{ path, message }] })
}

/** Newest first. A value that no rule can have gives an empty list, and so does an unknown pod. */
export async function listSenderRules(
  deps: { db: Db },
  input: {
    accountId: string
    type: SenderRuleType | null
    /** Id or `clientId`. */
    pod: string | null
    inboxId: string | null
    value: string | null
  } & Page,
): Promise<{ rules: SenderRule[]; total: number }> {
  const { pod, value, ...rest } = input
  const podId = pod === null ? null : (await findPod(deps.db, input.accountId, pod))?.id
  const read = value === null ? null : compareValue(value)
  if (podId === undefined || read?.kind === 'defect') return { rules: [], total: 0 }
  return store.listSenderRules(deps.db, { ...rest, podId, value: read?.value ?? null })
}

/** `not_found` when the account has no such rule. */
export async function getSenderRule(
  deps: { db: Db },
  { accountId, ruleId }: { accountId: string; ruleId: string },
): Promise<SenderRule> {
  const rule = await store.findSenderRule(deps.db, accountId, ruleId)
  if (rule === null) throw notFound()
  return rule
}

/** `not_found` when the account has no such rule. */
export async function deleteSenderRule(
  deps: { db: Db },
  input: { accountId: string; ruleId: string },
): Promise<void> {
  if (!(await deps.db.write(removeSenderRule, input))) throw notFound()
}

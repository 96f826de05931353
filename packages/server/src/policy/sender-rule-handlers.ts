import type { OwnAccount } from '@mailroom/contract/accounts.ts'
import type { FilterMode, SenderRuleType } from '@mailroom/contract/vocabulary.ts'
import { POLICY_RULES_MAX } from '@mailroom/contract/vocabulary.ts'
import { getAccount } from '#accounts/accounts.ts'
import { type Account, inboxesAllowed, setAccountSettings } from '#accounts/store/accounts.ts'
import type { Actor } from '#accounts/store/actor.ts'
import { findPod } from '#accounts/store/pods.ts'
import type { HandlersOf } from '#http/handler.ts'
import { presentTime } from '#platform/clock.ts'
import { notFound, problem, wrongField } from '#platform/problem.ts'
import { type PolicyRefusal, removePolicyRule, replacePolicy } from '#policy/store/change-policy.ts'
import type { SenderRule } from '#policy/store/match-sender.ts'
import * as store from '#policy/store/sender-rules.ts'
import { insertSenderRule, type SenderRuleCreation } from '#policy/store/sender-rules.ts'
import { senderRules } from '#store/nouns.ts'
import type { Store } from '#store/store.ts'
import type { Db, Page } from '#store/tables.ts'
import { readRuleEnd } from './rule-end.ts'
import { compareValue, readRuleValue } from './rule-value.ts'

export function senderRuleHandlers(deps: Store): HandlersOf<'senderRules'> & HandlersOf<'account'> {
  return {
    'senderRules.list': async ({ query }, { accountId }) => {
      const { type = null, podId = null, inboxId = null, value = null, ...page } = query
      const asked = { accountId, type, pod: podId, inboxId, value, ...page }
      const { rules, total } = await listSenderRules(deps, asked)
      return { data: rules.map(senderRules.present), total }
    },
    'senderRules.create': async ({ body }, { accountId, actor }) => {
      const { type, value, podId = null, inboxId = null, requireVerified = null } = body
      const terms = { expiresAtMs: readRuleEnd(deps, body.expiresAt), note: body.note ?? null }
      const asked = {
        accountId,
        type,
        value,
        pod: podId,
        inboxId,
        requireVerified,
        ...terms,
        actor,
      }
      return senderRules.present(await createSenderRule(deps, asked))
    },
    'senderRules.get': async ({ path }, { accountId }) => {
      const rule = await store.findSenderRule(deps.db, accountId, path.id)
      if (rule === null) throw notFound()
      return senderRules.present(rule)
    },
    'senderRules.delete': async ({ path }, { accountId, actor }) => {
      const outcome = await deps.db.write(removePolicyRule, {
        accountId,
        actor,
        ruleId: path.id,
        direction: 'inbound',
        auditId: deps.makeId('aud'),
        nowMs: deps.clock.now(),
      })
      if (outcome.kind !== 'removed') throw policyRefusal(outcome)
    },

    'account.get': async (_input, { accountId }) =>
      presentOwnAccount(await getAccount(deps, { accountId })),
    'account.me': async (_input, { accountId, keyId }) => {
      const { name, plan } = await getAccount(deps, { accountId })
      const aliases = { customerId: accountId, mcpScopes: null }
      return { accountId, name, plan, apiKeyScope: 'account', keyId, ...aliases }
    },
    'account.sendFeedback': async ({ body }, { accountId, keyId }) => {
      const context = body.context === undefined ? null : shorten(JSON.stringify(body.context))
      const feedback = { type: body.type, message: shorten(body.message), context }
      deps.log.info({ accountId, keyId, feedback }, 'A client sent feedback.')
      return { status: 'received' }
    },
    'account.update': async ({ body }, { accountId, actor }) => {
      const { filterMode: mode, ...settings } = body
      const hasSettings = Object.keys(settings).length > 0
      if (mode === undefined && !hasSettings) {
        throw wrongField('filterMode', 'is required, or retentionDays or undoSeconds')
      }
      // Retention removes mail, which an approver may not do.
      if (hasSettings && actor.kind === 'approver') throw problem('forbidden')
      if (mode !== undefined) await setFilterMode(deps, { accountId, actor, mode })
      if (hasSettings) await deps.db.write(setAccountSettings, { accountId, ...settings })
      return presentOwnAccount(await getAccount(deps, { accountId }))
    },
  }
}

const FEEDBACK_LOGGED_MAX = 2_000

function shorten(text: string): string {
  return text.length > FEEDBACK_LOGGED_MAX ? `${text.slice(0, FEEDBACK_LOGGED_MAX)}…` : text
}

async function setFilterMode(
  deps: Store,
  { mode, ...by }: { accountId: string; actor: Actor; mode: FilterMode },
): Promise<void> {
  const outcome = await deps.db.write(replacePolicy, {
    ...by,
    owner: { pod: null, inboxId: null },
    inbound: { mode, rules: null },
    outbound: null,
    auditIds: { inbound: deps.makeId('aud'), outbound: deps.makeId('aud') },
    nowMs: deps.clock.now(),
  })
  if (outcome.kind !== 'replaced') throw policyRefusal(outcome)
}

function presentOwnAccount({ createdAtMs, ...shown }: Account): OwnAccount {
  const inboxLimit = inboxesAllowed(shown.plan)
  return { ...shown, inboxLimit, createdAt: presentTime(createdAtMs) }
}

type CreateSenderRule = {
  accountId: string
  type: SenderRuleType
  value: string
  /** A pod's id or `clientId`, or null for all pods. */
  pod: string | null
  inboxId: string | null
  /** Only an allow rule has this; null means the default. */
  requireVerified: boolean | null
  expiresAtMs: number | null
  note: string | null
  actor: Actor
}

/** Throws `bad_request`, `invalid_pod` or `sender_rule_limit_reached`. */
async function createSenderRule(
  deps: Store,
  { type, value, requireVerified, ...given }: CreateSenderRule,
): Promise<SenderRule> {
  if (type !== 'allow' && requireVerified !== null) {
    throw wrongField('requireVerified', 'is only for rules of type allow')
  }
  const read = await readRuleValue(value)
  if (read.kind === 'defect') throw wrongField('value', read.message)
  const creation = await deps.db.write(insertSenderRule, {
    ...given,
    id: deps.makeId('rul'),
    type,
    value: read.value,
    requireVerified: type === 'allow' && requireVerified !== false,
    auditId: deps.makeId('aud'),
    nowMs: deps.clock.now(),
  })
  if (creation.kind === 'created') return creation.rule
  throw refusal(creation)
}

function refusal({ kind }: Exclude<SenderRuleCreation, { kind: 'created' }>) {
  switch (kind) {
    case 'no_account':
      return notFound()
    case 'approver_required':
      return problem('approver_required')
    case 'invalid_pod':
      return wrongField('podId', 'is not a pod of this account', 'invalid_pod')
    case 'unknown_inbox':
      return wrongField('inboxId', 'is not an inbox of this account')
    case 'inbox_of_other_pod':
      return wrongField('inboxId', 'is not in the pod of podId')
    case 'limit_reached':
      return policyRefusal({ kind: 'limit_reached', direction: 'inbound' })
  }
}

export function policyRefusal(refused: PolicyRefusal) {
  switch (refused.kind) {
    case 'not_found':
      return notFound()
    case 'approver_required':
    case 'no_approver':
    case 'policy_changed':
      return problem(refused.kind)
    case 'rule_ended':
      return wrongField(
        `${refused.direction}.rules`,
        'must end in the future: the expiresAt of a new or changed rule is past',
      )
    case 'limit_reached': {
      const limit = `The account has reached the limit of ${POLICY_RULES_MAX}`
      return refused.direction === 'inbound'
        ? problem('sender_rule_limit_reached', `${limit} sender rules.`)
        : problem('recipient_rule_limit_reached', `${limit} rules for recipients.`)
    }
  }
}

/** Lists rules newest first. Empty for an unknown pod or a value that no rule can have. */
async function listSenderRules(
  deps: { db: Db },
  input: {
    accountId: string
    type: SenderRuleType | null
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

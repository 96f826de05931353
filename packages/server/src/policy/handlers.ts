import type {
  Policy,
  PolicyAuditEntry,
  ReplacePolicy,
  ScopedPolicyRule,
} from '@mailroom/contract/policy.ts'
import type { PolicyDirection, PolicyMode, SenderRuleType } from '@mailroom/contract/vocabulary.ts'
import type { Actor } from '#accounts/store/actor.ts'
import type { NewAuditEntry } from '#accounts/store/audit.ts'
import type { Answered, HandlersOf } from '#http/handler.ts'
import { presentTime } from '#platform/clock.ts'
import {
  AppError,
  type ErrorDetail,
  notFound,
  problem,
  wrongField,
  wrongQuery,
} from '#platform/problem.ts'
import {
  findPolicy,
  insertPolicyRule,
  type PolicyOwner,
  removePolicyRule,
  replacePolicy,
  type StoredPolicy,
} from '#policy/store/change-policy.ts'
import { hasEnded, type NewRule, type RuleRow } from '#policy/store/rules.ts'
import type { Store } from '#store/store.ts'
import { listAudit } from './list-audit.ts'
import {
  type AllowedFinding,
  defaultOutbound,
  effectiveOutbound,
  findingKey,
  narrowest,
} from './outbound-policy.ts'
import { parseRuleEnd, RULE_END_RULE, readRuleEnd } from './rule-end.ts'
import { byPrecedence, readRuleValue } from './rule-value.ts'
import { policyRefusal } from './sender-rule-handlers.ts'

/** Limited to what the command that replaces a policy has of the store. */
type Deps = Pick<Store, 'db' | 'clock' | 'makeId'>

type Asked = { accountId: string; owner: PolicyOwner }

export async function getPolicy(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  asked: Asked,
): Promise<Policy> {
  const found = await findPolicy(db, asked.accountId, asked.owner)
  if (found === null) throw noOwner(asked.owner)
  return presentPolicy(found, clock.now())
}

/** Replaces each given direction. Throws `bad_request`, `not_found`, and the errors of policies. */
export async function putPolicy(
  deps: Deps,
  { body, ...change }: Asked & { actor: Actor; body: ReplacePolicy; ifMatch?: string | undefined },
): Promise<void> {
  const replacement = await readReplacement(deps, body)
  const outcome = await deps.db.write(replacePolicy, {
    ...change,
    nowMs: deps.clock.now(),
    ...replacement,
    auditIds: { inbound: deps.makeId('aud'), outbound: deps.makeId('aud') },
  })
  if (outcome.kind !== 'replaced') throw refusalAt(change.owner, outcome)
}

export function policyHandlers(deps: Deps): HandlersOf<'policy'> {
  return {
    'policy.get': async ({ query }, { accountId, takeSlot }) => {
      const owner = ownerOf(query)
      await takeSlot()
      return answerWith(await getPolicy(deps, { accountId, owner }))
    },
    'policy.replace': async ({ query, body }, { accountId, actor, takeSlot, headers }) => {
      const owner = ownerOf(query)
      const ifMatch = headers['if-match']?.toString()
      await putPolicy(deps, { accountId, actor, owner, body, ifMatch })
      await takeSlot()
      return answerWith(await getPolicy(deps, { accountId, owner }))
    },
    'policy.setMode': async ({ query, body }, { accountId, actor, takeSlot }) => {
      const owner = ownerOf(query)
      await setMode(deps, { accountId, actor, owner, ...body })
      await takeSlot()
      return answerWith(await getPolicy(deps, { accountId, owner }))
    },
    'policy.createRule': async ({ query, body }, { accountId, actor }) => {
      const owner = ownerOf(query)
      const { direction, type, note = null } = body
      const expires_at = readRuleEnd(deps, body.expiresAt)
      const read = await readRuleValue(body.value)
      if (read.kind === 'defect') throw wrongField('value', read.message)
      const needs_verified = direction === 'inbound' && type === 'allow' ? 1 : 0
      const created = await deps.db.write(insertPolicyRule, {
        accountId,
        actor,
        nowMs: deps.clock.now(),
        owner,
        direction,
        rule: { id: deps.makeId('rul'), type, value: read.value, needs_verified, expires_at, note },
        auditId: deps.makeId('aud'),
      })
      if (created.kind !== 'created') throw refusalAt(owner, created)
      return presentScoped(direction, created.rule)
    },
    'policy.deleteRule': async ({ path }, { accountId, actor }) => {
      const outcome = await deps.db.write(removePolicyRule, {
        accountId,
        actor,
        nowMs: deps.clock.now(),
        ruleId: path.id,
        direction: null,
        auditId: deps.makeId('aud'),
      })
      if (outcome.kind !== 'removed') throw policyRefusal(outcome)
    },
    'policy.audit': async ({ query }, { accountId }) => {
      const { since, until, direction = null, decision = null, ...page } = query
      const { entries, total } = await listAudit(deps.db, {
        accountId,
        sinceMs: since === undefined ? null : Date.parse(since),
        untilMs: until === undefined ? null : Date.parse(until),
        direction,
        decision,
        ...page,
      })
      return { data: entries.map(presentEntry), total }
    },
  }
}

/** An attempt fails if the policy is changed at the same time. */
const MODE_TRIES_MAX = 5

async function setMode(
  deps: Deps,
  {
    mode,
    direction,
    ...change
  }: Asked & { actor: Actor; mode: PolicyMode; direction: PolicyDirection },
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const { etag, outbound: was } = await getPolicy(deps, change)
    const outcome = await deps.db.write(replacePolicy, {
      ...change,
      nowMs: deps.clock.now(),
      ifMatch: etag,
      inbound: direction === 'inbound' ? { mode, rules: null } : null,
      outbound: direction === 'outbound' ? { ...was, mode, rules: null } : null,
      auditIds: { inbound: deps.makeId('aud'), outbound: deps.makeId('aud') },
    })
    if (outcome.kind === 'replaced') return
    if (outcome.kind !== 'policy_changed' || attempt === MODE_TRIES_MAX) {
      throw refusalAt(change.owner, outcome)
    }
  }
}

function answerWith(policy: Policy): Answered<Policy> {
  return { status: 200, headers: { etag: policy.etag }, body: policy }
}

function refusalAt(owner: PolicyOwner, refused: Parameters<typeof policyRefusal>[0]): AppError {
  return refused.kind === 'not_found' ? noOwner(owner) : policyRefusal(refused)
}

function noOwner({ pod, inboxId }: PolicyOwner): AppError {
  if (inboxId !== null) return problem('not_found', 'The account has no inbox with this inboxId.')
  return pod === null ? notFound() : problem('not_found', 'The account has no pod with this podId.')
}

function ownerOf(query: { podId?: string; inboxId?: string }): PolicyOwner {
  const { podId: pod = null, inboxId = null } = query
  if (pod !== null && inboxId !== null) throw wrongQuery('inboxId', 'must not be given with podId')
  return { pod, inboxId }
}

/** Omitted fields get defaults. Throws `bad_request` that lists each invalid rule. */
async function readReplacement(deps: Deps, { inbound, outbound }: ReplacePolicy) {
  const defects: ErrorDetail[] = []
  const read = async (path: string, rules: readonly GivenRule[] = []): Promise<NewRule[]> => {
    const found: NewRule[] = []
    for (const [index, rule] of rules.entries()) {
      const { type, requireVerified, note = null } = rule
      const expires_at = parseRuleEnd(deps, rule.expiresAt)
      const defect = (name: string, message: string) =>
        defects.push({ path: `${path}.rules[${index}].${name}`, message })
      const value = await readRuleValue(rule.value)
      if (value.kind === 'defect') defect('value', value.message)
      if (requireVerified === true && (type === 'block' || path === 'outbound')) {
        defect('requireVerified', 'is only allowed for sender rules of type allow')
      }
      if (expires_at === undefined) defect('expiresAt', RULE_END_RULE)
      if (value.kind === 'defect' || expires_at === undefined) continue
      const needs_verified = type === 'allow' && requireVerified !== false ? 1 : 0
      const id = deps.makeId('rul')
      found.push({ id, type, value: value.value, needs_verified, expires_at, note })
    }
    return found
  }
  const senders = await read('inbound', inbound?.rules)
  const recipients = await read('outbound', outbound?.rules)
  const [first] = defects
  if (first !== undefined) {
    const others = defects.length - 1
    const more = others > 0 ? ` (and ${others} more ${others === 1 ? 'mistake' : 'mistakes'})` : ''
    throw new AppError('bad_request', `The field "${first.path}" ${first.message}${more}.`, {
      details: defects.slice(0, DEFECTS_SHOWN),
    })
  }
  // For an account this is stored as the default, because an account inherits nothing.
  const inherited = defaultOutbound('inbox')
  return {
    inbound:
      inbound === undefined ? null : { mode: inbound.mode ?? inherited.mode, rules: senders },
    outbound:
      outbound === undefined
        ? null
        : {
            mode: outbound.mode ?? inherited.mode,
            guards: { ...inherited.guards, ...outbound.guards },
            allowedFindings: eachOnce(outbound.allowedFindings ?? []),
            rules: recipients.map((rule) => ({ ...rule, needs_verified: 0 })),
          },
  }
}

const DEFECTS_SHOWN = 20

function eachOnce(
  given: NonNullable<NonNullable<ReplacePolicy['outbound']>['allowedFindings']>,
): AllowedFinding[] {
  const found = new Map(given.map((one) => [findingKey(one), one]))
  return [...found.values()].map(({ kind, sha256, note = null }) => ({ kind, sha256, note }))
}

type GivenRule = NonNullable<NonNullable<ReplacePolicy['inbound']>['rules']>[number]

function presentPolicy(
  { width, scope, etag, inboundModes, outbound, rules }: StoredPolicy,
  nowMs: number,
): Policy {
  const isOwn = (row: RuleRow) => row.pod_id === scope.pod_id && row.inbox_id === scope.inbox_id
  const ordered = (rows: readonly RuleRow[]) =>
    rows
      .filter(({ expires_at }) => !hasEnded(expires_at, nowMs))
      .toSorted((a, b) => byPrecedence(orderedRule(a), orderedRule(b)))
  const own = outbound[width] ?? defaultOutbound(width)
  const effectiveMode = narrowest<PolicyMode, PolicyMode>(
    inboundModes,
    (mode) => (mode === 'inherit' ? null : mode),
    'none',
  )
  const applied = effectiveOutbound(outbound)
  return {
    scope: presentScope(scope),
    etag,
    inbound: {
      mode: inboundModes[width] ?? 'none',
      rules: rules.inbound.filter(isOwn).map(presentSenderRule),
    },
    outbound: {
      mode: own.mode,
      rules: rules.outbound.filter(isOwn).map(presentRule),
      guards: own.guards,
      allowedFindings: [...own.allowedFindings],
    },
    effective: {
      inbound: {
        mode: effectiveMode.value,
        modeFrom: effectiveMode.from,
        rules: ordered(rules.inbound).map((row) => presentScoped('inbound', row)),
      },
      outbound: {
        ...applied,
        rules: ordered(rules.outbound).map((row) => presentScoped('outbound', row)),
        allowedFindings: [...applied.allowedFindings],
      },
    },
  }
}

function orderedRule(row: RuleRow) {
  return { ...presentRule(row), ...presentScope(row) }
}

function presentRule({ id, type, value, expires_at, note }: RuleRow) {
  const expiresAt = expires_at === null ? null : presentTime(expires_at)
  return { id, type: type as SenderRuleType, value, expiresAt, note }
}

function presentScoped(direction: PolicyDirection, row: RuleRow): ScopedPolicyRule {
  const rule = direction === 'inbound' ? presentSenderRule(row) : presentRule(row)
  return { ...rule, direction, ...presentScope(row) }
}

function presentSenderRule(row: RuleRow) {
  return { ...presentRule(row), requireVerified: row.needs_verified === 1 }
}

function presentScope({ pod_id: podId, inbox_id: inboxId }: Pick<RuleRow, 'pod_id' | 'inbox_id'>) {
  return { podId, inboxId }
}

const NO_DETAILS = {
  messageId: null,
  sender: null,
  recipients: [],
  reasons: [],
  change: null,
  reviewId: null,
  note: null,
  approver: null,
  erasureId: null,
}

function presentEntry({
  accountId: _,
  details,
  actor,
  createdAtMs,
  ...entry
}: NewAuditEntry): PolicyAuditEntry {
  return {
    ...entry,
    ...NO_DETAILS,
    ...details,
    createdAt: presentTime(createdAtMs),
    actor: actor && { kind: actor.kind, id: idOf(actor) },
  }
}

function idOf(actor: Actor): string | null {
  switch (actor.kind) {
    case 'key':
      return actor.keyId
    case 'approver':
      return actor.approverId
    case 'operator':
      return null
  }
}

import { createHash } from 'node:crypto'
import type { PolicyChange } from '@mailroom/contract/policy.ts'
import type {
  FilterMode,
  PolicyDirection,
  PolicyMode,
  PolicyScope,
  SenderRuleType,
} from '@mailroom/contract/vocabulary.ts'
import { lockAccount } from '#accounts/store/accounts.ts'
import type { Actor } from '#accounts/store/actor.ts'
import { insertAudit, type NewAuditEntry } from '#accounts/store/audit.ts'
import { activeApprovers, needsApprover, payerOfChange } from '#accounts/store/authority.ts'
import { findPodRow } from '#accounts/store/pods.ts'
import { isMatch } from '#http/if-match.ts'
import { transaction } from '#platform/db/db.ts'
import {
  type AllowedFinding,
  findingKey,
  mayHold,
  type OutboundPolicy,
  readOutbound,
  storeOutbound,
} from '#policy/outbound-policy.ts'
import type { StoredOf } from '#store/columns.ts'
import type { ownPolicy } from '#store/nouns.ts'
import { type ReadDb, readIn, type Tx } from '#store/tables.ts'
import {
  type AddedRule,
  addRule,
  changeRules,
  hasEnded,
  listRulesFor,
  type NewRule,
  planRules,
  type RuleChange,
  type RuleRow,
  type RuleScope,
  removeRule,
} from './rules.ts'

/** A pod by id or `clientId`, or an inbox; with neither, the account. */
export type PolicyOwner = { pod: string | null; inboxId: string | null }

type PolicyColumns = StoredOf<typeof ownPolicy>

type Levels = {
  width: PolicyScope
  scope: RuleScope
  rows: { account: PolicyColumns } & Partial<Record<PolicyScope, PolicyColumns>>
}

async function findLevels(
  db: ReadDb,
  accountId: string,
  { pod, inboxId }: PolicyOwner,
): Promise<Levels | null> {
  const account = await db.read
    .selectFrom('accounts')
    .select(['filter_mode', 'outbound_policy'])
    .where('id', '=', accountId)
    .executeTakeFirst()
  if (account === undefined) return null
  if (inboxId !== null) return findInboxLevels(db, { accountId, inboxId, account })
  if (pod === null) {
    return { width: 'account', scope: { pod_id: null, inbox_id: null }, rows: { account } }
  }
  const row = await findPodRow(db, accountId, pod)
  if (row === null) return null
  return { width: 'pod', scope: { pod_id: row.id, inbox_id: null }, rows: { account, pod: row } }
}

async function findInboxLevels(
  db: ReadDb,
  { accountId, inboxId, account }: { accountId: string; inboxId: string; account: PolicyColumns },
): Promise<Levels | null> {
  const inbox = await db.read
    .selectFrom('inboxes')
    .select(['id', 'pod_id', 'filter_mode', 'outbound_policy'])
    .where('account_id', '=', accountId)
    .where('id', '=', inboxId)
    .executeTakeFirst()
  const pod = inbox === undefined ? null : await findPodRow(db, accountId, inbox.pod_id)
  if (inbox === undefined || pod === null) return null
  const scope = { pod_id: inbox.pod_id, inbox_id: inbox.id }
  return { width: 'inbox', scope, rows: { account, pod, inbox } }
}

export type StoredPolicy = {
  width: PolicyScope
  scope: RuleScope
  /** The ETag of the policy's own part, without inherited parts. */
  etag: string
  inboundModes: Partial<Record<PolicyScope, PolicyMode>>
  outbound: Partial<Record<PolicyScope, OutboundPolicy>>
  /** Rules include those of wider scopes. */
  rules: Record<PolicyDirection, RuleRow[]>
}

export async function findPolicy(
  db: ReadDb,
  accountId: string,
  owner: PolicyOwner,
): Promise<StoredPolicy | null> {
  const levels = await findLevels(db, accountId, owner)
  if (levels === null) return null
  const { width, scope, rows } = levels
  const [inbound, outbound] = await Promise.all([
    listRulesFor(db, 'inbound', { accountId, scope }),
    listRulesFor(db, 'outbound', { accountId, scope }),
  ])
  const widths = Object.entries(rows) as [PolicyScope, PolicyColumns][]
  const isOwn = (row: RuleRow) => row.pod_id === scope.pod_id && row.inbox_id === scope.inbox_id
  return {
    width,
    scope,
    etag: etagOf(rows[width] ?? rows.account, [...inbound, ...outbound].filter(isOwn)),
    inboundModes: Object.fromEntries(widths.map(([of, row]) => [of, inboundMode(row)])),
    outbound: Object.fromEntries(
      widths.map(([of, row]) => [of, readOutbound(row.outbound_policy, of)]),
    ),
    rules: { inbound, outbound },
  }
}

function etagOf(
  { filter_mode, outbound_policy }: PolicyColumns,
  rules: readonly RuleRow[],
): string {
  const hash = createHash('sha256').update(JSON.stringify([filter_mode, outbound_policy]))
  for (const { id, type, value, needs_verified, expires_at, note } of rules) {
    hash.update(`\n${id} ${type} ${value} ${needs_verified} ${expires_at} ${JSON.stringify(note)}`)
  }
  return `"${hash.digest('base64url').slice(0, 22)}"`
}

function inboundMode({ filter_mode }: PolicyColumns): PolicyMode {
  return (filter_mode ?? 'inherit') as PolicyMode
}

export type PolicyRefusal =
  | { kind: 'not_found' }
  | { kind: 'approver_required' }
  /** A guard would hold mail, but the account has no approver. */
  | { kind: 'no_approver' }
  | { kind: 'policy_changed' }
  /** A new or changed rule would have ended already. */
  | { kind: 'rule_ended'; direction: PolicyDirection }
  | { kind: 'limit_reached'; direction: PolicyDirection }

type Change = {
  accountId: string
  actor: Actor
  nowMs: number
}

type Replacement = Change & {
  owner: PolicyOwner
  /** The value of `If-Match`. If omitted, any state of the policy may be replaced. */
  ifMatch?: string | undefined
  /** If `rules` is null, the rules stay unchanged. */
  inbound: { mode: PolicyMode; rules: readonly NewRule[] | null } | null
  outbound: (OutboundPolicy & { rules: readonly NewRule[] | null }) | null
  auditIds: Record<PolicyDirection, string>
}

const DIRECTIONS: readonly PolicyDirection[] = ['inbound', 'outbound']

/** Replaces each given direction completely. A refusal changes nothing. */
export const replacePolicy = transaction({
  name: 'replacePolicy',
  accountOf: payerOfChange,
  async run(tx: Tx, input: Replacement): Promise<{ kind: 'replaced' } | PolicyRefusal> {
    const { accountId, inbound, outbound, nowMs } = input
    // Deletions of inboxes and pods take this lock too, so that no rule outlives them.
    const account = await lockAccount(tx, accountId)
    const levels = account && (await findLevels(readIn(tx), accountId, input.owner))
    if (account === null || levels === null) return { kind: 'not_found' }
    const refusal = await findRefusal(tx, input)
    if (refusal !== null) return refusal
    if (input.ifMatch !== undefined) {
      const now = await findPolicy(readIn(tx), accountId, input.owner)
      if (now === null || !isMatch(input.ifMatch, now.etag)) return { kind: 'policy_changed' }
    }
    const { width, scope } = levels
    const plans: [PolicyDirection, RuleChange][] = []
    for (const direction of DIRECTIONS) {
      const rules = input[direction]?.rules ?? null
      if (rules === null) continue
      const plan = await planRules(readIn(tx), direction, { account, scope, rules })
      if (plan === null) return { kind: 'limit_reached', direction }
      const ends = [...plan.added, ...plan.changed].map(({ expires_at }) => expires_at)
      if (ends.some((endMs) => hasEnded(endMs, nowMs))) return { kind: 'rule_ended', direction }
      plans.push([direction, plan])
    }
    for (const [direction, change] of plans) {
      await changeRules(tx, direction, { accountId, scope, change, nowMs })
    }
    const before = levels.rows[width] ?? levels.rows.account
    const after = {
      filter_mode: inbound === null ? before.filter_mode : storedMode(inbound.mode, width),
      outbound_policy: outbound === null ? before.outbound_policy : storeOutbound(outbound, width),
    }
    await writeColumns(tx, { accountId, width, scope, columns: after })
    const planned = new Map(plans)
    const entries = DIRECTIONS.filter((direction) => input[direction] !== null).map((direction) => {
      const settings = settingsOf(direction, width, { before, after })
      const rules = planned.get(direction) ?? NO_RULES
      return { direction, change: { ...settings, ...shownRules(rules) }, rules }
    })
    await insertAudit(
      tx,
      entries
        .filter(({ change, rules }) => isChange(change, rules))
        .map(({ direction, change }) =>
          auditOfChange(input, { scope, id: input.auditIds[direction], direction, change }),
        ),
    )
    return { kind: 'replaced' }
  },
})

/** The caller must have locked the account. */
async function findRefusal(
  tx: Tx,
  { accountId, actor, outbound }: Replacement,
): Promise<PolicyRefusal | null> {
  if (await needsApprover(tx, accountId, actor)) return { kind: 'approver_required' }
  if (outbound === null || !mayHold(outbound)) return null
  return (await activeApprovers(tx, accountId)).length > 0 ? null : { kind: 'no_approver' }
}

type NewPolicyRule = Change & {
  owner: PolicyOwner
  direction: PolicyDirection
  rule: NewRule
  auditId: string
}

/** Returns an existing rule if it is equal. */
export const insertPolicyRule = transaction({
  name: 'createPolicyRule',
  accountOf: payerOfChange,
  async run(
    tx: Tx,
    input: NewPolicyRule,
  ): Promise<{ kind: 'created'; rule: RuleRow } | PolicyRefusal> {
    const { accountId, direction, rule, nowMs } = input
    const account = await lockAccount(tx, accountId)
    const levels = account && (await findLevels(readIn(tx), accountId, input.owner))
    if (account === null || levels === null) return { kind: 'not_found' }
    if (await needsApprover(tx, accountId, input.actor)) return { kind: 'approver_required' }
    const { scope } = levels
    const added = await addRule(tx, direction, { account, scope, rule, nowMs })
    if (added === null) return { kind: 'limit_reached', direction }
    await noteAddedRule(tx, input, added)
    return { kind: 'created', rule: added.row }
  },
})

export async function noteAddedRule(
  tx: Tx,
  change: Change & { direction: PolicyDirection; auditId: string },
  { row, isChanged }: AddedRule,
): Promise<void> {
  if (!isChanged) return
  await insertAudit(tx, [
    auditOfChange(change, {
      id: change.auditId,
      direction: change.direction,
      scope: row,
      change: { ...NO_SETTINGS, ...shownRules({ ...NO_RULES, added: [row] }) },
    }),
  ])
}

export const removePolicyRule = transaction({
  name: 'deletePolicyRule',
  accountOf: payerOfChange,
  essential: true,
  async run(
    tx: Tx,
    input: Change & { ruleId: string; direction: PolicyDirection | null; auditId: string },
  ): Promise<{ kind: 'removed' } | PolicyRefusal> {
    const { accountId, ruleId } = input
    await lockAccount(tx, accountId)
    if (await needsApprover(tx, accountId, input.actor)) return { kind: 'approver_required' }
    for (const direction of input.direction === null ? DIRECTIONS : [input.direction]) {
      const row = await removeRule(tx, direction, { accountId, ruleId })
      if (row === null) continue
      const change = { ...NO_SETTINGS, ...shownRules({ ...NO_RULES, removed: [row] }) }
      await insertAudit(tx, [
        auditOfChange(input, { id: input.auditId, direction, scope: row, change }),
      ])
      return { kind: 'removed' }
    }
    return { kind: 'not_found' }
  },
})

/** `inherit` is stored as null for a pod or an inbox, and as `none` for the account. */
function storedMode(mode: PolicyMode, width: PolicyScope): FilterMode | null {
  if (mode !== 'inherit') return mode
  return width === 'account' ? 'none' : null
}

async function writeColumns(
  tx: Tx,
  {
    accountId,
    width,
    scope,
    columns,
  }: {
    accountId: string
    width: PolicyScope
    scope: RuleScope
    columns: PolicyColumns
  },
): Promise<void> {
  const { filter_mode, outbound_policy } = columns
  switch (width) {
    case 'account': {
      const set = { filter_mode: filter_mode ?? 'none', outbound_policy }
      await tx.query.updateTable('accounts').set(set).where('id', '=', accountId).execute()
      return
    }
    case 'pod':
      await tx.query
        .updateTable('pods')
        .set({ filter_mode, outbound_policy })
        .where('account_id', '=', accountId)
        .where('id', '=', scope.pod_id)
        .execute()
      return
    case 'inbox':
      await tx.query
        .updateTable('inboxes')
        .set({ filter_mode, outbound_policy })
        .where('account_id', '=', accountId)
        .where('id', '=', scope.inbox_id)
        .execute()
  }
}

const AUDIT_RULES_SHOWN = 100

const NO_RULES: RuleChange = { added: [], removed: [], changed: [] }
const NO_SETTINGS = { modeBefore: null, modeAfter: null, guardsBefore: null, guardsAfter: null }

type Settings = Pick<PolicyChange, keyof typeof NO_SETTINGS | 'allowedFindings'>

function settingsOf(
  direction: PolicyDirection,
  width: PolicyScope,
  { before, after }: { before: PolicyColumns; after: PolicyColumns },
): Settings {
  if (direction === 'inbound') {
    return { ...NO_SETTINGS, modeBefore: inboundMode(before), modeAfter: inboundMode(after) }
  }
  const [was, is] = [before, after].map(({ outbound_policy: stored }) =>
    readOutbound(stored, width),
  )
  if (was === undefined || is === undefined) return NO_SETTINGS
  return {
    modeBefore: was.mode,
    modeAfter: is.mode,
    guardsBefore: was.guards,
    guardsAfter: is.guards,
    ...changeOfFindings(was.allowedFindings, is.allowedFindings),
  }
}

/** A changed note is no change of what is allowed. */
function changeOfFindings(
  before: readonly AllowedFinding[],
  after: readonly AllowedFinding[],
): Pick<PolicyChange, 'allowedFindings'> {
  const missingIn = (others: readonly AllowedFinding[]) => {
    const keys = new Set(others.map(findingKey))
    return (one: AllowedFinding) => !keys.has(findingKey(one))
  }
  const added = after.filter(missingIn(before))
  const removed = before.filter(missingIn(after))
  return added.length + removed.length === 0 ? {} : { allowedFindings: { added, removed } }
}

function shownRules({
  added,
  removed,
  changed,
}: RuleChange): Pick<PolicyChange, 'added' | 'removed' | 'changed'> {
  return {
    added: firstOf(added),
    removed: firstOf(removed),
    ...(changed.length > 0 && { changed: firstOf(changed) }),
  }
}

function firstOf(rules: readonly Pick<RuleRow, 'type' | 'value'>[]): PolicyChange['added'] {
  const first = rules.slice(0, AUDIT_RULES_SHOWN)
  return {
    count: rules.length,
    first: first.map(({ type, value }) => ({ type: type as SenderRuleType, value })),
  }
}

function isChange(change: PolicyChange, rules: RuleChange): boolean {
  return (
    change.modeBefore !== change.modeAfter ||
    JSON.stringify(change.guardsBefore) !== JSON.stringify(change.guardsAfter) ||
    change.allowedFindings !== undefined ||
    rules.added.length + rules.removed.length + rules.changed.length > 0
  )
}

function auditOfChange(
  { accountId, actor, nowMs }: Change,
  {
    id,
    direction,
    scope,
    change,
  }: {
    id: string
    direction: PolicyDirection
    scope: RuleScope
    change: PolicyChange
  },
): NewAuditEntry {
  return {
    id,
    accountId,
    direction,
    decision: 'change',
    podId: scope.pod_id,
    inboxId: scope.inbox_id,
    actor,
    details: { change },
    createdAtMs: nowMs,
  }
}

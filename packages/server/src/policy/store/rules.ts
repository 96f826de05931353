import { POLICY_RULES_MAX, type PolicyDirection } from '@mailroom/contract/vocabulary.ts'
import { forEachRow, rowInsert } from '#platform/db/statement.ts'
import { countRules } from '#store/own-policy.ts'
import type { ReadDb, Row, Tables, Tx } from '#store/tables.ts'

const REMOVED_AT_ONCE = 500

export type RuleRow = Row<'sender_rules'>
export type RuleScope = Pick<RuleRow, 'pod_id' | 'inbox_id'>
/** The terms of a new rule replace those of an equal one. */
type RuleTerms = Pick<RuleRow, 'needs_verified' | 'expires_at' | 'note'>
export type NewRule = Pick<RuleRow, 'id' | 'type' | 'value'> & RuleTerms

const RULE_COLUMNS = [
  'id',
  'account_id',
  'pod_id',
  'inbox_id',
  'type',
  'value',
  'expires_at',
  'note',
  'created_at',
] as const

const insertRules = {
  inbound: forEachRow(
    rowInsert<Tables, RuleRow>('sender_rules', [...RULE_COLUMNS, 'needs_verified']),
  ),
  outbound: forEachRow(rowInsert<Tables, RuleRow>('recipient_rules', RULE_COLUMNS)),
}

/** The type is that of recipient_rules; sender_rules has one more column. */
function tableOf(direction: PolicyDirection) {
  return (direction === 'inbound' ? 'sender_rules' : 'recipient_rules') as 'recipient_rules'
}

/** Lists rules newest first, without those of wider scopes. */
async function listRulesOf(
  db: ReadDb,
  direction: PolicyDirection,
  { accountId, scope }: { accountId: string; scope: RuleScope },
): Promise<RuleRow[]> {
  const all = await listRulesFor(db, direction, { accountId, scope })
  return all.filter((row) => row.pod_id === scope.pod_id && row.inbox_id === scope.inbox_id)
}

/** Lists rules newest first, including those of wider scopes. */
export async function listRulesFor(
  db: ReadDb,
  direction: PolicyDirection,
  { accountId, scope }: { accountId: string; scope: RuleScope },
): Promise<RuleRow[]> {
  const rows = await db.read
    .selectFrom(tableOf(direction))
    .selectAll()
    .where('account_id', '=', accountId)
    .where(({ and, eb, or }) => {
      const ofPod = [eb('pod_id', 'is', null), ...some(scope.pod_id, (id) => eb('pod_id', '=', id))]
      return or([
        and([eb('inbox_id', 'is', null), or(ofPod)]),
        ...some(scope.inbox_id, (id) => eb('inbox_id', '=', id)),
      ])
    })
    .orderBy('id', 'desc')
    .execute()
  return rows.map((row) => ({ needs_verified: 0, ...row }))
}

function some<Value, Result>(value: Value | null, map: (value: Value) => Result): Result[] {
  return value === null ? [] : [map(value)]
}

export type AddedRule = { row: RuleRow; isChanged: boolean }

/**
 * If an equal rule exists, it is returned with its terms changed, regardless of the limit.
 * The caller must have locked the account and passes its row.
 */
export async function addRule(
  tx: Tx,
  direction: PolicyDirection,
  {
    account,
    scope,
    rule,
    nowMs,
  }: {
    account: Row<'accounts'>
    scope: RuleScope
    rule: NewRule
    nowMs: number
  },
): Promise<AddedRule | null> {
  const same = await findSame(tx, direction, { accountId: account.id, scope, rule })
  if (same !== null) {
    const terms = termsOf(rule)
    const isChanged = !hasTerms(same, terms)
    if (isChanged) await setTerms(tx, direction, [{ id: same.id, ...terms }])
    return { row: { ...same, ...terms }, isChanged }
  }
  if (countOf(account, direction) >= POLICY_RULES_MAX) return null
  const row = { ...rule, ...scope, account_id: account.id, created_at: nowMs }
  await insertRules[direction](tx, [row])
  await countRules(tx, account.id, { [direction]: 1 })
  return { row, isChanged: true }
}

function countOf(account: Row<'accounts'>, direction: PolicyDirection): number {
  return direction === 'inbound' ? account.sender_rule_count : account.recipient_rule_count
}

async function findSame(
  tx: Tx,
  direction: PolicyDirection,
  { accountId, scope, rule }: { accountId: string; scope: RuleScope; rule: NewRule },
): Promise<RuleRow | null> {
  const row = await tx.query
    .selectFrom(tableOf(direction))
    .selectAll()
    .where('account_id', '=', accountId)
    .where('value', '=', rule.value)
    .where('type', '=', rule.type)
    .where('pod_id', scope.pod_id === null ? 'is' : '=', scope.pod_id)
    .where('inbox_id', scope.inbox_id === null ? 'is' : '=', scope.inbox_id)
    .executeTakeFirst()
  return row === undefined ? null : { needs_verified: 0, ...row }
}

export function hasEnded(expiresAtMs: number | null, nowMs: number): boolean {
  return expiresAtMs !== null && expiresAtMs <= nowMs
}

function termsOf({ needs_verified, expires_at, note }: RuleTerms): RuleTerms {
  return { needs_verified, expires_at, note }
}

function hasTerms(row: RuleTerms, terms: RuleTerms): boolean {
  return (
    row.needs_verified === terms.needs_verified &&
    row.expires_at === terms.expires_at &&
    row.note === terms.note
  )
}

async function setTerms(
  tx: Tx,
  direction: PolicyDirection,
  rules: readonly (RuleTerms & { id: string })[],
): Promise<void> {
  for (const { id, needs_verified, expires_at, note } of rules) {
    const terms = { expires_at, note, ...(direction === 'inbound' ? { needs_verified } : {}) }
    await tx.query.updateTable(tableOf(direction)).set(terms).where('id', '=', id).execute()
  }
}

export type RuleChange = {
  added: readonly NewRule[]
  removed: readonly RuleRow[]
  changed: readonly RuleRow[]
}

/** Equal rules keep their ids. Null if the account, which is locked, would have too many. */
export async function planRules(
  db: ReadDb,
  direction: PolicyDirection,
  {
    account,
    scope,
    rules,
  }: { account: Row<'accounts'>; scope: RuleScope; rules: readonly NewRule[] },
): Promise<RuleChange | null> {
  const existing = await listRulesOf(db, direction, { accountId: account.id, scope })
  const wanted = new Map(rules.map((rule) => [nameOf(rule), rule]))
  const known = new Map(existing.map((row) => [nameOf(row), row]))
  const removed = existing.filter((row) => !wanted.has(nameOf(row)))
  const added = [...wanted.values()].filter((rule) => !known.has(nameOf(rule)))
  const total = countOf(account, direction) - removed.length + added.length
  if (added.length > 0 && total > POLICY_RULES_MAX) return null
  const changed = existing.flatMap((row) => {
    const terms = wanted.get(nameOf(row))
    return terms === undefined || hasTerms(row, terms) ? [] : [{ ...row, ...termsOf(terms) }]
  })
  return { added, removed, changed }
}

export async function changeRules(
  tx: Tx,
  direction: PolicyDirection,
  {
    accountId,
    scope,
    change,
    nowMs,
  }: {
    accountId: string
    scope: RuleScope
    change: RuleChange
    nowMs: number
  },
): Promise<void> {
  const { added, removed, changed } = change
  for (let from = 0; from < removed.length; from += REMOVED_AT_ONCE) {
    const ids = removed.slice(from, from + REMOVED_AT_ONCE).map(({ id }) => id)
    await tx.query.deleteFrom(tableOf(direction)).where('id', 'in', ids).execute()
  }
  const columns = { ...scope, account_id: accountId, created_at: nowMs }
  await insertRules[direction](
    tx,
    added.map((rule) => ({ ...rule, ...columns })),
  )
  await countRules(tx, accountId, { [direction]: added.length - removed.length })
  await setTerms(tx, direction, changed)
}

function nameOf({ type, value }: Pick<RuleRow, 'type' | 'value'>): string {
  return `${type} ${value}`
}

/** Returns the removed rule, or null. The caller must have locked the account. */
export async function removeRule(
  tx: Tx,
  direction: PolicyDirection,
  { accountId, ruleId }: { accountId: string; ruleId: string },
): Promise<RuleRow | null> {
  const row = await tx.query
    .deleteFrom(tableOf(direction))
    .where('account_id', '=', accountId)
    .where('id', '=', ruleId)
    .returningAll()
    .executeTakeFirst()
  if (row === undefined) return null
  await countRules(tx, accountId, { [direction]: -1 })
  return { needs_verified: 0, ...row }
}

import { insertEvent } from '#events/store/append.ts'
import { transaction } from '#platform/db/db.ts'
import { lockRows } from '#platform/db/dialect.ts'
import { type Approver, approvers } from '#store/nouns.ts'
import type { ReadDb, Tx } from '#store/tables.ts'
import {
  type ApproverWebhook,
  addApproverWebhook,
  removeApproverWebhook,
} from '#webhooks/store/webhooks.ts'
import { lockAccount } from './accounts.ts'
import type { Actor } from './actor.ts'
import { accountEntry, insertAudit } from './audit.ts'
import { activeApprovers, isAllowed, payerOfChange } from './authority.ts'

export type { Approver }

export const APPROVERS_MAX = 50

type ChangeIds = { eventId: string; auditId: string }

type NewApprover = ChangeIds & {
  accountId: string
  approver: Approver & { tokenHash: Uint8Array }
  webhook: ApproverWebhook | null
  actor: Actor
  keyMayBegin: boolean
}

export const insertApprover = transaction({
  name: 'createApprover',
  accountOf: payerOfChange,
  async run(
    tx: Tx,
    { accountId, approver, webhook, actor, keyMayBegin, ...ids }: NewApprover,
  ): Promise<
    'created' | 'no_account' | 'approver_required' | 'machine_required' | 'limit_reached'
  > {
    if ((await lockAccount(tx, accountId)) === null) return 'no_account'
    const active = await activeApprovers(tx, accountId)
    if (!isAllowed(actor, active)) return 'approver_required'
    if (actor.kind === 'key' && !keyMayBegin) return 'machine_required'
    if (active.length >= APPROVERS_MAX) return 'limit_reached'
    await tx.query
      .insertInto('approvers')
      .values({
        ...approvers.write(approver),
        account_id: accountId,
        token_hash: approver.tokenHash,
      })
      .execute()
    const { id: approverId, createdAtMs: nowMs } = approver
    if (webhook !== null) await addApproverWebhook(tx, { ...webhook, accountId, approverId, nowMs })
    await noteChange(tx, 'approver.created', { ...ids, accountId, actor, approver, nowMs })
    return 'created'
  },
})

/** Only the operator may delete the last approver. A second call returns `not_found`. */
export const markApproverDeleted = transaction({
  name: 'deleteApprover',
  accountOf: payerOfChange,
  essential: true,
  async run(
    tx: Tx,
    input: ChangeIds & { accountId: string; approverId: string; actor: Actor; nowMs: number },
  ): Promise<'deleted' | 'not_found' | 'approver_required' | 'last_approver'> {
    const { accountId, approverId, actor, nowMs } = input
    if ((await lockAccount(tx, accountId)) === null) return 'not_found'
    const active = await activeApprovers(tx, accountId)
    if (!isAllowed(actor, active)) return 'approver_required'
    if (!active.includes(approverId)) return 'not_found'
    if (active.length === 1 && actor.kind !== 'operator') return 'last_approver'
    const row = await tx.query
      .updateTable('approvers')
      .set({ deleted_at: nowMs })
      .where('account_id', '=', accountId)
      .where('id', '=', approverId)
      .returning('name')
      .executeTakeFirstOrThrow()
    await removeApproverWebhook(tx, input)
    const approver = { id: approverId, name: row.name }
    await noteChange(tx, 'approver.deleted', { ...input, approver })
    return 'deleted'
  },
})

async function noteChange(
  tx: Tx,
  kind: 'approver.created' | 'approver.deleted',
  {
    accountId,
    actor,
    approver: { id, name },
    nowMs,
    eventId,
    auditId,
  }: ChangeIds & {
    accountId: string
    actor: Actor
    approver: Pick<Approver, 'id' | 'name'>
    nowMs: number
  },
): Promise<void> {
  const approver = { id, name }
  await insertAudit(tx, [
    accountEntry({
      id: auditId,
      accountId,
      decision: kind === 'approver.created' ? 'approver_created' : 'approver_deleted',
      actor,
      details: { approver },
      createdAtMs: nowMs,
    }),
  ])
  await insertEvent(tx, {
    id: eventId,
    kind,
    account_id: accountId,
    pod_id: null,
    inbox_id: null,
    thread_id: null,
    message_id: null,
    occurred_at: nowMs,
    details: JSON.stringify({ approver }),
  })
}

export async function listApprovers(
  db: ReadDb,
  input: { accountId: string; limit: number; offset: number },
): Promise<{ approvers: Approver[]; total: number }> {
  const rows = await db.read
    .selectFrom('approvers')
    .selectAll()
    .where('account_id', '=', input.accountId)
    .where('deleted_at', 'is', null)
    .orderBy('id', 'desc')
    .execute()
  const page = rows.slice(input.offset, input.offset + input.limit)
  return { approvers: page.map(approvers.read), total: rows.length }
}

export async function hasApprover(db: ReadDb, accountId: string): Promise<boolean> {
  return (await listApprovers(db, { accountId, limit: 1, offset: 0 })).total > 0
}

export async function listApproversWithEmail(db: ReadDb, accountId: string): Promise<string[]> {
  const rows = await db.read
    .selectFrom('approvers')
    .select('id')
    .where('account_id', '=', accountId)
    .where('deleted_at', 'is', null)
    .where('email', 'is not', null)
    .execute()
  return rows.map(({ id }) => id)
}

export function findApproverByToken(db: ReadDb, tokenHash: Uint8Array) {
  return db.read
    .selectFrom('approvers')
    .select(['id as approverId', 'account_id as accountId', 'token_hash as tokenHash'])
    .where('token_hash', '=', tokenHash)
    .where('deleted_at', 'is', null)
    .executeTakeFirst()
}

export async function findApprover(
  db: ReadDb,
  { accountId, approverId }: { accountId: string; approverId: string },
): Promise<Approver | null> {
  const row = await db.read
    .selectFrom('approvers')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('id', '=', approverId)
    .where('deleted_at', 'is', null)
    .executeTakeFirst()
  return row === undefined ? null : approvers.read(row)
}

/** A deletion of the approver waits until the transaction ends. */
export async function lockApprover(
  tx: Tx,
  { accountId, approverId }: { accountId: string; approverId: string },
): Promise<boolean> {
  const active = tx.query
    .selectFrom('approvers')
    .select('id')
    .where('account_id', '=', accountId)
    .where('id', '=', approverId)
    .where('deleted_at', 'is', null)
  return (await lockRows(tx, active).executeTakeFirst()) !== undefined
}

/** Searches all accounts, because operators do not name one. */
export async function findApproverAccount(db: ReadDb, approverId: string): Promise<string | null> {
  const row = await db.read
    .selectFrom('approvers')
    .select('account_id')
    .where('id', '=', approverId)
    .where('deleted_at', 'is', null)
    .executeTakeFirst()
  return row?.account_id ?? null
}

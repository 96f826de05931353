import type { Tx } from '#store/tables.ts'
import type { Actor } from './actor.ts'

/**
 * Whether only an approver may change an agent's restrictions: the account has an approver, and the
 * actor is a key or a deleted approver. The caller has locked the account.
 */
export async function needsApprover(tx: Tx, accountId: string, actor: Actor): Promise<boolean> {
  return !isAllowed(actor, await activeApprovers(tx, accountId))
}

export function isAllowed(actor: Actor, active: readonly string[]): boolean {
  switch (actor.kind) {
    case 'operator':
      return true
    case 'key':
      return active.length === 0
    case 'approver':
      return active.includes(actor.approverId)
  }
}

/** The share of writes that a change uses. Approvers have a separate share, as for requests. */
export function payerOfChange({ accountId, actor }: { accountId: string; actor: Actor }): string {
  return actor.kind === 'approver' ? actor.approverId : accountId
}

export async function activeApprovers(tx: Tx, accountId: string): Promise<string[]> {
  const rows = await tx.query
    .selectFrom('approvers')
    .select('id')
    .where('account_id', '=', accountId)
    .where('deleted_at', 'is', null)
    .execute()
  return rows.map(({ id }) => id)
}

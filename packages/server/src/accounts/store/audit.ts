// The audit log: decisions of policies and approvers, and changes to both. Entries are removed only
// by age; an erasure replaces the address in entries.

import type { PolicyChange } from '@mailroom/contract/policy.ts'
import type { HoldReason } from '@mailroom/contract/sending.ts'
import { transaction } from '#platform/db/db.ts'
import { forEachRow, rowInsert } from '#platform/db/statement.ts'
import { DAY_MS } from '#platform/units.ts'
import type { Fields } from '#store/columns.ts'
import { auditEntries } from '#store/nouns.ts'
import { removeOldest } from '#store/purge-steps.ts'
import type { Row, Tables, Tx } from '#store/tables.ts'
import type { Actor } from './actor.ts'

export const AUDIT_MS = 90 * DAY_MS

type DecisionDetails = {
  messageId: string | null
  /** Null unless mail was quarantined. */
  sender: string | null
  recipients: string[]
  reasons: HoldReason[]
}

type ReviewDetails = { reviewId: string; messageId: string; note: string | null }

type AuditDetails =
  | DecisionDetails
  | ReviewDetails
  | { change: PolicyChange }
  | { approver: { id: string; name: string } }
  | { erasureId: string }

export type NewAuditEntry = Omit<Fields<typeof auditEntries>, 'actor' | 'details'> & {
  actor: Actor | null
  details: AuditDetails
}

const insertRows = forEachRow(
  rowInsert<Tables, Row<'policy_audit'>>('policy_audit', auditEntries.names),
)

export async function insertAudit(tx: Tx, entries: readonly NewAuditEntry[]): Promise<void> {
  await insertRows(tx, entries.map(auditEntries.write))
}

/** The audit entry is the only record of a refused send. */
export const noteRejection = transaction({
  name: 'noteRejection',
  accountOf: ({ accountId }) => accountId,
  run: (tx: Tx, entry: NewAuditEntry): Promise<void> => insertAudit(tx, [entry]),
})

/** Removes one batch of expired entries and returns its size. */
export async function purgeAudit(tx: Tx, nowMs: number): Promise<number> {
  const removed = await removeOldest(tx, 'policy_audit', {
    key: ['id'],
    time: 'created_at',
    until: nowMs - AUDIT_MS,
    returning: 'id',
  })
  return removed.length
}

export function accountEntry(
  entry: Pick<NewAuditEntry, 'id' | 'accountId' | 'decision' | 'actor' | 'details' | 'createdAtMs'>,
): NewAuditEntry {
  return { ...entry, direction: 'outbound', podId: null, inboxId: null }
}

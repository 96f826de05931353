// The audit: what policies decided, and how they changed.

import type { PolicyChange } from '@mailroom/contract/policy.ts'
import type { HoldReason } from '@mailroom/contract/sending.ts'
import type { PolicyDecision, PolicyDirection } from '@mailroom/contract/vocabulary.ts'
import type { Actor } from '#http/handler.ts'
import { transaction } from '#platform/db/db.ts'
import { forEachRow, rowInsert } from '#platform/db/statement.ts'
import { DAY_MS } from '#platform/units.ts'
import { removeOldest } from '#schema/purge-steps.ts'
import type { Row, Tables, Tx } from '#schema/tables.ts'

export const AUDIT_MS = 90 * DAY_MS

/** Of a decision about mail. */
type DecisionDetails = {
  messageId: string | null
  /** Of quarantined mail. */
  sender: string | null
  recipients: readonly string[]
  reasons: readonly HoldReason[]
}

export type AuditDetails = DecisionDetails | { change: PolicyChange }

export type AuditEntry = {
  id: string
  direction: PolicyDirection
  decision: PolicyDecision
  podId: string | null
  inboxId: string | null
  actor: Actor | null
  details: AuditDetails
  createdAtMs: number
}

export type NewAuditEntry = AuditEntry & { accountId: string }

const insertRows = forEachRow(
  rowInsert<Tables, Row<'policy_audit'>>('policy_audit', [
    'id',
    'account_id',
    'direction',
    'decision',
    'pod_id',
    'inbox_id',
    'actor',
    'details',
    'created_at',
  ]),
)

export async function insertAudit(tx: Tx, entries: readonly NewAuditEntry[]): Promise<void> {
  await insertRows(
    tx,
    entries.map((entry) => ({
      id: entry.id,
      account_id: entry.accountId,
      direction: entry.direction,
      decision: entry.decision,
      pod_id: entry.podId,
      inbox_id: entry.inboxId,
      actor: entry.actor === null ? null : JSON.stringify(entry.actor),
      details: JSON.stringify(entry.details),
      created_at: entry.createdAtMs,
    })),
  )
}

/** A refused send leaves nothing else. */
export const noteRejection = transaction({
  name: 'noteRejection',
  accountOf: ({ accountId }) => accountId,
  run: (tx: Tx, entry: NewAuditEntry): Promise<void> => insertAudit(tx, [entry]),
})

/** Removes a step of the entries that are 90 days old; returns their number. */
export async function purgeAudit(tx: Tx, nowMs: number): Promise<number> {
  const removed = await removeOldest(tx, 'policy_audit', {
    key: ['id'],
    time: 'created_at',
    until: nowMs - AUDIT_MS,
    returning: 'id',
  })
  return removed.length
}

import type { PolicyDecision, PolicyDirection } from '@mailroom/contract/vocabulary.ts'
import { COUNTED_MAX } from '@mailroom/contract/vocabulary.ts'
import type { NewAuditEntry } from '#accounts/store/audit.ts'
import { auditEntries } from '#store/nouns.ts'
import type { Page, ReadDb, Row } from '#store/tables.ts'

const DECISIONS: Readonly<Record<PolicyDirection, readonly PolicyDecision[]>> = {
  inbound: ['quarantine', 'change'],
  outbound: [
    'allow',
    'hold',
    'reject',
    'change',
    'approved',
    'rejected',
    'expired',
    'edited',
    'commented',
    'approver_created',
    'approver_deleted',
    'erasure',
  ],
}

type AuditFilter = {
  sinceMs: number | null
  /** The end of the period is exclusive. */
  untilMs: number | null
  direction: PolicyDirection | null
  decision: PolicyDecision | null
}

/** Lists entries newest first. The total is counted up to COUNTED_MAX. */
export async function listAudit(
  db: ReadDb,
  input: AuditFilter & { accountId: string } & Page,
): Promise<{ entries: NewAuditEntry[]; total: number }> {
  const { limit, offset } = input
  // Each kind is a range of the index, so that a frequent kind never hides a rare one.
  const newest = await Promise.all(
    kindsOf(input).map((kind) =>
      ofKind(db, input, kind)
        .select(['id', 'created_at'])
        .orderBy('created_at', 'desc')
        .orderBy('id', 'desc')
        .limit(COUNTED_MAX)
        .execute(),
    ),
  )
  const found = newest.flat().sort(byTime)
  const ids = found.slice(offset, offset + limit).map(({ id }) => id)
  const rows =
    ids.length === 0
      ? []
      : await db.read.selectFrom('policy_audit').selectAll().where('id', 'in', ids).execute()
  return {
    entries: rows.sort(byTime).map(auditEntries.read) as NewAuditEntry[],
    total: Math.min(COUNTED_MAX, found.length),
  }
}

function byTime(
  a: Pick<Row<'policy_audit'>, 'id' | 'created_at'>,
  b: Pick<Row<'policy_audit'>, 'id' | 'created_at'>,
): number {
  return b.created_at - a.created_at || (a.id < b.id ? 1 : -1)
}

type Kind = { direction: PolicyDirection; decision: PolicyDecision }

function kindsOf({ direction, decision }: AuditFilter): Kind[] {
  const directions: PolicyDirection[] = direction === null ? ['inbound', 'outbound'] : [direction]
  return directions
    .flatMap((one) => DECISIONS[one].map((of) => ({ direction: one, decision: of })))
    .filter((kind) => decision === null || kind.decision === decision)
}

function ofKind(
  db: ReadDb,
  { accountId, sinceMs, untilMs }: AuditFilter & { accountId: string },
  { direction, decision }: Kind,
) {
  let query = db.read
    .selectFrom('policy_audit')
    .where('account_id', '=', accountId)
    .where('direction', '=', direction)
    .where('decision', '=', decision)
  if (sinceMs !== null) query = query.where('created_at', '>=', sinceMs)
  if (untilMs !== null) query = query.where('created_at', '<', untilMs)
  return query
}

// Writes the outcome of a check. Locks the account, then the domain's rows of all accounts.

import { lockAccount } from '#accounts/store/accounts.ts'
import { noteKeysSeen } from '#domains/dkim/store/dkim-keys.ts'
import {
  DOMAIN_CHECK_EVERY_MS,
  type Domain,
  type DomainStatus,
  nextCheckAt,
  nextStatus,
  type RecordCheck,
} from '#domains/model.ts'
import { insertEvent } from '#events/store/append.ts'
import { CLOCK_SKEW_MS } from '#platform/clock.ts'
import { transaction } from '#platform/db/db.ts'
import { lockRows } from '#platform/db/dialect.ts'
import { MINUTE_MS } from '#platform/units.ts'
import { domains } from '#store/nouns.ts'
import type { ReadDb, Tx } from '#store/tables.ts'
import { isHeld, lockDomainsNamed } from './domains.ts'

/** A check without an outcome (no DNS answer, or the process died) is repeated after this time. */
const DOMAIN_CHECK_RETRY_MS = 10 * MINUTE_MS
/** Due checks considered in one run; large, because many may belong to one account. */
const DOMAIN_CHECKS_SEEN_MAX = 5_000

type DomainSettling = {
  accountId: string
  domainId: string
  domain: string
  /** The status before DNS was queried, so that the outcome of a later check is not overwritten. */
  status: DomainStatus
  lastCheckedAtMs: number | null
  checks: RecordCheck[]
  isRight: boolean
  isSure: boolean
  takesBounces: boolean
  eventId: string
  nowMs: number
}

export type DomainSettled =
  | { kind: 'settled'; domain: Domain; hasEvent: boolean }
  /** Another account has already verified the domain. */
  | { kind: 'taken'; domain: Domain; hasEvent: boolean }
  /** Another check finished first; nothing was written. */
  | { kind: 'changed'; domain: Domain; isTaken: boolean }
  | { kind: 'not_found' }

export const settleDomain = transaction({
  name: 'settleDomain',
  accountOf: ({ accountId }) => accountId,
  async run(tx: Tx, input: DomainSettling): Promise<DomainSettled> {
    const { nowMs } = input
    await lockAccount(tx, input.accountId)
    const rows = await lockDomainsNamed(tx, input.domain)
    const kept = rows.find(
      ({ id, accountId }) => id === input.domainId && accountId === input.accountId,
    )
    if (kept === undefined) return { kind: 'not_found' }
    const others = rows.filter(({ id }) => id !== kept.id)
    const isTaken = input.isRight && !kept.isHolder && others.some(isHeld)
    const isAsRead = kept.status === input.status && kept.lastCheckedAtMs === input.lastCheckedAtMs
    if (!isAsRead) return { kind: 'changed', domain: kept, isTaken }

    await noteKeysSeen(tx, kept.id, input)
    const isRight = input.isRight && !isTaken
    const status = nextStatus(kept, { isRight, isSure: input.isSure, nowMs })
    if (status === 'verified' && !kept.isHolder) await takeOver(tx, kept, others)
    const degradedAtMs = status === 'degraded' ? degradedSince(kept, nowMs) : null
    const state = { status, createdAtMs: kept.createdAtMs, degradedAtMs }
    const regular = nextCheckAt(state, nowMs)
    const isHolder = kept.isHolder || status === 'verified'
    const row = await tx.query
      .updateTable('domains')
      .set(
        domains.write({
          status,
          checks: input.checks,
          isHolder,
          takesBounces: isHolder && input.takesBounces,
          degradedAtMs,
          nextCheckAtMs: input.isSure ? regular : Math.min(regular, nowMs + DOMAIN_CHECK_RETRY_MS),
          lastCheckedAtMs: nowMs,
          ...(status === 'verified' && kept.status !== 'verified' && { verifiedAtMs: nowMs }),
        }),
      )
      .where('id', '=', kept.id)
      .returningAll()
      .executeTakeFirstOrThrow()
    const domain = domains.read(row)
    const hasEvent = await addEvent(tx, { before: kept.status, domain, input })
    return { kind: isTaken ? 'taken' : 'settled', domain, hasEvent }
  },
})

/** A future time was written before the clock was set back. */
function degradedSince({ degradedAtMs }: Domain, nowMs: number): number {
  return degradedAtMs === null || degradedAtMs > nowMs + CLOCK_SKEW_MS ? nowMs : degradedAtMs
}

/** Moves the domain's mail to this account. Inboxes of other accounts keep their messages. */
async function takeOver(tx: Tx, domain: Domain, others: readonly Domain[]): Promise<void> {
  await holdMail(tx, [domain, ...others])
  for (const other of others) {
    if (!other.isHolder) continue
    await tx.query
      .updateTable('domains')
      .set({ is_holder: 0, takes_bounces: 0 })
      .where('id', '=', other.id)
      .execute()
    await tx.query
      .updateTable('inboxes')
      .set({ receiving_address: null })
      .where('domain_id', '=', other.id)
      .execute()
  }
  await tx.query
    .updateTable('inboxes')
    .set((row) => ({ receiving_address: row.ref('address') }))
    .where('domain_id', '=', domain.id)
    .execute()
}

/** Waits until current mail for these domains is stored; blocks further mail until the commit. */
async function holdMail(tx: Tx, domains: readonly Domain[]): Promise<void> {
  const ids = domains.map(({ id }) => id)
  // Arriving mail locks the same rows in the same order.
  const counters = tx.query
    .selectFrom('inbox_counters')
    .select('inbox_id')
    .where(({ eb, or, selectFrom }) =>
      or([
        eb('inbox_id', 'in', selectFrom('inboxes').select('id').where('domain_id', 'in', ids)),
        eb(
          'inbox_id',
          'in',
          selectFrom('domains').select('catch_all_inbox_id').where('id', 'in', ids).$castTo<{
            catch_all_inbox_id: string
          }>(),
        ),
      ]),
    )
    .orderBy('inbox_id')
  await lockRows(tx, counters).execute()
}

async function addEvent(
  tx: Tx,
  { before, domain, input }: { before: DomainStatus; domain: Domain; input: DomainSettling },
): Promise<boolean> {
  const { status } = domain
  if (status === before || (status !== 'verified' && status !== 'failed')) return false
  await insertEvent(tx, {
    id: input.eventId,
    kind: status === 'verified' ? 'domain.verified' : 'domain.failed',
    account_id: domain.accountId,
    pod_id: domain.podId,
    inbox_id: null,
    thread_id: null,
    message_id: null,
    occurred_at: input.nowMs,
    details: JSON.stringify({
      domain: { id: domain.id, domain: domain.domain, status, pod_id: domain.podId },
    }),
  })
  return true
}

/** Includes times too far in the future, which were written before the clock was set back. */
function dueIn(tx: Pick<ReadDb, 'read'>, nowMs: number) {
  return tx.read
    .selectFrom('domains')
    .select(['id', 'account_id', 'next_check_at'])
    .where(({ eb, or }) =>
      or([
        eb('next_check_at', '<=', nowMs),
        eb('next_check_at', '>', nowMs + DOMAIN_CHECK_EVERY_MS + CLOCK_SKEW_MS),
      ]),
    )
}

export async function hasDueDomains(db: ReadDb, nowMs: number): Promise<boolean> {
  return (await dueIn(db, nowMs).limit(1).executeTakeFirst()) !== undefined
}

/** Leases due domains. Accounts take turns, so that silent DNS servers of one delay no other. */
export const claimDomainChecks = transaction({
  name: 'claimDomainChecks',
  accountOf: () => null,
  async run(
    tx: Tx,
    { limit, nowMs }: { limit: number; nowMs: number },
  ): Promise<{ accountId: string; domainId: string }[]> {
    const read = tx.query
    const ranked = read
      .selectFrom(
        dueIn({ read }, nowMs).orderBy('next_check_at').limit(DOMAIN_CHECKS_SEEN_MAX).as('due'),
      )
      .select(['due.id', 'due.next_check_at'])
      .select(({ fn }) =>
        fn
          .agg<number>('row_number')
          .over((over) => over.partitionBy('due.account_id').orderBy('due.next_check_at'))
          .as('place'),
      )
    const chosen = read
      .selectFrom(ranked.as('ranked'))
      .select('ranked.id')
      .orderBy('ranked.place')
      .orderBy('ranked.next_check_at')
      .limit(limit)
    // Tested again under the lock: another process may have leased it first.
    const due = dueIn({ read }, nowMs).where('id', 'in', chosen)
    const rows = await lockRows(tx, due, { skipLocked: true }).execute()
    if (rows.length === 0) return []
    await tx.query
      .updateTable('domains')
      .set({ next_check_at: nowMs + DOMAIN_CHECK_RETRY_MS })
      .where(
        'id',
        'in',
        rows.map(({ id }) => id),
      )
      .execute()
    return rows.map(({ id, account_id: accountId }) => ({ accountId, domainId: id }))
  },
})

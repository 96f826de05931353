// One check of a custom domain: DNS is asked, a pure function says what follows, and one transaction
// writes it. Who wants it, and how many there are at once, is not known here.

import type { Clock } from '#platform/clock.ts'
import type { Resolver } from '#platform/dns/resolver.ts'
import type { MakeId } from '#platform/ids.ts'
import type { Log } from '#platform/log.ts'
import type { Db } from '#schema/tables.ts'
import { type AskedRecord, askRecords } from './ask-records.ts'
import type { Domain, RecordCheck } from './domain.ts'
import { findDomain } from './domain-rows.ts'
import { nextStatus } from './domain-state.ts'
import { type DomainSettled, settleDomain } from './settle-domain-rows.ts'
import { findCheck, recordsOf } from './shown-domain.ts'

export type CheckDeps = {
  db: Db
  clock: Clock
  makeId: MakeId
  log: Log
  resolver: Resolver
  smtpHostname: string
  wakeEvents: () => void
}

export type DomainNamed = { accountId: string; domainId: string }

/** Checks that others made meanwhile, until their word is taken. */
const ATTEMPTS_MAX = 3

export type CheckedDomain =
  | { kind: 'checked'; domain: Domain }
  | { kind: 'taken'; domain: Domain }
  /** DNS did not answer for a record that is required. */
  | { kind: 'unanswered'; domain: Domain; asked: AskedRecord[] }
  | { kind: 'not_found' }

/** Ends early once `signal` is aborted, as if DNS had not answered. */
export async function checkDomain(
  deps: CheckDeps,
  named: DomainNamed,
  signal?: AbortSignal,
): Promise<CheckedDomain> {
  for (let attempt = 1; ; attempt++) {
    const domain = await findDomain(deps.db, named.accountId, named.domainId)
    if (domain === null) return { kind: 'not_found' }
    const found = await look(deps, domain, signal)
    if (found.kind === 'unanswered') return { kind: 'unanswered', domain, asked: found.asked }
    const settled = await settle(deps, domain, found)
    if (settled.kind === 'not_found') return settled
    if (settled.kind === 'taken') return settled
    if (settled.kind === 'settled') return { kind: 'checked', domain: settled.domain }
    if (settled.isTaken) return { kind: 'taken', domain: settled.domain }
    const isSettled = nextStatus(settled.domain, found) === settled.domain.status
    if (isSettled || attempt === ATTEMPTS_MAX) return { kind: 'checked', domain: settled.domain }
  }
}

type Look =
  | { kind: 'unanswered'; asked: AskedRecord[] }
  | {
      kind: 'answered'
      checks: RecordCheck[]
      isRight: boolean
      /** Where the state is to change, whether DNS was asked once more and said the same. */
      isSure: boolean
      nowMs: number
    }

/**
 * Once, and once more at once where the state is to change: of a domain's servers one may be behind the
 * others. That two answers agree is all that is known then; a mistake in DNS that lasts for both is seen.
 */
async function look(deps: CheckDeps, domain: Domain, signal?: AbortSignal): Promise<Look> {
  const first = await lookOnce(deps, domain, signal)
  if (first.kind === 'unanswered') return first
  if (nextStatus(domain, { ...first, isSure: true }) === domain.status) {
    return { ...first, isSure: true }
  }
  const second = await lookOnce(deps, domain, signal)
  if (second.kind === 'unanswered') return second
  return { ...second, isSure: second.isRight === first.isRight }
}

async function lookOnce(
  deps: CheckDeps,
  domain: Domain,
  signal?: AbortSignal,
): Promise<
  Exclude<Look, { kind: 'answered' }> | Omit<Extract<Look, { kind: 'answered' }>, 'isSure'>
> {
  const asked = await askRecords(deps, await recordsOf(deps, domain), signal)
  if (asked.some(({ kind, record }) => kind === 'fault' && record.required)) {
    return { kind: 'unanswered', asked }
  }
  const isRight = asked.every((one) => !one.record.required || isValid(one))
  const checks = asked.flatMap((one) =>
    one.kind === 'check' ? one.check : (findCheck(one.record, domain.checks) ?? []),
  )
  return { kind: 'answered', checks, isRight, nowMs: deps.clock.now() }
}

function isValid(one: AskedRecord): boolean {
  return one.kind === 'check' && one.check.status === 'valid'
}

async function settle(
  deps: CheckDeps,
  domain: Domain,
  { checks, isRight, isSure, nowMs }: Extract<Look, { kind: 'answered' }>,
): Promise<DomainSettled> {
  const settled = await deps.db.write(settleDomain, {
    accountId: domain.accountId,
    domainId: domain.id,
    domain: domain.domain,
    status: domain.status,
    lastCheckedAtMs: domain.lastCheckedAtMs,
    checks,
    isRight,
    isSure,
    takesBounces: ['mx', 'spf'].every((purpose) =>
      checks.some((check) => check.purpose === purpose && check.status === 'valid'),
    ),
    eventId: deps.makeId('evt'),
    nowMs,
  })
  if (settled.kind !== 'settled' && settled.kind !== 'taken') return settled
  if (settled.hasEvent) deps.wakeEvents()
  const { status } = settled.domain
  if (status !== domain.status) {
    const fields = { domainId: domain.id, domain: domain.domain, from: domain.status, to: status }
    deps.log.info(fields, 'a custom domain changed its status')
  }
  return settled
}

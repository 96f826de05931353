// Queries DNS for custom domains and writes the outcome in one transaction.

import type { Domain as DomainShape } from '@mailroom/contract/domains.ts'
import { type Answered, checkMxRecord, checkTextRecord } from '#domains/records/check-record.ts'
import type { DnsRecord } from '#domains/records/dns-records.ts'
import { findDomain } from '#domains/store/domains.ts'
import {
  claimDomainChecks,
  type DomainSettled,
  hasDueDomains,
  settleDomain,
} from '#domains/store/settle-checks.ts'
import { onAbort, raceAbort } from '#platform/abort.ts'
import type { Resolver } from '#platform/dns/resolver.ts'
import { notFound, problem } from '#platform/problem.ts'
import { Semaphore } from '#platform/semaphore.ts'
import { SECOND_MS } from '#platform/units.ts'
import { domains } from '#store/nouns.ts'
import type { Store } from '#store/store.ts'
import { type Domain, nextStatus, type RecordCheck } from './model.ts'
import { findCheck, presentDomain, presentRecord, recordsOf } from './present-domain.ts'

type CheckDeps = Store & { resolver: Resolver; smtpHostname: string }

export type VerifyDeps = CheckDeps & { domainChecks: DomainChecks }

type DomainNamed = { accountId: string; domainId: string }

/**
 * Concurrent calls share one check. If DNS does not answer, nothing changes and the record's hint
 * says so. Throws `domain_taken` if another account has verified the domain, and
 * `rate_limit_exceeded` if too many checks of the account are waiting.
 */
export async function verifyDomain(deps: VerifyDeps, named: DomainNamed): Promise<DomainShape> {
  const outcome = await deps.domainChecks.runRequested(named, () => checkDomain(deps, named))
  switch (outcome.kind) {
    case 'not_found':
      throw notFound()
    case 'taken':
      throw problem(
        'domain_taken',
        `The DNS records are correct, but another account has already verified ${outcome.domain.domain}.`,
      )
    case 'checked':
      return presentDomain(deps, outcome.domain)
    case 'unanswered': {
      const { domain, asked } = outcome
      const records = asked.map((one) => presentAsked(one, domain.checks))
      return { ...domains.present(domain), records }
    }
  }
}

function presentAsked(one: AskedRecord, checks: readonly RecordCheck[]) {
  if (one.kind === 'check') return presentRecord(one.record, [one.check])
  const hint = `DNS did not answer (${one.text}), so nothing changed. Verify the domain again later.`
  return { ...presentRecord(one.record, checks), hint }
}

/** True if more domains may be due. */
export async function checkDueDomains(deps: VerifyDeps, signal: AbortSignal): Promise<boolean> {
  const nowMs = deps.clock.now()
  // Most calls find nothing, and then need no write.
  if (!(await hasDueDomains(deps.db, nowMs))) return false
  const due = await deps.db.write(claimDomainChecks, { limit: DOMAIN_CHECKS_AT_ONCE, nowMs })
  const checks = due.map(async (named) => {
    try {
      await deps.domainChecks.runDue(named, () => checkDomain(deps, named, signal))
    } catch (error) {
      deps.log.warn({ error, domainId: named.domainId }, 'the check of a domain failed')
    }
  })
  await Promise.all(checks)
  return due.length === DOMAIN_CHECKS_AT_ONCE
}

/** Keeps the queries of due and requested checks together below DNS_QUERIES_AT_ONCE. */
const DOMAIN_CHECKS_AT_ONCE = 20
export const DOMAIN_CHECKS_PER_ACCOUNT_MAX = 4
export const DOMAIN_CHECKS_WAITING_MAX = 16

/** The running checks of this process, at most one per domain. */
export type DomainChecks = {
  /** Joins or starts a check. Throws `rate_limit_exceeded` if too many are waiting. */
  runRequested(named: DomainNamed, check: () => Promise<CheckedDomain>): Promise<CheckedDomain>
  runDue(named: DomainNamed, check: () => Promise<CheckedDomain>): Promise<void>
}

export function openDomainChecks(): DomainChecks {
  const underWay = new Map<string, Promise<CheckedDomain>>()
  const semaphore = new Semaphore({
    limit: DOMAIN_CHECKS_AT_ONCE,
    limitPerKey: DOMAIN_CHECKS_PER_ACCOUNT_MAX,
    waitingPerKeyMax: DOMAIN_CHECKS_WAITING_MAX,
    refuse: () =>
      problem('rate_limit_exceeded', 'Too many domains of this account are being verified.', {
        retryAfterSeconds: Math.ceil(DOMAIN_CHECK_MS_MAX / 1_000),
      }),
  })
  const start = ({ accountId, domainId }: DomainNamed, run: () => Promise<CheckedDomain>) => {
    // The account is part of the key, so that no account shares the outcome for another's domain.
    const key = `${accountId} ${domainId}`
    const known = underWay.get(key)
    if (known !== undefined) return { isNew: false, check: known }
    const check = run().finally(() => underWay.delete(key))
    underWay.set(key, check)
    return { isNew: true, check }
  }
  return {
    runRequested: (named, check) =>
      start(named, () => semaphore.run({ key: named.accountId }, check)).check,
    async runDue(named, check) {
      const started = start(named, check)
      if (started.isNew) await started.check
    },
  }
}

/** If another process finishes first, the check is repeated. The last attempt is final. */
const ATTEMPTS_MAX = 3

type CheckedDomain =
  | { kind: 'checked'; domain: Domain }
  | { kind: 'taken'; domain: Domain }
  | { kind: 'unanswered'; domain: Domain; asked: AskedRecord[] }
  | { kind: 'not_found' }

async function checkDomain(
  deps: CheckDeps,
  named: DomainNamed,
  signal?: AbortSignal,
): Promise<CheckedDomain> {
  for (let attempt = 1; ; attempt++) {
    const domain = await findDomain(deps.db, named.accountId, named.domainId)
    if (domain === null) return { kind: 'not_found' }
    const found = await askUntilSure(deps, domain, signal)
    if (found.kind === 'unanswered') return { kind: 'unanswered', domain, asked: found.asked }
    const settled = await settle(deps, domain, found)
    if (settled.kind === 'not_found' || settled.kind === 'taken') return settled
    if (settled.kind === 'settled') return { kind: 'checked', domain: settled.domain }
    if (settled.isTaken) return { kind: 'taken', domain: settled.domain }
    const isSettled = nextStatus(settled.domain, found) === settled.domain.status
    if (isSettled || attempt === ATTEMPTS_MAX) return { kind: 'checked', domain: settled.domain }
  }
}

type Unanswered = { kind: 'unanswered'; asked: AskedRecord[] }
type Answers = { kind: 'answered'; checks: RecordCheck[]; isRight: boolean; nowMs: number }
/** `isSure`: the status does not change, or a second query has confirmed the change. */
type SureAnswers = Answers & { isSure: boolean }

/** Repeats the queries before a change of status, because a name server may lag behind. */
async function askUntilSure(
  deps: CheckDeps,
  domain: Domain,
  signal?: AbortSignal,
): Promise<Unanswered | SureAnswers> {
  const first = await askOnce(deps, domain, signal)
  if (first.kind === 'unanswered') return first
  if (nextStatus(domain, { ...first, isSure: true }) === domain.status) {
    return { ...first, isSure: true }
  }
  const second = await askOnce(deps, domain, signal)
  if (second.kind === 'unanswered') return second
  return { ...second, isSure: second.isRight === first.isRight }
}

async function askOnce(
  deps: CheckDeps,
  domain: Domain,
  signal?: AbortSignal,
): Promise<Unanswered | Answers> {
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
  { checks, isRight, isSure, nowMs }: SureAnswers,
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

const DOMAIN_CHECK_MS_MAX = 10 * SECOND_MS

export type AskedRecord =
  | { readonly kind: 'check'; readonly record: DnsRecord; readonly check: RecordCheck }
  | { readonly kind: 'fault'; readonly record: DnsRecord; readonly text: string }

/** No answer by DOMAIN_CHECK_MS_MAX, or an aborted `signal`, is a fault. */
export async function askRecords(
  { resolver }: { resolver: Resolver },
  records: readonly DnsRecord[],
  signal?: AbortSignal,
): Promise<AskedRecord[]> {
  const ending = new AbortController()
  using _ = onAbort(signal, () => ending.abort())
  const timer = setTimeout(() => ending.abort(), DOMAIN_CHECK_MS_MAX)
  const options = { signal: ending.signal }
  const answerOf = async <Found>(asking: Promise<Answered<Found>>): Promise<Answered<Found>> => {
    const answer = await raceAbort(asking, options)
    if (answer !== null) return answer
    const seconds = DOMAIN_CHECK_MS_MAX / 1_000
    const text = signal?.aborted
      ? 'the service is shutting down'
      : `no answer within ${seconds} seconds`
    return { kind: 'fault', text }
  }
  try {
    const asked = records.map((record) =>
      record.type === 'MX'
        ? askRecord(record, answerOf(resolver.mx(record.name, options)), checkMxRecord)
        : askRecord(record, answerOf(resolver.txt(record.name, options)), checkTextRecord),
    )
    return await Promise.all(asked)
  } finally {
    clearTimeout(timer)
  }
}

async function askRecord<Found>(
  record: DnsRecord,
  answering: Promise<Answered<Found>>,
  check: (record: DnsRecord, found: readonly Found[]) => RecordCheck,
): Promise<AskedRecord> {
  const answer = await answering
  if (answer.kind === 'fault') return { kind: 'fault', record, text: answer.text }
  const found = answer.kind === 'found' ? answer.records : []
  return { kind: 'check', record, check: check(record, found) }
}

// Custom domains are checked because somebody asked, or because it was due.

import { notFound, problem } from '#platform/problem.ts'
import type { AskedRecord } from './ask-records.ts'
import { type CheckDeps, checkDomain, type DomainNamed } from './check-domain.ts'
import type { RecordCheck } from './domain.ts'
import type { DomainChecks } from './domain-checks.ts'
import { DOMAIN_CHECKS_AT_ONCE } from './domain-checks.ts'
import { claimDomainChecks, hasDueDomains } from './settle-domain-rows.ts'
import { type ShownDomain, showDomain, showRecord } from './shown-domain.ts'

export type VerifyDeps = CheckDeps & { domainChecks: DomainChecks }

/**
 * The domain after a fresh check, which may have changed its state; of several at once all share one.
 * `domain_taken` when DNS has all that is required and another account has verified the domain,
 * `rate_limit_exceeded` when too many checks of the account wait; where DNS does not answer, nothing
 * changes, and the hint of the record says so.
 */
export async function verifyDomain(deps: VerifyDeps, named: DomainNamed): Promise<ShownDomain> {
  const outcome = await deps.domainChecks.ask(named, () => checkDomain(deps, named))
  switch (outcome.kind) {
    case 'not_found':
      throw notFound()
    case 'taken':
      throw problem(
        'domain_taken',
        `The DNS records are correct, but another account has already verified ${outcome.domain.domain}.`,
      )
    case 'checked':
      return showDomain(deps, outcome.domain)
    case 'unanswered':
      return {
        ...outcome.domain,
        records: outcome.asked.map((one) => showAsked(one, outcome.domain.checks)),
      }
  }
}

/** Checks what is due, as many at once as a process may; true when there may be more. */
export async function checkDueDomains(deps: VerifyDeps, signal: AbortSignal): Promise<boolean> {
  const nowMs = deps.clock.now()
  // Most looks find nothing, and should not cost a write.
  if (!(await hasDueDomains(deps.db, nowMs))) return false
  const due = await deps.db.write(claimDomainChecks, { limit: DOMAIN_CHECKS_AT_ONCE, nowMs })
  const checks = due.map(async (named) => {
    try {
      await deps.domainChecks.tend(named, () => checkDomain(deps, named, signal))
    } catch (error) {
      deps.log.warn({ error, domainId: named.domainId }, 'the check of a domain failed')
    }
  })
  await Promise.all(checks)
  return due.length === DOMAIN_CHECKS_AT_ONCE
}

/** What was answered as it is now; what was not, as it was, with the reason. */
function showAsked(one: AskedRecord, checks: readonly RecordCheck[]) {
  if (one.kind === 'check') return showRecord(one.record, [one.check])
  const hint = `DNS did not answer (${one.text}), so nothing changed. Verify the domain again later.`
  return { ...showRecord(one.record, checks), hint }
}

// Checks of custom domains under way in this process: one of a domain at a time, whoever wants it, and of
// those that were asked for a few at once, so that an account whose DNS is silent holds up nobody else.

import { problem } from '#platform/problem.ts'
import { Semaphore } from '#platform/semaphore.ts'
import { DOMAIN_CHECK_MS_MAX } from './ask-records.ts'
import type { CheckedDomain, DomainNamed } from './check-domain.ts'

/**
 * Domains that a process checks at once by itself, and as many because somebody asked: together they ask
 * fewer questions than DNS_QUERIES_AT_ONCE, so that none waits for another's silence.
 */
export const DOMAIN_CHECKS_AT_ONCE = 20
/** Of one account: checks that were asked for and go on at once, and those that wait behind them. */
export const DOMAIN_CHECKS_PER_ACCOUNT_MAX = 4
export const DOMAIN_CHECKS_WAITING_MAX = 16

export type DomainChecks = {
  /**
   * The outcome of the check of this domain that is under way, or that waits for its turn, or of a new
   * one when its turn has come. `rate_limit_exceeded` when too many of the account wait.
   */
  ask(named: DomainNamed, check: () => Promise<CheckedDomain>): Promise<CheckedDomain>
  /** Checks it at once, unless that is under way: what comes of that one will do. */
  tend(named: DomainNamed, check: () => Promise<CheckedDomain>): Promise<void>
}

/** Holds nothing while there are none. */
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
    // An id alone would let an account share what is known of another's domain.
    const key = `${accountId} ${domainId}`
    const known = underWay.get(key)
    if (known !== undefined) return { isNew: false, check: known }
    const check = run().finally(() => underWay.delete(key))
    underWay.set(key, check)
    return { isNew: true, check }
  }
  return {
    ask: (named, check) => start(named, () => semaphore.run({ key: named.accountId }, check)).check,
    async tend(named, check) {
      const started = start(named, check)
      if (started.isNew) await started.check
    },
  }
}

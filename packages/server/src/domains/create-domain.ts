import { findPod } from '#accounts/store/pods.ts'
import { type MakeKeyDeps, makeDomainKeys } from '#domains/dkim/dkim-key.ts'
import {
  countDomains,
  DOMAINS_PER_ACCOUNT_MAX,
  findDomainsNamed,
  findTaker,
  insertDomain,
} from '#domains/store/domains.ts'
import { type Chance, LOWER_ALPHANUMERIC, randomText } from '#platform/chance.ts'
import { readCustomDomain } from '#platform/domain-name.ts'
import { problem, RETRY_AFTER_SECONDS } from '#platform/problem.ts'
import { Semaphore } from '#platform/semaphore.ts'
import type { Db } from '#store/tables.ts'
import type { Domain } from './model.ts'

/** Generating keys takes long, so few domains are created at once. */
export const DOMAIN_CREATIONS_AT_ONCE = 1
export const DOMAIN_CREATIONS_WAITING_MAX = 100

/** Too long to guess, and short enough for one string of a TXT record. */
const TOKEN_LENGTH = 32

export type CreateDomain = {
  accountId: string
  domain: string
  pod: string | null
  subdomainsEnabled: boolean
  catchAllInboxId: string | null
}

export function openDomainCreations(): Semaphore {
  const text = 'Too many domains of this account are being created.'
  return new Semaphore({
    limit: DOMAIN_CREATIONS_AT_ONCE,
    waitingPerKeyMax: DOMAIN_CREATIONS_WAITING_MAX,
    refuse: () => problem('rate_limit_exceeded', text, { retryAfterSeconds: RETRY_AFTER_SECONDS }),
  })
}

export type CreateDomainDeps = MakeKeyDeps & {
  chance: Chance
  inboxDomain: string
  domainCreations: Semaphore
}

/**
 * Throws `invalid_domain`, `invalid_pod`, `domain_taken`, `domain_limit_reached`, or
 * `rate_limit_exceeded` if too many creations of the account are waiting.
 */
export async function createDomain(deps: CreateDomainDeps, input: CreateDomain): Promise<Domain> {
  const named = await readCustomDomain(input.domain, deps.inboxDomain)
  if (named.kind === 'invalid') throw problem('invalid_domain', `${capitalised(named.reason)}.`)
  const { domain } = named
  // Checked before the wait, to refuse early, and after it, to avoid generating keys in vain.
  await requireRoom(deps, input, domain)
  return deps.domainCreations.run({ key: input.accountId }, async () => {
    await requireRoom(deps, input, domain)
    return addDomain(deps, input, domain)
  })
}

async function requireRoom(
  { db }: { db: Db },
  { accountId, pod }: CreateDomain,
  domain: string,
): Promise<void> {
  if (pod !== null && (await findPod(db, accountId, pod)) === null) throw problem('invalid_pod')
  const taken = findTaker(await findDomainsNamed(db, domain), accountId)
  if (taken !== null) throw takenBy(taken, domain)
  if ((await countDomains(db, accountId)) >= DOMAINS_PER_ACCOUNT_MAX) throw tooMany()
}

async function addDomain(
  deps: CreateDomainDeps,
  { accountId, pod, subdomainsEnabled, catchAllInboxId }: CreateDomain,
  domain: string,
): Promise<Domain> {
  const domainId = deps.makeId('dom')
  const keys = await makeDomainKeys(deps, { ownerId: domainId, domain })
  const outcome = await deps.db.write(insertDomain, {
    accountId,
    domainId,
    domain,
    pod,
    subdomainsEnabled,
    catchAllInboxId,
    ownershipToken: randomText(deps.chance, LOWER_ALPHANUMERIC, TOKEN_LENGTH),
    keys,
    nowMs: deps.clock.now(),
  })
  switch (outcome.kind) {
    case 'created':
      return outcome.domain
    case 'invalid_pod':
      throw problem('invalid_pod')
    case 'invalid_inbox':
      throw invalidCatchAll()
    case 'taken':
      throw takenBy(outcome.by, domain)
    case 'limit_reached':
      throw tooMany()
  }
}

export function invalidCatchAll() {
  const [path, message] = ['catchAllInboxId', 'must be an inbox of the account']
  const text = `The field "${path}" ${message}, in a pod that may use the domain.`
  return problem('bad_request', text, { details: [{ path, message }] })
}

function takenBy(who: 'own' | 'another', domain: string) {
  return who === 'own'
    ? problem('domain_taken', `The account has ${domain} already.`)
    : problem('domain_taken', `${domain} belongs to another account, which has verified it.`)
}

function tooMany() {
  return problem('domain_limit_reached', `An account may have ${DOMAINS_PER_ACCOUNT_MAX} domains.`)
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

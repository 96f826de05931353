// Making, scoping and removing custom domains.

import { findPod } from '#accounts/pod-rows.ts'
import type { Chance } from '#platform/chance.ts'
import { LOWER_ALPHANUMERIC, randomText } from '#platform/chance.ts'
import { readCustomDomain } from '#platform/domain-name.ts'
import { notFound, problem, RETRY_AFTER_SECONDS } from '#platform/problem.ts'
import { Semaphore } from '#platform/semaphore.ts'
import type { Db } from '#schema/tables.ts'
import {
  DOMAINS_PER_ACCOUNT_MAX,
  findTaker,
  insertDomain,
  removeDomain,
  setDomainPod,
} from './change-domain-rows.ts'
import { type MakeKeyDeps, makeDomainKeys } from './domain-keys.ts'
import { countDomains, findDomainsNamed } from './domain-rows.ts'
import { type ShownDomain, showDomain } from './shown-domain.ts'

/** Domains whose keys are made at once, and those of one account that wait for it. */
export const DOMAIN_CREATIONS_AT_ONCE = 1
export const DOMAIN_CREATIONS_WAITING_MAX = 100

/** More than anybody tries, and still one string of a TXT record. */
const TOKEN_LENGTH = 32

export type CreateDomain = {
  accountId: string
  domain: string
  /** Pod id or `clientId`; null for all pods. */
  pod: string | null
}

/** Making keys takes as long as a thousand other requests. */
export function openDomainCreations(): Semaphore {
  const text = 'Too many domains of this account are being created.'
  return new Semaphore({
    limit: DOMAIN_CREATIONS_AT_ONCE,
    waitingPerKeyMax: DOMAIN_CREATIONS_WAITING_MAX,
    refuse: () => problem('rate_limit_exceeded', text, { retryAfterSeconds: RETRY_AFTER_SECONDS }),
  })
}

type CreateDeps = MakeKeyDeps & {
  db: Db
  chance: Chance
  inboxDomain: string
  smtpHostname: string
  domainCreations: Semaphore
}

/**
 * A pending domain with its keys and records. `invalid_domain` saying why, `invalid_pod`,
 * `domain_taken`, `domain_limit_reached`, `rate_limit_exceeded` when too many of the account wait.
 */
export async function createDomain(deps: CreateDeps, input: CreateDomain): Promise<ShownDomain> {
  const named = await readCustomDomain(input.domain, deps.inboxDomain)
  if (named.kind === 'invalid') throw problem('invalid_domain', `${sentence(named.reason)}.`)
  const { domain } = named
  // What is refused anyway waits for nobody; what was refused while it waited has no keys made.
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
  deps: CreateDeps,
  { accountId, pod }: CreateDomain,
  domain: string,
): Promise<ShownDomain> {
  const domainId = deps.makeId('dom')
  const keys = await makeDomainKeys(deps, { ownerId: domainId, domain })
  const outcome = await deps.db.write(insertDomain, {
    accountId,
    domainId,
    domain,
    pod,
    ownershipToken: randomText(deps.chance, LOWER_ALPHANUMERIC, TOKEN_LENGTH),
    keys,
    nowMs: deps.clock.now(),
  })
  switch (outcome.kind) {
    case 'created':
      return showDomain(deps, outcome.domain)
    case 'invalid_pod':
      throw problem('invalid_pod')
    case 'taken':
      throw takenBy(outcome.by, domain)
    case 'limit_reached':
      throw tooMany()
  }
}

/** Gives it to one pod (id or `clientId`) or to all (null). `invalid_pod`, `domain_in_use`. */
export async function scopeDomain(
  deps: { db: Db; smtpHostname: string },
  input: { accountId: string; domainId: string; pod: string | null },
): Promise<ShownDomain> {
  const outcome = await deps.db.write(setDomainPod, input)
  switch (outcome.kind) {
    case 'scoped':
      return showDomain(deps, outcome.domain)
    case 'not_found':
      throw notFound()
    case 'invalid_pod':
      throw problem('invalid_pod')
    case 'in_use':
      throw problem('domain_in_use')
  }
}

/** Removes it with its keys; `domain_not_empty` while there are inboxes on it. */
export async function deleteDomain(
  deps: { db: Db },
  input: { accountId: string; domainId: string },
): Promise<void> {
  const outcome = await deps.db.write(removeDomain, input)
  if (outcome === 'not_found') throw notFound()
  if (outcome === 'not_empty') throw problem('domain_not_empty')
}

function takenBy(who: 'own' | 'another', domain: string) {
  return who === 'own'
    ? problem('domain_taken', `The account has ${domain} already.`)
    : problem('domain_taken', `${domain} belongs to another account, which has verified it.`)
}

function tooMany() {
  return problem('domain_limit_reached', `An account may have ${DOMAINS_PER_ACCOUNT_MAX} domains.`)
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

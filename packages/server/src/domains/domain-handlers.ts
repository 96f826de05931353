// Handlers of custom domains.

import type { KeyObject } from 'node:crypto'
import { fileHeaders } from '#http/download.ts'
import type { Handlers } from '#http/handler.ts'
import type { Chance } from '#platform/chance.ts'
import type { Clock } from '#platform/clock.ts'
import type { Resolver } from '#platform/dns/resolver.ts'
import type { MakeId } from '#platform/ids.ts'
import type { Log } from '#platform/log.ts'
import type { Sealer } from '#platform/seal.ts'
import type { Semaphore } from '#platform/semaphore.ts'
import type { Db } from '#schema/tables.ts'
import { createDomain, deleteDomain, scopeDomain } from './change-domains.ts'
import type { DomainChecks } from './domain-checks.ts'
import { presentDomain } from './present-domain.ts'
import { getDomain, getZoneFile, listDomains } from './read-domains.ts'
import { verifyDomain } from './verify-domain.ts'

/** What the functions below work with. */
type Needs = {
  db: Db
  clock: Clock
  chance: Chance
  makeId: MakeId
  log: Log
  inboxDomain: string
  smtpHostname: string
  makeDkimKey: () => Promise<KeyObject>
  sealer: Sealer
  resolver: Resolver
  domainChecks: DomainChecks
  domainCreations: Semaphore
  wakeEvents: () => void
}

/** One handler for each operation on custom domains. */
export function domainHandlers(
  deps: Needs,
): Pick<Handlers, Extract<keyof Handlers, `domains.${string}`>> {
  return {
    'domains.create': async ({ body }, { accountId }) => {
      const { domain, podId = null } = body
      return presentDomain(await createDomain(deps, { accountId, domain, pod: podId }))
    },
    'domains.list': async ({ query }, { accountId }) => {
      const { podId = null, ...page } = query
      const { domains, total } = await listDomains(deps, { accountId, pod: podId, ...page })
      return { data: domains.map(presentDomain), total }
    },
    'domains.get': async ({ path }, { accountId }) =>
      presentDomain(await getDomain(deps, { accountId, domainId: path.id })),
    'domains.verify': async ({ path }, { accountId }) =>
      presentDomain(await verifyDomain(deps, { accountId, domainId: path.id })),
    'domains.update': async ({ path, body }, { accountId }) => {
      const scoped = { accountId, domainId: path.id, pod: body.podId }
      return presentDomain(await scopeDomain(deps, scoped))
    },
    'domains.delete': async ({ path }, { accountId }) => {
      await deleteDomain(deps, { accountId, domainId: path.id })
    },
    'domains.zoneFile': async ({ path }, { accountId }) => {
      const { domain, text } = await getZoneFile(deps, { accountId, domainId: path.id })
      const headers = fileHeaders('text/plain', `${domain}.zone`)
      return { headers: { ...headers, 'content-type': 'text/plain; charset=utf-8' }, content: text }
    },
  }
}

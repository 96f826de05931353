// Handlers of custom domains.

import type { Deps } from '#actions/deps.ts'
import { createDomain, deleteDomain, scopeDomain } from '#actions/domain/change-domains.ts'
import { getDomain, getZoneFile, listDomains } from '#actions/domain/read-domains.ts'
import { verifyDomain } from '#actions/domain/verify-domain.ts'
import type { Handlers } from '#http/handler.ts'
import { presentDomain } from '#http/present/domains.ts'
import { fileHeaders } from '#http/present/download.ts'

/** One handler for each operation on custom domains. */
export function domainHandlers(
  deps: Deps,
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

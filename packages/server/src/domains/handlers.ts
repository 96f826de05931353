import { findPod } from '#accounts/store/pods.ts'
import { formatZone } from '#domains/records/dns-records.ts'
import { changeDomain, findDomain, listDomains, removeDomain } from '#domains/store/domains.ts'
import { fileHeaders } from '#http/download.ts'
import type { HandlersOf } from '#http/handler.ts'
import { notFound, problem } from '#platform/problem.ts'
import { type VerifyDeps, verifyDomain } from './check-domain.ts'
import {
  type CreateDomainDeps,
  createDomain,
  invalidCatchAll,
  openDomainCreations,
} from './create-domain.ts'
import type { Domain } from './model.ts'
import { presentDomain, presentDomains, recordsOf } from './present-domain.ts'

type Deps = Omit<CreateDomainDeps, 'domainCreations'> & VerifyDeps

export function domainHandlers(ports: Deps): HandlersOf<'domains'> {
  const deps = { ...ports, domainCreations: openDomainCreations() }
  const getDomain = async (accountId: string, domainId: string): Promise<Domain> => {
    const domain = await findDomain(deps.db, accountId, domainId)
    if (domain === null) throw notFound()
    return domain
  }
  return {
    'domains.create': async ({ body }, { accountId }) => {
      const { podId: pod = null, subdomainsEnabled = false, catchAllInboxId = null } = body
      const { domain } = body
      const created = { accountId, domain, pod, subdomainsEnabled, catchAllInboxId }
      return presentDomain(deps, await createDomain(deps, created))
    },
    'domains.list': async ({ query }, { accountId }) => {
      const { podId: pod, ...page } = query
      const found = pod === undefined ? null : await findPod(deps.db, accountId, pod)
      if (pod !== undefined && found === null) return { data: [], total: 0 }
      const podId = found?.id ?? null
      const { domains, total } = await listDomains(deps.db, { accountId, podId, ...page })
      return { data: await presentDomains(deps, domains), total }
    },
    'domains.get': async ({ path }, { accountId }) =>
      presentDomain(deps, await getDomain(accountId, path.id)),
    'domains.verify': ({ path }, { accountId }) =>
      verifyDomain(deps, { accountId, domainId: path.id }),
    'domains.update': async ({ path, body }, { accountId }) => {
      const { podId: pod, ...options } = body
      const named = { accountId, domainId: path.id }
      const outcome = await deps.db.write(changeDomain, { ...named, ...options, pod })
      switch (outcome.kind) {
        case 'changed':
          return presentDomain(deps, outcome.domain)
        case 'not_found':
          throw notFound()
        case 'invalid_pod':
          throw problem('invalid_pod')
        case 'invalid_inbox':
          throw invalidCatchAll()
        case 'in_use':
          throw problem('domain_in_use')
      }
    },
    'domains.delete': async ({ path }, { accountId }) => {
      const outcome = await deps.db.write(removeDomain, { accountId, domainId: path.id })
      if (outcome === 'not_found') throw notFound()
      if (outcome === 'not_empty') throw problem('domain_not_empty')
    },
    'domains.zoneFile': async ({ path }, { accountId }) => {
      const domain = await getDomain(accountId, path.id)
      const headers = fileHeaders('text/plain', `${domain.domain}.zone`)
      return {
        headers: { ...headers, 'content-type': 'text/plain; charset=utf-8' },
        content: formatZone(await recordsOf(deps, domain)),
      }
    },
  }
}

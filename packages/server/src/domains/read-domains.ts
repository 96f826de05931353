// Reading custom domains.

import { findPod } from '#accounts/pod-rows.ts'
import { notFound } from '#platform/problem.ts'
import type { Db, Page } from '#schema/tables.ts'
import { formatZone } from './dns-records.ts'
import type { Domain } from './domain.ts'
import * as store from './domain-rows.ts'
import { recordsOf, type ShownDomain, showDomain, showDomains } from './shown-domain.ts'

type Named = { accountId: string; domainId: string }

/** Newest first; those scoped to `pod` (id or `clientId`) when it is given, none for an unknown one. */
export async function listDomains(
  deps: { db: Db; smtpHostname: string },
  { pod, ...input }: { accountId: string; pod: string | null } & Page,
): Promise<{ domains: ShownDomain[]; total: number }> {
  const found = pod === null ? null : await findPod(deps.db, input.accountId, pod)
  if (pod !== null && found === null) return { domains: [], total: 0 }
  const { domains, total } = await store.listDomains(deps.db, {
    ...input,
    podId: found?.id ?? null,
  })
  return { domains: await showDomains(deps, domains), total }
}

/** `not_found` when the account has no such domain. */
export async function getDomain(
  deps: { db: Db; smtpHostname: string },
  named: Named,
): Promise<ShownDomain> {
  return showDomain(deps, await requireDomain(deps, named))
}

/** Its records as lines of a zone file (RFC 1035 §5.1), with its name. */
export async function getZoneFile(
  deps: { db: Db; smtpHostname: string },
  named: Named,
): Promise<{ domain: string; text: string }> {
  const domain = await requireDomain(deps, named)
  return { domain: domain.domain, text: formatZone(await recordsOf(deps, domain)) }
}

async function requireDomain(deps: { db: Db }, { accountId, domainId }: Named): Promise<Domain> {
  const domain = await store.findDomain(deps.db, accountId, domainId)
  if (domain === null) throw notFound()
  return domain
}

// A custom domain with its records as its owner is shown them: what to publish, and what DNS had of it
// at the last check.

import type { Db } from '#schema/tables.ts'
import { hintToPublish } from './check-record.ts'
import type { DkimKey } from './dkim-key.ts'
import { listKeysOfDomains } from './dkim-key-rows.ts'
import { type DnsRecord, domainDnsRecords } from './dns-records.ts'
import type { Domain, RecordCheck } from './domain.ts'

export type ShownRecord = DnsRecord & Pick<RecordCheck, 'status' | 'found' | 'hint'>
export type ShownDomain = Domain & { records: ShownRecord[] }

/** What the owner of the domain has to publish. */
export async function recordsOf(
  deps: { db: Db; smtpHostname: string },
  domain: Domain,
): Promise<DnsRecord[]> {
  const keys = await listKeysOfDomains(deps.db, [domain.id])
  return recordsWith(deps, domain, keys.get(domain.id))
}

function recordsWith(
  { smtpHostname }: { smtpHostname: string },
  domain: Domain,
  keys: DkimKey[] = [],
): DnsRecord[] {
  return domainDnsRecords({ ...domain, smtpHostname, keys })
}

/** With the last check of each record; one that was not looked for yet is missing. */
export async function showDomain(
  deps: { db: Db; smtpHostname: string },
  domain: Domain,
): Promise<ShownDomain> {
  return withChecks(domain, await recordsOf(deps, domain))
}

/** The same of many, whose keys are read together. */
export async function showDomains(
  deps: { db: Db; smtpHostname: string },
  domains: readonly Domain[],
): Promise<ShownDomain[]> {
  const keys = await listKeysOfDomains(
    deps.db,
    domains.map(({ id }) => id),
  )
  return domains.map((domain) => withChecks(domain, recordsWith(deps, domain, keys.get(domain.id))))
}

function withChecks(domain: Domain, records: readonly DnsRecord[]): ShownDomain {
  return { ...domain, records: records.map((record) => showRecord(record, domain.checks)) }
}

/** `checks` of other values than the record's, as before a key was replaced, say nothing of it. */
export function showRecord(record: DnsRecord, checks: readonly RecordCheck[]): ShownRecord {
  const check = findCheck(record, checks)
  if (check !== undefined) {
    const { status, found, hint } = check
    return { ...record, status, found, hint }
  }
  return { ...record, status: 'missing', found: [], hint: hintToPublish(record) }
}

/** What was last found of this very record. */
export function findCheck(
  record: DnsRecord,
  checks: readonly RecordCheck[],
): RecordCheck | undefined {
  return checks.find(
    ({ purpose, name, value }) =>
      purpose === record.purpose && name === record.name && value === record.value,
  )
}

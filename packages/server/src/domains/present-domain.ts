import type { DomainRecord, Domain as DomainShape } from '@mailroom/contract/domains.ts'
import type { DkimKey } from '#domains/dkim/dkim-key.ts'
import { listKeysOfDomains } from '#domains/dkim/store/dkim-keys.ts'
import { hintToPublish } from '#domains/records/check-record.ts'
import { type DnsRecord, domainDnsRecords } from '#domains/records/dns-records.ts'
import { domains } from '#store/nouns.ts'
import type { Db } from '#store/tables.ts'
import type { Domain, RecordCheck } from './model.ts'

type Deps = { db: Db; smtpHostname: string }

export async function presentDomain(deps: Deps, domain: Domain): Promise<DomainShape> {
  return presentWith(domain, await recordsOf(deps, domain))
}

export async function presentDomains(deps: Deps, all: readonly Domain[]): Promise<DomainShape[]> {
  const keys = await listKeysOfDomains(
    deps.db,
    all.map(({ id }) => id),
  )
  return all.map((domain) => presentWith(domain, recordsWith(deps, domain, keys)))
}

export async function recordsOf(deps: Deps, domain: Domain): Promise<DnsRecord[]> {
  return recordsWith(deps, domain, await listKeysOfDomains(deps.db, [domain.id]))
}

function recordsWith(
  { smtpHostname }: Deps,
  domain: Domain,
  keys: ReadonlyMap<string, DkimKey[]>,
): DnsRecord[] {
  return domainDnsRecords({ ...domain, smtpHostname, keys: keys.get(domain.id) ?? [] })
}

function presentWith(domain: Domain, records: readonly DnsRecord[]): DomainShape {
  return {
    ...domains.present(domain),
    records: records.map((record) => presentRecord(record, domain.checks)),
  }
}

export function presentRecord(
  { priority, ...record }: DnsRecord,
  checks: readonly RecordCheck[],
): DomainRecord {
  const check = findCheck(record, checks)
  return {
    ...record,
    ...(priority !== null && { priority }),
    status: check?.status ?? 'missing',
    found: check?.found ?? [],
    hint: check === undefined ? hintToPublish({ ...record, priority }) : check.hint,
  }
}

/** Ignores checks of a former value. */
export function findCheck(
  { purpose, name, value }: Pick<DnsRecord, 'purpose' | 'name' | 'value'>,
  checks: readonly RecordCheck[],
): RecordCheck | undefined {
  return checks.find(
    (check) => check.purpose === purpose && check.name === name && check.value === value,
  )
}

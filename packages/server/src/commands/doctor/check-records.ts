// The DNS records by which the world gives mail to this service and believes mail from it: of the
// inbox domain, and of custom domains.

import { type AskedRecord, askRecords } from '#domains/check-domain.ts'
import { SERVICE_OWNER } from '#domains/dkim-key.ts'
import { listDkimKeys } from '#domains/dkim-key-rows.ts'
import { type DnsRecord, domainDnsRecords, serviceDnsRecords } from '#domains/dns-records.ts'
import type { Domain } from '#domains/domain.ts'
import type { ReadDb } from '#schema/tables.ts'
import { type Aim, advice, bad, type Finding, good, notNeeded, unknown } from './finding.ts'
import type { Looks } from './looks.ts'

/** Top-level names that no public DNS serves (RFC 2606, RFC 6761). */
const RESERVED = /(^|\.)(localhost|test|example|invalid|local)$/

/** Whether public DNS never has the domain; servers of one's own may. */
export function isReservedDomain(domain: string): boolean {
  return RESERVED.test(domain)
}

/** Whether the inbox domain is one that nobody serves: reserved, and not in the DNS of the settings. */
export async function isNowhere({ settings, resolver }: Looks): Promise<boolean> {
  const { inboxDomain } = settings
  if (!isReservedDomain(inboxDomain)) return false
  const answers = await Promise.all([resolver.mx(inboxDomain), resolver.txt(inboxDomain)])
  return answers.every(({ kind }) => kind !== 'found')
}

/** `db` is null where the database is not to be read; its keys are not looked for then. */
export async function checkInboxDomain(looks: Looks, db: ReadDb | null): Promise<Finding[]> {
  const { inboxDomain, smtpHostname, delivery } = looks.settings
  const aim: Aim = {
    check: `records of ${inboxDomain}`,
    expected: 'MX, SPF, DKIM and DMARC as "mailroom dns" prints them',
  }
  if (delivery === 'sandbox') return [notNeeded(aim, 'MAILROOM_DELIVERY is sandbox')]
  if (await isNowhere(looks)) {
    const fix =
      'Set MAILROOM_INBOX_DOMAIN to a domain you own, or MAILROOM_DNS_SERVERS to servers that know it.'
    const found = `DNS has no records for ${inboxDomain}, which is a reserved name`
    return [bad(aim, found, fix)]
  }
  const owner = { ownerId: SERVICE_OWNER, domain: inboxDomain }
  const keys = db === null ? [] : await listDkimKeys(db, owner)
  const asked = await askRecords(looks, serviceDnsRecords({ inboxDomain, smtpHostname, keys }))
  const found = asked.map((one) =>
    delivery === 'relay' && isOtherSpf(one)
      ? judgeRelayed(one.record, one.check)
      : judgeRecord(one),
  )
  return keys.length > 0 ? found : [...found, judgeKeyless(aim, { isRead: db !== null })]
}

function judgeKeyless({ check }: Aim, { isRead }: { isRead: boolean }): Finding {
  const aim: Aim = { check, expected: 'DKIM keys' }
  if (!isRead) return unknown(aim, 'the database could not be read')
  return bad(aim, 'there are none yet', 'Run "mailroom dns", which creates them, and publish them.')
}

function judgeRecord(asked: AskedRecord, judgeRequired: typeof bad = bad): Finding {
  const aim = aimOf(asked.record)
  const { type, name, required } = asked.record
  if (asked.kind === 'fault') return unknown(aim, `DNS: ${asked.text}`)
  const { status, found, hint } = asked.check
  if (status === 'valid') return good(aim, `${type} ${found.join(' and ')}`)
  const judge = required ? judgeRequired : advice
  return judge(aim, foundText(asked.record, found), hint ?? `Publish ${type} ${name} as expected.`)
}

type CheckedRecord = AskedRecord & { kind: 'check' }

/** One record for SPF that does not name this machine. */
function isOtherSpf(asked: AskedRecord): asked is CheckedRecord {
  if (asked.kind === 'fault' || asked.record.purpose !== 'spf') return false
  return asked.check.status !== 'valid' && asked.check.found.length === 1
}

/** Where mail leaves through a relay, it is the relay that the record has to name. */
function judgeRelayed(record: DnsRecord, { found }: CheckedRecord['check']): Finding {
  const fix = 'Make sure it has the include that your relay provider names.'
  return unknown(aimOf(record), foundText(record, found), fix)
}

function aimOf(record: DnsRecord): Aim {
  const { purpose, name } = record
  return { check: `${purpose.toUpperCase()} of ${name}`, expected: valueText(record) }
}

function foundText({ type }: DnsRecord, found: readonly string[]): string {
  return found.length === 0 ? `no ${type} record` : found.join(' and ')
}

function valueText({ type, priority, value }: DnsRecord): string {
  return `${type} ${priority === null ? '' : `${priority} `}${value}`
}

/** A finding for each record. What an account has never finished is its own affair, and no fault. */
export async function checkCustomDomain(
  looks: Looks,
  db: ReadDb,
  domain: Domain,
  signal: AbortSignal,
): Promise<Finding[]> {
  const { smtpHostname } = looks.settings
  const keys = await listDkimKeys(db, { ownerId: domain.id, domain: domain.domain })
  const asked = await askRecords(looks, domainDnsRecords({ ...domain, smtpHostname, keys }), signal)
  return asked.map((one) => {
    const { check, ...finding } = judgeRecord(one, domain.isHolder ? bad : advice)
    const { fix } = finding
    const told =
      fix && `Have account ${domain.accountId}, where it is ${domain.status}, do so: ${fix}`
    return { check: `domain ${domain.domain}: ${check}`, ...finding, fix: told }
  })
}

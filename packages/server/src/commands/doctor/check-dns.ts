// Checks the DNS records of the inbox domain and custom domains, and the names of this machine.

import { isIPv4 } from 'node:net'
import { SERVICE_OWNER } from '#domains/dkim/dkim.ts'
import { listDkimKeys } from '#domains/dkim/store/dkim-keys.ts'
import { type AskedRecord, askRecords } from '#domains/domains.ts'
import type { Domain } from '#domains/model.ts'
import { type DnsRecord, domainDnsRecords, serviceDnsRecords } from '#domains/records/records.ts'
import { countEveryDomain, listEveryDomain } from '#domains/store/domains.ts'
import { systemClock } from '#platform/clock.ts'
import { isSpecialAddress } from '#platform/egress/address-guard.ts'
import type { ReadDb } from '#store/tables.ts'
import {
  type Aim,
  advice,
  bad,
  type CheckContext,
  type Finding,
  good,
  notNeeded,
  unknown,
  within,
} from './finding.ts'

/** Top-level names that no public DNS serves (RFC 2606, RFC 6761). */
const RESERVED = /(^|\.)(localhost|test|example|invalid|local)$/

/** Only private DNS servers can serve such a domain. */
export function isReservedDomain(domain: string): boolean {
  return RESERVED.test(domain)
}

/** Whether the inbox domain is reserved and unknown to the configured resolvers. */
export async function isNowhere({ settings, resolver }: CheckContext): Promise<boolean> {
  const { inboxDomain } = settings
  if (!isReservedDomain(inboxDomain)) return false
  const answers = await Promise.all([resolver.mx(inboxDomain), resolver.txt(inboxDomain)])
  return answers.every(({ kind }) => kind !== 'found')
}

/** `db` is null if the database cannot be read, so that the DKIM keys are unknown. */
export async function checkInboxDomain(
  context: CheckContext,
  db: ReadDb | null,
): Promise<Finding[]> {
  const { inboxDomain, smtpHostname, delivery } = context.settings
  const aim: Aim = {
    check: `records of ${inboxDomain}`,
    expected: 'MX, SPF, DKIM and DMARC as "mailroom admin dns" prints them',
  }
  if (delivery === 'sandbox') return [notNeeded(aim, 'MAILROOM_DELIVERY is sandbox')]
  if (await isNowhere(context)) {
    const fix =
      'Set MAILROOM_INBOX_DOMAIN to a domain you own, or MAILROOM_DNS_SERVERS to servers that know it.'
    const found = `DNS has no records for ${inboxDomain}, which is a reserved name`
    return [bad(aim, found, fix)]
  }
  const owner = { ownerId: SERVICE_OWNER, domain: inboxDomain }
  const keys = db === null ? [] : await listDkimKeys(db, owner)
  const asked = await askRecords(context, serviceDnsRecords({ inboxDomain, smtpHostname, keys }))
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
  return bad(
    aim,
    'there are none yet',
    'Run "mailroom admin dns", which creates them, and publish them.',
  )
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

function isOtherSpf(asked: AskedRecord): asked is CheckedRecord {
  if (asked.kind === 'fault' || asked.record.purpose !== 'spf') return false
  return asked.check.status !== 'valid' && asked.check.found.length === 1
}

/** If mail leaves through a relay, the SPF record must name it, and the name is unknown here. */
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

/** A domain that its account has never verified gets only advice. */
async function checkCustomDomain(
  context: CheckContext,
  db: ReadDb,
  domain: Domain,
  signal: AbortSignal,
): Promise<Finding[]> {
  const { smtpHostname } = context.settings
  const keys = await listDkimKeys(db, { ownerId: domain.id, domain: domain.domain })
  const asked = await askRecords(
    context,
    domainDnsRecords({ ...domain, smtpHostname, keys }),
    signal,
  )
  return asked.map((one) => {
    const { check, ...finding } = judgeRecord(one, domain.isHolder ? bad : advice)
    const { fix } = finding
    const fixForAccount =
      fix && `Have account ${domain.accountId}, where it is ${domain.status}, do so: ${fix}`
    return { check: `domain ${domain.domain}: ${check}`, ...finding, fix: fixForAccount }
  })
}

const ADDRESSES_MAX = 4

export async function checkNames(context: CheckContext): Promise<Finding[]> {
  const { smtpHostname, delivery } = context.settings
  const name: Aim = {
    check: 'name',
    expected: `${smtpHostname}, the SMTP name of this machine, resolves to its public addresses`,
  }
  const reverse: Aim = {
    check: 'reverse name',
    expected: `the PTR record of each address of ${smtpHostname} names it`,
  }
  if (delivery === 'sandbox') {
    const why = 'MAILROOM_DELIVERY is sandbox'
    return [notNeeded(name, why), notNeeded(reverse, why)]
  }
  const { addresses, fault } = await context.addressesOf(smtpHostname)
  if (addresses.length === 0 && fault !== null) return [unknown(name, `DNS: ${fault}`)]
  const named = judgeName(context, name, addresses)
  if (delivery === 'relay')
    return [named, notNeeded(reverse, 'the relay connects to the receivers')]
  const asked = addresses.slice(0, ADDRESSES_MAX)
  return [named, ...(await Promise.all(asked.map((one) => checkReverse(context, one))))]
}

function judgeName(context: CheckContext, aim: Aim, addresses: readonly string[]): Finding {
  const { smtpHostname, allowPrivateEgress } = context.settings
  const text = addresses.join(', ')
  if (addresses.length === 0) {
    return bad(aim, 'it has no address', `Publish A or AAAA records for ${smtpHostname}.`)
  }
  const special = addresses.filter(isSpecialAddress)
  if (special.length > 0 && !allowPrivateEgress) {
    const fix = `Publish only public addresses for ${smtpHostname}.`
    return bad(aim, `${special.join(', ')} cannot be reached from the Internet`, fix)
  }
  if (addresses.some(context.isOwnAddress)) return good(aim, text)
  const found = `${text}, which is not an address of this machine; correct if a router or load balancer translates addresses`
  return unknown(aim, found, `Make sure connections from this machine appear to come from ${text}.`)
}

/** PTR and address records must match (RFC 1912 §2.1), or many receivers refuse mail. */
async function checkReverse(context: CheckContext, address: string): Promise<Finding> {
  const { smtpHostname } = context.settings
  const aim: Aim = {
    check: 'reverse name',
    expected: `the PTR record of ${address} names ${smtpHostname}`,
  }
  const answer = await context.resolver.ptr(reverseName(address))
  if (answer.kind === 'fault') return unknown(aim, `DNS: ${answer.text}`)
  const fix = `Have the provider of the address set its PTR record to ${smtpHostname}.`
  const names =
    answer.kind === 'found' ? answer.records.map((one) => one.toLowerCase().replace(/\.$/, '')) : []
  if (names.includes(smtpHostname)) return good(aim, `${address} is ${smtpHostname}`)
  if (names.length === 0) return bad(aim, 'it has none', fix)
  const found = `it names ${names.join(', ')}`
  const back = await Promise.all(names.map((name) => context.addressesOf(name)))
  if (back.some(({ addresses }) => addresses.includes(address))) return advice(aim, found, fix)
  return bad(aim, `${found}, which does not lead back to ${address}`, fix)
}

/** The name of an address for PTR queries (RFC 1035 §3.5, RFC 3596 §2.5). */
export function reverseName(address: string): string {
  if (isIPv4(address)) return `${address.split('.').reverse().join('.')}.in-addr.arpa`
  const [head = '', tail] = (address.split('%')[0] ?? '').split('::')
  const groups = (text: string) => (text === '' ? [] : text.split(':'))
  const front = groups(head)
  const back = tail === undefined ? [] : groups(tail)
  const zeros = Array.from({ length: 8 - front.length - back.length }, () => '0')
  const digits = [...front, ...zeros, ...back].map((group) => group.padStart(4, '0')).join('')
  return `${[...digits].reverse().join('.')}.ip6.arpa`
}

/** No check of another domain starts after this time. */
export const DOMAINS_MS_MAX = 25_000
const DOMAINS_AT_ONCE = 20
const STEP = 100
const NAMES_LISTED_MAX = 10

/** Checks verified domains first. Takes at most `withinMs` plus the time of one domain. */
export async function examineDomains(
  context: CheckContext,
  db: ReadDb,
  { isDnsThere, withinMs }: { isDnsThere: boolean; withinMs: number },
): Promise<Finding[]> {
  const count = await countEveryDomain(db)
  const aim: Aim = { check: 'custom domains', expected: 'their records' }
  if (count === 0) return []
  if (!isDnsThere) return [unknown(aim, 'DNS does not answer')]
  const endMs = systemClock.monotonic() + withinMs
  const findings: Finding[][] = []
  const domains = everyDomain(db)
  const work = async () => {
    while (systemClock.monotonic() < endMs) {
      const next = await domains.next()
      if (next.done === true) return
      const domain = next.value
      const at = findings.push([]) - 1
      const ofDomain: Aim = { check: `domain ${domain.domain}`, expected: 'its records' }
      findings[at] = await within(ofDomain, (signal) =>
        checkCustomDomain(context, db, domain, signal),
      )
    }
  }
  await Promise.all(Array.from({ length: DOMAINS_AT_ONCE }, work))
  const looked = findings.length
  if (looked >= count) return findings.flat()
  const left = await listEveryDomain(db, { limit: NAMES_LISTED_MAX, offset: looked })
  const names = left.map(({ domain }) => domain).join(', ')
  const more = count - looked - left.length
  const found = `${count - looked} of ${count} were not checked, for lack of time: ${names}${more > 0 ? ` and ${more} more` : ''}`
  return [...findings.flat(), unknown(aim, found)]
}

async function* everyDomain(db: ReadDb): AsyncGenerator<Domain, void> {
  for (let offset = 0; ; offset += STEP) {
    const domains = await listEveryDomain(db, { limit: STEP, offset })
    yield* domains
    if (domains.length < STEP) return
  }
}

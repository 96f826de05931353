// The DNS records for mail to and from this service, as a table, a zone file or log fields.

import type { DnsRecordPurpose } from '@mailroom/contract/vocabulary.ts'
import { type DkimKey, dkimKeyName, dkimKeyRecord } from '#domains/dkim/dkim-key.ts'
import type { LogFields } from '#platform/log.ts'

export type DnsRecord = {
  type: 'MX' | 'TXT'
  /** The absolute name without the final dot. */
  name: string
  value: string
  priority: number | null
  purpose: DnsRecordPurpose
  required: boolean
}

type PublishedKey = Pick<DkimKey, 'selector' | 'domain' | 'publicKey' | 'isRequired'>

type ServiceDns = {
  inboxDomain: string
  smtpHostname: string
  keys: readonly PublishedKey[]
}

type DomainDns = {
  domain: string
  smtpHostname: string
  ownershipToken: string
  subdomainsEnabled: boolean
  keys: readonly PublishedKey[]
}

const MX_PRIORITY = 10
const ZONE_TTL_SECONDS = 3600
/** A character-string has one octet for its length (RFC 1035 §3.3). */
const STRING_OCTETS_MAX = 255

/** Records are in the order in which an operator should publish them. */
export function serviceDnsRecords({ inboxDomain, smtpHostname, keys }: ServiceDns): DnsRecord[] {
  const records = mailRecords(inboxDomain, smtpHostname, keys)
  // Bounces have no sender: receivers check the name of EHLO instead (RFC 7208 §2.4).
  if (smtpHostname !== inboxDomain) {
    records.push(textRecord('spf', { name: smtpHostname, value: 'v=spf1 a -all', required: false }))
  }
  return records
}

/** The first record proves that the account controls the domain. */
export function domainDnsRecords(of: DomainDns): DnsRecord[] {
  const { domain, smtpHostname, ownershipToken, subdomainsEnabled, keys } = of
  return [
    textRecord('ownership', {
      name: `_mailroom.${domain}`,
      value: `mailroom-verification=${ownershipToken}`,
      required: true,
    }),
    ...mailRecords(domain, smtpHostname, keys),
    // Optional: without it, only mail for subdomains is lost.
    ...(subdomainsEnabled ? [wildcardRecord(domain, smtpHostname)] : []),
  ]
}

/** Applies to every name below the domain without its own records (RFC 4592). */
function wildcardRecord(domain: string, smtpHostname: string): DnsRecord {
  return {
    type: 'MX',
    name: `*.${domain}`,
    value: smtpHostname,
    priority: MX_PRIORITY,
    purpose: 'subdomains',
    required: false,
  }
}

function spfMechanism(smtpHostname: string): string {
  // Refers to the host instead of `mx`, because mail is sent from here even if the MX is elsewhere.
  return `a:${smtpHostname}`
}

function mailRecords(
  domain: string,
  smtpHostname: string,
  keys: readonly PublishedKey[],
): DnsRecord[] {
  return [
    {
      type: 'MX',
      name: domain,
      value: smtpHostname,
      priority: MX_PRIORITY,
      purpose: 'mx',
      required: true,
    },
    // `~all` lets DKIM decide about forwarded mail (RFC 7489 §10.1).
    textRecord('spf', {
      name: domain,
      value: `v=spf1 ${spfMechanism(smtpHostname)} ~all`,
      required: true,
    }),
    ...keys.map((key) =>
      textRecord('dkim', {
        name: dkimKeyName(key),
        value: dkimKeyRecord(key),
        required: key.isRequired,
      }),
    ),
    textRecord('dmarc', {
      name: `_dmarc.${domain}`,
      value: 'v=DMARC1; p=quarantine',
      required: false,
    }),
  ]
}

function textRecord(
  purpose: Exclude<DnsRecordPurpose, 'mx' | 'subdomains'>,
  { name, value, required }: { name: string; value: string; required: boolean },
): DnsRecord {
  return { type: 'TXT', name, value, priority: null, purpose, required }
}

export function formatDnsTable(records: readonly DnsRecord[]): string {
  const rows = records.map((record) => [
    record.purpose.toUpperCase() + (record.required ? '' : ' (recommended)'),
    record.type,
    record.name,
    fullValue(record),
  ])
  const table = [['For', 'Type', 'Name', 'Value'], ...rows]
  const widths = [0, 1, 2].map((column) =>
    Math.max(...table.map((row) => row[column]?.length ?? 0)),
  )
  const lines = table.map((row) => row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join('  '))
  return lines.map((line) => `${line}\n`).join('')
}

/** A zone file (RFC 1035 §5.1) with absolute names and strings of at most 255 octets. */
export function formatZone(records: readonly DnsRecord[]): string {
  const lines = records.map((record) => {
    const data = record.type === 'TXT' ? quoteText(record.value) : `${fullValue(record)}.`
    return `${record.name}.\t${ZONE_TTL_SECONDS}\tIN\t${record.type}\t${data}\n`
  })
  return lines.join('')
}

export function dnsStartLog(records: readonly DnsRecord[]): { fields: LogFields; text: string } {
  return {
    fields: {
      records: records.map((record) => `${record.name} ${record.type} ${fullValue(record)}`),
    },
    text: 'receivers accept mail from here once these DNS records are published; "mailroom admin dns" prints them too',
  }
}

function fullValue({ priority, value }: DnsRecord): string {
  return priority === null ? value : `${priority} ${value}`
}

function quoteText(text: string): string {
  const bytes = Buffer.from(text)
  const strings: string[] = []
  for (let start = 0; start === 0 || start < bytes.length; start += STRING_OCTETS_MAX) {
    const octets = [...bytes.subarray(start, start + STRING_OCTETS_MAX)]
    strings.push(`"${octets.map(escapeOctet).join('')}"`)
  }
  return strings.join(' ')
}

function escapeOctet(octet: number): string {
  const character = String.fromCharCode(octet)
  if (character === '"' || character === '\\') return `\\${character}`
  const isPrintable = octet >= 0x20 && octet <= 0x7e
  return isPrintable ? character : `\\${String(octet).padStart(3, '0')}`
}

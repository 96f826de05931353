// The DNS records that make the world deliver mail to this service and believe mail from it, and the
// forms in which an operator gets them: a list to read, lines of a zone file, fields of a log line.

import type { LogFields } from '#base/log.ts'

export type DnsRecord = {
  type: 'MX' | 'TXT'
  /** Absolute, without a dot at the end. */
  name: string
  /** Of TXT the whole text, however many strings it is published in. */
  value: string
  /** Of MX records only. */
  priority: number | null
  purpose: 'mx' | 'spf' | 'dkim' | 'dmarc'
  /** The others are recommended. */
  required: boolean
}

export type ServiceDns = {
  /** In A-labels, as the next. */
  inboxDomain: string
  smtpHostname: string
  selector: string
  /** The text of the DKIM record, see `dkimKeyRecord`. */
  dkimRecord: string
}

const MX_PRIORITY = 10
const ZONE_TTL_SECONDS = 3600
/** RFC 1035 §3.3: a character-string has one octet for its length. */
const STRING_OCTETS_MAX = 255

/** The records of the service's own domain, in the order in which an operator should publish them. */
export function serviceDnsRecords(service: ServiceDns): DnsRecord[] {
  const { inboxDomain, smtpHostname, selector, dkimRecord } = service
  const text = (
    purpose: 'spf' | 'dkim' | 'dmarc',
    { name, value, required }: { name: string; value: string; required: boolean },
  ): DnsRecord => ({ type: 'TXT', name, value, priority: null, purpose, required })
  const records: DnsRecord[] = [
    {
      type: 'MX',
      name: inboxDomain,
      value: smtpHostname,
      priority: MX_PRIORITY,
      purpose: 'mx',
      required: true,
    },
    // The host by name and not `mx`: whoever puts a filter or a second MX in front of it goes on
    // sending from here. `~all` lets DKIM decide about what was forwarded (RFC 7489 §10.1).
    text('spf', { name: inboxDomain, value: `v=spf1 a:${smtpHostname} ~all`, required: true }),
    text('dkim', {
      name: `${selector}._domainkey.${inboxDomain}`,
      value: dkimRecord,
      required: true,
    }),
    text('dmarc', {
      name: `_dmarc.${inboxDomain}`,
      value: 'v=DMARC1; p=quarantine',
      required: false,
    }),
  ]
  // Bounces have no sender: there the name given in EHLO is looked at (RFC 7208 §2.4).
  if (smtpHostname !== inboxDomain) {
    records.push(text('spf', { name: smtpHostname, value: 'v=spf1 a -all', required: false }))
  }
  return records
}

/** Lines for people, in columns; the value stands last and is never cut. */
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

/** Lines of a zone file (RFC 1035 §5.1), names absolute; texts in strings of at most 255 octets. */
export function formatZone(records: readonly DnsRecord[]): string {
  const lines = records.map((record) => {
    const data = record.type === 'TXT' ? quoteText(record.value) : `${fullValue(record)}.`
    return `${record.name}.\t${ZONE_TTL_SECONDS}\tIN\t${record.type}\t${data}\n`
  })
  return lines.join('')
}

/** What a service that sends directly says at its start. */
export function dnsStartLog(records: readonly DnsRecord[]): { fields: LogFields; text: string } {
  return {
    fields: {
      records: records.map((record) => `${record.name} ${record.type} ${fullValue(record)}`),
    },
    text: 'mail from here is believed when these DNS records are published; "mailroom dns" prints them too',
  }
}

function fullValue({ priority, value }: DnsRecord): string {
  return priority === null ? value : `${priority} ${value}`
}

function quoteText(text: string): string {
  const bytes = Buffer.from(text)
  const strings: string[] = []
  // One empty string is the shortest text that there is.
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

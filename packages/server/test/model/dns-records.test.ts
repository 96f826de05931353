import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type DnsRecord,
  dnsStartLog,
  formatDnsTable,
  formatZone,
  serviceDnsRecords,
} from '#domains/records/dns-records.ts'

const KEY = `v=DKIM1; k=rsa; p=${'A'.repeat(392)}`
const key = (domain: string, selector: string, isRequired: boolean) => ({
  domain,
  selector,
  isRequired,
  publicKey: 'A'.repeat(392),
})
const records = serviceDnsRecords({
  inboxDomain: 'agents.example.com',
  smtpHostname: 'mx.example.com',
  keys: [key('agents.example.com', 'mr1', true), key('agents.example.com', 'mr2', false)],
})

const text = (value: string): DnsRecord => ({
  type: 'TXT',
  name: 'a.example',
  value,
  priority: null,
  purpose: 'spf',
  required: true,
})

/** The strings of the one TXT record in a zone line. */
function stringsOf(line: string): string[] {
  return [...line.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, inside = '']) => inside)
}

test('a service publishes its mail host, its permitted senders, its keys, and its policy', () => {
  const lines = records.map(({ purpose, type, name, priority, value, required }) =>
    [purpose, type, name, priority ?? '-', value, required].join(' '),
  )
  assert.deepEqual(lines, [
    'mx MX agents.example.com 10 mx.example.com true',
    'spf TXT agents.example.com - v=spf1 a:mx.example.com ~all true',
    `dkim TXT mr1._domainkey.agents.example.com - ${KEY} true`,
    `dkim TXT mr2._domainkey.agents.example.com - ${KEY} false`,
    'dmarc TXT _dmarc.agents.example.com - v=DMARC1; p=quarantine false',
    'spf TXT mx.example.com - v=spf1 a -all false',
  ])
})

test('a name has one SPF record, even if the host is named like the domain', () => {
  const same = serviceDnsRecords({
    inboxDomain: 'example.com',
    smtpHostname: 'example.com',
    keys: [key('example.com', 'mr1', true)],
  })
  assert.equal(same.filter(({ purpose }) => purpose === 'spf').length, 1)
})

test('the table shows every value unshortened, on its own line', () => {
  const table = formatDnsTable(records)
  assert.equal(table.trimEnd().split('\n').length, 1 + records.length)
  for (const { name, value } of records) {
    assert.ok(table.split('\n').some((line) => line.includes(name) && line.endsWith(value)))
  }
  assert.match(table, /^MX {2,}MX +agents\.example\.com +10 mx\.example\.com$/m)
  assert.match(table, /^DMARC \(recommended\) /m)
})

test('zone lines have absolute names, and texts in strings of at most 255 octets', () => {
  const zone = formatZone(records)
  const lines = zone.trimEnd().split('\n')
  assert.equal(lines[0], 'agents.example.com.\t3600\tIN\tMX\t10 mx.example.com.')
  assert.equal(lines[1], 'agents.example.com.\t3600\tIN\tTXT\t"v=spf1 a:mx.example.com ~all"')
  const strings = stringsOf(lines[2] ?? '')
  assert.deepEqual(
    strings.map(({ length }) => length),
    [255, KEY.length - 255],
  )
  assert.equal(strings.join(''), KEY)
})

test('zone lines quote characters that end a string or a line', () => {
  const [inside] = stringsOf(formatZone([text('a "b" \\ c; d\n\u00e9')]))
  assert.equal(inside, 'a \\"b\\" \\\\ c; d\\010\\195\\169')
})

for (const length of [0, 1, 255, 256, 510, 511]) {
  test(`a text of ${length} octets comes in as many strings as it needs`, () => {
    const strings = stringsOf(formatZone([text('x'.repeat(length))]))
    assert.equal(strings.join('').length, length)
    assert.equal(strings.length, Math.max(1, Math.ceil(length / 255)))
  })
}

test('the log of a start contains every record', () => {
  const { fields } = dnsStartLog(records)
  assert.deepEqual((fields.records as string[])[0], 'agents.example.com MX 10 mx.example.com')
  assert.equal((fields.records as string[]).length, records.length)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  checkMxRecord,
  checkTextRecord,
  FOUND_RECORDS_MAX,
  FOUND_TEXT_LENGTH_MAX,
  type MailHost,
} from '#domains/records/check-record.ts'
import { type DnsRecord, domainDnsRecords } from '#domains/records/dns-records.ts'

const KEY = 'QUJD'.repeat(90)
const records = domainDnsRecords({
  domain: 'custom.example',
  smtpHostname: 'mx.service.example',
  ownershipToken: 'token123',
  subdomainsEnabled: false,
  keys: [
    { selector: 'mr1', domain: 'custom.example', publicKey: KEY, isRequired: true },
    { selector: 'mr2', domain: 'custom.example', publicKey: 'REVG', isRequired: false },
  ],
})

function record(purpose: DnsRecord['purpose']): DnsRecord {
  const found = records.find((one) => one.purpose === purpose)
  assert.ok(found !== undefined)
  return found
}

const textStatus = (purpose: DnsRecord['purpose'], ...found: string[]) =>
  checkTextRecord(record(purpose), found).status
const mxStatus = (...found: [number, string][]) =>
  checkMxRecord(
    record('mx'),
    found.map(([preference, exchange]): MailHost => ({ preference, exchange })),
  ).status

test('a custom domain requires ownership, MX, SPF and its keys; a policy is recommended', () => {
  assert.deepEqual(
    records.map(({ purpose, type, name, required }) => [purpose, type, name, required].join(' ')),
    [
      'ownership TXT _mailroom.custom.example true',
      'mx MX custom.example true',
      'spf TXT custom.example true',
      'dkim TXT mr1._domainkey.custom.example true',
      'dkim TXT mr2._domainkey.custom.example false',
      'dmarc TXT _dmarc.custom.example false',
    ],
  )
})

test('the records are valid as published', () => {
  for (const one of records.filter(({ type }) => type === 'TXT')) {
    assert.equal(checkTextRecord(one, [one.value]).status, 'valid', one.name)
    assert.equal(checkTextRecord(one, [one.value]).hint, null)
    assert.equal(checkTextRecord(one, []).status, 'missing')
    assert.match(checkTextRecord(one, []).hint ?? '', /^Publish a TXT record at /)
  }
  assert.equal(mxStatus([10, 'mx.service.example']), 'valid')
})

test('ownership needs only the token, beside any other records', () => {
  const { value } = record('ownership')
  assert.equal(textStatus('ownership', 'mailroom-verification=other', value), 'valid')
  assert.equal(textStatus('ownership', 'mailroom-verification=other'), 'invalid')
  assert.equal(textStatus('ownership', `${value}x`), 'invalid')
  assert.equal(textStatus('ownership', value.toUpperCase()), 'invalid')
})

test('MX is valid if no other host comes before or beside ours', () => {
  const ours = 'mx.service.example'
  assert.equal(mxStatus(), 'missing')
  assert.equal(mxStatus([0, 'MX.Service.Example.']), 'valid')
  assert.equal(mxStatus([10, ours], [20, 'backup.example']), 'valid')
  assert.equal(mxStatus([10, ours], [20, ours], [15, 'backup.example']), 'valid')
  assert.equal(mxStatus([10, ours], [10, 'other.example']), 'invalid')
  assert.equal(mxStatus([10, ours], [5, 'other.example']), 'invalid')
  assert.equal(mxStatus([10, 'other.example']), 'invalid')
  assert.equal(mxStatus([0, '.']), 'invalid')
  const { found, hint } = checkMxRecord(record('mx'), [
    { preference: 10, exchange: ours },
    { preference: 5, exchange: 'other.example' },
  ])
  assert.deepEqual(found, ['10 mx.service.example', '5 other.example'])
  assert.match(hint ?? '', /other\.example/)
})

test('SPF is valid if it is the only one and has our mechanism, whatever else it has', () => {
  const a = 'a:mx.service.example'
  const valid = [
    `v=spf1 ${a} ~all`,
    `v=spf1 +${a} -all`,
    `V=SPF1 include:_spf.other.example A:MX.Service.Example ?all`,
    `v=spf1  ip4:192.0.2.0/24   ${a}`,
    `v=spf1 ${a}. -all`,
    `v=spf1 ${a}/32 ~all`,
    `v=spf1 ${a}./24//64 ~all`,
  ]
  for (const text of valid) assert.equal(textStatus('spf', text), 'valid', text)
  const invalid = [
    'v=spf1 -all',
    'v=spf1',
    `v=spf1 -${a} ~all`,
    `v=spf1 ~${a}`,
    `v=spf1 ?${a}`,
    `v=spf1 ${a}.other.example ~all`,
    `v=spf1 include:mx.service.example ~all`,
    `v=spf1 a ~all`,
    `v=spf1 -all ${a}`,
    `v=spf1 mx ALL ${a}`,
    `v=spf1\t${a} ~all`,
    ` v=spf1 ${a} ~all`,
    `v=spf1 mx\t${a} ~all`,
    `v=spf1 ${a}.. ~all`,
  ]
  for (const text of invalid) {
    const { status, found } = checkTextRecord(record('spf'), [text])
    assert.equal(status, 'invalid', text)
    assert.deepEqual(found, [text.replaceAll('\t', '\\009')])
  }
  const behind = checkTextRecord(record('spf'), [`v=spf1 -all ${a}`]).hint
  assert.match(behind ?? '', /Move a:mx\.service\.example .* behind -all does not count/)
  const tabbed = checkTextRecord(record('spf'), [`v=spf1\t${a} ~all`]).hint
  assert.match(tabbed ?? '', /plain spaces/)
  assert.equal(textStatus('spf', 'google-site-verification=1', 'v=spf10 a', 'spf1'), 'missing')
  assert.equal(textStatus('spf', 'google-site-verification=1', `v=spf1 ${a} ~all`), 'valid')
  const both = [`v=spf1 ${a} ~all`, 'v=spf1 include:other.example -all']
  assert.equal(textStatus('spf', ...both), 'invalid')
  assert.match(checkTextRecord(record('spf'), both).hint ?? '', /^Join the 2 SPF records/)
})

test('a key is read as a verifier reads it', () => {
  const valid = [
    `p=${KEY}`,
    `v=DKIM1;k=rsa;p=${KEY};`,
    `v=DKIM1; k=rsa; s=email; h=sha256; p=${KEY.slice(0, 100)} ${KEY.slice(100)}`,
  ]
  for (const text of valid) assert.equal(textStatus('dkim', text), 'valid', text.slice(0, 40))
  const invalid = [
    `v=DKIM1; k=rsa; p=${KEY.slice(0, 200)}`,
    'v=DKIM1; k=rsa; p=',
    `v=DKIM1; k=ed25519; p=${KEY}`,
    `v=DKIM1; k=rsa; h=sha1; p=${KEY}`,
    'something else',
  ]
  for (const text of invalid) assert.equal(textStatus('dkim', text), 'invalid', text.slice(0, 40))
})

test('of two keys at one name a verifier may use either, so ours is valid only alone', () => {
  const hintOf = (...found: string[]) => {
    const { status, hint } = checkTextRecord(record('dkim'), found)
    assert.equal(status, 'invalid')
    return hint ?? ''
  }
  assert.match(hintOf('v=DKIM1; k=rsa; p=AAAA', `p=${KEY}`), /^Remove the other records of mr1\./)
  assert.match(hintOf('v=DKIM1; k=rsa; p=AAAA'), /another key/)
  assert.match(hintOf(`v=DKIM1; t=y:s; k=rsa; p=${KEY}`), /t=y/)
  assert.match(hintOf('v=DKIM1; k=rsa; p=AAAA', `v=DKIM1; t=y; p=${KEY}`), /t=y/)
  for (const tags of ['k=ed25519', 'h=sha1', 's=tlsrpt', 'v=DKIM2']) {
    assert.match(hintOf(`${tags}; p=${KEY}`), /key is this one, but the tags/)
  }
  assert.equal(textStatus('dkim', `p=${KEY}`, `v=DKIM1; k=rsa; p=${KEY}`), 'valid')
})

test('any one policy counts as DMARC', () => {
  assert.equal(textStatus('dmarc', 'v=DMARC1; p=none; rua=mailto:a@custom.example'), 'valid')
  assert.equal(textStatus('dmarc', 'v=DMARC1;p=reject'), 'valid')
  assert.equal(textStatus('dmarc', 'v=DMARC1; p=maybe'), 'invalid')
  assert.equal(textStatus('dmarc', 'v=DMARC1; sp=none'), 'invalid')
  assert.equal(textStatus('dmarc', 'v=DMARC1; p=none', 'v=DMARC1; p=reject'), 'invalid')
  assert.equal(textStatus('dmarc', 'v=DMARC2; p=none'), 'missing')
})

test('a bounded part of the answer of DNS is kept', () => {
  const many = Array.from({ length: 100 }, (_, n) => `${n} ${'🙂'.repeat(2_000)}`)
  const { found } = checkTextRecord(record('ownership'), many)
  assert.equal(found.length, FOUND_RECORDS_MAX)
  assert.equal([...(found[0] ?? '')].length, FOUND_TEXT_LENGTH_MAX)
})

test('a hint names a few of the hosts beside ours, and no very long ones', () => {
  const rivals = Array.from({ length: 3_900 }, (_, n) => ({
    preference: 1,
    exchange: `${n}${'x'.repeat(5_000)}.example`,
  }))
  const ours = { preference: 10, exchange: 'mx.service.example' }
  const { status, hint } = checkMxRecord(record('mx'), [...rivals, ours])
  assert.equal(status, 'invalid')
  assert.match(hint ?? '', / and 3897 others, or give it a higher number than 10/)
  assert.ok((hint ?? '').length < 3 * FOUND_TEXT_LENGTH_MAX + 300, String(hint?.length))
})

test('control characters and marks of writing direction are shown as numbers', () => {
  const hostile = '\u001b[2J\u0007\r\n\u202e\u2066\u0085\u0000'
  const rivals = [{ preference: 5, exchange: `${hostile}evil.example` }]
  const ours = { preference: 10, exchange: 'mx.service.example' }
  const checks = [
    checkMxRecord(record('mx'), [...rivals, ours]),
    checkMxRecord(record('mx'), rivals),
    ...records
      .filter(({ type }) => type === 'TXT')
      .map((one) => checkTextRecord(one, [`v=spf1 ${hostile}`, `v=DMARC1; p=none ${hostile}`])),
  ]
  for (const { found, hint } of checks) {
    assert.doesNotMatch([...found, hint].join(''), /[\p{Cc}\p{Cf}]/u)
  }
  assert.equal(
    checks[0]?.found[0],
    '5 \\027[2J\\007\\013\\010\\226\\128\\174\\226\\129\\166\\194\\133\\000evil.example',
  )
  const long = checkTextRecord(record('ownership'), [hostile.repeat(1_000)]).found[0] ?? ''
  assert.ok(long.length <= FOUND_TEXT_LENGTH_MAX)
  assert.match(long, /^(?:\\\d{3}|\[2J)+$/)
})

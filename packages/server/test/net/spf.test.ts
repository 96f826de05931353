import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Zone } from '#test/peers/dns.ts'
import { plainMail } from '#test/world.ts'
import { type Arrival, openAuthenticateWorld } from './authenticate-world.ts'

const names = (count: number, name: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => name(index))

const TOO_MANY: Zone = Object.fromEntries(
  names(12, (index) => `i${index}.many.example`).map((name) => [name, { TXT: ['v=spf1 ?all'] }]),
)

const CASES: {
  name: string
  zone: Zone
  arrival?: Arrival
  expected: string
  domain?: string | null
}[] = [
  {
    name: 'an address that the record names passes',
    zone: { 'sender.example': { TXT: ['v=spf1 ip4:192.0.2.0/24 -all'] } },
    expected: 'pass',
  },
  {
    name: 'an address that is not named fails as the record says',
    zone: { 'sender.example': { TXT: ['other=1', 'v=spf1 ip4:198.51.100.1 -all'] } },
    expected: 'fail',
  },
  {
    name: 'a record in doubt is a softfail',
    zone: { 'sender.example': { TXT: ['v=spf1 ~all'] } },
    expected: 'softfail',
  },
  {
    name: 'a record that says nothing is neutral',
    zone: { 'sender.example': { TXT: ['v=spf1 ?all'] } },
    expected: 'neutral',
  },
  { name: 'a domain without a record is none', zone: {}, expected: 'none' },
  {
    name: 'a DNS fault is a temperror',
    zone: { 'sender.example': 'servfail' },
    expected: 'temperror',
  },
  {
    name: 'a fault behind an include is a temperror',
    zone: {
      'sender.example': { TXT: ['v=spf1 include:broken.example -all'] },
      'broken.example': 'servfail',
    },
    expected: 'temperror',
  },
  {
    name: 'two records are a permerror',
    zone: { 'sender.example': { TXT: ['v=spf1 +all', 'v=spf1 -all'] } },
    expected: 'permerror',
  },
  {
    name: 'a record that cannot be read is a permerror',
    zone: { 'sender.example': { TXT: ['v=spf1 ip4:192.0.2.1 nonsense:x -all'] } },
    expected: 'permerror',
  },
  {
    name: 'more than ten lookups are a permerror',
    zone: {
      'sender.example': {
        TXT: [`v=spf1 ${names(11, (index) => `include:i${index}.many.example`).join(' ')} +all`],
      },
      ...TOO_MANY,
    },
    expected: 'permerror',
  },
  {
    name: 'more than two lookups in vain are a permerror',
    zone: { 'sender.example': { TXT: ['v=spf1 a:x.example a:y.example a:z.example +all'] } },
    expected: 'permerror',
  },
  {
    name: 'the MX of the domain may send',
    zone: {
      'sender.example': {
        TXT: ['v=spf1 mx -all'],
        MX: [{ exchange: 'mx.sender.example', preference: 10 }],
      },
      'mx.sender.example': { A: ['192.0.2.1'] },
    },
    expected: 'pass',
  },
  {
    name: 'an IPv6 address is looked for among those of IPv6',
    zone: { 'sender.example': { TXT: ['v=spf1 ip6:2001:db8::/32 -all'] } },
    arrival: { clientAddress: '2001:db8::25' },
    expected: 'pass',
  },
  {
    name: 'an IPv4 address that came mapped is one of IPv4',
    zone: { 'sender.example': { TXT: ['v=spf1 ip4:192.0.2.1 -all'] } },
    arrival: { clientAddress: '::ffff:192.0.2.1' },
    expected: 'pass',
  },
  {
    name: 'of the null reverse-path it is the name of EHLO that counts',
    zone: { 'mail.sender.example': { TXT: ['v=spf1 ip4:192.0.2.1 -all'] } },
    arrival: { reversePath: '' },
    expected: 'pass',
    domain: 'mail.sender.example',
  },
  {
    name: 'an address literal in EHLO has no record',
    zone: {},
    arrival: { reversePath: '', helo: '[192.0.2.1]' },
    expected: 'none',
    domain: null,
  },
  {
    name: 'an international domain is asked for by its A-label',
    zone: { 'xn--bcher-kva.example': { TXT: ['v=spf1 ip4:192.0.2.1 -all'] } },
    arrival: { reversePath: 'ann@Bücher.example' },
    expected: 'pass',
    domain: 'xn--bcher-kva.example',
  },
  {
    name: 'mail without a client’s address is not judged',
    zone: { 'sender.example': { TXT: ['v=spf1 +all'] } },
    arrival: { clientAddress: null },
    expected: 'none',
    domain: null,
  },
]

for (const { name, zone, arrival, expected, domain = 'sender.example' } of CASES) {
  test(`SPF: ${name}`, async (t) => {
    const { judge } = await openAuthenticateWorld(t, zone)
    const { spf } = await judge(arrival)
    assert.deepEqual(spf, { result: expected, domain })
  })
}

test('SPF: results are kept as long as their record, and queried for each sender if it has macros', async (t) => {
  const record = (text: string) => ({ TXT: [text], ttlSeconds: 600 })
  const { judge, dns } = await openAuthenticateWorld(t, {
    'sender.example': record('v=spf1 exists:%{l}.users.example -all'),
    'ann.users.example': { A: ['127.0.0.2'], ttlSeconds: 600 },
    'plain.example': record('v=spf1 ip4:192.0.2.1 -all'),
  })
  const of = async (arrival: Arrival) => (await judge(arrival)).spf.result
  assert.equal(await of({ reversePath: 'ann@sender.example' }), 'pass')
  assert.equal(await of({ reversePath: 'bob@sender.example' }), 'fail')
  assert.equal(await of({ reversePath: 'ann@plain.example' }), 'pass')
  assert.equal(await of({ reversePath: 'bob@plain.example' }), 'pass')
  assert.equal(await of({ reversePath: 'bob@plain.example', clientAddress: '192.0.2.2' }), 'fail')
  assert.equal(dns.countAsked('plain.example'), 1)
})

test('SPF: a record that causes more than forty queries is a permerror, and further ones are not sent', async (t) => {
  const hosts = names(80, (index) => `h${index}.mx${index % 8}.example`)
  const { judge, dns } = await openAuthenticateWorld(t, {
    'sender.example': { TXT: [`v=spf1 ${names(8, (n) => `mx:mx${n}.example`).join(' ')} +all`] },
    ...Object.fromEntries(
      names(8, (n) => `mx${n}.example`).map((name) => [
        name,
        {
          MX: hosts
            .filter((host) => host.endsWith(name))
            .map((exchange) => ({ exchange, preference: 1 })),
        },
      ]),
    ),
    ...Object.fromEntries(hosts.map((host) => [host, { A: ['192.0.2.99'] }])),
  })
  assert.equal((await judge()).spf.result, 'permerror')
  // DMARC sends two more.
  const asked = dns.asked.filter(({ name }) => !name.startsWith('_dmarc'))
  assert.equal(new Set(asked.map(({ type, name }) => `${type} ${name}`)).size, 40)
})

test('SPF: a check that takes too long is a temperror, and sends no queries after it', async (t) => {
  const chain = names(10, (n) => `c${n}.example`)
  const { judge, dns } = await openAuthenticateWorld(t, {
    'sender.example': { TXT: ['v=spf1 include:c0.example +all'], delayMs: 900 },
    ...Object.fromEntries(
      chain.map((name, n) => [
        name,
        { TXT: [`v=spf1 include:c${n + 1}.example ?all`], delayMs: 900 },
      ]),
    ),
  })
  assert.equal((await judge()).spf.result, 'temperror')
  // One that was sent just before may not have been read yet; the next would come 900 ms later.
  await new Promise((resolve) => setTimeout(resolve, 300))
  const asked = new Set(dns.asked.map(({ name }) => name))
  await new Promise((resolve) => setTimeout(resolve, 2_000))
  assert.deepEqual(new Set(dns.asked.map(({ name }) => name)), asked)
})

test('SPF: hostile reverse-paths, names and addresses cause no error', async (t) => {
  const { judge } = await openAuthenticateWorld(t, {})
  const paths = [
    '@',
    'a@',
    'a@b@c',
    '"a b"@x.example',
    `a@${'x'.repeat(300)}`,
    'a@..',
    'a@%00',
    'x',
  ]
  for (const reversePath of paths) {
    const { spf } = await judge({ reversePath, helo: '\u0000"<', raw: plainMail({}) })
    assert.ok(['none', 'permerror'].includes(spf.result), `${reversePath}: ${spf.result}`)
  }
  assert.equal((await judge({ clientAddress: 'nonsense' })).spf.result, 'temperror')
})

// The route of mail for a destination, or the reason for none: RFC 5321 §5.1 and RFC 7505 over real DNS.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Zone } from '#test/peers/dns.ts'
import { hostsOf, mx, openRouteWorld, outcomeOf } from './route-world.ts'

const A = ['1.1.1.1']

test('each fault of DNS has its outcome', async (t) => {
  const { find } = await openRouteWorld(t, {
    'null.example': { MX: [{ exchange: '.', preference: 0 }], A },
    'no-mx.example': { A },
    'servfail.example': 'servfail',
    'mx-servfail.example': { MX: 'servfail', A },
    'refused.example': 'refused',
    'silent.example': 'silent',
    'loop.example': { CNAME: 'pool.example' },
    'pool.example': { CNAME: 'loop.example' },
    'referral.example': 'referral',
    'alias.example': { CNAME: 'no-mx.example' },
    'dangling.example': { CNAME: 'missing.example' },
    'nothing.example': { TXT: ['v=spf1 -all'] },
    'no-hosts.example': { MX: mx('missing.example', 'nothing.example') },
    'mx-alias-loop.example': { MX: mx('loop.example') },
    'one-fault.example': { MX: mx('missing.example', 'servfail.example') },
    'half-fault.example': { A: 'servfail', AAAA: [] },
  })
  const expected = {
    'null.example': '556 5.1.10',
    'no-mx.example': 'hosts',
    'missing.example': '550 5.1.2',
    'servfail.example': 'deferred',
    'mx-servfail.example': 'deferred',
    'refused.example': 'deferred',
    'silent.example': 'deferred',
    'loop.example': 'deferred',
    'referral.example': 'deferred',
    'alias.example': 'hosts',
    'dangling.example': '550 5.1.2',
    'nothing.example': '550 5.4.4',
    'no-hosts.example': '550 5.4.4',
    'mx-alias-loop.example': 'deferred',
    'one-fault.example': 'deferred',
    'half-fault.example': 'deferred',
  }
  const found: Record<string, string> = {}
  for (const destination of Object.keys(expected)) {
    found[destination] = outcomeOf(await find(destination))
  }
  assert.deepEqual(found, expected)
})

test('without MX the domain is its own host, ignoring case and a final dot', async (t) => {
  const { find } = await openRouteWorld(t, {
    'example.com': { A, AAAA: ['2606:4700::1'], ttlSeconds: 60 },
  })
  const hosts = [
    { host: 'example.com', addresses: ['1.1.1.1', '2606:4700::1'], tls: { kind: 'opportunistic' } },
  ]
  const route = { kind: 'hosts', hosts }
  assert.deepEqual(await find('Example.COM.'), route)
  assert.deepEqual(await find('example.com'), route)
})

test('hosts are tried by preference, equal ones in any order', async (t) => {
  const { find, pass } = await openRouteWorld(t, {
    'example.com': {
      MX: [
        { exchange: 'last.example', preference: 500 },
        { exchange: 'A.example', preference: 20 },
        { exchange: 'b.example', preference: 20 },
        { exchange: 'first.example', preference: 5 },
      ],
    },
    'first.example': { A },
    'a.example': { A },
    'b.example': { A },
    'last.example': { A },
  })
  const seen = new Set<string>()
  for (let round = 0; round < 60 && seen.size < 2; round++) {
    const hosts = hostsOf(await find('example.com')).map(({ host }) => host)
    seen.add(hosts.join(' '))
    pass(400_000)
  }
  assert.deepEqual([...seen].sort(), [
    'first.example a.example b.example last.example',
    'first.example b.example a.example last.example',
  ])
})

test('fifty hosts give five addresses, and unneeded hosts are not queried', async (t) => {
  const names = Array.from({ length: 50 }, (_, index) => `mx${index}.example`)
  const zone: Zone = { 'example.com': { MX: mx(...names) } }
  for (const [index, name] of names.entries()) zone[name] = { A: [`1.1.1.${index}`], AAAA: [] }
  const { find, dns } = await openRouteWorld(t, zone)
  const addresses = hostsOf(await find('example.com')).flatMap((host) => host.addresses)
  assert.deepEqual(addresses, ['1.1.1.0', '1.1.1.1', '1.1.1.2', '1.1.1.3', '1.1.1.4'])
  assert.equal(
    dns.asked.filter(({ name }) => names.includes(name)).length,
    10,
    'A and AAAA of five',
  )
})

test('fifty hosts without addresses cost ten lookups and a deferral', async (t) => {
  const names = Array.from({ length: 50 }, (_, index) => `mx${index}.example`)
  const { find, dns } = await openRouteWorld(t, { 'example.com': { MX: mx(...names) } })
  assert.equal(outcomeOf(await find('example.com')), 'deferred')
  assert.equal(dns.asked.filter(({ type }) => type === 'A').length, 10)
})

test('a host with many addresses leaves room for the others', async (t) => {
  const many = Array.from({ length: 8 }, (_, index) => `1.1.1.${index}`)
  const { find } = await openRouteWorld(t, {
    'example.com': { MX: mx('big.example', 'small.example') },
    'big.example': { A: many, AAAA: ['2606:4700::1', '2606:4700::2'] },
    'small.example': { AAAA: ['2606:4700::3'] },
    'alone.example': { MX: mx('big.example') },
  })
  const addressesOf = async (destination: string) =>
    hostsOf(await find(destination)).map(({ addresses }) => addresses)
  assert.deepEqual(await addressesOf('example.com'), [
    ['1.1.1.0', '1.1.1.1', '2606:4700::1'],
    ['2606:4700::3'],
  ])
  assert.deepEqual(await addressesOf('alone.example'), [[...many.slice(0, 4), '2606:4700::1']])
})

test('hosts that cannot be looked up, do not exist or are no names are skipped', async (t) => {
  const { find, dns } = await openRouteWorld(t, {
    'example.com': {
      MX: mx(
        'servfail.example',
        'missing.example',
        '1.1.1.9',
        '.',
        'bad name.example',
        'good.example',
      ),
    },
    'servfail.example': 'servfail',
    'good.example': { A, AAAA: 'servfail' },
    'literal.example': { MX: mx('1.1.1.9') },
  })
  const hosts = hostsOf(await find('example.com'))
  assert.deepEqual(
    hosts.map(({ host, addresses }) => [host, addresses]),
    [['good.example', A]],
  )
  assert.equal(dns.countAsked('1.1.1.9') + dns.countAsked('bad name.example'), 0)
  assert.equal(outcomeOf(await find('literal.example')), '550 5.4.4')
})

test('special and own addresses are left out, and a destination with only these is refused', async (t) => {
  const zone: Zone = {
    'mixed.example': { MX: mx('inside.example', 'outside.example', 'us.example') },
    'inside.example': { A: ['10.0.0.1', '127.0.0.1'], AAAA: ['::1', '64:ff9b::7f00:1'] },
    'outside.example': { A: ['192.168.0.1', ...A] },
    'us.example': { A: ['9.9.9.9'], AAAA: ['2606:4700:0::9'] },
    'servfail.example': 'servfail',
    'inside-or-fault.example': { MX: mx('inside.example', 'servfail.example') },
  }
  const own = { ownAddresses: () => ['9.9.9.9', '2606:4700::9', 'fe80::1%eth0'] }
  const { find } = await openRouteWorld(t, zone, own)
  assert.deepEqual(hostsOf(await find('mixed.example')), [
    { host: 'outside.example', addresses: A, tls: { kind: 'opportunistic' } },
  ])
  for (const destination of ['inside.example', 'us.example', '[127.0.0.1]', '[9.9.9.9]']) {
    const route = await find(destination)
    assert.equal(outcomeOf(route), '550 5.4.6', destination)
    const bare = destination.startsWith('[') ? [] : ['10.', '127.', '9.9']
    const text = route.kind === 'refused' ? route.text : ''
    assert.deepEqual(
      bare.filter((part) => text.includes(part)),
      [],
      'no address is told',
    )
  }
  assert.equal(outcomeOf(await find('inside-or-fault.example')), 'deferred')
  assert.equal(outcomeOf(await find('localhost')), '550 5.1.2', 'no hosts file is read')

  const open = await openRouteWorld(t, zone, { ...own, allowPrivate: true })
  const addresses = hostsOf(await open.find('mixed.example')).flatMap((host) => host.addresses)
  assert.deepEqual(addresses, ['10.0.0.1', '127.0.0.1', '::1', '192.168.0.1', '1.1.1.1'])
})

test('an address literal is its own route; other texts that are no names are refused', async (t) => {
  const { find, dns } = await openRouteWorld(t, {})
  for (const [literal, address] of [
    ['[1.1.1.1]', '1.1.1.1'],
    ['[IPv6:2606:4700::1]', '2606:4700::1'],
  ] as const) {
    const [host] = hostsOf(await find(literal))
    assert.deepEqual(host?.addresses, [address])
  }
  const wrong = ['[1.1.1]', '[1.1.1.1', '[2606:4700::1]', '[ipv6:2606:4700::1%1]', '[]', 'a..b', '']
  wrong.push('1.1.1.1', 'a b.example', `${'a'.repeat(64)}.example`, '.', 'bücher.example')
  for (const text of wrong) assert.equal(outcomeOf(await find(text)), '550 5.1.2', text)
  assert.equal(dns.asked.length, 0)
})

test('silence of DNS ends in a deferral after the time of two tries', async (t) => {
  const zone: Zone = { 'silent.example': 'silent' }
  const { find, dns } = await openRouteWorld(t, zone, { firstTryMs: 400 })
  const startedMs = performance.now()
  assert.equal(outcomeOf(await find('silent.example')), 'deferred')
  assert.ok(performance.now() - startedMs < 15_000)
  const asked = dns.countAsked('silent.example', 'MX')
  assert.ok(asked === 2 || asked === 3, `${asked}`)
})

test('a missing policy record is not awaited', async (t) => {
  const zone: Zone = { 'example.com': { A }, '_mta-sts.example.com': 'silent' }
  const { find } = await openRouteWorld(t, zone, { timeoutMs: 30_000, recordWaitMs: 50 })
  const startedMs = performance.now()
  assert.equal(outcomeOf(await find('example.com')), 'hosts')
  assert.ok(performance.now() - startedMs < 15_000)
})

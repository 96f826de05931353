// The demands of DANE (RFC 7672) on a host, and the conditions for them.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Zone, ZoneName } from '#test/peers/dns.ts'
import { hostsOf, mx, openRouteWorld, outcomeOf, type RouteWorldOptions } from './route-world.ts'

const A = ['1.1.1.1']
const SHA256 = Buffer.alloc(32, 1)
const ee = { usage: 3, selector: 1, matchingType: 1, data: SHA256 }
const usable = { ...ee, data: Uint8Array.from(SHA256) }
const SIGNED = { isAuthenticated: true }

function signedZone(tlsa: ZoneName | 'servfail' | 'silent', changes: Zone = {}): Zone {
  return {
    'example.com': { MX: mx('mx.example'), ...SIGNED },
    'mx.example': { A, ...SIGNED },
    '_25._tcp.mx.example': tlsa,
    ...changes,
  }
}

test('a signed host with usable records must match them', async (t) => {
  const ta = { ...ee, usage: 2, matchingType: 2, data: Buffer.alloc(64, 2) }
  const full = { ...ee, selector: 0, matchingType: 0, data: Buffer.from('certificate') }
  const unusable = [
    { ...ee, usage: 0 },
    { ...ee, usage: 1 },
    { ...ee, selector: 2 },
    { ...ee, matchingType: 3 },
    { ...ee, data: Buffer.alloc(31) },
    { ...ee, matchingType: 2 },
    { ...ee, matchingType: 0, data: Buffer.alloc(0) },
  ]
  const { find, pass, dns } = await openRouteWorld(
    t,
    signedZone({ TLSA: [...unusable, ee, ta, full], ...SIGNED, ttlSeconds: 30 }),
  )
  const route = await find('example.com')
  assert.deepEqual(hostsOf(route)[0]?.tls, {
    kind: 'dane',
    servername: 'mx.example',
    records: [
      usable,
      { ...ta, data: Uint8Array.from(ta.data) },
      { ...full, data: Uint8Array.from(full.data) },
    ],
  })
  pass(30_000)
  await find('example.com')
  assert.equal(dns.countAsked('example.com', 'MX'), 2)

  const none = await openRouteWorld(t, signedZone({ TLSA: unusable, ...SIGNED }))
  assert.deepEqual(hostsOf(await none.find('example.com'))[0]?.tls, { kind: 'required' })
})

test('records count only if every answer on the way is authenticated', async (t) => {
  const tlsa = { TLSA: [ee], ...SIGNED }
  const cases: [string, Zone, string, RouteWorldOptions?][] = [
    ['all', {}, 'dane'],
    ['MX is not', { 'example.com': { MX: mx('mx.example') } }, 'opportunistic'],
    ['A is not', { 'mx.example': { A } }, 'opportunistic'],
    ['TLSA is not', { '_25._tcp.mx.example': { TLSA: [ee] } }, 'opportunistic'],
    ['no TLSA', { '_25._tcp.mx.example': { TXT: [], ...SIGNED } }, 'opportunistic'],
    ['no such name', { '_25._tcp.mx.example': 'nxdomain' }, 'opportunistic'],
    ['the server is not believed', {}, 'opportunistic', { trusts: 'none' }],
    ['another port', {}, 'opportunistic', { port: 2525 }],
  ]
  for (const [what, changes, expected, options] of cases) {
    const { find } = await openRouteWorld(t, signedZone(tlsa, changes), options)
    assert.equal(hostsOf(await find('example.com'))[0]?.tls.kind, expected, what)
  }
})

test('no TLSA record is queried under names that are not authenticated', async (t) => {
  const { find, dns } = await openRouteWorld(t, {
    'example.com': { MX: mx('mx.example') },
    'mx.example': { A },
  })
  await find('example.com')
  assert.equal(dns.asked.filter(({ type }) => type === 'TLSA').length, 0)
})

test('a signed host whose records cannot be fetched is not used now', async (t) => {
  for (const fault of ['servfail', 'silent'] as const) {
    const alone = await openRouteWorld(t, signedZone(fault))
    assert.equal(outcomeOf(await alone.find('example.com')), 'deferred')
    const other = await openRouteWorld(
      t,
      signedZone(fault, {
        'example.com': { MX: mx('mx.example', 'unsigned.example'), ...SIGNED },
        'unsigned.example': { A },
      }),
    )
    const hosts = hostsOf(await other.find('example.com')).map(({ host }) => host)
    assert.deepEqual(hosts, ['unsigned.example'])
  }
})

test('a domain without MX has its own records, and so has the target of its alias', async (t) => {
  const { find } = await openRouteWorld(t, {
    'own.example': { A, ...SIGNED },
    '_25._tcp.own.example': { TLSA: [ee], ...SIGNED },
    'aliased.example': { MX: mx('alias.example', 'alias2.example'), ...SIGNED },
    'alias.example': { CNAME: 'own.example', ...SIGNED },
    'alias2.example': { CNAME: 'plain.example', ...SIGNED },
    'plain.example': { A, ...SIGNED },
    '_25._tcp.alias2.example': { TLSA: [ee], ...SIGNED },
  })
  const own = { kind: 'dane', servername: 'own.example', records: [usable] }
  assert.deepEqual(hostsOf(await find('own.example'))[0]?.tls, own)
  const [first, second] = hostsOf(await find('aliased.example'))
  assert.deepEqual(first?.tls, own)
  assert.deepEqual(second?.tls, { ...own, servername: 'alias2.example' })
})

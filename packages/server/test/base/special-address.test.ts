import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openResolver } from '#platform/dns/resolver.ts'
import { isSpecialAddress, makeAddressGuard } from '#platform/egress/address-guard.ts'
import { FORBIDDEN_ADDRESS, makeGuardedLookup } from '#platform/egress/guarded-connect.ts'
import { openDns } from '#test/peers/dns.ts'

const SPECIAL = [
  ...['0.0.0.0', '0.1.2.3', '10.0.0.1', '10.255.255.255', '100.64.0.1', '100.127.255.255'],
  ...['127.0.0.1', '127.255.255.254', '169.254.169.254', '172.16.0.1', '172.31.255.255'],
  ...['192.0.0.1', '192.0.2.1', '192.88.99.1', '192.168.0.1', '198.18.0.1', '198.19.255.255'],
  ...['198.51.100.1', '203.0.113.1', '224.0.0.1', '239.255.255.255', '240.0.0.1'],
  '255.255.255.255',
  ...['::', '::1', '::7f00:1', '::8.8.8.8', '::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:10.0.0.1'],
  ...['::ffff:169.254.169.254', '::ffff:0.0.0.0', '::ffff:0:7f00:1', '64:ff9b::7f00:1'],
  ...['64:ff9b::8.8.8.8', '64:ff9b:1::1', '100::1', '2001::1', '2001:db8::1', '2002:7f00:1::'],
  ...['3fff::1', 'fc00::1', 'fd00::1', 'fe80::1', 'fe80::1%eth0', 'febf::1', 'fec0::1', 'ff02::1'],
  ...['5f00::1', '4000::1'],
  ...['', 'localhost', '127.1', '0x7f.0.0.1', '2130706433', '0177.0.0.1', '[::1]', '１２７.0.0.1'],
]

const GLOBAL = [
  ...['1.1.1.1', '8.8.8.8', '9.255.255.255', '11.0.0.0', '100.63.255.255', '100.128.0.0'],
  ...['126.255.255.255', '128.0.0.0', '169.253.255.255', '169.255.0.0', '172.15.255.255'],
  ...['172.32.0.0', '192.0.1.0', '192.167.255.255', '192.169.0.0', '198.17.255.255', '198.20.0.0'],
  ...['223.255.255.255', '2606:4700:4700::1111', '2001:4860:4860::8888', '2003::1', '2a00::1'],
  ...['::ffff:8.8.8.8', '3ffe::1'],
]

test('every form of a special address is special, and its neighbours are not', () => {
  assert.deepEqual(
    SPECIAL.filter((address) => !isSpecialAddress(address)),
    [],
  )
  assert.deepEqual(GLOBAL.filter(isSpecialAddress), [])
  assert.ok(SPECIAL.length >= 45, `${SPECIAL.length} forms`)
})

type Looked = { error: NodeJS.ErrnoException | null; address: unknown }

test('a guarded lookup returns permitted addresses, or the reason for none', async (t) => {
  const dns = await openDns({
    'mixed.example': { A: ['10.0.0.1', '8.8.8.8'], AAAA: ['::1', '2606:4700::1'] },
    'private.example': { A: ['192.168.0.1'], AAAA: ['64:ff9b::7f00:1'] },
    'empty.example': { MX: [] },
    'failing.example': 'servfail',
  })
  const resolver = openResolver({ servers: [dns.server], timeoutMs: 200 })
  t.after(() => dns.close())
  const look = (
    name: string,
    options: { all?: boolean; family?: number | 'IPv6' } = {},
    allowPrivate = false,
  ) =>
    new Promise<Looked>((resolve) => {
      const lookup = makeGuardedLookup({
        resolver,
        isAllowed: makeAddressGuard({ allowPrivate, own: [] }),
      })
      lookup(name, options, (error, address) => resolve({ error, address }))
    })

  const all = [
    { address: '8.8.8.8', family: 4 },
    { address: '2606:4700::1', family: 6 },
  ]
  assert.deepEqual(await look('mixed.example', { all: true }), { error: null, address: all })
  assert.equal((await look('mixed.example')).address, '8.8.8.8')
  assert.equal((await look('mixed.example', { family: 6 })).address, '2606:4700::1')
  assert.equal((await look('mixed.example', { family: 'IPv6' })).address, '2606:4700::1')
  assert.equal((await look('private.example')).error?.code, FORBIDDEN_ADDRESS)
  assert.equal((await look('private.example', {}, true)).address, '192.168.0.1')
  assert.equal((await look('empty.example')).error?.code, 'ENOTFOUND')
  assert.equal((await look('localhost')).error?.code, 'ENOTFOUND', 'no hosts file is read')
  assert.equal((await look('failing.example')).error?.code, 'EAI_AGAIN')
})

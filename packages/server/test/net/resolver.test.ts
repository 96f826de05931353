import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { after, test } from 'node:test'
import { isLoopbackServer, parseServerAddress } from '#platform/dns/query-server.ts'
import {
  type Answer,
  DNS_QUERIES_AT_ONCE,
  openResolver,
  type Resolver,
  type ResolverOptions,
} from '#platform/dns/resolver.ts'
import { MINUTE_MS } from '#platform/units.ts'
import { type Behaviour, type Dns, openDns, type Zone } from '#test/peers/dns.ts'
import { until } from '#test/scenarios/outcomes.ts'

const closers: (() => unknown)[] = []
after(async () => {
  for (const close of closers) await close()
})

async function open(zone: Zone, options: Partial<ResolverOptions> = {}): Promise<[Resolver, Dns]> {
  const dns = await openDns(zone)
  const resolver = openResolver({ servers: [dns.server], timeoutMs: 1_000, ...options })
  closers.push(() => dns.close())
  closers.push(() => resolver.close())
  return [resolver, dns]
}

/** For tests that count questions: none is sent twice because the machine was slow to answer. */
const ONE_TRY = { firstTryMs: MINUTE_MS }

function found<Value>(answer: Answer<Value>): Value[] {
  assert.equal(answer.kind, 'found', JSON.stringify(answer))
  return answer.kind === 'found' ? answer.records : []
}

test('records of every type are returned with their TTL', async () => {
  const digest = Buffer.alloc(32, 7)
  const [resolver] = await open({
    'example.com': {
      MX: [
        { exchange: 'MX2.Example.com', preference: 20 },
        { exchange: '.', preference: 0 },
      ],
      A: ['192.0.2.1', '192.0.2.2'],
      AAAA: ['2001:db8::1'],
      TXT: ['v=spf1 -all', ['two ', 'strings']],
      TLSA: [{ usage: 3, selector: 1, matchingType: 1, data: digest }],
      ttlSeconds: 77,
    },
  })
  const mx = await resolver.mx('Example.COM.')
  assert.deepEqual(mx, {
    kind: 'found',
    records: [
      { exchange: 'mx2.example.com', preference: 20 },
      { exchange: '.', preference: 0 },
    ],
    ttlMs: 77_000,
    isAuthenticated: false,
    canonicalName: 'example.com',
  })
  assert.deepEqual(found(await resolver.a('example.com')), ['192.0.2.1', '192.0.2.2'])
  assert.deepEqual(found(await resolver.aaaa('example.com')), ['2001:db8::1'])
  assert.deepEqual(found(await resolver.txt('example.com')), ['v=spf1 -all', 'two strings'])
  assert.deepEqual(found(await resolver.tlsa('example.com')), [
    { usage: 3, selector: 1, matchingType: 1, data: Uint8Array.from(digest) },
  ])
})

test('NXDOMAIN and empty answers differ, and both differ from faults', async () => {
  const zone: Zone = {
    'here.example': { A: ['192.0.2.1'], ttlSeconds: 60 },
    'servfail.example': 'servfail',
    'refused.example': 'refused',
    'referral.example': 'referral',
    'garbage.example': 'garbage',
  }
  const [resolver, dns] = await open(zone, ONE_TRY)
  const none = { kind: 'none', ttlMs: 60_000 }
  assert.deepEqual(await resolver.mx('here.example'), { ...none, isNameMissing: false })
  const missing = await resolver.mx('missing.example')
  assert.deepEqual(missing, { kind: 'none', isNameMissing: true, ttlMs: 300_000 })
  for (const [name, text] of [
    ['servfail.example', /SERVFAIL/],
    ['refused.example', /REFUSED/],
    ['referral.example', /does not resolve/],
    ['garbage.example', /unreadable/],
  ] as const) {
    const answer = await resolver.mx(name)
    assert.equal(answer.kind, 'fault', name)
    if (answer.kind === 'fault') assert.match(answer.text, text)
    assert.equal(dns.countAsked(name), 1, 'asked once: the same server would say the same')
  }
})

test('an aborted question is no longer sent, and frees its slot', async () => {
  const [resolver, dns] = await open(
    { 'here.example': { A: ['192.0.2.1'] } },
    { timeoutMs: 10_000 },
  )
  const names = Array.from({ length: 2 * DNS_QUERIES_AT_ONCE }, (_, n) => `silent-${n}.example`)
  for (const name of names) dns.zone[name] = 'silent'
  const giving = new AbortController()
  const answers = names.map((name) => resolver.txt(name, { signal: giving.signal }))
  const asked = () => new Set(dns.asked.map(({ name }) => name)).size
  await until(async () => asked() === DNS_QUERIES_AT_ONCE)
  const waiting = resolver.a('here.example')
  giving.abort()
  assert.deepEqual(found(await waiting), ['192.0.2.1'])
  for (const answer of await Promise.all(answers)) {
    assert.ok(answer.kind === 'fault' && /given up/.test(answer.text), JSON.stringify(answer))
  }
  assert.equal(asked(), DNS_QUERIES_AT_ONCE + 1, 'of those that waited nobody was asked')

  const late = await resolver.a('here.example', { signal: giving.signal })
  assert.equal(late.kind, 'fault')
  const again = names.slice(0, 2 * DNS_QUERIES_AT_ONCE).map((name) => {
    dns.zone[name] = { A: ['192.0.2.2'] }
    return resolver.a(name, { signal: new AbortController().signal })
  })
  assert.ok((await Promise.all(again)).every(({ kind }) => kind === 'found'))
})

test('a text that can be no name is missing, without a query', async () => {
  const [resolver, dns] = await open({})
  const long = `${'a'.repeat(63)}.`.repeat(4)
  for (const name of ['', '.', 'a..b', `${'a'.repeat(64)}.example`, `${long}ab`, 'a b', 'bücher']) {
    const answer = await resolver.a(name)
    assert.deepEqual(answer, { kind: 'none', isNameMissing: true, ttlMs: 0 }, name)
  }
  assert.equal(dns.asked.length, 0)
})

test('up to eight aliases are followed, and loops and longer chains are faults', async () => {
  const chain = (length: number, prefix: string): Zone => ({
    ...Object.fromEntries(
      Array.from({ length }, (_, index) => [
        `${prefix}${index}.example`,
        { CNAME: `${prefix}${index + 1}.example`, ttlSeconds: 100 + index },
      ]),
    ),
    [`${prefix}${length}.example`]: { A: ['192.0.2.8'], ttlSeconds: 500 },
  })
  const [resolver] = await open({
    ...chain(8, 'eight'),
    ...chain(9, 'nine'),
    'loop.example': { CNAME: 'pool.example' },
    'pool.example': { CNAME: 'Loop.example' },
    'self.example': { CNAME: 'self.example' },
    'to-nothing.example': { CNAME: 'nothing.example' },
  })
  assert.deepEqual(await resolver.a('eight0.example'), {
    kind: 'found',
    records: ['192.0.2.8'],
    ttlMs: 100_000,
    isAuthenticated: false,
    canonicalName: 'eight8.example',
  })
  for (const name of ['nine0.example', 'loop.example', 'self.example']) {
    assert.equal((await resolver.a(name)).kind, 'fault', name)
  }
  const nothing = await resolver.a('to-nothing.example')
  assert.ok(nothing.kind === 'none' && nothing.isNameMissing)
})

test('forged answers are ignored, and the true one after them counts', async () => {
  const kinds: Behaviour[] = [
    'forged-id',
    'forged-name',
    'forged-type',
    'forged-query',
    'forged-port',
    'forged-case',
  ]
  for (const behaviour of kinds) {
    const zone: Zone = { 'target.example': { A: ['192.0.2.1'], behaviour } }
    const [resolver, dns] = await open(zone, ONE_TRY)
    assert.deepEqual(found(await resolver.a('target.example')), ['192.0.2.1'], behaviour)
    const by = dns.asked.map((asked) => asked.by)
    assert.deepEqual(by, behaviour === 'forged-case' ? ['udp', 'tcp'] : ['udp'], behaviour)
  }
})

test('every question has its own id, port and spelling', async () => {
  const server = createSocket('udp4').bind(0, '127.0.0.1')
  closers.push(() => server.close())
  await once(server, 'listening')
  const seen: { id: number; port: number; name: string }[] = []
  server.on('message', (message, from) => {
    const name = message.subarray(12, message.indexOf(0, 12)).toString('latin1')
    seen.push({ id: message.readUInt16BE(0), port: from.port, name })
  })
  const servers = [`127.0.0.1:${server.address().port}`]
  const resolver = openResolver({ servers, timeoutMs: 100 })
  const name = 'a-name-of-many-letters.example'
  await Promise.all(Array.from({ length: 20 }, () => resolver.a(name)))
  // Three tries each, except for those that a busy machine skips.
  assert.ok(seen.length >= 20, `${seen.length}`)
  for (const key of ['id', 'port', 'name'] as const) {
    const distinct = new Set(seen.map((one) => one[key])).size
    assert.ok(distinct >= 0.9 * seen.length, `${key}: ${distinct} of ${seen.length}`)
  }
})

test('an answer too large for a datagram is requested by TCP', async () => {
  const many = Array.from({ length: 200 }, (_, index) => `192.0.2.${index}`)
  const zone: Zone = {
    'many.example': { A: many },
    'cut.example': { A: ['192.0.2.1'], behaviour: 'truncate' },
    'mute.example': { A: 'truncate-silent' },
    'closing.example': { A: 'truncate-close' },
  }
  const [resolver, dns] = await open(zone, ONE_TRY)
  assert.deepEqual(found(await resolver.a('many.example')), many)
  assert.deepEqual(found(await resolver.a('cut.example')), ['192.0.2.1'])
  assert.deepEqual(
    dns.asked.map((asked) => asked.by),
    ['udp', 'tcp', 'udp', 'tcp'],
  )
  assert.equal((await resolver.a('mute.example')).kind, 'fault')
  assert.equal((await resolver.a('closing.example')).kind, 'fault')
})

test('another server answers for one that is silent, absent or failing, and is then asked first', async () => {
  const zone: Zone = { 'example.com': { A: ['192.0.2.1'] } }
  const good = await openDns(zone)
  const bad = await openDns({ 'example.com': 'silent' })
  closers.push(() => good.close())
  closers.push(() => bad.close())
  const servers = [bad.server, '127.0.0.1:9', good.server]
  // Long enough for a good server on a busy machine: the silent one is queried once.
  const resolver = openResolver({ servers, timeoutMs: 6_000, firstTryMs: 1_500 })
  assert.deepEqual(found(await resolver.a('example.com')), ['192.0.2.1'])
  assert.deepEqual(found(await resolver.a('example.com')), ['192.0.2.1'])
  assert.equal(bad.asked.length, 1)
  bad.zone = { 'example.com': 'servfail' }
  const other = openResolver({ servers: [bad.server, good.server], timeoutMs: 3_000 })
  assert.deepEqual(found(await other.a('example.com')), ['192.0.2.1'])
})

test('a port without a listener is a fault at once', async () => {
  const resolver = openResolver({ servers: ['127.0.0.1:9'], timeoutMs: 30_000 })
  const startedMs = performance.now()
  const answer = await resolver.a('example.com')
  assert.ok(answer.kind === 'fault' && /ECONNREFUSED/.test(answer.text), JSON.stringify(answer))
  assert.ok(performance.now() - startedMs < 15_000)
})

test('an unreachable server is a fault at once', async () => {
  // Broadcast needs a permission that the socket lacks; the second is no address of any interface.
  for (const server of ['255.255.255.255:53', '[fe80::1%none]:53']) {
    const resolver = openResolver({ servers: [server], timeoutMs: 30_000 })
    const startedMs = performance.now()
    const answer = await resolver.a('example.com')
    assert.ok(answer.kind === 'fault' && /cannot be reached/.test(answer.text), server)
    assert.ok(performance.now() - startedMs < 15_000)
  }
})

test('AD counts if the server is on this machine or trusted', async () => {
  const zone: Zone = { 'signed.example': { A: ['192.0.2.1'], isAuthenticated: true } }
  for (const [trusts, expected] of [
    ['loopback', true],
    ['all', true],
    ['none', false],
  ] as const) {
    const [resolver] = await open(zone, { trusts })
    const answer = await resolver.a('signed.example')
    assert.ok(answer.kind === 'found' && answer.isAuthenticated === expected, trusts)
  }
})

test('a server without EDNS is asked without it, then at once, and has no verdict of DNSSEC', async () => {
  const long = Array.from({ length: 40 }, (_, index) => `${index} ${'x'.repeat(80)}`)
  const signed = { A: ['192.0.2.1'], TXT: long, isAuthenticated: true }
  for (const refusal of ['formerr', 'bare', 'notimp', 'badvers', 'silent'] as const) {
    const [resolver, dns] = await open(
      { 'a.example': signed },
      { timeoutMs: 5_000, firstTryMs: 50 },
    )
    dns.refusesEdns = refusal
    const answer = await resolver.a('a.example')
    assert.ok(answer.kind === 'found' && !answer.isAuthenticated, refusal)
    assert.equal(found(await resolver.txt('a.example')).length, 40, 'by TCP')
    const before = dns.asked.length
    assert.deepEqual(found(await resolver.a('a.example')), ['192.0.2.1'])
    assert.equal(dns.asked.length, before + 1, refusal)
    assert.deepEqual(await resolver.a('missing.example'), {
      kind: 'none',
      isNameMissing: true,
      ttlMs: 300_000,
    })
  }
})

test('a server that has answered with EDNS keeps its verdict of DNSSEC when it is slow', async () => {
  const zone: Zone = { 'signed.example': { A: ['192.0.2.1'], isAuthenticated: true } }
  const [resolver, dns] = await open(zone, { timeoutMs: 5_000, firstTryMs: 50 })
  await resolver.a('signed.example')
  dns.refusesEdns = 'silent'
  const asking = resolver.a('signed.example')
  await until(async () => dns.countAsked('signed.example') >= 4)
  dns.refusesEdns = null
  const answer = await asking
  assert.ok(answer.kind === 'found' && answer.isAuthenticated)
})

test('only a resolver of this machine counts as local', () => {
  const port = 53
  for (const address of ['127.0.0.1', '127.0.0.53', '::1']) {
    assert.ok(isLoopbackServer({ address, port }), address)
  }
  for (const address of ['127.0.0.11', '192.0.2.127', '10.0.0.1', '2001:db8::1', '::']) {
    assert.ok(!isLoopbackServer({ address, port }), address)
  }
})

test('hundreds of questions at once wait for slots and are all answered', async () => {
  const [resolver] = await open(
    { 'example.com': { A: ['192.0.2.1'], delayMs: 5 } },
    { timeoutMs: 20_000 },
  )
  const answers = await Promise.all(Array.from({ length: 600 }, () => resolver.a('example.com')))
  assert.ok(answers.every((answer) => answer.kind === 'found'))
})

test('closing ends pending questions', async () => {
  const [resolver, dns] = await open({ 'silent.example': 'silent' }, { timeoutMs: 60_000 })
  const asking = resolver.a('silent.example')
  while (dns.asked.length === 0) await new Promise((resolve) => setImmediate(resolve))
  resolver.close()
  assert.deepEqual(await asking, { kind: 'fault', text: 'the resolver is closed' })
  assert.equal((await resolver.a('silent.example')).kind, 'fault')
})

test('addresses of servers are parsed in every usual form', () => {
  const forms = {
    '192.0.2.1': { address: '192.0.2.1', port: 53 },
    '192.0.2.1:5353': { address: '192.0.2.1', port: 5353 },
    '2001:db8::1': { address: '2001:db8::1', port: 53 },
    '[2001:db8::1]:5353': { address: '2001:db8::1', port: 5353 },
    '[fe80::1%eth0]': { address: 'fe80::1%eth0', port: 53 },
  }
  for (const [text, address] of Object.entries(forms)) {
    assert.deepEqual(parseServerAddress(text), address)
  }
  for (const text of ['', 'dns.example', '192.0.2.1:', '192.0.2.1:0', '192.0.2.1:65536', '[::1']) {
    assert.equal(parseServerAddress(text), null, text)
  }
  assert.throws(() => openResolver({ servers: ['dns.example'] }), /dns\.example/)
})

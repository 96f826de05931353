import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { openCachingResolver } from '#platform/dns/caching-resolver.ts'
import { openResolver, type Resolver } from '#platform/dns/resolver.ts'
import { type Dns, openDns, type Zone } from '#test/peers/dns.ts'
import { type TestClock, testClock } from '#test/world.ts'

async function open(
  t: TestContext,
  zone: Zone,
  { timeoutMs = 3_000 } = {},
): Promise<{ resolver: Resolver; dns: Dns; clock: TestClock }> {
  const dns = await openDns(zone)
  const clock = testClock()
  const asking = openResolver({ servers: [dns.server], timeoutMs })
  const resolver = openCachingResolver(asking, clock)
  t.after(async () => {
    resolver.close()
    await dns.close()
  })
  return { resolver, dns, clock }
}

test('an answer is kept for its TTL, counted down, and asked for anew after it', async (t) => {
  const { resolver, dns, clock } = await open(t, { 'a.example': { TXT: ['one'], ttlSeconds: 60 } })
  const first = await resolver.txt('a.example')
  assert.deepEqual(first.kind === 'found' && [first.records, first.ttlMs], [['one'], 60_000])
  dns.zone = { 'a.example': { TXT: ['two'], ttlSeconds: 60 } }
  clock.advance(50_000)
  const kept = await resolver.txt('A.Example.')
  assert.deepEqual(kept.kind === 'found' && kept.records, ['one'])
  assert.ok(kept.kind === 'found' && kept.ttlMs <= 10_000)
  clock.advance(10_000)
  const anew = await resolver.txt('a.example')
  assert.deepEqual(anew.kind === 'found' && anew.records, ['two'])
  assert.equal(dns.countAsked('a.example'), 2)
})

test('an answer is kept for five seconds at least, whatever its TTL, and for an hour at most', async (t) => {
  const { resolver, dns, clock } = await open(t, {
    'now.example': { A: ['192.0.2.1'], ttlSeconds: 0 },
    'no-soa.example': 'nxdomain',
    'long.example': { A: ['192.0.2.1'], ttlSeconds: 7 * 86_400 },
  })
  for (const name of ['now.example', 'no-soa.example']) {
    const first = await resolver.a(name)
    clock.advance(4_900)
    const kept = await resolver.a(name)
    assert.equal(kept.kind, first.kind)
    assert.ok(kept.kind !== 'fault' && kept.ttlMs <= 100)
    assert.equal(dns.countAsked(name), 1)
    clock.advance(100)
    await resolver.a(name)
    assert.equal(dns.countAsked(name), 2)
  }
  await resolver.a('long.example')
  clock.advance(3_599_000)
  await resolver.a('long.example')
  assert.equal(dns.countAsked('long.example'), 1)
  clock.advance(1_000)
  await resolver.a('long.example')
  assert.equal(dns.countAsked('long.example'), 2)
})

test('a no is kept as its zone says, for five minutes at most, and by type', async (t) => {
  const { resolver, dns, clock } = await open(t, { 'b.example': { TXT: ['x'], ttlSeconds: 3_600 } })
  assert.equal((await resolver.mx('b.example')).kind, 'none')
  assert.equal((await resolver.mx('b.example')).kind, 'none')
  assert.equal((await resolver.txt('b.example')).kind, 'found')
  assert.equal(dns.countAsked('b.example', 'MX'), 1)
  clock.advance(300_000)
  await resolver.mx('b.example')
  assert.equal(dns.countAsked('b.example', 'MX'), 2)
})

test('a fault is kept for five seconds', async (t) => {
  const { resolver, dns, clock } = await open(t, {
    'c.example': 'servfail',
    'refused.example': 'refused',
  })
  for (const name of ['c.example', 'refused.example']) {
    assert.equal((await resolver.txt(name)).kind, 'fault')
    dns.zone = { ...dns.zone, [name]: { TXT: ['mended'] } }
    clock.advance(4_900)
    assert.equal((await resolver.txt(name)).kind, 'fault')
    clock.advance(100)
    assert.equal((await resolver.txt(name)).kind, 'found')
  }
})

test('an expired answer outlasts a fault for a minute', async (t) => {
  const { resolver, dns, clock } = await open(t, {
    'a.example': { TXT: ['one'], ttlSeconds: 0 },
  })
  await resolver.txt('a.example')
  dns.zone = { 'a.example': { TXT: 'servfail' } }
  clock.advance(5_000)
  for (let time = 0; time < 2; time++) {
    const found = await resolver.txt('a.example')
    assert.deepEqual(found.kind === 'found' && found.records, ['one'])
  }
  clock.advance(60_000)
  assert.equal((await resolver.txt('a.example')).kind, 'fault')
})

test('a fresh answer is waited for a moment only where there is an expired one', async (t) => {
  const { resolver, dns, clock } = await open(t, {
    'a.example': { TXT: ['one'], ttlSeconds: 0 },
  })
  await resolver.txt('a.example')
  dns.zone = { 'a.example': { TXT: ['two'], delayMs: 1_500 } }
  clock.advance(5_000)
  const old = await resolver.txt('a.example')
  assert.deepEqual(old.kind === 'found' && old.records, ['one'])
  const end = performance.now() + 20_000
  for (;;) {
    const kept = await resolver.txt('a.example')
    if (kept.kind === 'found' && kept.records[0] === 'two') break
    assert.ok(performance.now() < end, 'the fresh answer came')
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
})

test('equal questions at once are one', async (t) => {
  const { resolver, dns } = await open(t, {
    'd.example': { TXT: ['x'], ttlSeconds: 0, delayMs: 50 },
  })
  const answers = await Promise.all(Array.from({ length: 20 }, () => resolver.txt('d.example')))
  assert.ok(answers.every(({ kind }) => kind === 'found'))
  // A lost packet is sent anew, and a late answer is taken for one.
  assert.ok(dns.countAsked('d.example') < 4, `${dns.countAsked('d.example')}`)
})

test('while DNS is silent later questions fail at once, and it is asked again', async (t) => {
  const zone: Zone = {
    'a.root-servers.net': 'silent',
    'e.example': 'silent',
    'f.example': 'silent',
    'g.example': { TXT: ['x'] },
  }
  const { resolver, dns, clock } = await open(t, zone, { timeoutMs: 7_000 })
  const startMs = performance.now()
  assert.equal((await resolver.txt('e.example')).kind, 'fault')
  const waitedMs = performance.now() - startMs
  assert.ok(waitedMs < 12_000, `the first waited ${waitedMs} ms, and not for all of its time`)
  const probes = dns.countAsked('a.root-servers.net')
  assert.equal((await resolver.txt('f.example')).kind, 'fault')
  assert.equal((await resolver.txt('g.example')).kind, 'fault')
  assert.equal(dns.countAsked('f.example') + dns.countAsked('g.example'), 0)
  // The question that is under way to find out is the only one, in one of its tries.
  const probesNow = dns.countAsked('a.root-servers.net')
  assert.ok(probes > 0 && probesNow >= probes && probesNow <= 6, `${probes}, ${probesNow}`)
  dns.zone = { ...dns.zone, 'a.root-servers.net': { A: ['198.41.0.4'] } }
  for (let tries = 0; tries < 100; tries++) {
    clock.advance(6_000)
    if ((await resolver.txt('g.example')).kind === 'found') return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  assert.fail('DNS was not found to answer again')
})

test('silence about one name is not silence about others', async (t) => {
  const { resolver } = await open(t, {
    'dead.example': 'silent',
    'alive.example': { TXT: ['x'] },
  })
  const dead = resolver.txt('dead.example')
  await new Promise((resolve) => setTimeout(resolve, 2_500))
  assert.equal((await resolver.txt('alive.example')).kind, 'found')
  assert.equal((await dead).kind, 'fault')
  assert.equal((await resolver.txt('other.example')).kind, 'none')
})

test('an answer that comes when DNS was given up counts, and is kept', async (t) => {
  const { resolver, dns } = await open(t, {
    'a.root-servers.net': 'silent',
    'late.example': { TXT: ['x'], delayMs: 2_600 },
  })
  const fault = await resolver.txt('late.example')
  assert.ok(fault.kind === 'fault' && fault.isTimeout)
  const asked = dns.countAsked('late.example')
  let late = await resolver.txt('late.example')
  for (let looks = 0; late.kind === 'fault' && looks < 100; looks++) {
    await new Promise((resolve) => setTimeout(resolve, 100))
    late = await resolver.txt('late.example')
  }
  assert.deepEqual(late.kind === 'found' && late.records, ['x'])
  // The question under way may have been sent anew, in its own time; no other was.
  assert.ok(dns.countAsked('late.example') <= asked + 1)
})

test('hundreds of questions about a silent zone are no silence of DNS', async (t) => {
  const { resolver, dns } = await open(
    t,
    { 'alive.example': { TXT: ['x'] } },
    { timeoutMs: 10_000 },
  )
  const names = Array.from({ length: 300 }, (_, n) => `n${n}.dead.example`)
  for (const name of names) dns.zone[name] = 'silent'
  let givenUp = 0
  for (const name of names) {
    void resolver.txt(name).then(() => {
      givenUp += 1
    })
  }
  assert.equal((await resolver.txt('alive.example')).kind, 'found')
  assert.equal(givenUp, 0)
  await new Promise((resolve) => setTimeout(resolve, 2_500))
  assert.equal((await resolver.txt('other.example')).kind, 'none')
})

test('whoever waits behind hundreds of silent zones is answered when they are given up', async (t) => {
  const { resolver, dns } = await open(
    t,
    { 'a.root-servers.net': { A: ['198.41.0.4'] }, 'alive.example': { TXT: ['x'] } },
    { timeoutMs: 1_500 },
  )
  const names = Array.from({ length: 300 }, (_, n) => `x.dead${n}.example`)
  for (const name of names) dns.zone[name] = 'silent'
  for (const name of names) void resolver.txt(name)
  assert.equal((await resolver.txt('alive.example')).kind, 'found')
})

test('while others are answered, a lost question about DNS itself tells nothing', async (t) => {
  const { resolver } = await open(
    t,
    { 'a.root-servers.net': 'silent', 'dead.example': 'silent' },
    { timeoutMs: 1_500 },
  )
  const dead = resolver.txt('dead.example')
  for (let n = 0; n < 25; n++) {
    assert.equal((await resolver.txt(`n${n}.example`)).kind, 'none')
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  assert.equal((await dead).kind, 'fault')
})

test('of a text that can be no name nothing is asked or noted', async (t) => {
  const { resolver: asking, dns } = await open(t, {})
  let count = 0
  const counting: Resolver = {
    ...asking,
    txt: (name, options) => {
      count += 1
      return asking.txt(name, options)
    },
  }
  const resolver = openCachingResolver(counting)
  for (const name of ['', 'a..b', 'x'.repeat(200_000), `${'x'.repeat(64)}.example`]) {
    const answer = await resolver.txt(name)
    assert.deepEqual(answer, { kind: 'none', isNameMissing: true, ttlMs: 0 })
  }
  assert.equal(count, 0)
  assert.deepEqual(dns.asked, [])
})

test('names under .localhost and .invalid are answered without asking', async (t) => {
  const { resolver, dns } = await open(t, {})
  const address = await resolver.a('Mailroom.localhost')
  assert.deepEqual(address.kind === 'found' && address.records, ['127.0.0.1'])
  assert.deepEqual(await resolver.txt('localhost'), {
    kind: 'none',
    isNameMissing: false,
    ttlMs: Number.POSITIVE_INFINITY,
  })
  const missing = await resolver.mx('anything.invalid')
  assert.equal(missing.kind === 'none' && missing.isNameMissing, true)
  assert.deepEqual(dns.asked, [])
})

test('the names of addresses are told', async (t) => {
  const { resolver } = await open(t, { '1.2.0.192.in-addr.arpa': { PTR: ['Mail.Example'] } })
  const answer = await resolver.ptr('1.2.0.192.in-addr.arpa')
  assert.deepEqual(answer.kind === 'found' && answer.records, ['mail.example'])
})

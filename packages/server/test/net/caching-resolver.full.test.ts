import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { openCachingResolver } from '#platform/dns/caching-resolver.ts'
import { openResolver, type Resolver, type ResolverOptions } from '#platform/dns/resolver.ts'
import { MINUTE_MS } from '#platform/units.ts'
import { type StillClock, stillClock } from '#test/conformance/delivering.ts'
import { type Dns, openDns, type Zone } from '#test/peers/dns.ts'
import { until } from '#test/scenarios/outcomes.ts'

/** For tests that count questions: none is sent twice because the machine was slow to answer. */
const ONE_TRY = { firstTryMs: MINUTE_MS }

async function open(
  t: TestContext,
  zone: Zone,
  tries: Partial<ResolverOptions> = {},
): Promise<{ resolver: Resolver; dns: Dns; clock: StillClock }> {
  const dns = await openDns(zone)
  const clock = stillClock(0)
  const asking = openResolver({ servers: [dns.server], timeoutMs: 3_000, ...tries })
  const resolver = openCachingResolver(asking, clock)
  t.after(async () => {
    resolver.close()
    await dns.close()
  })
  return { resolver, dns, clock }
}

test('an answer is kept for its TTL, counted down, and queried again after it', async (t) => {
  const zone: Zone = { 'a.example': { TXT: ['one'], ttlSeconds: 60 } }
  const { resolver, dns, clock } = await open(t, zone, ONE_TRY)
  const first = await resolver.txt('a.example')
  assert.deepEqual(first.kind === 'found' && [first.records, first.ttlMs], [['one'], 60_000])
  dns.zone = { 'a.example': { TXT: ['two'], ttlSeconds: 60 } }
  clock.advance(50_000)
  const kept = await resolver.txt('A.Example.')
  assert.deepEqual(kept.kind === 'found' && kept.records, ['one'])
  assert.equal(kept.kind === 'found' && kept.ttlMs, 10_000)
  clock.advance(10_000)
  // The expired answer replaces one that is late.
  await until(async () => {
    const anew = await resolver.txt('a.example')
    return anew.kind === 'found' && anew.records[0] === 'two'
  })
  assert.equal(dns.countAsked('a.example'), 2)
})

test('an answer is kept for five seconds at least, whatever its TTL, and for an hour at most', async (t) => {
  const zone: Zone = {
    'now.example': { A: ['192.0.2.1'], ttlSeconds: 0 },
    'no-soa.example': 'nxdomain',
    'long.example': { A: ['192.0.2.1'], ttlSeconds: 7 * 86_400 },
  }
  const { resolver, dns, clock } = await open(t, zone, ONE_TRY)
  /** Asks for an expired answer, which replaces one that is late. */
  const askAgain = async (name: string) => {
    const asked = dns.countAsked(name)
    await resolver.a(name)
    await until(async () => dns.countAsked(name) > asked)
  }
  for (const name of ['now.example', 'no-soa.example']) {
    const first = await resolver.a(name)
    clock.advance(4_900)
    const kept = await resolver.a(name)
    assert.equal(kept.kind, first.kind)
    assert.equal(kept.kind !== 'fault' && kept.ttlMs, 100)
    assert.equal(dns.countAsked(name), 1)
    clock.advance(100)
    await askAgain(name)
    assert.equal(dns.countAsked(name), 2)
  }
  await resolver.a('long.example')
  clock.advance(3_599_000)
  await resolver.a('long.example')
  assert.equal(dns.countAsked('long.example'), 1)
  clock.advance(1_000)
  await askAgain('long.example')
  assert.equal(dns.countAsked('long.example'), 2)
})

test('a negative answer is kept as its zone says, for at most five minutes, and by type', async (t) => {
  const zone: Zone = { 'b.example': { TXT: ['x'], ttlSeconds: 3_600 } }
  const { resolver, dns, clock } = await open(t, zone, ONE_TRY)
  assert.equal((await resolver.mx('b.example')).kind, 'none')
  assert.equal((await resolver.mx('b.example')).kind, 'none')
  assert.equal((await resolver.txt('b.example')).kind, 'found')
  assert.equal(dns.countAsked('b.example', 'MX'), 1)
  clock.advance(300_000)
  // The expired answer replaces one that is late.
  await resolver.mx('b.example')
  await until(async () => dns.countAsked('b.example', 'MX') > 1)
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

test('an expired answer is used for a minute during a fault', async (t) => {
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

test('a query waits only a moment for a fresh answer if there is an expired one', async (t) => {
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

test('concurrent equal questions are sent once', async (t) => {
  const zone: Zone = { 'd.example': { TXT: ['x'], ttlSeconds: 0, delayMs: 50 } }
  const { resolver, dns } = await open(t, zone, ONE_TRY)
  const answers = await Promise.all(Array.from({ length: 20 }, () => resolver.txt('d.example')))
  assert.ok(answers.every(({ kind }) => kind === 'found'))
  assert.equal(dns.countAsked('d.example'), 1)
})

test('while DNS is silent later questions fail at once, and a probe is sent again', async (t) => {
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
  // The pending probe is the only one, in one of its tries.
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

test('silence about one name does not count as silence of DNS', async (t) => {
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

test('an answer that arrives after the timeout counts, and is kept', async (t) => {
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
  // The pending question may have been sent again on its schedule; no other was.
  assert.ok(dns.countAsked('late.example') <= asked + 1)
})

test('hundreds of questions about a silent zone do not count as silence of DNS', async (t) => {
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

test('questions that wait behind hundreds of silent zones are answered after those time out', async (t) => {
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

test('while other questions are answered, a lost probe means nothing', async (t) => {
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

test('a text that can be no name is neither queried nor cached', async (t) => {
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

test('names under .localhost and .invalid are answered without a query', async (t) => {
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

test('reverse lookups return the names of addresses', async (t) => {
  const { resolver } = await open(t, { '1.2.0.192.in-addr.arpa': { PTR: ['Mail.Example'] } })
  const answer = await resolver.ptr('1.2.0.192.in-addr.arpa')
  assert.deepEqual(answer.kind === 'found' && answer.records, ['mail.example'])
})

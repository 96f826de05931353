import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import {
  type Answer,
  DNS_QUERIES_AT_ONCE,
  DNS_QUERIES_OF_DOMAIN,
  openResolver,
  type Resolver,
} from '#platform/dns/resolver.ts'
import { type Dns, openDns, type Zone } from '#test/peers/dns.ts'
import { until } from '#test/scenarios/outcomes.ts'

const closers: (() => unknown)[] = []
after(async () => {
  for (const close of closers) await close()
})

async function open(zone: Zone, options: { timeoutMs: number }): Promise<[Resolver, Dns]> {
  const dns = await openDns(zone)
  const resolver = openResolver({ servers: [dns.server], ...options })
  closers.push(() => dns.close())
  closers.push(() => resolver.close())
  return [resolver, dns]
}

function found<Value>(answer: Answer<Value>): Value[] {
  assert.equal(answer.kind, 'found', JSON.stringify(answer))
  return answer.kind === 'found' ? answer.records : []
}

test('a silent server is queried at growing intervals, and no lookup takes longer than twice its try', async () => {
  const [resolver, dns] = await open({ 'silent.example': 'silent' }, { timeoutMs: 750 })
  const startedMs = performance.now()
  const answer = await resolver.mx('silent.example')
  const tookMs = performance.now() - startedMs
  assert.equal(answer.kind, 'fault')
  // At 0, 375 and 1,125 ms; a machine that pauses in between skips some.
  const asked = dns.countAsked('silent.example', 'MX')
  assert.ok(asked === 2 || asked === 3, `${asked}`)
  assert.ok(tookMs >= 1_450 && tookMs < 10_000, `${tookMs} ms`)
})

test('a lost packet costs less than half a second of a lookup of ten', async () => {
  const [resolver, dns] = await open({}, { timeoutMs: 5_000 })
  const tookMs: number[] = []
  // A busy machine delays some of them, a late try would delay all.
  while (tookMs.length < 8 && !tookMs.some((ms) => ms < 800)) {
    const name = `lossy${tookMs.length}.example`
    dns.zone = { [name]: 'silent' }
    const startedMs = performance.now()
    const asking = resolver.a(name)
    await until(async () => dns.countAsked(name) > 0)
    dns.zone = { [name]: { A: ['192.0.2.1'] } }
    assert.deepEqual(found(await asking), ['192.0.2.1'])
    tookMs.push(performance.now() - startedMs)
  }
  assert.ok(Math.min(...tookMs) < 800, tookMs.join(', '))
})

test('a slow server is awaited, and its first answer counts', async () => {
  const [resolver, dns] = await open(
    { 'cold.example': { A: ['192.0.2.1'], delayMs: 1_700 } },
    { timeoutMs: 1_500 },
  )
  const asking = resolver.a('cold.example')
  await until(async () => dns.countAsked('cold.example') >= 2)
  assert.deepEqual(found(await asking), ['192.0.2.1'])
})

test('a question that one server cannot answer waits for a silent one for half of the time', async () => {
  const bad = await openDns({ 'bad.example': 'servfail', 'lost.example': 'servfail' })
  const other = await openDns({ 'bad.example': 'silent', 'lost.example': 'silent' })
  closers.push(() => bad.close())
  closers.push(() => other.close())
  const resolver = openResolver({ servers: [other.server, bad.server], timeoutMs: 6_000 })
  const lost = resolver.a('lost.example')
  await until(async () => other.countAsked('lost.example') >= 1)
  other.zone = { 'bad.example': 'silent', 'lost.example': { A: ['192.0.2.1'] } }
  assert.deepEqual(found(await lost), ['192.0.2.1'])
  const startedMs = performance.now()
  const answer = await resolver.a('bad.example')
  assert.ok(answer.kind === 'fault' && /SERVFAIL/.test(answer.text), JSON.stringify(answer))
  const tookMs = performance.now() - startedMs
  assert.ok(tookMs > 5_950 && tookMs < 11_500, `${tookMs} ms`)
})

test('the questions of one silent domain leave room for those of all others', async () => {
  const zone: Zone = { 'here.example': { A: ['192.0.2.1'] } }
  const names = Array.from({ length: 400 }, (_, n) => `n${n}.silent.example`)
  const [resolver, dns] = await open(zone, { timeoutMs: 10_000 })
  for (const name of names) dns.zone[name] = 'silent'
  const giving = new AbortController()
  const asking = names.map((name) => resolver.txt(name, { signal: giving.signal }))
  assert.deepEqual(found(await resolver.a('here.example')), ['192.0.2.1'])
  assert.equal(new Set(dns.asked.map(({ name }) => name)).size, 1 + DNS_QUERIES_OF_DOMAIN)
  giving.abort()
  await Promise.all(asking)
})

test('when all slots are taken, domains are served in rotation, and urgent questions at once', async () => {
  const [resolver, dns] = await open({}, { timeoutMs: 10_000 })
  const isAsked = (name: string) => dns.countAsked(name) > 0
  const takers = Array.from({ length: DNS_QUERIES_AT_ONCE }, (_, n) => {
    dns.zone[`x.d${n}.example`] = 'silent'
    const giving = new AbortController()
    return { giving, asking: resolver.txt(`x.d${n}.example`, { signal: giving.signal }) }
  })
  for (let n = 0; n < 100; n++) dns.zone[`n${n}.greedy.co.uk`] = 'silent'
  const greedy = Array.from({ length: 100 }, (_, n) => resolver.txt(`n${n}.greedy.co.uk`))
  dns.zone['a.modest.co.uk'] = { A: ['192.0.2.1'] }
  dns.zone['urgent.example'] = { A: ['192.0.2.3'] }
  let askedCalls = 0
  const onSent = () => {
    askedCalls += 1
  }
  const modest = resolver.a('a.modest.co.uk', { onSent })

  assert.deepEqual(found(await resolver.a('urgent.example', { isUrgent: true })), ['192.0.2.3'])
  assert.equal(askedCalls, 0)
  takers[0]?.giving.abort()
  await until(async () => isAsked('n0.greedy.co.uk'))
  assert.equal(askedCalls, 0)
  takers[1]?.giving.abort()
  assert.deepEqual(found(await modest), ['192.0.2.1'])
  assert.equal(askedCalls, 1)
  await until(async () => isAsked('n1.greedy.co.uk'))
  assert.ok(!isAsked('n2.greedy.co.uk'))
  resolver.close()
  await Promise.all([...takers.map(({ asking }) => asking), ...greedy])
})

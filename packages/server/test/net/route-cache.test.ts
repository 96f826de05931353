import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mx, openRouteWorld, outcomeOf } from './route-world.ts'

const A = ['1.1.1.1']

test('routes are kept for the shortest TTL of their records, at least ten seconds and at most five minutes', async (t) => {
  const { find, pass, dns } = await openRouteWorld(t, {
    'short.example': { MX: mx('host.example'), ttlSeconds: 3_600 },
    'host.example': { A, ttlSeconds: 60 },
    'zero.example': { A, ttlSeconds: 0 },
    'day.example': { A, ttlSeconds: 86_400 },
  })
  for (const [destination, keptMs] of [
    ['short.example', 60_000],
    ['zero.example', 10_000],
    ['day.example', 300_000],
    ['missing.example', 300_000],
  ] as const) {
    const asked = () => dns.countAsked(destination, 'MX')
    const route = await find(destination)
    pass(keptMs - 1)
    const later = await find(destination)
    assert.equal(outcomeOf(later), outcomeOf(route))
    assert.equal(asked(), 1, destination)
    pass(1)
    await find(destination)
    assert.equal(asked(), 2, destination)
  }
})

test('a fault is forgotten after five seconds', async (t) => {
  const { find, pass, dns } = await openRouteWorld(t, { 'example.com': 'servfail' })
  assert.equal(outcomeOf(await find('example.com')), 'deferred')
  dns.zone = { 'example.com': { A } }
  pass(4_999)
  assert.equal(outcomeOf(await find('example.com')), 'deferred')
  pass(1)
  assert.equal(outcomeOf(await find('example.com')), 'hosts')
})

test('a hundred concurrent searches for one destination query once', async (t) => {
  const { find, dns } = await openRouteWorld(t, { 'example.com': { A } })
  const routes = await Promise.all(Array.from({ length: 100 }, () => find('example.com')))
  assert.ok(routes.every((route) => outcomeOf(route) === 'hosts'))
  assert.deepEqual(dns.asked.map(({ type }) => type).sort(), ['A', 'AAAA', 'MX', 'TXT'])
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { openMta } from '@mailroom/smtp/test/peers/mta.ts'
import { IDLE_CONNECTION_MS_MAX } from '#delivery/host-caller.ts'
import type { Zone } from '#test/peers/dns.ts'
import { mx } from './route-world.ts'
import {
  countMail,
  inParallel,
  openHosts,
  openTransportWorld,
  until,
  zoneOf,
} from './transport-world.ts'

const TO = 'b@b.example'
const ACCEPTED = ['accepted 250']

test('200 messages, five at once, take five connections at most', async (t) => {
  const { mtas, port } = await openHosts(t, [{}])
  const { carry } = await openTransportWorld(t, { zone: zoneOf('b.example', 1), port })
  await inParallel(200, 5, async (index) => {
    assert.deepEqual((await carry(`b${index}@b.example`)).outcomes, ACCEPTED)
  })
  assert.equal(new Set(mtas[0].transactions.flatMap(({ recipients }) => recipients)).size, 200)
  assert.ok(mtas[0].connections.opened <= 5, `${mtas[0].connections.opened}`)
})

test('messages to many destinations that share a host share its connections', async (t) => {
  const { mtas, port } = await openHosts(t, [{}])
  const zone: Zone = { 'mx.example': { A: ['127.0.0.1'] } }
  for (let index = 0; index < 40; index++) zone[`b${index}.example`] = { MX: mx('mx.example') }
  const { carry } = await openTransportWorld(t, { zone, port })
  for (let index = 0; index < 40; index++) await carry(`b@b${index}.example`)
  assert.deepEqual([mtas[0].connections.opened, mtas[0].transactions.length], [1, 40])
})

test('one address has at most twenty connections, and all messages get one', async (t) => {
  const open = { now: 0, max: 0 }
  const { mtas, port } = await openHosts(t, [
    {
      greeting() {
        open.now += 1
        open.max = Math.max(open.max, open.now)
        return undefined
      },
      onQuit() {
        open.now -= 1
        return undefined
      },
      onFinalDot: { delayMs: 5, next: '250 Ok' },
    },
  ])
  const zone: Zone = {}
  for (let index = 0; index < 100; index++) zone[`b${index}.example`] = { A: ['127.0.0.1'] }
  const { carry } = await openTransportWorld(t, { zone, port })
  await inParallel(300, 40, async (index) => {
    let { outcomes } = await carry(`b@b${index % 100}.example`)
    // On a busy machine a message may wait for a connection longer than the limit.
    while (outcomes[0] === 'crowded') ({ outcomes } = await carry(`b@b${index % 100}.example`))
    assert.deepEqual(outcomes, ACCEPTED)
  })
  assert.deepEqual([mtas[0].transactions.length, open.max], [300, 20])
})

test('a message that waits half a second for a connection goes to the next host, or is returned as crowded', async (t) => {
  const { mtas, port } = await openHosts(t, [{}, {}])
  const { promise: gate, resolve: open } = Promise.withResolvers<undefined>()
  const zone: Zone = { ...zoneOf('b.example', 2), 'c.example': { A: ['127.0.0.1'] } }
  const { carry } = await openTransportWorld(t, { zone, port })
  await carry('c@c.example')
  mtas[0].script = { onMail: () => gate }
  const busy = Array.from({ length: 20 }, () => carry(TO))
  await until(() => countMail(mtas[0]) === 21)
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const late = Promise.all([carry(TO), carry('c@c.example')])
  await setImmediate()
  t.mock.timers.tick(499)
  await setImmediate()
  assert.equal(mtas[1].connections.opened, 0)
  t.mock.timers.tick(1)
  const [next, deferred] = await late
  t.mock.timers.reset()
  assert.deepEqual([next.host, next.outcomes], ['mx2.b.example', ACCEPTED])
  assert.deepEqual(deferred, { host: 'c.example', tls: null, outcomes: ['crowded'] })
  open(undefined)
  for (const carried of busy) assert.deepEqual((await carried).outcomes, ACCEPTED)
})

test('as many may wait for a connection as there are connections, and further ones are refused at once', async (t) => {
  const { mtas, port } = await openHosts(t, [{}])
  const { promise: gate, resolve: open } = Promise.withResolvers<undefined>()
  mtas[0].script = { onMail: () => gate }
  const { carry } = await openTransportWorld(t, { zone: zoneOf('b.example', 1), port })
  const busy = Array.from({ length: 20 }, () => carry(TO))
  await until(() => countMail(mtas[0]) === 20)
  // No time passes, so none is refused for having waited.
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const waiting = Array.from({ length: 20 }, () => carry(TO))
  await setImmediate()
  assert.deepEqual((await carry(TO)).outcomes, ['crowded'])
  t.mock.timers.reset()
  open(undefined)
  for (const carried of [...busy, ...waiting]) assert.deepEqual((await carried).outcomes, ACCEPTED)
})

test('a wait for a connection can be aborted, and takes no connection', async (t) => {
  const { mtas, port } = await openHosts(t, [{}])
  const { promise: gate, resolve: open } = Promise.withResolvers<undefined>()
  mtas[0].script = { onMail: () => gate }
  const { carry } = await openTransportWorld(t, { zone: zoneOf('b.example', 1), port })
  const busy = Array.from({ length: 20 }, () => carry(TO))
  await until(() => countMail(mtas[0]) === 20)
  const giving = new AbortController()
  const givingUp = busy.slice(1).map(() => carry('1@b.example', { signal: giving.signal }))
  const waiting = carry('2@b.example')
  await new Promise((resolve) => setTimeout(resolve, 20))
  assert.equal(countMail(mtas[0]), 20)
  giving.abort()
  for (const carried of givingUp) {
    assert.deepEqual((await carried).outcomes, ['unsent connect network aborted'])
  }
  open(undefined)
  for (const carried of [...busy, waiting]) assert.deepEqual((await carried).outcomes, ACCEPTED)
  assert.equal(mtas[0].transactions.length, 21)
})

test('a connection carries a hundred messages', async (t) => {
  const { mtas, port } = await openHosts(t, [{}])
  const { carry } = await openTransportWorld(t, { zone: zoneOf('b.example', 1), port })
  for (let index = 0; index < 101; index++) await carry(TO)
  const byConnection = mtas[0].transactions.map(({ connection }) => connection)
  assert.equal(byConnection.lastIndexOf(1), 99)
  assert.equal(byConnection[100], 2)
  assert.equal(mtas[0].commands.filter(({ line }) => line === 'QUIT').length, 1)
})

test('an idle connection ends with QUIT after five seconds', async (t) => {
  const { mtas, port } = await openHosts(t, [{}])
  const { carry } = await openTransportWorld(t, { zone: zoneOf('b.example', 1), port })
  await carry('warm@b.example')
  t.mock.timers.enable({ apis: ['setTimeout'] })
  await carry(TO)
  t.mock.timers.tick(4_999)
  await carry(TO)
  assert.equal(mtas[0].connections.opened, 1)
  t.mock.timers.tick(5_000)
  await until(() => mtas[0].connections.open === 0)
  assert.equal(mtas[0].commands.at(-1)?.line, 'QUIT')
})

test('the oldest of two hundred and one idle connections is ended', async (t) => {
  await using mta = await openMta({}, 0, '0.0.0.0')
  const zone: Zone = {}
  for (let index = 0; index <= 200; index++) {
    zone[`b${index}.example`] = { A: [`127.0.1.${index + 1}`] }
  }
  const { carry } = await openTransportWorld(t, { zone, port: mta.port })
  // A busy machine takes more than five seconds for them.
  t.mock.timers.enable({ apis: ['setTimeout'] })
  await inParallel(201, 10, async (index) => void (await carry(`b@b${index}.example`)))
  await until(() => mta.connections.open === 200)
  await carry('b@b200.example')
  assert.equal(mta.connections.opened, 201)
})

test('a connection closed or out of step while idle costs nothing, and no other host is tried', async (t) => {
  const ways = ['close', 'reset', '421 4.4.2 Idle for too long', '503 5.5.1 EHLO first'] as const
  for (const how of ways) {
    const { mtas, port } = await openHosts(t, [{}, {}])
    const { carry } = await openTransportWorld(t, { zone: zoneOf('b.example', 2), port })
    await carry(TO)
    // The server's close and the next message cross in transit.
    mtas[0].script = { onMail: (_, connection) => (connection === 1 ? how : undefined) }
    const told = await carry('2@b.example')
    assert.deepEqual(told, { host: 'mx1.b.example', tls: null, outcomes: ACCEPTED }, how)
    assert.deepEqual(
      mtas[0].transactions.map(({ connection }) => connection),
      [1, 2],
    )
    assert.equal(mtas[1].connections.opened, 0)
  }
})

test('a connection known to be closed is not used', async (t) => {
  const { mtas, port } = await openHosts(t, [{}])
  mtas[0].script = { onFinalDot: { octets: '250 Ok\r\n', next: 'close' } }
  const { carry } = await openTransportWorld(t, { zone: zoneOf('b.example', 1), port })
  await carry(TO)
  await until(() => mtas[0].connections.open === 0)
  mtas[0].script = {}
  assert.deepEqual((await carry('2@b.example')).outcomes, ACCEPTED)
  assert.deepEqual([mtas[0].received.length, countMail(mtas[0])], [2, 2])
})

test('an idle connection that no longer answers does not cause tries of others one after the other', async (t) => {
  const { mtas, port } = await openHosts(t, [{}, {}])
  const timeouts = { replyMs: 1_500 }
  const zone = zoneOf('b.example', 2)
  const { carry } = await openTransportWorld(t, { zone, port, timeouts })
  await inParallel(5, 5, async () => void (await carry(TO)))
  mtas[0].script = { onMail: 'hang' }
  const before = countMail(mtas[0])
  assert.equal((await carry(TO)).host, 'mx2.b.example')
  assert.equal(countMail(mtas[0]) - before, 1)
})

for (const count of [1, 2]) {
  test(`a message that hangs at a host of ${count} does not block others that the host answers`, async (t) => {
    const { mtas, port } = await openHosts(t, count === 1 ? [{}] : [{}, {}])
    const timeouts = { replyMs: 1_500 }
    const zone = zoneOf('b.example', count)
    const { carry } = await openTransportWorld(t, { zone, port, timeouts })
    await carry(TO)
    mtas[0].script = { onMail: (_, connection) => (connection === 1 ? 'hang' : undefined) }
    const hanging = carry(TO)
    await until(() => countMail(mtas[0]) === 2)
    assert.equal((await carry(TO)).host, 'mx1.b.example')
    const hung = await hanging
    assert.deepEqual(hung.outcomes, count === 1 ? ['unsent mail timeout'] : ACCEPTED)
    // The idle connection is closed, so it uses another one.
    mtas[0].script = { onMail: (_, connection) => (connection === 2 ? 'close' : undefined) }
    const told = await carry(TO)
    assert.deepEqual(told, { host: 'mx1.b.example', tls: null, outcomes: ACCEPTED })
  })
}

test('a signal ends the pending step, at every stage, and nothing else', async (t) => {
  const { mtas, port } = await openHosts(t, [{ extensions: [] }])
  const { carry } = await openTransportWorld(t, { zone: zoneOf('b.example', 1), port })
  assert.deepEqual((await carry(TO, { signal: AbortSignal.abort() })).outcomes, ['no-route'])
  assert.equal(mtas[0].connections.opened, 0)

  const first = new AbortController()
  await carry(TO, { signal: first.signal })
  const { promise: gate, resolve: open } = Promise.withResolvers<undefined>()
  mtas[0].script = { onMail: () => gate }
  const second = carry(TO)
  await until(() => countMail(mtas[0]) === 2)
  first.abort()
  open(undefined)
  assert.deepEqual((await second).outcomes, ACCEPTED, 'on the connection that the first opened')
  assert.equal(mtas[0].connections.opened, 1)

  const stages = [
    [{ onRcpt: 'hang' }, 'RCPT', 'unsent rcpt network closed'],
    [{ onFinalDot: 'hang' }, 'DATA', 'ambiguous network closed'],
  ] as const
  for (const [script, verb, outcome] of stages) {
    mtas[0].script = script
    const ending = new AbortController()
    const from = mtas[0].commands.length
    const received = mtas[0].received.length
    const carried = carry(TO, { signal: ending.signal })
    await until(() => mtas[0].commands.slice(from).some(({ line }) => line.startsWith(verb)))
    if (verb === 'DATA') await until(() => mtas[0].received.length > received)
    ending.abort()
    assert.deepEqual((await carried).outcomes, [outcome])
  }
})

test('a signal ends the wait for a greeting, and no other host is tried', async (t) => {
  const { mtas, port } = await openHosts(t, [{ greeting: 'hang' }, {}])
  const { carry } = await openTransportWorld(t, { zone: zoneOf('b.example', 2), port })
  const ending = new AbortController()
  const carried = carry(TO, { signal: ending.signal })
  await until(() => mtas[0].connections.opened === 1)
  ending.abort()
  assert.deepEqual((await carried).outcomes, ['unsent greeting network aborted'])
  assert.equal(mtas[1].connections.opened, 0)
})

test('closing ends idle connections, and busy ones when they are done', async (t) => {
  const { mtas, port } = await openHosts(t, [{}])
  const { carrier, carry } = await openTransportWorld(t, { zone: zoneOf('b.example', 1), port })
  const { promise: gate, resolve: open } = Promise.withResolvers<undefined>()
  await inParallel(4, 4, async () => void (await carry(TO)))
  mtas[0].script = { onMail: () => gate }
  const last = carry(TO)
  await until(() => countMail(mtas[0]) === 5)
  const startedMs = performance.now()
  await carrier.close()
  await carrier.close()
  await until(() => mtas[0].connections.open === 1)
  open(undefined)
  assert.deepEqual((await last).outcomes, ACCEPTED)
  await until(() => mtas[0].connections.open === 0)
  assert.ok(
    performance.now() - startedMs < IDLE_CONNECTION_MS_MAX,
    'and not when its idle time is over',
  )
})

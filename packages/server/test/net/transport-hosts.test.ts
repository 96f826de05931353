import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { type MtaScript, openMta } from '@mailroom/smtp/test/peers/mta.ts'
import type { Zone } from '#test/peers/dns.ts'
import { mx } from './route-world.ts'
import { countMail, openHosts, openTransportWorld, zoneOf } from './transport-world.ts'

const TO = 'b@b.example'

test('the preferred host gets the message, and no other is contacted', async (t) => {
  const { mtas, port } = await openHosts(t, [{}, {}])
  const { carry } = await openTransportWorld(t, { zone: zoneOf('b.example', 2), port })
  const told = await carry(TO)
  assert.deepEqual(told, { host: 'mx1.b.example', tls: null, outcomes: ['accepted 250'] })
  assert.deepEqual([mtas[0].transactions.length, mtas[1].connections.opened], [1, 0])
})

const large = Buffer.from(`${'x'.repeat(98)}\r\n`.repeat(100_000))
const passedBy: [what: string, script: MtaScript, raw?: Buffer][] = [
  ['greets with 421', { greeting: '421 4.3.2 Busy' }],
  ['greets with 554', { greeting: '554 5.7.1 Not you' }],
  ['says nothing', { greeting: 'hang' }],
  ['closes before it greets', { greeting: 'close' }],
  ['greets without end', { greeting: 'endless-lines' }],
  ['greets in a line without end', { greeting: 'endless-line' }],
  ['closes after EHLO', { onEhlo: 'close' }],
  ['defers EHLO', { onEhlo: '451 4.3.0 Later' }],
  ['closes at MAIL', { onMail: 'close' }],
  ['answers MAIL with 421', { onMail: '421 4.7.0 Too many' }],
  ['resets at RCPT', { onRcpt: 'reset' }],
  ['resets at DATA', { onData: 'reset' }],
  ['resets within the content', { onData: { octets: '354 Go ahead\r\n', next: 'reset' } }, large],
  ['answers the final dot with 421', { onFinalDot: '421 4.3.2 Going down' }],
]
for (const [what, script, raw] of passedBy) {
  test(`after a host that ${what} the next is tried`, async (t) => {
    const { mtas, port } = await openHosts(t, [script, {}])
    const timeouts = script.greeting === 'hang' ? { greetingMs: 1_500 } : {}
    const zone = zoneOf('b.example', 2)
    const { carry } = await openTransportWorld(t, { zone, port, timeouts })
    const told = await carry(TO, raw && { raw })
    assert.deepEqual(told, { host: 'mx2.b.example', tls: null, outcomes: ['accepted 250'] })
    assert.deepEqual([mtas[0].connections.opened > 0, mtas[0].transactions.length], [true, 0])
    assert.equal(mtas[1].transactions.length, 1)
  })
}

test('after a host, or one of its addresses, that refuses connections the next is tried', async (t) => {
  const { mtas, port } = await openHosts(t, [{}])
  const zone: Zone = {
    'b.example': { MX: mx('gone.example', 'half.example') },
    'gone.example': { A: ['127.0.0.9'] },
    'half.example': { A: ['127.0.0.8', '127.0.0.1'] },
  }
  const { carry } = await openTransportWorld(t, { zone, port })
  assert.equal((await carry(TO)).host, 'half.example')
  assert.equal(mtas[0].transactions.length, 1)
})

const answers: [what: string, script: MtaScript, outcome: string][] = [
  ['an end after the final dot', { onFinalDot: 'reset' }, 'ambiguous network ECONNRESET'],
  ['a close after the final dot', { onFinalDot: 'close' }, 'ambiguous network closed'],
  ['a refusal of the sender', { onMail: '550 5.7.1 No' }, 'refused mail 550 5.7.1'],
  ['a deferral of the recipient', { onRcpt: '451 4.7.1 Grey' }, 'refused rcpt 451 4.7.1'],
  ['a refusal of DATA', { onData: '554 5.6.0 No' }, 'refused data 554 5.6.0'],
  ['a refusal of the content', { onFinalDot: '552 5.3.4 Large' }, 'refused final-dot 552 5.3.4'],
  ['a code of no class', { onRcpt: '999 What' }, 'refused rcpt 999 -'],
]
for (const [what, script, outcome] of answers) {
  test(`${what} is final: no other host is tried`, async (t) => {
    const { mtas, port } = await openHosts(t, [script, {}])
    const { carry } = await openTransportWorld(t, { zone: zoneOf('b.example', 2), port })
    const told = await carry(TO)
    assert.deepEqual(told, { host: 'mx1.b.example', tls: null, outcomes: [outcome] })
    assert.deepEqual([mtas[0].connections.opened, mtas[1].connections.opened], [1, 0])
  })
}

test('outcomes of single recipients are passed on unchanged', async (t) => {
  const replies: Record<string, string> = {
    'no@b.example': '550 5.1.1 No such user',
    'odd@b.example': '999 What',
  }
  const { mtas, port } = await openHosts(t, [
    { onRcpt: (address) => replies[address], extensions: ['SIZE 1000', 'PIPELINING'] },
  ])
  const { carry } = await openTransportWorld(t, { zone: zoneOf('b.example', 1), port })
  const told = await carry(['x@b.example', 'no@b.example', 'odd@b.example', 'y@b.example'])
  const refused = ['refused rcpt 550 5.1.1', 'refused rcpt 999 -']
  assert.deepEqual(told.outcomes, ['accepted 250', ...refused, 'accepted 250'])
  assert.deepEqual(mtas[0].transactions[0]?.recipients, ['x@b.example', 'y@b.example'])

  const big = await carry(TO, { raw: Buffer.alloc(1_001, 'x') })
  assert.deepEqual(big.outcomes, ['refused mail 552 5.3.4'])
  const international = await carry('é@b.example')
  assert.deepEqual(international.outcomes, ['refused mail 553 5.6.7'])
  assert.deepEqual([countMail(mtas[0]), mtas[0].connections.opened], [1, 1])
})

test('recipients left unsent by a broken connection do not undo the refusal of another', async (t) => {
  const { mtas, port } = await openHosts(t, [
    {
      onRcpt: (address) => (address === 'no@b.example' ? '550 5.1.1 No' : undefined),
      onData: 'reset',
    },
    {},
  ])
  const { carry } = await openTransportWorld(t, { zone: zoneOf('b.example', 2), port })
  const { host, outcomes } = await carry(['no@b.example', TO])
  assert.equal(host, 'mx1.b.example')
  assert.deepEqual(outcomes, ['refused rcpt 550 5.1.1', 'unsent data network ECONNRESET'])
  assert.equal(mtas[1].connections.opened, 0)
})

test('mail fails when every host refuses us, and is deferred when one may not', async (t) => {
  const no = { greeting: '554 5.7.1 Not you' }
  const cases: [MtaScript[], string, string][] = [
    [[no, no], 'refused greeting 554 5.7.1', 'mx2.b.example'],
    [
      [no, { onEhlo: '550 5.7.1 No', onHelo: '550 5.7.1 No' }],
      'refused ehlo 550 5.7.1',
      'mx2.b.example',
    ],
    [[{ greeting: '421 4.3.2 Busy' }, no], 'unsent greeting reply 421', 'mx1.b.example'],
    [[no, { greeting: 'close' }, no], 'unsent greeting network closed', 'mx2.b.example'],
  ]
  for (const [scripts, outcome, host] of cases) {
    const { port } = await openHosts(t, scripts)
    const zone = zoneOf('b.example', scripts.length)
    const { carry } = await openTransportWorld(t, { zone, port })
    assert.deepEqual(await carry(TO), { host, tls: null, outcomes: [outcome] })
  }
})

test('seven busy hosts cost five connections', async (t) => {
  const busy = Array.from({ length: 7 }, (): MtaScript => ({ greeting: '421 4.3.2 Busy' }))
  const { mtas, port } = await openHosts(t, busy)
  const { carry } = await openTransportWorld(t, { zone: zoneOf('b.example', 7), port })
  assert.deepEqual((await carry(TO)).outcomes, ['unsent greeting reply 421'])
  assert.deepEqual(
    mtas.map(({ connections }) => connections.opened),
    [1, 1, 1, 1, 1, 0, 0],
  )
})

test('a silent host is skipped for half a minute, then tried again', async (t) => {
  const { mtas, port } = await openHosts(t, [{ greeting: 'hang' }, {}])
  const timeouts = { greetingMs: 1_500 }
  const world = await openTransportWorld(t, { zone: zoneOf('b.example', 2), port, timeouts })
  for (let round = 1; round <= 3; round++) {
    assert.equal((await world.carry(TO)).host, 'mx2.b.example')
    assert.equal(mtas[0].connections.opened, 1)
  }
  mtas[0].script = {}
  world.pass(30_000)
  assert.equal((await world.carry(TO)).host, 'mx1.b.example')
})

test('a server that falls silent during a transaction is not tried again at once', async (t) => {
  const { mtas, port } = await openHosts(t, [{ onMail: 'hang' }])
  const timeouts = { replyMs: 1_500 }
  const zone = zoneOf('b.example', 1)
  const world = await openTransportWorld(t, { zone, port, timeouts })
  for (let round = 1; round <= 3; round++) {
    assert.deepEqual((await world.carry(TO)).outcomes, ['unsent mail timeout'])
  }
  assert.equal(mtas[0].connections.opened, 1)
})

test('hosts of equal preference share the load', async (t) => {
  const { mtas, port } = await openHosts(t, [{}, {}])
  const zone: Zone = { 'one.example': { A: ['127.0.0.1'] }, 'two.example': { A: ['127.0.0.2'] } }
  const equal = mx('one.example', 'two.example').map((record) => ({ ...record, preference: 5 }))
  for (let index = 0; index < 40; index++) zone[`b${index}.example`] = { MX: equal }
  let draws = 0
  const bytes = (length: number) =>
    createHash('sha256').update(`draw ${++draws}`).digest().subarray(0, length)
  const { carry } = await openTransportWorld(t, { zone, port, chance: { bytes } })
  for (let index = 0; index < 40; index++) await carry(`b@b${index}.example`)
  const counts = mtas.map(({ transactions }) => transactions.length)
  assert.equal((counts[0] ?? 0) + (counts[1] ?? 0), 40)
  assert.ok(Math.min(...counts) > 5, counts.join(' and '))
})

test('the result of DNS decides before any host is contacted', async (t) => {
  const { mtas, port } = await openHosts(t, [{}])
  const A = ['127.0.0.1']
  const zone: Zone = {
    'null.example': { MX: [{ exchange: '.', preference: 0 }], A },
    'servfail.example': 'servfail',
    'bare.example': { A },
  }
  const { carry } = await openTransportWorld(t, { zone, port })
  const outcomes = async (destination: string) => (await carry(`b@${destination}`)).outcomes
  assert.deepEqual(await outcomes('null.example'), ['unroutable 556 5.1.10'])
  assert.deepEqual(await outcomes('missing.example'), ['unroutable 550 5.1.2'])
  assert.deepEqual(await outcomes('servfail.example'), ['no-route'])
  assert.equal(mtas[0].connections.opened, 0)
  assert.deepEqual(await outcomes('bare.example'), ['accepted 250'])
  assert.deepEqual(await outcomes('[127.0.0.1]'), ['accepted 250'])

  const locked = await openTransportWorld(t, { zone, port, allowPrivate: false })
  for (const to of ['b@bare.example', 'b@[127.0.0.1]']) {
    assert.deepEqual((await locked.carry(to)).outcomes, ['unroutable 550 5.4.6'])
  }
  assert.equal(mtas[0].connections.opened, 2)
})

test('IPv6 is tried if IPv4 fails', async (t) => {
  const isThere = await new Promise((resolve) => {
    const server = createServer().once('error', () => resolve(false))
    server.listen(0, '::1', () => server.close(() => resolve(true)))
  })
  if (!isThere) return t.skip('this machine has no ::1')
  await using mta = await openMta({}, 0, '::1')
  const zone: Zone = { 'b.example': { A: ['127.0.0.9'], AAAA: ['::1'] } }
  const { carry } = await openTransportWorld(t, { zone, port: mta.port })
  assert.deepEqual((await carry(TO)).outcomes, ['accepted 250'])
})

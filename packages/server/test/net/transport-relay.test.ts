import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { networkInterfaces } from 'node:os'
import { test } from 'node:test'
import { type MtaScript, mtaTls, openMta } from '@mailroom/smtp/test/peers/mta.ts'
import { readRelayUrl } from '#delivery/carrier.ts'
import { countMail, inParallel, openHosts, openTransportWorld } from './transport-world.ts'

const TO = 'b@b.example'
const ACCEPTED = ['accepted 250']
const USER = 'agent@mail.example'
const PASSWORD = 'p%:@/ä ss'
const CREDENTIALS = `${encodeURIComponent(USER)}:${encodeURIComponent(PASSWORD)}`
const auth = { user: USER, password: PASSWORD }

test('a relay gets all recipients of a message in one transaction', async (t) => {
  const { mtas, port } = await openHosts(t, [{}])
  const { carry } = await openTransportWorld(t, { relayUrl: `smtp://127.0.0.1:${port}` })
  const told = await carry(['b@b.example', 'c@c.example', 'd@d.example'])
  const outcomes = [...ACCEPTED, ...ACCEPTED, ...ACCEPTED]
  assert.deepEqual(told, { host: '127.0.0.1', tls: null, outcomes })
  assert.deepEqual(
    mtas[0].transactions.map(({ recipients }) => recipients.length),
    [3],
  )
  await carry(TO)
  assert.equal(mtas[0].connections.opened, 1)
})

test('a relay’s refusals of single recipients are passed on unchanged', async (t) => {
  const onRcpt = (address: string) => (address === TO ? '550 5.1.1 No such user' : undefined)
  const { port } = await openHosts(t, [{ onRcpt }])
  const { carry } = await openTransportWorld(t, { relayUrl: `smtp://127.0.0.1:${port}` })
  const { outcomes } = await carry(['c@c.example', TO])
  assert.deepEqual(outcomes, ['accepted 250', 'refused rcpt 550 5.1.1'])
})

test('user and password are decoded from the URL, for either mechanism', async (t) => {
  for (const mechanisms of ['PLAIN LOGIN', 'LOGIN']) {
    const { mtas, port } = await openHosts(t, [{ auth: { ...auth, mechanisms } }])
    const relayUrl = `smtp://${CREDENTIALS}@127.0.0.1:${port}/`
    const { carry } = await openTransportWorld(t, { relayUrl })
    assert.deepEqual((await carry(TO)).outcomes, ACCEPTED)
    assert.equal(mtas[0].transactions[0]?.authUser, USER)
  }
})

test('TLS is used by either scheme, before the password', async (t) => {
  const tls = await mtaTls()
  for (const isTlsImplicit of [false, true]) {
    const { mtas, port } = await openHosts(t, [{ tls, isTlsImplicit, auth }])
    const scheme = isTlsImplicit ? 'smtps' : 'smtp'
    const relayUrl = `${scheme}://${CREDENTIALS}@127.0.0.1:${port}`
    const { carry } = await openTransportWorld(t, { relayUrl })
    assert.deepEqual(await carry(TO), { host: '127.0.0.1', tls: 'TLSv1.3', outcomes: ACCEPTED })
    const verbs = mtas[0].commands.map(({ line }) => line.split(' ')[0])
    const upgrade = isTlsImplicit ? [] : ['EHLO', 'STARTTLS']
    assert.deepEqual(verbs, [...upgrade, 'EHLO', 'AUTH', 'MAIL', 'RCPT', 'DATA'])
  }
})

test('smtps never falls back to clear text', async (t) => {
  const { mtas, port } = await openHosts(t, [{}])
  const relayUrl = `smtps://${CREDENTIALS}@127.0.0.1:${port}`
  const { carry } = await openTransportWorld(t, { relayUrl })
  assert.deepEqual((await carry(TO)).outcomes, ['unsent tls tls'])
  assert.deepEqual([mtas[0].connections.opened, countMail(mtas[0])], [1, 0])
})

test('a wrong password defers mail, is tried only now and then, and is in no text', async (t) => {
  const { mtas, port } = await openHosts(t, [{ auth: { ...auth, password: 'other' } }, { auth }])
  const { carryRaw, pass } = await openTransportWorld(t, {
    relayUrl: `smtp://${CREDENTIALS}@relay.example:${port}`,
    zone: { 'relay.example': { A: ['127.0.0.1', '127.0.0.2'] } },
  })
  const triesOf = () => mtas[0].commands.filter(({ line }) => line.startsWith('AUTH')).length
  for (let round = 1; round <= 3; round++) {
    const carried = await carryRaw(TO)
    const [outcome] = carried.outcomes
    assert.ok(outcome?.kind === 'unsent' && outcome.failure.kind === 'reply')
    assert.deepEqual([outcome.stage, outcome.failure.reply.code], ['auth', 535])
    const text = JSON.stringify(carried)
    const plain = Buffer.from(`\0${USER}\0${PASSWORD}`).toString('base64')
    for (const secret of [PASSWORD, encodeURIComponent(PASSWORD), plain]) {
      assert.equal(text.includes(secret), false)
    }
    assert.equal(triesOf(), 1)
  }
  assert.equal(mtas[1].connections.opened, 0, 'it would be as wrong there')
  pass(30_000)
  await carryRaw(TO)
  assert.equal(triesOf(), 2)
})

const strangers: [what: string, script: MtaScript, outcome: string][] = [
  ['greets with a refusal', { greeting: '554 5.7.1 Who?' }, 'unsent greeting reply 554'],
  ['refuses our name', { onEhlo: '550 No', onHelo: '550 No' }, 'unsent ehlo reply 550'],
  ['wants AUTH at MAIL', { onMail: '530 5.7.0 Log in' }, 'unsent mail reply 530'],
  ['wants AUTH at RCPT', { onRcpt: '530 5.7.0 Log in' }, 'unsent rcpt reply 530'],
  ['wants AUTH under TLS', { onMail: '538 5.7.11 Encrypt' }, 'unsent mail reply 538'],
]
for (const [what, script, outcome] of strangers) {
  test(`a relay that ${what} defers the mail`, async (t) => {
    const { port } = await openHosts(t, [script])
    const { carry } = await openTransportWorld(t, { relayUrl: `smtp://127.0.0.1:${port}` })
    assert.deepEqual((await carry([TO, 'c@c.example'])).outcomes, [outcome, outcome])
  })
}

test('a relay that requires AUTH defers the mail under TLS too', async (t) => {
  const { port } = await openHosts(t, [{ tls: await mtaTls(), onMail: '530 5.7.0 Log in' }])
  const { carry } = await openTransportWorld(t, { relayUrl: `smtp://127.0.0.1:${port}` })
  const told = await carry(TO)
  assert.deepEqual([told.tls, told.outcomes], ['TLSv1.3', ['unsent mail reply 530']])
})

test('a relay’s addresses are tried one after the other, and looked up once', async (t) => {
  const { mtas, port } = await openHosts(t, [{}])
  const { carry, dns, pass } = await openTransportWorld(t, {
    relayUrl: `smtp://Relay.Example.:${port}`,
    zone: { 'relay.example': { A: ['127.0.0.9', '127.0.0.1'] } },
  })
  await inParallel(50, 10, async () => assert.deepEqual((await carry(TO)).outcomes, ACCEPTED))
  assert.equal(dns.countAsked('relay.example', 'A'), 1)
  pass(10_000)
  dns.zone = { 'relay.example': 'servfail' }
  assert.deepEqual((await carry(TO)).outcomes, ACCEPTED, 'what was found before still counts')
  assert.equal(dns.countAsked('relay.example', 'A'), 2)
  assert.equal(mtas[0].transactions.length, 51)
})

test('a relay with an unknown name defers the mail', async (t) => {
  const relayUrl = `smtp://${CREDENTIALS}@relay.invalid`
  const { carry, carryRaw } = await openTransportWorld(t, { relayUrl })
  assert.deepEqual(await carry(TO), { host: 'relay.invalid', tls: null, outcomes: ['no-route'] })
  const [outcome] = (await carryRaw(TO)).outcomes
  assert.match(
    outcome?.kind === 'no-route' ? outcome.text : '',
    /^The relay relay\.invalid was not/,
  )
})

test('a relay may have a name that only this machine knows', async (t) => {
  const { port } = await openHosts(t, [{}])
  for (const hasResolver of [false, true]) {
    const { carry } = await openTransportWorld(t, {
      relayUrl: `smtp://localhost:${port}`,
      hasResolver,
    })
    assert.deepEqual((await carry(TO)).outcomes, ACCEPTED)
  }
})

test('a relay may be an IPv6 address', async (t) => {
  const isThere = await new Promise((resolve) => {
    const server = createServer().once('error', () => resolve(false))
    server.listen(0, '::1', () => server.close(() => resolve(true)))
  })
  if (!isThere) return t.skip('this machine has no ::1')
  await using mta = await openMta({ auth }, 0, '::1')
  const relayUrl = `smtp://${CREDENTIALS}@[::1]:${mta.port}`
  const { carry } = await openTransportWorld(t, { relayUrl })
  assert.deepEqual(await carry(TO), { host: '::1', tls: null, outcomes: ACCEPTED })
})

test('a password for another machine needs a trusted certificate', async (t) => {
  const outside = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find(({ internal, family }) => !internal && family === 'IPv4')
  if (outside === undefined) return t.skip('this machine has no address but loopback')
  const tls = await mtaTls()
  for (const [script, outcome] of [
    [{ auth }, 'unsent starttls tls'],
    [{ auth, tls }, 'unsent tls tls'],
  ] as const) {
    await using mta = await openMta(script, 0, outside.address)
    const relayUrl = `smtp://${CREDENTIALS}@${outside.address}:${mta.port}`
    const { carry } = await openTransportWorld(t, { relayUrl })
    assert.deepEqual((await carry(TO)).outcomes, [outcome])
    assert.equal(
      mta.commands.some(({ line }) => line.startsWith('AUTH')),
      false,
    )
  }
})

test('a relay’s URL is parsed into its parts, and never shown', () => {
  const none = { credentials: null }
  const cases: [url: string, relay: object][] = [
    ['smtp://relay', { host: 'relay', port: 587, isTlsImplicit: false, ...none }],
    ['smtps://relay.', { host: 'relay', port: 465, isTlsImplicit: true, ...none }],
    ['smtp://[2001:DB8::1]:25', { host: '2001:db8::1', port: 25, isTlsImplicit: false, ...none }],
    [
      'smtp://bücher.example',
      { host: 'xn--bcher-kva.example', port: 587, isTlsImplicit: false, ...none },
    ],
  ]
  for (const [url, relay] of cases) assert.deepEqual(readRelayUrl(url), relay)
  const { credentials } = readRelayUrl('smtp://50%:100%25@mail_relay')
  assert.deepEqual(credentials, { user: '50%', password: '100%' })
  for (const wrong of ['smtp://', 'secret', 'http://u:secret@h', 'smtp://u:secret@h:99999']) {
    assert.throws(
      () => readRelayUrl(wrong),
      (error) => !String(error).includes('secret'),
      wrong,
    )
  }
})

import assert from 'node:assert/strict'
import { createHash, X509Certificate } from 'node:crypto'
import { before, describe, test } from 'node:test'
import type { SecureContext } from 'node:tls'
import { type MtaScript, mtaTls, testCertificate } from '@mailroom/smtp/test/peers/mta.ts'
import type { FetchPolicy } from '#delivery/find-route.ts'
import type { Certificate } from '#platform/tls/server-tls.ts'
import type { Zone } from '#test/peers/dns.ts'
import { mx } from './route-world.ts'
import { countMail, openHosts, openTransportWorld, zoneOf } from './transport-world.ts'

const TO = 'b@b.example'
const HOST = 'mailroom.localhost'
const ACCEPTED = ['accepted 250']
/** Reads the ClientHello and sends nothing. */
const STALLS: MtaScript = { tls: 'stall', onStartTls: { octets: '220 Go\r\n', next: 'hang' } }

/** Short for tests in which the time runs out. */
function timeoutsFor(script: MtaScript) {
  return script === STALLS ? { handshakeMs: 1_500 } : {}
}

let own: Certificate
let tls: SecureContext

before(async () => {
  own = await testCertificate()
  tls = await mtaTls()
})

describe('without a policy', () => {
  test('an untrusted certificate is accepted', async (t) => {
    const { mtas, port } = await openHosts(t, [{ tls }])
    const { carry } = await openTransportWorld(t, { zone: zoneOf('b.example', 1), port })
    for (let round = 1; round <= 2; round++) {
      const told = await carry(TO)
      assert.deepEqual(told, { host: 'mx1.b.example', tls: 'TLSv1.3', outcomes: ACCEPTED })
    }
    assert.deepEqual(
      mtas[0].transactions.map((message) => message.tls),
      ['TLSv1.3', 'TLSv1.3'],
    )
    assert.equal(mtas[0].transactions[0]?.servername, 'mx1.b.example')
    assert.equal(mtas[0].connections.opened, 1)
  })

  const broken: [what: string, script: () => MtaScript, connections: number][] = [
    ['that stalls', () => STALLS, 2],
    ['of rubbish', () => ({ tls: 'garbage' }), 2],
    ['that is cut', () => ({ tls: 'close' }), 2],
    ['that is refused for now', () => ({ tls, onStartTls: '454 4.7.0 Not now' }), 1],
    ['that is refused for good', () => ({ tls, onStartTls: '554 5.7.3 Never' }), 1],
    ['that is refused with a goodbye', () => ({ tls, onStartTls: '421 4.7.0 Bye' }), 2],
    ['that is never begun', () => ({ tls, onStartTls: 'close' }), 2],
    ['that is reset', () => ({ tls, onStartTls: 'reset' }), 2],
    ['with clear text behind its beginning', () => ({ tls, injected: '250 Hm\r\n' }), 2],
    ['that the server regrets', () => closesUnderTls(tls), 2],
  ]
  for (const [what, script, connections] of broken) {
    test(`a handshake ${what} is repeated in clear text, in the same attempt`, async (t) => {
      const { mtas, port } = await openHosts(t, [script(), {}])
      const timeouts = timeoutsFor(script())
      const zone = zoneOf('b.example', 2)
      const { carry } = await openTransportWorld(t, { zone, port, timeouts })
      const told = await carry(TO)
      assert.deepEqual(told, { host: 'mx1.b.example', tls: null, outcomes: ACCEPTED })
      assert.deepEqual([mtas[0].connections.opened, mtas[0].transactions.length], [connections, 1])
      assert.equal(mtas[1].connections.opened, 0)
      await carry(TO)
      assert.equal(mtas[0].connections.opened, connections, 'the connection is used again')
    })
  }

  test('a failed handshake at a host that requires TLS defers the mail', async (t) => {
    const script: MtaScript = { tls: 'garbage', onMail: '530 5.7.0 Must issue STARTTLS first' }
    const { port } = await openHosts(t, [script, script])
    const { carry } = await openTransportWorld(t, { zone: zoneOf('b.example', 2), port })
    const { host, outcomes } = await carry(TO)
    assert.deepEqual([host, outcomes], ['mx2.b.example', ['unsent mail reply 530']])
  })
})

/** Ends a TLS connection after the handshake; serves one in clear text. */
function closesUnderTls(context: SecureContext): MtaScript {
  let greetings = 0
  return {
    tls: context,
    onEhlo() {
      greetings += 1
      return greetings === 2 ? 'close' : undefined
    },
  }
}

function policyOf(host: string): FetchPolicy {
  const text = `version: STSv1\r\nmode: enforce\r\nmx: ${host}\r\nmax_age: 86400\r\n`
  return async () => ({ kind: 'text', text })
}

function stsZone(host: string): Zone {
  return {
    'b.example': { MX: mx(host) },
    '_mta-sts.b.example': { TXT: ['v=STSv1; id=1'] },
    [host]: { A: ['127.0.0.1'] },
    'plain.example': { MX: mx(host) },
  }
}

describe('under an enforced policy', () => {
  test('mail is sent to a host that proves its name', async (t) => {
    const { mtas, port } = await openHosts(t, [{ tls }])
    const { carry } = await openTransportWorld(t, {
      zone: stsZone(HOST),
      port,
      fetchPolicy: policyOf(HOST),
      trustedCertificates: [own.certificatePem],
    })
    assert.deepEqual(await carry(TO), { host: HOST, tls: 'TLSv1.3', outcomes: ACCEPTED })
    assert.equal(mtas[0].transactions[0]?.servername, HOST)
  })

  const refused: [what: string, host: string, script: () => MtaScript, outcome: string][] = [
    ['has another name', 'other.localhost', () => ({ tls }), 'unsent tls tls'],
    ['offers no TLS', HOST, () => ({}), 'unsent starttls tls'],
    [
      'refuses TLS for good',
      HOST,
      () => ({ tls, onStartTls: '554 5.7.3 Never' }),
      'unsent starttls reply 554',
    ],
    ['stalls', HOST, () => STALLS, 'unsent tls timeout'],
    ['talks rubbish', HOST, () => ({ tls: 'garbage' }), 'unsent tls tls'],
    ['closes', HOST, () => ({ tls: 'close' }), 'unsent tls tls'],
    ['closes under TLS', HOST, () => closesUnderTls(tls), 'unsent ehlo network closed'],
  ]
  for (const [what, host, script, outcome] of refused) {
    test(`a host that ${what} gets nothing, and mail is deferred`, async (t) => {
      const { mtas, port } = await openHosts(t, [script()])
      const { carry } = await openTransportWorld(t, {
        zone: stsZone(host),
        port,
        fetchPolicy: policyOf(host),
        trustedCertificates: [own.certificatePem],
        timeouts: timeoutsFor(script()),
      })
      assert.deepEqual((await carry(TO)).outcomes, [outcome])
      assert.deepEqual([countMail(mtas[0]), mtas[0].connections.opened], [0, 1])
    })
  }

  test('no connection opened without the policy is used', async (t) => {
    const { mtas, port } = await openHosts(t, [{ tls }])
    const { carry } = await openTransportWorld(t, {
      zone: stsZone(HOST),
      port,
      fetchPolicy: policyOf(HOST),
    })
    assert.deepEqual((await carry('b@plain.example')).outcomes, ACCEPTED)
    assert.deepEqual((await carry(TO)).outcomes, ['unsent tls tls'], 'nobody vouches for it')
    assert.deepEqual((await carry('b@plain.example')).outcomes, ACCEPTED)
    assert.deepEqual(
      mtas[0].transactions.map(({ connection }) => connection),
      [1, 1],
    )
  })

  test('a handshake that stalls there does not delay other mail for the host', async (t) => {
    const { mtas, port } = await openHosts(t, [STALLS])
    const { carry } = await openTransportWorld(t, {
      zone: stsZone(HOST),
      port,
      fetchPolicy: policyOf(HOST),
      timeouts: timeoutsFor(STALLS),
    })
    assert.deepEqual((await carry(TO)).outcomes, ['unsent tls timeout'])
    assert.deepEqual((await carry('b@plain.example')).outcomes, ACCEPTED)
    assert.deepEqual((await carry(TO)).outcomes, ['unsent tls timeout'])
    assert.equal(mtas[0].connections.opened, 3, 'the one that stalled is passed over')
  })
})

describe('under DANE', () => {
  const digestOf = ({ certificatePem }: Certificate) =>
    createHash('sha256')
      .update(new X509Certificate(certificatePem).publicKey.export({ type: 'spki', format: 'der' }))
      .digest()

  function daneZone(port: number, data: Uint8Array): Zone {
    return {
      'b.example': { MX: mx(HOST), isAuthenticated: true },
      [HOST]: { A: ['127.0.0.1'], isAuthenticated: true },
      [`_${port}._tcp.${HOST}`]: {
        TLSA: [{ usage: 3, selector: 1, matchingType: 1, data }],
        isAuthenticated: true,
      },
    }
  }

  test('mail is sent to a host with the published key', async (t) => {
    const { port } = await openHosts(t, [{ tls }])
    const zone = daneZone(port, digestOf(own))
    const { carry } = await openTransportWorld(t, { zone, port })
    assert.deepEqual(await carry(TO), { host: HOST, tls: 'TLSv1.3', outcomes: ACCEPTED })
  })

  const refused: [what: string, script: () => MtaScript, outcome: string][] = [
    ['has another key', () => ({ tls }), 'unsent tls tls'],
    ['offers no TLS', () => ({}), 'unsent starttls tls'],
    ['stalls', () => STALLS, 'unsent tls timeout'],
  ]
  for (const [what, script, outcome] of refused) {
    test(`a host that ${what} gets nothing, and mail is deferred`, async (t) => {
      const { mtas, port } = await openHosts(t, [script()])
      const zone = daneZone(port, Buffer.alloc(32, 1))
      const timeouts = timeoutsFor(script())
      const { carry } = await openTransportWorld(t, { zone, port, timeouts })
      assert.deepEqual((await carry(TO)).outcomes, [outcome])
      assert.deepEqual([countMail(mtas[0]), mtas[0].connections.opened], [0, 1])
    })
  }

  test('a new connection uses changed records', async (t) => {
    const { mtas, port } = await openHosts(t, [{ tls }])
    const world = await openTransportWorld(t, { zone: daneZone(port, digestOf(own)), port })
    assert.deepEqual((await world.carry(TO)).outcomes, ACCEPTED)
    world.dns.zone = daneZone(port, Buffer.alloc(32, 1))
    world.pass(300_000)
    assert.deepEqual((await world.carry(TO)).outcomes, ['unsent tls tls'])
    assert.equal(mtas[0].connections.opened, 2)
  })
})

import assert from 'node:assert/strict'
import { createHash, X509Certificate } from 'node:crypto'
import { networkInterfaces } from 'node:os'
import { before, describe, test } from 'node:test'
import type { SecureContext } from 'node:tls'
import type { ClientTls, TlsaRecord } from '@mailroom/smtp/client/outgoing-mail.ts'
import { generate } from 'selfsigned'
import { describeOutcomes, failToOpen, mailTo, open, openClient } from '#test/client-world.ts'
import type { Certificate } from '#test/peers/certificate.ts'
import { type MtaScript, mtaTls, openMta, testCertificate } from '#test/peers/mta.ts'

const NAME = 'mailroom.localhost'

let own: Certificate
let tls: SecureContext
/** A certificate for NAME and the authority that signed it, shown together. */
let signed: { chain: string; authority: string; tls: SecureContext }

before(async () => {
  own = await testCertificate()
  tls = await mtaTls()
  signed = await signCertificate()
})

async function signCertificate() {
  const caExtensions = [{ name: 'basicConstraints', cA: true, critical: true }]
  const names = [{ name: 'subjectAltName', altNames: [{ type: 2, value: NAME }] }]
  const options = { keyType: 'ec', curve: 'P-256', algorithm: 'sha256' } as const
  const ca = await generate([{ name: 'commonName', value: 'Test authority' }], {
    ...options,
    extensions: caExtensions as never,
  })
  const made = await generate([{ name: 'commonName', value: NAME }], {
    ...options,
    extensions: names as never,
    ca: { key: ca.private, cert: ca.cert },
  })
  const chain = `${made.cert}\n${ca.cert}`
  const context = await mtaTls({ certificatePem: chain, privateKeyPem: made.private })
  return { chain: made.cert, authority: ca.cert, tls: context }
}

const OPPORTUNISTIC: ClientTls = { kind: 'opportunistic' }
const REQUIRED: ClientTls = { kind: 'required' }
const VERIFIED: ClientTls = { kind: 'verified', servername: NAME }

describe('STARTTLS', () => {
  test('names no server that is an address in brackets', async () => {
    await using mta = await openMta({ tls })
    const client = await openClient(mta.port, { tls: OPPORTUNISTIC, servername: '[127.0.0.1]' })
    await client.send(mailTo('b@b.example'))
    await client.quit()
    const [message] = mta.transactions
    assert.equal(message?.tls, 'TLSv1.3')
    assert.ok(!message?.servername, `${message?.servername}`)
  })

  test('is used when offered, with EHLO again and SNI, and does not count as verified', async () => {
    await using mta = await openMta({ tls })
    const client = await openClient(mta.port, { tls: OPPORTUNISTIC, servername: 'mx.example' })
    assert.deepEqual([client.tls, client.isTlsVerified], ['TLSv1.3', false])
    assert.equal(client.extensions.starttls, false)
    assert.deepEqual(describeOutcomes(await client.send(mailTo('b@b.example'))), ['accepted 250'])
    await client.quit()
    const [message] = mta.transactions
    assert.deepEqual([message?.tls, message?.servername], ['TLSv1.3', 'mx.example'])
    const verbs = mta.commands.map(({ line }) => line.split(/[ :]/)[0])
    assert.deepEqual(verbs, ['EHLO', 'STARTTLS', 'EHLO', 'MAIL', 'RCPT', 'DATA', 'QUIT'])
  })

  test('is not used by a client that is told not to', async () => {
    await using mta = await openMta({ tls })
    const client = await openClient(mta.port)
    assert.equal(client.tls, null)
    client.destroy()
  })

  test('carries large messages', async () => {
    await using mta = await openMta({ tls })
    const client = await openClient(mta.port, { tls: OPPORTUNISTIC })
    const raw = Buffer.from(`.${'x'.repeat(97)}\r\n`.repeat(80_000))
    const outcomes = await client.send(mailTo('b@b.example', { raw }))
    assert.deepEqual(describeOutcomes(outcomes), ['accepted 250'])
    assert.equal(mta.transactions[0]?.raw.equals(raw), true)
    client.destroy()
  })

  test('works from the first octet where TLS is implicit', async () => {
    await using mta = await openMta({ tls, isTlsImplicit: true })
    const client = await openClient(mta.port, { tls: REQUIRED, implicitTls: true })
    assert.equal(client.tls, 'TLSv1.3')
    assert.deepEqual(describeOutcomes(await client.send(mailTo('b@b.example'))), ['accepted 250'])
    await client.quit()
  })

  const missing: [
    name: string,
    script: () => MtaScript,
    opportunistic: string,
    required: string,
  ][] = [
    ['is not offered', () => ({}), 'open', 'starttls: tls'],
    ['is refused', () => ({ tls, onStartTls: '454 4.7.0 Not now' }), 'open', 'starttls: reply 454'],
    ['stalls', () => ({ tls: 'stall' }), 'tls: timeout', 'tls: timeout'],
    ['is cut off', () => ({ tls: 'close' }), 'tls: tls', 'tls: tls'],
    ['answers with rubbish', () => ({ tls: 'garbage' }), 'tls: tls', 'tls: tls'],
    [
      'has a whole clear reply behind its answer',
      () => ({ tls, injected: '250 injected\r\n' }),
      'starttls: protocol',
      'starttls: protocol',
    ],
    [
      'has half a clear reply behind its answer',
      () => ({ tls, injected: '250-inj' }),
      'starttls: protocol',
      'starttls: protocol',
    ],
  ]
  for (const [name, script, opportunistic, required] of missing) {
    test(`that ${name} gives ${opportunistic}, or ${required} when demanded`, async () => {
      await using mta = await openMta(script())
      const timeouts = name === 'stalls' ? { handshakeMs: 100 } : {}
      assert.equal(await failToOpen(mta.port, { tls: OPPORTUNISTIC, timeouts }), opportunistic)
      assert.equal(await failToOpen(mta.port, { tls: REQUIRED, timeouts }), required)
      const lines = mta.commands.map(({ line }) => line)
      assert.equal(lines.filter((line) => line.startsWith('MAIL')).length, 0)
    })
  }

  test('can be aborted in the handshake', async () => {
    await using mta = await openMta({ tls: 'stall' })
    const signal = AbortSignal.timeout(1_000)
    assert.equal(await failToOpen(mta.port, { tls: REQUIRED, signal }), 'tls: network aborted')
  })
})

describe('a verified server', () => {
  const verify = (port: number, servername: string, trusted: string[] | undefined) =>
    failToOpen(port, {
      tls: { kind: 'verified', servername },
      ...(trusted === undefined ? {} : { trustedCertificates: trusted }),
    })

  test('has a trusted certificate for its name', async () => {
    await using mta = await openMta({ tls: signed.tls })
    const client = await openClient(mta.port, {
      tls: VERIFIED,
      trustedCertificates: [signed.authority],
    })
    assert.deepEqual([client.tls, client.isTlsVerified], ['TLSv1.3', true])
    await client.send(mailTo('b@b.example'))
    assert.equal(mta.transactions[0]?.servername, NAME)
    client.destroy()
  })

  test('needs the right name and a trusted signature, and an address is no name', async () => {
    await using mta = await openMta({ tls: signed.tls })
    assert.equal(await verify(mta.port, 'other.example', [signed.authority]), 'tls: tls')
    assert.equal(await verify(mta.port, '127.0.0.1', [signed.authority]), 'tls: tls')
    assert.equal(await verify(mta.port, NAME, undefined), 'tls: tls')
    assert.equal(await verify(mta.port, NAME, [own.certificatePem]), 'tls: tls')
    assert.equal(await verify(mta.port, NAME, [signed.authority]), 'open')
    assert.equal(mta.transactions.length, 0)
  })
})

describe('DANE', () => {
  const record = (
    usage: number,
    selector: number,
    matchingType: number,
    pem: string,
  ): TlsaRecord => {
    const certificate = new X509Certificate(pem)
    const { raw, publicKey } = certificate
    const octets = selector === 0 ? raw : publicKey.export({ type: 'spki', format: 'der' })
    const data =
      matchingType === 0
        ? octets
        : createHash(matchingType === 1 ? 'sha256' : 'sha512')
            .update(octets)
            .digest()
    return { usage, selector, matchingType, data }
  }
  const judge = async (records: TlsaRecord[], servername = NAME, context = signed.tls) => {
    await using mta = await openMta({ tls: context })
    const demanded = { tls: { kind: 'dane', servername, records } } as const
    const failure = await failToOpen(mta.port, demanded)
    if (failure !== 'open') return failure
    const client = await openClient(mta.port, demanded)
    client.destroy()
    return client.isTlsVerified ? 'verified' : 'encrypted'
  }

  for (const selector of [0, 1]) {
    for (const matchingType of [0, 1, 2]) {
      test(`3 ${selector} ${matchingType} names the server’s own certificate`, async () => {
        const right = record(3, selector, matchingType, signed.chain)
        assert.equal(await judge([right]), 'verified')
        assert.equal(await judge([right], 'other.example'), 'verified')
        const wrong = record(3, selector, matchingType, own.certificatePem)
        assert.equal(await judge([wrong]), 'tls: tls')
        assert.equal(await judge([wrong, right]), 'verified')
      })

      test(`2 ${selector} ${matchingType} names its authority, and the name counts`, async () => {
        const right = record(2, selector, matchingType, signed.authority)
        assert.equal(await judge([right]), 'verified')
        assert.equal(await judge([right], 'other.example'), 'tls: tls')
        assert.equal(await judge([right], NAME, tls), 'tls: tls')
        const wrong = record(2, selector, matchingType, own.certificatePem)
        assert.equal(await judge([wrong]), 'tls: tls')
      })
    }
  }

  test('of usage 3 is not satisfied by the authority', async () => {
    assert.equal(await judge([record(3, 1, 1, signed.authority)]), 'tls: tls')
  })

  test('of usage 2 wants a signature, not only the authority’s certificate beside', async () => {
    const { privateKeyPem, certificatePem } = own
    const beside = `${certificatePem}\n${signed.authority}`
    const context = await mtaTls({ certificatePem: beside, privateKeyPem })
    assert.equal(await judge([record(2, 1, 1, signed.authority)], NAME, context), 'tls: tls')
  })

  test('without a usable record requires only TLS', async () => {
    const data = Buffer.alloc(32)
    const unusable = [
      { usage: 0, selector: 1, matchingType: 1, data },
      { usage: 1, selector: 1, matchingType: 1, data },
      { usage: 4, selector: 1, matchingType: 1, data },
      { usage: 3, selector: 2, matchingType: 1, data },
      { usage: 3, selector: 1, matchingType: 3, data },
      { usage: 3, selector: 1, matchingType: 2, data },
      { usage: 3, selector: 1, matchingType: 0, data: Buffer.alloc(0) },
    ]
    assert.equal(await judge(unusable), 'encrypted')
    const bad = { usage: 3, selector: 1, matchingType: 1, data }
    assert.equal(await judge([...unusable, bad]), 'tls: tls')
    await using mta = await openMta()
    const demanded = { tls: { kind: 'dane', servername: NAME, records: unusable } } as const
    assert.equal(await failToOpen(mta.port, demanded), 'starttls: tls')
  })
})

describe('AUTH', () => {
  const credentials = { user: 'relay-user', password: 'correct horse' }
  const wrong = { user: 'relay-user', password: 'battery staple' }

  for (const mechanisms of ['PLAIN LOGIN', 'LOGIN', 'CRAM-MD5 plain']) {
    test(`with ${mechanisms} accepts the right password and hides a wrong one`, async () => {
      await using mta = await openMta({ tls, auth: { ...credentials, mechanisms } })
      const client = await openClient(mta.port, { tls: REQUIRED, credentials })
      await client.send(mailTo('b@b.example'))
      assert.equal(mta.transactions[0]?.authUser, 'relay-user')
      client.destroy()

      const options = { tls: REQUIRED, credentials: wrong } as const
      assert.equal(await failToOpen(mta.port, options), 'auth: reply 535')
      const told = JSON.stringify(await open(mta.port, options))
      assert.match(told, /535/)
      assert.doesNotMatch(told, /battery/)
      for (const line of mta.commands.filter((command) => command.line.startsWith('AUTH PLAIN'))) {
        assert.equal(told.includes(line.line.slice('AUTH PLAIN '.length)), false)
      }
    })
  }

  test('without a mechanism that we know fails', async () => {
    await using mta = await openMta({ auth: { ...credentials, mechanisms: 'CRAM-MD5' } })
    assert.equal(await failToOpen(mta.port, { credentials }), 'auth: protocol')
  })

  test('in clear text goes to a loopback address', async () => {
    await using mta = await openMta({ auth: credentials })
    const client = await openClient(mta.port, { credentials })
    await client.send(mailTo('b@b.example'))
    assert.equal(mta.transactions[0]?.authUser, 'relay-user')
    client.destroy()
  })

  test('in clear text goes to no other address', async (context) => {
    const outer = Object.values(networkInterfaces())
      .flatMap((addresses) => addresses ?? [])
      .find(({ internal, family }) => !internal && family === 'IPv4')?.address
    if (outer === undefined) return context.skip('this machine has loopback only')
    await using mta = await openMta({ auth: credentials, tls }, 0, outer)
    const options = { address: outer, credentials }
    assert.equal(await failToOpen(mta.port, options), 'auth: tls')
    assert.equal(mta.commands.filter(({ line }) => line.startsWith('AUTH')).length, 0)
    assert.equal(await failToOpen(mta.port, { ...options, tls: REQUIRED }), 'open')
  })
})

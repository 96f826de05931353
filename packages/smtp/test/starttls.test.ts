// STARTTLS (RFC 3207) with correct and incorrect clients.

import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import type { SecureContext } from 'node:tls'
import { makeCertificate } from '#test/peers/certificate.ts'
import { mtaTls } from '#test/peers/mta.ts'
import { openSmtpWorld } from '#test/smtp-world.ts'

let tls: SecureContext

before(async () => {
  tls = await mtaTls(await makeCertificate('mx.example'))
})

describe('STARTTLS', () => {
  test('carries a message, is offered once and reported to the receiver', async () => {
    await using world = await openSmtpWorld({ tls })
    const peer = await world.connect()
    await peer.reply()
    const [clear, ready] = await peer.dialogue('EHLO c.example', 'STARTTLS')
    assert.match(clear ?? '', /STARTTLS/)
    assert.match(ready ?? '', /^220 2\.0\.0/)
    assert.equal(await peer.startTls(), 'TLSv1.3')
    const [early, secure, again] = await peer.dialogue('MAIL FROM:<>', 'EHLO c.example', 'STARTTLS')
    assert.match(early ?? '', /^503/)
    assert.doesNotMatch(secure ?? '', /STARTTLS/)
    assert.match(again ?? '', /^503/)
    const body = `${'x'.repeat(70)}\r\n`.repeat(5_000)
    await peer.dialogue('MAIL FROM:<>', 'RCPT TO:<u@x.example>', 'DATA')
    peer.send(`${body}.\r\nQUIT\r\n`)
    assert.match(await peer.reply(), /^250/)
    assert.match(await peer.reply(), /^221/)
    await peer.end()
    assert.equal(world.receiver.received[0]?.content.toString(), body)
    assert.equal(world.receiver.received[0]?.client.tls, 'TLSv1.3')
  })

  test('discards commands sent before it in clear text', async () => {
    await using world = await openSmtpWorld({ tls })
    const peer = await world.connect()
    await peer.reply()
    await peer.dialogue('EHLO c.example', 'MAIL FROM:<before@b.example>')
    peer.send('STARTTLS\r\nRSET\r\nEHLO evil\r\nMAIL FROM:<injected@b.example>\r\n')
    assert.match(await peer.reply(), /^220/)
    await peer.startTls()
    const [unheard, , rcpt] = await peer.dialogue(
      'RCPT TO:<u@x.example>',
      'EHLO c.example',
      'RCPT TO:<u@x.example>',
    )
    assert.match(unheard ?? '', /^503/)
    assert.match(rcpt ?? '', /^503/)
    assert.deepEqual(world.receiver.checked, [])
  })

  test('is absent without a certificate and takes no argument', async () => {
    await using world = await openSmtpWorld()
    const peer = await world.connect()
    await peer.reply()
    const [ehlo, argument, plain] = await peer.dialogue('EHLO c', 'STARTTLS now', 'STARTTLS')
    assert.doesNotMatch(ehlo ?? '', /STARTTLS/)
    assert.match(argument ?? '', /^501/)
    assert.match(plain ?? '', /^502/)
  })

  const brokenHandshakes: Record<string, Buffer> = {
    garbage: Buffer.from('EHLO not tls\r\n'.repeat(20)),
    'a record of zeros': Buffer.concat([Buffer.of(22, 3, 1, 0, 200), Buffer.alloc(200)]),
    'an SSLv2 hello': Buffer.concat([Buffer.from('802e010002', 'hex'), Buffer.alloc(43)]),
  }
  for (const [name, bytes] of Object.entries(brokenHandshakes)) {
    test(`with ${name} instead of a handshake ends only this connection`, async () => {
      await using world = await openSmtpWorld({ tls })
      const peer = await world.connect()
      const other = await world.connect()
      await Promise.all([peer.reply(), other.reply()])
      await peer.dialogue('EHLO c.example', 'STARTTLS')
      peer.socket.removeAllListeners('data')
      peer.socket.resume()
      peer.send(bytes)
      await peer.end()
      const [noop] = await other.dialogue('NOOP')
      assert.match(noop ?? '', /^250/)
      assert.equal(world.server.stats().connections, 1)
    })
  }

  for (const moment of ['before', 'within', 'after'] as const) {
    test(`survives a reset ${moment} the handshake`, async () => {
      await using world = await openSmtpWorld({ tls })
      const peer = await world.connect()
      await peer.reply()
      await peer.dialogue('EHLO c.example', 'STARTTLS')
      const plain = peer.socket
      if (moment === 'within') peer.send(Buffer.of(22, 3, 1, 0, 200))
      if (moment === 'after') await peer.startTls()
      plain.resetAndDestroy()
      while (world.server.stats().connections > 0) await new Promise((r) => setImmediate(r))
    })
  }

  test('without a handshake is closed by the deadline for commands', async () => {
    await using world = await openSmtpWorld({ tls })
    const peer = await world.connect()
    await peer.reply()
    await peer.dialogue('EHLO c.example', 'STARTTLS')
    world.clock.advance(300_000)
    world.server.sweep()
    world.clock.advance(5_000)
    world.server.sweep()
    await peer.end()
  })

  test('without a handshake does not delay the end of service', async () => {
    const world = await openSmtpWorld({ tls })
    const peer = await world.connect()
    await peer.reply()
    await peer.dialogue('EHLO c.example', 'STARTTLS')
    peer.send(Buffer.of(22, 3, 1))
    await world.server.close({ drainMs: 20 })
    assert.deepEqual(await peer.end(), [])
  })

  test('lets a message drain at the end of service', async () => {
    const world = await openSmtpWorld({ tls })
    const peer = await world.connect()
    await peer.reply()
    await peer.dialogue('EHLO c.example', 'STARTTLS')
    await peer.startTls()
    await peer.dialogue('EHLO c', 'MAIL FROM:<>', 'RCPT TO:<u@x.example>', 'DATA')
    const closed = world.server.close({ drainMs: 5_000 })
    peer.send('hello\r\n.\r\n')
    assert.match(await peer.reply(), /^250/)
    assert.match(await peer.reply(), /^421/)
    await closed
  })
})

test('a self-signed certificate is quick to make and names its host', async () => {
  const startMs = performance.now()
  const { certificatePem } = await makeCertificate('mx.example')
  assert.ok(performance.now() - startMs < 10_000)
  const { X509Certificate } = await import('node:crypto')
  const certificate = new X509Certificate(certificatePem)
  assert.equal(certificate.checkHost('mx.example'), 'mx.example')
  assert.equal(certificate.publicKey.asymmetricKeyType, 'ec')
})

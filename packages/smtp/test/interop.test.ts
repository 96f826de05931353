import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTransport } from 'nodemailer'
import { makeCertificate } from '#test/peers/certificate.ts'
import { mtaTls } from '#test/peers/mta.ts'
import { openSmtpWorld } from '#test/smtp-world.ts'

for (const isSecure of [false, true]) {
  test(`nodemailer delivers ${isSecure ? 'under TLS' : 'in the clear'}`, async () => {
    const tls = await mtaTls(await makeCertificate('mx.example'))
    await using world = await openSmtpWorld({ tls })
    const transport = createTransport({
      host: '127.0.0.1',
      port: world.server.address.port,
      ignoreTLS: !isSecure,
      requireTLS: isSecure,
      tls: { rejectUnauthorized: false },
    })
    const raw = `Subject: hello\r\n\r\n.one\r\n..two\r\n${'x'.repeat(70)}\r\n`.repeat(2_000)
    const info = await transport.sendMail({
      envelope: { from: 'a@b.example', to: ['u1@x.example', 'u2@x.example', 'nobody@x.example'] },
      raw,
    })
    transport.close()
    assert.deepEqual(info.accepted, ['u1@x.example', 'u2@x.example'])
    assert.deepEqual(info.rejected, ['nobody@x.example'])
    const [message] = world.receiver.received
    assert.equal(message?.content.toString(), raw)
    assert.equal(message?.client.tls !== null, isSecure)
  })
}

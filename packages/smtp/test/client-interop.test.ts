import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { SMTPServer } from 'smtp-server'
import { describeOutcomes, mailTo, openClient } from '#test/client-world.ts'
import { mtaTls, testCertificate } from '#test/peers/mta.ts'
import { openSmtpWorld } from '#test/smtp-world.ts'

const RAW = Buffer.from(
  `Subject: hello\r\n\r\n.one\r\n..\r\n.\r\n${'x'.repeat(70)}\r\n`.repeat(2_000),
)

for (const isSecure of [false, true]) {
  const how = isSecure ? 'under TLS' : 'in the clear'

  test(`the service accepts mail of the client ${how}`, async () => {
    await using world = await openSmtpWorld({ tls: await mtaTls() })
    const client = await openClient(world.server.address.port, {
      tls: { kind: isSecure ? 'required' : 'none' },
    })
    const to = ['u1@x.example', 'nobody@x.example', 'busy@x.example', 'u2@x.example']
    for (let round = 1; round <= 3; round += 1) {
      assert.deepEqual(describeOutcomes(await client.send(mailTo(to, { raw: RAW }))), [
        'accepted 250',
        'refused rcpt 550 5.1.1',
        'refused rcpt 450 4.2.1',
        'accepted 250',
      ])
      const none = await client.send(mailTo('nobody@x.example'))
      assert.deepEqual(describeOutcomes(none), ['refused rcpt 550 5.1.1'])
      const message = world.receiver.received[round - 1]
      assert.equal(message?.content.equals(RAW), true)
      assert.equal(message?.client.tls !== null, isSecure)
    }
    const international = mailTo('用户@x.example', { needsSmtpUtf8: true })
    assert.deepEqual(describeOutcomes(await client.send(international)), ['accepted 250'])
    await client.quit()
  })

  test(`smtp-server accepts mail of the client ${how}`, async () => {
    const { certificatePem: cert, privateKeyPem: key } = await testCertificate()
    const bodies: string[] = []
    const users: unknown[] = []
    const server = new SMTPServer({
      cert,
      key,
      authOptional: true,
      allowInsecureAuth: true,
      onAuth(auth, _session, callback) {
        users.push([auth.username, auth.password])
        callback(null, { user: auth.username })
      },
      onRcptTo(address, _session, callback) {
        const refusal = Object.assign(new Error('No such user'), { responseCode: 550 })
        callback(address.address.startsWith('nobody') ? refusal : null)
      },
      onData(stream, _session, callback) {
        const chunks: Buffer[] = []
        stream.on('data', (chunk: Buffer) => chunks.push(chunk))
        stream.on('end', () => {
          bodies.push(Buffer.concat(chunks).toString('latin1'))
          callback()
        })
      },
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    try {
      const { port } = server.server.address() as AddressInfo
      const client = await openClient(port, {
        tls: { kind: isSecure ? 'required' : 'none' },
        credentials: { user: 'relay-user', password: 'correct horse' },
      })
      for (let round = 0; round < 2; round += 1) {
        const to = ['a@x.example', 'nobody@x.example']
        const outcomes = await client.send(mailTo(to, { raw: RAW }))
        assert.equal(outcomes[0]?.kind, 'accepted')
        assert.match(describeOutcomes(outcomes)[1] ?? '', /^refused rcpt 550/)
      }
      assert.deepEqual(users, [['relay-user', 'correct horse']])
      assert.deepEqual(bodies, [RAW.toString('latin1'), RAW.toString('latin1')])
      await client.quit()
    } finally {
      await new Promise<void>((resolve) => server.close(resolve))
    }
  })
}

// The sizes that RFC 5321 §4.5.3.1 asks every server for, and octets of every kind: what is taken
// in is delivered intact.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { filePart, multipart, textPart } from '@mailroom/mail/test/samples.ts'
import { openSender } from '#test/peers/sender.ts'
import { codesOf, countMessages, deliver, newest } from '#test/scenarios/deliver.ts'
import { onEachEngine, opened, openWorld, plainMail } from '#test/world.ts'

onEachEngine('mail within the bounds', (engine) => {
  const world = opened(() => openWorld(engine))

  const rawOf = async (messageId: string) =>
    Buffer.from((await world.client.messages.raw(messageId)).content)

  test('has local parts of 64 octets and domains of 255', async () => {
    const inbox = await world.inbox()
    const name = inbox.address.split('@')[0] ?? ''
    const to = `${name}+${'t'.repeat(63 - name.length)}@mailroom.localhost`
    const label = 'd'.repeat(63)
    const from = `${'l'.repeat(64)}@${[label, label, label, 'd'.repeat(63)].join('.')}`
    assert.equal(from.length, 64 + 1 + 255)
    assert.equal((await world.send({ from, to, raw: '\r\nText\r\n' })).code, 250)
    assert.equal((await newest(world, inbox)).fromAddr, from)
    const tooLong = `${name}+${'t'.repeat(64 - name.length)}@mailroom.localhost`
    assert.match(codesOf(await world.send({ to: tooLong, raw: '' })), /^50[13] 5\.1\.3/)
  })

  test('is spoken to in command lines of 512 octets', async () => {
    const inbox = await world.inbox()
    const sender = await openSender(world.smtpPort)
    const noop = `NOOP ${'x'.repeat(505)}`
    assert.equal(noop.length + 2, 512)
    assert.equal((await sender.command(noop)).code, 250)
    assert.equal((await sender.send({ to: inbox.address, raw: plainMail({}) })).code, 250)
    await sender.quit()
  })

  test('has text lines of 1,000 octets, of 100 kB, and header lines of 20 kB', async () => {
    const inbox = await world.inbox()
    const subject = `Long ${'s'.repeat(20_000)}`
    const body = ['a'.repeat(998), 'b'.repeat(100_000), '.', '..', '.c'].join('\r\n')
    const raw = plainMail({ to: inbox.address, subject, body })
    const message = await deliver(world, inbox, raw)
    assert.equal(message.subject, subject)
    assert.equal(message.bodyText, body.replaceAll('\r\n', '\n'))
    assert.equal((await rawOf(message.id)).toString(), raw)
  })

  test('is 64 KiB of every octet that may stand in a line', async () => {
    const inbox = await world.inbox()
    const octets = Buffer.from(Array.from({ length: 256 }, (_, octet) => octet))
    const line = Buffer.concat([
      octets.subarray(0, 10),
      octets.subarray(11, 13),
      octets.subarray(14),
    ])
    const head = Buffer.from(
      'From: a@x.example\r\nContent-Type: text/plain; charset=latin1\r\n\r\n',
    )
    const lines = Array.from({ length: 260 }, () => Buffer.concat([line, Buffer.from('\r\n')]))
    const raw = Buffer.concat([head, ...lines])
    assert.ok(raw.length > 64 * 1024)
    const message = await deliver(world, inbox, raw)
    assert.equal(Buffer.compare(await rawOf(message.id), raw), 0)
    assert.equal(message.bodyText.includes('\0'), false)
    assert.equal(message.bodyText.split('\n').length, 260)
  })

  test('reaches a hundred inboxes in one transaction', async () => {
    const { client } = await world.newAccount('launch')
    const inboxes = []
    for (let count = 0; count < 100; count += 1) inboxes.push(await client.inboxes.create())
    const to = inboxes.map((inbox) => inbox.address)
    assert.equal((await world.send({ to, raw: plainMail({ subject: 'All' }) })).code, 250)
    for (const inbox of inboxes) {
      const { data, total } = await client.messages.list(inbox.id).page()
      assert.deepEqual([total, data[0]?.subject, data[0]?.toAddr], [1, 'All', inbox.address])
    }
  })

  test('has NUL in its header, body and file names: shown without, kept as it came', async () => {
    const inbox = await world.inbox()
    const part = multipart('mixed', 'b\0d', [
      textPart('one\0two \0'),
      filePart('na\0me.pdf', Buffer.from('octets')),
    ])
    const fields = ['From: A\0nn <a@x.example>', 'Subject: zero\0byte', 'Message-ID: <n\0l@x>']
    const raw = [...fields, 'Content-Type: multipart/mixed; boundary="bd"', '', part.body]
      .join('\r\n')
      .replaceAll('--b\0d', '--bd')
    const message = await deliver(world, inbox, Buffer.from(raw))
    assert.equal(JSON.stringify(message).includes('\\u0000'), false)
    assert.equal(message.subject, 'zerobyte')
    assert.equal(message.fromAddr, 'Ann <a@x.example>')
    assert.equal(message.rfcMessageId, '<nl@x>')
    assert.equal(message.bodyText.replaceAll('\ufffd', ''), 'onetwo ')
    assert.deepEqual(
      message.attachments.map(({ filename }) => filename),
      ['name.pdf'],
    )
    const file = await world.client.attachments.get(message.id, 'name.pdf')
    assert.equal(Buffer.from(file.content).toString(), 'octets')
    assert.equal((await rawOf(message.id)).toString(), raw)
  })

  test('has a NUL in the plainest of messages, too', async () => {
    const inbox = await world.inbox()
    const raw = plainMail({ to: inbox.address, subject: 'a\0b', body: 'c\0d' })
    const message = await deliver(world, inbox, raw)
    assert.deepEqual([message.subject, message.bodyText], ['ab', 'cd'])
    assert.equal((await rawOf(message.id)).toString(), raw)
  })

  test('needs SMTPUTF8 for an international recipient, and then is told there is none', async () => {
    const sender = await openSender(world.smtpPort)
    await sender.command('MAIL FROM:<a@x.example>')
    assert.equal(codesOf(await sender.command('RCPT TO:<jörg@mailroom.localhost>')), '553 5.6.7')
    await sender.command('RSET')
    assert.equal(codesOf(await sender.command('MAIL FROM:<jörg@x.example>')), '553 5.6.7')
    assert.equal((await sender.command('MAIL FROM:<jörg@x.example> SMTPUTF8')).code, 250)
    assert.equal(codesOf(await sender.command('RCPT TO:<jörg@mailroom.localhost>')), '550 5.1.1')
    await sender.quit()
  })

  for (const parameter of ['BODY=8BITMIME', 'BODY=7BIT', '']) {
    test(`keeps 8-bit octets sent with ${parameter || 'no BODY parameter'}`, async () => {
      const inbox = await world.inbox()
      const sender = await openSender(world.smtpPort)
      await sender.command(`MAIL FROM:<a@x.example> ${parameter}`.trim())
      await sender.command(`RCPT TO:<${inbox.address}>`)
      await sender.command('DATA')
      const raw = Buffer.from('Subject: \xfc\r\n\r\n\xe9\xff\x80 caf\xe9\r\n', 'latin1')
      sender.write(raw)
      assert.equal((await sender.command('.')).code, 250)
      await sender.quit()
      const message = await newest(world, inbox)
      assert.equal(Buffer.compare(await rawOf(message.id), raw), 0)
      assert.equal(message.subject, 'ü')
    })
  }

  test('comes over TLS as it does in clear text', async () => {
    const inbox = await world.inbox()
    const sender = await openSender(world.smtpPort)
    assert.ok((await sender.command('EHLO sender.example')).lines.includes('STARTTLS'))
    assert.equal((await sender.command('STARTTLS')).code, 220)
    sender.socket.removeAllListeners('data')
    const socket = connectTls({ socket: sender.socket, rejectUnauthorized: false })
    await once(socket, 'secureConnect')
    let text = ''
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
    })
    const raw = plainMail({ to: inbox.address, subject: 'Secret', body: 'x'.repeat(200_000) })
    socket.write('EHLO sender.example\r\n')
    socket.write(`MAIL FROM:<a@x.example>\r\nRCPT TO:<${inbox.address}>\r\nDATA\r\n`)
    socket.write(`${raw}.\r\nQUIT\r\n`)
    await once(socket, 'close')
    assert.deepEqual(
      text
        .trim()
        .split('\r\n')
        .filter((line) => line[3] === ' ')
        .map((line) => line.slice(0, 3)),
      ['250', '250', '250', '354', '250', '221'],
    )
    const message = await newest(world, inbox)
    assert.equal((await rawOf(message.id)).toString(), raw)
    const row = await world.app.deps.db.read
      .selectFrom('raw_messages')
      .select('tls')
      .orderBy('id', 'desc')
      .executeTakeFirst()
    assert.equal(row?.tls, 'TLSv1.3')
  })

  test('comes in pipelined transactions, in their order', async () => {
    const inbox = await world.inbox()
    const sender = await openSender(world.smtpPort)
    const transactions = Array.from({ length: 20 }, (_, number) => {
      const raw = plainMail({ to: inbox.address, subject: `${number}` })
      return `MAIL FROM:<a@x.example>\r\nRCPT TO:<${inbox.address}>\r\nDATA\r\n${raw}.\r\n`
    })
    sender.write(transactions.join(''))
    for (let count = 0; count < 80; count += 1) assert.ok((await sender.reply()).code < 400)
    await sender.quit()
    const { data } = await world.client.messages.list(inbox.id).page()
    assert.deepEqual(
      data.map(({ subject }) => Number(subject)).reverse(),
      transactions.map((_, number) => number),
    )
    assert.equal(await countMessages(world, inbox), 20)
  })
})

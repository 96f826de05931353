// The sizes that RFC 5321 §4.5.3.1 requires of every server, and octets of every kind: accepted mail is delivered
// intact.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import type { Operation } from '@mailroom/contract/operation.ts'
import { type OperationId, operationIds, operationOf } from '@mailroom/contract/operations.ts'
import { filePart, messageOf, multipart, textPart } from '@mailroom/mail/test/samples.ts'
import { openSender } from '#test/peers/sender.ts'
import { codesOf, countMessages, deliver, newest } from '#test/scenarios/deliver.ts'
import { refusal, until } from '#test/scenarios/outcomes.ts'
import { exported, mailFrom, mboxOf } from '#test/scenarios/transfer-mail.ts'
import { onEachEngine, opened, openTenant, plainMail, type World } from '#test/world.ts'

onEachEngine('mail within the limits', (engine) => {
  const world = opened(() => openTenant(engine))

  const rawOf = async (messageId: string) =>
    Buffer.from((await world.client.messages.raw(messageId)).content)

  test('may have local parts and domains of 255 octets', async () => {
    const inbox = await world.inbox()
    const name = inbox.address.split('@')[0] ?? ''
    const to = `${name}+${'t'.repeat(254 - name.length)}@mailroom.localhost`
    const label = 'd'.repeat(63)
    const from = `${'l'.repeat(80)}@${[label, label, label, 'd'.repeat(63)].join('.')}`
    assert.equal(from.length, 80 + 1 + 255)
    assert.equal((await world.send({ from, to, raw: '\r\nText\r\n' })).code, 250)
    assert.equal((await newest(world, inbox)).fromAddr, from)
    const tooLong = `${name}+${'t'.repeat(255 - name.length)}@mailroom.localhost`
    assert.match(codesOf(await world.send({ to: tooLong, raw: '' })), /^50[13] 5\.1\.3/)
  })

  test('may use command lines of 512 octets', async () => {
    const inbox = await world.inbox()
    const sender = await openSender(world.smtpPort)
    const noop = `NOOP ${'x'.repeat(505)}`
    assert.equal(noop.length + 2, 512)
    assert.equal((await sender.command(noop)).code, 250)
    assert.equal((await sender.send({ to: inbox.address, raw: plainMail({}) })).code, 250)
    await sender.quit()
  })

  test('may have text lines of 1,000 octets, of 100 kB, and header lines of 20 kB', async () => {
    const inbox = await world.inbox()
    const subject = `Long ${'s'.repeat(20_000)}`
    const body = ['a'.repeat(998), 'b'.repeat(100_000), '.', '..', '.c'].join('\r\n')
    const raw = plainMail({ to: inbox.address, subject, body })
    const message = await deliver(world, inbox, raw)
    assert.equal(message.subject, subject)
    assert.equal(message.bodyText, body.replaceAll('\r\n', '\n'))
    assert.equal((await rawOf(message.id)).toString(), raw)
  })

  test('may have 64 KiB of every octet that may stand in a line', async () => {
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

  test('may go to a hundred inboxes in one transaction', async () => {
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

  test('with NUL in its header, body and file names is shown without them, and kept unchanged', async () => {
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

  test('may have a NUL in the plainest of messages, too', async () => {
    const inbox = await world.inbox()
    const raw = plainMail({ to: inbox.address, subject: 'a\0b', body: 'c\0d' })
    const message = await deliver(world, inbox, raw)
    assert.deepEqual([message.subject, message.bodyText], ['ab', 'cd'])
    assert.equal((await rawOf(message.id)).toString(), raw)
  })

  test('needs SMTPUTF8 for an international recipient, and is then told that there is none', async () => {
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

  test('arrives over TLS as it does in clear text', async () => {
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

  test('arrives in pipelined transactions, in their order', async () => {
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

const LIMIT_BYTES = 20_000

onEachEngine('the quota of an account', (engine) => {
  const env = { MAILROOM_LIMIT_STORED_BYTES_PER_ACCOUNT: String(LIMIT_BYTES) }
  const world = opened(() => openTenant(engine, env))

  const post = async (to: string, body = 'x'.repeat(5_000)) =>
    codesOf(await world.send({ to, raw: plainMail({ to, body }) }))
  const told = async (count: number) => {
    await until(async () => {
      const { data } = await world.client.events
        .list({ event_types: 'account.quota_exceeded' })
        .page()
      return data.length === count
    })
    return (
      await world.client.events.list({ event_types: 'account.quota_exceeded' }).page()
    ).data.at(-1)
  }

  test('once used up refuses mail, with one event, and affects no other account', async () => {
    const inbox = await world.inbox('first')
    const other = await world.inbox('second')
    const answers: string[] = []
    for (let n = 0; n < 6; n++) answers.push(await post(inbox.address))
    const taken = answers.filter((answer) => answer === '250 2.0.0').length
    assert.ok(taken === 4 || taken === 3, answers.join())
    assert.ok(answers.slice(taken).every((answer) => answer === '552 5.2.2'))
    assert.equal(await post(other.address), '552 5.2.2', 'all inboxes of the account')
    const { storedBytes, storedBytesLimit } = await world.client.stats.get()
    assert.equal(storedBytesLimit, LIMIT_BYTES)
    assert.ok(storedBytes >= LIMIT_BYTES && storedBytes < LIMIT_BYTES + 8_000, `${storedBytes}`)
    const event = await told(1)
    assert.deepEqual(event?.storage, { stored_bytes: storedBytes, limit_bytes: LIMIT_BYTES })
    assert.equal(event?.inbox_id, null)

    const stranger = await world.newAccount()
    const theirs = await stranger.client.inboxes.create({})
    assert.equal(await post(theirs.address), '250 2.0.0')
    assert.equal(await post('postmaster@mailroom.localhost'), '250 2.0.0')
    const sent = await world.client.inboxes.send(inbox.id, {
      to: 'bob@friend.example',
      subject: 'A subject',
      body: 'A body.',
    })
    assert.ok(sent.messageId, 'its own mail is not refused')
    const attempt = async (client: World['client'], from: string) => {
      const { messageId } = await client.inboxes.send(from, {
        to: other.address,
        subject: 'A subject',
        body: 'A body.',
      })
      await until(async () => (await client.messages.get(messageId)).status !== 'pending')
      return client.messages.get(messageId)
    }
    const refused = await attempt(stranger.client, theirs.id)
    assert.equal(refused.status, 'failed', 'nor is there a way in from within the service')
    assert.match(refused.failureReason ?? '', /552 5\.2\.2 Mailbox full/)
    assert.deepEqual((await stranger.client.suppressions.list().page()).data, [])
    assert.equal((await attempt(world.client, inbox.id)).status, 'sent')

    await world.client.inboxes.delete(inbox.id)
    assert.equal(await post(other.address), '250 2.0.0')
    for (let n = 0; n < 5; n++) await post(other.address)
    assert.equal(await post(other.address), '552 5.2.2')
    await told(2)
  })

  test('includes quarantined mail', async () => {
    const { client } = await world.newAccount()
    const inbox = await client.inboxes.create({})
    await client.senderRules.create({ type: 'block', value: 'sender.example' })
    let answer = ''
    for (let n = 0; n < 6 && answer !== '552 5.2.2'; n++) answer = await post(inbox.address)
    assert.equal(answer, '552 5.2.2')
    const { data } = await client.quarantine.list().page()
    for (const { id } of data) await client.quarantine.delete(id)
    assert.equal((await client.stats.get()).storedBytes, 0)
    assert.equal(await post(inbox.address), '250 2.0.0')
  })

  test('refuses every request of the account that would store more', async () => {
    const { client } = await world.newAccount()
    const inbox = await client.inboxes.create({})
    const draft = await client.drafts.create(inbox.id, { subject: 'A subject' })
    for (let n = 0; n < 5; n++) await post(inbox.address)
    assert.equal(await post(inbox.address), '552 5.2.2')
    const later = new Date(world.clock.now() + 3_600_000).toISOString()
    const mail = { to: 'bob@friend.example', subject: 'A subject', body: 'A body.' }
    const file = { filename: 'a.txt', contentType: 'text/plain', data: 'eA==' }
    const mbox = mboxOf(mailFrom('ann@a.example', 'full'))
    const injected = { from: 'ann@a.example', to: inbox.address, subject: 'A subject' }
    const outcomes = {
      'inboxes.send': await refusal(client.inboxes.send(inbox.id, { ...mail, sendAt: later })),
      'drafts.create': await refusal(client.drafts.create(inbox.id, mail)),
      'drafts.update': await refusal(client.drafts.update(draft.id, { body: 'A long body.' })),
      'drafts.addAttachment': await refusal(client.drafts.addAttachment(draft.id, file)),
      'exports.create': await refusal(client.exports.create({ inboxId: inbox.id, format: 'mbox' })),
      'imports.create': await refusal(client.imports.create(inbox.id, mbox)),
      'sandbox.receive': await refusal(client.sandbox.receive(injected)),
      'uploads.create': await refusal(
        client.uploads.create(new Uint8Array(1), { filename: 'a.txt' }),
      ),
      'uploads.createLink': await refusal(client.uploads.createLink({ filename: 'a.txt' })),
    }
    assert.deepEqual(outcomes, {
      'inboxes.send': '429 rate_limit_exceeded',
      'drafts.create': '422 draft_limit_reached',
      'drafts.update': '422 draft_limit_reached',
      'drafts.addAttachment': '422 draft_limit_reached',
      'exports.create': '422 storage_quota_reached',
      'imports.create': '422 storage_quota_reached',
      'sandbox.receive': '422 storage_quota_reached',
      'uploads.create': '422 storage_quota_reached',
      'uploads.createLink': '422 storage_quota_reached',
    })
    const storing = operationIds.filter((id) => {
      const { body, upload } = operationOf(id) as Operation
      return body !== undefined || upload !== undefined
    })
    const known = [...Object.keys(outcomes), ...AS_A_SEND, ...SMALL]
    assert.deepEqual(storing.toSorted(), known.toSorted())
    // What makes room, or takes none, is not refused.
    await client.drafts.update(draft.id, { subject: 'A' })
    await client.drafts.delete(draft.id)
  })

  test('counts files of exports, which keep no mail of others out', async () => {
    const { client } = await world.newAccount()
    const inbox = await client.inboxes.create({})
    assert.equal(await post(inbox.address), '250 2.0.0')
    const before = (await client.stats.get()).storedBytes
    const asked = { inboxId: inbox.id, format: 'mbox' } as const
    const one = await exported(client, asked)
    assert.equal((await client.stats.get()).storedBytes, before + (one.sizeBytes ?? 0))
    while ((await client.stats.get()).storedBytes < LIMIT_BYTES) {
      assert.equal((await exported(client, asked)).status, 'done')
    }
    assert.equal(await refusal(client.exports.create(asked)), '422 storage_quota_reached')
    assert.equal(await post(inbox.address), '250 2.0.0')
    for await (const { id } of client.exports.list()) await client.exports.delete(id)
    assert.ok((await client.stats.get()).storedBytes < LIMIT_BYTES)
    assert.equal((await exported(client, asked)).status, 'done')
  })

  test('counts the text of attachments, until their message is removed', async () => {
    const { client, key } = await world.newAccount()
    const inbox = await client.inboxes.create({})
    const text = 'A word. '.repeat(500)
    const file = filePart('a.txt', Buffer.from(text), 'text/plain')
    const raw = messageOf(multipart('mixed', 'mix', [textPart('See below'), file]))
    assert.equal((await world.send({ to: inbox.address, raw })).code, 250)
    const [message] = (await client.messages.list(inbox.id).page()).data
    const size = (await client.messages.raw(message?.id ?? '')).content.length
    const headers = { authorization: `Bearer ${key}` }
    await world.fetch(`/v1/attachments/${message?.id}/a.txt/text`, { headers })
    const { storedBytes } = await client.stats.get()
    assert.ok(storedBytes > size + 3_000, `${storedBytes} for ${size} and its text`)
    await client.messages.delete(message?.id ?? '')
    assert.equal((await client.stats.get()).storedBytes, 0)
  })
})

/** They store a message as a send does, which waits or leaves at once. */
const AS_A_SEND: readonly OperationId[] = ['inboxes.sendBatch', 'messages.forward', 'messages.rsvp']

/** They store rows of bounded size and number, files of links that were created before, or nothing. */
const SMALL: readonly OperationId[] = [
  'connections.createClient',
  'uploads.fill',
  'uploads.fillByPost',
  'pods.create',
  'pods.update',
  'inboxes.create',
  'inboxes.update',
  'domains.create',
  'domains.update',
  'threads.update',
  'inboxes.claimThreads',
  'threads.claim',
  'threads.renewClaim',
  'threads.releaseClaim',
  'messages.update',
  'inboxes.checkSend',
  'erasures.create',
  'suppressions.create',
  'senderRules.create',
  'policy.replace',
  'policy.setMode',
  'policy.createRule',
  'account.sendFeedback',
  'account.update',
  'webhooks.create',
  'webhooks.update',
  'apiKeys.create',
  'approvers.create',
  'reviews.approve',
  'reviews.approveMany',
  'reviews.reject',
  'reviews.edit',
  'reviews.comment',
  'session.create',
  'pairing.start',
  'pairing.poll',
  'admin.accounts.create',
  'admin.accounts.update',
]

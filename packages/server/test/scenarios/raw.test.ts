import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { filePart, messageOf, multipart, textPart } from '@mailroom/mail/test/samples.ts'
import { ROW_BLOB_BYTES_MAX } from '#platform/blobs/blob-store.ts'
import { openSender } from '#test/peers/sender.ts'
import { deliver, newest } from '#test/scenarios/deliver.ts'
import { outcomeOf, until } from '#test/scenarios/outcomes.ts'
import { changePart, onEachEngine, opened, openTenant, plainMail } from '#test/world.ts'

onEachEngine('a raw message', (engine) => {
  const world = opened(() => openTenant(engine))

  const rawOf = async (messageId: string) => {
    const { content, contentType } = await world.client.messages.raw(messageId)
    assert.equal(contentType, 'message/rfc822')
    return Buffer.from(content)
  }

  test('is the octets that were sent, with odd spacing, folding, trailing white space and 8-bit', async () => {
    const inbox = await world.inbox()
    const raw = Buffer.concat([
      Buffer.from('FROM :  a@x.example \r\nsubject:  folded\r\n\t over \r\n lines\t\r\n'),
      Buffer.from('X-Raw: \xff\xfe\x80\r\nnot a field\r\n\r\n', 'latin1'),
      Buffer.from('..two dots\r\n.\x00dot\r\n \r\n\r\n\t\r\n\xe9 end \r\n\r\n', 'latin1'),
    ])
    const message = await deliver(world, inbox, raw)
    assert.deepEqual(await rawOf(message.id), raw)
  })

  test('has its header fields listed in order, unfolded and decoded', async () => {
    const inbox = await world.inbox()
    const raw = [
      'Received: from a',
      'X-Twice: one',
      'From: =?utf-8?q?J=C3=BCrgen?= <a@x.example>',
      'X-Twice: =?utf-8?b?w6lk?=',
      '\tfolded',
      'In-Reply-To: <parent@x.example> <other@x.example>',
      'References: <root@x.example>',
      'Subject: ',
      '',
      'X-Body: no field',
    ]
    const message = await deliver(world, inbox, raw.join('\r\n'))
    const { data, total, isTruncated } = await world.client.messages.headers(message.id)
    const fields = data.map(({ name, value }) => `${name}: ${value}`)
    assert.deepEqual(fields, [
      'received: from a',
      'x-twice: one',
      'from: Jürgen <a@x.example>',
      'x-twice: éd folded',
      'in-reply-to: <parent@x.example> <other@x.example>',
      'references: <root@x.example>',
      'subject: ',
    ])
    assert.deepEqual([total, isTruncated], [fields.length, false])
    assert.equal(message.inReplyTo, '<parent@x.example>')
    const many = `From: a@x.example\r\n${'X: y\r\n'.repeat(1_500)}\r\n`
    const long = await deliver(world, inbox, many)
    const read = await world.client.messages.headers(long.id)
    assert.deepEqual([read.data.length, read.total, read.isTruncated], [1_000, 1_000, true])
  })

  test('of a reply names the message that it answers in inReplyTo', async () => {
    const inbox = await world.inbox()
    const first = await deliver(world, inbox, plainMail({ messageId: '<first@x.example>' }))
    assert.equal(first.inReplyTo, null)
    const sent = await world.client.inboxes.send(inbox.id, {
      to: 'ann@sender.example',
      body: 'Hello.',
      threadId: first.threadId,
    })
    assert.equal((await world.client.messages.get(sent.messageId)).inReplyTo, '<first@x.example>')
  })

  test('with bare line feeds is kept with CRLF instead, so that they hide nothing', async () => {
    const inbox = await world.inbox()
    const sent = 'Subject: a\nFrom: a@x.example\r\n\none\n.\ntwo\r\n\n.\r\nthree\n\r\n'
    const message = await deliver(world, inbox, Buffer.from(sent))
    const raw = await rawOf(message.id)
    assert.equal(raw.toString(), sent.replace(/\r?\n/g, '\r\n'))
    assert.equal(message.subject, 'a')
    assert.equal(message.bodyText, 'one\n.\ntwo\n\n.\nthree\n')
  })

  for (const sizeBytes of [ROW_BLOB_BYTES_MAX, ROW_BLOB_BYTES_MAX + 1, 5_000_000]) {
    test(`of ${sizeBytes} octets is returned unshortened`, async () => {
      const inbox = await world.inbox()
      const head = 'From: a@x.example\r\nSubject: Sized\r\n\r\n'
      const raw = Buffer.from(head.padEnd(sizeBytes - 2, 'text ').concat('\r\n'))
      assert.equal(raw.length, sizeBytes)
      const message = await deliver(world, inbox, raw)
      assert.ok((await rawOf(message.id)).equals(raw))
    })
  }

  test('in the blob store and its attachment are deleted with the inbox', async () => {
    const inbox = await world.inbox()
    const content = randomBytes(300_000)
    const part = multipart('mixed', 'm', [textPart('Text'), filePart('a.bin', content)])
    const message = await deliver(world, inbox, Buffer.from(messageOf(part)))
    const file = await world.client.attachments.get(message.id, 'a.bin')
    assert.ok(Buffer.from(file.content).equals(content))
    const row = await world.app.deps.db.read
      .selectFrom('messages')
      .select('raw_id')
      .where('id', '=', message.id)
      .executeTakeFirstOrThrow()
    const { blobs } = world.app.deps
    if (blobs !== null) assert.ok((await blobs.get(row.raw_id)) !== null)
    await world.client.inboxes.delete(inbox.id)
    await assert.rejects(world.client.messages.raw(message.id), { code: 'not_found' })
    await assert.rejects(world.client.attachments.get(message.id, 'a.bin'), { code: 'not_found' })
    while (blobs !== null && (await blobs.get(row.raw_id)) !== null) {
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  })

  test('deleted while it is read is not found, nor are its attachments', async () => {
    const { blobs } = world.app.deps
    if (blobs === null) return
    const content = randomBytes(300_000)
    const part = multipart('mixed', 'm', [textPart('Text'), filePart('a.bin', content)])
    const read = [
      (id: string) => world.fetch(`/v1/messages/${id}/raw`),
      (id: string) => world.fetch(`/v1/attachments/${id}/a.bin`),
    ]
    for (const ask of read) {
      const inbox = await world.inbox()
      const message = await deliver(world, inbox, Buffer.from(messageOf(part)))
      const restore = changePart(blobs, (own) => ({
        async get(id) {
          await world.client.inboxes.delete(inbox.id)
          await until(async () => (await own.get(id)) === null)
          return own.get(id)
        },
      }))
      assert.equal(await outcomeOf(ask(message.id)), '404 not_found')
      restore()
    }
  })

  test('missing from the blob store is an error of the service, not 404', async () => {
    const { blobs } = world.app.deps
    if (blobs === null) return
    const raw = plainMail({ body: 'text '.repeat(40_000) })
    const message = await deliver(world, await world.inbox(), raw)
    const restore = changePart(blobs, () => ({ get: async () => null }))
    const answer = world.fetch(`/v1/messages/${message.id}/raw`)
    assert.equal(await outcomeOf(answer), '500 internal_error')
    restore()
  })

  test('is a download that no browser displays', async () => {
    const inbox = await world.inbox()
    const message = await deliver(world, inbox, plainMail({ body: '<script>alert(1)</script>' }))
    const response = await world.fetch(`/v1/messages/${message.id}/raw`)
    assert.equal(response.status, 200)
    assert.equal(response.headers.get('content-type'), 'message/rfc822')
    assert.match(response.headers.get('content-disposition') ?? '', /^attachment\b/)
    assert.equal(response.headers.get('x-content-type-options'), 'nosniff')
    assert.match(response.headers.get('content-security-policy') ?? '', /^sandbox/)
    assert.equal(response.headers.get('cache-control'), 'private, no-store')
  })

  test('is the same for any segmentation', async () => {
    const inbox = await world.inbox()
    const raw = '.\r\n..\r\n.a\r\n\r\n.\r\r\n'
      .replace('\r\r', '\r')
      .concat('x\r\n.\r\n.\r\nend\r\n')
    const stuffed = `${raw.replace(/^\./gm, '..')}.\r\n`
    for (let at = 1; at < stuffed.length; at += 1) {
      const sender = await openSender(world.smtpPort)
      await sender.command('MAIL FROM:<a@x.example>')
      await sender.command(`RCPT TO:<${inbox.address}>`)
      await sender.command('DATA')
      sender.write(stuffed.slice(0, at))
      await new Promise((resolve) => setImmediate(resolve))
      sender.write(stuffed.slice(at))
      assert.equal((await sender.reply()).code, 250)
      await sender.quit()
      assert.equal((await rawOf((await newest(world, inbox)).id)).toString(), raw)
    }
  })
})

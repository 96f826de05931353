import assert from 'node:assert/strict'
import { test } from 'node:test'
import { filePart, messageOf, multipart, textPart } from '@mailroom/mail/test/samples.ts'
import { openSender } from '#test/peers/sender.ts'
import { countMessages, countRows, deliver, newest } from '#test/scenarios/deliver.ts'
import { onEachEngine, opened, openWorld, plainMail } from '#test/world.ts'

onEachEngine('received mail', (engine) => {
  const world = opened(() => openWorld(engine))

  test('has every field of a message', async () => {
    const inbox = await world.inbox()
    const startMs = world.clock.now()
    const message = await deliver(
      world,
      inbox,
      [
        'From: =?utf-8?Q?J=C3=B6rg?= Sender <joerg@sender.example>',
        `To: Box <${inbox.address}>, "Other, One" <one@x.example>, two@x.example`,
        'Cc: Third <three@x.example>, four@x.example',
        'Reply-To: Desk <desk@sender.example>',
        'Subject: =?utf-8?B?R3LDvMOfZQ==?= and more',
        'Message-ID: <m1@sender.example>',
        'In-Reply-To: <m0@sender.example>',
        'References: <a@sender.example>\r\n <m0@sender.example>',
        'Date: Fri, 20 Nov 2026 09:00:00 +0000',
        '',
        'Agreed.',
        '',
        'On Thu, Nov 19, 2026, Ann wrote:',
        '> Shall we?',
        '',
      ].join('\r\n'),
    )
    // Other tests cover the results of SPF, DKIM and DMARC.
    const { id, threadId, createdAt, authentication: _, ...rest } = message
    assert.match(id, /^msg_[0-9a-z]{26}$/)
    assert.match(threadId, /^thr_[0-9a-z]{26}$/)
    assert.match(createdAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    assert.ok(Date.parse(createdAt) >= startMs && Date.parse(createdAt) <= world.clock.now())
    assert.deepEqual(rest, {
      inboxId: inbox.id,
      direction: 'inbound',
      fromAddr: 'Jörg Sender <joerg@sender.example>',
      toAddr: inbox.address,
      to: [inbox.address, 'one@x.example', 'two@x.example'],
      bcc: [],
      recipient: inbox.address,
      tag: null,
      scheduledAt: null,
      headerTo: `${inbox.address}, one@x.example, two@x.example`,
      deliveryRole: 'to',
      cc: ['three@x.example', 'four@x.example'],
      replyTo: 'desk@sender.example',
      subject: 'Grüße and more',
      bodyText: 'Agreed.\n\nOn Thu, Nov 19, 2026, Ann wrote:\n> Shall we?',
      bodyHtml: '',
      extractedText: 'Agreed.',
      hiddenText: false,
      hiddenTextParts: [],
      extracted: { codes: [], links: [], invites: [] },
      attachments: [],
      status: 'received',
      failureReason: null,
      rfcMessageId: '<m1@sender.example>',
      inReplyTo: '<m0@sender.example>',
      references: ['<a@sender.example>', '<m0@sender.example>'],
      automatic: false,
      automaticReason: null,
      category: 'personal',
      categoryReasons: [],
      autoReplyable: true,
      verdict: 'clean',
      spamScore: null,
      defects: [],
      isTruncated: false,
      labels: [],
    })
    assert.deepEqual(await world.client.messages.get(id), message)
  })

  test('with only a body has empty texts, no addressees and the envelope’s sender', async () => {
    const inbox = await world.inbox()
    const message = await deliver(world, inbox, '\r\nJust text.\r\n', 'bare@sender.example')
    assert.equal(message.fromAddr, 'bare@sender.example')
    assert.equal(message.headerTo, null)
    assert.equal(message.replyTo, null)
    assert.equal(message.rfcMessageId, null)
    assert.equal(message.subject, '')
    assert.equal(message.bodyText, 'Just text.')
    assert.deepEqual([message.cc, message.references], [[], []])
    assert.deepEqual(message.defects, ['missing-from'])
  })

  test('without a body, or without any octet, is still a message', async () => {
    const inbox = await world.inbox()
    const bodiless = await deliver(world, inbox, 'From: a@x.example\r\nSubject: Only this\r\n')
    assert.equal(bodiless.subject, 'Only this')
    assert.equal(bodiless.bodyText, '')
    const sender = await openSender(world.smtpPort)
    await sender.command('MAIL FROM:<a@x.example>')
    await sender.command(`RCPT TO:<${inbox.address}>`)
    await sender.command('DATA')
    assert.equal((await sender.command('.')).code, 250)
    await sender.quit()
    const empty = await newest(world, inbox)
    assert.equal(empty.fromAddr, 'a@x.example')
    assert.equal((await world.client.messages.raw(empty.id)).content.length, 0)
  })

  test('has a role that says whether the inbox is in To, in Cc or in neither', async () => {
    const inbox = await world.inbox()
    const name = inbox.address.split('@')[0]
    const role = async (to: string, cc: string) => {
      const headers = [`Cc: ${cc}`]
      return (await deliver(world, inbox, plainMail({ to, headers }))).deliveryRole
    }
    const other = 'other@x.example'
    assert.equal(await role(inbox.address, other), 'to')
    assert.equal(await role(other, inbox.address), 'cc')
    assert.equal(await role(inbox.address, inbox.address), 'to')
    assert.equal(await role(other, other), 'to')
    assert.equal(await role(other, `Box <${name?.toUpperCase()}@Mailroom.Localhost>`), 'cc')
    assert.equal(await role(other, `${name}+tag@mailroom.localhost`), 'cc')
  })

  test('keeps the recipient address, so that a copied inbox knows whom to answer', async () => {
    const inbox = await world.inbox()
    const raw = plainMail({ to: 'Team <team@x.example>', headers: [`Cc: ${inbox.address}`] })
    const message = await deliver(world, inbox, raw)
    assert.equal(message.headerTo, 'team@x.example')
    assert.equal(message.toAddr, inbox.address)
    assert.deepEqual(message.cc, [inbox.address])
  })

  test('to several inboxes is one transaction, one raw message and one message in each', async () => {
    const inboxes = [await world.inbox(), await world.inbox(), await world.inbox()]
    const [rawBefore, eventsBefore] = [
      await countRows(world, 'raw_messages'),
      await countRows(world, 'events'),
    ]
    const addresses = inboxes.map((inbox) => inbox.address)
    const raw = plainMail({ to: addresses[0] ?? '', headers: [`Cc: ${addresses[1]}`] })
    assert.equal((await world.send({ to: addresses, raw })).code, 250)
    const messages = await Promise.all(inboxes.map((inbox) => newest(world, inbox)))
    assert.deepEqual(
      messages.map(({ toAddr, deliveryRole }) => [toAddr, deliveryRole]),
      [
        [addresses[0], 'to'],
        [addresses[1], 'cc'],
        [addresses[2], 'to'],
      ],
    )
    assert.equal(new Set(messages.map(({ threadId }) => threadId)).size, 3)
    assert.equal((await countRows(world, 'raw_messages')) - rawBefore, 1)
    assert.equal((await countRows(world, 'events')) - eventsBefore, 3)
    await world.client.inboxes.delete(inboxes[0]?.id ?? '')
    const left = await world.client.messages.raw(messages[2]?.id ?? '')
    assert.equal(Buffer.from(left.content).toString(), raw)
  })

  test('reaches inboxes of two accounts, and each account sees only its own', async () => {
    const mine = await world.inbox()
    const { client: other } = await world.newAccount()
    const theirs = await other.inboxes.create()
    const { address } = theirs
    await world.send({ to: [mine.address, address], raw: plainMail({ to: 'list@x.example' }) })
    const [message] = (await other.messages.list(theirs.id).page()).data
    assert.equal(message?.toAddr, address)
    await assert.rejects(world.client.messages.get(message?.id ?? ''), { code: 'not_found' })
    await assert.rejects(world.client.messages.raw(message?.id ?? ''), { code: 'not_found' })
    assert.equal(await countMessages(world, mine), 1)
  })

  test('to several tags and spellings of one inbox is one message', async () => {
    const inbox = await world.inbox()
    const name = inbox.address.split('@')[0] ?? ''
    const to = [
      `${name}+one@mailroom.localhost`,
      `${name}+two+three@mailroom.localhost`,
      `${name.toUpperCase()}@MAILROOM.LOCALHOST`,
      `"${name}"@mailroom.localhost`,
      `"${name}+quoted"@mailroom.localhost`,
      inbox.address,
    ]
    assert.equal((await world.send({ to, raw: plainMail({ to: to.join(', ') }) })).code, 250)
    assert.equal(await countMessages(world, inbox), 1)
    assert.equal((await newest(world, inbox)).toAddr, inbox.address)
  })

  for (const [what, spell] of Object.entries({
    'a tag': (name: string) => `${name}+news@mailroom.localhost`,
    'upper case': (name: string) => `${name.toUpperCase()}@Mailroom.LOCALHOST`,
    'a quoted local part': (name: string) => `"${name}"@mailroom.localhost`,
    'a quoted local part with needless backslashes': (name: string) =>
      `"\\${name}"@mailroom.localhost`,
  })) {
    test(`reaches the inbox through ${what}`, async () => {
      const inbox = await world.inbox()
      const to = spell(inbox.address.split('@')[0] ?? '')
      assert.equal((await world.send({ to, raw: plainMail({ to }) })).code, 250)
      const message = await newest(world, inbox)
      assert.equal(message.toAddr, inbox.address)
      assert.equal(message.deliveryRole, 'to')
    })
  }

  test('of an international sender keeps its addresses in UTF-8', async () => {
    const inbox = await world.inbox()
    const sender = await openSender(world.smtpPort)
    await sender.command('MAIL FROM:<jörg@dömain.example> SMTPUTF8 BODY=8BITMIME')
    await sender.command(`RCPT TO:<${inbox.address}>`)
    await sender.command('DATA')
    sender.write(`To: ${inbox.address}\r\nSubject: Grüße\r\nCc: 名前@例え.example\r\n\r\nZwölf\r\n`)
    assert.equal((await sender.command('.')).code, 250)
    await sender.quit()
    const message = await newest(world, inbox)
    assert.equal(message.fromAddr, 'jörg@dömain.example')
    assert.deepEqual(message.cc, ['名前@例え.example'])
    assert.equal(message.subject, 'Grüße')
    assert.equal(message.bodyText, 'Zwölf')
  })

  test('lists its attachments with type, size, content id and place', async () => {
    const inbox = await world.inbox()
    const logo = filePart('logo.png', Buffer.from('png octets'), 'image/png')
    const html = {
      fields: ['Content-Type: text/html'],
      body: '<p>See <img src="cid:logo@x"></p>',
    }
    const related = multipart('related', 'rel', [
      html,
      { ...logo, fields: [...logo.fields, 'Content-ID: <logo@x>'] },
    ])
    const mixed = multipart('mixed', 'mix', [
      textPart('Text.'),
      related,
      filePart('report.pdf', Buffer.alloc(1_000, 7)),
    ])
    const message = await deliver(world, inbox, messageOf(mixed))
    assert.deepEqual(
      message.attachments.map(({ url: _, ...attachment }) => attachment),
      [
        {
          filename: 'logo.png',
          contentType: 'image/png',
          sizeBytes: 10,
          contentId: 'logo@x',
          isInline: true,
          inline: true,
          parsedText: null,
          extractionMethod: null,
        },
        {
          filename: 'report.pdf',
          contentType: 'application/pdf',
          sizeBytes: 1_000,
          contentId: null,
          isInline: false,
          inline: false,
          parsedText: null,
          extractionMethod: null,
        },
      ],
    )
  })
})

onEachEngine('mail to an international domain', (engine) => {
  const world = opened(() =>
    openWorld(engine, { env: { MAILROOM_INBOX_DOMAIN: 'bücher.example' } }),
  )

  test('arrives for either form of its name', async () => {
    const inbox = await world.inbox('reader')
    assert.equal(inbox.address, 'reader@xn--bcher-kva.example')
    const domains = [
      'xn--bcher-kva.example',
      'XN--BCHER-KVA.example',
      'bücher.example',
      'BÜCHER.Example',
    ]
    for (const domain of domains) {
      const sender = await openSender(world.smtpPort)
      await sender.command('MAIL FROM:<a@sender.example> SMTPUTF8')
      assert.equal((await sender.command(`RCPT TO:<reader@${domain}>`)).code, 250, domain)
      assert.equal((await sender.command(`RCPT TO:<nobody@${domain}>`)).code, 550, domain)
      assert.equal((await sender.command(`RCPT TO:<postmaster@${domain}>`)).code, 250, domain)
      await sender.command('DATA')
      sender.write(
        `From: a@sender.example\r\nTo: b@x.example\r\nCc: reader@${domain}\r\n\r\nHi\r\n.\r\n`,
      )
      assert.equal((await sender.reply()).code, 250)
      await sender.quit()
      assert.equal((await newest(world, inbox)).deliveryRole, 'cc', domain)
    }
    assert.equal(await countMessages(world, inbox), domains.length)
  })
})

onEachEngine('a first conversation', (engine) => {
  const world = opened(() => openWorld(engine))

  test('a message sent by SMTP is read as a thread with a message', async () => {
    const inbox = await world.inbox('hello')
    const raw = plainMail({
      to: inbox.address,
      subject: 'Greetings',
      messageId: '<first@x.example>',
    })
    assert.equal((await world.send({ to: inbox.address, raw })).code, 250)

    const { data: threads, total } = await world.client.threads.list(inbox.id).page()
    assert.equal(total, 1)
    const [thread] = threads
    assert.equal(thread?.subject, 'Greetings')
    assert.equal(thread?.isRead, false)
    const { data } = await world.client.threads.messages(thread?.id ?? '')
    assert.equal(data[0]?.fromAddr, 'Ann Sender <ann@sender.example>')
    assert.equal(data[0]?.bodyText, 'A body.')
  })

  test('a reply joins the thread of the message that it answers', async () => {
    const inbox = await world.inbox()
    const question = plainMail({ to: inbox.address, messageId: '<q@x.example>' })
    const answer = plainMail({ to: inbox.address, headers: ['In-Reply-To: <q@x.example>'] })
    await world.send({ to: inbox.address, raw: question })
    await world.send({ to: inbox.address, raw: answer })
    const { data } = await world.client.threads.list(inbox.id).page()
    assert.deepEqual(
      data.map((thread) => thread.messageCount),
      [2],
    )
  })
})

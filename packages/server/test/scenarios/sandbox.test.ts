import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runSql } from '#test/peers/sql.ts'
import { countRows, deliver } from '#test/scenarios/deliver.ts'
import { errorOf, outcomeOf, refusal, refusalOf, until } from '#test/scenarios/outcomes.ts'
import { bounceMail } from '#test/scenarios/report-mail.ts'
import {
  attempted,
  deliveriesOf,
  deliveryOf,
  openSendingWorld,
  passTime,
  send,
  settled,
} from '#test/scenarios/sending-world.ts'
import { onEachEngine, opened, openTenant, plainMail, prepared } from '#test/world.ts'

onEachEngine('the sandbox', (engine) => {
  const world = opened(() => openTenant(engine))
  const client = prepared(() => world.client)
  const inbox = prepared(() => client.inboxes.create({ displayName: 'Ada' }))

  const captured = async () => (await client.sandbox.list().page()).data

  test('keeps outgoing mail exactly as it would be sent', async () => {
    const raw = plainMail({ to: inbox.address, messageId: '<asked@x>', subject: 'Asked' })
    const { threadId } = await deliver(world, inbox, raw)
    const fields = {
      to: 'bob@friend.example',
      cc: ['ann@friend.example', inbox.address],
      replyTo: 'desk@elsewhere.example',
      body: '<p>An <b>answer</b></p>',
      subject: undefined,
      includeQuote: false,
      threadId,
      attachments: [{ filename: 'a.txt', contentType: 'text/plain', data: Buffer.from('hi') }],
    }
    const sent = await send(world, inbox, fields)
    assert.equal((await settled(world, sent)).status, 'sent')
    const [mail] = await captured()
    assert.ok(mail !== undefined)
    const { id, createdAt, reversePath, attachments, text, html, ...rest } = mail
    assert.match(reversePath, /^b\+[0-9a-z.]{37}@mailroom\.localhost$/)
    assert.match(id, /^cap_/)
    assert.match(createdAt, /^\d{4}-/)
    assert.deepEqual(rest, {
      messageId: sent.messageId,
      threadId,
      inboxId: inbox.id,
      from: `Ada <${inbox.address}>`,
      to: ['bob@friend.example', 'ann@friend.example'],
      cc: fields.cc,
      replyTo: fields.replyTo,
      subject: 'Re: Asked',
      rfcMessageId: sent.providerMessageId,
      inReplyTo: '<asked@x>',
      references: ['<asked@x>'],
      isTruncated: false,
    })
    assert.deepEqual([text.trim(), html], ['An answer', fields.body])
    const file = await fetch(attachments[0]?.url ?? '')
    assert.equal(await file.text(), 'hi')
    const deliveries = await deliveriesOf(world, sent)
    assert.deepEqual(
      deliveries.map(({ status, host, responseCode }) => [status, host, responseCode]),
      [
        ['accepted', 'sandbox', 250],
        ['accepted', 'sandbox', 250],
        ['accepted', 'mailroom.localhost', 250],
      ],
    )
  })

  test('gives received mail the names of its author and recipient', async () => {
    const inbox = await world.inbox()
    const { data } = await world.client.sandbox.receive({
      from: '"Example, Ann" <ann@sender.example>',
      to: `The Desk <${inbox.address}>`,
      subject: 'Hello',
      text: 'Hello',
    })
    const [{ id = '', fromAddr, to } = {}] = data
    assert.deepEqual([fromAddr, to], ['"Example, Ann" <ann@sender.example>', [inbox.address]])
    const { content } = await world.client.messages.raw(id)
    assert.match(
      Buffer.from(content).toString(),
      new RegExp(`^To: The Desk <${inbox.address}>`, 'm'),
    )
  })

  test('lists the newest first, page by page, and clears the list on request', async () => {
    const account = await world.newAccount()
    const own = await account.client.inboxes.create()
    const ids: string[] = []
    for (let index = 0; index < 5; index++) {
      const sent = await send(account, own, { subject: `No ${index}` })
      await settled(account, sent)
      ids.unshift(sent.messageId)
    }
    const all = await account.client.sandbox.list().page()
    assert.deepEqual(
      all.data.map(({ messageId }) => messageId),
      ids,
    )
    const page = await account.client.sandbox.list({ limit: 2, offset: 3 }).page()
    assert.deepEqual([page.total, page.data.map(({ messageId }) => messageId)], [5, ids.slice(3)])
    const others = (await client.sandbox.list().page()).total
    await account.client.sandbox.clear()
    assert.deepEqual(await account.client.sandbox.list().page(), { data: [], total: 0 })
    await account.client.sandbox.clear()
    assert.equal((await client.sandbox.list().page()).total, others)
    assert.equal((await account.client.messages.list(own.id).page()).total, 5)
    await settled(account, await send(account, own))
    assert.equal((await account.client.sandbox.list().page()).total, 1)
    await account.client.inboxes.delete(own.id)
    await until(
      async () => (await runSql(world, "select key from jobs where kind = 'purge'")).length === 0,
    )
    assert.deepEqual(await account.client.sandbox.list().page(), { data: [], total: 0 })
  })

  test('does not capture mail between inboxes', async () => {
    const other = await world.inbox()
    const before = (await client.sandbox.list().page()).total
    await settled(world, await send(world, inbox, { to: other.address }))
    assert.equal((await client.sandbox.list().page()).total, before)
  })

  test('refuses mail to bounce-550 for good', async () => {
    for (const to of ['bounce-550@any.example', 'Bounce-550+tag@other.example']) {
      const account = await world.newAccount()
      const own = await account.client.inboxes.create()
      const sent = await send(account, own, { to })
      const message = await settled(account, sent)
      assert.equal(message.status, 'failed')
      const { status, responseCode, enhancedCode } = await deliveryOf(account, sent)
      assert.deepEqual([status, responseCode, enhancedCode], ['failed', 550, '5.1.1'])
      const refused = await refusalOf(send(account, own, { to }))
      assert.deepEqual([refused.status, refused.body.type], [422, 'bounce'])
      assert.deepEqual((await account.client.sandbox.list().page()).data, [])
    }
  })

  test('defers mail to defer-451 once, and then accepts it', async () => {
    const sent = await send(world, inbox, { to: 'defer-451@any.example' })
    const first = await attempted(world, sent, 1)
    assert.deepEqual([first.status, first.responseCode], ['deferred', 451])
    assert.equal((await client.messages.get(sent.messageId)).status, 'pending')
    await passTime(world, 60_000)
    assert.equal((await settled(world, sent)).status, 'sent')
    const second = await deliveryOf(world, sent)
    assert.deepEqual([second.status, second.attempts], ['accepted', 2])
    assert.equal((await captured())[0]?.messageId, sent.messageId)
  })

  test('sends a complaint about mail to complain', async () => {
    const to = 'complain@any.example'
    const sent = await send(world, inbox, { to, cc: ['bob@friend.example'] })
    assert.equal((await settled(world, sent)).status, 'sent')
    const statuses = (await deliveriesOf(world, sent)).map(({ status }) => status)
    assert.deepEqual(statuses, ['complained', 'accepted'])
    const refused = await refusalOf(send(world, inbox, { to }))
    assert.deepEqual([refused.status, refused.body.type], [422, 'complaint'])
    const events = await runSql(
      world,
      `select kind from events where message_id = '${sent.messageId}' order by kind`,
    )
    assert.deepEqual(
      events.map(({ kind }) => kind),
      ['message.complained', 'message.sent'],
    )
  })

  test('gives these names no meaning at a domain of the service', async () => {
    for (const name of ['bounce-550', 'defer-451', 'complain']) {
      const own = await client.inboxes.create({ mailboxName: name })
      const sent = await send(world, inbox, { to: own.address })
      assert.equal((await settled(world, sent)).status, 'sent')
      assert.equal((await client.messages.list(own.id).page()).total, 1)
    }
  })

  test('injects a message as if it came from outside', async () => {
    const [one, two] = [await world.inbox(), await world.inbox()]
    const { data, total } = await client.sandbox.receive({
      from: 'bob@friend.example',
      to: [one.address, two.address],
      subject: 'Grüße',
      text: 'Hello',
      html: '<p>Hello</p>',
      attachments: [{ filename: 'a.txt', contentType: 'text/plain', data: Buffer.from('hi') }],
    })
    assert.equal(total, 2)
    assert.deepEqual(
      data.map(({ inboxId, toAddr }) => [inboxId, toAddr]),
      [
        [one.id, one.address],
        [two.id, two.address],
      ],
    )
    const [message] = data
    assert.ok(message !== undefined)
    assert.deepEqual(
      [message.direction, message.status, message.fromAddr, message.subject],
      ['inbound', 'received', 'bob@friend.example', 'Grüße'],
    )
    assert.deepEqual([message.bodyText.trim(), message.bodyHtml.trim()], ['Hello', '<p>Hello</p>'])
    const { attachments, ...read } = await client.messages.get(message.id ?? '')
    assert.deepEqual({ ...read, attachments }, { ...message, attachments })
    const sent = await client.inboxes.reply(one.id, message, { body: 'Yes' })
    const back = await client.sandbox.receive({
      from: 'bob@friend.example',
      to: one.address,
      subject: 'Re: Grüße',
      text: 'Fine.',
      inReplyTo: sent.providerMessageId,
    })
    assert.equal(back.data[0]?.threadId, message.threadId)
    const kinds = await runSql(world, `select kind from events where inbox_id = '${two.id}'`)
    assert.deepEqual(
      kinds.map(({ kind }) => kind),
      ['message.received'],
    )
  })

  test('injects a raw message, with its own addresses or an envelope', async () => {
    const [one, two] = [await world.inbox(), await world.inbox()]
    const raw = plainMail({ to: one.address, messageId: '<whole@x>', body: 'A line\nand more' })
    const { data } = await client.sandbox.receiveRaw(raw)
    assert.deepEqual([data[0]?.inboxId, data[0]?.rfcMessageId], [one.id, '<whole@x>'])
    const { content } = await client.messages.raw(data[0]?.id ?? '')
    assert.equal(Buffer.from(content).toString().endsWith('A line\r\nand more\r\n'), true)
    const blind = await client.sandbox.receiveRaw(raw, {
      from: 'eve@friend.example',
      to: [two.address],
    })
    assert.deepEqual([blind.data[0]?.inboxId, blind.total], [two.id, 1])
    const again = await client.sandbox.receiveRaw(raw)
    assert.deepEqual([again.data.length, (await client.messages.list(one.id).page()).total], [0, 1])
  })

  test('delivers a raw message to those of its recipients that are inboxes of the account', async () => {
    const [one, two] = [await world.inbox(), await world.inbox()]
    const to = `dave@friend.example, ${one.address}`
    const raw = `From: bob@friend.example\nTo: ${to}\nCc: ann@friend.example, ${two.address}\n\nHi\n`
    const { data } = await client.sandbox.receiveRaw(raw)
    assert.deepEqual(data.map(({ inboxId }) => inboxId).sort(), [one.id, two.id].sort())
    const none = await world.fetch('/v1/sandbox/inbound', {
      method: 'POST',
      headers: { 'content-type': 'message/rfc822' },
      body: 'From: bob@friend.example\r\nTo: dave@friend.example\r\n\r\nHi\r\n',
    })
    const { message } = (await none.json()) as { message: string }
    assert.equal(none.status, 400)
    assert.match(message, /has no inbox of the account.*\?to=/)
  })

  test('injects nothing for other accounts, and nothing that could not arrive by SMTP', async () => {
    const other = await world.newAccount()
    const theirs = await other.client.inboxes.create()
    const before = await countRows(world, 'messages')
    const mail = { from: 'bob@friend.example', subject: 'x', text: 'x' }
    const refused = [
      client.sandbox.receive({ ...mail, to: theirs.address }),
      client.sandbox.receive({ ...mail, to: 'unknown@mailroom.localhost' }),
      client.sandbox.receive({ ...mail, to: 'bob@friend.example' }),
      client.sandbox.receive({ ...mail, to: [inbox.address, theirs.address] }),
      client.sandbox.receive({ ...mail, to: [] }),
      client.sandbox.receive({
        ...mail,
        from: 'Bob <bob@friend.example>, x@y.example',
        to: inbox.address,
      }),
      client.sandbox.receive({ ...mail, to: inbox.address, inReplyTo: 'asked@x' }),
      client.sandbox.receive({ ...mail, to: inbox.address, inReplyTo: '<a@x> <b@x>' }),
      client.sandbox.receiveRaw('Subject: no recipient\r\n\r\nx\r\n'),
      client.sandbox.receiveRaw('Subject: a\rb\r\n\r\nx\r\n', { to: [inbox.address] }),
      client.sandbox.receiveRaw(plainMail({ to: theirs.address })),
    ]
    const outcomes = await Promise.all(refused.map((request) => refusal(request)))
    assert.deepEqual(outcomes, Array(refused.length).fill('400 bad_request'))
    assert.equal(await countRows(world, 'messages'), before)
  })

  test('accepts an envelope only with a raw message', async () => {
    for (const name of ['from', 'to']) {
      const fields = { from: 'bob@friend.example', to: inbox.address, subject: 'x', text: 'x' }
      const response = await world.fetch(`/v1/sandbox/inbound?${name}=${inbox.address}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(fields),
      })
      assert.equal(response.status, 400)
      const { details } = await errorOf(response)
      assert.equal((details as { path: string }[])[0]?.path, name)
    }
  })

  test('is absent in the modes that send mail', async () => {
    await using direct = await openSendingWorld(engine)
    const { sandbox } = direct.client
    const own = await direct.inbox()
    const mail = { from: 'bob@friend.example', to: own.address, subject: 'x', text: 'x' }
    const requests = [
      sandbox.list().page(),
      sandbox.clear(),
      sandbox.receive(mail),
      sandbox.receiveRaw('not even a message', { to: [own.address] }),
    ]
    const outcomes = await Promise.all(requests.map((request) => refusal(request)))
    assert.deepEqual(outcomes, Array(requests.length).fill('404 not_found'))
    const bad = direct.fetch('/v1/sandbox/inbound', { method: 'POST', body: '{' })
    assert.equal(await outcomeOf(bad), '404 not_found')
    const to = 'bounce-550@friend.example'
    assert.equal((await settled(direct, await send(direct, own, { to }))).status, 'sent')
  })
})

onEachEngine('reports in the sandbox', (engine) => {
  const world = opened(() => openTenant(engine))

  const inject = (raw: string, query = '', key = world.key) =>
    world.fetch(`/v1/sandbox/inbound${query}`, {
      method: 'POST',
      headers: { 'content-type': 'message/rfc822', authorization: `Bearer ${key}` },
      body: raw,
    })
  const captured = async (to: string, cc: string[] = []) => {
    const inbox = await world.inbox()
    const sent = await send(world, inbox, { to, cc })
    await settled(world, sent)
    const { data } = await world.client.sandbox.list().page()
    const mails = data.filter(({ messageId }) => messageId === sent.messageId)
    return { sent, mails, reversePath: mails[0]?.reversePath ?? '' }
  }

  test('a captured message is kept once for each domain, with its own reverse-path', async () => {
    const cc = ['cid@friend.example', 'dan@other.example']
    const { mails } = await captured('bob@friend.example', cc)
    const recipients = mails.map(({ to }) => to).toSorted()
    assert.deepEqual(recipients, [
      ['bob@friend.example', 'cid@friend.example'],
      ['dan@other.example'],
    ])
    const paths = new Set(mails.map(({ reversePath }) => reversePath))
    assert.equal(paths.size, 2)
    for (const path of paths) assert.match(path, /^b\+[0-9a-z.]{37}@mailroom\.localhost$/)
  })

  for (const [how, withQuery] of [
    ['its header names the reverse-path', false],
    ['its envelope does', true],
  ] as const) {
    test(`a bounce can be injected by hand, where ${how}`, async () => {
      const to = `hand-${withQuery}@friend.example`
      const { sent, reversePath } = await captured(to)
      const raw = bounceMail({ to: withQuery ? 'x@y.example' : reversePath, recipient: to })
      const query = withQuery ? `?from=d@y.example&to=${encodeURIComponent(reversePath)}` : ''
      const answer = await inject(raw, query)
      assert.equal(answer.status, 201)
      assert.deepEqual(await answer.json(), { data: [], total: 0 })
      assert.equal((await deliveryOf(world, sent)).status, 'bounced')
    })
  }

  test('a bounce can arrive over SMTP, too', async () => {
    const { sent, reversePath } = await captured('smtp@friend.example')
    const raw = bounceMail({ to: reversePath, recipient: 'smtp@friend.example' })
    assert.equal((await world.send({ from: '', to: reversePath, raw })).code, 250)
    assert.equal((await deliveryOf(world, sent)).status, 'bounced')
  })

  test('another account’s return path is refused', async () => {
    const { sent, reversePath } = await captured('mine@friend.example')
    const stranger = await world.newAccount()
    const raw = bounceMail({ to: reversePath, recipient: 'mine@friend.example' })
    const query = `?to=${encodeURIComponent(reversePath)}`
    const foreign = await outcomeOf(inject(raw, query, stranger.key))
    assert.equal(foreign, '400 bad_request')
    const forged = reversePath.replace(/.@/, (end) => (end === '0@' ? '1@' : '0@'))
    const guessed = await outcomeOf(inject(raw, `?to=${encodeURIComponent(forged)}`))
    assert.equal(guessed, '400 bad_request')
    assert.equal((await deliveryOf(world, sent)).status, 'accepted')
  })
})

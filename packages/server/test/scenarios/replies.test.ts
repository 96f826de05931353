import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Inbox, Message } from '@mailroom/sdk'
import { runSql } from '#test/peers/sql.ts'
import { deliver } from '#test/scenarios/deliver.ts'
import {
  arrived,
  fieldOf,
  openSendingTenant,
  readMail,
  send,
} from '#test/scenarios/sending-world.ts'
import { onBothEngines, onEachEngine, opened, openTenant, plainMail } from '#test/world.ts'

onBothEngines('a reply', (engine) => {
  const world = opened(() => openSendingTenant(engine))
  let made = 0

  /** Mail from Bob that answers `inReplyTo`, if given. */
  function receive(inbox: Inbox, fields: { inReplyTo?: string; subject?: string } = {}) {
    const { inReplyTo, subject = 'A question' } = fields
    const raw = plainMail({
      from: 'Bob <bob@friend.example>',
      to: inbox.address,
      subject,
      messageId: `<in${++made}@friend.example>`,
      headers: inReplyTo === undefined ? [] : [`In-Reply-To: ${inReplyTo}`],
    })
    return deliver(world, inbox, raw, 'bob@friend.example')
  }

  /** A reply in the thread, and the message that Bob's server received. */
  async function reply(inbox: Inbox, { threadId }: Pick<Message, 'threadId'>, fields = {}) {
    const sent = await world.client.inboxes.send(inbox.id, {
      to: 'bob@friend.example',
      body: 'An answer.',
      threadId,
      ...fields,
    })
    const { raw, recipients } = await arrived(world, sent)
    const references = fieldOf(raw, 'references')?.split(/\s+/) ?? []
    return { sent, raw, recipients, references, inReplyTo: fieldOf(raw, 'in-reply-to') }
  }

  /** `count` more messages of the thread, as if they had arrived one after the other. */
  async function lengthen(inbox: Inbox, { id, threadId }: Message, count: number): Promise<void> {
    const total = count + 1
    await runSql(
      world,
      `with recursive n (i) as (select 2 union all select i + 1 from n where i < ${total})
      insert into messages (id, account_id, inbox_id, thread_id, raw_id, direction, arrival,
      status, rfc_message_id, message_key, from_addr, to_addr, cc,
      reference_ids, subject, body_length, body_text, body_html, attachments, defects, created_at)
      select id || '_' || i, account_id, inbox_id, thread_id, raw_id, direction, i, status,
      '<later' || i || '@friend.example>', message_key || i, from_addr, to_addr, cc, reference_ids, subject,
      body_length, body_text, body_html, attachments, defects, created_at + i from messages, n
      where id = '${id}'`,
    )
    await runSql(
      world,
      `update threads set message_count = ${total}, last_message_at = last_message_at + ${total} where id = '${threadId}'`,
    )
    await runSql(
      world,
      `update inbox_counters set inbound_count = ${total}, last_arrival = ${total} where inbox_id = '${inbox.id}'`,
    )
  }

  test('refers to all messages of a thread of 700, on lines that every server accepts', async () => {
    const inbox = await world.inbox()
    const first = await receive(inbox)
    await lengthen(inbox, first, 700)
    const { sent, raw, references, inReplyTo } = await reply(inbox, first)
    const later = Array.from({ length: 700 }, (_, index) => `<later${index + 2}@friend.example>`)
    assert.deepEqual(references, [first.rfcMessageId, ...later])
    assert.equal(inReplyTo, later.at(-1))
    const stored = await world.client.messages.get(sent.messageId)
    assert.deepEqual(stored.references, references)
    const lines = raw.toString('latin1').split('\r\n')
    assert.ok(lines.every((line) => line.length <= 998))
  })

  test('refers to the first and the newest messages when a header of 64 KiB has no room for more', async () => {
    const inbox = await world.inbox()
    const first = await receive(inbox)
    await lengthen(inbox, first, 3_500)
    const { raw, references } = await reply(inbox, first)
    assert.equal(references[0], first.rfcMessageId)
    assert.equal(references.at(-1), '<later3501@friend.example>')
    const newest = references.slice(1).map((id) => Number(/\d+/.exec(id)?.[0]))
    assert.deepEqual(
      newest,
      newest.map((_, index) => 3_501 - newest.length + 1 + index),
    )
    assert.ok(newest.length > 1_500, `only ${newest.length}`)
    assert.ok(raw.indexOf('\r\n\r\n') <= 64 * 1024)
  })

  test('answers the last message of its thread and refers to all before it, each time', async () => {
    const inbox = await world.inbox()
    const first = await receive(inbox)
    const ids = [first.rfcMessageId]
    for (let turn = 1; turn <= 4; turn++) {
      const { sent, references, inReplyTo, raw } = await reply(inbox, first)
      assert.equal(sent.threadId, first.threadId)
      assert.deepEqual(references, ids)
      assert.equal(inReplyTo, ids.at(-1))
      assert.equal(fieldOf(raw, 'subject'), 'Re: A question')
      const message = await world.client.messages.get(sent.messageId)
      assert.deepEqual(message.references, ids)
      assert.equal(message.subject, 'Re: A question')
      ids.push(sent.providerMessageId)
      const fields = { inReplyTo: sent.providerMessageId, subject: 'Re: A question' }
      const answer = await receive(inbox, fields)
      assert.equal(answer.threadId, first.threadId)
      ids.push(answer.rfcMessageId)
    }
    const { data } = await world.client.threads.messages(first.threadId)
    assert.deepEqual(
      data.map(({ rfcMessageId }) => rfcMessageId),
      ids,
    )
    assert.deepEqual(
      data.map(({ direction }) => direction),
      Array.from({ length: 9 }, (_, index) => (index % 2 === 0 ? 'inbound' : 'outbound')),
    )
    assert.equal((await world.client.threads.get(first.threadId)).messageCount, 9)
  })

  test('continues a thread that began with a sent message', async () => {
    const inbox = await world.inbox()
    const first = await send(world, inbox, { subject: 'Begun here' })
    assert.equal(fieldOf((await arrived(world, first)).raw, 'references'), null)
    assert.equal(fieldOf((await arrived(world, first)).raw, 'in-reply-to'), null)
    const second = await reply(inbox, first)
    assert.deepEqual(second.references, [first.providerMessageId])
    const answer = await receive(inbox, { inReplyTo: first.providerMessageId })
    assert.equal(answer.threadId, first.threadId)
    const third = await reply(inbox, first)
    const ids = [first.providerMessageId, second.sent.providerMessageId, answer.rfcMessageId]
    assert.deepEqual([third.references, third.inReplyTo], [ids, answer.rfcMessageId])
  })

  test('does not refer to a message without a Message-ID', async () => {
    const inbox = await world.inbox()
    const first = await receive(inbox)
    const raw = plainMail({
      to: inbox.address,
      headers: [`In-Reply-To: ${first.rfcMessageId}`],
    })
    const second = await deliver(world, inbox, raw)
    assert.deepEqual([second.threadId, second.rfcMessageId], [first.threadId, null])
    const { references, inReplyTo } = await reply(inbox, first)
    assert.deepEqual([references, inReplyTo], [[first.rfcMessageId], first.rfcMessageId])
  })

  test('goes to the sender at the address given in the message, under the subject of its thread', async () => {
    const inbox = await world.inbox()
    const received = await receive(inbox)
    assert.equal(received.fromAddr, 'Bob <bob@friend.example>')
    const fields = { to: received.fromAddr, subject: 'Re: Re: Something else' }
    const { sent, raw, recipients } = await reply(inbox, received, fields)
    assert.deepEqual(recipients, ['bob@friend.example'])
    assert.equal(fieldOf(raw, 'to'), 'Bob <bob@friend.example>')
    assert.equal(fieldOf(raw, 'subject'), 'Re: A question')
    const { subject, toAddr } = await world.client.messages.get(sent.messageId)
    assert.deepEqual([subject, toAddr], ['Re: A question', 'bob@friend.example'])
    assert.equal((await world.client.threads.get(received.threadId)).subject, 'A question')
    const tooLong = reply(inbox, received, { subject: 'x'.repeat(999) })
    await assert.rejects(tooLong, { status: 400, code: 'bad_request' })
  })

  test('has one Re: before the subject of the thread, however many earlier subjects had', async () => {
    const inbox = await world.inbox()
    const table: [subject: string, expected: string][] = [
      ['Hello', 'Re: Hello'],
      ['Re: Hello', 'Re: Hello'],
      ['RE: re:Re[2]: Hello', 'Re: Hello'],
      ['AW: Hello', 'Re: AW: Hello'],
      ['Rest: of it', 'Re: Rest: of it'],
      ['=?UTF-8?Q?Gr=C3=BC=C3=9Fe?=', 'Re: Grüße'],
      ['', 'Re:'],
    ]
    for (const [subject, expected] of table) {
      const { sent, raw } = await reply(inbox, await receive(inbox, { subject }))
      assert.equal((await readMail(raw)).subject, expected)
      assert.equal((await world.client.messages.get(sent.messageId)).subject, expected)
    }
  })

  /** A thread in which Carol wrote to a list and copied the inbox. */
  async function copied(inbox: Inbox, from = 'Carol <carol@friend.example>'): Promise<Message> {
    const raw = plainMail({
      from,
      to: 'team@friend.example',
      messageId: `<cc${++made}@friend.example>`,
      headers: [`Cc: ${inbox.address}`],
    })
    const message = await deliver(world, inbox, raw)
    assert.equal(message.deliveryRole, 'cc')
    return message
  }

  test('to a message that only copied the inbox copies its sender, once', async () => {
    const inbox = await world.inbox()
    const to = 'team@friend.example'
    const carol = 'carol@friend.example'
    const message = await copied(inbox)
    const table: [fields: { to?: string; cc?: string[] }, cc: string[]][] = [
      [{ to }, [carol]],
      [{ to, cc: ['ann@friend.example'] }, ['ann@friend.example', carol]],
      [{ to, cc: ['CAROL@Friend.example'] }, ['CAROL@Friend.example']],
      [{ to: carol }, []],
      [{ to: 'Carol@FRIEND.example', cc: ['ann@friend.example'] }, ['ann@friend.example']],
    ]
    for (const [fields, cc] of table) {
      const { sent, raw, recipients } = await reply(inbox, message, fields)
      assert.deepEqual(recipients, [fields.to, ...cc])
      const named = cc.map((address) => (/^carol/i.test(address) ? `Carol <${address}>` : address))
      assert.equal(fieldOf(raw, 'cc'), cc.length === 0 ? null : named.join(', '))
      const { toAddr, cc: shown } = await world.client.messages.get(sent.messageId)
      assert.deepEqual([toAddr, shown], [fields.to, named])
    }
    const later = await receive(inbox, { inReplyTo: message.rfcMessageId ?? '' })
    assert.equal(later.deliveryRole, 'to')
    const { recipients } = await reply(inbox, later)
    assert.deepEqual(recipients, ['bob@friend.example', carol])
  })

  test('does not copy a suppressed sender, nor the inbox itself', async () => {
    const inbox = await world.inbox()
    await world.client.suppressions.create({ address: 'dave@friend.example' })
    const froms = ['Dave <DAVE@friend.example>', `Me <${inbox.address}>`]
    for (const from of froms) {
      const { recipients, raw } = await reply(inbox, await copied(inbox, from))
      assert.deepEqual(recipients, ['bob@friend.example'])
      assert.equal(fieldOf(raw, 'cc'), null)
    }
  })

  test('to a message addressed to the inbox copies nobody', async () => {
    const inbox = await world.inbox()
    const { recipients, raw } = await reply(inbox, await receive(inbox))
    assert.deepEqual(recipients, ['bob@friend.example'])
    assert.equal(fieldOf(raw, 'cc'), null)
  })

  test('made by the SDK goes to the sender’s Reply-To', async () => {
    const inbox = await world.inbox()
    const asked = plainMail({
      from: 'Bob <bob@friend.example>',
      to: inbox.address,
      messageId: `<sdk@friend.example>`,
      headers: ['Reply-To: Desk <desk@friend.example>'],
    })
    const message = await deliver(world, inbox, asked)
    const sent = await world.client.inboxes.reply(inbox.id, message, { body: 'An answer.' })
    assert.deepEqual((await arrived(world, sent)).recipients, ['desk@friend.example'])
    const viaCopy = await world.client.inboxes.reply(inbox.id, await copied(inbox), { body: 'Yes' })
    assert.deepEqual((await arrived(world, viaCopy)).recipients, [
      'team@friend.example',
      'carol@friend.example',
    ])
  })

  test('answers and quotes the newest message of its recipient, and no note to others', async () => {
    const inbox = await world.inbox()
    const first = await receive(inbox)
    const note = await reply(inbox, first, { to: 'carl@friend.example', body: 'SECRET of Carl.' })
    assert.equal(note.inReplyTo, first.rfcMessageId)
    const answer = await reply(inbox, first)
    assert.equal(answer.inReplyTo, first.rfcMessageId)
    assert.deepEqual(answer.references, [note.sent.providerMessageId, first.rfcMessageId])
    const { bodyText } = await world.client.messages.get(answer.sent.messageId)
    assert.match(bodyText, /^> A body\./m)
    assert.doesNotMatch(bodyText, /SECRET/)
    const toCarl = await reply(inbox, first, { to: 'carl@friend.example' })
    assert.equal(toCarl.inReplyTo, note.sent.providerMessageId)
    const hidden = { to: 'dora@friend.example', bcc: ['erna@friend.example'], body: 'SECRET 2.' }
    await reply(inbox, first, hidden)
    const toErna = await reply(inbox, first, { to: 'erna@friend.example', includeQuote: true })
    const quoted = await world.client.messages.get(toErna.sent.messageId)
    assert.doesNotMatch(quoted.bodyText, /SECRET/)
    assert.equal(toErna.inReplyTo, first.rfcMessageId)
  })

  test('to a stranger in a thread without received mail quotes nothing', async () => {
    const inbox = await world.inbox()
    const first = await send(world, inbox, { subject: 'Begun here', body: 'For Bob alone.' })
    const { sent, inReplyTo } = await reply(inbox, first, { to: 'carl@friend.example' })
    assert.equal(inReplyTo, first.providerMessageId)
    const { bodyText } = await world.client.messages.get(sent.messageId)
    assert.equal(bodyText.trim(), 'An answer.')
  })

  test('answers the newest message even if an older one has its Message-ID', async () => {
    const inbox = await world.inbox()
    const { threadId, rfcMessageId } = await receive(inbox, {})
    const id = rfcMessageId ?? ''
    const between = await receive(inbox, { inReplyTo: id })
    const raw = plainMail({
      from: 'Bob <bob@friend.example>',
      to: inbox.address,
      subject: 'Once more',
      messageId: id,
      headers: [`In-Reply-To: ${between.rfcMessageId}`],
    })
    assert.equal((await deliver(world, inbox, raw, 'bob@friend.example')).threadId, threadId)
    const { inReplyTo, references } = await reply(inbox, { threadId })
    assert.deepEqual([inReplyTo, references], [id, [between.rfcMessageId, id]])
  })
})

onEachEngine('concurrent replies', (engine) => {
  const world = opened(() => openTenant(engine))

  const ask = (inbox: Inbox, index: number, inReplyTo?: string) =>
    plainMail({
      to: inbox.address,
      messageId: `<ask${index}.${inbox.id}@x>`,
      headers: inReplyTo === undefined ? [] : [`In-Reply-To: ${inReplyTo}`],
    })

  const reply = (inbox: Inbox, { threadId }: Message) =>
    world.client.inboxes.send(inbox.id, { to: 'bob@friend.example', body: 'Yes.', threadId })

  async function assertChain({ threadId }: Message, count: number): Promise<void> {
    const { data } = await world.client.threads.messages(threadId)
    assert.equal(data.length, count)
    const ids = data.map(({ rfcMessageId }) => rfcMessageId)
    for (const [index, { direction, references }] of data.entries()) {
      if (direction === 'outbound') assert.deepEqual(references, ids.slice(0, index), `${index}`)
    }
    const thread = await world.client.threads.get(threadId)
    assert.deepEqual([thread.messageCount, thread.lastMessageAt], [count, data.at(-1)?.createdAt])
  }

  test('form a chain without a gap', async () => {
    for (const count of [3, 10]) {
      const inbox = await world.inbox()
      const first = await deliver(world, inbox, ask(inbox, 0))
      await Promise.all(Array.from({ length: count }, () => reply(inbox, first)))
      await assertChain(first, count + 1)
    }
  })

  test('are all sent, however many, and the thread includes mail that arrives meanwhile', async () => {
    const inbox = await world.inbox()
    const first = await deliver(world, inbox, ask(inbox, 0))
    const replies = Array.from({ length: 14 }, () => reply(inbox, first))
    const arrivals = Array.from({ length: 6 }, (_, index) =>
      world.send({ to: inbox.address, raw: ask(inbox, index + 1, first.rfcMessageId ?? '') }),
    )
    const sent = await Promise.all(replies)
    for (const { code } of await Promise.all(arrivals)) assert.equal(code, 250)
    assert.equal(new Set(sent.map(({ messageId }) => messageId)).size, 14)
    const { data } = await world.client.threads.messages(first.threadId)
    assert.equal(data.length, 21)
    for (const { direction, references, rfcMessageId } of data) {
      if (direction === 'inbound') continue
      assert.equal(references[0], first.rfcMessageId)
      assert.ok(!references.includes(rfcMessageId ?? ''))
    }
  })
})

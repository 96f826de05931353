import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Inbox } from '@mailroom/sdk'
import { runSql } from '#test/peers/sql.ts'
import { deliver } from '#test/scenarios/deliver.ts'
import { until } from '#test/scenarios/outcomes.ts'
import {
  attempted,
  openSendingTenant,
  openSendingWorld,
  PLAIN,
  passTime,
  send,
  settled,
} from '#test/scenarios/sending-world.ts'
import { moveAwayFromMidnight, onEachEngine, opened, plainMail } from '#test/world.ts'

onEachEngine('a sent message', (engine) => {
  const world = opened(() => openSendingTenant(engine))

  const answer = (inbox: Inbox, inReplyTo: string, from = PLAIN.to) =>
    deliver(
      world,
      inbox,
      plainMail({
        from,
        to: inbox.address,
        messageId: `<answer.${inReplyTo.slice(1, 27)}@friend.example>`,
        headers: [`In-Reply-To: ${inReplyTo}`],
      }),
      from,
    )

  test('is outbound and pending at once, then sent', async () => {
    const inbox = await world.client.inboxes.create({ displayName: 'Ada' })
    let answerRcpt = (_: string) => {}
    world.mta.script = {
      ...world.mta.script,
      onRcpt: () => new Promise<string>((resolve) => (answerRcpt = resolve)),
    }
    const sent = await send(world, inbox, { cc: ['ann@friend.example'] })
    const pending = await world.client.messages.get(sent.messageId)
    assert.deepEqual(
      { ...pending, createdAt: '', id: '' },
      {
        id: '',
        threadId: sent.threadId,
        inboxId: inbox.id,
        direction: 'outbound',
        status: 'pending',
        rfcMessageId: sent.providerMessageId,
        fromAddr: `Ada <${inbox.address}>`,
        toAddr: PLAIN.to,
        to: [PLAIN.to],
        recipient: null,
        tag: null,
        headerTo: null,
        deliveryRole: null,
        cc: ['ann@friend.example'],
        bcc: [],
        replyTo: null,
        inReplyTo: null,
        references: [],
        subject: PLAIN.subject,
        bodyText: PLAIN.body,
        bodyHtml: '',
        extractedText: PLAIN.body,
        hiddenText: false,
        hiddenTextParts: [],
        extracted: null,
        failureReason: null,
        defects: [],
        isTruncated: false,
        labels: [],
        attachments: [],
        authentication: null,
        automatic: false,
        automaticReason: null,
        category: null,
        categoryReasons: [],
        autoReplyable: false,
        verdict: null,
        spamScore: null,
        scheduledAt: null,
        createdAt: '',
      },
    )
    assert.deepEqual(
      [sent.status, sent.id, sent.inboxId, sent.direction, sent.createdAt],
      ['pending', sent.messageId, inbox.id, 'outbound', pending.createdAt],
    )
    assert.match(sent.providerMessageId, /^<[0-9a-z]{26}@mailroom\.localhost>$/)
    const { onRcpt: _, ...polite } = world.mta.script
    world.mta.script = polite
    const answers = setInterval(() => answerRcpt('250 2.1.5 Ok'), 5)
    const done = await settled(world, sent)
    clearInterval(answers)
    assert.deepEqual(done, { ...pending, status: 'sent' })
  })

  test('is failed with the words of the server that refused it, and stays so', async () => {
    world.mta.script = {
      ...world.mta.script,
      onRcpt: (address) => (address.startsWith('gone') ? '550 5.7.1 Not from you' : undefined),
    }
    const inbox = await world.inbox()
    const sent = await send(world, inbox, { to: 'gone@friend.example' })
    const message = await settled(world, sent)
    assert.equal(message.status, 'failed')
    assert.equal(message.failureReason, 'gone@friend.example: 550 5.7.1 Not from you')
    const partly = await send(world, inbox, { cc: ['gone2@friend.example'] })
    const other = await settled(world, partly)
    assert.deepEqual(
      [other.status, other.failureReason],
      ['sent', 'gone2@friend.example: 550 5.7.1 Not from you'],
    )
  })

  test('shows a refused recipient while another is still being tried', async () => {
    world.mta.script = {
      ...world.mta.script,
      onRcpt(address, count) {
        if (address.startsWith('gone')) return '550 5.7.1 Not from you'
        return address.startsWith('later') && count === 1 ? '451 4.7.1 Later' : undefined
      },
    }
    const inbox = await world.inbox()
    const fields = { to: 'later-once@friend.example', cc: ['gone3@friend.example'] }
    const sent = await send(world, inbox, fields)
    let message = await world.client.messages.get(sent.messageId)
    await until(async () => {
      message = await world.client.messages.get(sent.messageId)
      return message.failureReason !== null
    })
    assert.equal(message.status, 'pending')
    assert.match(message.failureReason ?? '', /^gone3@friend\.example: 550 5\.7\.1/)
    await passTime(world, 60_000)
    assert.equal((await settled(world, sent)).status, 'sent')
  })

  test('is counted and listed with received mail, under its direction', async () => {
    const inbox = await world.inbox()
    const first = await send(world, inbox)
    const back = await answer(inbox, first.providerMessageId)
    const second = await send(world, inbox, { threadId: first.threadId })
    const third = await send(world, inbox)
    const list = async (options = {}) => {
      const { data, total } = await world.client.messages.list(inbox.id, options).page()
      return { ids: data.map(({ id }) => id), total }
    }
    const ids = [third.messageId, second.messageId, back.id, first.messageId]
    assert.deepEqual(await list(), { ids, total: 4 })
    const outbound = [third.messageId, second.messageId, first.messageId]
    assert.deepEqual(await list({ direction: 'outbound' }), { ids: outbound, total: 3 })
    assert.deepEqual(await list({ direction: 'inbound' }), { ids: [back.id], total: 1 })
    const page = await list({ direction: 'outbound', limit: 1, offset: 1 })
    assert.deepEqual(page, { ids: [second.messageId], total: 3 })
    const { data, total } = await world.client.threads.list(inbox.id).page()
    assert.deepEqual(
      data.map(({ id, messageCount }) => [id, messageCount]),
      [
        [third.threadId, 1],
        [first.threadId, 3],
      ],
    )
    assert.equal(total, 2)
    assert.equal(data[1]?.lastMessageAt, second.createdAt)
    const { data: inThread } = await world.client.threads.messages(first.threadId)
    assert.deepEqual(
      inThread.map(({ id }) => id),
      [first.messageId, back.id, second.messageId],
    )
  })

  test('leaves its thread read, and an answer marks it unread again', async () => {
    const inbox = await world.inbox()
    const isRead = async (id: string) => {
      const [read, unread] = await Promise.all(
        [true, false].map((is_read) => world.client.threads.list(inbox.id, { is_read }).page()),
      )
      const thread = await world.client.threads.get(id)
      assert.deepEqual([read?.total, unread?.total], thread.isRead ? [1, 0] : [0, 1])
      return thread.isRead
    }
    const first = await send(world, inbox)
    assert.equal(await isRead(first.threadId), true)
    await answer(inbox, first.providerMessageId)
    assert.equal(await isRead(first.threadId), false)
    await send(world, inbox, { threadId: first.threadId })
    assert.equal(await isRead(first.threadId), true)
    await world.client.threads.update(first.threadId, { is_read: false })
    const refused = send(world, inbox, { threadId: first.threadId, to: 'nobody' })
    await assert.rejects(refused)
    assert.equal(await isRead(first.threadId), false)
  })

  test('is answered in its thread, and the sender of the answer is no longer a stranger to the inbox', async () => {
    const env = { MAILROOM_LIMIT_COLD_PER_DAY: '1' }
    await using small = await openSendingWorld(engine, { env })
    moveAwayFromMidnight(small.clock)
    const inbox = await small.inbox()
    const sent = await send(small, inbox)
    const raw = plainMail({
      from: 'Bob <BOB@friend.example>',
      to: inbox.address,
      headers: [`References: <other@x> ${sent.providerMessageId}`],
    })
    const back = await deliver(small, inbox, raw, PLAIN.to)
    assert.equal(back.threadId, sent.threadId)
    await assert.rejects(send(small, inbox, { to: 'ann@friend.example' }), /never written/)
    const midnight = 86_400_000 - (small.clock.now() % 86_400_000)
    small.clock.advance(midnight)
    await send(small, inbox, { to: 'ann@friend.example' })
    for (let time = 0; time < 3; time++) await send(small, inbox)
    await assert.rejects(send(small, inbox, { to: 'cid@friend.example' }), /never written/)
    const other = await small.inbox()
    await send(small, other, { to: 'cid@friend.example' })
    await assert.rejects(send(small, other), /never written/)
  })

  test('writes its event in the transaction that changes its state', async () => {
    const inbox = await world.inbox()
    const sent = await send(world, inbox)
    await settled(world, sent)
    world.mta.script = { ...world.mta.script, onData: '554 5.7.1 No' }
    const failed = await send(world, inbox)
    await settled(world, failed)
    const { onData: _, ...polite } = world.mta.script
    world.mta.script = polite
    const { pod_id: pod } = (
      await runSql(world, `select pod_id from inboxes where id = '${inbox.id}'`)
    )[0] ?? { pod_id: null }
    const columns = 'kind, pod_id, inbox_id, thread_id, message_id'
    const rows = await runSql(
      world,
      `select ${columns} from events where inbox_id = '${inbox.id}' order by sequence`,
    )
    const expected = [
      { kind: 'message.sent', ...sent },
      { kind: 'message.failed', ...failed },
    ].map(({ kind, threadId, messageId }) => ({
      kind,
      pod_id: pod,
      inbox_id: inbox.id,
      thread_id: threadId,
      message_id: messageId,
    }))
    assert.deepEqual(
      rows.map((row) => ({ ...row })),
      expected,
    )
  })

  test('that is deferred has no event and is not settled', async () => {
    world.mta.script = { ...world.mta.script, onMail: '451 4.7.1 Later' }
    const inbox = await world.inbox()
    const sent = await send(world, inbox)
    const delivery = await attempted(world, sent, 1)
    assert.equal(delivery.status, 'deferred')
    const message = await world.client.messages.get(sent.messageId)
    assert.deepEqual([message.status, message.failureReason], ['pending', null])
    assert.deepEqual(
      await runSql(world, `select kind from events where inbox_id = '${inbox.id}'`),
      [],
    )
    const { onMail: _, ...polite } = world.mta.script
    world.mta.script = polite
  })
})

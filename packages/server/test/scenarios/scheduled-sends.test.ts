import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Mailroom } from '@mailroom/sdk'
import { runSql } from '#test/peers/sql.ts'
import { untilReadable } from '#test/scenarios/event-world.ts'
import { repeat, until } from '#test/scenarios/outcomes.ts'
import {
  arrived,
  fieldOf,
  openSendingTenant,
  send,
  settled,
} from '#test/scenarios/sending-world.ts'
import { onEachEngine, opened, openSecond } from '#test/world.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

onEachEngine('a scheduled send', (engine) => {
  const world = opened(() => openSendingTenant(engine))
  const ahead = (ms: number) => new Date(world.clock.now() + ms).toISOString()

  test('leaves at its time with its date, signed then', async () => {
    const inbox = await world.inbox()
    const sendAt = ahead(HOUR_MS)
    const sent = await send(world, inbox, { sendAt, bcc: ['ann@friend.example'] })
    assert.deepEqual([sent.status, sent.scheduledAt], ['pending', sendAt])
    const { data } = await world.client.inboxes.scheduled(inbox.id).page()
    assert.deepEqual(
      data.map(({ id, scheduledAt, status }) => [id, scheduledAt, status]),
      [[sent.messageId, sendAt, 'pending']],
    )
    const stored = await world.client.messages.raw(sent.messageId)
    assert.ok(!Buffer.from(stored.content).includes('DKIM-Signature'))
    world.clock.advance(HOUR_MS + 1_000)
    const { raw } = await arrived(world, sent)
    assert.ok(Date.parse(fieldOf(raw, 'date') ?? '') >= Date.parse(sendAt))
    assert.equal(fieldOf(raw, 'message-id'), sent.providerMessageId)
    assert.ok(fieldOf(raw, 'dkim-signature') !== null)
    assert.equal((await settled(world, sent)).status, 'sent')
    assert.ok(raw.equals((await world.client.messages.raw(sent.messageId)).content))
    assert.equal((await world.client.inboxes.scheduled(inbox.id).page()).total, 0)
    const rows = await runSql(world, `select * from waiting_sends where inbox_id = '${inbox.id}'`)
    assert.equal(rows.length, 0)
    await untilReadable(world)
    const told = await world.client.events.list({ inbox_id: inbox.id }).page()
    const event = told.data.find(({ event: kind }) => kind === 'message.sent')
    assert.ok(Date.parse(event?.message?.sent_at ?? '') >= Date.parse(sendAt))
  })

  test('can be cancelled until its time, again and again, and not once it was sent', async () => {
    const inbox = await world.inbox()
    const sent = await send(world, inbox, { sendAt: ahead(HOUR_MS) })
    for (let times = 0; times < 2; times++) {
      const message = await world.client.messages.cancel(sent.messageId)
      assert.deepEqual([message.status, message.failureReason], ['failed', 'cancelled'])
    }
    world.clock.advance(2 * HOUR_MS)
    const other = await send(world, inbox)
    await settled(world, other)
    await assert.rejects(world.client.messages.cancel(other.messageId), { code: 'already_sending' })
    await assert.rejects(world.client.messages.cancel('msg_none'), { code: 'not_found' })
    const { data } = await world.client.messages.list(inbox.id, { direction: 'outbound' }).page()
    assert.deepEqual(
      data.map(({ status }) => status),
      ['sent', 'failed'],
    )
    assert.ok(!world.mta.transactions.some(({ raw }) => raw.includes(sent.providerMessageId)))
  })

  test('that was cancelled is neither quoted nor answered', async () => {
    const inbox = await world.inbox()
    const first = await send(world, inbox, { body: 'Sent first.' })
    await settled(world, first)
    const { threadId } = first
    const sendAt = ahead(HOUR_MS)
    const cancelled = await send(world, inbox, { threadId, sendAt, body: 'Never sent.' })
    await world.client.messages.cancel(cancelled.messageId)
    const { raw } = await arrived(world, await send(world, inbox, { threadId, body: 'After it.' }))
    assert.ok(raw.includes('Sent first.') && !raw.includes('Never sent.'))
    assert.equal(fieldOf(raw, 'in-reply-to'), first.providerMessageId)
    assert.ok(!raw.includes(cancelled.providerMessageId))
  })

  test('is refused for a time that is no time, too near or too far', async () => {
    const inbox = await world.inbox()
    const wrong = [
      'tomorrow',
      '2026-13-01T00:00:00Z',
      '2026-12-01T12:00:00',
      ahead(58_000),
      ahead(-HOUR_MS),
      ahead(90 * 24 * HOUR_MS + 5_000),
    ]
    for (const sendAt of wrong) {
      const error = await send(world, inbox, { sendAt }).catch((thrown) => thrown)
      assert.deepEqual([error.code, error.details?.[0]?.path], ['bad_request', 'sendAt'], sendAt)
      assert.match(error.details[0].message, /^must be (?:a time of ISO 8601|1 minute to 90 days)/)
    }
    for (const sendAt of [ahead(60_000), ahead(90 * 24 * HOUR_MS)]) {
      assert.equal((await send(world, inbox, { sendAt })).scheduledAt, sendAt)
    }
  })

  test('counts when it is released, and fails with the code of what refuses it then', async () => {
    const inbox = await world.inbox()
    const late = await send(world, inbox, { sendAt: ahead(HOUR_MS), to: 'gone@friend.example' })
    const limited = await runSql(
      world,
      `select send_count from inbox_counters where inbox_id = '${inbox.id}'`,
    )
    assert.deepEqual(
      limited.map((row) => Number(row.send_count)),
      [0],
    )
    await world.client.suppressions.create({ address: 'gone@friend.example' })
    world.clock.advance(HOUR_MS + 1_000)
    const message = await settled(world, late)
    assert.deepEqual([message.status, message.failureReason], ['failed', 'recipient_suppressed'])
    await until(async () => {
      const events = await runSql(
        world,
        `select kind from events where message_id = '${late.messageId}'`,
      )
      return events.some(({ kind }) => kind === 'message.failed')
    })
    const next = await send(world, inbox)
    assert.equal((await settled(world, next)).status, 'sent')
  })

  test('that cannot be read yet does not keep others, and leaves once it can be', async () => {
    const inbox = await world.inbox()
    const sendAt = ahead(HOUR_MS)
    // More than are released in one step.
    const stuck = await repeat(70, (index) => send(world, inbox, { sendAt, subject: `${index}` }))
    const other = await send(world, inbox, { sendAt: ahead(HOUR_MS + 1_000) })
    const ids = stuck.map(({ messageId }) => `'${messageId}'`).join(',')
    await runSql(world, `update messages set raw_id = 'away' || raw_id where id in (${ids})`)
    world.clock.advance(HOUR_MS + 2_000)
    assert.equal((await settled(world, other)).status, 'sent')
    const kept = await runSql(
      world,
      `select release_at from waiting_sends where message_id in (${ids})`,
    )
    assert.equal(kept.length, stuck.length)
    // No attempt is in progress: it would put off a message for minutes by the clock as it is moved next.
    await until(async () => {
      const soonMs = world.clock.now() + 3_000
      const rows = await runSql(
        world,
        `select message_id from waiting_sends where release_at < ${soonMs} and message_id in (${ids})`,
      )
      return rows.length === 0
    })
    await runSql(world, `update messages set raw_id = substr(raw_id, 5) where id in (${ids})`)
    world.clock.advance(HOUR_MS)
    for (const sent of stuck) assert.equal((await settled(world, sent)).status, 'sent')
    for (const { providerMessageId } of stuck) {
      const copies = world.mta.transactions.filter(({ raw }) => raw.includes(providerMessageId))
      assert.equal(copies.length, 1)
    }
  })
})

// In a world of its own: the queue's time of a second process comes from the database, and would be hours behind that
// of the first after the clock was moved, so each would take the leases of the other for lost.
onEachEngine('a send whose time has come', (engine) => {
  const world = opened(() => openSendingTenant(engine))

  test('that is cancelled while it is released is either sent once or cancelled', async () => {
    const second = engine === 'postgres' ? await openSecond(world) : null
    const urls = [world.baseUrl, second?.http?.address ?? world.baseUrl]
    const clients = urls.map((baseUrl) => new Mailroom({ baseUrl, apiKey: world.key }))
    const inbox = await world.inbox()
    const sendAt = new Date(world.clock.now() + HOUR_MS).toISOString()
    const sent = await repeat(100, () => send(world, inbox, { sendAt }))
    world.clock.advance(HOUR_MS + 1_000)
    const cancels = sent.map(async ({ messageId }, index) => {
      await new Promise((resolve) => setTimeout(resolve, index * 10))
      return clients[index % 2]?.messages.cancel(messageId)
    })
    const outcomes = await Promise.allSettled(cancels)
    for (const [index, one] of sent.entries()) {
      const isCancelled = outcomes[index]?.status === 'fulfilled'
      const { status } = await settled(world, one)
      const raws = world.mta.transactions.filter(({ raw }) => raw.includes(one.providerMessageId))
      assert.deepEqual(
        [status, raws.length],
        isCancelled ? ['failed', 0] : ['sent', 1],
        one.messageId,
      )
    }
    await second?.close()
  })
})

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import type { Inbox } from '@mailroom/sdk'
import { DAY_MS, MINUTE_MS } from '#platform/units.ts'
import { openSender } from '#test/peers/sender.ts'
import { countMessages, countRows } from '#test/scenarios/deliver.ts'
import { until } from '#test/scenarios/outcomes.ts'
import { onEachEngine, opened, openWorld, plainMail } from '#test/world.ts'

onEachEngine('the same mail again', (engine) => {
  const world = opened(() => openWorld(engine))

  const send = async (inbox: Inbox, raw: string) => {
    assert.equal((await world.send({ to: inbox.address, raw })).code, 250)
  }
  /** Ends the connection after the final dot, without waiting for the answer. */
  const sendAndLeave = async (inbox: Inbox, raw: string) => {
    const sender = await openSender(world.smtpPort)
    await sender.command('MAIL FROM:<a@x.example>')
    await sender.command(`RCPT TO:<${inbox.address}>`)
    await sender.command('DATA')
    const closed = once(sender.socket, 'close')
    sender.write(`${raw}.\r\n`)
    sender.socket.end()
    await closed
  }
  const eventsOf = async (inbox: Inbox) => {
    const { read } = world.app.deps.db
    const rows = await read
      .selectFrom('events')
      .select('message_id')
      .where('inbox_id', '=', inbox.id)
      .execute()
    return rows.length
  }

  test('is answered 250 and stored once, with one event', async () => {
    const inbox = await world.inbox()
    const raw = plainMail({ to: inbox.address, messageId: '<once@x>' })
    const before = await countRows(world, 'raw_messages')
    await send(inbox, raw)
    await send(inbox, raw)
    assert.equal(await countMessages(world, inbox), 1)
    assert.equal(await eventsOf(inbox), 1)
    assert.equal((await countRows(world, 'raw_messages')) - before, 1)
    const [thread] = (await world.client.threads.list(inbox.id).page()).data
    assert.equal(thread?.messageCount, 1)
  })

  test('does not mark a thread unread that was read in between', async () => {
    const inbox = await world.inbox()
    const raw = plainMail({ to: inbox.address, messageId: '<read@x>' })
    await send(inbox, raw)
    const [thread] = (await world.client.threads.list(inbox.id).page()).data
    await world.client.threads.update(thread?.id ?? '', { is_read: true })
    await send(inbox, raw)
    assert.equal((await world.client.threads.get(thread?.id ?? '')).isRead, true)
  })

  test('from a client that disconnects before it reads our 250 is stored once', async () => {
    const inbox = await world.inbox()
    const raw = plainMail({ to: inbox.address, messageId: '<lost@x>' })
    await sendAndLeave(inbox, raw)
    await send(inbox, raw)
    assert.equal(await countMessages(world, inbox), 1)
  })

  test('on ten connections at once is stored once', async () => {
    const inbox = await world.inbox()
    const raw = plainMail({ to: inbox.address, messageId: '<race@x>' })
    await Promise.all(Array.from({ length: 10 }, () => send(inbox, raw)))
    assert.equal(await countMessages(world, inbox), 1)
    assert.equal(await eventsOf(inbox), 1)
  })

  test('without a Message-ID is stored each time that the client takes our answer', async () => {
    const inbox = await world.inbox()
    const raw = plainMail({ to: inbox.address })
    await send(inbox, raw)
    await send(inbox, raw)
    assert.equal(await countMessages(world, inbox), 2)
    assert.equal(await eventsOf(inbox), 2)
  })

  test('without a Message-ID is stored once where our answer was lost, as long as servers try again', async () => {
    const [inbox, other] = [await world.inbox(), await world.inbox()]
    const raw = plainMail({ to: inbox.address })
    await sendAndLeave(inbox, raw)
    await sendAndLeave(inbox, raw)
    assert.equal((await world.send({ to: [inbox.address, other.address], raw })).code, 250)
    assert.deepEqual([await countMessages(world, inbox), await countMessages(world, other)], [1, 1])
    assert.equal(await eventsOf(inbox), 1)
    await send(inbox, raw.replace('A body.', 'Another body.'))
    assert.equal(await countMessages(world, inbox), 2)
    world.clock.advance(6 * DAY_MS)
    await send(inbox, raw)
    assert.equal(await countMessages(world, inbox), 3)
  })

  test('without a Message-ID is stored once where a client leaves after our answer without a command', async () => {
    const inbox = await world.inbox()
    const raw = plainMail({ to: inbox.address })
    const sender = await openSender(world.smtpPort)
    assert.equal((await sender.send({ to: inbox.address, raw })).code, 250)
    sender.socket.destroy()
    const { read } = world.app.deps.db
    const stored = read.selectFrom('messages').select('receipt_key')
    await until(async () => {
      const row = await stored.where('inbox_id', '=', inbox.id).executeTakeFirst()
      return row?.receipt_key != null
    })
    await send(inbox, raw)
    assert.equal(await countMessages(world, inbox), 1)
  })

  test('without a Message-ID and a date is another message after ten minutes', async () => {
    const inbox = await world.inbox()
    const raw = plainMail({ to: inbox.address }).replace(/Date:.*\r\n/, '')
    await sendAndLeave(inbox, raw)
    await send(inbox, raw)
    assert.equal(await countMessages(world, inbox), 1)
    world.clock.advance(11 * MINUTE_MS)
    await send(inbox, raw)
    assert.equal(await countMessages(world, inbox), 2)
  })

  test('with other content under its Message-ID is another message', async () => {
    const inbox = await world.inbox()
    for (const body of ['one', 'two']) {
      await send(inbox, plainMail({ to: inbox.address, messageId: '<same@x>', body }))
    }
    assert.equal(await countMessages(world, inbox), 2)
    assert.equal((await world.client.threads.list(inbox.id).page()).total, 2)
  })

  test('to an inbox that does not have it yet is stored there', async () => {
    const [one, two] = [await world.inbox(), await world.inbox()]
    const raw = plainMail({ to: one.address, messageId: '<spread@x>' })
    await send(one, raw)
    assert.equal((await world.send({ to: [one.address, two.address], raw })).code, 250)
    assert.deepEqual([await countMessages(world, one), await countMessages(world, two)], [1, 1])
  })

  test('too large for a row leaves no second copy in the blob store', async () => {
    const inbox = await world.inbox()
    const body = 'x'.repeat(70).concat('\r\n').repeat(3_000)
    const raw = plainMail({ to: inbox.address, messageId: '<large@x>', body })
    const before = await countRows(world, 'raw_messages')
    for (let count = 0; count < 3; count += 1) await send(inbox, raw)
    assert.equal(await countMessages(world, inbox), 1)
    assert.equal((await countRows(world, 'raw_messages')) - before, 1)
    const { blobs, db } = world.app.deps
    const rows = await db.read.selectFrom('raw_messages').select(['id', 'content']).execute()
    if (blobs !== null) {
      const large = rows.filter(({ content }) => content === null)
      assert.equal(large.length, 1)
      assert.equal((await blobs.get(large[0]?.id ?? ''))?.length, raw.length)
    }
  })
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Inbox } from '@mailroom/sdk'
import type { Log } from '#platform/log.ts'
import { codesOf, countMessages, countRows, deliver } from '#test/scenarios/deliver.ts'
import { refusalOf, until } from '#test/scenarios/outcomes.ts'
import { arrived, fieldOf, openSendingWorld, send } from '#test/scenarios/sending-world.ts'
import { onEachEngine, opened, openWorld, plainMail } from '#test/world.ts'

onEachEngine('returned mail', (engine) => {
  const world = opened(() => openSendingWorld(engine, { log }))
  const lines: string[] = []
  const note = (_fields: object, text: string) => void lines.push(text)
  const log: Log = { debug: () => {}, info: () => {}, warn: note, error: note }

  const markOf = async (inbox: Inbox) => {
    const { raw } = await arrived(world, await send(world, inbox))
    const mark = fieldOf(raw, 'x-loop')
    assert.ok(mark !== null)
    return mark
  }
  const mailWith = (...headers: string[]) => plainMail({ headers })
  const loopLines = () => lines.filter((line) => line.includes('loop')).length

  test('that was sent by the inbox and forwarded back is refused after DATA, and not stored or passed on', async () => {
    const inbox = await world.inbox()
    const { raw } = await arrived(world, await send(world, inbox))
    const forwarded = Buffer.concat([Buffer.from('Received: by forward.example\r\n'), raw])
    const [rows, before, sent] = [
      await countRows(world, 'raw_messages'),
      loopLines(),
      world.mta.transactions.length,
    ]
    const reply = await world.send({ to: inbox.address, raw: forwarded })
    assert.equal(codesOf(reply), '554 5.4.6')
    assert.equal(loopLines(), before + 1)
    assert.equal(await countRows(world, 'raw_messages'), rows)
    assert.equal(world.mta.transactions.length, sent)
  })

  test('is recognised by any of its marks, and only by the mark of its own inbox', async () => {
    const [inbox, other] = [await world.inbox(), await world.inbox()]
    const [mark, others] = [await markOf(inbox), await markOf(other)]
    assert.equal(await markOf(inbox), mark)
    assert.notEqual(mark, others)
    const outcome = async (...headers: string[]) =>
      codesOf(await world.send({ to: inbox.address, raw: mailWith(...headers) }))
    assert.equal(await outcome(`X-Loop: ${mark}`), '554 5.4.6')
    assert.equal(await outcome('X-Loop: me@list.example', `x-loop:   ${mark}  `), '554 5.4.6')
    assert.equal(await outcome(`X-Loop: ${others}`), '250 2.0.0')
    assert.equal(await outcome(`X-Loop: ${inbox.address}`), '250 2.0.0')
    assert.equal(await outcome(`X-Loop: ${mark}0`), '250 2.0.0')
    assert.equal(await outcome('X-Loop:'), '250 2.0.0')
  })

  test('is stored if a mailing list passed it on', async () => {
    const inbox = await world.inbox()
    const raw = mailWith(`X-Loop: ${await markOf(inbox)}`, 'List-Id: <list.friend.example>')
    const message = await deliver(world, inbox, raw)
    assert.equal(message.automaticReason, 'list')
  })

  test('is stored for its other recipients, and the log reports the loop', async () => {
    const [inbox, other] = [await world.inbox(), await world.inbox()]
    const raw = mailWith(`X-Loop: ${await markOf(inbox)}`)
    const had = await countMessages(world, inbox)
    const before = loopLines()
    for (const to of [other.address, 'postmaster@mailroom.localhost']) {
      const reply = await world.send({ to: [inbox.address, to], raw })
      assert.equal(reply.code, 250, to)
    }
    assert.equal(loopLines(), before + 2)
    assert.equal(await countMessages(world, inbox), had)
    assert.equal(await countMessages(world, other), 1)
    const twice = await world.send({ to: [inbox.address, inbox.address], raw })
    assert.equal(codesOf(twice), '554 5.4.6')
  })

  test('is stored if an inbox writes to itself', async () => {
    const inbox = await world.inbox()
    await send(world, inbox, { to: inbox.address })
    const received = () => world.client.messages.list(inbox.id, { direction: 'inbound' }).page()
    await until(async () => (await received()).total === 1)
  })

  test('that was a reply has the mark of its inbox, and no other', async () => {
    const inbox = await world.inbox()
    const mark = await markOf(inbox)
    const { threadId } = await deliver(world, inbox, mailWith('X-Loop: someone@else.example'))
    const { raw } = await arrived(world, await send(world, inbox, { threadId }))
    assert.equal(fieldOf(raw, 'x-loop'), mark)
  })

  test('with more than fifty Received fields is refused, whatever its marks', async () => {
    const inbox = await world.inbox()
    const hops = Array.from({ length: 51 }, () => 'Received: by a.example')
    const before = loopLines()
    const reply = await world.send({ to: inbox.address, raw: mailWith(...hops, 'List-Id: <l.x>') })
    assert.equal(codesOf(reply), '554 5.4.6')
    assert.match(reply.lines.join(), /51/)
    assert.equal(loopLines(), before + 1)
  })
})

onEachEngine('returned mail in the sandbox', (engine) => {
  test('is refused with the reason', async (t) => {
    const world = await openWorld(engine)
    t.after(() => world.close())
    const inbox = await world.inbox()
    const sent = await send(world, inbox)
    const { content } = await world.client.messages.raw(sent.messageId)
    const refused = await refusalOf(
      world.client.sandbox.receiveRaw(new Uint8Array(content), { to: [inbox.address] }),
    )
    assert.deepEqual([refused.status, refused.code], [400, 'bad_request'])
    assert.match(refused.message, /X-Loop/)
  })
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openExtractions } from '#mailbox/extractions.ts'
import { deliver } from '#test/scenarios/deliver.ts'
import { untilReadable } from '#test/scenarios/event-world.ts'
import { onEachEngine, opened, openWorld, plainMail } from '#test/world.ts'

const EXTRACTED = {
  codes: [{ value: '482 913', confidence: 0.96, source: 'Your verification code is 482 913.' }],
  links: [
    { url: 'https://harbor.example/verify?t=a1b2&utm_source=mail', kind: 'verify' },
    { url: 'https://harbor.example/unsubscribe/1', kind: 'unsubscribe' },
  ],
}
const BODY = `Your verification code is 482 913.

Or open https://harbor.example/verify?t=a1b2&utm_source=mail

Unsubscribe: https://harbor.example/unsubscribe/1
`.replaceAll('\n', '\r\n')

onEachEngine('what is found in a message', (engine) => {
  const world = opened(() => openWorld(engine))

  test('is the same wherever the message is told', async () => {
    const inbox = await world.inbox()
    const message = await deliver(world, inbox, plainMail({ to: inbox.address, body: BODY }))
    assert.deepEqual(message.extracted, EXTRACTED)
    assert.deepEqual((await world.client.messages.get(message.id)).extracted, EXTRACTED)
    const thread = await world.client.threads.messages(message.threadId)
    assert.deepEqual(thread.data[0]?.extracted, EXTRACTED)
    await untilReadable(world)
    const { data } = await world.client.events.list({ inbox_id: inbox.id }).page()
    assert.deepEqual(
      data.map((event) => event.message?.extracted),
      [EXTRACTED],
    )
  })

  test('of a body that lists read apart and events cut is the same as well', async () => {
    const inbox = await world.inbox()
    const html = `<p>Your verification code is 482 913.</p>${'<p>More to read.</p>\r\n'.repeat(20_000)}`
    const headers = ['Content-Type: text/html; charset=utf-8']
    const raw = plainMail({ to: inbox.address, headers, body: html })
    const { extracted, id } = await deliver(world, inbox, raw)
    assert.deepEqual(
      extracted?.codes.map(({ value }) => value),
      ['482 913'],
    )
    await untilReadable(world)
    // As another process tells it, which has not read the message before.
    world.app.deps.extractions = openExtractions()
    const { data } = await world.client.events.list({ inbox_id: inbox.id }).page()
    assert.equal(data[0]?.message?.truncated, true)
    assert.equal(data[0]?.message?.id, id)
    assert.deepEqual(data[0]?.message?.extracted, extracted)
  })

  test('is nothing on what was sent', async () => {
    const inbox = await world.inbox()
    const { messageId } = await world.client.inboxes.send(inbox.id, {
      to: 'ann@client.example',
      subject: 'Your code',
      body: BODY,
    })
    assert.equal((await world.client.messages.get(messageId)).extracted, null)
  })
})

const inbound = (id: string, bodyText = 'Your verification code is 482913.') => ({
  id,
  direction: 'inbound' as const,
  subject: '',
  bodyText,
  bodyHtml: '',
})

test('what was found lately is at hand, and what was asked for longest ago is forgotten first', async () => {
  const extractions = openExtractions(1_200)
  const first = await extractions.of(inbound('msg_1'))
  const second = await extractions.of(inbound('msg_2'))
  assert.equal(await extractions.of(inbound('msg_1')), first)
  await extractions.of(inbound('msg_3'))
  assert.equal(await extractions.of(inbound('msg_1')), first)
  assert.notEqual(await extractions.of(inbound('msg_2')), second)
})

test('a message too large to be kept is told all the same', async () => {
  const extractions = openExtractions(10)
  const first = await extractions.of(inbound('msg_1'))
  assert.equal(first?.codes.length, 1)
  assert.notEqual(await extractions.of(inbound('msg_1')), first)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sizeOf } from '@mailroom/mail/test/size-of.ts'
import fc from 'fast-check'
import { untilReadable } from '#test/scenarios/event-world.ts'
import { until } from '#test/scenarios/outcomes.ts'
import { deliveriesOf, PLAIN, send } from '#test/scenarios/sending-world.ts'
import { onEachEngine, opened, openWorld } from '#test/world.ts'

const HIDDEN = 'hiddenbob@far.example'

onEachEngine('hidden recipients', (engine) => {
  const world = opened(() =>
    openWorld(engine, {
      env: { MAILROOM_LIMIT_SENDS_PER_MINUTE: '1000', MAILROOM_LIMIT_SENDS_PER_DAY: '1000' },
    }),
  )

  test('are in the envelope with to and cc, each address once, and in no header', async () => {
    const inbox = await world.inbox()
    const names = ['ann', 'bob', 'cat', 'dan', 'eve', 'fay']
    const address = fc
      .tuple(fc.constantFrom(...names), fc.boolean())
      .map(([name, isLoud]) => `${isLoud ? name.toUpperCase() : name}@far.example`)
    const some = fc.array(address, { maxLength: 5 })
    const lists = fc.record({
      to: fc.array(address, { minLength: 1, maxLength: 5 }),
      cc: some,
      bcc: some,
    })
    await fc.assert(
      fc.asyncProperty(lists, async (given) => {
        const sent = await send(world, inbox, given)
        const keys = (addresses: readonly string[]) => addresses.map((one) => one.toLowerCase())
        const all = new Set(keys([...given.to, ...given.cc, ...given.bcc]))
        const envelope = keys((await deliveriesOf(world, sent)).map(({ recipient }) => recipient))
        assert.deepEqual(envelope.sort(), [...all].sort())
        const { content } = await world.client.messages.raw(sent.messageId)
        const raw = Buffer.from(content).toString('latin1').toLowerCase()
        const shown = new Set(keys([...given.to, ...given.cc]))
        for (const one of all) assert.equal(raw.includes(one), shown.has(one), one)
      }),
      { numRuns: sizeOf('TEST_MAILROOM_HIDDEN_RECIPIENTS', { quick: 15, usual: 40 }) },
    )
  })

  test('are told to nobody else: not to another inbox, its search, its views or its events', async () => {
    const inbox = await world.inbox()
    const { client } = await world.newAccount()
    const other = await client.inboxes.create()
    const to = [PLAIN.to, other.address]
    const sent = await send(world, inbox, { to, bcc: [HIDDEN], subject: 'Secret copies' })
    const { content } = await world.client.messages.raw(sent.messageId)
    // What the recipient's server gets, as it is.
    await world.send({ to: other.address, from: inbox.address, raw: Buffer.from(content) })
    const [listed] = (await client.messages.list(other.id).page()).data
    assert.ok(listed !== undefined)
    await until(async () => {
      const { data } = await client.inboxes.search(other.id, { q: 'secret' }).page()
      return data.length > 0
    })
    assert.equal((await client.messages.search({ q: 'hiddenbob' }).page()).total, 0)
    const raw = await client.messages.raw(listed.id)
    const { text } = await client.messages.view(listed.id)
    await untilReadable(world)
    const { data: events } = await client.events.list().page()
    const told = [JSON.stringify([listed, events]), Buffer.from(raw.content).toString(), text]
    for (const one of told) assert.ok(!one.toLowerCase().includes('hiddenbob'))
    const own = await world.client.messages.get(sent.messageId)
    assert.deepEqual(own.bcc, [HIDDEN])
    const passed = await world.client.messages.forward(sent.messageId, { to: 'ann@far.example' })
    const forwarded = await world.client.messages.raw(passed.messageId)
    assert.ok(!Buffer.from(forwarded.content).toString().toLowerCase().includes('hiddenbob'))
  })

  test('are told to no other inbox of the account and its webhook, and are in no captured header', async () => {
    const account = await world.newAccount()
    const { client } = account
    const [inbox, other] = [await client.inboxes.create(), await client.inboxes.create()]
    const receiver = await client.webhooks.create({
      url: 'https://receiver.example/hook',
      inboxIds: [other.id],
    })
    const to = [PLAIN.to, other.address]
    const sent = await send(account, inbox, { to, bcc: [HIDDEN], subject: 'Secret copies' })
    const received = async () => (await client.messages.list(other.id).page()).data[0]
    await until(async () => (await received()) !== undefined)
    const listed = await received()
    assert.ok(listed !== undefined)
    const thread = await client.threads.get(listed.threadId)
    await untilReadable(world)
    const { data: events } = await client.events.list({ inbox_id: other.id }).page()
    const { data: deliveries } = await client.webhooks.deliveries(receiver.id).page()
    const raw = Buffer.from((await client.messages.raw(listed.id)).content)
    const { text } = await client.messages.view(listed.id)
    assert.ok(events.length > 0)
    for (const told of [JSON.stringify([listed, thread, events, deliveries]), String(raw), text]) {
      assert.ok(!told.toLowerCase().includes('hiddenbob'), told)
    }

    const captured = async () => (await client.sandbox.list().page()).data
    await until(async () => (await captured()).some((one) => one.to.includes(PLAIN.to)))
    const [one] = (await captured()).filter((each) => each.to.includes(PLAIN.to))
    assert.ok(one !== undefined)
    const { to: envelope, ...shown } = one
    assert.ok(envelope.length > 0)
    assert.ok(!JSON.stringify(shown).toLowerCase().includes('hiddenbob'))
    const returned = await client.messages.raw(sent.messageId)
    assert.ok(!Buffer.from(returned.content).toString().toLowerCase().includes('hiddenbob'))
    // Its own sender may know.
    assert.deepEqual((await client.messages.get(sent.messageId)).bcc, [HIDDEN])
  })
})

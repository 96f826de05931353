import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Inbox } from '@mailroom/sdk'
import type { Engine } from '#platform/db/db.ts'
import { runSql } from '#test/peers/sql.ts'
import { refusal, until } from '#test/scenarios/outcomes.ts'
import { deliveriesOf, openSendingWorld, send, settled } from '#test/scenarios/sending-world.ts'
import { onEachEngine, opened, openWorld, type World } from '#test/world.ts'

type Open = (engine: Engine) => Promise<World & { mta?: { commands: unknown[] } }>

const DELIVERIES: Record<string, Open> = {
  'in the sandbox': (engine) => openWorld(engine),
  'with direct delivery': openSendingWorld,
}

for (const [how, open] of Object.entries(DELIVERIES)) {
  onEachEngine(`mail between inboxes ${how}`, (engine) => mailBetweenInboxes(() => open(engine)))
}

function mailBetweenInboxes(open: () => ReturnType<Open>): void {
  const world = opened(open)

  /** The newest message of the inbox once it has `count` received ones. */
  async function received(inbox: Inbox, count = 1) {
    const list = world.client.messages.list(inbox.id, { direction: 'inbound', limit: 1 })
    await until(async () => (await list.page()).total >= count)
    const { data, total } = await list.page()
    assert.equal(total, count)
    const [message] = data
    assert.ok(message !== undefined)
    return message
  }

  test('makes a thread on both sides, and the answers stay in it', async () => {
    const ada = await world.client.inboxes.create({ displayName: 'Ada' })
    const bob = await world.inbox()
    const sent = await send(world, ada, { to: bob.address, subject: 'Between us' })
    const first = await received(bob)
    assert.deepEqual(
      [first.fromAddr, first.toAddr, first.headerTo, first.deliveryRole, first.subject],
      [`Ada <${ada.address}>`, bob.address, bob.address, 'to', 'Between us'],
    )
    assert.equal(first.rfcMessageId, sent.providerMessageId)
    assert.equal(first.status, 'received')
    assert.notEqual(first.threadId, sent.threadId)
    assert.equal((await world.client.threads.get(first.threadId)).isRead, false)
    assert.equal((await settled(world, sent)).status, 'sent')

    const back = await world.client.inboxes.reply(bob.id, first, { body: 'Yes.' })
    const second = await received(ada)
    assert.deepEqual([second.threadId, back.threadId], [sent.threadId, first.threadId])
    assert.equal(second.subject, 'Re: Between us')
    assert.equal(second.extractedText?.trim(), 'Yes.')
    await world.client.inboxes.reply(ada.id, second, { body: 'Good.' })
    const third = await received(bob, 2)
    assert.equal(third.threadId, first.threadId)
    assert.deepEqual(third.references, [first.rfcMessageId, second.rfcMessageId])
    for (const id of [sent.threadId, first.threadId]) {
      assert.equal((await world.client.threads.get(id)).messageCount, 3)
    }
  })

  test('is reported as accepted by this service, and none of it leaves', async () => {
    const [ada, bob] = [await world.inbox(), await world.inbox()]
    const sent = await send(world, ada, { to: bob.address })
    await received(bob)
    assert.equal((await settled(world, sent)).status, 'sent')
    const [delivery] = await deliveriesOf(world, sent)
    assert.deepEqual(
      [delivery?.status, delivery?.attempts, delivery?.responseCode, delivery?.host, delivery?.tls],
      ['accepted', 1, 250, 'mailroom.localhost', null],
    )
    const kinds = await runSql(world, `select kind, inbox_id from events order by sequence`)
    const ours = kinds.filter(({ inbox_id: id }) => id === ada.id || id === bob.id)
    assert.deepEqual(
      ours.map(({ kind, inbox_id: id }) => [kind, id]),
      [
        ['message.received', bob.id],
        ['message.sent', ada.id],
      ],
    )
    assert.deepEqual(world.mta?.commands ?? [], [])
  })

  test('to several inboxes is one message each, in its role', async () => {
    const ada = await world.inbox()
    const others = await Promise.all([world.inbox(), world.inbox(), world.inbox()])
    const [to, ...cc] = others.map(({ address }) => address)
    const sent = await send(world, ada, { to: to ?? '', cc })
    const roles = await Promise.all(others.map(async (one) => (await received(one)).deliveryRole))
    assert.deepEqual(roles, ['to', 'cc', 'cc'])
    assert.equal((await settled(world, sent)).status, 'sent')
    assert.equal((await deliveriesOf(world, sent)).length, 3)
    const copied = await received(others[1] ?? ada)
    assert.equal(copied.headerTo, to)
    assert.deepEqual(copied.cc, cc)
  })

  test('to oneself arrives beside what was sent', async () => {
    const ada = await world.inbox()
    const sent = await send(world, ada, { to: ada.address, subject: 'Note' })
    const note = await received(ada)
    assert.equal((await settled(world, sent)).status, 'sent')
    assert.deepEqual([note.rfcMessageId, note.subject], [sent.providerMessageId, 'Note'])
    assert.equal((await world.client.messages.list(ada.id).page()).total, 2)
    const again = await send(world, ada, { to: ada.address, threadId: sent.threadId })
    assert.equal((await received(ada, 2)).threadId, sent.threadId)
    assert.equal(again.threadId, sent.threadId)
  })

  test('with a tag, in other case or quoted reaches the inbox, once', async () => {
    const ada = await world.inbox()
    const bob = await world.inbox()
    const [name = ''] = bob.address.split('@')
    const forms = [
      `${name}+tag@mailroom.localhost`,
      `${name.toUpperCase()}@MAILROOM.localhost`,
      `"${name}"@mailroom.localhost`,
    ]
    for (const [index, to] of forms.entries()) {
      const sent = await send(world, ada, { to })
      assert.equal((await settled(world, sent)).status, 'sent', to)
      assert.equal((await received(bob, index + 1)).toAddr, bob.address)
    }
    const both = { to: bob.address, cc: [forms[0] ?? ''] }
    const sent = await send(world, ada, both)
    assert.equal((await settled(world, sent)).status, 'sent')
    assert.equal((await received(bob, forms.length + 1)).deliveryRole, 'to')
  })

  test('to an unknown name fails, without a suppression', async () => {
    const ada = await world.inbox()
    const name = `later-${ada.id.slice(-8)}`
    const to = `${name}@mailroom.localhost`
    const sent = await send(world, ada, { to })
    const message = await settled(world, sent)
    assert.equal(message.status, 'failed')
    assert.match(message.failureReason ?? '', /550 5\.1\.1/)
    const [delivery] = await deliveriesOf(world, sent)
    assert.deepEqual([delivery?.responseCode, delivery?.enhancedCode], [550, '5.1.1'])
    const later = await world.inbox(name)
    assert.equal((await settled(world, await send(world, ada, { to }))).status, 'sent')
    await received(later)
  })

  test('to postmaster reaches the operator', async () => {
    const ada = await world.inbox()
    const before = await runSql(world, 'select raw_id from postmaster_messages')
    const sent = await send(world, ada, { to: 'postmaster@mailroom.localhost' })
    assert.equal((await settled(world, sent)).status, 'sent')
    const after = await runSql(world, 'select raw_id from postmaster_messages')
    assert.equal(after.length, before.length + 1)
  })

  test('reaches inboxes of other accounts as well', async () => {
    const ada = await world.inbox()
    const { client } = await world.newAccount('free')
    const theirs = await client.inboxes.create()
    const sent = await send(world, ada, { to: theirs.address })
    assert.equal((await settled(world, sent)).status, 'sent')
    const { data } = await client.messages.list(theirs.id).page()
    assert.deepEqual(
      data.map(({ rfcMessageId }) => rfcMessageId),
      [sent.providerMessageId],
    )
    assert.equal(await refusal(client.messages.get(sent.messageId)), '404 not_found')
    assert.equal(await refusal(client.messages.deliveries(sent.messageId).page()), '404 not_found')
  })
}

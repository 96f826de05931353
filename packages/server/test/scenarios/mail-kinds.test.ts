// What kind of mail a received message is: in messages, threads and events.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Message } from '@mailroom/sdk'
import { deliver } from '#test/scenarios/deliver.ts'
import { untilReadable } from '#test/scenarios/event-world.ts'
import { until } from '#test/scenarios/outcomes.ts'
import { send } from '#test/scenarios/sending-world.ts'
import { onAnyEngine, onEachEngine, opened, openTenant, plainMail } from '#test/world.ts'

const NEWSLETTER = ['List-Unsubscribe: <https://shop.example/u>', 'Precedence: bulk']

function kindOf({ category, categoryReasons, autoReplyable, verdict, spamScore }: Message) {
  return { category, categoryReasons, autoReplyable, verdict, spamScore }
}

onAnyEngine('the kind of a message', (engine) => {
  const world = opened(() => openTenant(engine))

  test('has its reasons, and never invites an answer to a program', async () => {
    const inbox = await world.inbox()
    const raw = plainMail({ to: inbox.address, headers: NEWSLETTER })
    assert.deepEqual(kindOf(await deliver(world, inbox, raw)), {
      category: 'marketing',
      categoryReasons: [
        { rule: 'list-unsubscribe', detail: 'List-Unsubscribe: <https://shop.example/u>' },
        { rule: 'precedence', detail: 'Precedence: bulk' },
      ],
      autoReplyable: false,
      verdict: 'clean',
      spamScore: null,
    })
  })

  test('is that of a person who wrote to an inbox, but not of the inbox itself', async () => {
    const inbox = await world.inbox()
    const person = await deliver(world, inbox, plainMail({ to: inbox.address }))
    assert.deepEqual([person.category, person.autoReplyable], ['personal', true])
    const own = plainMail({ to: inbox.address, from: inbox.address })
    assert.equal((await deliver(world, inbox, own)).autoReplyable, false)
  })

  test('is in the event, with the names of events', async () => {
    const inbox = await world.inbox()
    const { id } = await deliver(
      world,
      inbox,
      plainMail({ to: inbox.address, headers: NEWSLETTER }),
    )
    await untilReadable(world)
    const { data } = await world.client.events.list({ inbox_id: inbox.id }).page()
    const message = data.find((event) => event.message?.id === id)?.message
    assert.equal(message?.category, 'marketing')
    assert.equal(message?.auto_replyable, false)
    assert.equal(message?.verdict, 'clean')
    assert.equal(message?.spam_score, null)
    assert.equal(message?.category_reasons.length, 2)
  })

  test('is unknown for sent mail, which nobody answers automatically', async () => {
    const inbox = await world.inbox()
    const { messageId } = await send(world, inbox)
    const message = await world.client.messages.get(messageId)
    assert.deepEqual(kindOf(message), {
      category: null,
      categoryReasons: [],
      autoReplyable: false,
      verdict: null,
      spamScore: null,
    })
    assert.equal((await world.client.threads.get(message.threadId)).category, null)
  })

  test('of a thread is that of its newest received message', async () => {
    const inbox = await world.inbox()
    const first = await deliver(world, inbox, plainMail({ to: inbox.address, messageId: '<k1@x>' }))
    const category = async () => (await world.client.threads.get(first.threadId)).category
    assert.equal(await category(), 'personal')
    await deliver(world, inbox, reply(inbox.address, ['Auto-Submitted: auto-replied']))
    assert.equal(await category(), 'automated')
    await send(world, inbox, { to: 'ann@sender.example', threadId: first.threadId })
    assert.equal(await category(), 'automated')
  })
})

function reply(to: string, headers: string[] = []): string {
  return plainMail({ to, headers: ['In-Reply-To: <k1@x>', ...headers] })
}

onEachEngine('a filter by category', (engine) => {
  const world = opened(() => openTenant(engine))
  const BOT = ['Auto-Submitted: auto-generated']

  test('of messages and threads gives pages with their total', async () => {
    const inbox = await world.inbox()
    const ids: string[] = []
    for (const headers of [[], BOT, [], BOT, []]) {
      ids.push((await deliver(world, inbox, plainMail({ to: inbox.address, headers }))).id)
    }
    await send(world, inbox)
    const [first, , second, , third] = ids
    const { messages, threads } = world.client
    const page = await messages.list(inbox.id, { category: 'personal', limit: 2 }).page()
    assert.deepEqual([page.data.map(({ id }) => id), page.total], [[third, second], 3])
    const rest = await messages.list(inbox.id, { category: 'personal', offset: 2 }).page()
    assert.deepEqual([rest.data.map(({ id }) => id), rest.total], [[first], 3])
    const sent = { category: 'personal', direction: 'outbound' } as const
    assert.equal((await messages.list(inbox.id, sent).page()).total, 0)
    assert.equal((await messages.list(inbox.id, { category: 'spam' }).page()).total, 0)
    const robots = await threads.list(inbox.id, { category: 'automated' }).page()
    assert.deepEqual(
      [robots.data.map(({ category }) => category), robots.total],
      [['automated', 'automated'], 2],
    )
    await threads.update(robots.data[0]?.id ?? '', { is_read: true })
    const unread = await threads.list(inbox.id, { category: 'automated', is_read: false }).page()
    assert.deepEqual([unread.data.map(({ id }) => id), unread.total], [[robots.data[1]?.id], 1])
    const deep = await threads.list(inbox.id, { category: 'automated', offset: 1 }).page()
    assert.deepEqual([deep.data.map(({ id }) => id), deep.total], [[robots.data[1]?.id], 2])
  })

  test('that is unknown is refused', async () => {
    const inbox = await world.inbox()
    for (const path of ['messages', 'threads', 'wait']) {
      const response = await world.fetch(`/v1/inboxes/${inbox.id}/${path}?category=ham`)
      assert.equal(response.status, 400)
    }
    assert.equal((await world.fetch('/v1/events?categories=personal,ham')).status, 400)
  })

  test('of the log leaves out only received mail of other categories', async () => {
    const inbox = await world.inbox()
    await deliver(world, inbox, plainMail({ to: inbox.address, headers: BOT }))
    await deliver(world, inbox, plainMail({ to: inbox.address }))
    await send(world, inbox)
    const told = async () => {
      const asked = { inbox_id: inbox.id, categories: 'personal,bounce' }
      const { data, total } = await world.client.events.list(asked).page()
      assert.equal(total, data.length)
      return data.map(({ event, message }) => `${event} ${message?.category}`)
    }
    await until(async () => (await told()).length === 2)
    assert.deepEqual(await told(), ['message.received personal', 'message.sent null'])
  })

  test('of a wait passes over mail of other categories', async () => {
    const inbox = await world.inbox()
    const options = { category: 'personal', timeoutMs: 30_000 } as const
    const first = await deliver(world, inbox, plainMail({ to: inbox.address, headers: BOT }))
    const later = await deliver(world, inbox, plainMail({ to: inbox.address }))
    const { inboxes } = world.client
    assert.equal(
      (await inboxes.waitForMessage(inbox.id, { ...options, after: first.id }))?.id,
      later.id,
    )
    const waiting = inboxes.waitForMessage(inbox.id, { ...options, after: later.id })
    await deliver(world, inbox, plainMail({ to: inbox.address, headers: BOT }))
    const last = await deliver(world, inbox, plainMail({ to: inbox.address, subject: 'Third' }))
    assert.equal((await waiting)?.id, last.id)
  })

  test('of a WebSocket and of a webhook is kept, and applied', async () => {
    const inbox = await world.inbox()
    const events = world.client.events.follow({ inboxIds: [inbox.id], categories: ['personal'] })
    const next = events.next()
    const { id } = await world.client.webhooks.create({
      url: 'https://receiver.example/hook',
      inboxIds: [inbox.id],
      categories: ['personal', 'bounce'],
    })
    await deliver(world, inbox, plainMail({ to: inbox.address, headers: BOT }))
    const personal = await deliver(world, inbox, plainMail({ to: inbox.address }))
    assert.equal((await next).value?.message?.id, personal.id)
    await events.return()
    const deliveries = () => world.client.webhooks.deliveries(id).page()
    await until(async () => (await deliveries()).total > 0)
    assert.equal((await deliveries()).total, 1)
    assert.deepEqual((await world.client.webhooks.get(id)).categories, ['personal', 'bounce'])
    const changed = await world.client.webhooks.update(id, { categories: null })
    assert.deepEqual(changed.categories, [])
  })
})

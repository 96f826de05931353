// What kind of mail a received message is: in messages, threads and events.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Message } from '@mailroom/sdk'
import { fillCategories } from '#removal/removal.ts'
import { runSql } from '#test/peers/sql.ts'
import { deliver } from '#test/scenarios/deliver.ts'
import { send } from '#test/scenarios/sending-world.ts'
import { onAnyEngine, onEachEngine, opened, openWorld, plainMail } from '#test/world.ts'

const NEWSLETTER = ['List-Unsubscribe: <https://shop.example/u>', 'Precedence: bulk']

function kindOf({ category, categoryReasons, autoReplyable, verdict, spamScore }: Message) {
  return { category, categoryReasons, autoReplyable, verdict, spamScore }
}

onAnyEngine('the kind of a message', (engine) => {
  const world = opened(() => openWorld(engine))

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

onEachEngine('mail that an earlier version received', (engine) => {
  const world = opened(() => openWorld(engine))

  test('has a kind at once, and its category in lists once the background work is done', async () => {
    const inbox = await world.inbox()
    const old = await deliver(world, inbox, plainMail({ to: inbox.address, messageId: '<k1@x>' }))
    const newest = await deliver(
      world,
      inbox,
      reply(inbox.address, ['Precedence: bulk', 'Auto-Submitted: auto-replied']),
    )
    const change = "set category = null, judgement = null where direction = 'inbound'"
    await runSql(world, `update messages ${change}`)
    await runSql(world, 'update threads set category = null')
    const shown = [
      await world.client.messages.get(old.id),
      await world.client.messages.get(newest.id),
    ]
    assert.deepEqual(shown.map(kindOf), [
      {
        category: 'personal',
        categoryReasons: [],
        autoReplyable: true,
        verdict: 'clean',
        spamScore: null,
      },
      {
        category: 'automated',
        categoryReasons: [{ rule: 'auto-submitted', detail: '' }],
        autoReplyable: false,
        verdict: 'clean',
        spamScore: null,
      },
    ])
    await fillCategories(world.app.deps, new AbortController().signal)
    const left = "select id from messages where category is null and direction = 'inbound'"
    assert.deepEqual(await runSql(world, left), [])
    assert.equal((await world.client.threads.get(old.threadId)).category, 'automated')
  })
})

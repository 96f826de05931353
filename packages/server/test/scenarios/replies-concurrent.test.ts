import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Inbox, Message } from '@mailroom/sdk'
import { deliver } from '#test/scenarios/deliver.ts'
import { onEachEngine, opened, openWorld, plainMail } from '#test/world.ts'

onEachEngine('replies at once', (engine) => {
  const world = opened(() => openWorld(engine))

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

  test('stand in a chain without a gap', async () => {
    for (const count of [3, 10]) {
      const inbox = await world.inbox()
      const first = await deliver(world, inbox, ask(inbox, 0))
      await Promise.all(Array.from({ length: count }, () => reply(inbox, first)))
      await assertChain(first, count + 1)
    }
  })

  test('are all sent, however many they are, and mail that arrives meanwhile is in the thread', async () => {
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

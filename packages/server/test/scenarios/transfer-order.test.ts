// Where imported mail that is older than what an inbox has shows up.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deliver } from '#test/scenarios/deliver.ts'
import { imported, mailFrom, mboxOf } from '#test/scenarios/transfer-mail.ts'
import { onAnyEngine, opened, openTenant, plainMail } from '#test/world.ts'

onAnyEngine('an import of older mail', (engine) => {
  const world = opened(() => openTenant(engine))

  test('stays behind what the inbox has received since, in every list and in its thread', async () => {
    const { client } = world
    const inbox = await world.inbox()
    const raw = plainMail({
      to: inbox.address,
      from: 'new@b.example',
      messageId: '<new@x.example>',
    })
    const today = await deliver(world, inbox, raw)
    const before = await client.threads.get(today.threadId)
    const answer = mailFrom('old@a.example', 'answer', 'In-Reply-To: <new@x.example>\n')
    const file = mboxOf(mailFrom('old@a.example', 'alone'), answer)
    assert.equal((await imported(client, inbox.id, file)).imported, 2)

    const { data: messages } = await client.messages.list(inbox.id).page()
    assert.equal(messages.length, 3)
    assert.equal(messages[0]?.id, today.id)
    const { data: threads } = await client.threads.list(inbox.id).page()
    assert.deepEqual(
      threads.map(({ id, messageCount }) => [id === today.threadId, messageCount]),
      [
        [true, 2],
        [false, 1],
      ],
    )
    assert.equal((await client.inboxes.get(inbox.id)).lastMessageAt, today.createdAt)
    const [thread] = threads
    assert.deepEqual(
      [thread?.lastMessageAt, thread?.snippet, thread?.participants.map(({ address }) => address)],
      [before.lastMessageAt, before.snippet, ['new@b.example', 'old@a.example']],
    )
    const { data: inThread } = await client.threads.messages(today.threadId)
    assert.deepEqual(
      inThread.map(({ id }) => id === today.id),
      [false, true],
    )
  })
  test('gives no category to mail that the inbox sent, even if it is that of a list', async () => {
    const { client } = world
    const inbox = await world.inbox()
    const own = mailFrom(inbox.address, 'mine', 'List-Id: <l.x.example>\nPrecedence: bulk\n')
    assert.equal((await imported(client, inbox.id, mboxOf(own))).imported, 1)
    const [sent] = (await client.messages.list(inbox.id).page()).data
    assert.deepEqual(
      [sent?.direction, sent?.category, sent?.categoryReasons, sent?.verdict],
      ['outbound', null, [], null],
    )
    const filtered = await client.messages.list(inbox.id, { category: 'marketing' }).page()
    assert.equal(filtered.total, 0)
  })
})

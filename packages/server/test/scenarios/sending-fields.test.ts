import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import type { Inbox, SentMessage } from '@mailroom/sdk'
import { countMessages, countRows } from '#test/scenarios/deliver.ts'
import { outcomeOf, refusal } from '#test/scenarios/outcomes.ts'
import { PLAIN, send } from '#test/scenarios/sending-world.ts'
import { onEachEngine, opened, openWorld, plainMail } from '#test/world.ts'

onEachEngine('the fields of a send', (engine) => {
  const world = opened(() => openWorld(engine))
  let inbox: Inbox
  before(async () => {
    inbox = await world.inbox()
  })

  const post = (body: unknown, inboxId = inbox.id) =>
    world.fetch(`/v1/inboxes/${inboxId}/send`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': randomUUID() },
      body: JSON.stringify(body),
    })

  test('of every length that is taken are kept and shown as they were sent', async () => {
    const file = { filename: 'a.txt', contentType: 'text/plain', data: 'aGk=' }
    const longest = {
      subject: 'é名'.repeat(499),
      body: '😀'.repeat(100_000),
      bodyHtml: 'x'.repeat(500_000),
      cc: Array.from({ length: 50 }, (_, index) => `copy${index}@friend.example`),
      attachments: Array.from({ length: 100 }, () => file),
    }
    for (const fields of [longest, { subject: 'x', body: 'x', bodyHtml: '', replyTo: null }]) {
      const response = await post({ ...PLAIN, ...fields })
      assert.equal(response.status, 200, await response.clone().text())
      const { messageId } = (await response.json()) as SentMessage
      const message = await world.client.messages.get(messageId)
      assert.equal(message.bodyText, fields.body)
      assert.equal(message.subject, fields.subject)
    }
    const before = await countRows(world, 'messages')
    assert.equal(await outcomeOf(post({ ...PLAIN, body: 7 })), '400 bad_request')
    assert.equal(await countRows(world, 'messages'), before)
  })

  test('a thread that does not exist, of another inbox or of another account is not found', async () => {
    const other = await world.inbox()
    const stranger = await world.newAccount()
    const strange = await stranger.client.inboxes.create()
    const foreign = await send(stranger, strange)
    const elsewhere = await send(world, other)
    for (const threadId of [
      elsewhere.threadId,
      foreign.threadId,
      'thr_01h455vb4pex5vsknk084sn02q',
      'nothing',
      '',
    ]) {
      const sending = send(world, inbox, { threadId })
      assert.equal(await refusal(sending), '404 not_found', threadId)
    }
    assert.equal(await refusal(send(stranger, inbox)), '404 not_found')
    assert.equal(await refusal(send(world, { id: 'nothing' })), '404 not_found')
    assert.equal(await countMessages(world, other), 1)
  })

  test('in a thread the subject is that of the thread, whatever a send says', async () => {
    const raw = plainMail({ to: inbox.address, subject: 'Asked', messageId: '<asked@x.example>' })
    await world.send({ to: inbox.address, raw })
    const { data } = await world.client.threads.list(inbox.id).page()
    const threadId = data[0]?.id ?? ''
    const { subject: _, ...without } = PLAIN
    const plain = await world.client.inboxes.send(inbox.id, { ...without, threadId })
    const own = await send(world, inbox, { threadId, subject: 'Now this' })
    const subjects = [plain, own].map(async ({ messageId }) => {
      return (await world.client.messages.get(messageId)).subject
    })
    assert.deepEqual(await Promise.all(subjects), ['Re: Asked', 'Re: Asked'])
    assert.equal((await world.client.threads.get(threadId)).subject, 'Asked')
  })
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { holdSend } from '#test/scenarios/review-world.ts'
import { openSendingTenant, send, settled } from '#test/scenarios/sending-world.ts'
import { onEachEngine, opened, plainMail } from '#test/world.ts'

const HOUR_MS = 3_600_000

onEachEngine('a thread in a list', (engine) => {
  const world = opened(() => openSendingTenant(engine))

  const receive = async (to: string, fields: { messageId: string; headers?: string[] }) => {
    const raw = plainMail({ to, subject: 'Question', headers: [], ...fields })
    assert.equal((await world.send({ to, raw })).code, 250)
  }

  test('shows the state and the recipients of its newest message', async () => {
    const account = await world.newAccount()
    const { client } = account
    const approver = await client.approvers.create({ name: 'Ann' })
    const asApprover = world.clientWith(approver.token)
    const inbox = await client.inboxes.create()
    const to = ['Bob Brown <bob@friend.example>']
    const sendAt = new Date(world.clock.now() + HOUR_MS).toISOString()
    const stateOf = async (threadId: string) => {
      const { data } = await client.threads.list(inbox.id).page()
      const listed = data.find(({ id }) => id === threadId)
      assert.deepEqual(await client.threads.get(threadId), listed)
      return listed?.lastMessage
    }
    const sentTo = [{ name: 'Bob Brown', address: 'bob@friend.example' }]
    const outbound = (state: string) => ({ direction: 'outbound', state, to: sentTo })

    const scheduled = await client.inboxes.send(inbox.id, {
      to,
      subject: 'Later',
      body: 'x',
      sendAt,
    })
    assert.deepEqual(await stateOf(scheduled.threadId), outbound('scheduled'))
    await client.messages.cancel(scheduled.messageId)
    assert.deepEqual(await stateOf(scheduled.threadId), outbound('cancelled'))

    const held = await holdSend(world, inbox, { to }, { client })
    assert.deepEqual(await stateOf(held.threadId), outbound('held'))
    await asApprover.reviews.reject(held.reviewId, { reason: 'No.' })
    assert.deepEqual(await stateOf(held.threadId), outbound('rejected'))

    await receive(inbox.address, { messageId: '<question@x.example>' })
    const [asked] = (await client.threads.list(inbox.id, { is_read: false }).page()).data
    assert.deepEqual(asked?.lastMessage, { direction: 'inbound', state: 'received', to: [] })
    const answer = await client.inboxes.send(inbox.id, {
      threadId: asked.id,
      to,
      subject: 'Re: Question',
      body: 'Yes.',
    })
    await settled({ ...world, client }, answer)
    assert.deepEqual(await stateOf(asked.id), outbound('sent'))
  })

  test('has attachments if one of its messages has', async () => {
    const inbox = await world.inbox()
    await receive(inbox.address, { messageId: '<plain@x.example>' })
    const file = { filename: 'a.txt', contentType: 'text/plain', data: Buffer.from('file') }
    const sent = await send(world, inbox, { attachments: [file] })
    await settled(world, sent)
    const { data } = await world.client.threads.list(inbox.id).page()
    assert.deepEqual(
      data.map(({ id, hasAttachments }) => [id === sent.threadId, hasAttachments]),
      [
        [true, true],
        [false, false],
      ],
    )
  })

  test('is listed with sent mail if the inbox sent one of its messages', async () => {
    const inbox = await world.inbox()
    const sent = await send(world, inbox, { subject: 'Sent first' })
    await receive(inbox.address, { messageId: '<other@x.example>' })
    await receive(inbox.address, {
      messageId: '<reply@x.example>',
      headers: [`In-Reply-To: ${sent.providerMessageId}`],
    })
    const list = async (query: { direction?: 'inbound' | 'outbound'; subject?: string }) => {
      const page = await world.client.threads.list(inbox.id, query).page()
      return [page.total, page.data.map(({ id }) => id === sent.threadId)]
    }
    assert.deepEqual(await list({ direction: 'outbound' }), [1, [true]])
    assert.deepEqual(await list({ direction: 'inbound' }), [2, [true, false]])
    // One message must match all of it.
    assert.deepEqual(await list({ direction: 'outbound', subject: 'question' }), [0, []])
    assert.deepEqual(await list({ direction: 'inbound', subject: 'question' }), [2, [true, false]])
  })
})

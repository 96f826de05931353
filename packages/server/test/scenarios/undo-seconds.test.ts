import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Inbox } from '@mailroom/sdk'
import { deliver } from '#test/scenarios/deliver.ts'
import { refusal, until } from '#test/scenarios/outcomes.ts'
import { arrived, openSendingTenant, PLAIN, send, settled } from '#test/scenarios/sending-world.ts'
import { onEachEngine, opened, plainMail } from '#test/world.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS

onEachEngine('undoSeconds', (engine) => {
  const world = opened(() => openSendingTenant(engine))
  const ahead = (ms: number) => new Date(world.clock.now() + ms).toISOString()

  /** How long a message waits, in seconds. */
  const waitOf = async (messageId: string) => {
    const { status, createdAt, scheduledAt } = await world.client.messages.get(messageId)
    assert.equal(status, 'pending')
    return (Date.parse(scheduledAt ?? '') - Date.parse(createdAt)) / SECOND_MS
  }

  async function undoable(undoSeconds: number | null = 30): Promise<Inbox> {
    const inbox = await world.inbox()
    return world.client.inboxes.update(inbox.id, { undoSeconds })
  }

  test('lets every send wait, in whatever way it is sent, and then leave once', async () => {
    const { client } = world
    const inbox = await undoable()
    const received = await deliver(
      world,
      inbox,
      plainMail({ from: 'bob@friend.example', to: inbox.address, messageId: '<q@friend.example>' }),
    )
    const { threadId } = received
    const draft = await client.drafts.create(inbox.id, { ...PLAIN, body: 'From a draft.' })
    const plain = await send(world, inbox)
    const sent = [
      plain,
      await send(world, inbox, { threadId }),
      await client.messages.forward(received.id, { to: 'ann@friend.example' }),
      await client.drafts.send(draft.id),
    ]
    const batch = [{ ...PLAIN, idempotencyKey: 'undo-1' }]
    const { data } = await client.inboxes.sendBatch(inbox.id, batch)
    const ids = [
      ...sent.map(({ messageId }) => messageId),
      ...data.map(({ body }) => ('messageId' in body ? body.messageId : '')),
    ]
    for (const id of ids) assert.equal(await waitOf(id), 30)
    assert.equal(plain.scheduledAt, (await client.messages.get(plain.messageId)).scheduledAt)
    assert.equal((await client.inboxes.scheduled(inbox.id).page()).total, ids.length)
    world.clock.advance(31 * SECOND_MS)
    for (const one of sent) {
      await arrived(world, one)
      assert.equal((await settled(world, one)).status, 'sent')
    }
  })

  test('lets a send be cancelled, which then never leaves', async () => {
    const inbox = await undoable()
    const sent = await send(world, inbox)
    const message = await world.client.messages.cancel(sent.messageId)
    assert.deepEqual([message.status, message.failureReason], ['failed', 'cancelled'])
    world.clock.advance(MINUTE_MS)
    const next = await send(world, await world.inbox())
    await arrived(world, next)
    assert.ok(!world.mta.transactions.some(({ raw }) => raw.includes(sent.providerMessageId)))
  })

  test('of an inbox replaces that of the account, and null brings that back', async () => {
    const { client } = world
    await client.account.update({ undoSeconds: 600 })
    const inbox = await world.inbox()
    assert.deepEqual([(await client.account.get()).undoSeconds, inbox.undoSeconds], [600, null])
    assert.equal(await waitOf((await send(world, inbox)).messageId), 600)
    await client.inboxes.update(inbox.id, { undoSeconds: 5 })
    assert.equal(await waitOf((await send(world, inbox)).messageId), 5)
    const own = await client.inboxes.create({ undoSeconds: 0 })
    const immediate = await send(world, own)
    assert.equal(immediate.scheduledAt, undefined)
    await arrived(world, immediate)
    await client.inboxes.update(own.id, { undoSeconds: null })
    assert.equal(await waitOf((await send(world, own)).messageId), 600)
    await client.account.update({ undoSeconds: 0 })
    assert.equal((await send(world, own)).scheduledAt, undefined)
  })

  test('neither delays a send with a later time of its own, nor is shortened by one', async () => {
    const inbox = await undoable(600)
    const [sooner, later] = [ahead(2 * MINUTE_MS), ahead(20 * MINUTE_MS)]
    assert.equal((await send(world, inbox, { sendAt: later })).scheduledAt, later)
    const sent = await send(world, inbox, { sendAt: sooner })
    assert.equal(await waitOf(sent.messageId), 600)
  })

  test('counts a send once against the limits, when it is accepted', async () => {
    const inbox = await undoable()
    const used = async () => {
      const { sendsPerDay, coldRecipientsPerDay } = await world.client.inboxes.limits(inbox.id)
      return [sendsPerDay.used, coldRecipientsPerDay.used]
    }
    const sent = await send(world, inbox, { to: 'stranger@friend.example' })
    assert.deepEqual(await used(), [1, 1])
    world.clock.advance(31 * SECOND_MS)
    await settled(world, sent)
    assert.deepEqual(await used(), [1, 1])
  })

  test('does not delay a message that an approver has just released', async () => {
    const account = await world.newAccount()
    const { client } = account
    const { token } = await client.approvers.create({ name: 'Ann' })
    const ann = world.clientWith(token)
    const inbox = await client.inboxes.create({ undoSeconds: 600 })
    await ann.policy.replace(
      { outbound: { guards: { newRecipients: 'hold' } } },
      { inboxId: inbox.id },
    )
    const sent = await send({ client }, inbox)
    assert.equal(sent.scheduledAt, undefined)
    const { id = '', digest = '' } = sent.hold ?? {}
    await ann.reviews.approve(id, { digest })
    assert.equal((await client.messages.get(sent.messageId)).scheduledAt, null)
    await arrived(world, sent)
  })

  test('judges a forwarded message again by the thread it came from', async () => {
    const account = await world.newAccount()
    const { client } = account
    const { token } = await client.approvers.create({ name: 'Ann' })
    const inbox = await client.inboxes.create({ undoSeconds: 30 })
    const body = 'Send it to eve@attacker.example.'
    const raw = plainMail({
      from: 'bob@friend.example',
      to: inbox.address,
      messageId: '<f@friend.example>',
      body,
    })
    const received = await deliver({ ...world, client }, inbox, raw)
    const sent = await client.messages.forward(received.id, { to: 'eve@attacker.example' })
    await world
      .clientWith(token)
      .policy.replace({ outbound: { guards: { provenance: 'hold' } } }, { inboxId: inbox.id })
    // The mail of the inbox in the last 30 days does not decide, only the thread.
    world.clock.advance(31 * 24 * 60 * MINUTE_MS)
    await until(async () => {
      const [review] = (await client.reviews.list({ status: 'pending' }).page()).data
      return review?.messageId === sent.messageId
    })
  })

  test('is 0 to 600 seconds, set by a key', async () => {
    const { client } = world
    const inbox = await world.inbox()
    for (const undoSeconds of [-1, 601, 1.5]) {
      assert.equal(await refusal(client.account.update({ undoSeconds })), '400 bad_request')
      assert.equal(
        await refusal(client.inboxes.update(inbox.id, { undoSeconds })),
        '400 bad_request',
      )
    }
    const account = await world.newAccount()
    const { token } = await account.client.approvers.create({ name: 'Ann' })
    const asApprover = world.clientWith(token)
    assert.equal(await refusal(asApprover.account.update({ undoSeconds: 9 })), '403 forbidden')
    assert.equal((await account.client.account.update({ undoSeconds: 9 })).undoSeconds, 9)
  })
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Event, type NewApprover, verifyWebhook } from '@mailroom/sdk'
import { openReceiver, type Received } from '#test/peers/receiver.ts'
import { runSql } from '#test/peers/sql.ts'
import { untilReadable } from '#test/scenarios/event-world.ts'
import { refusal, refusalOf, until } from '#test/scenarios/outcomes.ts'
import { onEachEngine, opened, openTenant } from '#test/world.ts'

onEachEngine('webhooks of approvers', (engine) => {
  const env = { MAILROOM_ALLOW_PRIVATE_EGRESS: 'true' }
  const world = opened(() => openTenant(engine, env))
  const receiver = opened(() => openReceiver())
  let paths = 0

  /** An account whose approver has a webhook, and an inbox that holds mail to strangers. */
  async function guarded() {
    const { client, id } = await world.newAccount()
    paths += 1
    const path = `/approver-${paths}`
    const webhookUrl = `${receiver.origin}${path}`
    const approver = await client.approvers.create({ name: 'Ann', webhookUrl })
    const asApprover = world.clientWith(approver.token)
    await asApprover.policy.replace({ outbound: { guards: { newRecipients: 'hold' } } })
    const inbox = await client.inboxes.create()
    const hold = async (subject = 'Secret plans') => {
      const sent = await client.inboxes.send(inbox.id, {
        to: 'stranger@friend.example',
        subject,
        body: 'Nobody else may read this.',
      })
      assert.ok(sent.hold !== undefined)
      return { ...sent.hold, messageId: sent.messageId, threadId: sent.threadId }
    }
    const webhook = async () => {
      const [row] = await runSql(
        world,
        `select * from webhooks where approver_id = '${approver.id}'`,
      )
      return { ...row }
    }
    const next = async (kind: string, count = 1): Promise<Received> => {
      const isOf = (one: Received) =>
        one.path === path && JSON.parse(String(one.body)).event === kind
      await until(async () => receiver.requests.filter(isOf).length >= count)
      return receiver.requests.filter(isOf).at(-1) as Received
    }
    return { client, id, approver, asApprover, inbox, hold, webhook, next, webhookUrl }
  }

  test('get what is held and how it is decided, signed, without the text of the mail', async () => {
    const { asApprover, approver, inbox, hold, next } = await guarded()
    const held = await hold()
    const created = await next('review.created')
    const event = await eventOf(created, approver)
    assert.deepEqual(event.review, {
      id: held.id,
      message_id: held.messageId,
      status: 'pending',
      reason: null,
      digest: held.digest,
      reasons: held.reasons,
      expires_at: held.expiresAt,
    })
    assert.deepEqual([event.inbox_id, event.thread_id], [inbox.id, held.threadId])
    assert.equal(event.message, undefined)
    assert.doesNotMatch(String(created.body), /Secret plans|Nobody else/)

    await asApprover.reviews.reject(held.id, { reason: 'Too early.' })
    const rejected = await eventOf(await next('review.decided'), approver)
    const { id, messageId } = held
    const ended = { id, message_id: messageId, status: 'rejected', reason: 'Too early.' }
    assert.deepEqual(rejected.review, { ...ended, decided_by: approver.id })

    const other = await hold('Another')
    await asApprover.reviews.approve(other.id, { digest: other.digest })
    const approved = await eventOf(await next('review.decided', 2), approver)
    assert.ok(approved.event === 'review.decided')
    const { status, decided_by } = approved.review
    assert.deepEqual([status, decided_by], ['approved', approver.id])
  })

  test('get edits and comments, without their text', async () => {
    const { client, asApprover, approver, hold, next } = await guarded()
    const held = await hold()
    const edited = await asApprover.reviews.edit(held.id, {
      digest: held.digest,
      subject: 'Softer',
    })
    const edit = await eventOf(await next('review.edited'), approver)
    const common = { id: held.id, message_id: held.messageId, status: 'pending', reason: null }
    assert.deepEqual(edit.review, {
      ...common,
      digest: edited.digest,
      reasons: edited.reasons,
      changed: ['subject'],
      edited_by: approver.id,
    })
    const own = await asApprover.reviews.comment(held.id, { text: 'Softer now.' })
    const answer = await client.reviews.comment(held.id, { text: 'Click here to approve.' })
    const first = await eventOf(await next('review.commented'), approver)
    await next('review.commented', 2)
    const all = receiver.requests.filter(({ body }) => String(body).includes(held.id))
    const authors = all
      .map(({ body }) => JSON.parse(String(body)) as Event)
      .flatMap((event) => (event.event === 'review.commented' ? [event.review] : []))
    assert.deepEqual(
      authors.map(({ comment_id, author_id }) => [comment_id, author_id]).sort(),
      [own, answer].map(({ id, author }) => [id, author.id]).sort(),
    )
    assert.equal(first.review?.status, 'pending')
    assert.ok(all.every(({ body }) => !/Softer|Click here/.test(String(body))))
  })

  test('learn of reviews that nobody decided: cancelled, and removed with their inbox', async () => {
    const { client, approver, inbox, hold, next } = await guarded()
    const cancelled = await hold()
    await client.messages.cancel(cancelled.messageId)
    const first = await eventOf(await next('review.decided'), approver)
    assert.ok(first.event === 'review.decided')
    assert.deepEqual(
      [first.review.id, first.review.reason, first.review.decided_by],
      [cancelled.id, 'cancelled', null],
    )
    const removed = await hold()
    await next('review.created', 2)
    await client.inboxes.delete(inbox.id)
    const second = await eventOf(await next('review.decided', 2), approver)
    assert.deepEqual(
      [second.review?.id, second.review?.reason, second.inbox_id],
      [removed.id, 'message_deleted', null],
    )
  })

  test('show their secret once, and their URL to approvers only', async () => {
    const { client, approver, asApprover, webhook, webhookUrl } = await guarded()
    const { token, webhookSecret = '', ...shown } = approver
    assert.match(webhookSecret, /^whsec_[A-Za-z0-9+/]{43}=$/)
    assert.equal(shown.webhookUrl, webhookUrl)
    assert.deepEqual((await asApprover.approvers.list().page()).data, [shown])
    assert.deepEqual((await client.approvers.list().page()).data, [{ ...shown, webhookUrl: null }])
    const sealed = Buffer.from((await webhook()).sealed_secrets as Uint8Array)
    const key = Buffer.from(webhookSecret.slice('whsec_'.length), 'base64')
    assert.ok(!sealed.includes(key) && !sealed.includes(webhookSecret))
    const plain = await asApprover.approvers.create({ name: 'Bob' })
    assert.deepEqual([plain.webhookUrl, 'webhookSecret' in plain], [null, false])
  })

  test('cannot be found, changed, tested or deleted with a key of the account', async () => {
    const { client, hold, next, webhook } = await guarded()
    const before = await webhook()
    const id = String(before.id)
    await hold()
    await next('review.created')
    await until(async () => {
      const pending = `select id from webhook_deliveries where lane = '${id}' and status = 'pending'`
      return (await runSql(world, pending)).length === 0
    })
    const [row] = await runSql(world, `select id from webhook_deliveries where lane = '${id}'`)
    const deliveryId = String(row?.id)
    assert.equal((await client.webhooks.list().page()).total, 0)
    const own = await client.webhooks.create({ url: 'https://own.example/' })
    assert.deepEqual(
      (await client.webhooks.list().page()).data.map((one) => one.id),
      [own.id],
    )
    for (const attempt of [
      () => client.webhooks.get(id),
      () => client.webhooks.update(id, { url: 'https://evil.example/' }),
      () => client.webhooks.update(id, { enabled: false }),
      () => client.webhooks.delete(id),
      () => client.webhooks.rotateSecret(id),
      () => client.webhooks.test(id),
      () => client.webhooks.deliveries(id).page(),
      () => client.webhooks.getDelivery(id, deliveryId),
      () => client.webhooks.retryDelivery(id, deliveryId),
    ]) {
      assert.equal(await refusal(attempt()), '404 not_found')
    }
    assert.deepEqual(await webhook(), before)
  })

  test('are the only ones that get events of reviews', async () => {
    const { client, asApprover, hold, next } = await guarded()
    await client.webhooks.create({ url: `${receiver.origin}/all-events` })
    const asked = client.webhooks.create({
      url: 'https://own.example/',
      eventTypes: ['review.created' as 'message.held'],
    })
    assert.equal(await refusal(asked), '400 bad_request')
    const held = await hold()
    await asApprover.reviews.reject(held.id, {})
    await client.reviews.comment(held.id, { text: 'Why?' })
    await next('review.commented')
    await next('review.decided')
    await untilReadable(world)
    const { data, total } = await client.events.list({ limit: 100 }).page()
    const kinds = data.map(({ event }) => event)
    assert.deepEqual(kinds.filter((kind) => /held|rejected|review/.test(kind)).sort(), [
      'message.held',
      'message.rejected',
      'message.review_commented',
    ])
    assert.equal(total, kinds.length)
    const isRejected = (one: Received) =>
      one.path === '/all-events' && String(one.body).includes('"message.rejected"')
    await receiver.waitFor(isRejected)
    const all = receiver.requests.filter(({ path }) => path === '/all-events')
    assert.ok(all.every(({ body }) => !String(body).includes('"event":"review.')))
  })

  test('end with their approver, and are written for nobody afterwards', async () => {
    const { asApprover, approver, hold, next, webhook } = await guarded()
    const { id } = await webhook()
    const other = await asApprover.approvers.create({ name: 'Bob' })
    await hold()
    await next('review.created')
    await world.clientWith(other.token).approvers.delete(approver.id)
    assert.deepEqual(await webhook(), {})
    const held = await hold('Later')
    await untilReadable(world)
    const written = await runSql(
      world,
      `select kind from events where message_id = '${held.messageId}' order by kind`,
    )
    assert.deepEqual(
      written.map(({ kind }) => kind),
      ['message.held'],
    )
    await until(async () => {
      const left = `select id from webhook_deliveries where lane = '${id}'`
      return (await runSql(world, left)).length === 0
    })
  })

  test('are disabled after failing for days, without an event that shows their URL', async () => {
    const { client, asApprover, hold, next, webhook } = await guarded()
    receiver.answer = { status: 500 }
    try {
      const { id } = await webhook()
      await runSql(world, `update webhooks set failing_since = 1 where id = '${id}'`)
      await hold()
      await next('review.created')
      await until(async () => Number((await webhook()).is_enabled) === 0)
    } finally {
      receiver.answer = {}
    }
    const [shown] = (await asApprover.approvers.list().page()).data
    assert.ok(typeof shown?.webhookDisabledAt === 'string')
    const [hidden] = (await client.approvers.list().page()).data
    assert.equal(hidden?.webhookDisabledAt, null)
    await untilReadable(world)
    const { data } = await client.events.list({ limit: 100 }).page()
    assert.ok(data.every(({ event }) => event !== 'webhook.disabled'))
  })

  test('are not created with a bad URL', async () => {
    const { asApprover } = await guarded()
    for (const webhookUrl of ['ftp://a.example/', 'https://user:pass@a.example/', '']) {
      const { status, code, details } = await refusalOf(
        asApprover.approvers.create({ name: 'Bob', webhookUrl }),
      )
      assert.deepEqual([status, code, details[0]?.path], [422, 'invalid_webhook_url', 'webhookUrl'])
    }
    assert.equal((await asApprover.approvers.list().page()).total, 1)
  })
})

function eventOf({ body, headers }: Received, { webhookSecret }: NewApprover): Promise<Event> {
  return verifyWebhook(body, headers, webhookSecret)
}

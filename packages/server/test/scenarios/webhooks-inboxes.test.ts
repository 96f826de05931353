import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { openReceiver } from '#test/peers/receiver.ts'
import { runSql } from '#test/peers/sql.ts'
import { countOutcomes, refusal, refusalOf, until } from '#test/scenarios/outcomes.ts'
import { rowsHolding } from '#test/scenarios/stored-content.ts'
import { onEachEngine, opened, openTenant, plainMail, prepared } from '#test/world.ts'

const SECRET = /^whsec_[A-Za-z0-9+/]{43}=$/

onEachEngine('webhooks of inboxes', (engine) => {
  const env = { MAILROOM_ALLOW_PRIVATE_EGRESS: 'true' }
  const world = opened(() => openTenant(engine, env))
  const receiver = opened(() => openReceiver())
  const account = prepared(() => world.newAccount())
  const client = prepared(() => account.client)

  const webhookOf = async (inboxId: string) => {
    const all = (await client.webhooks.list({ limit: 100 }).page()).data
    const [found, ...others] = all.filter((webhook) => webhook.inboxId === inboxId)
    assert.deepEqual(others, [])
    return found ?? null
  }

  test('are created with the inbox, whose secret is only in that answer', async () => {
    const webhookUrl = `${receiver.origin}/made`
    const { webhookSecret = '', ...inbox } = await client.inboxes.create({ webhookUrl })
    assert.match(webhookSecret, SECRET)
    assert.equal(inbox.webhookUrl, webhookUrl)
    assert.deepEqual(await client.inboxes.get(inbox.id), inbox)
    const plain = await client.inboxes.create({ webhookUrl: null })
    assert.deepEqual(Object.keys(plain).sort(), [
      'address',
      'clientId',
      'createdAt',
      'displayName',
      'effectiveRetentionDays',
      'expiresAt',
      'id',
      'lastMessageAt',
      'metadata',
      'podId',
      'retentionDays',
      'signature',
      'undoSeconds',
      'unreadThreads',
      'webhookUrl',
    ])
    assert.equal(plain.webhookUrl, null)
    assert.deepEqual((await client.inboxes.list().page()).data.slice(0, 2), [plain, inbox])
    const webhook = await webhookOf(inbox.id)
    assert.deepEqual(
      [webhook?.url, webhook?.inboxIds, webhook?.podIds, webhook?.eventTypes, webhook?.enabled],
      [webhookUrl, [inbox.id], [], [], true],
    )
    assert.equal(await webhookOf(plain.id), null)
  })

  test('deliver events of only their inbox, signed with its secret', async () => {
    const webhookUrl = `${receiver.origin}/told`
    const { webhookSecret = '', ...inbox } = await client.inboxes.create({ webhookUrl })
    const other = await client.inboxes.create()
    for (const { address } of [other, inbox]) {
      await world.send({ to: address, raw: plainMail({ to: address }) })
    }
    const request = await receiver.waitFor(({ path }) => path === '/told')
    assert.equal(JSON.parse(String(request.body)).inbox_id, inbox.id)
    const timestamp = String(request.headers['x-timestamp'])
    const signed = createHmac('sha256', webhookSecret).update(`${timestamp}.${request.body}`)
    assert.equal(request.headers['x-signature'], signed.digest('hex'))
    assert.equal(receiver.requests.filter(({ path }) => path === '/told').length, 1)
  })

  test('keep their secret when their URL changes, and are removed by null', async () => {
    const { id } = await client.inboxes.create({ displayName: 'Ann' })
    const [one, two] = ['https://one.example/', 'https://two.example/']
    const first = await client.inboxes.update(id, { webhookUrl: one })
    assert.match(first.webhookSecret ?? '', SECRET)
    assert.deepEqual([first.webhookUrl, first.displayName], [one, 'Ann'])
    const made = await webhookOf(id)
    const sealed = async () => {
      const [row] = await runSql(world, `select * from webhooks where inbox_id = '${id}'`)
      return { ...row }
    }
    const before = await sealed()

    const same = await client.inboxes.update(id, { webhookUrl: one })
    assert.equal('webhookSecret' in same, false)
    assert.deepEqual(await sealed(), before)

    const changed = await client.inboxes.update(id, { webhookUrl: two })
    assert.equal('webhookSecret' in changed, false)
    assert.equal(changed.webhookUrl, two)
    assert.deepEqual(await sealed(), { ...before, url: two })
    const renamed = await client.inboxes.update(id, { displayName: null })
    assert.deepEqual([renamed.displayName, renamed.webhookUrl], [null, two])

    const removed = await client.inboxes.update(id, { webhookUrl: null })
    assert.equal(removed.webhookUrl, null)
    assert.deepEqual(await client.inboxes.get(id), removed)
    assert.equal(await refusal(client.webhooks.get(made?.id ?? '')), '404 not_found')
    await client.inboxes.update(id, { webhookUrl: null })
    const again = await client.inboxes.update(id, { webhookUrl: one })
    assert.match(again.webhookSecret ?? '', SECRET)
    assert.notEqual(again.webhookSecret, first.webhookSecret)
  })

  test('are created once by concurrent requests, which show one secret', async () => {
    const { id } = await client.inboxes.create()
    const urls = Array.from({ length: 8 }, (_, index) => `https://host${index}.example/`)
    const answers = await Promise.all(
      urls.map((webhookUrl) => client.inboxes.update(id, { webhookUrl })),
    )
    assert.equal(answers.filter(({ webhookSecret }) => webhookSecret !== undefined).length, 1)
    assert.ok(urls.includes((await webhookOf(id))?.url ?? ''))
    assert.equal((await client.inboxes.get(id)).webhookUrl, (await webhookOf(id))?.url)
  })

  test('are enabled again when they are given a URL', async () => {
    const webhookUrl = 'https://one.example/'
    const { id } = await client.inboxes.create({ webhookUrl })
    const webhook = await webhookOf(id)
    await client.webhooks.update(webhook?.id ?? '', { enabled: false })
    assert.equal((await client.inboxes.get(id)).webhookUrl, webhookUrl)
    await client.inboxes.update(id, { displayName: 'Ann' })
    assert.equal((await webhookOf(id))?.enabled, false)
    await client.inboxes.update(id, { webhookUrl })
    assert.deepEqual(await webhookOf(id), webhook)
  })

  test('are ordinary webhooks, but for the fixed inbox', async () => {
    const { id } = await client.inboxes.create({ webhookUrl: 'https://one.example/' })
    const other = await client.inboxes.create()
    const webhook = await webhookOf(id)
    const name = webhook?.id ?? ''
    for (const fields of [
      { inboxIds: [] },
      { inboxIds: null },
      { inboxIds: [other.id] },
      { inboxIds: [id, other.id] },
      { podIds: [other.podId] },
    ]) {
      const { status, details } = await refusalOf(client.webhooks.update(name, fields))
      assert.deepEqual([status, details[0]?.path], [400, Object.keys(fields)[0]])
    }
    assert.deepEqual(await client.webhooks.update(name, { inboxIds: [id], podIds: [] }), webhook)
    const url = 'https://two.example/'
    await client.webhooks.update(name, { url, eventTypes: ['message.received'] })
    assert.equal((await client.inboxes.get(id)).webhookUrl, url)
    await client.webhooks.delete(name)
    assert.equal((await client.inboxes.get(id)).webhookUrl, null)
  })

  test('are tested and get a new secret through their inbox', async () => {
    const webhookUrl = `${receiver.origin}/tested`
    const { webhookSecret = '', ...inbox } = await client.inboxes.create({ webhookUrl })
    receiver.answer = { status: 200 }
    const { ok, message } = await client.inboxes.testWebhook(inbox.id)
    assert.equal(ok, true)
    assert.match(message, /^The receiver responded with 200 in \d+ ms\.$/)
    const told = receiver.requests.findLast(({ path }) => path === '/tested')
    const event = JSON.parse(String(told?.body))
    assert.deepEqual(
      [event.event, event.inbox_id, event.pod_id],
      ['webhook.test', inbox.id, inbox.podId],
    )
    const { webhookSecret: next } = await client.inboxes.rotateWebhookSecret(inbox.id)
    assert.match(next, SECRET)
    await client.inboxes.testWebhook(inbox.id)
    const posted = receiver.requests.filter(({ path }) => path === '/tested')
    const [before, now] = posted.map(({ headers, body }) => ({ headers, body }))
    const sign = (secret: string, request = now) =>
      createHmac('sha256', secret)
        .update(`${request?.headers['x-timestamp']}.${request?.body}`)
        .digest('hex')
    assert.equal(before?.headers['x-signature'], sign(webhookSecret, before))
    assert.equal(before?.headers['x-signature-previous'], undefined)
    assert.equal(now?.headers['x-signature'], sign(next))
    assert.equal(now?.headers['x-signature-previous'], sign(webhookSecret))

    receiver.answer = { status: 503 }
    const failed = await refusalOf(client.inboxes.testWebhook(inbox.id))
    assert.deepEqual([failed.status, failed.code], [502, 'webhook_failed'])
    assert.match(failed.message, /503/)
    receiver.answer = {}
  })

  test('are not found where there is none', async () => {
    const { id } = await client.inboxes.create()
    const stranger = await world.newAccount()
    const requests = [
      client.inboxes.testWebhook(id),
      client.inboxes.rotateWebhookSecret(id),
      stranger.client.inboxes.testWebhook(id),
      stranger.client.inboxes.rotateWebhookSecret(id),
      stranger.client.inboxes.update(id, { webhookUrl: 'https://one.example/' }),
      stranger.client.inboxes.update(id, { webhookUrl: null }),
    ]
    assert.deepEqual(await countOutcomes(requests), {
      '400 no_webhook_url': 2,
      '404 not_found': 4,
    })
    assert.equal((await client.inboxes.get(id)).webhookUrl, null)
  })

  test('leave nothing of an inbox that was refused', async () => {
    const free = await world.newAccount('free')
    const webhookUrl = 'https://one.example/'
    const names = ['Nope', 'abuse', 'free-one', 'free-one', undefined, undefined, undefined]
    const outcomes: string[] = []
    for (const mailboxName of names) {
      const created = free.client.inboxes.create({
        webhookUrl,
        ...(mailboxName !== undefined && { mailboxName }),
      })
      outcomes.push(...Object.keys(await countOutcomes([created])))
    }
    assert.deepEqual(outcomes, [
      '400 invalid_mailbox_name',
      '409 address_taken',
      'done',
      '409 address_taken',
      'done',
      'done',
      '422 inbox_limit_reached',
    ])
    const wrong = free.client.inboxes.create({ webhookUrl, podId: 'unknown' })
    assert.equal(await refusal(wrong), '400 invalid_pod')
    assert.equal((await free.client.webhooks.list().page()).total, 3)
  })

  test('are deleted with their inbox, along with their deliveries', async () => {
    const webhookUrl = `${receiver.origin}/gone`
    const inbox = await client.inboxes.create({ webhookUrl })
    const webhook = await webhookOf(inbox.id)
    const id = webhook?.id ?? ''
    await client.inboxes.testWebhook(inbox.id)
    await world.send({ to: inbox.address, raw: plainMail({ to: inbox.address }) })
    await until(async () => (await client.webhooks.deliveries(id).page()).total === 2)
    await client.inboxes.delete(inbox.id)
    assert.equal(await refusal(client.webhooks.get(id)), '404 not_found')
    assert.equal((await rowsHolding(world, id)).webhooks, undefined)
    await until(async () => (await rowsHolding(world, id)).webhook_deliveries === undefined)
  })
})

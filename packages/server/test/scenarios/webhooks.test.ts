import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { FILTER_IDS_MAX } from '@mailroom/contract/webhooks.ts'
import type { Mailroom, WebhookWithSecret } from '@mailroom/sdk'
import { openLog } from '#platform/log.ts'
import { openReceiver, type Receiver } from '#test/peers/receiver.ts'
import { runSql } from '#test/peers/sql.ts'
import { countOutcomes, errorOf, refusal, refusalOf, until } from '#test/scenarios/outcomes.ts'
import { filesHolding, rowsHolding } from '#test/scenarios/stored-content.ts'
import {
  type Account,
  onEachEngine,
  opened,
  openTenant,
  openWorld,
  type World,
} from '#test/world.ts'
import { WEBHOOK_ATTEMPTS_KEPT } from '#webhooks/store/queue.ts'
import { findWebhook, WEBHOOKS_PER_ACCOUNT_MAX } from '#webhooks/store/webhooks.ts'
import {
  openSecrets,
  WEBHOOK_OLD_SECRET_MS,
  WEBHOOK_SECRETS_MAX,
} from '#webhooks/webhook-secrets.ts'

const URL_OF_NOBODY = 'https://hooks.nowhere.example/mail?to=us'
const SECRET = /^whsec_[A-Za-z0-9+/]{43}=$/

onEachEngine('webhooks', (engine) => {
  let world: World
  let log = ''
  before(async () => {
    const opened = await openLog({
      level: 'debug',
      isTerminal: false,
      output: { write: (line) => (log += line) },
    })
    world = await openWorld(engine, { log: opened.log })
  })
  after(() => world.close())

  const idle = (client: Mailroom, fields: object = {}) =>
    client.webhooks.create({ url: URL_OF_NOBODY, enabled: false, ...fields })
  const totalOf = async ({ client }: Account) => (await client.webhooks.list().page()).total

  test('have a secret that is shown once, at their creation', async () => {
    const { client } = await world.newAccount()
    const { secret, ...made } = await client.webhooks.create({ url: URL_OF_NOBODY })
    assert.match(secret, SECRET)
    assert.match(made.id, /^whk_/)
    assert.deepEqual(made, {
      id: made.id,
      url: URL_OF_NOBODY,
      eventTypes: [],
      podIds: [],
      inboxIds: [],
      categories: [],
      headerNames: [],
      enabled: true,
      disabledReason: null,
      disabledAt: null,
      failingSince: null,
      lastError: null,
      lastResponseStatus: null,
      lastFailureAt: null,
      consecutiveFailures: 0,
      nextAttemptAt: null,
      inboxId: null,
      createdAt: made.createdAt,
    })
    assert.deepEqual(await client.webhooks.get(made.id), made)
    const other = await idle(client)
    const { data, total } = await client.webhooks.list().page()
    assert.deepEqual([data.map(({ id }) => id), total], [[other.id, made.id], 2])
    assert.deepEqual(data[1], made)
    const { data: second } = await client.webhooks.list({ limit: 1, offset: 1 }).page()
    assert.deepEqual(second, [made])
    await client.webhooks.delete(made.id)
    await client.webhooks.delete(other.id)
  })

  test('deliver all events, or those of the given kinds, pods and inboxes', async () => {
    const { client } = await world.newAccount()
    const pod = await client.pods.create({ clientId: 'tenant-7' })
    const inbox = await client.inboxes.create({ podId: pod.id })
    const everything = { eventTypes: [], podIds: [], inboxIds: [] }
    const filterOf = ({ eventTypes, podIds, inboxIds }: WebhookWithSecret) => {
      return { eventTypes, podIds, inboxIds }
    }
    const nothing = { eventTypes: null, podIds: null, inboxIds: null }
    for (const fields of [{}, nothing, everything]) {
      assert.deepEqual(filterOf(await idle(client, fields)), everything)
    }
    const named = await idle(client, {
      eventTypes: ['message.sent', 'message.sent'],
      podIds: ['tenant-7', pod.id],
      inboxIds: [inbox.id],
    })
    const filter = { eventTypes: ['message.sent'], podIds: [pod.id], inboxIds: [inbox.id] }
    assert.deepEqual(filterOf(named), filter)
    const { secret: _, ...shown } = named
    const changed = await client.webhooks.update(named.id, { podIds: null })
    assert.deepEqual(changed, { ...shown, podIds: [] })
    const other = 'https://other.example/'
    assert.deepEqual(
      await client.webhooks.update(named.id, { url: other, eventTypes: ['webhook.disabled'] }),
      { ...shown, podIds: [], url: other, eventTypes: ['webhook.disabled'] },
    )
    // A deleted inbox still narrows; nothing replaces it.
    await client.inboxes.delete(inbox.id)
    assert.deepEqual((await client.webhooks.get(named.id)).inboxIds, [inbox.id])
  })

  test('refuse invalid fields, and store nothing of them', async () => {
    const account = await world.newAccount()
    const { client } = account
    const kept = await idle(client)
    const { secret: _, ...before } = kept
    const ask = (method: string, path: string, body: unknown) =>
      world.fetch(path, {
        method,
        body: JSON.stringify(body),
        headers: { authorization: `Bearer ${account.key}`, 'content-type': 'application/json' },
      })
    const url = URL_OF_NOBODY
    const bodies: [body: unknown, path: string][] = [
      [{ url: 7 }, 'url'],
      [{ url: null }, 'url'],
      [{ url, events: [] }, 'events'],
      [{ url, secret: 'whsec_YQ==' }, 'secret'],
      [{ url, enabled: 'yes' }, 'enabled'],
      [{ url, eventTypes: 'message.sent' }, 'eventTypes'],
      [{ url, eventTypes: ['message.lost'] }, 'eventTypes[0]'],
      [{ url, eventTypes: ['message.sent', 'webhook.test'] }, 'eventTypes[1]'],
      [{ url, podIds: [1] }, 'podIds[0]'],
      [{ url, podIds: ['a\nb'] }, 'podIds[0]'],
      [{ url, inboxIds: ['x'.repeat(256)] }, 'inboxIds[0]'],
      [{ url, inboxIds: Array(FILTER_IDS_MAX + 1).fill('inb') }, 'inboxIds'],
      [{ url, inboxIds: ['inb_unknown'] }, 'inboxIds[0]'],
      // The form of the body is checked first.
      [{ url: 'nonsense', podIds: 'x' }, 'podIds'],
    ]
    const refusals: [method: string, path: string][] = [
      ['POST', '/v1/webhooks'],
      ['PATCH', `/v1/webhooks/${kept.id}`],
    ]
    for (const [method, path] of refusals) {
      for (const [body, field] of bodies) {
        const response = await ask(method, path, body)
        const { error, details } = await errorOf(response)
        assert.deepEqual([response.status, error], [400, 'bad_request'], JSON.stringify(body))
        assert.equal((details as { path: string }[])[0]?.path, field)
      }
      // A URL is checked before other objects, and a pod before an inbox.
      const wrongs: [body: object, outcome: string][] = [
        [{ url: 'nonsense', podIds: ['x'] }, '422 invalid_webhook_url'],
        [{ url, podIds: ['x'], inboxIds: ['x'] }, '400 invalid_pod'],
      ]
      for (const [body, outcome] of wrongs) {
        const response = await ask(method, path, body)
        assert.equal(`${response.status} ${(await errorOf(response)).error}`, outcome)
      }
    }
    for (const body of [undefined, {}, { eventTypes: [] }]) {
      const response = await ask('POST', '/v1/webhooks', body)
      assert.equal(response.status, 400)
    }
    const unknown = client.webhooks.update('whk_x', { url: 'nonsense' })
    assert.equal(await refusal(unknown), '404 not_found')
    assert.deepEqual(await client.webhooks.get(kept.id), before)
    assert.equal(await totalOf(account), 1)
  })

  const FORBIDDEN = [
    '',
    'hooks.nowhere.example',
    '/hook',
    'http://hooks.nowhere.example/',
    'ftp://hooks.nowhere.example/',
    'https://user@hooks.nowhere.example/',
    'https://hooks.nowhere.example:8443/',
    'https://localhost/',
    'https://127.0.0.1/',
    'https://2130706433/',
    'https://[::ffff:10.0.0.1]/',
    'https://169.254.169.254/latest',
    'https://hooks.nowhere.example/a b',
    `https://hooks.nowhere.example/${'x'.repeat(2_000)}`,
  ]

  test('refuse a URL on this machine with the command that forwards events to it', async () => {
    const url = 'http://localhost:3000/hook'
    const { fix } = await refusalOf(world.client.webhooks.create({ url }))
    assert.match(fix ?? '', /mailroom listen --forward/)
  })

  test('refuse a forbidden URL wherever it is given', async () => {
    const account = await world.newAccount()
    const { client } = account
    const kept = await idle(client)
    const inbox = await client.inboxes.create()
    for (const url of FORBIDDEN) {
      const requests: [field: string, request: () => Promise<unknown>][] = [
        ['url', () => client.webhooks.create({ url })],
        ['url', () => client.webhooks.update(kept.id, { url })],
        ['webhookUrl', () => client.inboxes.create({ webhookUrl: url })],
        ['webhookUrl', () => client.inboxes.update(inbox.id, { webhookUrl: url })],
      ]
      for (const [field, request] of requests) {
        const { status, code, message, details } = await refusalOf(request())
        assert.deepEqual([status, code], [422, 'invalid_webhook_url'], url)
        assert.match(message, new RegExp(`^The field "${field}" must .*\\.$`))
        assert.equal(details[0]?.path, field)
      }
    }
    assert.equal((await client.webhooks.get(kept.id)).url, URL_OF_NOBODY)
    assert.deepEqual(await client.inboxes.get(inbox.id), inbox)
    assert.equal((await client.inboxes.list().page()).total, 1)
    assert.equal(await totalOf(account), 1)
  })

  test('are disabled and enabled, and deliver only events from while they are enabled', async () => {
    const { client } = await world.newAccount()
    const made = await client.webhooks.create({ url: URL_OF_NOBODY })
    const row = async () => {
      const columns = 'enabled_after_sequence, failing_since'
      const [found] = await runSql(world, `select ${columns} from webhooks where id = '${made.id}'`)
      return [Number(found?.enabled_after_sequence), found?.failing_since]
    }
    const set = (change: string) =>
      runSql(world, `update webhooks set ${change} where id = '${made.id}'`)
    await set('failing_since = 1, enabled_after_sequence = -1')
    assert.equal((await client.webhooks.update(made.id, { enabled: true })).enabled, true)
    assert.deepEqual([(await row())[0], Number((await row())[1])], [-1, 1])

    const off = await client.webhooks.update(made.id, { enabled: false })
    assert.deepEqual([off.enabled, off.disabledReason], [false, 'by_request'])
    assert.equal(Math.abs(Date.parse(off.disabledAt ?? '') - world.clock.now()) < 10_000, true)
    world.clock.advance(1_000)
    assert.deepEqual(await client.webhooks.update(made.id, { enabled: false }), off)

    const on = await client.webhooks.update(made.id, { enabled: true })
    assert.deepEqual([on.enabled, on.disabledReason, on.disabledAt], [true, null, null])
    const [enabledAfter, failingSince] = await row()
    assert.notEqual(enabledAfter, -1)
    assert.equal(failingSince, null)
    await client.webhooks.delete(made.id)
  })

  test('do not count failures of an earlier URL', async () => {
    const { client } = await world.newAccount()
    const made = await client.webhooks.create({ url: URL_OF_NOBODY })
    const inbox = await client.inboxes.create({ webhookUrl: URL_OF_NOBODY })
    const changes: [string, (url: string) => Promise<unknown>][] = [
      [`id = '${made.id}'`, (url) => client.webhooks.update(made.id, { url })],
      [`inbox_id = '${inbox.id}'`, (webhookUrl) => client.inboxes.update(inbox.id, { webhookUrl })],
    ]
    for (const [where, change] of changes) {
      await runSql(world, `update webhooks set failing_since = 1 where ${where}`)
      const failingSince = async () => {
        const [row] = await runSql(world, `select failing_since from webhooks where ${where}`)
        return row?.failing_since
      }
      await change(URL_OF_NOBODY)
      assert.equal(Number(await failingSince()), 1, 'the same URL')
      await change(`${URL_OF_NOBODY}/other`)
      assert.equal(await failingSince(), null)
    }
  })

  test(`are limited to ${WEBHOOKS_PER_ACCOUNT_MAX}, even when created at once`, async () => {
    const account = await world.newAccount()
    const { client } = account
    await client.inboxes.create({ webhookUrl: URL_OF_NOBODY })
    const all = Array.from({ length: WEBHOOKS_PER_ACCOUNT_MAX + 10 }, () => idle(client))
    assert.deepEqual(await countOutcomes(all), {
      done: WEBHOOKS_PER_ACCOUNT_MAX,
      '422 webhook_limit_reached': 10,
    })
    // Webhooks of inboxes are limited by the number of inboxes.
    await client.inboxes.create({ webhookUrl: URL_OF_NOBODY })
    assert.equal(await totalOf(account), WEBHOOKS_PER_ACCOUNT_MAX + 2)
    const [newest] = (await client.webhooks.list().page()).data.filter(({ inboxId }) => !inboxId)
    await client.webhooks.delete(newest?.id ?? '')
    await idle(client)
    assert.equal(await refusal(idle(client)), '422 webhook_limit_reached')
  })

  test('are unavailable once deleted, with their deliveries', async () => {
    const { client } = await world.newAccount()
    const made = await idle(client)
    assert.equal((await refusalOf(client.webhooks.test(made.id))).code, 'webhook_failed')
    assert.deepEqual((await rowsHolding(world, made.id)).webhook_deliveries, 1)
    await client.webhooks.delete(made.id)
    const requests = [
      client.webhooks.get(made.id),
      client.webhooks.update(made.id, { enabled: true }),
      client.webhooks.delete(made.id),
      client.webhooks.rotateSecret(made.id),
      client.webhooks.test(made.id),
      client.webhooks.deliveries(made.id).page(),
      client.webhooks.retryDelivery(made.id, 'dlv_x'),
    ]
    assert.deepEqual(await countOutcomes(requests), { '404 not_found': requests.length })
    await until(async () => (await rowsHolding(world, made.id)).webhook_deliveries === undefined)
  })

  test('get a new secret, and the previous one signs as well for a day', async () => {
    const { client } = await world.newAccount()
    const { secret, ...made } = await idle(client)
    const { sealer } = world.app.deps
    const secretsAt = async (nowMs: number) => {
      const webhook = await findWebhook(world.app.deps.db, made.id)
      assert.ok(webhook)
      return openSecrets(sealer, webhook, nowMs)
    }
    const { secret: second, ...shown } = await client.webhooks.rotateSecret(made.id)
    assert.deepEqual(shown, made)
    assert.match(second, SECRET)
    const nowMs = world.clock.now()
    assert.deepEqual(await secretsAt(nowMs), [second, secret])
    assert.deepEqual(await secretsAt(nowMs + WEBHOOK_OLD_SECRET_MS), [second])

    // The time promised to the first secret is not extended.
    world.clock.advance(WEBHOOK_OLD_SECRET_MS / 2)
    const { secret: third } = await client.webhooks.rotateSecret(made.id)
    const laterMs = world.clock.now()
    assert.deepEqual(await secretsAt(laterMs), [third, second, secret])
    assert.deepEqual(await secretsAt(laterMs + WEBHOOK_OLD_SECRET_MS / 2), [third, second])
    assert.deepEqual(await secretsAt(laterMs + WEBHOOK_OLD_SECRET_MS), [third])
  })

  test('get each secret of concurrent rotations, up to the number that may sign', async () => {
    const { client } = await world.newAccount()
    const made = await idle(client)
    const rotate = () => client.webhooks.rotateSecret(made.id)
    const kept = async () => {
      const webhook = await findWebhook(world.app.deps.db, made.id)
      assert.ok(webhook)
      return openSecrets(world.app.deps.sealer, webhook, world.clock.now())
    }
    const two = (await Promise.all([rotate(), rotate()])).map(({ secret }) => secret)
    const [, , oldest] = await kept()
    assert.deepEqual((await kept()).slice(0, 2).sort(), two.sort())
    assert.equal(oldest, made.secret)
    const more = WEBHOOK_SECRETS_MAX - 3
    assert.deepEqual(await countOutcomes(Array.from({ length: 12 }, rotate)), {
      done: more,
      '429 rate_limit_exceeded': 12 - more,
    })
    const secrets = await kept()
    assert.deepEqual(secrets.slice(more).sort(), [made.secret, ...two].sort())
    assert.equal(secrets.length, WEBHOOK_SECRETS_MAX)
  })

  test('keep each secret that signs: one rotation too many is refused until the oldest expires', async () => {
    const account = await world.newAccount()
    const { client } = account
    const made = await idle(client)
    const inbox = await client.inboxes.create({ webhookUrl: URL_OF_NOBODY })
    const doors: [path: string, webhookId: string][] = [
      [`webhooks/${made.id}/rotate-secret`, made.id],
      [
        `inboxes/${inbox.id}/webhook/rotate-secret`,
        (await client.webhooks.list().page()).data.find(({ inboxId }) => inboxId === inbox.id)
          ?.id ?? '',
      ],
    ]
    for (const [path, webhookId] of doors) {
      const headers = { authorization: `Bearer ${account.key}` }
      const rotate = () => world.fetch(`/v1/${path}`, { method: 'POST', headers })
      const row = () =>
        runSql(world, `select sealed_secrets from webhooks where id = '${webhookId}'`)
      for (let count = 1; count < WEBHOOK_SECRETS_MAX; count++) {
        assert.equal((await rotate()).status, 200, `rotation ${count}`)
        world.clock.advance(60_000)
      }
      const before = await row()
      const refused = await rotate()
      assert.equal(refused.status, 429)
      assert.equal((await errorOf(refused)).error, 'rate_limit_exceeded')
      assert.deepEqual(await row(), before)
      const waitSeconds = Number(refused.headers.get('retry-after'))
      const expected = WEBHOOK_OLD_SECRET_MS / 1_000 - 60 * (WEBHOOK_SECRETS_MAX - 1)
      assert.ok(waitSeconds > expected - 60 && waitSeconds <= expected, `${waitSeconds} s`)
      world.clock.advance((waitSeconds - 60) * 1_000)
      assert.equal((await rotate()).status, 429)
      world.clock.advance(60_000)
      assert.equal((await rotate()).status, 200)
    }
  })

  test('reject secrets that were sealed for another webhook, and get a new one instead', async () => {
    const { client } = await world.newAccount()
    const [one, other] = [await idle(client), await idle(client)]
    await runSql(
      world,
      `update webhooks set sealed_secrets =
       (select sealed_secrets from webhooks where id = '${other.id}') where id = '${one.id}'`,
    )
    const { secret } = await client.webhooks.rotateSecret(one.id)
    const webhook = await findWebhook(world.app.deps.db, one.id)
    assert.ok(webhook)
    const { sealer } = world.app.deps
    assert.deepEqual(openSecrets(sealer, webhook, world.clock.now()), [secret])
    await until(async () =>
      log.includes('webhook secrets that could not be decrypted were dropped'),
    )
    assert.ok(await client.webhooks.rotateSecret(other.id))
  })

  test('show a secret in one answer, and in no file, row or log', async () => {
    const { client, key } = await world.newAccount()
    const made = await idle(client)
    const rotated = await client.webhooks.rotateSecret(made.id)
    const { id, webhookSecret = '' } = await client.inboxes.create({ webhookUrl: URL_OF_NOBODY })
    const again = await client.inboxes.rotateWebhookSecret(id)
    await refusalOf(client.webhooks.test(made.id))
    const secrets = [made.secret, rotated.secret, webhookSecret, again.webhookSecret]
    const answers: string[] = []
    const paths = ['webhooks', `webhooks/${made.id}`, 'inboxes', `inboxes/${id}`, 'events']
    for (const path of [...paths, `webhooks/${made.id}/deliveries`]) {
      const response = await world.fetch(`/v1/${path}`, {
        headers: { authorization: `Bearer ${key}` },
      })
      answers.push(await response.text())
    }
    assert.ok(answers.join('').includes(URL_OF_NOBODY))
    assert.ok(log.includes(made.id))
    for (const secret of secrets) {
      assert.match(secret, SECRET)
      const octets = Buffer.from(secret.slice('whsec_'.length), 'base64').toString('latin1')
      for (const text of [secret, secret.slice('whsec_'.length)]) {
        assert.deepEqual(await rowsHolding(world, text), {})
        assert.deepEqual(await filesHolding(world.dataDir, text), [])
        assert.ok(!log.includes(text))
        for (const answer of answers) assert.ok(!answer.includes(text))
      }
      assert.deepEqual(await rowsHolding(world, octets), {})
    }
  })
})

onEachEngine('webhooks with receivers', (engine) => {
  const world = opened(() => openTenant(engine, { MAILROOM_ALLOW_PRIVATE_EGRESS: 'true' }))
  const receiver = opened(() => openReceiver())

  test('a test is posted at once to its own webhook, and the outcome is the answer', async () => {
    const { client } = await world.newAccount()
    const url = `${receiver.origin}/tested`
    const webhook = await client.webhooks.create({ url, eventTypes: ['message.sent'] })
    const other = await client.webhooks.create({ url: `${receiver.origin}/other` })
    receiver.answer = { status: 204 }
    const { ok, message, delivery } = await client.webhooks.test(webhook.id)
    assert.equal(ok, true)
    assert.match(message, /^The receiver responded with 204 in \d+ ms\.$/)
    const { status, attempts, eventType, responseStatus, error, nextAttemptAt } = delivery
    assert.deepEqual(
      [status, attempts, eventType, responseStatus, error, nextAttemptAt],
      ['succeeded', 1, 'webhook.test', 204, null, null],
    )
    const [request] = receiver.requests.filter(({ path }) => path === '/tested')
    const body = JSON.parse(String(request?.body))
    assert.equal(body.event_id, delivery.eventId)
    assert.deepEqual(body.webhook, { id: webhook.id, url })
    const { data, total } = await client.webhooks.deliveries(webhook.id).page()
    assert.deepEqual([data, total], [[delivery], 1])
    assert.equal((await client.webhooks.deliveries(other.id).page()).total, 0)

    // A disabled webhook can be tested before it is enabled.
    await client.webhooks.update(webhook.id, { enabled: false })
    await client.webhooks.test(webhook.id)
    await client.webhooks.delete(webhook.id)
    await client.webhooks.delete(other.id)
    assert.equal(receiver.requests.filter(({ path }) => path !== '/tested').length, 0)
  })

  test('a failed test shows the reason, counts as no failure and is not repeated', async () => {
    const { client } = await world.newAccount()
    const url = `${receiver.origin}/failing`
    const webhook = await client.webhooks.create({ url })
    const outcomes: [answer: Receiver['answer'], message: RegExp, error: string][] = [
      [{ status: 500 }, /responded with 500/, 'status'],
      [{ status: 404 }, /responded with 404/, 'status'],
      // The next connection is new, so that it cannot end for being idle.
      [
        { status: 302, headers: { location: url, connection: 'close' } },
        /302.*redirects/,
        'redirect',
      ],
      ['reset', /connection/, 'connection_failed'],
      [{ raw: 'SSH-2.0-x\r\n' }, /HTTP/, 'protocol_error'],
    ]
    for (const [answer, expected, error] of outcomes) {
      receiver.answer = answer
      const { status, code, message } = await refusalOf(client.webhooks.test(webhook.id))
      assert.deepEqual([status, code], [502, 'webhook_failed'])
      assert.match(message, expected)
      const [delivery] = (await client.webhooks.deliveries(webhook.id).page()).data
      assert.deepEqual(
        [delivery?.status, delivery?.error, delivery?.nextAttemptAt, delivery?.attempts],
        ['failed', error, null, 1],
      )
    }
    const where = `where id = '${webhook.id}'`
    const [row] = await runSql(world, `select failing_since from webhooks ${where}`)
    assert.equal(row?.failing_since, null)
    world.clock.advance(60_000)
    receiver.answer = {}
    await client.webhooks.test(webhook.id)
    const posted = receiver.requests.filter(({ path }) => path === '/failing')
    assert.equal(posted.length, outcomes.length + 1)
    await client.webhooks.delete(webhook.id)
  })

  test('a settled delivery is attempted again by hand, a pending one is not', async () => {
    const account = await world.newAccount()
    const { client } = account
    const webhook = await client.webhooks.create({ url: `${receiver.origin}/again` })
    const other = await client.webhooks.create({ url: `${receiver.origin}/never`, enabled: false })
    receiver.answer = { status: 500 }
    await refusalOf(client.webhooks.test(webhook.id))
    const newest = async () => (await client.webhooks.deliveries(webhook.id).page()).data[0]
    const delivery = await newest()
    const id = delivery?.id ?? ''
    const stranger = await world.newAccount()
    const foreign = [
      client.webhooks.retryDelivery(other.id, id),
      stranger.client.webhooks.retryDelivery(webhook.id, id),
      client.webhooks.retryDelivery(webhook.id, 'dlv_x'),
      client.webhooks.retryDelivery(webhook.id, webhook.id),
      client.webhooks.getDelivery(other.id, id),
      stranger.client.webhooks.getDelivery(webhook.id, id),
      client.webhooks.getDelivery(webhook.id, 'dlv_x'),
    ]
    assert.deepEqual(await countOutcomes(foreign), { '404 not_found': foreign.length })
    assert.deepEqual(await newest(), delivery)

    // Longer than a busy machine takes to poll again.
    receiver.answer = { delayMs: 2_000 }
    const retried = await client.webhooks.retryDelivery(webhook.id, id)
    assert.deepEqual([retried.id, retried.status], [id, 'pending'])
    const retry = client.webhooks.retryDelivery(webhook.id, id)
    assert.equal(await refusal(retry), '409 delivery_pending')
    await until(async () => (await newest())?.status !== 'pending')
    const { status, attempts, eventId, error } = (await newest()) ?? {}
    assert.deepEqual([status, attempts, eventId, error], ['succeeded', 2, delivery?.eventId, null])
    await client.webhooks.delete(webhook.id)
  })

  test('the newest attempts of a delivery are kept, and go with it', async () => {
    const { client } = world
    const webhook = await client.webhooks.create({ url: `${receiver.origin}/often` })
    receiver.answer = { body: 'x'.repeat(5_000) }
    const { delivery } = await client.webhooks.test(webhook.id)
    const read = () => client.webhooks.getDelivery(webhook.id, delivery.id)
    const most = WEBHOOK_ATTEMPTS_KEPT + 2
    for (let attempts = 2; attempts <= most; attempts++) {
      await client.webhooks.retryDelivery(webhook.id, delivery.id)
      await until(async () => (await read()).status !== 'pending')
    }
    const { history } = await read()
    const numbers = Array.from({ length: WEBHOOK_ATTEMPTS_KEPT }, (_, index) => most - index)
    assert.deepEqual(
      history.map(({ number }) => number),
      numbers,
    )
    assert.ok(history.every(({ responseBody }) => responseBody === 'x'.repeat(4_096)))
    await client.webhooks.delete(webhook.id)
    await until(async () => (await rowsHolding(world, delivery.id)).webhook_attempts === undefined)
  })

  test('only URLs that the operator allows are called', async () => {
    const { client } = await world.newAccount()
    for (const url of ['ftp://127.0.0.1/', 'https://user@127.0.0.1/', 'nonsense']) {
      assert.equal(await refusal(client.webhooks.create({ url })), '422 invalid_webhook_url')
    }
    const made = await client.webhooks.create({ url: 'http://127.0.0.1:8080/', enabled: false })
    assert.equal(made.url, 'http://127.0.0.1:8080/')
  })
})

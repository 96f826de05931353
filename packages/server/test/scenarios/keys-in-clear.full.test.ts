import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { listServiceRecords } from '#domains/signing/signing.ts'
import { openLog } from '#platform/log.ts'
import { runSql } from '#test/peers/sql.ts'
import { filesHolding, rowsHolding } from '#test/scenarios/stored-content.ts'
import {
  OPERATOR_TOKEN,
  onEachEngine,
  openWorld,
  plainMail,
  testKey,
  type World,
} from '#test/world.ts'

const CONFIGURED = 'configured_key-0123456789-abcdefgh'

onEachEngine('keys in clear', (engine) => {
  let world: World
  let log = ''
  const answers: string[] = []
  const keys: string[] = [CONFIGURED, OPERATOR_TOKEN]
  /** Lease tokens and the secrets of webhooks. */
  const others: string[] = []

  before(async () => {
    const opened = await openLog({
      level: 'debug',
      isTerminal: false,
      output: { write: (line) => (log += line) },
    })
    const env = {
      MAILROOM_BOOTSTRAP_API_KEY: CONFIGURED,
      MAILROOM_LOG_LEVEL: 'debug',
      MAILROOM_ALLOW_PRIVATE_EGRESS: 'true',
    }
    world = await openWorld(engine, { env, log: opened.log })
    await useEverything()
    await workAndTell()
  })
  after(() => world.close())

  async function useEverything() {
    const { token, id } = await world.client.apiKeys.create({ name: 'second' })
    const account = await world.newAccount('free')
    const approver = await account.client.approvers.create({ name: 'Ann' })
    keys.push(token, account.key, approver.token)
    const inbox = await world.inbox()
    await world.send({ to: inbox.address, raw: plainMail({ to: inbox.address }) })
    const looping = plainMail({ headers: Array(60).fill(`Received: by ${token}.example`) })
    await world.send({ to: inbox.address, raw: looping })
    for (const key of keys) {
      for (const path of ['/v1/api-keys', '/v1/pods', `/v1/inboxes/${inbox.id}/messages`]) {
        answers.push(await ask(path, key))
      }
      answers.push(await ask(`/v1/pods/${key}`, CONFIGURED))
      answers.push(await ask('/v1/pods?limit=nothing', key))
      answers.push(await ask('/v1/pods', `${key}x`))
      answers.push(await ask('/metrics', OPERATOR_TOKEN), await ask('/metrics', key))
    }
    await world.client.inboxes.send(inbox.id, { to: inbox.address, subject: 'Hi', body: 'Hi' })
    await listServiceRecords(world.app.deps, world.settings)
    await world.client.apiKeys.delete(id)
    answers.push(await ask('/v1/pods', token))
  }

  /** Claims threads and has webhooks, as it should be and with mistakes in which the secret stands. */
  async function workAndTell() {
    const { client } = world
    const inbox = await world.inbox()
    const { id, secret } = await client.webhooks.create({ url: 'http://127.0.0.1:9/hook' })
    const newer = await client.webhooks.rotateSecret(id)
    await world.send({ to: inbox.address, raw: plainMail({ to: inbox.address }) })
    const tested = await client.webhooks.test(id).catch((error) => error.body)
    const { data } = await client.inboxes.claimThreads(inbox.id, {
      owner: 'worker',
      leaseSeconds: 60,
      waitSeconds: 30,
    })
    const [claim] = data
    assert.ok(claim)
    const { threadId, leaseToken } = claim
    others.push(secret, newer.secret, leaseToken)
    const mail = client.withLease(leaseToken)
    await mail.threads.renewClaim(threadId)
    await mail.threads.update(threadId, { addLabels: ['mine'] })
    const items = [{ threadId, body: 'x', leaseToken, idempotencyKey: 'batch' }]
    const batch = { method: 'POST', body: JSON.stringify({ items }) }
    const json = { 'content-type': 'application/json' }
    const sent = await world.fetch(`/v1/inboxes/${inbox.id}/send/batch`, {
      ...batch,
      headers: json,
    })
    answers.push(JSON.stringify(tested), await sent.text())
    while (!log.includes('a webhook failed')) await new Promise((done) => setTimeout(done, 50))
    for (const token of others) {
      for (const path of ['/v1/threads', `/v1/threads/${threadId}`, `/v1/ws?token=${token}`]) {
        answers.push(await ask(path, token))
      }
      const headers = { 'lease-token': token, 'content-type': 'application/json' }
      const asked = { method: 'PATCH', headers, body: JSON.stringify({ isRead: token }) }
      answers.push(await (await world.fetch(`/v1/threads/${threadId}`, asked)).text())
      const wrong = { method: 'PATCH', headers, body: `{"${token}` }
      answers.push(await (await world.fetch(`/v1/threads/${threadId}`, wrong)).text())
      const tool = {
        name: 'release_thread',
        arguments: { thread_id: threadId, lease_token: token },
      }
      const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: tool }
      await world.fetch('/mcp', {
        method: 'POST',
        headers: { ...headers, accept: 'application/json, text/event-stream' },
        body: JSON.stringify(call),
      })
    }
  }

  async function ask(path: string, key: string): Promise<string> {
    const response = await world.fetch(path, { headers: { authorization: `Bearer ${key}` } })
    return `${[...response.headers].join('\n')}\n${await response.text()}`
  }

  test('no file of the data directory holds a key', async () => {
    for (const key of keys) assert.deepEqual(await filesHolding(world.dataDir, key), [])
  })

  test('no row of any table holds a key, only its first characters', async () => {
    for (const key of keys) assert.deepEqual(await rowsHolding(world, key), {})
    assert.deepEqual(await rowsHolding(world, CONFIGURED.slice(0, 7)), { api_keys: 1 })
  })

  test('nor any form of the keys that sign URLs, links and mail', async () => {
    const { deps } = world.app
    const privateKey = await testKey()
    const { d = '', p = '' } = privateKey.export({ format: 'jwk' })
    const secrets = [deps.urlKey, deps.deriveKey('return-path')].map((key) => Buffer.from(key))
    for (const secret of [...secrets, Buffer.from(d, 'base64url'), Buffer.from(p, 'base64url')]) {
      assert.ok(secret.length >= 32)
      for (const form of ['latin1', 'hex', 'base64', 'base64url'] as const) {
        const text = secret.toString(form)
        assert.deepEqual(await rowsHolding(world, text), {})
        if (form !== 'latin1') assert.deepEqual(await filesHolding(world.dataDir, text), [])
        assert.ok(!log.includes(text))
      }
      assert.deepEqual(await filesHolding(world.dataDir, secret), [])
    }
    const rows = await runSql(world, 'select sealed_key, public_key from dkim_keys')
    assert.equal(rows.length, 2)
  })

  test('no lease token and no secret of a webhook is stored as it is', async () => {
    assert.equal(others.length, 3)
    for (const secret of others) {
      assert.deepEqual(await filesHolding(world.dataDir, secret), [])
      assert.deepEqual(await rowsHolding(world, secret), {})
    }
  })

  test('no key, lease token or secret of a webhook is in the log, in an answer or in the metrics', () => {
    assert.ok(log.includes('a mail loop was refused'))
    for (const secret of [...keys, ...others]) {
      // Neither whole nor without its first characters.
      for (const part of [secret, secret.slice(8)]) assert.ok(!log.includes(part), part)
      for (const answer of answers) assert.ok(!answer.includes(secret), answer)
    }
  })
})

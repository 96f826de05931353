import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { listServiceRecords } from '#domains/signers.ts'
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

  before(async () => {
    const opened = await openLog({
      level: 'debug',
      isTerminal: false,
      output: { write: (line) => (log += line) },
    })
    const env = { MAILROOM_BOOTSTRAP_API_KEY: CONFIGURED, MAILROOM_LOG_LEVEL: 'debug' }
    world = await openWorld(engine, { env, log: opened.log })
    await useEverything()
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

  test('no key is in the log, in an answer or in the metrics', async () => {
    assert.ok(log.includes('a mail loop was refused'))
    for (const key of keys) {
      assert.ok(!log.includes(key))
      for (const answer of answers) assert.ok(!answer.includes(key), answer)
    }
  })
})

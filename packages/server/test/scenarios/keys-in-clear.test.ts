// Where keys must never be found: the stored bytes, the log at its most talkative, errors, metrics.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { openLog } from '#base/log.ts'
import { filesHolding, rowsHolding } from '#test/scenarios/stored-content.ts'
import { OPERATOR_TOKEN, onEachEngine, openWorld, plainMail, type World } from '#test/world.ts'

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
    keys.push(token, account.key)
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
    await world.client.apiKeys.delete(id)
    answers.push(await ask('/v1/pods', token))
  }

  async function ask(path: string, key: string): Promise<string> {
    const response = await world.fetch(path, { headers: { authorization: `Bearer ${key}` } })
    return `${[...response.headers].join('\n')}\n${await response.text()}`
  }

  test('no key stands in a file of the data directory', async () => {
    for (const key of keys) assert.deepEqual(await filesHolding(world.dataDir, key), [])
  })

  test('no key stands in a row of any table, and its first characters do', async () => {
    for (const key of keys) assert.deepEqual(await rowsHolding(world, key), {})
    assert.deepEqual(await rowsHolding(world, CONFIGURED.slice(0, 7)), { api_keys: 1 })
  })

  test('no key stands in the log, in an answer or in the metrics', async () => {
    assert.ok(log.includes('a mail loop was refused'))
    for (const key of keys) {
      assert.ok(!log.includes(key))
      for (const answer of answers) assert.ok(!answer.includes(key), answer)
    }
  })
})

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { Mailroom } from '@mailroom/sdk'
import { type App, openApp } from '#app.ts'
import { silentLog } from '#platform/log.ts'
import { countMessages } from '#test/scenarios/deliver.ts'
import { countOutcomes, repeat } from '#test/scenarios/outcomes.ts'
import {
  openSendingWorld,
  type SendingWorld,
  send,
  settled,
} from '#test/scenarios/sending-world.ts'
import { testKey } from '#test/world.ts'

suite('two services on one database', () => {
  let world: SendingWorld
  let second: App
  let clients: { client: Mailroom }[]
  let dataDir: string
  before(async () => {
    world = await openSendingWorld('postgres', {
      env: { MAILROOM_LIMIT_SENDS_PER_MINUTE: '10', MAILROOM_LIMIT_COLD_PER_DAY: '20' },
    })
    dataDir = await mkdtemp(join(tmpdir(), 'mailroom-test-'))
    const settings = { ...world.settings, dataDir }
    second = await openApp(settings, { log: silentLog, clock: world.clock, makeKey: testKey })
    const baseUrl = second.http?.address ?? ''
    const other = new Mailroom({ baseUrl, apiKey: world.key, maxRetries: 0 })
    clients = [{ client: world.client }, { client: other }]
  })
  after(async () => {
    await second.close(1_000)
    await world.close()
    await rm(dataDir, { recursive: true, force: true })
  })

  const clientOf = (index: number) => clients[index % 2] ?? { client: world.client }

  test('make one message of a hundred equal requests, and it leaves once', async () => {
    for (let round = 0; round < 2; round++) {
      const inbox = await world.inbox()
      const key = randomUUID()
      const answers = await Promise.all(
        Array.from({ length: 100 }, (_, index) => send(clientOf(index), inbox, {}, key)),
      )
      const [first] = answers
      assert.ok(first !== undefined)
      for (const answer of answers) assert.deepEqual(answer, first)
      assert.equal(await countMessages(world, inbox), 1)
      assert.equal((await settled(world, first)).status, 'sent')
      const copies = world.mta.received.filter(({ raw }) => raw.includes(first.providerMessageId))
      assert.equal(copies.length, 1)
    }
  })

  test('send fifty messages once each, whichever of them carries a message', async () => {
    const inboxes = await Promise.all(Array.from({ length: 5 }, () => world.inbox()))
    const sent = await repeat(50, (index) =>
      send(clientOf(index), inboxes[index % 5] ?? { id: '' }, { to: 'crowd@friend.example' }),
    )
    for (const one of sent) assert.equal((await settled(world, one)).status, 'sent')
    const ids = world.mta.received
      .filter(({ recipients }) => recipients.includes('crowd@friend.example'))
      .map(({ raw }) => /^Message-ID: (.*)$/m.exec(raw.toString())?.[1])
    assert.deepEqual(ids.sort(), sent.map((one) => one.providerMessageId).sort())
  })

  test('let ten sends through in a minute, and twenty strangers in a day', async () => {
    const inbox = await world.inbox()
    const strangers = Array.from({ length: 40 }, (_, index) =>
      send(clientOf(index), inbox, { to: `s${index}@friend.example` }),
    )
    assert.deepEqual(await countOutcomes(strangers), { done: 10, '429 rate_limit_exceeded': 30 })
    assert.equal(await countMessages(world, inbox), 10)
    const other = await world.inbox()
    const cc = (from: number) =>
      Array.from({ length: 4 }, (_, index) => `c${from}.${index}@friend.example`)
    const groups = Array.from({ length: 10 }, (_, index) =>
      send(clientOf(index), other, { to: `t${index}@friend.example`, cc: cc(index) }),
    )
    assert.deepEqual(await countOutcomes(groups), { done: 4, '429 cold_outreach_limit': 6 })
  })
})

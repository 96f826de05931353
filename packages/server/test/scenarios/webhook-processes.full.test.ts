import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { type App, openApp } from '#app.ts'
import { silentLog } from '#platform/log.ts'
import { openReceiver, type Received } from '#test/peers/receiver.ts'
import { type Mail, openSender } from '#test/peers/sender.ts'
import { onEachEngine, openWorld, plainMail, testKey, type World } from '#test/world.ts'

const LIMIT = { timeout: 120_000 }
const ENV = { MAILROOM_ALLOW_PRIVATE_EGRESS: 'true' }

const idOf = (request: Received): string => String(request.headers['x-event-id'])

async function makeWebhook(world: World, url: string): Promise<void> {
  const made = await world.fetch('/v1/webhooks', {
    method: 'POST',
    body: JSON.stringify({ url }),
    headers: { 'content-type': 'application/json' },
  })
  assert.equal(made.status, 201)
}

async function sendOver(port: number, mail: Mail): Promise<void> {
  const sender = await openSender(port)
  assert.equal((await sender.send(mail)).code, 250)
  await sender.quit()
}

function statesOf({ app }: World | { app: App }) {
  return app.deps.db.read
    .selectFrom('webhook_deliveries')
    .select(['status', 'attempts', 'queue_state'])
    .execute()
}

suite('two services on one database', () => {
  test('post each event once, whichever of them took it in', LIMIT, async () => {
    const world = await openWorld('postgres', { env: ENV })
    const dataDir = await mkdtemp(join(tmpdir(), 'mailroom-test-'))
    const settings = { ...world.settings, dataDir }
    const second = await openApp(settings, { log: silentLog, clock: world.clock, makeKey: testKey })
    const receiver = await openReceiver()
    try {
      await makeWebhook(world, receiver.origin)
      const inbox = await world.inbox()
      const smtpPorts = [world.smtpPort, second.smtp?.port ?? 0]
      const count = 60
      await Promise.all(
        Array.from({ length: count }, (_, index) =>
          sendOver(smtpPorts[index % 2] ?? 0, { to: inbox.address, raw: plainMail({}) }),
        ),
      )
      await receiver.waitForCount(count)
      while ((await statesOf(world)).some(({ status }) => status === 'pending')) {
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
      assert.equal(receiver.requests.length, count)
      assert.equal(new Set(receiver.requests.map(idOf)).size, count)
      const states = await statesOf(world)
      assert.ok(states.every(({ attempts }) => attempts === 1))
    } finally {
      await second.close(1_000)
      await world.close()
      await receiver.close()
      await rm(dataDir, { recursive: true, force: true })
    }
  })
})

onEachEngine('a service that tells webhooks', (engine) => {
  test('cuts at its end what hangs, and the next one delivers it', LIMIT, async () => {
    const world = await openWorld(engine, { env: ENV })
    const receiver = await openReceiver()
    receiver.answer = 'hang'
    try {
      const inbox = await world.inbox()
      for (let index = 0; index < 3; index++) {
        await makeWebhook(world, `${receiver.origin}/${index}`)
      }
      await world.send({ to: inbox.address, raw: plainMail({}) })
      await receiver.waitForCount(3)
      const startMs = performance.now()
      await world.app.close(200)
      assert.ok(performance.now() - startMs < 12_000)
      receiver.answer = {}
      const seams = { log: silentLog, clock: world.clock, makeKey: testKey }
      const next = await openApp(world.settings, seams)
      await receiver.waitForCount(6)
      while ((await statesOf({ app: next })).some(({ status }) => status === 'pending')) {
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
      const states = await statesOf({ app: next })
      assert.deepEqual(
        states.map((row) => ({ ...row })),
        Array.from({ length: 3 }, () => ({ status: 'succeeded', attempts: 1, queue_state: null })),
      )
      const told = receiver.requests.map((request) => `${request.path} ${idOf(request)}`)
      assert.equal(new Set(told).size, 3)
      assert.deepEqual(told.slice(3).toSorted(), told.slice(0, 3).toSorted())
      await next.close(1_000)
    } finally {
      await world.close()
      await receiver.close()
    }
  })

  test('a webhook that is deleted takes its deliveries with it', LIMIT, async () => {
    const world = await openWorld(engine, { env: ENV })
    const receiver = await openReceiver()
    try {
      await makeWebhook(world, receiver.origin)
      const inbox = await world.inbox()
      for (let index = 0; index < 3; index++) {
        await world.send({ to: inbox.address, raw: plainMail({}) })
      }
      await receiver.waitForCount(3)
      const { data } = (await (await world.fetch('/v1/webhooks')).json()) as {
        data: { id: string }[]
      }
      const [{ id } = { id: '' }] = data
      assert.equal((await world.fetch(`/v1/webhooks/${id}`, { method: 'DELETE' })).status, 204)
      while ((await statesOf(world)).length > 0) {
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    } finally {
      await world.close()
      await receiver.close()
    }
  })
})

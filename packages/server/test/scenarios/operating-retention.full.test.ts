import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { openApp } from '#app/app.ts'
import { readSettings } from '#config/read-settings.ts'
import { silentLog } from '#platform/log.ts'
import { purgeExpired } from '#removal/removal.ts'
import { createTestDatabase } from '#test/peers/postgres.ts'
import { runSql } from '#test/peers/sql.ts'
import { until } from '#test/scenarios/outcomes.ts'
import { multiplyMessage } from '#test/scenarios/stored-content.ts'
import { onEachEngine, openTenant, openWorld, plainMail, type World } from '#test/world.ts'

const DAY_MS = 24 * 60 * 60 * 1000

onEachEngine('retention', (engine) => {
  const count = async (world: World, table: string) =>
    Number((await runSql(world, `select count(*) as count from ${table}`))[0]?.count)

  test('events, released addresses and mail to the postmaster expire after thirty days, messages stay', async () => {
    await using world = await openTenant(engine)
    const inbox = await world.inbox()
    await world.client.inboxes.delete((await world.inbox()).id)
    await world.send({ to: inbox.address, raw: plainMail({}) })
    await world.send({ to: 'postmaster@mailroom.localhost', raw: plainMail({}) })
    const figures = async () => {
      await purgeExpired(world.app.deps, AbortSignal.any([]))
      const tables = [
        'events',
        'released_addresses',
        'postmaster_messages',
        'raw_messages',
        'messages',
      ]
      return Promise.all(tables.map((table) => count(world, table)))
    }
    assert.deepEqual(await figures(), [1, 1, 1, 2, 1])
    world.clock.advance(30 * DAY_MS - 60_000)
    assert.deepEqual(await figures(), [1, 1, 1, 2, 1])
    world.clock.advance(60_000)
    assert.deepEqual(await figures(), [0, 0, 0, 1, 1])
    assert.equal(await count(world, 'inbox_creations'), 0)
    const [message] = (await world.client.messages.list(inbox.id).page()).data
    assert.ok((await world.client.messages.raw(message?.id ?? '')).content.length > 0)
  })

  test('events that a wrong clock dated ahead do not keep others from expiring', async () => {
    await using world = await openTenant(engine)
    const rows = 'with recursive n (i) as (select 1 union all select i + 1 from n where i < 1200)'
    const dated = `case when i <= 700 then ${Date.now() + 400 * DAY_MS} else i end`
    await runSql(
      world,
      `${rows} insert into events (id, kind, account_id, occurred_at)
       select 'evt' || i, 'k', 'acc', ${dated} from n`,
    )
    await purgeExpired(world.app.deps, AbortSignal.any([]))
    assert.equal(await count(world, 'events'), 700)
    world.clock.advance(431 * DAY_MS)
    await purgeExpired(world.app.deps, AbortSignal.any([]))
    // The service's own task may have part of the rows under way.
    await until(async () => (await count(world, 'events')) === 0)
  })

  test('a removal interrupted by the end of the service is finished after the next start', async (t) => {
    const dataDir = await mkdtemp(join(tmpdir(), 'mailroom-test-'))
    t.after(() => rm(dataDir, { recursive: true, force: true }))
    const env = {
      MAILROOM_DATA_DIR: dataDir,
      ...(engine === 'postgres' && { MAILROOM_DATABASE_URL: await createTestDatabase() }),
    }
    const world = await openWorld(engine, { env })
    const inbox = await world.inbox()
    await world.send({ to: inbox.address, raw: plainMail({}) })
    await multiplyMessage({ ...world, dataDir }, inbox.id, 4_000)
    await world.client.inboxes.delete(inbox.id)
    await world.app.close(0)
    await world.close()

    const settings = { MAILROOM_HTTP_PORT: '0', MAILROOM_SMTP_PORT: '0', ...env }
    const reading = readSettings(settings)
    if (reading.kind === 'mistakes') throw new Error(JSON.stringify(reading.mistakes))
    const app = await openApp(reading.settings, { log: silentLog })
    try {
      const left = async () => {
        const rows = await app.deps.db.read.selectFrom('messages').select('id').limit(1).execute()
        const jobs = await app.deps.db.read
          .selectFrom('jobs')
          .select('key')
          .where('kind', '=', 'purge')
          .execute()
        return rows.length + jobs.length
      }
      await until(async () => (await left()) === 0)
      assert.deepEqual(await app.deps.db.read.selectFrom('raw_messages').select('id').execute(), [])
    } finally {
      await app.close(0)
    }
  })
})

import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type App, openApp } from '#app.ts'
import { readSettings } from '#config/read-settings.ts'
import { silentLog } from '#platform/log.ts'
import { certificateSettings } from '#test/peers/certificate.ts'
import { createPreparedDatabase } from '#test/peers/postgres.ts'
import { until } from '#test/scenarios/outcomes.ts'
import { testKey } from '#test/world.ts'

const TASKS = ['blob sweep', 'hourly figures', 'key rotation', 'retention', 'search index']

test('what all need is done by one of them, and by another when it ends', async (t) => {
  const databaseUrl = await createPreparedDatabase()
  const first = await open(t, databaseUrl, 'webhooks')
  await until(async () => (await holdersOf(first)).length === TASKS.length)
  const second = await open(t, databaseUrl, 'delivery')
  const before = await holdersOf(second)
  assert.deepEqual(
    before.map(({ name }) => name),
    TASKS,
  )
  const [holder, ...others] = new Set(before.map((row) => row.holder))
  assert.deepEqual(others, [])
  await first.close(0)
  await until(async () => {
    const now = await holdersOf(second)
    return now.length === TASKS.length && now.every((row) => row.holder !== holder)
  })
})

/** Tasks that a process leads, and its name. */
async function holdersOf(app: App) {
  return app.deps.db.read
    .selectFrom('leases')
    .select(['name', 'holder'])
    .where('holder', 'is not', null)
    .orderBy('name')
    .execute()
}

async function open(t: TestContext, databaseUrl: string, roles: string): Promise<App> {
  const dataDir = await mkdtemp(join(tmpdir(), 'mailroom-test-'))
  const reading = readSettings({
    MAILROOM_DATA_DIR: dataDir,
    MAILROOM_DATABASE_URL: databaseUrl,
    MAILROOM_HTTP_PORT: '0',
    MAILROOM_SMTP_PORT: '0',
    MAILROOM_DNS_SERVERS: '127.0.0.1:9',
    MAILROOM_ROLES: roles,
    ...certificateSettings(),
  })
  if (reading.kind === 'mistakes') throw new Error(JSON.stringify(reading.mistakes))
  const app = await openApp(reading.settings, { log: silentLog, makeKey: testKey })
  t.after(async () => {
    await app.close(0)
    await rm(dataDir, { recursive: true, force: true })
  })
  return app
}

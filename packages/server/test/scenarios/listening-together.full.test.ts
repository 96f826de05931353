import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Mailroom } from '@mailroom/sdk'
import { type App, openApp } from '#app/app.ts'
import { askHealth } from '#commands/check-health.ts'
import { readSettings } from '#config/read-settings.ts'
import type { Settings } from '#config/settings.ts'
import { healthPath, openHealth } from '#operating/health.ts'
import { silentLog } from '#platform/log.ts'
import { certificateSettings } from '#test/peers/certificate.ts'
import { findFreePorts } from '#test/peers/free-port.ts'
import { createPreparedDatabase } from '#test/peers/postgres.ts'
import { openSender } from '#test/peers/sender.ts'
import { plainMail, testKey } from '#test/world.ts'

const KEY = 'the-key-of-this-test-0123456789'
/** If two services share connections at random, one gets all of them once in 2^39 runs. */
const CONNECTIONS = 40

type Ending = { after(run: () => unknown): void }

/** Ports and a database that several services share, each with its own settings. */
async function openPlace(t: Ending) {
  const dataDir = await mkdtemp(join(tmpdir(), 'mailroom-test-'))
  t.after(() => rm(dataDir, { recursive: true, force: true }))
  const [http = 0, smtp = 0] = await findFreePorts(2)
  const shared = {
    MAILROOM_DATA_DIR: dataDir,
    MAILROOM_DATABASE_URL: await createPreparedDatabase(),
    MAILROOM_HTTP_PORT: String(http),
    MAILROOM_SMTP_PORT: String(smtp),
    MAILROOM_DNS_SERVERS: '127.0.0.1:9',
    MAILROOM_BOOTSTRAP_API_KEY: KEY,
    ...certificateSettings(),
  }
  const settingsWith = (env: Record<string, string>): Settings => {
    const reading = readSettings({ ...shared, ...env })
    if (reading.kind === 'mistakes') throw new Error(JSON.stringify(reading.mistakes))
    return reading.settings
  }
  return {
    smtp,
    client: new Mailroom({ baseUrl: `http://127.0.0.1:${http}`, apiKey: KEY, maxRetries: 0 }),
    settingsWith,
    async start(env: Record<string, string>): Promise<App> {
      const app = await openApp(settingsWith(env), { log: silentLog, makeKey: testKey })
      t.after(() => app.close(0))
      return app
    },
  }
}

test('two services share their ports, and one gets all connections when the other ends', async (t) => {
  const place = await openPlace(t)
  const start = (name: string) =>
    place.start({ MAILROOM_REUSE_PORT: 'true', MAILROOM_SMTP_HOSTNAME: name })
  const one = await start('one.example')
  await start('two.example')
  const namesSeen = async () => {
    const names = new Set<string>()
    for (let count = 0; count < CONNECTIONS; count++) {
      const sender = await openSender(place.smtp)
      names.add(sender.greeting.lines[0]?.split(' ')[0] ?? '')
      sender.socket.destroy()
    }
    return [...names].sort()
  }
  assert.deepEqual(await namesSeen(), ['one.example', 'two.example'])
  const inbox = await place.client.inboxes.create()
  await one.close()
  assert.deepEqual(await namesSeen(), ['two.example'])
  const sender = await openSender(place.smtp)
  assert.equal((await sender.send({ to: inbox.address, raw: plainMail({}) })).code, 250)
  await sender.quit()
  assert.equal((await place.client.messages.list(inbox.id).page()).total, 1)
})

test('without the setting a second service is refused the ports', async (t) => {
  const place = await openPlace(t)
  await place.start({})
  await assert.rejects(place.start({}), { code: 'EADDRINUSE' })
})

test('a process reports its health in its data directory, even if it shares its ports', async (t) => {
  const place = await openPlace(t)
  const { dataDir } = place.settingsWith({})
  await assert.rejects(askHealth(dataDir, {}), /no service answers for .*ENOENT/)
  const app = await place.start({ MAILROOM_ROLES: 'delivery' })
  const { findObstacle } = app
  const { log, lines } = recordingLog()
  const health = await openHealth({ dataDir, findObstacle, log })
  await askHealth(dataDir, {})
  await askHealth(dataDir, { ready: true })

  const second = await openHealth({ dataDir, findObstacle: async () => 'never asked', log })
  assert.deepEqual(lines.splice(0), ['this process cannot be asked for its health'])
  await second.close()
  await askHealth(dataDir, { ready: true })

  await app.close()
  await askHealth(dataDir, {})
  await assert.rejects(askHealth(dataDir, { ready: true }), /The service is shutting down/)
  await health.close()
  await assert.rejects(askHealth(dataDir, {}), /no service answers/)
})

test('the socket of a killed process does not block the next one', async (t) => {
  const place = await openPlace(t)
  const { dataDir } = place.settingsWith({})
  const script = `require('net').createServer().listen(process.argv[1], () => process.kill(process.pid, 9))`
  spawnSync(process.execPath, ['-e', script, healthPath({ dataDir })])
  await assert.rejects(askHealth(dataDir, {}), /ECONNREFUSED/)
  const { log, lines } = recordingLog()
  const health = await openHealth({ dataDir, findObstacle: async () => null, log })
  t.after(() => health.close())
  await askHealth(dataDir, { ready: true })
  assert.deepEqual(lines, [])
})

function recordingLog() {
  const lines: string[] = []
  const note = (_fields: object, text: string) => void lines.push(text)
  return { log: { debug: note, info: note, warn: note, error: note }, lines }
}

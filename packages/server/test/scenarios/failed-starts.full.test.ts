import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, suite, type TestContext, test } from 'node:test'
import pg from 'pg'
import { openApp } from '#app/app.ts'
import { readSettings } from '#config/read-settings.ts'
import type { Settings } from '#config/settings.ts'
import { silentLog } from '#platform/log.ts'
import { makeSelfSignedCertificate } from '#platform/tls/server-tls.ts'
import { createPreparedDatabase } from '#test/peers/postgres.ts'
import { startS3, type TestS3 } from '#test/peers/s3.ts'
import { until } from '#test/scenarios/outcomes.ts'
import { testKey } from '#test/world.ts'

suite('a start that fails', () => {
  let folder: string
  let s3: TestS3
  let databaseUrl: string
  const taken = createServer()
  let takenPort: string
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mailroom-test-'))
    const made = await makeSelfSignedCertificate('mailroom.localhost', Date.now())
    await writeFile(join(folder, 'cert.pem'), made.certificatePem)
    await writeFile(join(folder, 'key.pem'), made.privateKeyPem, { mode: 0o600 })
    s3 = await startS3()
    databaseUrl = await createPreparedDatabase()
    taken.listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const address = taken.address()
    takenPort = String(typeof address === 'object' ? address?.port : '')
  })
  after(async () => {
    taken.close()
    await s3.close()
    await rm(folder, { recursive: true, force: true })
  })

  const settingsWith = (env: Record<string, string>): Settings => {
    const reading = readSettings({
      MAILROOM_DATA_DIR: join(folder, 'data'),
      MAILROOM_HTTP_PORT: '0',
      MAILROOM_SMTP_PORT: '0',
      MAILROOM_METRICS_PORT: '0',
      MAILROOM_DNS_SERVERS: '127.0.0.1:9',
      MAILROOM_TLS_CERT: join(folder, 'cert.pem'),
      MAILROOM_TLS_KEY: join(folder, 'key.pem'),
      ...env,
    })
    if (reading.kind === 'mistakes') throw new Error(JSON.stringify(reading.mistakes))
    return reading.settings
  }

  const open = (env: Record<string, string>) =>
    openApp(settingsWith(env), { log: silentLog, makeKey: testKey })

  /** The number of intervals that `run` set and did not clear. */
  async function intervalsLeftBy(t: TestContext, run: () => Promise<void>): Promise<number> {
    const [set, cleared] = [
      t.mock.method(globalThis, 'setInterval'),
      t.mock.method(globalThis, 'clearInterval'),
    ]
    await run()
    const left = new Set(set.mock.calls.map(({ result }) => result))
    for (const {
      arguments: [timer],
    } of cleared.mock.calls)
      left.delete(timer as NodeJS.Timeout)
    for (const mocked of [set, cleared]) mocked.mock.restore()
    return left.size
  }

  async function untilDisconnected(): Promise<void> {
    const client = new pg.Client({ connectionString: databaseUrl })
    await client.connect()
    try {
      await until(async () => {
        const { rows } = await client.query(
          'select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
        )
        return rows.length === 0
      })
    } finally {
      await client.end()
    }
  }

  const onPostgres = () => ({ MAILROOM_DATABASE_URL: databaseUrl })
  const CASES: [string, () => Record<string, string>, RegExp][] = [
    [
      'at a port in use',
      () => ({ ...onPostgres(), MAILROOM_HTTP_PORT: takenPort, MAILROOM_HTTP_HOST: '127.0.0.1' }),
      /EADDRINUSE/,
    ],
    [
      'at a bucket that is not there',
      () => {
        const { MAILROOM_BLOB_URL: url = '', ...keys } = s3.envAt('failed')
        return { ...onPostgres(), ...keys, MAILROOM_BLOB_URL: url.replace('//mail/', '//absent/') }
      },
      /Large messages cannot be stored/,
    ],
    [
      'at a database that is away',
      () => ({ MAILROOM_DATABASE_URL: 'postgres://127.0.0.1:9/x' }),
      /./,
    ],
  ]
  for (const [what, env, reason] of CASES) {
    test(`${what} reports the cause, and leaves nothing running`, async (t) => {
      const left = await intervalsLeftBy(t, () => assert.rejects(open(env()), reason))
      assert.equal(left, 0)
      await untilDisconnected()
    })
  }

  test('releases the data directory and its ports', async () => {
    const port = { MAILROOM_SMTP_PORT: await freePort(), MAILROOM_SMTP_HOST: '127.0.0.1' }
    const failing = { ...port, MAILROOM_HTTP_PORT: takenPort, MAILROOM_HTTP_HOST: '127.0.0.1' }
    for (let start = 0; start < 2; start++) await assert.rejects(open(failing), /EADDRINUSE/)
    const app = await open(port)
    await app.close(0)
  })
})

async function freePort(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  return String(typeof address === 'object' ? address?.port : '')
}

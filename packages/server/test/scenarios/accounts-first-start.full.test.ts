import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { openApp } from '#app/app.ts'
import { databasePath } from '#app/open-store.ts'
import { readSettings } from '#config/read-settings.ts'
import type { Settings } from '#config/settings.ts'
import { silentLog } from '#platform/log.ts'
import { certificateSettings } from '#test/peers/certificate.ts'
import { until } from '#test/scenarios/outcomes.ts'
import { clientOf, emptyPlace, type Place } from '#test/scenarios/service-process.ts'
import { OPERATOR_TOKEN, onEachEngine } from '#test/world.ts'

const KEY = /mr_[0-9A-Za-z]{40}/

onEachEngine('the start of the service', (engine) => {
  test('a start that fails at a port in use creates no account; the next start prints a working key, and later ones print none', async (t) => {
    const place = await emptyPlace(engine)
    t.after(() => place.remove())
    const env = { MAILROOM_ADMIN_TOKEN: OPERATOR_TOKEN }
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    t.after(() => other.close())
    const { port } = other.address() as AddressInfo
    for (const name of ['MAILROOM_HTTP_PORT', 'MAILROOM_SMTP_PORT']) {
      const announceFirstAccount = () => assert.fail('a key was told')
      const settings = settingsOf(place, { ...env, [name]: String(port) })
      const failing = openApp(settings, { log: silentLog, announceFirstAccount })
      await assert.rejects(failing, new RegExp(`EADDRINUSE.*${port}`))
    }

    const first = place.start(env)
    const { http } = await first.ready
    await until(async () => first.output().includes('curl -s'))
    assert.match(
      first.output(),
      /Mailroom is ready\.\n\n {2}API {6}(http\S+)\n {2}Console {2}\1\/console\/\n {2}SMTP {5}127\.0\.0\.1:\d+\n\n {2}API key {2}mr_/,
    )
    assert.match(first.output(), /Sandbox: nothing leaves this machine\./)
    const key = KEY.exec(first.output())?.[0] ?? ''
    assert.equal((await clientOf(http, key).pods.list().page()).total, 1)
    assert.ok(first.output().includes(`curl -s ${http}/v1/inboxes`))
    assert.equal(await first.stop(), 0)

    const second = place.start(env)
    const again = (await second.ready).http
    const accounts = await clientOf(again, OPERATOR_TOKEN).admin.accounts.list().page()
    assert.equal((await clientOf(again, key).pods.list().page()).total, 1)
    assert.equal(await second.stop(), 0)
    assert.equal(accounts.total, 1)
    assert.doesNotMatch(second.output(), KEY)
    const lines = second.output().trim().split('\n')
    const [told] = lines.map((line) => JSON.parse(line)).filter(({ msg }) => /ready/.test(msg))
    assert.equal(told?.console, `${again}/console/`)
  })

  test('at a terminal, each later start prints the addresses and how to replace a lost key', async (t) => {
    const place = await emptyPlace(engine)
    t.after(() => place.remove())
    const first = place.start()
    await first.ready
    assert.equal(await first.stop(), 0)
    const later = place.startAtTerminal()
    await until(async () => later.output().includes('mailroom admin key create --account ID'))
    assert.match(
      later.output().replaceAll('\r', ''),
      /Mailroom is ready\.\n\n {2}API {6}(http\S+)\n {2}Console {2}\1\/console\/\n {2}SMTP {5}\S+:\d+\n/,
    )
    assert.doesNotMatch(later.output(), KEY)
  })

  test('a key is printed before it is stored, so a crash never leaves a key that nobody knows', async (t) => {
    const place = await emptyPlace(engine)
    t.after(() => place.remove())
    const settings = settingsOf(place)
    const tokens: string[] = []
    const open = (announceFirstAccount: (made: { token: string }) => void) =>
      openApp(settings, { log: silentLog, announceFirstAccount })
    const crashing = open(({ token }) => {
      tokens.push(token)
      throw new Error('the power failed')
    })
    await assert.rejects(crashing, /the power failed/)
    const app = await open(({ token }) => tokens.push(token))
    t.after(() => app.close(0))
    const [lost = '', kept = ''] = tokens
    assert.equal(
      (
        await clientOf(app.http?.address ?? '', kept)
          .pods.list()
          .page()
      ).total,
      1,
    )
    await assert.rejects(
      clientOf(app.http?.address ?? '', lost)
        .pods.list()
        .page(),
      {
        status: 401,
      },
    )
  })

  test('a configured key and plan are those of the first account, the key is not printed, and other values later change nothing', async (t) => {
    const place = await emptyPlace(engine)
    t.after(() => place.remove())
    const [key, other] = ['a-key-of-my-own_0123456789', 'the-other-key-0123456789']
    const env = {
      MAILROOM_ADMIN_TOKEN: OPERATOR_TOKEN,
      MAILROOM_BOOTSTRAP_API_KEY: key,
      MAILROOM_BOOTSTRAP_PLAN: 'developer',
    }
    const first = place.start(env)
    const { http } = await first.ready
    const { data } = await clientOf(http, OPERATOR_TOKEN).admin.accounts.list().page()
    const keys = await clientOf(http, key).apiKeys.list().page()
    assert.equal(await first.stop(), 0)
    assert.deepEqual(
      data.map(({ plan }) => plan),
      ['developer'],
    )
    assert.deepEqual([keys.data[0]?.tokenPrefix, keys.data[0]?.last4], ['a-key-o', '6789'])
    assert.ok(!first.output().includes(key))

    const settings = settingsOf(place, { MAILROOM_BOOTSTRAP_API_KEY: other })
    const second = await openApp(settings, { log: silentLog })
    t.after(() => second.close(0))
    const again = second.http?.address ?? ''
    assert.equal((await clientOf(again, key).pods.list().page()).total, 1)
    await assert.rejects(clientOf(again, other).pods.list().page(), { status: 401 })
  })
})

test('a start that cannot use an address or a database names the setting', async (t) => {
  const place = await emptyPlace('sqlite')
  t.after(() => place.remove())
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  t.after(() => other.close())
  const { port } = other.address() as AddressInfo
  const failures: [Record<string, string>, RegExp][] = [
    [{ MAILROOM_HTTP_PORT: `${port}` }, /127\.0\.0\.1:\d+ is in use\..*MAILROOM_HTTP_PORT/],
    [{ MAILROOM_SMTP_PORT: `${port}` }, /127\.0\.0\.1:\d+ is in use\..*MAILROOM_SMTP_PORT/],
    [
      { MAILROOM_HTTP_HOST: '192.0.2.1', MAILROOM_HTTP_PORT: '8080' },
      /192\.0\.2\.1:8080 is not .*MAILROOM_HTTP_HOST/,
    ],
    [
      { MAILROOM_DATABASE_URL: 'postgres://me:secret@127.0.0.1:1/mail' },
      /127\.0\.0\.1:1\/mail \(MAILROOM_DATABASE_URL\) cannot be used/,
    ],
  ]
  for (const [env, told] of failures) {
    const started = place.start(env)
    started.ready.catch(() => {})
    assert.equal(await started.ended, 1)
    assert.match(started.output(), told)
    assert.doesNotMatch(started.output(), /secret|\n +at /)
  }
})

test('until the account is created the service is not ready, and early requests wait', async (t) => {
  const place = await emptyPlace('sqlite')
  t.after(() => place.remove())
  const key = 'a-key-of-my-own_0123456789'
  const told = Promise.withResolvers<string>()
  const other = new DatabaseSync(databasePath(settingsOf(place)), { timeout: 5_000 })
  const opening = openApp(settingsOf(place, { MAILROOM_BOOTSTRAP_API_KEY: key }), {
    log: silentLog,
    announceFirstAccount(_made, { publicUrl }) {
      // Another process is writing, so creating the account waits.
      other.exec('BEGIN IMMEDIATE')
      told.resolve(publicUrl)
    },
  })
  const http = await told.promise
  const early = clientOf(http, key).pods.list().page()
  const ready = await fetch(`${http}/ready`)
  assert.equal(ready.status, 503)
  assert.match(await ready.text(), /The service is starting/)
  assert.equal((await fetch(`${http}/health`)).status, 200)
  other.exec('ROLLBACK')
  other.close()
  const app = await opening
  t.after(() => app.close(0))
  assert.equal((await early).total, 1)
  assert.equal((await fetch(`${http}/ready`)).status, 200)
})

test('processes that start together on one empty database create one account', async (t) => {
  const place = await emptyPlace('postgres')
  t.after(() => place.remove())
  const processes = Array.from({ length: 2 }, (_, index) =>
    place.start({
      MAILROOM_DATA_DIR: `${place.dataDir}/${index}`,
      MAILROOM_ADMIN_TOKEN: OPERATOR_TOKEN,
    }),
  )
  const [first] = await Promise.all(processes.map(({ ready }) => ready))
  const http = first?.http ?? ''
  const { total } = await clientOf(http, OPERATOR_TOKEN).admin.accounts.list().page()
  assert.equal(total, 1)
  const outputs = processes.map((service) => service.output())
  const good = outputs.filter((output) => KEY.test(output) && !/is not valid/.test(output))
  assert.equal(good.length, 1)
  const key = KEY.exec(good[0] ?? '')?.[0] ?? ''
  assert.equal((await clientOf(http, key).pods.list().page()).total, 1)
  await Promise.all(processes.map((service) => service.stop()))
})

/** Settings of a service in this process, on the data of this place. */
function settingsOf(place: Place, env: Record<string, string> = {}): Settings {
  const reading = readSettings({
    MAILROOM_DATA_DIR: place.dataDir,
    MAILROOM_HTTP_PORT: '0',
    MAILROOM_SMTP_PORT: '0',
    ...certificateSettings(),
    ...(place.databaseUrl !== null && { MAILROOM_DATABASE_URL: place.databaseUrl }),
    ...env,
  })
  if (reading.kind === 'mistakes') throw new Error(JSON.stringify(reading.mistakes))
  return reading.settings
}

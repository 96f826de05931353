import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { openWithSigners, signFor, verdictOn } from '#test/conformance/keys-place.ts'
import { openAt } from '#test/conformance/open-database.ts'
import { emptyPlace, type Place } from '#test/scenarios/service-process.ts'

const SECRET_KEY = 'c0ffee'.repeat(10).concat('c0ff')

async function temporaryFolder(t: { after(run: () => unknown): void }): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'mailroom-test-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** The DNS record of the signing key. */
async function publishedBy(place: Place, env: Record<string, string> = {}): Promise<string> {
  const { code, output } = await place.commandWith(env, 'admin', 'dns')
  assert.equal(code, 0, output)
  return /mr1\S+ +(v=DKIM1; k=rsa; p=\S{392})$/m.exec(output)?.[1] ?? ''
}

test('two services with separate data directories on one PostgreSQL have one key', async (t) => {
  const place = await emptyPlace('postgres')
  t.after(() => place.remove())
  const other = { MAILROOM_DATA_DIR: await temporaryFolder(t) }
  const services = [place.start(), place.start(other)]
  await Promise.all(services.map(({ ready }) => ready))
  const published = await publishedBy(place)
  assert.match(published, /^v=DKIM1/)
  assert.equal(await publishedBy(place, other), published)

  const settings = { MAILROOM_SECRET_KEY: SECRET_KEY }
  assert.equal(await publishedBy(place, settings), published)
  const { code, output } = await place.commandWith(other, 'admin', 'dns')
  assert.equal(code, 1)
  assert.match(output, /^mailroom: .*set MAILROOM_SECRET_KEY to it/m)
  assert.equal(await publishedBy(place, { ...other, ...settings }), published)
})

test('a service restored from a backup signs with the published key', async (t) => {
  const place = await emptyPlace('sqlite')
  t.after(() => place.remove())
  const published = await publishedBy(place)
  const service = place.start()
  await service.ready
  const folder = join(await temporaryFolder(t), 'backup')
  const backup = await place.command('admin', 'backup', folder)
  assert.equal(backup.code, 0, backup.output)
  await service.kill()
  await rm(place.dataDir, { recursive: true })

  assert.equal((await stat(join(folder, 'secret.key'))).mode & 0o777, 0o600)
  const restored = place.start({ MAILROOM_DATA_DIR: folder })
  await restored.ready
  assert.equal(await restored.stop(), 0)
  assert.equal(await publishedBy(place, { MAILROOM_DATA_DIR: folder }), published)
  const db = await openAt('sqlite', join(folder, 'mailroom.db'))
  t.after(() => db.close())
  const inboxDomain = 'mailroom.localhost'
  const settings = { dataDir: folder, databaseUrl: null, secretKey: null, inboxDomain }
  const keys = await openWithSigners({ db }, settings)
  const signed = await signFor(keys, inboxDomain, Date.now())
  assert.deepEqual(await verdictOn(signed, published), ['pass'])
})

test('a backup holds no key that is given by the settings', async (t) => {
  const place = await emptyPlace('sqlite')
  t.after(() => place.remove())
  const settings = { MAILROOM_SECRET_KEY: SECRET_KEY }
  const published = await publishedBy(place, settings)
  const folder = join(await temporaryFolder(t), 'backup')
  const backup = await place.commandWith(settings, 'admin', 'backup', folder)
  assert.equal(backup.code, 0, backup.output)
  assert.ok(!(await readdir(folder)).includes('secret.key'))
  const restored = { MAILROOM_DATA_DIR: folder }
  assert.equal((await place.commandWith(restored, 'admin', 'dns')).code, 1)
  assert.equal(await publishedBy(place, { ...restored, ...settings }), published)
})

test('a key given by the settings is hidden in the log', async (t) => {
  const place = await emptyPlace('sqlite')
  t.after(() => place.remove())
  // The start log names the data directory.
  const dataDir = join(place.dataDir, SECRET_KEY)
  const service = place.start({ MAILROOM_SECRET_KEY: SECRET_KEY, MAILROOM_DATA_DIR: dataDir })
  await service.ready
  assert.equal(await service.stop(), 0)
  assert.match(service.output(), /"dataDir":"[^"]*\[hidden\]"/)
  assert.ok(!service.output().includes(SECRET_KEY))
})

import assert from 'node:assert/strict'
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { copyBlobs, openDiskBlobs } from '#platform/blobs/disk-blobs.ts'
import { makePrivateFolder } from '#platform/blobs/durable-folder.ts'
import { silentLog } from '#platform/log.ts'
import { openServerTls } from '#platform/tls/server-tls.ts'
import { makeId } from '#test/conformance/open-database.ts'
import { openSender } from '#test/peers/sender.ts'
import { clientOf, emptyPlace, type Place } from '#test/scenarios/service-process.ts'
import { plainMail } from '#test/world.ts'

const KEY = 'the-key-of-this-test-0123456789'
const LARGE = plainMail({ body: `${'x'.repeat(70)}\r\n`.repeat(3_000) })

async function temporaryFolder(t: { after(run: () => unknown): void }): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'mailroom-test-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** The permissions of other users of the machine. */
async function openToOthers(folder: string): Promise<string[]> {
  const names = ['.', ...(await readdir(folder, { recursive: true }))]
  const found: string[] = []
  for (const name of names) {
    const { mode } = await stat(join(folder, name))
    if ((mode & 0o077) !== 0) found.push(`${name} ${(mode & 0o777).toString(8)}`)
  }
  return found
}

/** A service that received one large message and has ended. */
async function fill(place: Place): Promise<void> {
  const service = place.start({
    MAILROOM_BOOTSTRAP_API_KEY: KEY,
    MAILROOM_BLOB_URL: 'disk',
    // The service creates its own certificate.
    MAILROOM_TLS_CERT: '',
    MAILROOM_TLS_KEY: '',
  })
  const { http, smtpPort } = await service.ready
  const inbox = await clientOf(http, KEY).inboxes.create({ mailboxName: 'large' })
  const sender = await openSender(smtpPort)
  assert.equal((await sender.send({ to: inbox.address, raw: LARGE })).code, 250)
  await sender.quit()
  assert.equal(await service.stop(), 0)
}

test('an existing data directory and backup folder are closed to other users', async (t) => {
  const place = await emptyPlace('sqlite')
  t.after(() => place.remove())
  await chmod(place.dataDir, 0o755)
  await fill(place)
  assert.deepEqual(await openToOthers(place.dataDir), [])

  const folder = join(await temporaryFolder(t), 'backup')
  await mkdir(folder)
  await chmod(folder, 0o755)
  const { code, output } = await place.command('admin', 'backup', folder)
  assert.equal(code, 0, output)
  assert.deepEqual(await openToOthers(folder), [])
  assert.ok((await readdir(folder)).includes('tls'))
})

test('files are private even if their folder cannot be closed', async (t) => {
  const place = await emptyPlace('sqlite')
  t.after(() => place.remove())
  // Shared on purpose, like /tmp: the mode of such a folder does not change.
  await chmod(place.dataDir, 0o1777)
  await fill(place)
  assert.equal((await stat(place.dataDir)).mode & 0o7777, 0o1777)
  assert.deepEqual(await openToOthers(place.dataDir), ['. 777'])
})

test('a folder is created with its missing parents, from a relative path too', async (t) => {
  const folder = await temporaryFolder(t)
  const start = process.cwd()
  t.after(() => process.chdir(start))
  process.chdir(folder)
  makePrivateFolder('one/two/')
  makePrivateFolder('one/two')
  assert.deepEqual(await openToOthers(folder), [])
  assert.deepEqual(await readdir(join(folder, 'one')), ['two'])
})

test(
  'a folder that the system does not let exist is an error',
  { skip: process.platform !== 'linux' && 'needs /proc' },
  () => assert.throws(() => makePrivateFolder('/proc/none/data'), { code: 'ENOENT' }),
)

test('concurrent first starts leave one certificate with its own key', async (t) => {
  const dataDir = await temporaryFolder(t)
  const settings = { tlsFiles: null, dataDir, smtpHostname: 'mail.example' }
  const options = { now: Date.now, log: silentLog }
  await Promise.all([1, 2, 3].map(() => openServerTls(settings, options)))
  await openServerTls(settings, options)
  assert.deepEqual(await readdir(join(dataDir, 'tls')), ['self-signed.pem'])
  const pem = await readFile(join(dataDir, 'tls', 'self-signed.pem'))
  assert.ok(new X509Certificate(pem).checkPrivateKey(createPrivateKey(pem)))
  assert.deepEqual(await openToOthers(dataDir), [])
})

test('a stored message removed during a backup causes a second copy of the database', async (t) => {
  const folder = await temporaryFolder(t)
  const [from, to] = [join(folder, 'from'), join(folder, 'to')]
  const blobs = await openDiskBlobs(from)
  const [kept, gone, deleted] = [makeId('raw'), makeId('raw'), makeId('raw')]
  for (const id of [kept, gone, deleted]) await blobs.put(id, Buffer.from(id))
  const lists = [[kept, deleted, gone], [kept, gone], [kept]]
  const isWhole = await copyBlobs({
    from,
    to,
    async copyDatabase() {
      await blobs.remove([gone])
      return lists.shift() ?? []
    },
  })
  assert.equal(isWhole, true)
  assert.deepEqual(lists, [])
  const copies = (await readdir(to, { recursive: true })).filter((name) => name.includes('raw_'))
  assert.deepEqual(copies, [join(kept.slice(-2), kept)])
  assert.equal((await readFile(join(to, copies[0] ?? ''))).toString(), kept)
})

test('a backup without all stored messages fails', async (t) => {
  const place = await emptyPlace('sqlite')
  t.after(() => place.remove())
  await fill(place)
  const blobs = join(place.dataDir, 'blobs')
  await rm(blobs, { recursive: true })
  const { code, output } = await place.command('admin', 'backup', join(place.dataDir, 'backup'))
  assert.equal(code, 1)
  assert.match(output, /could not be copied because they were gone/)
})

test('a dump of PostgreSQL is of the moment whose messages are copied', async (t) => {
  const place = await emptyPlace('postgres')
  t.after(() => place.remove())
  await fill(place)
  const folder = await temporaryFolder(t)
  // Replaces a program that may be missing or of another version than the server: it records its arguments.
  await writeFile(join(folder, 'pg_dump'), '#!/bin/sh\necho "$@" >"$(echo "$2" | cut -d= -f2)"\n', {
    mode: 0o755,
  })
  const env = { PATH: `${folder}:${process.env.PATH}`, MAILROOM_BLOB_URL: 'disk' }
  const whole = await place.commandWith(env, 'admin', 'backup', join(folder, 'whole'))
  assert.equal(whole.code, 0, whole.output)
  const dump = await readFile(join(folder, 'whole', 'mailroom.dump'), 'utf8')
  assert.match(dump, /--snapshot=[0-9A-F]+-[0-9A-F]+-\d/)
  const stored = await readdir(join(folder, 'whole', 'blobs'), { recursive: true })
  assert.equal(stored.filter((name) => name.includes('raw_')).length, 1)

  await rm(join(place.dataDir, 'blobs'), { recursive: true })
  const partial = await place.commandWith(env, 'admin', 'backup', join(folder, 'partial'))
  assert.equal(partial.code, 1)
  assert.match(partial.output, /could not be copied because they were gone/)
})

test('a second process on one SQLite data directory is refused with a reason, the first continues, and after a crash the directory is free at once', async (t) => {
  const place = await emptyPlace('sqlite')
  t.after(() => place.remove())
  const first = place.start({ MAILROOM_BOOTSTRAP_API_KEY: KEY })
  const { http } = await first.ready
  const second = place.start()
  assert.notEqual(await second.ended, 0)
  assert.match(second.output(), /Another process already serves this data directory/)
  assert.doesNotMatch(second.output(), /^ {4}at /m)
  await clientOf(http, KEY).inboxes.create()
  await first.kill()

  const third = place.start()
  const again = (await third.ready).http
  assert.equal((await clientOf(again, KEY).inboxes.list().page()).total, 1)
  assert.equal(await third.stop(), 0)
})

test('several processes serve one PostgreSQL database as one service', async (t) => {
  const place = await emptyPlace('postgres')
  t.after(() => place.remove())
  const env = { MAILROOM_BOOTSTRAP_API_KEY: KEY }
  const first = place.start({ ...env, MAILROOM_DATA_DIR: `${place.dataDir}/one` })
  const one = await first.ready
  const second = place.start({ ...env, MAILROOM_DATA_DIR: `${place.dataDir}/two` })
  const two = await second.ready
  const inbox = await clientOf(one.http, KEY).inboxes.create()
  const sender = await openSender(two.smtpPort)
  assert.equal((await sender.send({ to: inbox.address, raw: plainMail({}) })).code, 250)
  await sender.quit()
  assert.equal((await clientOf(one.http, KEY).messages.list(inbox.id).page()).total, 1)

  const made = await clientOf(one.http, KEY).apiKeys.create()
  await clientOf(two.http, made.token).pods.list().page()
  await clientOf(one.http, KEY).apiKeys.delete(made.id)
  await assert.rejects(clientOf(two.http, made.token).pods.list().page(), { status: 401 })
  assert.deepEqual(await Promise.all([first.stop(), second.stop()]), [0, 0])
})

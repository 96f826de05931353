import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, test } from 'node:test'
import type { Inbox } from '@mailroom/sdk'
import { openStore, silentObserver } from '#app/open-store.ts'
import { checkBlobs } from '#commands/doctor/check-machine.ts'
import type { Settings } from '#config/settings.ts'
import { openBlobs } from '#platform/blobs/open-blobs.ts'
import { makeId } from '#test/conformance/open-database.ts'
import { startS3, type TestS3 } from '#test/peers/s3.ts'
import { errorOf } from '#test/scenarios/outcomes.ts'
import { emptyPlace, type Place } from '#test/scenarios/service-process.ts'
import { openWorld, plainMail, type World } from '#test/world.ts'

const LARGE = plainMail({ body: `${'x'.repeat(70)}\r\n`.repeat(3_000) })
const PREFIX = 'large'
/** Shorter than the timeout of a request, so that the test notices a wait for a silent server. */
const GUARD_MS = 20_000
const NEVER = AbortSignal.any([])
let s3: TestS3
let world: World
let inbox: Inbox
let place: Place
before(async () => {
  s3 = await startS3()
  world = await openWorld('sqlite', { env: s3.envAt(PREFIX) })
  inbox = await world.inbox()
  place = await emptyPlace('sqlite')
})
beforeEach(() => {
  s3.mood = 'well'
})
after(async () => {
  await Promise.all([world?.close(), place?.remove()])
  await s3?.close()
})

const receive = async (raw: string) => (await world.send({ to: inbox.address, raw })).code
const rawOf = (id: string) => world.fetch(`/v1/messages/${id}/raw`)
const send = (bytes: number) =>
  world.fetch(`/v1/inboxes/${inbox.id}/send`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': makeId('key') },
    body: JSON.stringify({
      to: 'ann@receiver.example',
      subject: 'A file',
      body: 'Here it is.',
      attachments: [
        {
          filename: 'a.bin',
          contentType: 'application/octet-stream',
          data: Buffer.alloc(bytes, 'abc').toString('base64'),
        },
      ],
    }),
  })

test('while the bucket’s server is down large mail is deferred, small mail is not, and both are accepted afterwards', async () => {
  assert.equal(await receive(LARGE), 250)
  const [message] = (await world.client.messages.list(inbox.id).page()).data
  assert.ok(message !== undefined)
  assert.equal((await s3.namesUnder(PREFIX)).length, 1)

  s3.mood = 'failing'
  const [large, small, refused, unread] = await Promise.all([
    receive(LARGE),
    receive(plainMail({})),
    send(300_000),
    rawOf(message.id),
  ])
  assert.deepEqual([large, small], [451, 250])
  assert.equal(refused.status, 503)
  assert.ok(Number(refused.headers.get('retry-after')) > 0)
  assert.equal((await errorOf(refused)).error, 'service_unavailable')
  assert.equal(unread.status, 503)
  assert.equal((await errorOf(unread)).error, 'service_unavailable')
  assert.equal((await send(3)).status, 200)
  assert.equal((await world.fetch('/ready')).status, 200)

  s3.mood = 'well'
  assert.equal(Buffer.from(await (await rawOf(message.id)).arrayBuffer()).includes(LARGE), true)
  assert.equal(await receive(LARGE), 250)
  assert.equal((await send(300_000)).status, 200)
  // Deferred mail left nothing.
  assert.equal((await s3.namesUnder(PREFIX)).length, 3)
})

test('an unusable bucket ends the start, and the secret is not printed', async () => {
  const secret = 'a-secret-that-nobody-may-see'
  const wrong = { ...s3.envAt(PREFIX), AWS_SECRET_ACCESS_KEY: secret }
  const service = place.start(wrong)
  assert.equal(await service.ended, 1)
  assert.match(service.output(), /refused the credentials, see AWS_ACCESS_KEY_ID/)
  assert.ok(!service.output().includes(secret), service.output())
})

test('a start fails when the bucket is missing, and succeeds when its server is down', {
  timeout: GUARD_MS,
}, async () => {
  const { settings } = world
  const { blobStore } = settings
  assert.ok(typeof blobStore !== 'string')
  const dataDir = await mkdtemp(join(tmpdir(), 'mailroom-test-'))
  const warnings: string[] = []
  const start = (changes: Partial<typeof blobStore>) =>
    openStore({
      settings: { ...settings, dataDir, blobStore: { ...blobStore, ...changes } },
      as: 'service',
      observer: silentObserver,
      onError: () => {},
      onBlobsAway: (text) => warnings.push(text),
    })
  try {
    await assert.rejects(start({ bucket: 'nowhere' }), /has no bucket nowhere/)
    s3.mood = 'cutting'
    // The failed start left nothing open, or this one would be refused.
    await (await start({})).close()
    assert.match(warnings.join(), /cannot be used now: S3 did not answer/)
    s3.mood = 'silent'
    const warn = (text: string) => warnings.push(text)
    const slow = await openBlobs(settings, { as: 'service', warn, startMs: 20 })
    await slow?.close()
    assert.match(warnings.at(-1) ?? '', /has not answered within/)
  } finally {
    await rm(dataDir, { recursive: true, force: true })
  }
})

test('the doctor checks the bucket and writes nothing into it', async () => {
  const judge = async (changes: Partial<Settings> = {}) =>
    (await checkBlobs({ ...world.settings, ...changes }, NEVER)).map(({ verdict }) => verdict)
  s3.requests.length = 0
  assert.deepEqual(await judge(), ['ok'])
  assert.ok(s3.requests.every((request) => request.startsWith('GET ')))
  assert.deepEqual(await judge({ blobStore: 'disk' }), [])
  const { blobStore } = world.settings
  assert.ok(typeof blobStore !== 'string')
  assert.deepEqual(await judge({ blobStore: { ...blobStore, bucket: 'nowhere' } }), ['wrong'])
  s3.mood = 'silent'
  const [unasked] = await checkBlobs(world.settings, AbortSignal.timeout(50))
  assert.match(unasked?.found ?? '', /was closed/)
})

test('a backup holds the messages of the bucket as files, or says that it does not', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'mailroom-test-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const names = await s3.namesUnder(PREFIX)
  assert.ok(names.length > 0)
  const env = { ...s3.envAt(PREFIX), MAILROOM_DATA_DIR: world.dataDir }
  const [whole, without] = [join(folder, 'whole'), join(folder, 'without')]
  const backedUp = await place.commandWith(env, 'admin', 'backup', whole)
  assert.equal(backedUp.code, 0, backedUp.output)
  const files = await readdir(join(whole, 'blobs'), { recursive: true })
  assert.deepEqual(files.filter((file) => file.includes('raw_')).sort(), names)

  const store = await openStore({
    settings: { ...world.settings, dataDir: whole, blobStore: 'disk' },
    as: 'command',
    observer: silentObserver,
    onError: () => {},
  })
  t.after(() => store.close())
  const bucket = world.app.deps.blobs
  for (const id of names.map((name) => name.slice(3))) {
    assert.deepEqual(await store.blobs?.get(id), await bucket?.get(id))
  }

  s3.mood = 'slow-down'
  const failed = await place.commandWith(env, 'admin', 'backup', join(folder, 'failed'))
  assert.equal(failed.code, 1)
  assert.match(failed.output, /could not be read from the bucket: S3 answered 503 SlowDown/)

  const left = await place.commandWith(env, 'admin', 'backup', '--no-bucket', without)
  assert.equal(left.code, 0, left.output)
  assert.match(left.output, new RegExp(`Not included: ${names.length} large messages.*bucket mail`))
  assert.ok(!(await readdir(without)).includes('blobs'))
})

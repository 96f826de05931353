import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { createServer as createHttpServer, type RequestListener } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, beforeEach, type TestContext, test } from 'node:test'
import { inspect } from 'node:util'
import { copyBlobs, openDiskBlobs } from '#platform/blobs/disk-blobs.ts'
import { openS3Blobs, S3_TRIES_MAX, type S3Blobs } from '#platform/blobs/s3-blobs.ts'
import {
  S3_ANSWER_BYTES_MAX,
  S3_CONNECTIONS_MAX,
  type S3Location,
} from '#platform/blobs/s3-transport.ts'
import { StorageError, type StorageErrorKind } from '#platform/db/storage-error.ts'
import { makeId } from '#test/conformance/open-database.ts'
import { type S3Mood, startS3, type TestS3 } from '#test/peers/s3.ts'

const GUARD_MS = 20_000
let s3: TestS3
let blobs: S3Blobs
let number = 0
let prefix: string

beforeEach(async () => {
  s3 ??= await startS3()
  s3.mood = 'well'
  s3.requests.length = 0
  number += 1
  prefix = `part-${number}/With.odd_names`
  blobs = await openS3Blobs(s3.placeAt(prefix), { pauseMs: 10 })
})
afterEach(() => blobs.close())
after(() => s3.close())

async function listIds(of: S3Blobs = blobs): Promise<string[]> {
  const ids: string[] = []
  for await (const batch of of.list()) ids.push(...batch.map(({ id }) => id))
  return ids.sort()
}

async function other(t: TestContext, changes: Partial<S3Location>, requestMs = 10_000) {
  const place = { ...s3.placeAt(prefix), ...changes }
  const opened = await openS3Blobs(place, { requestMs, pauseMs: 10 })
  t.after(() => opened.close())
  return opened
}

test('objects and files of the same blobs have the same names, so that a store can be moved either way', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'mailroom-test-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const ids = Array.from({ length: 20 }, () => makeId('raw'))
  await Promise.all(ids.map((id) => blobs.put(id, Buffer.from(id))))
  const copyDatabase = () => Promise.resolve([...ids])
  assert.equal(await copyBlobs({ from: blobs, to: folder, copyDatabase }), true)
  const files = (await readdir(folder, { recursive: true })).filter((name) => name.includes('raw'))
  assert.deepEqual(files.sort(), await s3.namesUnder(prefix))
  const disk = await openDiskBlobs(folder)
  for (const id of ids) assert.equal(Buffer.from((await disk.get(id)) ?? []).toString(), id)
  await blobs.remove(ids.slice(0, 1))
  assert.equal(await copyBlobs({ from: blobs, to: `${folder}/again`, copyDatabase }), false)
})

test('a bucket of several pages is listed completely, without foreign objects', async (t) => {
  const ids = Array.from({ length: 25 }, () => makeId('raw')).sort()
  await Promise.all(ids.map((id) => blobs.put(id, Buffer.from(id))))
  const deeper = await openS3Blobs(s3.placeAt(`${prefix}/deeper`))
  t.after(() => deeper.close())
  await deeper.put(makeId('raw'), Buffer.from('of another'))
  const paging = await openS3Blobs(s3.placeAt(prefix), { pageNames: 10 })
  t.after(() => paging.close())
  s3.requests.length = 0
  assert.deepEqual(await listIds(paging), ids)
  assert.equal(s3.requests.length, 3)
})

const TROUBLE: [mood: S3Mood, kind: StorageErrorKind][] = [
  ['cutting', 'unavailable'],
  ['failing', 'unavailable'],
  ['slow-down', 'busy'],
  ['full', 'full'],
]

for (const [mood, kind] of TROUBLE) {
  test(`a server that is ${mood} gets ${S3_TRIES_MAX} requests and is reported as ${kind}`, async () => {
    const id = makeId('raw')
    await blobs.put(id, Buffer.from('x'))
    s3.mood = mood
    s3.requests.length = 0
    await assert.rejects(blobs.put(makeId('raw'), Buffer.alloc(200_000)), isTrouble(kind))
    assert.equal(s3.requests.length, S3_TRIES_MAX)
    await assert.rejects(blobs.get(id), isTrouble(kind))
    await assert.rejects(blobs.remove([id]), isTrouble(kind))
    await assert.rejects(listIds(), isTrouble(kind))
    s3.mood = 'well'
    assert.deepEqual(await listIds(), [id])
  })
}

test('a short fault causes no error', async () => {
  const id = makeId('raw')
  s3.mood = 'cutting'
  const putting = blobs.put(id, Buffer.from('content'))
  while (s3.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
  s3.mood = 'well'
  await putting
  assert.equal(Buffer.from((await blobs.get(id)) ?? []).toString(), 'content')
})

test('a silent server is awaited for a bounded time', {
  timeout: GUARD_MS,
}, async (t) => {
  const patient = await other(t, {}, 50)
  s3.mood = 'silent'
  await assert.rejects(patient.put(makeId('raw'), Buffer.alloc(200_000)), isTrouble('unavailable'))
  assert.equal((await patient.findObstacle({ writes: false }))?.kind, 'away')
})

test('closing aborts pending requests, and refuses later ones', {
  timeout: GUARD_MS,
}, async (t) => {
  const closed = await other(t, {})
  s3.mood = 'silent'
  const putting = closed.put(makeId('raw'), Buffer.alloc(200_000))
  putting.catch(() => {})
  while (s3.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
  await closed.close()
  await assert.rejects(putting, isTrouble('unavailable'))
  await assert.rejects(closed.get(makeId('raw')), isTrouble('unavailable'))
  assert.equal(s3.requests.length, 1)
})

test('a usable bucket passes the check, which leaves nothing behind', async () => {
  assert.equal(await blobs.findObstacle({ writes: false }), null)
  assert.ok(s3.requests.every((request) => request.startsWith('GET')))
  assert.equal(await blobs.findObstacle({ writes: true }), null)
  assert.deepEqual(await s3.namesUnder(prefix), [])
})

test('a fault of the configuration is named, without the secret', async (t) => {
  const secret = 'a-secret-that-nobody-may-see'
  const wrong: [Partial<S3Location>, RegExp][] = [
    [
      { secretAccessKey: secret },
      /refused the credentials, see AWS_ACCESS_KEY_ID.*SignatureDoesNotMatch/,
    ],
    [
      { accessKeyId: 'nobody', secretAccessKey: secret },
      /refused the credentials.*InvalidAccessKeyId/,
    ],
    [{ bucket: 'nowhere' }, /has no bucket nowhere \(NoSuchBucket\)/],
  ]
  for (const [changes, text] of wrong) {
    const opened = await other(t, changes)
    const obstacle = await opened.findObstacle({ writes: true })
    assert.equal(obstacle?.kind, 'refused')
    assert.match(obstacle.text, text)
    const error = await opened.get(makeId('raw')).then(
      () => assert.fail('it was read'),
      (error: unknown) => error,
    )
    assert.ok(error instanceof StorageError && error.kind === 'unavailable')
    const told = inspect([error, obstacle, opened], { depth: 20, showHidden: true })
    assert.ok(!told.includes(secret), told)
    assert.ok(!/Signature=|StringToSign/.test(told), told)
  }
})

test('a server that is down may come back', async (t) => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  const opened = await other(t, { endpoint: `http://127.0.0.1:${port}` })
  const obstacle = await opened.findObstacle({ writes: true })
  assert.equal(obstacle?.kind, 'away')
  assert.match(obstacle.text, /ECONNREFUSED/)
})

test('a web server that accepts everything has stored nothing', async (t) => {
  const opened = await odd(t, (_, response) => response.end('<html>Welcome</html>'))
  await assert.rejects(opened.put(makeId('raw'), Buffer.from('x')), /no S3 server/)
  assert.match((await opened.findObstacle({ writes: true }))?.text ?? '', /no S3 server/)
})

test('answers that are not read to their end hold no connections', {
  timeout: GUARD_MS,
}, async (t) => {
  let isHuge = true
  const opened = await odd(t, (_, response) => {
    if (!isHuge) return void response.end('content')
    response.writeHead(200, { 'content-length': S3_ANSWER_BYTES_MAX + 1 })
    response.write('some of it')
  })
  for (let asked = 0; asked <= S3_CONNECTIONS_MAX; asked += S3_TRIES_MAX) {
    await assert.rejects(opened.get(makeId('raw')), /larger than/)
  }
  isHuge = false
  assert.equal(Buffer.from((await opened.get(makeId('raw'))) ?? []).toString(), 'content')
})

test("only a code of the server's error is reported", async (t) => {
  const code = 'Credential=AKIA/x, Signature=0123'
  for (const header of [{}, { 'x-amz-error-code': code }]) {
    const opened = await odd(t, (_, response) => {
      response.writeHead(403, { 'content-type': 'application/xml', ...header })
      response.end(`<Error><Code>${code}</Code></Error>`)
    })
    await assert.rejects(opened.get(makeId('raw')), { message: 'S3 answered 403.' })
  }
})

test('an object without a known time counts as new', async (t) => {
  const id = makeId('raw')
  const opened = await odd(t, (_, response) =>
    response.end(
      `<ListBucketResult><Contents><Key>${prefix}/${id.slice(-2)}/${id}</Key></Contents></ListBucketResult>`,
    ),
  )
  const ages: number[] = []
  for await (const batch of opened.list()) {
    for (const { readAgeMs } of batch) ages.push(await readAgeMs())
  }
  assert.deepEqual(ages, [0])
})

/** A store whose server answers like this. */
async function odd(t: TestContext, answer: RequestListener): Promise<S3Blobs> {
  const server = createHttpServer((request, response) => {
    request.resume()
    answer(request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return other(t, { endpoint: `http://127.0.0.1:${port}` })
}

function isTrouble(kind: StorageErrorKind) {
  return (error: unknown) => {
    assert.ok(error instanceof StorageError, inspect(error))
    assert.equal(error.kind, kind)
    return true
  }
}

import assert from 'node:assert/strict'
import {
  type FileHandle,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readlink,
  rm,
  stat,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, beforeEach, type TestContext, test } from 'node:test'
import type { BlobStore } from '#platform/blobs/blob-store.ts'
import { openDiskBlobs } from '#platform/blobs/disk-blobs.ts'
import { systemClock } from '#platform/clock.ts'
import { StorageError } from '#platform/db/storage-error.ts'
import { makeId } from '#test/conformance/open-database.ts'

const folders: string[] = []
let folder: string
let blobs: BlobStore
beforeEach(async () => {
  folder = join(await mkdtemp(join(tmpdir(), 'mailroom-test-')), 'blobs')
  folders.push(folder)
  blobs = await openDiskBlobs(folder)
})
after(() => Promise.all(folders.map((path) => rm(join(path, '..'), { recursive: true }))))

test('a stored blob leaves no draft', async () => {
  await blobs.put(makeId('raw'), Buffer.from('x'))
  assert.deepEqual(await readdir(join(folder, 'unfinished')), [])
})

test('storing resolves when the bytes, the name and the name of the folder are on disk', {
  skip: process.platform !== 'linux',
}, async (t) => {
  const synced = await recordSyncs(t)
  const [id, same] = [makeId('raw'), makeId('raw').slice(0, -2)]
  await Promise.all([
    blobs.put(id, Buffer.from('x')),
    // The second blob of a new folder must not resolve before the folder is synced for the first one.
    blobs.put(same + id.slice(-2), Buffer.from('y')).then(() => assert.ok(synced.has(folder))),
  ])
  assert.ok(synced.has(folder), 'the shelf')
  assert.ok(synced.has(join(folder, id.slice(-2))), 'the blob')
  assert.equal([...synced].filter((path) => path.includes('/unfinished/')).length, 2)
})

test('opening a store syncs it to disk, whichever killed process wrote it', {
  skip: process.platform !== 'linux',
}, async (t) => {
  const synced = await recordSyncs(t)
  await openDiskBlobs(folder)
  assert.ok(synced.has(join(folder, '..')))
  const id = makeId('raw')
  await mkdir(join(folder, id.slice(-2)), { recursive: true })
  await (await openDiskBlobs(folder)).put(id, Buffer.from('x'))
  assert.ok(synced.has(folder))
})

test('blobs are for the service’s user alone', async () => {
  const id = makeId('raw')
  await blobs.put(id, Buffer.from('x'))
  const shelf = join(folder, id.slice(-2))
  assert.equal((await stat(join(shelf, id))).mode & 0o777, 0o600)
  assert.equal((await stat(shelf)).mode & 0o777, 0o700)
})

test('a folder that cannot be written to is reported as storage trouble, and nothing is left', async () => {
  const id = makeId('raw')
  await writeFile(join(folder, id.slice(-2)), 'in the way')
  await assert.rejects(blobs.put(id, Buffer.from('x')), StorageError)
  assert.deepEqual(await readdir(join(folder, 'unfinished')), [])
})

test('old drafts of a crash are removed at the next start, recent ones may be in use', async () => {
  const unfinished = join(folder, 'unfinished')
  await writeFile(join(unfinished, 'old'), 'x')
  await writeFile(join(unfinished, 'young'), 'x')
  const hours = (count: number) => new Date(Date.now() - count * 60 * 60 * 1000)
  await utimes(join(unfinished, 'old'), hours(2), hours(2))
  await openDiskBlobs(folder)
  assert.deepEqual(await readdir(unfinished), ['young'])
})

test('ages use the clock of the files, not that of the process', async (t) => {
  const id = makeId('raw')
  await blobs.put(id, Buffer.from('x'))
  await writeFile(join(folder, 'unfinished', 'young'), 'x')
  t.mock.method(systemClock, 'now', () => Date.now() + 48 * 60 * 60 * 1_000)
  const ages: number[] = []
  for await (const batch of (await openDiskBlobs(folder)).list()) {
    for (const { readAgeMs } of batch) ages.push(await readAgeMs())
  }
  assert.equal(ages.length, 1)
  assert.ok((ages[0] ?? 0) < 60 * 60 * 1_000, String(ages))
  assert.deepEqual(await readdir(join(folder, 'unfinished')), ['young'])
})

/** The files and folders synced from now on, by their path at that time. */
async function recordSyncs(t: TestContext): Promise<Set<string>> {
  const handle = await open(folder)
  const prototype: FileHandle = Object.getPrototypeOf(handle)
  await handle.close()
  const synced = new Set<string>()
  const sync = prototype.sync
  t.mock.method(prototype, 'sync', async function (this: FileHandle) {
    const path = await readlink(`/proc/self/fd/${this.fd}`)
    await sync.call(this)
    synced.add(path)
  })
  return synced
}

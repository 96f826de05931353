// The blob store on disk: whole files under their own names or none, and no orphans for long.

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
import { sweepBlobs } from '#actions/retention/purge-expired.ts'
import { systemChance } from '#base/chance.ts'
import { idMaker } from '#base/ids.ts'
import type { BlobStore } from '#blobs/blob-store.ts'
import { openDiskBlobs } from '#blobs/disk-blobs.ts'
import { StorageError } from '#db/storage-error.ts'
import {
  addAccount,
  addInbox,
  arriving,
  makeId,
  openDatabase,
} from '#test/conformance/open-database.ts'
import { onEachEngine } from '#test/world.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const folders: string[] = []
let folder: string
let blobs: BlobStore
beforeEach(async () => {
  folder = join(await mkdtemp(join(tmpdir(), 'mailroom-test-')), 'blobs')
  folders.push(folder)
  blobs = await openDiskBlobs(folder)
})
after(() => Promise.all(folders.map((path) => rm(join(path, '..'), { recursive: true }))))

async function allIds(): Promise<string[]> {
  const ids: string[] = []
  for await (const batch of blobs.list()) ids.push(...batch)
  return ids.sort()
}

test('bytes come back as they were, whatever they are', async () => {
  const contents = [
    new Uint8Array(0),
    Uint8Array.from({ length: 4_096 }, (_, index) => index % 256),
    Buffer.alloc(3 * 1024 * 1024, 'x\0\r\n'),
  ]
  for (const content of contents) {
    const id = makeId('raw')
    await blobs.put(id, content)
    const read = await blobs.get(id)
    assert.ok(read !== null && Buffer.from(content).equals(read))
  }
})

test('what is not there is null to read and no error to remove', async () => {
  const id = makeId('raw')
  assert.equal(await blobs.get(id), null)
  await blobs.remove([id, id])
  await blobs.put(id, Buffer.from('x'))
  await blobs.remove([makeId('raw'), id])
  assert.equal(await blobs.get(id), null)
})

test('every blob is listed once, and nothing else is', async () => {
  const ids = Array.from({ length: 40 }, () => makeId('raw')).sort()
  assert.deepEqual(await allIds(), [])
  await Promise.all(ids.map((id) => blobs.put(id, Buffer.from(id))))
  assert.deepEqual(await allIds(), ids)
  assert.deepEqual(await readdir(join(folder, 'unfinished')), [])
})

test('an id that could be a path is refused', async () => {
  for (const id of ['../x/raw_1', 'raw_/etc', 'RAW_01', '', 'raw_01\0', 'a'.repeat(65)]) {
    await assert.rejects(blobs.put(id, Buffer.from('x')))
    await assert.rejects(blobs.get(id))
    await assert.rejects(blobs.remove([id]))
  }
})

test('a blob is promised when its bytes, its name and the name of its shelf are on disk', {
  skip: process.platform !== 'linux',
}, async (t) => {
  const synced = await recordSyncs(t)
  const [id, same] = [makeId('raw'), makeId('raw').slice(0, -2)]
  await Promise.all([
    blobs.put(id, Buffer.from('x')),
    // The second on a new shelf must not be promised before the first one's work is done.
    blobs.put(same + id.slice(-2), Buffer.from('y')).then(() => assert.ok(synced.has(folder))),
  ])
  assert.ok(synced.has(folder), 'the shelf')
  assert.ok(synced.has(join(folder, id.slice(-2))), 'the blob')
  assert.equal([...synced].filter((path) => path.includes('/unfinished/')).length, 2)
})

test('a store that is opened again is on disk, whatever made it and was killed', {
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

test('a place that cannot be written to is told as storage in trouble, and leaves nothing', async () => {
  const id = makeId('raw')
  await writeFile(join(folder, id.slice(-2)), 'in the way')
  await assert.rejects(blobs.put(id, Buffer.from('x')), StorageError)
  assert.deepEqual(await readdir(join(folder, 'unfinished')), [])
})

test('drafts that a crash left are gone at the next start, recent ones may be in hand', async () => {
  const unfinished = join(folder, 'unfinished')
  await writeFile(join(unfinished, 'old'), 'x')
  await writeFile(join(unfinished, 'young'), 'x')
  const hours = (count: number) => new Date(Date.now() - count * 60 * 60 * 1000)
  await utimes(join(unfinished, 'old'), hours(2), hours(2))
  await openDiskBlobs(folder)
  assert.deepEqual(await readdir(unfinished), ['young'])
})

/** The files and folders that are synced from now on, by the path that they have then. */
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

onEachEngine('orphans among the blobs', (engine) => {
  test('a blob that no message refers to goes after a day, and no other', async () => {
    const database = await openDatabase(engine)
    try {
      const { db } = database
      const owner = await addAccount(db)
      const message = arriving(owner, [await addInbox(db, owner)])
      const start = Date.now()
      const oldIds = idMaker(
        { now: () => start - 2 * DAY_MS, monotonic: () => 0, steady: () => 0 },
        systemChance,
      )
      const known = { ...message, raw: { ...message.raw, id: oldIds('raw'), content: null } }
      await db.write('receiveMessage', known)
      const [orphan, young] = [oldIds('raw'), makeId('raw')]
      for (const id of [known.raw.id, orphan, young]) await blobs.put(id, Buffer.from(id))
      await mkdir(join(folder, 'zz'), { recursive: true })
      await writeFile(join(folder, 'zz', 'a-stranger'), 'x')
      const deps = { db, blobs, clock: { now: () => start, monotonic: () => 0, steady: () => 0 } }
      assert.equal(await sweepBlobs(deps, AbortSignal.any([])), 1)
      assert.deepEqual(await allIds(), [known.raw.id, young, 'a-stranger'].sort())
      assert.equal(await sweepBlobs(deps, AbortSignal.any([])), 0)
    } finally {
      await database.close()
    }
  })
})

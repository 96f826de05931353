import assert from 'node:assert/strict'
import { after, afterEach, beforeEach, test } from 'node:test'
import { MESSAGE_BYTES_MAX } from '@mailroom/smtp/server/session.ts'
import type { BlobStore } from '#platform/blobs/blob-store.ts'
import {
  type BlobPlace,
  closeSharedS3,
  onEachBlobStore,
  openBlobPlace,
} from '#test/conformance/blob-places.ts'
import { makeId } from '#test/conformance/open-database.ts'

const HOUR_MS = 60 * 60 * 1_000

after(closeSharedS3)

onEachBlobStore('blobs', (kind) => {
  let place: BlobPlace
  let blobs: BlobStore
  beforeEach(async () => {
    place = await openBlobPlace(kind)
    blobs = place.blobs
  })
  afterEach(() => place.close())

  async function allIds(): Promise<string[]> {
    const ids: string[] = []
    for await (const batch of blobs.list()) ids.push(...batch.map(({ id }) => id))
    return ids.sort()
  }

  test('any bytes are read back unchanged', async () => {
    const contents = [
      new Uint8Array(0),
      Uint8Array.from({ length: 4_096 }, (_, index) => index % 256),
      // A view of larger memory.
      Buffer.alloc(3 * 1024 * 1024, 'x\0\r\n').subarray(7, -9),
    ]
    for (const content of contents) {
      const id = makeId('raw')
      await blobs.put(id, content)
      const read = await blobs.get(id)
      assert.ok(read !== null && Buffer.from(content).equals(read))
    }
  })

  test('the largest message is read back completely', async () => {
    const content = Buffer.alloc(MESSAGE_BYTES_MAX, 'The quick brown fox.\r\n')
    content.writeUInt32BE(0xdeadbeef, MESSAGE_BYTES_MAX - 4)
    const id = makeId('raw')
    await blobs.put(id, content)
    const read = await blobs.get(id)
    assert.ok(read !== null && content.equals(read))
  })

  test('a blob stored again has the bytes of the last time', async () => {
    const id = makeId('raw')
    await blobs.put(id, Buffer.from('first, and longer'))
    await blobs.put(id, Buffer.from('second'))
    assert.equal(Buffer.from((await blobs.get(id)) ?? []).toString(), 'second')
    assert.deepEqual(await allIds(), [id])
  })

  test('a missing blob is null to read and no error to remove', async () => {
    const id = makeId('raw')
    assert.equal(await blobs.get(id), null)
    await blobs.remove([id, id])
    await blobs.put(id, Buffer.from('x'))
    await blobs.remove([makeId('raw'), id])
    assert.equal(await blobs.get(id), null)
    await blobs.remove([])
  })

  test('every blob is listed once, and nothing else is', async () => {
    const ids = Array.from({ length: 40 }, () => makeId('raw')).sort()
    assert.deepEqual(await allIds(), [])
    await Promise.all(ids.map((id) => blobs.put(id, Buffer.from(id))))
    assert.deepEqual(await allIds(), ids)
    await blobs.remove(ids.slice(1))
    assert.deepEqual(await allIds(), ids.slice(0, 1))
  })

  test('an id that could be a path is refused, without a request or a removal', async () => {
    const id = makeId('raw')
    await blobs.put(id, Buffer.from('x'))
    for (const hostile of [
      '../x/raw_1',
      'raw_/etc',
      'RAW_01',
      '',
      'raw_01\0',
      'a'.repeat(65),
      '%2e',
    ]) {
      await assert.rejects(blobs.put(hostile, Buffer.from('x')), /blob id/)
      await assert.rejects(blobs.get(hostile), /blob id/)
      await assert.rejects(blobs.remove([id, hostile]), /blob id/)
    }
    assert.deepEqual(await allIds(), [id])
  })

  test("a blob's age comes from the store, not from its id", async (t) => {
    const { setStoredMs } = place
    if (setStoredMs === null) return t.skip('the server lets nobody set the time')
    const [young, old] = [makeId('raw'), makeId('raw')]
    await Promise.all([young, old].map((id) => blobs.put(id, Buffer.from(id))))
    await setStoredMs(old, Date.now() - 30 * HOUR_MS)
    const ages = new Map<string, number>()
    for await (const batch of blobs.list()) {
      for (const { id, readAgeMs } of batch) ages.set(id, (await readAgeMs()) / HOUR_MS)
    }
    assert.equal(Math.round(ages.get(young) ?? -1), 0)
    assert.equal(Math.round(ages.get(old) ?? -1), 30)
  })
})

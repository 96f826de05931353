import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, suite, test } from 'node:test'
import { isLongRun } from '@mailroom/mail/test/size-of.ts'
import { MESSAGE_BYTES_MAX } from '@mailroom/smtp/server/session.ts'
import { openDeliveryQueue } from '#delivery/delivery-queue.ts'
import { storeReceived } from '#inbound/receive/store/receive-messages.ts'
import { removeInbox } from '#inboxes/store/change-inboxes.ts'
import { readRawBytes } from '#mailbox/messages/read-content.ts'
import { BLOB_COMMIT_MS_MAX, withRawBytes } from '#mailbox/messages/store/with-raw-bytes.ts'
import { removeBlobs } from '#platform/blobs/blob-store.ts'
import { systemChance } from '#platform/chance.ts'
import { systemClock } from '#platform/clock.ts'
import { StorageError } from '#platform/db/storage-error.ts'
import { idMaker } from '#platform/ids.ts'
import { silentLog } from '#platform/log.ts'
import { AppError } from '#platform/problem.ts'
import { ORPHAN_MS, purgeInbox, sweepBlobs } from '#removal/removal.ts'
import type { Db } from '#store/tables.ts'
import {
  type BlobPlace,
  closeSharedS3,
  openBlobPlace,
  sharedS3,
} from '#test/conformance/blob-places.ts'
import {
  ACCEPTED,
  deliverDeps,
  deliveriesOf,
  leaseGroup,
  openFarEnd,
} from '#test/conformance/delivering.ts'
import {
  addAccount,
  addInbox,
  arriving,
  makeId,
  type Owner,
  openDatabase,
  storeOn,
} from '#test/conformance/open-database.ts'
import { queueAll, sending } from '#test/conformance/sending.ts'
import { until } from '#test/scenarios/outcomes.ts'
import { opened, testClock } from '#test/world.ts'

const LARGE = Buffer.alloc(200_000, 'Subject: large\r\n\r\nlarge\r\n')
/** PostgreSQL takes seconds for the largest. */
const ROW_BYTES = isLongRun() ? MESSAGE_BYTES_MAX : 2_000_000
const NEVER = AbortSignal.any([])
/** Below S3_REQUEST_MS_MAX, after which the wait would end by itself. */
const GUARD_MS = 20_000
const YEAR_MS = 365 * 24 * 60 * 60 * 1_000

const PLACES = [
  { kind: 'disk', engine: 'sqlite' },
  { kind: 'database', engine: 'sqlite' },
  { kind: 'database', engine: 'postgres' },
  { kind: 's3', engine: 'postgres' },
] as const

after(closeSharedS3)

for (const { kind, engine } of PLACES) {
  suite(`large messages (${kind}, ${engine})`, () => {
    const database = opened(() => openDatabase(engine))
    let place: BlobPlace | null
    let db: Db
    let owner: Owner
    let inboxId: string
    before(async () => {
      db = database.db
      owner = await addAccount(db)
    })
    beforeEach(async () => {
      place = kind === 'database' ? null : await openBlobPlace(kind)
      inboxId = await addInbox(db, owner)
    })
    afterEach(() => place?.close())

    const deps = (clock = systemClock, make = makeId) => {
      const store = { db, blobs: place?.blobs ?? null, clock, makeId: make }
      return { ...store, log: silentLog, wakeEvents: () => {} }
    }
    /** Receives it; `onStored` runs after the bytes are stored and before the commit. */
    const receive = (raw: Uint8Array, onStored = async (_: string) => {}, given = deps()) =>
      withRawBytes(given, raw, {
        async write(row) {
          await onStored(row.id)
          const message = arriving(owner, [inboxId])
          await db.write(storeReceived, { ...message, raw: { ...message.raw, ...row } })
          return row.id
        },
        isKept: () => true,
      })
    const isStored = async (id: string) => ((await place?.blobs.get(id)) ?? null) !== null
    const allIds = async () => {
      const ids: string[] = []
      for await (const batch of place?.blobs.list() ?? []) ids.push(...batch.map(({ id }) => id))
      return ids
    }
    const isGone = (error: unknown) => error instanceof AppError && error.code === 'not_found'

    test('bytes stored before the commit that refers to them are read back unchanged', async () => {
      // Another suite tests the largest in a folder and a bucket.
      const ofRow = engine === 'sqlite' ? MESSAGE_BYTES_MAX : ROW_BYTES
      const raw = kind === 'database' ? Buffer.alloc(ofRow, 'The quick brown fox.\r\n') : LARGE
      const id = await receive(raw, async (id) => {
        assert.equal(await isStored(id), place !== null)
        await assert.rejects(readRawBytes(deps(), id), isGone)
      })
      const read = await readRawBytes(deps(), id)
      assert.ok(raw.equals(read))
    })

    // Bytes in the row cannot be left over.
    const testStored = kind === 'database' ? () => {} : test
    testStored(
      'what came to nothing leaves nothing, what may have come to something leaves its bytes',
      async () => {
        const broken = receive(LARGE, () => Promise.reject(new Error('a fault')))
        await assert.rejects(broken, /a fault/)
        assert.deepEqual(await allIds(), [])
        const steps = { write: () => Promise.resolve('refused'), isKept: () => false }
        assert.equal(await withRawBytes(deps(), LARGE, steps), 'refused')
        assert.deepEqual(await allIds(), [])
        const lost = new StorageError('unavailable', 'the connection was lost at the commit')
        await assert.rejects(
          receive(LARGE, () => Promise.reject(lost)),
          StorageError,
        )
        assert.equal((await allIds()).length, 1)
      },
    )

    test('bytes are removed with the last message that refers to them', async () => {
      const id = await receive(LARGE)
      await db.write(removeInbox, {
        actor: { kind: 'operator' },
        ...owner,
        inboxId,
        nowMs: Date.now(),
      })
      assert.equal(await purgeInbox(deps(), { inboxId, stepsMax: 50 }), true)
      await assert.rejects(readRawBytes(deps(), id), isGone)
      assert.equal(await isStored(id), false)
    })

    testStored(
      'the sweep removes what nothing refers to once it has been there for a day',
      async () => {
        if (place === null) return
        const { blobs, setStoredMs } = place
        // The clock of the process that stored them does not matter.
        const early = idMaker({ ...systemClock, now: () => Date.now() - YEAR_MS }, systemChance)
        const [young, orphan, stranger] = [early('raw'), makeId('raw'), 'not_of_ours']
        const known = await receive(LARGE, undefined, deps(systemClock, early))
        for (const id of [young, orphan, stranger]) await blobs.put(id, Buffer.from(id))
        if (setStoredMs !== null) {
          for (const id of [orphan, stranger, known]) {
            await setStoredMs(id, Date.now() - ORPHAN_MS - 60_000)
          }
          assert.equal(await sweepBlobs(deps(), NEVER), 1)
          assert.deepEqual((await allIds()).sort(), [known, stranger, young].sort())
        }
        assert.equal(await sweepBlobs(deps(), NEVER, { orphanMs: 0 }), setStoredMs === null ? 2 : 1)
        assert.deepEqual((await allIds()).sort(), [known, stranger].sort())
      },
    )

    testStored(
      'a commit that is under way in another process keeps its bytes, whatever the clocks say',
      async () => {
        const other = { ...deps(), db: await database.openAgain() }
        const early = idMaker({ ...systemClock, now: () => Date.now() - YEAR_MS }, systemChance)
        const sweepMeanwhile = async () => assert.equal(await sweepBlobs(other, NEVER), 0)
        const id = await receive(LARGE, sweepMeanwhile, deps(systemClock, early))
        assert.ok(LARGE.equals(await readRawBytes(other, id)))
      },
    )

    testStored('a commit that comes too long after the bytes is given up', async () => {
      for (const pass of ['advance', 'step'] as const) {
        const clock = testClock()
        const given = deps(clock)
        const blobs = given.blobs && {
          ...given.blobs,
          async put(id: string, content: Uint8Array) {
            await given.blobs?.put(id, content)
            clock[pass](BLOB_COMMIT_MS_MAX)
          },
        }
        assert.ok(blobs !== null)
        await assert.rejects(receive(LARGE, undefined, { ...given, blobs }), StorageError)
      }
      assert.deepEqual(await allIds(), [])
      const rows = await db.read
        .selectFrom('messages')
        .select('id')
        .where('inbox_id', '=', inboxId)
        .execute()
      assert.deepEqual(rows, [])
    })
  })
}

test('a silent server keeps nothing from continuing or ending', {
  timeout: GUARD_MS,
}, async (t) => {
  if (process.env.TEST_MAILROOM_S3 !== undefined) return t.skip('another server')
  const [s3, place] = [await sharedS3(), await openBlobPlace('s3')]
  const database = await openDatabase('sqlite')
  t.after(() => Promise.all([place.close(), database.close()]))
  const deps = { db: database.db, blobs: place.blobs }
  s3.mood = 'silent'
  try {
    await removeBlobs(deps, [makeId('raw')], { waitMs: 20 })
    s3.requests.length = 0
    const ending = new AbortController()
    const sweeping = sweepBlobs(deps, ending.signal)
    await until(() => Promise.resolve(s3.requests.length > 0))
    ending.abort()
    assert.equal(await sweeping, 0)
  } finally {
    s3.mood = 'well'
  }
})

test('an attempt ends with the service while the bytes of its message cannot be read', {
  timeout: GUARD_MS,
}, async (t) => {
  if (process.env.TEST_MAILROOM_S3 !== undefined) return t.skip('another server')
  const [s3, place] = [await sharedS3(), await openBlobPlace('s3')]
  const database = await openDatabase('sqlite')
  t.after(() => Promise.all([place.close(), database.close()]))
  const { db } = database
  const owner = await addAccount(db)
  const input = sending(owner, await addInbox(db, owner), { content: LARGE })
  await place.blobs.put(input.raw.id, LARGE)
  const [messageId] = await queueAll(db, [{ ...input, raw: { ...input.raw, content: null } }])
  const farEnd = openFarEnd(() => ACCEPTED)
  const deps = { ...deliverDeps(db, systemClock, farEnd), blobs: place.blobs }
  const queue = openDeliveryQueue(deps, 'worker')
  const lease = async () => {
    const group = await leaseGroup(queue, owner.accountId, 'far.example')
    return group
  }
  const ending = new AbortController()
  s3.mood = 'silent'
  try {
    s3.requests.length = 0
    const delivering = queue.deliver(await lease(), ending.signal)
    await until(() => Promise.resolve(s3.requests.length > 0))
    ending.abort()
    await delivering
  } finally {
    s3.mood = 'well'
  }
  const [row] = await deliveriesOf(db, [messageId ?? ''])
  assert.deepEqual([row?.queue_state, row?.status, row?.attempts], ['ready', 'queued', 0])
  assert.equal(await queue.deliver(await lease(), NEVER), 'reached')
  assert.ok(LARGE.equals(farEnd.seen[0]?.raw ?? Buffer.alloc(0)))
})

test('a failed removal counts as done, and is swept later', async (t) => {
  if (process.env.TEST_MAILROOM_S3 !== undefined) return t.skip('another server')
  const [s3, place] = [await sharedS3(), await openBlobPlace('s3')]
  const database = await openDatabase('sqlite')
  t.after(() => Promise.all([place.close(), database.close()]))
  const { db } = database
  const owner = await addAccount(db)
  const inboxId = await addInbox(db, owner)
  const message = arriving(owner, [inboxId])
  await place.blobs.put(message.raw.id, LARGE)
  await db.write(storeReceived, { ...message, raw: { ...message.raw, content: null } })
  await db.write(removeInbox, {
    actor: { kind: 'operator' },
    ...owner,
    inboxId,
    nowMs: Date.now(),
  })
  const deps = { ...storeOn(db), blobs: place.blobs }
  s3.mood = 'failing'
  assert.equal(await purgeInbox(deps, { inboxId, stepsMax: 50 }), true)
  await assert.rejects(sweepBlobs(deps, NEVER), StorageError)
  s3.mood = 'well'
  assert.ok((await place.blobs.get(message.raw.id)) !== null)
  assert.equal(await sweepBlobs(deps, NEVER, { orphanMs: 0 }), 1)
  assert.equal(await place.blobs.get(message.raw.id), null)
})

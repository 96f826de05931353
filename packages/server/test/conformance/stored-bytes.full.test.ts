import assert from 'node:assert/strict'
import { test } from 'node:test'
import { storeReceived } from '#inbound/receive/store/receive-messages.ts'
import { removeInbox } from '#inboxes/store/change-inboxes.ts'
import { readStored } from '#mailbox/messages/store/stored-bytes.ts'
import { insertSend } from '#outbound/send/store/accept-send.ts'
import { purgeExpiredStep } from '#removal/store/purge.ts'
import {
  addAccount,
  addInbox,
  arriving,
  assertStoredCounted,
  type Owner,
  openDatabase,
  type TestDatabase,
} from '#test/conformance/open-database.ts'
import { onBothEngines } from '#test/world.ts'
import { sending } from './sending.ts'

onBothEngines('stored octets', (engine) => {
  /** Mail and sends of many sizes, all at once, some of them twice. */
  async function fill(database: TestDatabase, owner: Owner, inboxIds: string[]): Promise<void> {
    const other = await database.openAgain()
    const work: Promise<unknown>[] = []
    for (let round = 1; round <= 20; round++) {
      const content = Buffer.alloc(round * 100, 120)
      const mail = arriving(owner, inboxIds.slice(round % 2), { content, key: `key ${round % 7}` })
      const received = { ...mail.content, receipt_key: Buffer.from(`receipt ${round % 15}`) }
      work.push(database.db.write(storeReceived, { ...mail, content: received }))
      const inboxId = inboxIds[round % inboxIds.length] ?? ''
      work.push(other.write(insertSend, sending(owner, inboxId, { content })))
    }
    await Promise.all(work)
  }

  test('equal the rows under concurrent writes, and are removed with their inbox', async () => {
    await using database = await openDatabase(engine)
    const { db } = database
    const owner = await addAccount(db)
    const inboxIds = [await addInbox(db, owner), await addInbox(db, owner)]
    await fill(database, owner, inboxIds)
    await assertStoredCounted(db)
    const counters = await db.read.selectFrom('inbox_counters').selectAll().execute()
    const { storedBytes } = await readStored(db, owner.accountId)
    assert.equal(
      storedBytes,
      counters.reduce((sum, row) => sum + row.stored_bytes, 0),
    )
    const [going = '', staying = ''] = inboxIds
    const { accountId } = owner
    await db.write(removeInbox, {
      actor: { kind: 'operator' },
      accountId,
      inboxId: going,
      nowMs: 1,
    })
    const left = counters.find((row) => row.inbox_id === staying)?.stored_bytes
    assert.equal((await readStored(db, accountId)).storedBytes, left)
    assert.equal((await readStored(db, (await addAccount(db)).accountId)).storedBytes, 0)
  })

  test('of the operator’s mail are bounded: the oldest is removed with its bytes', async () => {
    await using database = await openDatabase(engine)
    const { db } = database
    const owner = await addAccount(db)
    const take = async (size_bytes: number) => {
      const { raw, ...rest } = arriving(owner, [])
      const postmaster = { recipient: 'postmaster@mailroom.localhost' }
      const large = { ...raw, size_bytes, content: null }
      const outcome = await db.write(storeReceived, { ...rest, raw: large, postmaster })
      assert.equal(outcome.isKept, true)
      return { id: raw.id, gone: outcome.blobIds }
    }
    const first = await take(40 << 20)
    const second = await take(40 << 20)
    const third = await take(30 << 20)
    assert.deepEqual([first.gone, second.gone, third.gone], [[], [], [first.id]])
    const rows = await db.read.selectFrom('postmaster_messages').select('raw_id').execute()
    assert.deepEqual(new Set(rows.map(({ raw_id }) => raw_id)), new Set([second.id, third.id]))
    const raws = await db.read.selectFrom('raw_messages').select('id').execute()
    assert.equal(raws.length, 2)
    await db.write(purgeExpiredStep, { nowMs: 1e15 })
    for (let n = 0; n < 1_005; n++) await take(1)
    const kept = await db.read.selectFrom('postmaster_messages').select('raw_id').execute()
    assert.equal(kept.length, 1_000)
  })
})

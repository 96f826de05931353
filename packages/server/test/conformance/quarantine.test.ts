import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  QUARANTINE_MS,
  removeQuarantined,
  storeReleased,
} from '#inbound/quarantine/store/quarantined-mail.ts'
import type { ReceiveInput } from '#inbound/receive/store/receive-messages.ts'
import { storeReceived } from '#inbound/receive/store/receive-messages.ts'
import { removeInbox } from '#inboxes/store/change-inboxes.ts'
import { purgeExpiredStep, purgeInboxStep } from '#removal/store/purge.ts'
import { PURGE_STEP_ROWS } from '#store/purge-steps.ts'
import type { Db } from '#store/tables.ts'
import {
  addAccount,
  addInbox,
  arriving,
  assertStoredCounted,
  makeId,
  type Owner,
  openDatabase,
} from '#test/conformance/open-database.ts'
import { onEachEngine } from '#test/world.ts'

const NOW_MS = 2 * QUARANTINE_MS

/** Mail that all these inboxes quarantine, deduplicated by its key if it has one. */
function keptOut(owner: Owner, inboxIds: string[], key?: string): ReceiveInput {
  const input = arriving(owner, [], key === undefined ? {} : { key })
  const receiptKey = key === undefined ? null : Buffer.from(key)
  return {
    ...input,
    content: { ...input.content, receipt_key: receiptKey },
    keptOut: inboxIds.map((inboxId) => ({
      ...owner,
      inboxId,
      domainId: null,
      quarantinedId: makeId('qua'),
      auditId: makeId('aud'),
      eventId: makeId('evt'),
      toAddr: 'someone@mailroom.localhost',
      recipient: null,
      through: [],
      deliveryRole: 'to',
      reason: 'blocked',
      ruleId: null,
    })),
    nowMs: NOW_MS,
  }
}

function release({ accountId }: Owner, quarantinedId: string, { content }: ReceiveInput) {
  return {
    accountId,
    quarantinedId,
    content,
    parentKeys: [],
    senderKey: null,
    messageId: makeId('msg'),
    threadId: makeId('thr'),
    eventId: makeId('evt'),
    readsFiles: false,
    mentions: { content: '', copied: [], unreadFiles: [] },
    nowMs: NOW_MS,
  }
}

async function assertCounted(db: Db): Promise<void> {
  const rows = await db.read.selectFrom('quarantined_messages').selectAll().execute()
  const messages = await db.read.selectFrom('messages').selectAll().execute()
  const counters = await db.read.selectFrom('inbox_counters').selectAll().execute()
  for (const { inbox_id: inboxId, quarantined_count, inbound_count } of counters) {
    assert.equal(quarantined_count, rows.filter((row) => row.inbox_id === inboxId).length)
    assert.equal(inbound_count, messages.filter((row) => row.inbox_id === inboxId).length)
  }
  await assertStoredCounted(db)
  const referred = [...rows, ...messages].map((row) => row.raw_id)
  const raws = await db.read.selectFrom('raw_messages').selectAll().execute()
  assert.deepEqual(new Set(raws.map(({ id }) => id)), new Set(referred))
  for (const { id, reference_count } of raws) {
    assert.equal(reference_count, referred.filter((rawId) => rawId === id).length)
  }
}

onEachEngine('rows of quarantine', (engine) => {
  test('concurrent receipts, releases, removals and retention leave correct totals', async () => {
    await using database = await openDatabase(engine)
    const { db } = database
    const other = await database.openAgain()
    const owner = await addAccount(db)
    const inboxIds = [await addInbox(db, owner), await addInbox(db, owner)]
    const { accountId } = owner
    const work: Promise<unknown>[] = []
    for (let round = 0; round < 20; round += 1) {
      const mail = keptOut(owner, inboxIds, `key ${round % 7}`)
      const ids = mail.keptOut.map(({ quarantinedId }) => quarantinedId)
      const [first = '', second = ''] = ids
      const again = keptOut(owner, inboxIds.toReversed(), `key ${round % 7}`)
      work.push(
        db
          .write(storeReceived, mail)
          .then(() =>
            Promise.all([
              db.write(storeReleased, release(owner, first, mail)),
              other.write(storeReleased, release(owner, first, mail)),
              other.write(removeQuarantined, { accountId, quarantinedId: second }),
              db.write(removeQuarantined, { accountId, quarantinedId: second }),
            ]),
          ),
        other.write(storeReceived, again),
        other.write(purgeExpiredStep, { nowMs: NOW_MS + QUARANTINE_MS * (round % 2) }),
        db.write(purgeExpiredStep, { nowMs: NOW_MS + QUARANTINE_MS * (round % 2) }),
      )
    }
    await Promise.all(work)
    await assertCounted(db)
  })

  test('steps of retention are bounded, and release each reference to a shared raw message', async () => {
    await using database = await openDatabase(engine)
    const { db } = database
    const owner = await addAccount(db)
    const inboxIds = await Promise.all(Array.from({ length: 4 }, () => addInbox(db, owner)))
    const count = PURGE_STEP_ROWS / 4 + 10
    for (let index = 0; index < count; index += 1) {
      await db.write(storeReceived, keptOut(owner, inboxIds))
    }
    await assertCounted(db)
    const left = async () =>
      (await db.read.selectFrom('quarantined_messages').select('id').execute()).length
    const step = () => db.write(purgeExpiredStep, { nowMs: NOW_MS + QUARANTINE_MS })
    assert.equal((await step()).isDone, false)
    assert.equal(await left(), 40)
    await assertCounted(db)
    assert.equal((await step()).isDone, true)
    assert.equal(await left(), 0)
    await assertCounted(db)
  })

  test('the quarantine of a deleted inbox is removed in steps', async () => {
    await using database = await openDatabase(engine)
    const { db } = database
    const owner = await addAccount(db)
    const [going, staying] = [await addInbox(db, owner), await addInbox(db, owner)]
    const mail = keptOut(owner, [going, staying])
    await db.write(storeReceived, mail)
    const { accountId } = owner
    const deletion = { accountId, inboxId: going, nowMs: NOW_MS }
    assert.equal(
      await db.write(removeInbox, { ...deletion, actor: { kind: 'operator' } }),
      'deleted',
    )
    for (const { inboxId, quarantinedId } of mail.keptOut) {
      const isThere = inboxId === staying
      const released = await db.write(storeReleased, release(owner, quarantinedId, mail))
      assert.equal(released !== null, isThere)
    }
    assert.equal((await db.write(storeReceived, keptOut(owner, [going]))).isKept, false)
    while (!(await db.write(purgeInboxStep, { nowMs: 0, inboxId: going })).isDone);
    await assertCounted(db)
  })
})

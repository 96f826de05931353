import assert from 'node:assert/strict'
import { test } from 'node:test'
import { insertSend } from '#outbound/send-message-rows.ts'
import { noteOldRecipients } from '#removal/removal.ts'
import { addAccount, addInbox, openDatabase } from '#test/conformance/open-database.ts'
import { sending } from '#test/conformance/sending.ts'
import { runSql } from '#test/peers/sql.ts'
import { onEachEngine } from '#test/world.ts'

onEachEngine('whom an inbox has written to', (engine) => {
  test('is noted by every send, and later for what an earlier program sent', async () => {
    await using database = await openDatabase(engine)
    const { db } = database
    const owner = await addAccount(db)
    const inboxIds = [await addInbox(db, owner), await addInbox(db, owner)]
    const { signal } = new AbortController()
    const send = (inboxId: string, number: number) =>
      db.write(
        insertSend,
        sending(owner, inboxId, {
          recipients: [`P${number}@far.example`, `both${number % 7}@Far.example`],
        }),
      )
    const sendAll = async (from: number, to: number) => {
      for (let number = from; number < to; number++) {
        await Promise.all(inboxIds.map((inboxId) => send(inboxId, number)))
      }
    }
    const noted = async () =>
      (await db.read.selectFrom('written_to').selectAll().execute())
        .map(({ inbox_id, address_key }) => `${inbox_id} ${address_key}`)
        .sort()
    const counts = async () => {
      const rows = await db.read.selectFrom('inbox_counters').selectAll().execute()
      return rows.map(({ noted_count, outbound_count }) => [noted_count, outbound_count])
    }
    await sendAll(0, 60)
    const all = await noted()
    assert.equal(all.length, 2 * (60 + 7))
    assert.deepEqual(await counts(), [
      [60, 60],
      [60, 60],
    ])
    // As if an earlier program had sent them.
    await runSql(database, 'delete from written_to')
    await runSql(database, 'update inbox_counters set noted_count = 0')
    await sendAll(60, 62)
    assert.equal((await noted()).length, 2 * 4)
    assert.deepEqual(
      await counts(),
      [
        [0, 62],
        [0, 62],
      ],
      'a send does not skip earlier ones',
    )
    await Promise.all([
      sendAll(62, 70),
      noteOldRecipients({ db }, signal),
      noteOldRecipients({ db: await database.openAgain() }, signal),
    ])
    await noteOldRecipients({ db }, signal)
    const after = await noted()
    assert.equal(after.length, 2 * (70 + 7))
    for (const row of all) assert.ok(after.includes(row), row)
    assert.deepEqual(await counts(), [
      [70, 70],
      [70, 70],
    ])
    const [going = ''] = inboxIds
    await runSql(database, `delete from inbox_counters where inbox_id = '${going}'`)
    await runSql(database, 'delete from written_to')
    await noteOldRecipients({ db }, signal)
    assert.equal((await noted()).length, 0, 'nothing of a deleted inbox comes back')
  })
})

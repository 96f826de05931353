import assert from 'node:assert/strict'
import { test } from 'node:test'
import { insertSend } from '#outbound/send/store/accept-send.ts'
import { addAccount, addInbox, openDatabase } from '#test/conformance/open-database.ts'
import { sending } from '#test/conformance/sending.ts'
import { onEachEngine } from '#test/world.ts'

onEachEngine('whom an inbox has written to', (engine) => {
  test('is noted by every send', async () => {
    await using database = await openDatabase(engine)
    const { db } = database
    const owner = await addAccount(db)
    const inboxIds = [await addInbox(db, owner), await addInbox(db, owner)]
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
    await sendAll(0, 60)
    const all = await noted()
    assert.equal(all.length, 2 * (60 + 7))
  })
})

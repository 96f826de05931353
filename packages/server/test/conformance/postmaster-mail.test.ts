import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  addPostmasterMessage,
  findPostmasterMessage,
  listPostmasterMessages,
} from '#inbound/postmaster-message-rows.ts'
import { openSqliteConnection, queriesOn } from '#platform/db/sqlite-connection.ts'
import type { Tables, Tx } from '#schema/tables.ts'
import { makeId, openDatabase, type TestDatabase } from '#test/conformance/open-database.ts'
import { onBothEngines } from '#test/world.ts'

onBothEngines('rows of mail to the postmaster', (engine) => {
  test('every message is found by its id and in one of the pages, newest first', async () => {
    const database = await openDatabase(engine)
    try {
      const ids = Array.from({ length: 25 }, () => makeId('raw'))
      await writing(database, async (tx) => {
        for (const id of ids) assert.equal(await addPostmasterMessage(tx, message(id, null)), true)
      })
      const listed: string[] = []
      const sizes: number[] = []
      let before: string | null = null
      do {
        const page = await listPostmasterMessages(database.db, { limit: 10, before })
        listed.push(...page.messages.map((row) => row.raw_id))
        sizes.push(page.messages.length)
        before = page.next
      } while (before !== null)
      assert.deepEqual(listed, ids.toReversed())
      assert.deepEqual(sizes, [10, 10, 5])
      const oldest = await findPostmasterMessage(database.db, ids[0] ?? '')
      assert.equal(oldest?.raw_id, ids[0])
      assert.equal(await findPostmasterMessage(database.db, makeId('raw')), null)
      const last = await listPostmasterMessages(database.db, { limit: 25, before: null })
      assert.equal(last.next, null)
    } finally {
      await database.close()
    }
  })

  test('a message that is there already is added no second time, one without a key always', async () => {
    const database = await openDatabase(engine)
    try {
      await writing(database, async (tx) => {
        const add = (key: Uint8Array | null) =>
          addPostmasterMessage(tx, message(makeId('raw'), key))
        assert.equal(await add(Buffer.from('one')), true)
        assert.equal(await add(Buffer.from('one')), false)
        assert.equal(await add(Buffer.from('two')), true)
        assert.equal(await add(null), true)
        assert.equal(await add(null), true)
      })
      const { messages } = await listPostmasterMessages(database.db, { limit: 10, before: null })
      assert.equal(messages.length, 4)
    } finally {
      await database.close()
    }
  })
})

function message(rawId: string, receiptKey: Uint8Array | null) {
  return {
    raw_id: rawId,
    receipt_key: receiptKey,
    recipient: 'postmaster@mailroom.localhost',
    from_addr: 'ann@sender.example',
    subject: 'Help',
    created_at: 1,
  }
}

/** What the named transactions are given. */
async function writing({ db, place }: TestDatabase, run: (tx: Tx) => Promise<void>): Promise<void> {
  if (db.engine === 'postgres') {
    await db.read.transaction().execute((query) => run({ engine: 'postgres', query, runSql: null }))
    return
  }
  const connection = openSqliteConnection({ path: place, mode: 'write' })
  try {
    await run({ engine: 'sqlite', ...queriesOn<Tables>(connection) })
  } finally {
    connection.close()
  }
}

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { storeReceived } from '#inbound/receive-message-rows.ts'
import { migratePostgres } from '#platform/db/postgres.ts'
import { migrateSqlite } from '#platform/db/sqlite.ts'
import { addressKey } from '#platform/email-address.ts'
import { addAccount, addInbox, arriving, openDatabase } from '#test/conformance/open-database.ts'
import { runSql } from '#test/peers/sql.ts'
import { onBothEngines, opened, prepared } from '#test/world.ts'

onBothEngines('first contacts', (engine) => {
  const database = opened(() => openDatabase(engine))
  const owner = prepared(() => addAccount(database.db))

  test('are the same when recorded as when an upgrade derives them', async () => {
    const inboxes = [await addInbox(database.db, owner), await addInbox(database.db, owner)]
    const senders = [
      'ann@sender.example',
      'Ann <ANN@sender.example>',
      '"B <b>" <bob@sender.example>',
      'bob@sender.example',
      'ann+news@sender.example',
      'Ann <ann+news@sender.example>',
    ]
    for (const [index, from] of senders.entries()) {
      const to = index === 3 ? inboxes.slice(0, 1) : inboxes
      await receive(from, to)
    }
    await receive('', inboxes)
    const noted = await firsts()
    assert.equal(noted.length, 6)
    assert.equal(new Set(noted).size, 6)

    await runSql(database, 'alter table correspondents drop column first_message_id')
    await runSql(database, 'delete from schema_migrations where version = 7')
    const migrate = engine === 'sqlite' ? migrateSqlite : migratePostgres
    assert.deepEqual(await migrate(database.place), ['0007_first_contact'])
    assert.deepEqual(await firsts(), noted)
  })

  async function receive(from: string, inboxIds: string[]): Promise<void> {
    const mail = arriving(owner, inboxIds)
    const bare = /<([^<>]*)>$/.exec(from)?.[1] ?? from
    const senderKey = from === '' ? null : addressKey(bare)
    const content = { ...mail.content, from_addr: from }
    await database.db.write(storeReceived, { ...mail, content, senderKey })
  }

  async function firsts(): Promise<string[]> {
    const rows = await runSql(
      database,
      'select inbox_id, address_key, first_message_id from correspondents order by inbox_id, address_key',
    )
    return rows.map((row) => `${row.inbox_id} ${row.address_key} ${row.first_message_id}`)
  }
})

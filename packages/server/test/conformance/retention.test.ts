import assert from 'node:assert/strict'
import { test } from 'node:test'
import { purgeExpiredStep } from '#removal/retention-rows.ts'
import { PURGE_STEP_ROWS } from '#schema/purge-steps.ts'
import { openDatabase, type TestDatabase } from '#test/conformance/open-database.ts'
import { runSql } from '#test/peers/sql.ts'
import { onBothEngines } from '#test/world.ts'

const TABLES = ['released_addresses', 'inbox_creations', 'events'] as const

onBothEngines('retention', (engine) => {
  test('each step removes a bounded number of rows, and together they remove all', async () => {
    const database = await openDatabase(engine)
    try {
      const { db } = database
      const count = 2 * PURGE_STEP_ROWS + 100
      await insertRows(database, count)
      for (const left of [PURGE_STEP_ROWS + 100, 100, 0]) {
        const { isDone } = await db.write(purgeExpiredStep, { nowMs: Date.now() })
        assert.equal(isDone, left === 0)
        for (const table of TABLES) {
          const rows = await db.read.selectFrom(table).selectAll().execute()
          assert.equal(rows.length, left, table)
        }
      }
    } finally {
      await database.close()
    }
  })
})

/** Long expired rows of each kind. */
async function insertRows({ place }: TestDatabase, count: number): Promise<void> {
  const into = (columns: string, values: string) =>
    `with recursive n (i) as (select 1 union all select i + 1 from n where i < ${count})
     insert into ${columns} select ${values} from n`
  const texts = [
    into('released_addresses (address, account_id, released_at)', "'a' || i, 'acc', i"),
    into('inbox_creations (account_id, created_at, inbox_id)', "'acc', i, 'inb' || i"),
    into('events (id, kind, account_id, occurred_at)', "'evt' || i, 'k', 'acc', i"),
  ]
  for (const text of texts) await runSql({ place }, text)
}

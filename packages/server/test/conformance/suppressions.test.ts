import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  deleteSuppression,
  insertSuppression,
  listSuppressions,
} from '#outbound/suppressions/store/suppressions.ts'
import { addAccount, makeId, openDatabase } from '#test/conformance/open-database.ts'
import { onEachEngine, opened, prepared } from '#test/world.ts'

onEachEngine('suppressions', (engine) => {
  const database = opened(() => openDatabase(engine))
  const db = prepared(() => database.db)
  const others = prepared(() => database.openOther())

  test('the total is right under concurrent additions and removals', async () => {
    const { accountId } = await addAccount(db)
    await Promise.all(
      Array.from({ length: 60 }, (_, index) => {
        const address = `r${index % 10}@far.example`
        const on = index % 2 === 0 ? db : others
        if (index % 3 === 2) return on.write(deleteSuppression, { accountId, addressKey: address })
        return on.write(insertSuppression, {
          id: makeId('sup'),
          account_id: accountId,
          address,
          address_key: address,
          type: 'manual',
          reason: null,
          created_at: 1,
        })
      }),
    )
    const page = { accountId, addressKey: null, limit: 50, offset: 0 }
    const { suppressions, total } = await listSuppressions(db, page)
    assert.equal(suppressions.length, total)
  })
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { migratePostgres } from '#platform/db/postgres.ts'
import { migrateSqlite } from '#platform/db/sqlite.ts'
import { onBothEngines } from '#test/world.ts'
import { emptyPlace } from './old-database.ts'
import { readStatements, runStatements } from './recorded-statements.ts'

/** The version that a running process may be of while this one migrates. */
const BEFORE = '0007'

onBothEngines('the version before', (engine) => {
  test('runs each of its statements on the schema of this one', async (t) => {
    const { place } = await emptyPlace(engine, t)
    await (engine === 'sqlite' ? migrateSqlite(place) : migratePostgres(place))
    const statements = readStatements(BEFORE, engine)
    assert.ok(statements.length > 400, `${statements.length} were recorded`)
    assert.deepEqual(await runStatements(engine, place, statements), [])
  })
})

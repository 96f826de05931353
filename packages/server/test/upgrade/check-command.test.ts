import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { suite, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { describeState } from '#commands/migrate-database.ts'
import { readMigrations } from '#platform/db/migrate.ts'
import { inspectPostgres, migratePostgres } from '#platform/db/postgres.ts'
import { inspectSqlite, migrateSqlite } from '#platform/db/sqlite.ts'
import { onBothEngines } from '#test/world.ts'
import { emptyPlace, oldPlace, type Place } from './old-database.ts'

const MAIN = fileURLToPath(import.meta.resolve('#main.mjs'))

onBothEngines('a check of migrations', (engine) => {
  const check = async ({ place }: Place) => {
    const state = engine === 'sqlite' ? inspectSqlite(place) : await inspectPostgres(place)
    const { code, lines } = describeState(state)
    return { code, text: lines.join('\n') }
  }
  const migrate = ({ place }: Place) =>
    engine === 'sqlite' ? migrateSqlite(place) : migratePostgres(place)

  test('says that running processes of the version before survive the migrations', async (t) => {
    const place = await oldPlace(engine, t, '0007')
    const { code, text } = await check(place)
    assert.equal(code, 3)
    assert.match(text, /^Would apply 0008_/)
    assert.match(text, /^Running processes keep working during and after it\.$/m)
    assert.equal((text.match(/Would apply/g) ?? []).length, readMigrations(engine).length - 7)
    const columns = 'select version from schema_migrations where version > 7'
    assert.deepEqual(await place.run(columns), [])
    await migrate(place)
    assert.deepEqual(await check(place), { code: 0, text: 'The schema is current.' })
  })

  test('names the first migration that running processes of an older version do not survive', async (t) => {
    const place = await oldPlace(engine, t, '0003')
    const { code, text } = await check(place)
    assert.equal(code, 4)
    assert.match(text, /^Running processes do not survive 0004_domains\b.*: stop them first\.$/m)
  })

  test('says whether this program works with a database of a newer one', async (t) => {
    const place = await emptyPlace(engine, t)
    await migrate(place)
    const apply = (version: number, from: number) =>
      place.run(
        `insert into schema_migrations (version, name, checksum, compatible_from)
         values (${version}, '0${version}_x', 'x', ${from})`,
      )
    await apply(101, 7)
    const { code, text } = await check(place)
    assert.equal(code, 0)
    assert.match(text, /A newer version has applied 0101_x; this version works with it\./)
    await apply(102, 102)
    const refused = await check(place)
    assert.equal(refused.code, 5)
    assert.match(refused.text, /start the newer program/)
  })
})

suite('mailroom migrate --check', () => {
  test('exits with the code of its finding, and makes no file', async (t) => {
    const { env, place, dataDir } = await emptyPlace('sqlite', t)
    const { code, output } = await run(t, env)
    assert.equal(code, 3, output)
    assert.match(output, /Would apply 0001_receiving\./)
    assert.equal(existsSync(place), false)
    assert.deepEqual(readdirSync(dataDir), [])
  })
})

function run(
  t: TestContext,
  env: Record<string, string>,
): Promise<{ code: unknown; output: string }> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [MAIN, 'migrate', '--check'],
      { env: { PATH: process.env.PATH, ...env }, cwd: env.MAILROOM_DATA_DIR },
      (error, stdout, stderr) => resolve({ code: error?.code ?? 0, output: stdout + stderr }),
    )
    t.after(() => child.kill('SIGKILL'))
  })
}

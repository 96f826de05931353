// How a later version changes the schema: a made-up second version, and versions beyond it.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { describeState } from '#commands/migrate-database.ts'
import { watchSchema } from '#operating/operating.ts'
import { systemClock } from '#platform/clock.ts'
import type { Engine } from '#platform/db/db.ts'
import {
  findSchemaChange,
  MIGRATIONS_TABLE,
  type Migration,
  parseMigration,
  readMigrations,
} from '#platform/db/migrate.ts'
import { inspectPostgres, MIGRATION_LOCK_MS_MAX, migratePostgres } from '#platform/db/postgres.ts'
import { inspectSqlite, migrateSqlite } from '#platform/db/sqlite.ts'
import { silentLog } from '#platform/log.ts'
import { addAccount, addInbox, openAt } from '#test/conformance/open-database.ts'
import { createTestDatabase } from '#test/peers/postgres.ts'
import { runSql } from '#test/peers/sql.ts'
import { until } from '#test/scenarios/outcomes.ts'
import { onBothEngines } from '#test/world.ts'

const SECOND = `-- Without a transaction.
create table if not exists colours (
  id :key not null primary key, used_count :int not null default 0, sample :bytes
) :clustered;
alter table pods add column :absent colour :key;
create index :online pods_by_colour on pods (account_id, colour) :include (id);
`
const THIRD = `-- Needs programs of schema 102.
alter table pods rename column name to title;
`

onBothEngines('migrations', (engine) => {
  const migrate = engine === 'sqlite' ? migrateSqlite : migratePostgres
  const own = readMigrations(engine)
  const newest = own.at(-1)?.version ?? 0
  const withSecond = [...own, parseMigration(engine, '0101_colours.sql', SECOND)]
  const withThird = [...withSecond, parseMigration(engine, '0102_titles.sql', THIRD)]
  const checking = async (place: string) =>
    describeState(engine === 'sqlite' ? inspectSqlite(place) : await inspectPostgres(place))

  test('an empty database gets all of them, and a second run applies none', async (t) => {
    const place = await emptyDatabase(engine, t)
    const names = own.map(({ name }) => name)
    assert.deepEqual(await migrate(place), names)
    assert.deepEqual(await migrate(place), [])
    const recorded = await runSql({ place }, 'select name from schema_migrations order by version')
    assert.deepEqual(
      recorded.map(({ name }) => name),
      names,
    )
  })

  test('processes that start together wait for each other', async (t) => {
    const place = await emptyDatabase(engine, t)
    const start = () => migrate(place, withSecond)
    const applied = await Promise.all([start(), start(), start()])
    assert.equal(applied.flat().length, withSecond.length)
  })

  test('a second version adds to a database in use, and programs of the first continue', async (t) => {
    const place = await emptyDatabase(engine, t)
    const db = await openAt(engine, place)
    t.after(() => db.close())
    const owner = await addAccount(db)
    assert.deepEqual(await migrate(place, withSecond), ['0101_colours'])
    await addInbox(db, owner)
    assert.equal(await findSchemaChange(db), null)
    await runSql({ place }, "update pods set colour = 'red'")
    await runSql({ place }, "insert into colours (id) values ('red')")
    const rows = await runSql({ place }, 'select id, colour, inbox_count from pods')
    const pods = rows.map((row) => [row.id, row.colour, Number(row.inbox_count)])
    assert.deepEqual(pods, [[owner.podId, 'red', 1]])
    // A program of the first version also starts on it.
    assert.deepEqual(await migrate(place, own), [])
    const again = await openAt(engine, place)
    await addAccount(again)
    await again.close()
    assert.deepEqual(await checking(place), {
      code: 0,
      lines: [
        'The schema is current.',
        'A newer version has applied 0101_colours; this version works with it.',
      ],
    })
  })

  test('a version that needs newer programs is refused by the others, and left unchanged', async (t) => {
    const place = await emptyDatabase(engine, t)
    await migrate(place, withThird)
    const refusal = new RegExp(
      `changed by migration 0102_titles, which needs programs of schema 102 or later, and this program knows only ${newest}: start the newer program`,
    )
    await assert.rejects(migrate(place, own), refusal)
    await assert.rejects(openAt(engine, place), refusal)
    await assert.rejects(migrate(place, withSecond), /0102_titles/)
    const checked = await checking(place)
    assert.equal(checked.code, 5)
    assert.match(checked.lines.join('\n'), refusal)
    assert.equal(
      (await runSql({ place }, 'select version from schema_migrations')).length,
      withThird.length,
    )
  })

  test('a running program learns that a newer one has made the database unusable for it', async (t) => {
    const place = await emptyDatabase(engine, t)
    const db = await openAt(engine, place)
    t.after(() => db.close())
    await recordVersion(place, { version: 102, name: '0102_titles', needs: 102 })
    const reported: string[] = []
    const watch = watchSchema({ db, clock: systemClock, log: silentLog }, (text) =>
      reported.push(text),
    )
    await until(async () => reported.length > 0)
    await watch.close()
    assert.equal(reported.length, 1)
    assert.match(reported[0] ?? '', /0102_titles, which needs programs of schema 102/)
  })

  test('a migration that was changed after its release is refused', async (t) => {
    const place = await emptyDatabase(engine, t)
    await migrate(place)
    await runSql({ place }, "update schema_migrations set checksum = 'other' where version = 1")
    await assert.rejects(migrate(place), /0001 differs/)
    await assert.rejects(openAt(engine, place), /0001 differs/)
  })

  test('a database from before version 0.1.0 is refused with what to do, and left unchanged', async (t) => {
    const place = await emptyDatabase(engine, t)
    // As such a checkout made the table at first.
    const table = MIGRATIONS_TABLE.replace(', compatible_from integer not null', '')
    await runSql({ place }, table)
    const row = "values (1, '0001_receiving', 'x'), (45, '0045_stored', 'x')"
    await runSql({ place }, `insert into schema_migrations (version, name, checksum) ${row}`)
    const bytes = engine === 'sqlite' ? readFileSync(place) : null
    await assert.rejects(migrate(place), /Export its mail .* see docs\/upgrading\.md/)
    await assert.rejects(openAt(engine, place), /Export its mail/)
    assert.equal((await checking(place)).code, 5)
    if (bytes !== null) assert.deepEqual(readFileSync(place), bytes)
    await assert.rejects(runSql({ place }, 'select * from accounts'))
    assert.equal((await runSql({ place }, 'select * from schema_migrations')).length, 2)
  })

  test('a failed migration leaves the database unchanged and can be repeated', async (t) => {
    const place = await emptyDatabase(engine, t)
    await runSql({ place }, 'create table inboxes (something integer)')
    await assert.rejects(migrate(place), /inboxes/)
    assert.deepEqual(await runSql({ place }, 'select version from schema_migrations'), [])
    await assert.rejects(runSql({ place }, 'select * from accounts'))
    await runSql({ place }, 'drop table inboxes')
    assert.equal((await migrate(place)).length, own.length)
  })
})

suite('migrating PostgreSQL while others work with it', () => {
  const own = readMigrations('postgres')
  const colour = parseMigration(
    'postgres',
    '0101_colour.sql',
    'alter table pods add column colour :key;',
  )

  test('a migration that breaks connected processes is refused until they are stopped', async () => {
    const place = await createTestDatabase()
    await migratePostgres(place, own)
    const breaking = parseMigration('postgres', '0102_titles.sql', THIRD)
    const db = await openAt('postgres', place)
    await db.check()
    const refusal = /0102_titles needs programs of schema 102 or later, and \d+ connections/
    await assert.rejects(migratePostgres(place, [...own, breaking]), refusal)
    await db.read.selectFrom('pods').select('name').execute()
    await db.close()
    await until(async () => {
      const open = `select 1 from pg_stat_activity
        where datname = current_database() and application_name like 'mailroom%'`
      return (await runSql({ place }, open)).length === 0
    })
    assert.deepEqual(await migratePostgres(place, [...own, breaking]), ['0102_titles'])
  })

  test('a migration waits for a locked table in short attempts, so that no query waits long behind it', async (t) => {
    const place = await createTestDatabase()
    await migratePostgres(place, own)
    const holder = await connect(t, place)
    await holder.query('begin')
    await holder.query('lock table pods in access share mode')
    const migrating = migratePostgres(place, [...own, colour])
    const reader = await connect(t, place)
    await until(async () => {
      const waiting = `select 1 from pg_locks where not granted and relation = 'pods'::regclass`
      return (await runSql({ place }, waiting)).length > 0
    })
    // This read queues behind the migration's lock request; without short attempts it would wait for the holder.
    await reader.query('select count(*) from pods')
    await sleep(MIGRATION_LOCK_MS_MAX)
    await holder.query('commit')
    assert.deepEqual(await migrating, ['0101_colour'])
  })

  test('an attempt waits long enough for PostgreSQL to cancel an autovacuum', async () => {
    const place = await createTestDatabase()
    const setting = "select boot_val from pg_settings where name = 'deadlock_timeout'"
    const [row] = await runSql({ place }, setting)
    assert.ok(MIGRATION_LOCK_MS_MAX > Number(row?.boot_val))
  })

  test('a start with nothing to apply does not wait for another migration', async (t) => {
    const place = await createTestDatabase()
    await migratePostgres(place, own)
    const holder = await connect(t, place)
    await holder.query('begin')
    await holder.query('lock table pods in access share mode')
    const migrating = migratePostgres(place, [...own, colour])
    await until(async () => {
      const waiting = `select 1 from pg_locks where not granted and relation = 'pods'::regclass`
      return (await runSql({ place }, waiting)).length > 0
    })
    assert.deepEqual(await migratePostgres(place, own), [])
    await holder.query('commit')
    await migrating
  })

  test('an index of a large table is built online, even after an interrupted build', async () => {
    const place = await createTestDatabase()
    await migratePostgres(place, own)
    const text = `-- Without a transaction.
create index :online pods_by_name on pods (name);
create index :online pods_by_time on pods (created_at);
`
    const index = parseMigration('postgres', '0103_indexes.sql', text)
    await runSql({ place }, 'create index pods_by_time on pods (created_at)')
    await runSql(
      { place },
      `update pg_index set indisvalid = false where indexrelid = 'pods_by_time'::regclass`,
    )
    const all = [...own, index]
    const ran = await Promise.all([1, 2, 3].map(() => migratePostgres(place, all)))
    assert.deepEqual(ran.flat(), ['0103_indexes'])
    const names = `indexrelid in ('pods_by_time'::regclass, 'pods_by_name'::regclass)`
    const valid = await runSql({ place }, `select indisvalid from pg_index where ${names}`)
    assert.deepEqual(
      valid.map((row) => row.indisvalid),
      [true, true],
    )
  })
})

test('the check of migrations says what a start would apply, and whether running processes survive it', () => {
  const own = readMigrations('postgres')
  const plan = (pending: Migration[], breaking: Migration[]) =>
    describeState({ plan: { pending, breaking, newer: [], refusal: null }, others: 2 })
  assert.deepEqual(plan(own, []), {
    code: 3,
    lines: [
      ...own.map(({ name }) => `Would apply ${name}.`),
      'Connections of running processes: 2.',
      'Running processes keep working during and after it.',
    ],
  })
  const { code, lines } = plan(own, own)
  assert.equal(code, 4)
  assert.match(lines.at(-1) ?? '', /^Running processes do not survive 0001\b.*: stop them first\.$/)
})

test('mailroom admin migrate --check exits with the code of its finding, and makes no file', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'mailroom-test-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const env = {
    PATH: process.env.PATH,
    MAILROOM_DATA_DIR: folder,
    MAILROOM_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
  }
  const main = fileURLToPath(import.meta.resolve('#main.mjs'))
  const { code, output } = await new Promise<{ code: unknown; output: string }>((resolve) => {
    const child = execFile(
      process.execPath,
      [main, 'admin', 'migrate', '--check'],
      { env, cwd: folder },
      (error, stdout, stderr) => resolve({ code: error?.code ?? 0, output: stdout + stderr }),
    )
    t.after(() => child.kill('SIGKILL'))
  })
  assert.equal(code, 3, output)
  assert.match(output, /Would apply 0001\./)
  assert.deepEqual(readdirSync(folder), [])
})

async function emptyDatabase(engine: Engine, t: TestContext): Promise<string> {
  if (engine === 'postgres') return createTestDatabase()
  const folder = await mkdtemp(join(tmpdir(), 'mailroom-test-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return join(folder, 'test.db')
}

/** Records a migration of a newer program, without its changes. */
async function recordVersion(
  place: string,
  { version, name, needs }: { version: number; name: string; needs: number },
): Promise<void> {
  await runSql(
    { place },
    `insert into schema_migrations (version, name, checksum, compatible_from)
     values (${version}, '${name}', 'x', ${needs})`,
  )
}

async function connect(t: TestContext, place: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: place })
  client.on('error', () => {})
  await client.connect()
  t.after(() => client.end())
  return client
}

import assert from 'node:assert/strict'
import { suite, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import {
  findSchemaChange,
  type Migration,
  parseMigration,
  planMigrations,
  readMigrations,
} from '#platform/db/migrate.ts'
import { MIGRATION_LOCK_MS_MAX, migratePostgres } from '#platform/db/postgres.ts'
import { migrateSqlite } from '#platform/db/sqlite.ts'
import { silentLog } from '#platform/log.ts'
import { openAt } from '#test/conformance/open-database.ts'
import { until } from '#test/scenarios/outcomes.ts'
import { onBothEngines } from '#test/world.ts'
import { watchSchema } from '#wiring/store.ts'
import { emptyPlace, type Place } from './old-database.ts'
import { readStatements, runStatements } from './recorded-statements.ts'

const ADDED = '0101_added.sql'
const BROKEN = '0102_broken.sql'
/** Programs up to schema 7 take this lock at their start. */
const TAKE_TURN = 'select pg_advisory_lock(727265)'

onBothEngines('a database that a newer program has migrated', (engine) => {
  const own = readMigrations(engine)
  const newest = own.at(-1)?.version ?? 0
  const migrate = ({ place }: Place, migrations: readonly Migration[]) =>
    engine === 'sqlite' ? migrateSqlite(place, migrations) : migratePostgres(place, migrations)
  const additive = parseMigration(ADDED, 'alter table pods add column colour text;')

  test('works with this program, which migrates it no further', async (t) => {
    const place = await emptyPlace(engine, t)
    assert.equal((await migrate(place, [...own, additive])).length, own.length + 1)
    assert.deepEqual(await migrate(place, own), [])
    const db = await openAt(engine, place.place)
    t.after(() => db.close())
    await db.check()
    assert.equal(await findSchemaChange(db), null)
  })

  test('is refused by a program that does not work with it, with the reason, and left unchanged', async (t) => {
    const place = await emptyPlace(engine, t)
    const text = `-- Needs programs of schema 101.\nalter table pods rename column name to title;`
    await migrate(place, [...own, additive, parseMigration(BROKEN, text)])
    const refusal = new RegExp(
      `changed by migration 0102_broken, which needs programs of schema 101 or later, and this program knows only ${newest}: start the newer program`,
    )
    await assert.rejects(migrate(place, own), refusal)
    await assert.rejects(openAt(engine, place.place), refusal)
    // A program that knows the first migration works with the second.
    assert.deepEqual(await migrate(place, [...own, additive]), [])
  })

  test('is reported to a process that no longer works with it', async (t) => {
    const place = await emptyPlace(engine, t)
    const db = await openAt(engine, place.place)
    t.after(() => db.close())
    const apply = (version: number, from: number) =>
      place.run(
        `insert into schema_migrations (version, name, checksum, compatible_from)
         values (${version}, '0${version}_x', 'x', ${from})`,
      )
    await apply(101, newest)
    assert.equal(await findSchemaChange(db), null)
    await apply(102, 102)
    const told: string[] = []
    const watch = watchSchema({ db, log: silentLog }, (text) => told.push(text))
    await until(async () => told.length > 0)
    await watch.close()
    assert.equal(told.length, 1)
    assert.match(told[0] ?? '', /0102_x, which needs programs of schema 102/)
  })

  test('is not trusted without a note of what programs it works with', async (t) => {
    const place = await emptyPlace(engine, t)
    await migrate(place, own)
    await place.run(
      `insert into schema_migrations (version, name, checksum) values (101, 'x', 'x')`,
    )
    await assert.rejects(migrate(place, own), /needs programs of schema 101/)
  })
})

suite('migrating PostgreSQL while others work with it', () => {
  const own = readMigrations('postgres')

  test('a migration that breaks connected processes is refused until they are stopped', async (t) => {
    const place = await emptyPlace('postgres', t)
    await migratePostgres(place.place, own)
    const text = `-- Needs programs of schema 102.\nalter table pods drop column name;`
    const breaking = parseMigration(BROKEN, text)
    const db = await openAt('postgres', place.place)
    await db.check()
    const refusal = /0102_broken needs programs of schema 102 or later, and \d+ connections/
    await assert.rejects(migratePostgres(place.place, [...own, breaking]), refusal)
    await db.read.selectFrom('pods').select('name').execute()
    await db.close()
    await untilGone(place)
    assert.deepEqual(await migratePostgres(place.place, [...own, breaking]), ['0102_broken'])
  })

  test('a migration waits for a locked table in short attempts, so that no query waits long behind it', async (t) => {
    const place = await emptyPlace('postgres', t)
    await migratePostgres(place.place, own)
    const holder = await connect(t, place)
    await holder.query('begin')
    await holder.query('lock table pods in access share mode')
    const added = parseMigration(ADDED, 'alter table pods add column colour text;')
    const migrating = migratePostgres(place.place, [...own, added])
    const reader = await connect(t, place)
    await untilWaiting(place)
    // This read queues behind the migration's lock request; without short attempts it would wait for the holder.
    await reader.query('select count(*) from pods')
    await sleep(MIGRATION_LOCK_MS_MAX)
    await holder.query('commit')
    assert.deepEqual(await migrating, ['0101_added'])
  })

  test('an attempt waits long enough for PostgreSQL to cancel an autovacuum', async (t) => {
    const place = await emptyPlace('postgres', t)
    const name = "name = 'deadlock_timeout'"
    const [row] = await place.run(`select boot_val from pg_settings where ${name}`)
    assert.ok(MIGRATION_LOCK_MS_MAX > Number(row?.boot_val))
  })

  test('a start with nothing to apply does not wait for another migration', async (t) => {
    const place = await emptyPlace('postgres', t)
    await migratePostgres(place.place, own)
    const other = await connect(t, place)
    await other.query(TAKE_TURN)
    assert.deepEqual(await migratePostgres(place.place, own), [])
  })

  test('the start of an old program, which waits for the migration lock, does not deadlock with a new index', async (t) => {
    const place = await emptyPlace('postgres', t)
    await migratePostgres(place.place, own)
    const [holder, old] = [await connect(t, place), await connect(t, place)]
    // PostgreSQL searches for a deadlock once in a wait, and may have done so before the lock below.
    await old.query("set deadlock_timeout = '10min'")
    await holder.query('begin')
    await holder.query('lock table pods in share update exclusive mode')
    const text = [
      '-- Without a transaction.',
      'create index concurrently if not exists pods_by_name on pods (name);',
    ].join('\n')
    const index = parseMigration('0103_index.sql', text)
    const colour = parseMigration(ADDED, 'alter table accounts add column colour text;')
    const migrating = migratePostgres(place.place, [...own, colour, index])
    await untilWaiting(place)
    const starting = old.query(TAKE_TURN).then(() => old.query('select pg_advisory_unlock_all()'))
    await until(async () => {
      const waiting = "select 1 from pg_locks where not granted and locktype = 'advisory'"
      return (await place.run(waiting)).length > 0
    })
    await holder.query('commit')
    assert.deepEqual(await migrating, ['0101_added', '0103_index'])
    await starting
  })

  test('an index of a large table is built beside writes, also after a build was interrupted', async (t) => {
    const place = await emptyPlace('postgres', t)
    await migratePostgres(place.place, own)
    const text = [
      '-- Without a transaction.',
      'create index concurrently if not exists pods_by_name on pods (name);',
      'create index concurrently if not exists pods_by_time on pods (created_at);',
    ]
    const index = parseMigration('0103_indexes.sql', text.join('\n'))
    assert.equal(index.isAtomic, false)
    await place.run('create index pods_by_time on pods (created_at)')
    await place.run(
      `update pg_index set indisvalid = false where indexrelid = 'pods_by_time'::regclass`,
    )
    // Several processes may start at once.
    const all = [...own, index]
    const ran = await Promise.all([1, 2, 3].map(() => migratePostgres(place.place, all)))
    assert.deepEqual(ran.flat(), ['0103_indexes'])
    const names = `indexrelid in ('pods_by_time'::regclass, 'pods_by_name'::regclass)`
    const valid = await place.run(`select indisvalid from pg_index where ${names}`)
    assert.deepEqual(
      valid.map((row) => row.indisvalid),
      [true, true],
    )
  })
})

test('a plan names the pending migrations that running processes do not survive', () => {
  const own = readMigrations('postgres')
  const applied = own.slice(0, 7).map((migration) => ({ ...migration }))
  assert.deepEqual(planMigrations(applied, own).breaking, [])
  assert.equal(planMigrations(applied, own).pending.length, own.length - 7)
  const dropped = parseMigration('0104_x.sql', '-- Needs programs of schema 9.\ndrop table x;')
  assert.deepEqual(planMigrations(applied, [...own, dropped]).breaking, [dropped])
  assert.deepEqual(planMigrations(own, [...own, dropped]).breaking, [])
  assert.deepEqual(planMigrations([], [...own, dropped]).breaking, [])
})

async function connect(t: TestContext, { place }: Place): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: place })
  client.on('error', () => {})
  await client.connect()
  t.after(() => client.end())
  return client
}

async function untilWaiting(place: Place): Promise<void> {
  await until(async () => {
    const rows = await place.run(
      `select 1 from pg_locks where not granted and relation = 'pods'::regclass`,
    )
    return rows.length > 0
  })
}

async function untilGone(place: Place): Promise<void> {
  await until(async () => {
    const rows = await place.run(
      `select 1 from pg_stat_activity
       where datname = current_database() and application_name like 'mailroom%'`,
    )
    return rows.length === 0
  })
}

/** The schema of processes that may run while this version migrates. */
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

import assert from 'node:assert/strict'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import type { Engine } from '#platform/db/db.ts'
import { MIGRATIONS_TABLE, readMigrations } from '#platform/db/migrate.ts'
import { migratePostgres } from '#platform/db/postgres.ts'
import { migrateSqlite } from '#platform/db/sqlite.ts'
import { openAt } from '#test/conformance/open-database.ts'
import { createTestDatabase } from '#test/peers/postgres.ts'
import { runSql } from '#test/peers/sql.ts'
import { onBothEngines } from '#test/world.ts'

onBothEngines('migrations', (engine) => {
  const migrate = engine === 'sqlite' ? migrateSqlite : migratePostgres
  const all = readMigrations(engine)

  test('an empty database gets all migrations, and a second run applies none', async (t) => {
    const place = await emptyDatabase(engine, t)
    assert.deepEqual(
      await migrate(place),
      all.map(({ name }) => name),
    )
    assert.deepEqual(await migrate(place), [])
    const recorded = await runSql(
      { place },
      'select version, name, checksum from schema_migrations order by version',
    )
    assert.deepEqual(
      recorded.map((row) => ({ ...row })),
      all.map(({ version, name, checksum }) => ({ version, name, checksum })),
    )
  })

  test('processes that start together wait for each other', async (t) => {
    const place = await emptyDatabase(engine, t)
    const applied = await Promise.all([migrate(place), migrate(place), migrate(place)])
    assert.equal(applied.flat().length, all.length)
  })

  test('a migration changed after its release is refused', async (t) => {
    const place = await emptyDatabase(engine, t)
    await migrate(place)
    await runSql({ place }, "update schema_migrations set checksum = 'other' where version = 1")
    await assert.rejects(migrate(place), /0001_receiving differs/)
    await assert.rejects(openAt(engine, place), /0001_receiving differs/)
  })

  test('a database of a newer program is refused and not changed', async (t) => {
    const place = await emptyDatabase(engine, t)
    await migrate(place)
    const newer = (all.at(-1)?.version ?? 0) + 1
    const row = `values (${newer}, 'later', 'x')`
    await runSql({ place }, `insert into schema_migrations (version, name, checksum) ${row}`)
    await assert.rejects(openAt(engine, place), /start the newer program/)
    const rows = await runSql({ place }, 'select version from schema_migrations')
    assert.equal(rows.length, all.length + 1)
  })

  test('a failed migration leaves the database unchanged', async (t) => {
    const place = await emptyDatabase(engine, t)
    await runSql({ place }, 'create table inboxes (something integer)')
    await assert.rejects(migrate(place), /inboxes/)
    assert.deepEqual(await runSql({ place }, 'select version from schema_migrations'), [])
    await assert.rejects(runSql({ place }, 'select * from accounts'))
    await runSql({ place }, 'drop table inboxes')
    assert.equal((await migrate(place)).length, all.length)
  })
})

test('domains are added to a large database without rewriting its mail', async (t) => {
  const path = await emptyDatabase('sqlite', t)
  const database = new DatabaseSync(path)
  database.exec(`PRAGMA journal_mode = WAL; ${MIGRATIONS_TABLE}`)
  for (const { version, name, sql, checksum } of readMigrations('sqlite').slice(0, 3)) {
    database.exec(sql)
    const applied = database.prepare('insert into schema_migrations values (?, ?, ?)')
    applied.run(version, name, checksum)
  }
  database.exec(`insert into raw_messages (id, sha256, size_bytes, content, reference_count,
      reverse_path, created_at)
    with recursive n (i) as (select 1 union all select i + 1 from n where i < 100)
    select 'raw_' || i, x'00', 100000, zeroblob(100000), 1, '', i from n`)
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  // Kept open, because the last connection to close would empty the log.
  await migrateSqlite(path)
  const { size } = await stat(`${path}-wal`)
  const origins = database.prepare('select distinct origin from raw_messages').all()
  database.close()
  assert.deepEqual(
    origins.map(({ origin }) => origin),
    ['smtp'],
  )
  assert.ok(size > 0 && size < 2_000_000, `${size} octets were written`)
})

test('both engines have the same tables and columns, except for the word index', async (t) => {
  const sqlite = await emptyDatabase('sqlite', t)
  const postgres = await emptyDatabase('postgres', t)
  await migrateSqlite(sqlite)
  await migratePostgres(postgres)
  const ofSqlite = await runSql(
    { place: sqlite },
    `select t.name || '.' || c.name || case when c."notnull" = 1 then ' not null' else '' end as line
     from sqlite_master t, pragma_table_info(t.name) c
     where t.type = 'table' and t.name not like 'sqlite_%' and t.name <> 'schema_migrations'
       and t.name not like 'search%index%' and c.pk = 0`,
  )
  const ofPostgres = await runSql(
    { place: postgres },
    `select c.table_name || '.' || c.column_name ||
       case when c.is_nullable = 'NO' then ' not null' else '' end as line
     from information_schema.columns c
     where c.table_schema = 'public' and c.table_name not in ('schema_migrations', 'search_index')
       and not exists (
         select 1 from information_schema.key_column_usage k
         join information_schema.table_constraints p on p.constraint_name = k.constraint_name
         where p.constraint_type = 'PRIMARY KEY' and k.table_schema = 'public'
           and k.table_name = c.table_name and k.column_name = c.column_name)`,
  )
  const lines = (rows: Record<string, unknown>[]) => rows.map((row) => String(row.line)).sort()
  assert.deepEqual(lines(ofPostgres), lines(ofSqlite))
})

async function emptyDatabase(engine: Engine, t: TestContext): Promise<string> {
  if (engine === 'postgres') return createTestDatabase()
  const folder = await mkdtemp(join(tmpdir(), 'mailroom-test-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return join(folder, 'test.db')
}

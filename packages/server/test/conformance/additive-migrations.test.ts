// From version 0.1.0 on, older programs work with a database while it is migrated and afterwards.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Engine } from '#platform/db/db.ts'
import {
  type Migration,
  parseMigration,
  readMigrations,
  statementsOf,
} from '#platform/db/migrate.ts'

test('migrations only add, unless they name the programs that they need', () => {
  for (const engine of ['sqlite', 'postgres'] as const) {
    for (const migration of readMigrations(engine).filter(({ version }) => version > 1)) {
      assert.deepEqual(findUnsafe(engine, migration), [], `${migration.name} of ${engine}`)
    }
  }
})

test('a statement that old processes or a large table do not survive is found', () => {
  const unsafe = (engine: Engine, sql: string) =>
    findUnsafe(engine, parseMigration(engine, '0100_x.sql', sql)).length > 0
  for (const sql of [
    'drop table pods;',
    'alter table pods drop column name;',
    'alter table pods rename column name to title;',
    'alter table pods rename to groups;',
    'alter table pods alter column name set not null;',
    'alter table pods add column colour text not null;',
    'alter table pods add column colour text unique;',
    'alter table pods add column owner text references accounts (id);',
    'alter table pods add constraint named check (name is not null);',
    'alter table pods add column colour text, drop column name;',
    'create unique index pods_by_name on pods (name);',
    'update pods set name = id;',
    'delete from pods;',
    'create trigger x after insert on pods begin select 1; end;',
  ]) {
    for (const engine of ['sqlite', 'postgres'] as const) {
      assert.ok(unsafe(engine, sql), `${engine}: ${sql}`)
      assert.ok(!unsafe(engine, `-- Needs programs of schema 100.\n${sql}`), sql)
    }
  }
  for (const sql of [
    'create index pods_by_name on pods (name);',
    'create index :online pods_by_name on pods (name);',
    '-- Without a transaction.\ncreate index pods_by_name on pods (name);',
    '-- Without a transaction.\nalter table pods add column colour text;',
    'alter table pods add column colour text default random()::text;',
  ]) {
    assert.ok(unsafe('postgres', sql), sql)
  }
})

test('a statement that they survive is accepted', () => {
  for (const sql of [
    'alter table pods add column colour text;',
    "alter table pods add column colour text not null default 'none';",
    'create table colours (name text not null primary key);\ncreate unique index c on colours (name);',
    "create table colours (name text not null);\ninsert into colours (name) values ('red');",
    '-- Without a transaction.\ncreate index :online n on pods (name);',
    '-- Without a transaction.\nalter table pods add column :absent colour :key;',
  ]) {
    for (const engine of ['sqlite', 'postgres'] as const) {
      assert.deepEqual(findUnsafe(engine, parseMigration(engine, '0100_x.sql', sql)), [], sql)
    }
  }
})

/** Statements of a migration that says nothing, with what is wrong about each. */
function findUnsafe(engine: Engine, migration: Migration): string[] {
  if (/^-- Needs programs of schema \d+\.$/m.test(migration.sql)) return []
  const isAtomic = migration.isAtomic || engine === 'sqlite'
  const own = new Set<string>()
  return statementsOf(migration).flatMap((text) => {
    const fault = faultOf(text, { engine, own, isAtomic })
    return fault === null ? [] : [`${fault}: ${text}`]
  })
}

type Around = { engine: Engine; own: Set<string>; isAtomic: boolean }

function faultOf(text: string, { engine, own, isAtomic }: Around): string | null {
  if (!isAtomic && !/\bif not exists\b/i.test(text)) return 'it cannot be run again'
  const table = /^create table (?:if not exists )?(\w+)/i.exec(text)?.[1]
  if (table !== undefined) {
    own.add(table)
    return null
  }
  const index = /^create (unique )?index (concurrently )?(?:if not exists )?\w+\s+on (\w+)/i.exec(
    text,
  )
  if (index !== null) {
    const [, unique, beside, name = ''] = index
    if (own.has(name)) return null
    if (unique !== undefined) return 'old processes may write what it does not allow'
    if (engine === 'sqlite') return null
    if (beside === undefined) return 'it holds up all who write to the table'
    return isAtomic ? 'it cannot be in a transaction' : null
  }
  // Statistics are for the planner; the lock lets readers and writers pass.
  if (/^create statistics (?:if not exists )?\w+ \([^)]*\) on [\w, ]+ from \w+$/i.test(text))
    return null
  const added = /^alter table \w+ add column (?:if not exists )?\w+ (.*)$/is.exec(text)?.[1]
  if (added !== undefined) return faultOfColumn(added)
  const filled = /^insert into (\w+)/i.exec(text)?.[1]
  if (filled !== undefined && own.has(filled)) return null
  return 'it does not only add'
}

function faultOfColumn(definition: string): string | null {
  const plain = definition.replace(/\s+/g, ' ').replace(/ collate "?\w+"?/i, '')
  const ends = /^(\w+)( not null)?( default ('[^']*'|-?\d+|null))?$/i.exec(plain)
  if (ends === null) return 'it is more than a type and a constant'
  const [, , notNull, byDefault] = ends
  return notNull !== undefined && byDefault === undefined ? 'old processes do not fill it' : null
}

// Merges the statements that `record-statements.mjs` noted while the tests of this version ran: one of each shape, and
// only those that the schema of this version takes:
// node packages/server/test/upgrade/merge-statements.ts <folder of the notes>

import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Engine } from '#platform/db/db.ts'
import { readMigrations } from '#platform/db/migrate.ts'
import { migratePostgres } from '#platform/db/postgres.ts'
import { migrateSqlite } from '#platform/db/sqlite.ts'
import { createTestDatabase, startPostgres } from '#test/peers/postgres.ts'
import { type RecordedStatement, readLines, runStatements } from './recorded-statements.ts'

const [folder = '', version = versionOf(readMigrations('sqlite').at(-1)?.version ?? 0)] =
  process.argv.slice(2)
const NOT_THE_SERVICE = /^\s*(begin|commit|rollback|savepoint|release|pragma|set )/i

for (const engine of ['sqlite', 'postgres'] as const) {
  const found = oneOfEachShape(engine)
  const failures = await onOwnSchema(engine, found)
  const failed = new Set(failures.map(({ text }) => text))
  const kept = found.filter(({ text }) => !failed.has(text))
  const lines = kept.map((statement) => `${JSON.stringify(statement)}\n`)
  writeFileSync(new URL(`./statements/${version}.${engine}.jsonl`, import.meta.url), lines.join(''))
  process.stdout.write(`${engine}: ${kept.length} of ${found.length}\n`)
  for (const { text, error } of failures) process.stdout.write(`  left out: ${error}: ${text}\n`)
}

function oneOfEachShape(engine: Engine): RecordedStatement[] {
  const shapes = new Map<string, RecordedStatement>()
  for (const file of readdirSync(folder).sort()) {
    if (!file.startsWith(engine)) continue
    for (const statement of readLines(readFileSync(join(folder, file), 'utf8'))) {
      if (NOT_THE_SERVICE.test(statement.text)) continue
      const shape = shapeOf(statement.text)
      const known = shapes.get(shape)
      if (known === undefined || lengthOf(statement) < lengthOf(known)) {
        shapes.set(shape, statement)
      }
    }
  }
  return [...shapes.values()].sort((a, b) => (a.text < b.text ? -1 : 1))
}

/** The same for lists of any length. */
function shapeOf(text: string): string {
  return text
    .replace(/\$\d+|\?/g, '?')
    .replace(/\?(, *\?)+/g, '?')
    .replace(/\(\?\)(, *\(\?\))+/g, '(?)')
}

function lengthOf({ text, parameters }: RecordedStatement): number {
  return text.length + JSON.stringify(parameters).length
}

async function onOwnSchema(engine: Engine, statements: RecordedStatement[]) {
  const own = readMigrations(engine).filter((one) => one.version <= Number(version))
  if (engine === 'postgres') {
    const postgres = await startPostgres()
    try {
      const url = await createTestDatabase(postgres.url)
      await migratePostgres(url, own)
      return await runStatements(engine, url, statements)
    } finally {
      await postgres.stop()
    }
  }
  const home = mkdtempSync(join(tmpdir(), 'mailroom-statements-'))
  const path = join(home, 'test.db')
  await migrateSqlite(path, own)
  const failures = await runStatements(engine, path, statements)
  rmSync(home, { recursive: true, force: true })
  return failures
}

function versionOf(number: number): string {
  return String(number).padStart(4, '0')
}

// Runs statements of an earlier version, which `record-statements.mjs` noted, to find those that a database refuses.

import { readFileSync } from 'node:fs'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import pg from 'pg'
import type { Engine } from '#platform/db/db.ts'

export type RecordedStatement = { text: string; parameters: unknown[] }
export type Failure = { text: string; error: string }

/** The recorded statements of a version. */
export function readStatements(version: string, engine: Engine): RecordedStatement[] {
  const url = new URL(`./statements/${version}.${engine}.jsonl`, import.meta.url)
  return readLines(readFileSync(url, 'utf8'))
}

export function readLines(text: string): RecordedStatement[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as RecordedStatement)
}

/**
 * Runs each by itself and rolls it back: an insert that lacks a column, or a name that is gone, fails. References
 * between tables are not checked, because the tables are empty.
 */
export function runStatements(
  engine: Engine,
  place: string,
  statements: readonly RecordedStatement[],
): Promise<Failure[]> {
  return engine === 'sqlite' ? runOnSqlite(place, statements) : runOnPostgres(place, statements)
}

async function runOnSqlite(path: string, statements: readonly RecordedStatement[]) {
  const database = new DatabaseSync(path, { enableForeignKeyConstraints: false })
  const failures: Failure[] = []
  for (const { text, parameters } of statements) {
    database.exec('BEGIN')
    try {
      database.prepare(text).all(...(parameters.map(parameterOf) as SQLInputValue[]))
    } catch (error) {
      failures.push({ text, error: String(error) })
    }
    if (database.isTransaction) database.exec('ROLLBACK')
  }
  database.close()
  return failures
}

async function runOnPostgres(url: string, statements: readonly RecordedStatement[]) {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const failures: Failure[] = []
  try {
    await client.query('begin')
    // Without triggers there are no references.
    await client.query('set local session_replication_role = replica')
    for (const { text, parameters } of statements) {
      await client.query('savepoint one')
      try {
        await client.query(text, parameters.map(parameterOf))
      } catch (error) {
        failures.push({ text, error: String(error) })
      }
      await client.query('rollback to savepoint one')
    }
    await client.query('rollback')
  } finally {
    await client.end()
  }
  return failures
}

function parameterOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  if ('hex' in value) return Buffer.from(String(value.hex), 'hex')
  if ('integer' in value) return BigInt(String(value.integer))
  throw new Error(`Unknown parameter: ${JSON.stringify(value)}`)
}

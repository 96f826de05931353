// Loaded before a run of the tests by `node --import`: notes each SQL statement that the service runs,
// on either engine, with the parameters it was first run with. See CONTRIBUTING.md.

import { appendFileSync } from 'node:fs'
import { DatabaseSync, StatementSync } from 'node:sqlite'
import { threadId } from 'node:worker_threads'
import pg from 'pg'

const folder = process.env.TEST_MAILROOM_STATEMENTS
const LENGTH_MAX = 2_000
const seen = new Set()

if (folder !== undefined) {
  recordSqlite()
  recordPostgres()
}

function recordSqlite() {
  const texts = new WeakMap()
  const { prepare } = DatabaseSync.prototype
  DatabaseSync.prototype.prepare = function (text, ...rest) {
    const statement = prepare.call(this, text, ...rest)
    if (new Error().stack?.includes('sqlite-connection.ts')) texts.set(statement, text)
    return statement
  }
  for (const name of ['all', 'run', 'get', 'iterate']) {
    const run = StatementSync.prototype[name]
    StatementSync.prototype[name] = function (...parameters) {
      const text = texts.get(this)
      if (text !== undefined) note('sqlite', text, parameters)
      return run.apply(this, parameters)
    }
  }
}

function recordPostgres() {
  const { query } = pg.Client.prototype
  pg.Client.prototype.query = function (config, values, ...rest) {
    if (this.connectionParameters.application_name === 'mailroom') {
      const text = typeof config === 'string' ? config : config?.text
      if (typeof text === 'string') note('postgres', text, config.values ?? values ?? [])
    }
    return query.call(this, config, values, ...rest)
  }
}

function note(engine, text, parameters) {
  const key = `${engine} ${shapeOf(text)}`
  if (seen.has(key) || !Array.isArray(parameters)) return
  seen.add(key)
  const line = JSON.stringify({ text, parameters: parameters.map(describe) })
  appendFileSync(`${folder}/${engine}-${process.pid}-${threadId}.jsonl`, `${line}\n`)
}

/** The same for lists of any length. */
function shapeOf(text) {
  return text
    .replace(/\$\d+|\?/g, '?')
    .replace(/\?(, *\?)+/g, '?')
    .replace(/\(\?\)(, *\(\?\))+/g, '(?)')
}

function describe(value) {
  if (value instanceof Uint8Array)
    return { hex: Buffer.from(value.subarray(0, 64)).toString('hex') }
  if (typeof value === 'bigint') return { integer: String(value) }
  if (typeof value === 'string') return value.slice(0, LENGTH_MAX)
  return value ?? null
}

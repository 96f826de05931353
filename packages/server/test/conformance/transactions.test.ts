import assert from 'node:assert/strict'
import { glob, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { MessageChannel } from 'node:worker_threads'
import { endSession } from '#accounts/account-rows.ts'
import { transaction } from '#platform/db/db.ts'
import { runSqliteWriter } from '#platform/db/sqlite-writer.ts'
import type { Tx } from '#schema/tables.ts'
import { openDatabase } from '#test/conformance/open-database.ts'
import { transactions } from '#wiring/transactions.ts'

const SOURCES = fileURLToPath(new URL('../../src', import.meta.url))

test('the writer thread has every transaction that is declared', async () => {
  const declared: unknown[] = []
  for await (const file of glob('**/*.ts', { cwd: SOURCES })) {
    const path = join(SOURCES, file)
    if (!/ = (transaction|groupTransaction)\(/.test(await readFile(path, 'utf8'))) continue
    const exported = Object.values<{ accountOf?: unknown } | null>(await import(path))
    declared.push(...exported.filter((value) => value?.accountOf !== undefined))
  }
  assert.ok(declared.length > 0)
  assert.deepEqual(new Set(transactions), new Set(declared))
})

test('two transactions of one name are refused when they are gathered', () => {
  const { port1: port } = new MessageChannel()
  const twice = {
    path: ':memory:',
    reservePath: null,
    port,
    transactions: [endSession, endSession],
  }
  assert.throws(() => runSqliteWriter(twice), /Two transactions are named endSession/)
})

test('a transaction that was not gathered is a fault, and the port works on', async (t) => {
  const { db, close } = await openDatabase('sqlite')
  t.after(close)
  const run = async (_tx: Tx) => {}
  const unknown = transaction({ name: 'unknown', accountOf: () => null, run })
  await assert.rejects(db.write(unknown, {}), /No transaction is named unknown/)
  await db.write(endSession, { id: 'a session', expiresAtMs: 1 })
})

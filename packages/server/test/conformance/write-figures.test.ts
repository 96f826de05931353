import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { insertPod } from '#accounts/pod-rows.ts'
import { POSTGRES_WRITES_MAX } from '#platform/db/write-groups.ts'
import { silentMetrics } from '#platform/telemetry/metrics.ts'
import { addAccount, makeId, openDatabase } from '#test/conformance/open-database.ts'
import { openPressure } from '#wiring/parts.ts'

const HELD_MS = 500

test('the time of a write includes the wait for its turn', async (t) => {
  const database = await openDatabase('postgres')
  t.after(() => database.close())
  const owner = await addAccount(database.db)
  const tookMs: number[] = []
  const metrics = { ...silentMetrics, observeWrite: (ms: number) => void tookMs.push(ms) }
  const { db } = openPressure(database.db, metrics)
  const holder = new pg.Client({ connectionString: database.place })
  await holder.connect()
  t.after(() => holder.end())
  await holder.query('begin')
  await holder.query('select 1 from accounts where id = $1 for update', [owner.accountId])
  const startMs = performance.now()
  const pod = () => ({ ...owner, podId: makeId('pod'), clientId: null, name: null, nowMs: 1 })
  const writes = Array.from({ length: 2 * POSTGRES_WRITES_MAX }, () => db.write(insertPod, pod()))
  const askedMs = performance.now() - startMs
  await sleep(HELD_MS)
  await holder.query('commit')
  await Promise.all(writes)
  assert.equal(tookMs.length, writes.length)
  // All of them were asked for before, and answered after.
  for (const ms of tookMs) assert.ok(ms >= HELD_MS - askedMs - 1, `${ms} ms`)
})

// Turns of several owners: so many at once, owners one after the other, and none of them everything.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { touchKeys } from '#accounts/account-rows.ts'
import { FairTurns } from '#platform/db/fair-turns.ts'
import { paceWrites, STORE_AWAY_MS } from '#platform/db/paced-db.ts'
import { StorageError } from '#platform/db/storage-error.ts'
import type { Db } from '#schema/tables.ts'

const BOUNDS = { atOnce: 3, eachMax: 2, waitingEachMax: 10, waitMsMax: null }
const settled = () => new Promise((resolve) => setImmediate(resolve))

function openTurns(options: Partial<ConstructorParameters<typeof FairTurns>[0]> = {}) {
  const turns = new FairTurns({ ...BOUNDS, ...options })
  const entered: (string | null)[] = []
  return {
    turns,
    entered,
    async take(owner: string | null) {
      await turns.take(owner)
      entered.push(owner)
    },
  }
}

test('one owner leaves a turn to the others, and those that wait have theirs in turn', async () => {
  const { turns, entered, take } = openTurns()
  for (let count = 0; count < 5; count++) void take('large')
  await settled()
  assert.deepEqual(entered, ['large', 'large'])
  void take('small')
  await settled()
  assert.deepEqual(entered, ['large', 'large', 'small'])
  void take('other')
  void take('other')
  for (const owner of ['large', 'small', 'large', 'other']) turns.give(owner)
  await settled()
  assert.deepEqual(entered.slice(3), ['large', 'other', 'large', 'other'])
})

test('what belongs to nobody has every second turn, and leaves one to the others', async () => {
  const { turns, entered, take } = openTurns()
  for (let count = 0; count < 5; count++) void take(null)
  await settled()
  assert.deepEqual(entered, [null, null])
  for (const owner of ['a', 'b', 'c', 'd']) void take(owner)
  for (const owner of [null, null, 'a', null]) turns.give(owner)
  await settled()
  assert.deepEqual(entered.slice(2), ['a', null, 'b', null, 'c'])
})

test('who waits too long, or behind too many of its own, is refused as busy', async () => {
  const { turns } = openTurns({ waitMsMax: 10, waitingEachMax: 1 })
  const isBusy = (error: unknown) => error instanceof StorageError && error.kind === 'busy'
  for (let count = 0; count < 2; count++) assert.equal(turns.take('large'), null)
  const waiting = turns.take('large')
  assert.ok(waiting !== null)
  const refused = turns.take('large')
  await Promise.all([
    assert.rejects(async () => refused, isBusy),
    assert.rejects(async () => waiting, isBusy),
  ])
  turns.give('large')
  assert.equal(turns.take('large'), null)
})

test('writes that are paced tell how long the oldest waits, and of failures in a row', async () => {
  let nowMs = 0
  const gates: PromiseWithResolvers<unknown>[] = []
  const far = {
    engine: 'postgres',
    write() {
      const gate = Promise.withResolvers<unknown>()
      gates.push(gate)
      return gate.promise
    },
  }
  // What is asked of a database is more than this test needs of one.
  const paced = paceWrites(far as never as Db, { monotonic: () => nowMs })
  const { db, load } = paced
  const write = (accountId: string) => db.write(touchKeys, { accountId, keyIds: [], nowMs })
  const first = write('a')
  nowMs = 400
  const second = write('b')
  assert.deepEqual(load(), { waiting: 2, oldestMs: 400, endedLately: 0, failures: 0 })
  assert.equal(paced.isSlowForSeveral(400), false)
  nowMs = 800
  assert.equal(paced.isSlowForSeveral(400), true)
  assert.deepEqual(paced.loadOf('b'), { ...load(), waiting: 1, oldestMs: 400 })
  gates[0]?.resolve(1)
  assert.equal(await first, 1)
  assert.equal(paced.loadOf('a').waiting, 0)
  assert.equal(paced.isSlowForSeveral(400), false, 'one alone says nothing')
  nowMs = 900
  assert.deepEqual(load(), { waiting: 1, oldestMs: 500, endedLately: 1, failures: 0 })
  gates[1]?.reject(new StorageError('busy', 'locked'))
  await assert.rejects(second, /locked/)
  assert.equal(load().failures, 0, 'one account alone says nothing of the others')
  assert.equal(paced.loadOf('b').failures, 1)
  const mine = write('a')
  gates[2]?.reject(new StorageError('unavailable', 'away'))
  await assert.rejects(mine, /away/)
  assert.equal(load().failures, 2)
  nowMs += STORE_AWAY_MS
  assert.equal(load().failures, 0, 'nobody tried for long')
  const [third, fourth] = [write('a'), write('a')]
  gates[3]?.reject(new Error('a fault'))
  await assert.rejects(third, /a fault/)
  assert.equal(load().failures, 0, 'the store answered')
  gates[4]?.resolve(1)
  await fourth
  nowMs += 7_000
  assert.deepEqual(load(), { waiting: 0, oldestMs: 0, endedLately: 0, failures: 0 })
})

// Turns: a bounded number at once, in order, for a limited wait.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StorageError } from '#db/storage-error.ts'
import { Turns } from '#db/turns.ts'

test('so many are let in at once and the others in the order in which they came', async () => {
  const turns = new Turns({ atOnce: 2, waitMsMax: 10_000 })
  const entered: number[] = []
  const takes = [0, 1, 2, 3, 4].map(async (index) => {
    await turns.take()
    entered.push(index)
  })
  await Promise.all(takes.slice(0, 2))
  assert.deepEqual(entered, [0, 1])
  for (let count = 2; count < 5; count++) {
    turns.give()
    await takes[count]
    assert.deepEqual(entered, [0, 1, 2, 3, 4].slice(0, count + 1))
  }
})

test('who waits too long is refused as busy and takes nobody’s turn', async () => {
  const turns = new Turns({ atOnce: 1, waitMsMax: 10 })
  await turns.take()
  await assert.rejects(turns.take(), (error) => {
    return error instanceof StorageError && error.kind === 'busy'
  })
  turns.give()
  await turns.take()
  const next = turns.take()
  turns.give()
  await next
})

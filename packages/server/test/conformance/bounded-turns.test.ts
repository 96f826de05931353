// Turns of accounts: how much at once, of each and of all, whose turn comes next, and who is refused.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BoundedTurns } from '#actions/bounded-turns.ts'
import { makingFew } from '#actions/dkim/domain-keys.ts'
import { AppError } from '#base/app-error.ts'
import { DKIM_KEYS_MADE_AT_ONCE } from '#base/limits.ts'
import { testKey } from '#test/world.ts'

const BOUNDS = { atOnce: 3, atOnceEach: 2, waitingEach: 4, refusal: 'Too many.' }

function openTurns() {
  const turns = new BoundedTurns({ ...BOUNDS, retryAfterSeconds: 7 })
  const entered: string[] = []
  const ends: (() => void)[] = []
  const runs: Promise<void>[] = []
  const start = (accountId: string) => {
    const run = turns.run(accountId, () => {
      entered.push(accountId)
      return new Promise<void>((resolve) => ends.push(resolve))
    })
    runs.push(run)
    return run
  }
  const endNext = async () => {
    ends.shift()?.()
    await new Promise(setImmediate)
  }
  return { entered, start, endNext, runs }
}

test('an account has so many turns at once, and those that wait take turns by account', async () => {
  const { entered, start, endNext, runs } = openTurns()
  for (const accountId of [...'aaaaaa', ...'bbb', ...'c']) start(accountId)
  assert.equal(entered.join(''), 'aab')
  const order: string[] = []
  for (let n = 0; n < 10; n++) {
    const before = entered.length
    await endNext()
    order.push(entered.slice(before).join(''))
  }
  assert.deepEqual(order, ['a', 'b', 'c', 'a', 'b', 'a', 'a', '', '', ''])
  await Promise.all(runs)
})

test('whoever comes when too many of its account wait is refused, and nobody else is', async () => {
  const { entered, start, endNext, runs } = openTurns()
  for (let n = 0; n < 6; n++) start('a')
  await assert.rejects(start('a'), (error) => {
    assert.ok(error instanceof AppError)
    assert.deepEqual([error.code, error.options.retryAfterSeconds], ['rate_limit_exceeded', 7])
    return true
  })
  runs.pop()
  start('b')
  assert.equal(entered.join(''), 'aab')
  await endNext()
  const late = start('a')
  for (let n = 0; n < 8; n++) await endNext()
  await Promise.all([...runs, late])
})

test('a turn whose work fails is over, too', async () => {
  const turns = new BoundedTurns({ ...BOUNDS, retryAfterSeconds: 7 })
  for (let n = 0; n < 10; n++) {
    await assert.rejects(
      turns.run('a', () => Promise.reject(new Error('no'))),
      /no/,
    )
  }
  assert.equal(await turns.run('a', () => Promise.resolve(1)), 1)
})

test('of keys a few are made at once, whoever wants them', async () => {
  let busy = 0
  let most = 0
  const make = makingFew(async () => {
    busy += 1
    most = Math.max(most, busy)
    await new Promise(setImmediate)
    busy -= 1
    return testKey()
  })
  await Promise.all(Array.from({ length: 50 }, make))
  assert.equal(most, DKIM_KEYS_MADE_AT_ONCE)
  const failing = makingFew(() => Promise.reject(new Error('no')))
  const failed = await Promise.allSettled(Array.from({ length: 10 }, failing))
  assert.ok(failed.every(({ status }) => status === 'rejected'))
})

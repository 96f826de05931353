import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { test } from 'node:test'
import { onAbort, raceAbort } from '#platform/abort.ts'

const forever = new Promise<never>(() => {})

test('a promise is waited for until a signal or a time ends it, and nothing is left behind', async () => {
  const leaving = new AbortController()
  const { signal } = leaving
  assert.equal(await raceAbort(Promise.resolve(1), { signal, timeoutMs: 60_000 }), 1)
  await assert.rejects(raceAbort(Promise.reject(new Error('no')), { signal }), /no/)
  assert.equal(await raceAbort(forever, { signal, timeoutMs: 1 }), null)
  const waiting = raceAbort(forever, { signal })
  leaving.abort()
  assert.equal(await waiting, null)
  assert.equal(await raceAbort(forever, { signal }), null)
  assert.equal(getEventListeners(signal, 'abort').length, 0)
})

test('a listener is called once, at once of a signal that is aborted, and not when disposed of', () => {
  const leaving = new AbortController()
  const calls: string[] = []
  const first = onAbort(leaving.signal, () => calls.push('first'))
  onAbort(leaving.signal, () => calls.push('second'))
  first[Symbol.dispose]()
  leaving.abort()
  onAbort(leaving.signal, () => calls.push('third'))
  onAbort(undefined, () => calls.push('never'))
  assert.deepEqual(calls, ['second', 'third'])
})

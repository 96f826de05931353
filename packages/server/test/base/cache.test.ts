import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Cache } from '#platform/cache.ts'

test('a full cache drops the value used longest ago', () => {
  const cache = new Cache<number>({ entriesMax: 2 })
  cache.set('a', 1)
  cache.set('b', 2)
  assert.equal(cache.get('a'), 1)
  cache.set('c', 3)
  assert.deepEqual([cache.get('a'), cache.get('b'), cache.get('c')], [1, null, 3])
})

test('values are kept for their time, and their remaining time can be read', () => {
  let nowMs = 0
  const cache = new Cache<string>({ now: () => nowMs })
  cache.set('a', 'A', { ttlMs: 10 })
  cache.set('b', 'B', { ttlMs: 0 })
  nowMs = 9
  assert.deepEqual(cache.find('a'), { value: 'A', leftMs: 1 })
  assert.equal(cache.get('b'), null)
  nowMs = 10
  assert.equal(cache.find('a'), null)
})

test('the sizes of all values together stay within a bound', () => {
  const cache = new Cache<string>({ sizeMax: 100 })
  const kept = (keys: string) => [...keys].filter((key) => cache.get(key) !== null).join('')
  for (const key of 'abc') cache.set(key, key, { size: 30 })
  assert.equal(kept('abc'), 'abc')
  cache.set('a', 'A', { size: 40 })
  assert.equal(kept('abc'), 'abc')
  cache.set('d', 'd', { size: 30 })
  assert.equal(kept('abcd'), 'bcd', 'replaced, it is the oldest still: others were read after it')
  cache.set('e', 'e', { size: 101 })
  assert.equal(kept('bcde'), 'bcd')
  cache.delete('b')
  cache.set('f', 'f', { size: 40 })
  assert.equal(kept('bcdf'), 'cdf')
})

test('adding a value drops expired ones, and frees their size', () => {
  let nowMs = 0
  const cache = new Cache<string>({ sizeMax: 100, now: () => nowMs })
  cache.set('a', 'a', { ttlMs: 10, size: 60 })
  nowMs = 10
  cache.set('b', 'b', { size: 40 })
  // By its time alone it would still be readable.
  nowMs = 0
  assert.equal(cache.get('a'), null)
  cache.set('c', 'c', { size: 60 })
  assert.deepEqual([cache.get('b'), cache.get('c')], ['b', 'c'])
})

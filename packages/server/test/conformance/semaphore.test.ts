import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { test } from 'node:test'
import { DKIM_KEYS_MADE_AT_ONCE, makeFewAtOnce } from '#domains/dkim/dkim-key.ts'
import { onAbort, raceAbort } from '#platform/abort.ts'
import { type Acquire, Semaphore, type SemaphoreOptions } from '#platform/semaphore.ts'
import { testKey } from '#test/world.ts'

function open(options: SemaphoreOptions) {
  const semaphore = new Semaphore(options)
  const order: string[] = []
  const slots = new Map<string, (() => void)[]>()
  const settled = () => new Promise((resolve) => setImmediate(resolve))
  return {
    semaphore,
    order,
    settled,
    async acquire(name: string, acquire: Acquire = { key: name }) {
      const slot = await semaphore.acquire(acquire)
      if (typeof slot === 'string') return slot
      order.push(name)
      const own = slots.get(name) ?? []
      slots.set(name, own)
      own.push(slot)
      return 'acquired'
    },
    async release(name: string) {
      const before = order.length
      const slot = slots.get(name)?.shift()
      assert.ok(slot, `${name} holds a slot`)
      slot()
      slot()
      await settled()
      return order.slice(before).join('')
    },
  }
}

test('callers of one key get its slots in the order of their arrival', async () => {
  const { acquire, release, semaphore, order, settled } = open({ limit: 2 })
  for (const name of ['a', 'b', 'c', 'd']) void acquire(name, {})
  await settled()
  assert.deepEqual([order.join(''), semaphore.waiting, semaphore.held()], ['ab', 2, 2])
  assert.deepEqual([await release('a'), await release('b')], ['c', 'd'])
  assert.deepEqual([await release('c'), await release('d')], ['', ''])
  assert.equal(semaphore.held(), 0)
})

test('a key has a limited number of slots, and waiting keys are served in rotation, new ones first', async () => {
  const { acquire, release, order, settled } = open({ limit: 3, limitPerKey: 2 })
  for (const key of [...'aaaaaa', ...'bbb', ...'c']) void acquire(key)
  await settled()
  assert.equal(order.join(''), 'aab')
  const admitted: string[] = []
  for (let next = 0; next < 10; next++) admitted.push(await release(order[next] ?? ''))
  assert.equal(admitted.join(''), 'cababaa')
})

test('the preferred key has every second slot, and leaves one to the others', async () => {
  const options = { limit: 3, limitPerKey: 2, preferredKey: 'own' }
  const { acquire, release, order, settled } = open(options)
  for (let count = 0; count < 5; count++) void acquire('own')
  await settled()
  assert.deepEqual(order, ['own', 'own'])
  for (const key of ['a', 'b', 'c', 'd']) void acquire(key)
  for (const key of ['own', 'own', 'a', 'own']) await release(key)
  assert.deepEqual(order.slice(2), ['a', 'own', 'b', 'own', 'c'])
})

test('a caller is refused when too many wait, in all or for its key, and others are not', async () => {
  const { acquire, release } = open({ limit: 1, waitingMax: 3, waitingPerKeyMax: 2 })
  void acquire('a')
  void acquire('b')
  void acquire('b')
  assert.equal(await acquire('b'), 'full')
  void acquire('c')
  assert.equal(await acquire('d'), 'full')
  assert.deepEqual([await release('a'), await release('b'), await release('c')], ['b', 'c', 'b'])
})

test('a caller that waits too long or aborts gets an error and takes no slot', async () => {
  const { acquire, release, semaphore } = open({ limit: 1, waitMsMax: 20 })
  assert.equal(await acquire('a'), 'acquired')
  const leaving = new AbortController()
  const { signal } = leaving
  const late = acquire('b')
  const gone = acquire('b', { key: 'b', signal })
  leaving.abort()
  assert.deepEqual([await gone, await late], ['aborted', 'timeout'])
  assert.equal(await acquire('b', { key: 'b', signal }), 'aborted')
  assert.equal(semaphore.waiting, 0)
  assert.equal(await release('a'), '')
  assert.equal(await acquire('b'), 'acquired')
})

test('keys without a common limit do not wait for each other', async () => {
  const { acquire, semaphore } = open({ limitPerKey: 1, waitingPerKeyMax: 0 })
  assert.deepEqual([await acquire('a'), await acquire('b')], ['acquired', 'acquired'])
  assert.equal(await acquire('a'), 'full')
  assert.deepEqual([semaphore.held('a'), semaphore.held('c')], [1, 0])
})

test('a heavy caller waits until there is room, or has all slots to itself', async () => {
  const { acquire, release, semaphore, settled } = open({ limit: 10 })
  void acquire('a', { weight: 6 })
  void acquire('b', { weight: 3 })
  void acquire('c', { weight: 100 })
  void acquire('d', { weight: 1 })
  await settled()
  assert.deepEqual([semaphore.held(), semaphore.waiting], [9, 2])
  assert.deepEqual([await release('a'), await release('b'), await release('c')], ['', 'c', 'd'])
})

test('failed or refused work frees its slot', async () => {
  const refuse = (why: string) => new Error(`refused: ${why}`)
  const semaphore = new Semaphore({ limit: 1, waitingMax: 0, refuse })
  for (let count = 0; count < 3; count++) {
    await assert.rejects(
      semaphore.run({}, () => Promise.reject(new Error('no'))),
      /no/,
    )
  }
  const running = semaphore.run({}, () => new Promise((resolve) => setImmediate(resolve, 1)))
  await assert.rejects(
    semaphore.run({}, () => Promise.resolve()),
    /refused: full/,
  )
  assert.equal(await running, 1)
  const signal = AbortSignal.abort()
  await assert.rejects(
    semaphore.run({ signal }, () => Promise.resolve()),
    /refused: aborted/,
  )
})

test('few keys are generated at once, whichever callers want them', async () => {
  let busy = 0
  let most = 0
  const make = makeFewAtOnce(async () => {
    busy += 1
    most = Math.max(most, busy)
    await new Promise(setImmediate)
    busy -= 1
    return testKey()
  })
  await Promise.all(Array.from({ length: 50 }, make))
  assert.equal(most, DKIM_KEYS_MADE_AT_ONCE)
})

const forever = new Promise<never>(() => {})

test('a promise is awaited until a signal or a timeout, and nothing is left behind', async () => {
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

test('a listener is called once, at once for an aborted signal, and never after disposal', () => {
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

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EndReason, EventReader } from '#http/event-readers.ts'
import { silentLog } from '#platform/log.ts'
import { keepingLog, openReaders } from '#test/http/test-server.ts'

type Made = EventReader & { readonly ended: Promise<EndReason>; readonly ends: EndReason[] }

function readerOf(fields: Partial<Omit<EventReader, 'end'>> = {}): Made {
  const ended = Promise.withResolvers<EndReason>()
  const ends: EndReason[] = []
  return {
    accountId: 'acc_1',
    keyId: 'key_1',
    kind: 'socket',
    slot: null,
    ...fields,
    ends,
    ended: ended.promise,
    end(reason) {
      ends.push(reason)
      ended.resolve(reason)
    },
  }
}

const isAll = async (keyIds: readonly string[]) => keyIds

test('an account has ten sockets and ten streams, and a reader that leaves frees its place', async () => {
  const readers = openReaders({})
  for (const kind of ['socket', 'stream'] as const) {
    const take = (accountId = 'acc_1') => readers.takeSlot(kind, accountId)
    const enter = async () => {
      const place = await take()
      assert.ok(place !== null)
      const reader = readerOf({ kind, slot: place })
      readers.add(reader)
      return reader
    }
    const ten = await Promise.all(Array.from({ length: 10 }, enter))
    assert.equal(await take(), null)
    assert.notEqual(await take('acc_2'), null)
    for (let index = 0; index < 3; index++) readers.remove(ten[0] ?? readerOf())
    await enter()
    assert.equal(await take(), null)
  }
  readers.close()
  assert.notEqual(await readers.takeSlot('socket', 'acc_1'), null)
})

test('a reader that is ended at once takes no place', async () => {
  const readers = openReaders({})
  readers.close()
  for (let count = 0; count < 20; count++) {
    const place = await readers.takeSlot('stream', 'acc_1')
    assert.ok(place !== null)
    readers.add(readerOf({ kind: 'stream', slot: place }))
  }
})

test('a revoked key ends its readers of every kind, including late ones', () => {
  const readers = openReaders({})
  const kinds = (['socket', 'stream', 'wait'] as const).map((kind) => readerOf({ kind }))
  const other = readerOf({ keyId: 'key_2' })
  for (const reader of [...kinds, other]) readers.add(reader)
  readers.endReadersOfKey('key_1')
  const late = readerOf()
  readers.add(late)
  for (const reader of [...kinds, late]) assert.deepEqual(reader.ends, ['revoked'])
  assert.deepEqual(other.ends, [])
  readers.close()
  assert.deepEqual(other.ends, ['closing'])
  assert.deepEqual(late.ends, ['revoked'])
  const after = readerOf({ keyId: 'key_3' })
  readers.add(after)
  assert.deepEqual(after.ends, ['closing'])
})

test('a key revoked elsewhere is noticed in time, with one query for all keys', async () => {
  const { log, lines } = keepingLog()
  const asked: (readonly string[])[] = []
  const answers = [
    () => Promise.reject(new Error('no database')),
    async (keyIds: readonly string[]) => keyIds,
    async () => ['key_2'],
  ]
  const readers = openReaders({
    log,
    checkMs: 5,
    findGoodKeys(keyIds) {
      asked.push(keyIds)
      return (answers.shift() ?? isAll)(keyIds)
    },
  })
  const made = ['key_1', 'key_2', 'key_1'].map((keyId) => readerOf({ keyId }))
  for (const reader of made) readers.add(reader)
  assert.equal(await made[0]?.ended, 'revoked')
  assert.deepEqual(
    made.map(({ ends }) => ends.length),
    [1, 0, 1],
  )
  assert.deepEqual(asked.slice(0, 3), [
    ['key_1', 'key_2'],
    ['key_1', 'key_2'],
    ['key_1', 'key_2'],
  ])
  assert.deepEqual(
    lines.map(({ level }) => level),
    ['warn'],
  )
  readers.close()
})

test('no key is looked up without readers', async () => {
  let asked = 0
  const readers = openReaders({
    log: silentLog,
    checkMs: 5,
    async findGoodKeys(keyIds) {
      asked += 1
      return keyIds
    },
  })
  const reader = readerOf()
  readers.add(reader)
  readers.remove(reader)
  await new Promise((resolve) => setTimeout(resolve, 30))
  await readers.check()
  assert.equal(asked, 0)
})

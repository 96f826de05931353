import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Listing, type Page, type PageBounds } from '@mailroom/sdk/listing.ts'
import { ResponsePromise } from '@mailroom/sdk/response.ts'

type Item = { id: string }

type Read = (bounds: PageBounds) => Promise<Page<Item>>

function listOf(read: Read, bounds: PageBounds = {}): Listing<Item> {
  const response = { status: 200, headers: new Headers({ 'x-of': 'list' }), requestId: 'req_1' }
  const whole = async (asked: PageBounds) => ({ data: await read(asked), response })
  return new Listing<Item>((asked) => new ResponsePromise(whole(asked)), bounds)
}

/** A list of the service, newest first, that grows by one item with each page read. */
function growingList(length: number, growth: number) {
  const items: Item[] = Array.from({ length }, (_, index) => ({ id: `old${index}` }))
  const asked: PageBounds[] = []
  const read = async (bounds: PageBounds) => {
    const { limit = 50, offset = 0 } = bounds
    asked.push(bounds)
    const data = items.slice(offset, offset + limit)
    const total = items.length
    for (let count = 0; count < growth; count += 1) items.unshift({ id: `new${items.length}` })
    return { data, total }
  }
  return { read, asked }
}

async function idsOf(listing: Listing<Item>): Promise<string[]> {
  const ids: string[] = []
  for await (const { id } of listing) ids.push(id)
  return ids
}

test('a list longer than its capped total is read to its end', async () => {
  const read = async ({ limit = 50, offset = 0 }: PageBounds) => {
    const length = Math.min(limit, Math.max(0, 10_150 - offset))
    const data = Array.from({ length }, (_, index) => ({ id: `${offset + index}` }))
    return { data, total: 10_000 }
  }
  assert.equal((await idsOf(listOf(read, { offset: 9_900 }))).length, 250)
})

test('all items come in order', async () => {
  const { read, asked } = growingList(250, 0)
  const ids = await idsOf(listOf(read, {}))
  assert.deepEqual(
    ids,
    Array.from({ length: 250 }, (_, index) => `old${index}`),
  )
  assert.deepEqual(
    asked.map(({ offset }) => offset),
    [0, 100, 200],
  )
})

test('items added during reading cause no repeated items', async () => {
  const { read } = growingList(30, 3)
  const ids = await idsOf(listOf(read, { limit: 10 }))
  assert.equal(new Set(ids).size, ids.length)
  assert.equal(ids.length, 30)
})

test('an offset sets where reading starts', async () => {
  const { read } = growingList(12, 0)
  assert.deepEqual(await idsOf(listOf(read, { limit: 5, offset: 9 })), ['old9', 'old10', 'old11'])
})

test('a caller that stops early causes no further page to be read', async () => {
  const { read, asked } = growingList(250, 0)
  for await (const { id } of listOf(read, {})) {
    if (id === 'old3') break
  }
  assert.equal(asked.length, 1)
})

test('a list that is shorter than its total ends', async () => {
  const pages = [
    { data: [{ id: 'a' }], total: 5 },
    { data: [], total: 5 },
  ]
  const read = async () => pages.shift() ?? { data: [], total: 0 }
  assert.deepEqual(await idsOf(listOf(read, {})), ['a'])
})

test('a list can be awaited: that reads one page', async () => {
  const { read, asked } = growingList(250, 0)
  const { data, total } = await listOf(read, { limit: 2 })
  assert.deepEqual([data.map(({ id }) => id), total], [['old0', 'old1'], 250])
  assert.deepEqual(asked, [{ limit: 2 }])
  const { response } = await listOf(read).page().withResponse()
  assert.equal(response.headers.get('x-of'), 'list')
})

test('a list gives its first item, or null', async () => {
  const { read, asked } = growingList(3, 0)
  assert.deepEqual(await listOf(read, { offset: 1 }).first(), { id: 'old1' })
  assert.deepEqual(asked, [{ offset: 1, limit: 1 }])
  assert.equal(await listOf(growingList(0, 0).read).first(), null)
})

test('a list gives all its items at once, or as many as wanted', async () => {
  const { read, asked } = growingList(250, 0)
  assert.equal((await listOf(read).all()).length, 250)
  assert.equal(asked.length, 3)
  assert.equal((await listOf(read).all({ max: 101 })).length, 101)
  assert.equal(asked.length, 5)
  assert.deepEqual(await listOf(read).all({ max: 0 }), [])
  assert.equal(asked.length, 5)
})

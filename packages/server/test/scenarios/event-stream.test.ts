import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Inbox } from '@mailroom/sdk'
import { type FeedClient, openFeedClient } from '#test/http/event-feed-client.ts'
import { errorOf, outcomeOf } from '#test/scenarios/outcomes.ts'
import { onEachEngine, openTenant, openWorld, plainMail, type World } from '#test/world.ts'
import { receive, receiveMany, untilReadable } from './event-world.ts'

type EventQuery = NonNullable<Parameters<World['client']['events']['list']>[0]>
type Page = { data: Record<string, unknown>[]; total: number }

onEachEngine('the log of events', (engine) => {
  let world: World
  const feeds: FeedClient[] = []

  before(async () => {
    world = await openTenant(engine)
  })
  after(async () => {
    for (const feed of feeds) feed.close()
    await world.close()
  })

  async function openFeed(query = '', headers: Record<string, string> = {}, key = world.key) {
    const feed = await openFeedClient(`${world.baseUrl}/v1/events/stream${query}`, {
      authorization: `Bearer ${key}`,
      ...headers,
    })
    feeds.push(feed)
    return feed
  }

  async function deliver(inbox: Inbox, ...subjects: string[]): Promise<void> {
    for (const subject of subjects) {
      const raw = plainMail({ to: inbox.address, subject })
      assert.equal((await world.send({ to: inbox.address, raw })).code, 250)
    }
  }

  async function page(query: string): Promise<Page> {
    const response = await world.fetch(`/v1/events${query}`)
    assert.equal(response.status, 200)
    return (await response.json()) as Page
  }

  const subjectOf = (data: Record<string, unknown> | undefined) =>
    (data?.message as { subject: string } | undefined)?.subject

  test('is read oldest first, after an event, by kind and by inbox', async () => {
    const [inbox, other] = [await world.inbox(), await world.inbox()]
    await deliver(inbox, 'one', 'two', 'three')
    await deliver(other, 'other')
    await untilReadable(world)
    const { data, total } = await page(`?inbox_id=${inbox.id}`)
    assert.deepEqual(data.map(subjectOf), ['one', 'two', 'three'])
    assert.equal(total, 3)
    assert.equal(data[0]?.attempt, 1)
    const rest = await page(`?inbox_id=${inbox.id}&after=${data[0]?.event_id}&limit=1`)
    assert.deepEqual([rest.data.map(subjectOf), rest.total], [['two'], 2])
    const kinds = await page('?event_types=message.sent,message.failed')
    assert.deepEqual(kinds, { data: [], total: 0 })
    const received = await page(`?event_types=message.received, message.sent&limit=1000`)
    assert.equal(received.total, 4)
  })

  test('is read newest first, and continues to older events whatever happens meanwhile', async () => {
    const [inbox, other] = [await world.inbox(), await world.inbox()]
    await deliver(inbox, 'one', 'two', 'three')
    await deliver(other, 'other')
    await untilReadable(world)
    const newest = await page('?order=desc&limit=2')
    assert.deepEqual(newest.data.map(subjectOf), ['other', 'three'])
    const asked = `?order=desc&inbox_id=${inbox.id}&limit=2`
    const first = await page(asked)
    assert.deepEqual([first.data.map(subjectOf), first.total], [['three', 'two'], 3])
    await deliver(inbox, 'four')
    await untilReadable(world)
    const second = await page(`${asked}&after=${first.data[1]?.event_id}`)
    assert.deepEqual([second.data.map(subjectOf), second.total], [['one'], 1])
    const end = await page(`${asked}&after=${second.data[0]?.event_id}`)
    assert.deepEqual(end, { data: [], total: 0 })
    const none = await page('?order=desc&event_types=message.failed')
    assert.deepEqual(none, { data: [], total: 0 })
    const all: unknown[] = []
    const listing = world.client.events.list({ order: 'desc', inbox_id: inbox.id, limit: 1 })
    for await (const event of listing) all.push(subjectOf(event))
    assert.deepEqual(all, ['four', 'three', 'two', 'one'])
    const wrong = await world.fetch('/v1/events?order=newest')
    assert.equal(wrong.status, 400)
    const { error, details } = (await wrong.json()) as { error: string; details: unknown[] }
    assert.deepEqual([error, details.length], ['bad_request', 1])
    assert.equal((details[0] as { path: string }).path, 'order')
  })

  test('is paged newest first without a gap or a repeat while mail arrives, with any filter', async () => {
    const [inbox, other] = [await world.inbox(), await world.inbox()]
    const written = [
      ...(await receiveMany(world, inbox, 12)),
      ...(await receiveMany(world, other, 3)),
    ]
    await untilReadable(world)
    let isPaging = true
    const arriving = [inbox, other].map(async (to) => {
      while (isPaging) {
        await receive(world, to)
        await sleep(5)
      }
    })
    const filters: EventQuery[] = [
      {},
      { inbox_id: inbox.id },
      { event_types: 'message.received' },
      { inbox_id: inbox.id, event_types: 'message.received', categories: 'personal' },
    ]
    const read: string[][] = []
    for (const filter of filters) {
      read.push(await idsOf({ ...filter, order: 'desc', limit: 4 }))
      await sleep(5)
    }
    isPaging = false
    await Promise.all(arriving)
    await untilReadable(world)
    for (const [index, filter] of filters.entries()) {
      const ids = read[index] ?? []
      const inOrder = await idsOf({ ...filter, order: 'asc' })
      assert.deepEqual(ids.toReversed(), inOrder.slice(0, ids.length), JSON.stringify(filter))
      const expected = written.slice(0, 'inbox_id' in filter ? 12 : 15)
      const missed = expected.filter((id) => !ids.includes(id))
      assert.deepEqual(missed, [], JSON.stringify(filter))
    }
  })

  async function idsOf(query: EventQuery): Promise<string[]> {
    const ids: string[] = []
    for await (const event of world.client.events.list(query)) ids.push(event.event_id)
    return ids
  }

  test('refuses unknown values in pages and streams, for GET and HEAD', async () => {
    const theirs = await world.newAccount()
    const inbox = await theirs.client.inboxes.create()
    const wrong: [string, string][] = [
      ['event_types=message.read', 'event_types'],
      [`inbox_id=${inbox.id}`, 'inbox_id'],
      ['inbox_id=inb_01h455vb4pex5vsknk084sn02q', 'inbox_id'],
      ['inbox_id=', 'inbox_id'],
      ['after=evt', 'after'],
      ['after=msg_01h455vb4pex5vsknk084sn02q', 'after'],
      ['after=', 'after'],
    ]
    for (const path of ['/v1/events', '/v1/events/stream']) {
      for (const [query, field] of wrong) {
        const response = await world.fetch(`${path}?${query}`)
        assert.equal(response.status, 400, query)
        const { error, details } = (await errorOf(response)) as {
          error: string
          details: { path: string }[]
        }
        assert.deepEqual([error, details[0]?.path], ['bad_request', field])
        assert.equal((await world.fetch(`${path}?${query}`, { method: 'HEAD' })).status, 400)
      }
    }
    assert.equal(await outcomeOf(world.fetch('/v1/events?limit=0')), '400 bad_request')
    assert.equal(await outcomeOf(world.fetch('/v1/events/stream?order=desc')), '400 bad_request')
    const head = await world.fetch('/v1/events/stream', { method: 'HEAD' })
    assert.equal(head.headers.get('content-type'), 'text/event-stream; charset=utf-8')
    const among = await world.fetch('/v1/events?event_types=message.received,nonsense')
    assert.equal(among.status, 400)
  })

  test('continues from the time of a well-formed id that it does not hold', async () => {
    const all = await page('?limit=100')
    const ancient = await page('?limit=100&after=evt_01h455vb4pex5vsknk084sn02q')
    assert.deepEqual(
      ancient.data.map(({ event_id: id }) => id),
      all.data.map(({ event_id: id }) => id),
    )
    const future = await page('?after=evt_7zzzzzzzzzzzzzzzzzzzzzzzzz')
    assert.deepEqual(future, { data: [], total: 0 })
  })

  test('is streamed after any cursor, with a comment if the cursor is unknown', async () => {
    const inbox = await world.inbox()
    await deliver(inbox, 'before')
    await untilReadable(world)
    const kinds = 'event_types=message.received,message.read'
    for (const cursor of ['evt_01h455vb4pex5vsknk084sn02q', 'evt_x', 'nonsense']) {
      const headers = { 'last-event-id': cursor }
      const feed = await openFeed(`?inbox_id=${inbox.id}&${kinds}`, headers)
      assert.equal(feed.response.status, 200)
      const isPlace = cursor.length === 30
      if (!isPlace) await deliver(inbox, cursor)
      assert.equal(subjectOf((await feed.next())?.data), isPlace ? 'before' : cursor)
      const [aboutKinds = '', aboutCursor = ''] = feed.commentTexts()
      assert.match(aboutKinds, /"event_types" .*"message\.read"/)
      assert.match(aboutCursor, /^Last-Event-ID is not an event/)
      feed.close()
    }
  })

  test('is streamed live, with ids to continue from', async () => {
    const inbox = await world.inbox()
    const feed = await openFeed(`?inbox_id=${inbox.id}&event_types=message.received`)
    const { headers } = feed.response
    assert.equal(feed.response.status, 200)
    assert.equal(headers.get('content-type'), 'text/event-stream; charset=utf-8')
    assert.equal(headers.get('cache-control'), 'no-cache')
    assert.equal(headers.get('x-accel-buffering'), 'no')
    await deliver(await world.inbox(), 'elsewhere')
    await deliver(inbox, 'one', 'two')
    const first = await feed.next()
    assert.equal(first?.event, 'message.received')
    assert.equal(first?.id, first?.data.event_id)
    assert.equal(subjectOf(first?.data), 'one')
    assert.equal(subjectOf((await feed.next())?.data), 'two')
    assert.equal(feed.retryMs(), 3_000)
    feed.close()
    await deliver(inbox, 'three')
    const lastEventId = { 'last-event-id': first?.id ?? '' }
    // The header is newer than the parameter of the first connection.
    const again = await openFeed(`?inbox_id=${inbox.id}&after=evt_unknown`, lastEventId)
    assert.equal(subjectOf((await again.next())?.data), 'two')
    assert.equal(subjectOf((await again.next())?.data), 'three')
    await deliver(inbox, 'four')
    assert.equal(subjectOf((await again.next())?.data), 'four')
    again.close()
    const { data } = await page(`?inbox_id=${inbox.id}`)
    const later = await openFeed(`?inbox_id=${inbox.id}&after=${data[2]?.event_id}`)
    assert.equal(subjectOf((await later.next())?.data), 'four')
    later.close()
  })

  test('is streamed to at most ten clients of an account, and a place becomes free again', async () => {
    const { key, client } = await world.newAccount()
    const inbox = await client.inboxes.create()
    const ten = await Promise.all(Array.from({ length: 10 }, () => openFeed('', {}, key)))
    const headers = { authorization: `Bearer ${key}` }
    const refused = await world.fetch('/v1/events/stream', { headers })
    assert.equal(await outcomeOf(refused.clone()), '429 rate_limit_exceeded')
    assert.match(refused.headers.get('retry-after') ?? '', /^[1-9]/)
    ten[0]?.close()
    let again = await openFeed('', {}, key)
    // The service notices the end when the connection closes.
    while (again.response.status === 429) {
      await sleep(20)
      again = await openFeed('', {}, key)
    }
    await deliver(inbox, 'for all')
    for (const feed of [...ten.slice(1), again]) {
      assert.equal(subjectOf((await feed.next())?.data), 'for all')
      feed.close()
    }
  })

  test('is streamed until the key is revoked', async () => {
    const { id, token } = await world.client.apiKeys.create()
    const feed = await openFeed('', {}, token)
    const next = feed.next()
    await world.client.apiKeys.delete(id)
    assert.equal(await next, null)
    assert.equal((await openFeed('', {}, token)).response.status, 401)
  })

  test('is streamed to a slow reader in order, without repeats', async () => {
    const inbox = await world.inbox()
    const feed = await openFeed(`?inbox_id=${inbox.id}`)
    const body = 'x'.repeat(70_000).replaceAll(/.{70}/g, '$&\r\n')
    for (let index = 0; index < 30; index++) {
      const raw = plainMail({ to: inbox.address, subject: String(index), body })
      await world.send({ to: inbox.address, raw })
    }
    for (let index = 0; index < 30; index++) {
      assert.equal(subjectOf((await feed.next())?.data), String(index))
    }
    feed.close()
  })

  test('ends its streams when the service ends', async () => {
    const place = await openWorld(engine)
    const feed = await openFeedClient(`${place.baseUrl}/v1/events/stream`, {
      authorization: `Bearer ${place.key}`,
    })
    const next = feed.next()
    const startMs = performance.now()
    await place.close()
    assert.equal(await next, null)
    assert.ok(performance.now() - startMs < 30_000)
  })
})

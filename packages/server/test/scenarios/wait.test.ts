import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { sizeOf } from '@mailroom/mail/test/size-of.ts'
import type { Inbox } from '@mailroom/sdk'
import { countReads, watchListeners } from '#test/scenarios/event-listeners.ts'
import { untilReadable } from '#test/scenarios/event-world.ts'
import { outcomeOf } from '#test/scenarios/outcomes.ts'
import { onEachEngine, opened, openTenant, openWorld, plainMail } from '#test/world.ts'

type Found = { message: { id: string; subject: string; threadId: string } | null }

const CLIENTS = sizeOf('TEST_MAILROOM_WAITING_CLIENTS', { quick: 400, usual: 1_000 })

onEachEngine('the wait for a message', (engine) => {
  const world = opened(() => openTenant(engine))

  /** The result of `start`, after its wait has begun. */
  async function waiting<Value>(start: () => Value): Promise<Value> {
    const listeners = watchListeners(world)
    const value = start()
    await listeners.reach(1)
    return value
  }

  const pathOf = (inbox: { id: string }, query: string) => `/v1/inboxes/${inbox.id}/wait${query}`

  async function wait(inbox: { id: string }, query = '', of = world): Promise<Found['message']> {
    const response = await of.fetch(pathOf(inbox, query))
    assert.equal(response.status, 200)
    return ((await response.json()) as Found).message
  }

  async function deliver(inbox: Inbox, subject: string, from?: string): Promise<void> {
    const fields = { to: inbox.address, subject, ...(from !== undefined && { from }) }
    assert.equal((await world.send({ to: inbox.address, raw: plainMail(fields) })).code, 250)
  }

  test('is answered at once with a message that arrives, as the API shows it', async () => {
    const inbox = await world.inbox()
    await deliver(inbox, 'before')
    const found = await waiting(() => ({ message: wait(inbox) }))
    const startMs = performance.now()
    await deliver(inbox, 'now')
    const message = await found.message
    assert.ok(performance.now() - startMs < 20_000)
    assert.equal(message?.subject, 'now')
    const shown = await world.client.messages.get(message?.id ?? '')
    const plain = (value: unknown) =>
      JSON.parse(JSON.stringify(value).replaceAll(/\?expires[^"]*/g, ''))
    assert.deepEqual(plain(message), plain(shown))
  })

  test('is answered with null at its limit', async () => {
    const inbox = await world.inbox()
    await deliver(inbox, 'before')
    const startMs = performance.now()
    assert.equal(await wait(inbox, '?timeout=1'), null)
    const tookMs = performance.now() - startMs
    assert.ok(tookMs > 990 && tookMs < 20_000, String(tookMs))
  })

  test('is answered with a message after a given message or event, if it exists already', async () => {
    const inbox = await world.inbox()
    await deliver(inbox, 'one')
    await deliver(inbox, 'two')
    const [, first] = (await world.client.messages.list(inbox.id).page()).data
    await untilReadable(world)
    const response = await world.fetch(`/v1/events?inbox_id=${inbox.id}&limit=1`)
    const { data } = (await response.json()) as { data: { event_id: string }[] }
    for (const cursor of [first?.id, data[0]?.event_id]) {
      assert.equal((await wait(inbox, `?after=${cursor}`))?.subject, 'two')
    }
  })

  test('ignores messages that do not match', async () => {
    const inbox = await world.inbox()
    const query = '?from=Bob@Elsewhere.example&subject=CODE'
    const found = await waiting(() => ({ message: wait(inbox, query) }))
    await deliver(inbox, 'Your code', 'ann@elsewhere.example')
    await deliver(inbox, 'Nothing', 'bob@elsewhere.example')
    const fields = { subject: 'Your code', from: 'Bob <bob@elsewhere.example>' }
    const messageId = '<code@elsewhere.example>'
    const code = plainMail({ to: inbox.address, messageId, ...fields })
    await world.send({ to: inbox.address, raw: code })
    const message = await found.message
    const shown = await world.client.messages.get(message?.id ?? '')
    assert.equal(shown.fromAddr, 'Bob <bob@elsewhere.example>')
    const other = await waiting(() => ({
      message: wait(inbox, `?thread_id=${message?.threadId}`),
    }))
    await deliver(inbox, 'Another thread')
    const headers = [`In-Reply-To: ${messageId}`]
    const raw = plainMail({ to: inbox.address, subject: 'Re: Your code', headers })
    await world.send({ to: inbox.address, raw })
    assert.equal((await other.message)?.subject, 'Re: Your code')
  })

  test('refuses unknown and out-of-range parameters', async () => {
    const inbox = await world.inbox()
    const theirs = await (await world.newAccount()).client.inboxes.create()
    const queries = ['0', '61', '-1', '1.5', 'x', '', '1e1', '30s'].map(
      (text) => `?timeout=${text}`,
    )
    for (const query of [...queries, '?after=evt_x', '?after=', '?direction=both']) {
      assert.equal(await outcomeOf(world.fetch(pathOf(inbox, query))), '400 bad_request', query)
    }
    for (const id of [theirs.id, 'inb_x', 'x', '%00']) {
      assert.equal(await outcomeOf(world.fetch(pathOf({ id }, '?timeout=1'))), '404 not_found')
    }
  })

  test('does not wait on HEAD', async () => {
    const inbox = await world.inbox()
    const startMs = performance.now()
    const response = await world.fetch(pathOf(inbox, '?timeout=60'), { method: 'HEAD' })
    assert.equal(response.status, 200)
    assert.ok(performance.now() - startMs < 30_000)
  })

  test('misses nothing that arrives while it begins', async () => {
    const inbox = await world.inbox()
    await deliver(inbox, 'start')
    let after = (await world.client.messages.list(inbox.id).page()).data[0]?.id
    for (let round = 0; round < 40; round++) {
      const delivered = deliver(inbox, String(round))
      const message = await wait(inbox, `?after=${after}&timeout=60`)
      assert.equal(message?.subject, String(round))
      after = message?.id
      await delivered
    }
  })

  test('ends when the client disconnects', async () => {
    const inbox = await world.inbox()
    const listeners = watchListeners(world)
    const socket = connect(Number(new URL(world.baseUrl).port), '127.0.0.1')
    await once(socket, 'connect')
    socket.write(
      `GET ${pathOf(inbox, '?timeout=60')} HTTP/1.1\r\nHost: a\r\n` +
        `Authorization: Bearer ${world.key}\r\n\r\n`,
    )
    await listeners.reach(1)
    socket.destroy()
    await listeners.reach(0)
  })

  test('is 401 when its key is revoked', async () => {
    const inbox = await world.inbox()
    const { id, token } = await world.client.apiKeys.create()
    const headers = { authorization: `Bearer ${token}` }
    const found = await waiting(() => ({
      outcome: outcomeOf(world.fetch(pathOf(inbox, ''), { headers })),
    }))
    await world.client.apiKeys.delete(id)
    assert.equal(await found.outcome, '401 unauthorized')
  })

  test(`serves ${CLIENTS} clients at once without database queries`, async () => {
    const [inbox, other] = [await world.inbox(), await world.inbox()]
    const reads = countReads(world)
    const alone = await reads.during(2_000)
    const listeners = watchListeners(world)
    const waits = Array.from({ length: CLIENTS }, (_, index) =>
      wait(index < CLIENTS / 2 ? inbox : other, '?timeout=60'),
    )
    await listeners.reach(CLIENTS)
    const together = await reads.during(2_000)
    // All of them read the log together, once a second: separate reads would be thousands.
    assert.ok(together - alone <= 200, `${together} ${alone}`)
    const before = reads.count()
    await deliver(inbox, 'for all')
    const found = await Promise.all(waits.slice(0, CLIENTS / 2))
    assert.ok(found.every((message) => message?.subject === 'for all'))
    assert.ok(reads.count() - before < CLIENTS / 4, String(reads.count() - before))
    await deliver(other, 'for the others')
    await Promise.all(waits)
  })

  test('ends with 503 at once when the service ends', async () => {
    const place = await openWorld(engine)
    const inbox = await place.inbox()
    const listeners = watchListeners(place)
    const outcomes = Array.from({ length: 5 }, () =>
      outcomeOf(place.fetch(pathOf(inbox, '?timeout=60'))),
    )
    await listeners.reach(5)
    const startMs = performance.now()
    await place.close()
    for (const outcome of outcomes) assert.equal(await outcome, '503 service_unavailable')
    assert.ok(performance.now() - startMs < 30_000)
  })
})

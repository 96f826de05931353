import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sizeOf } from '@mailroom/mail/test/size-of.ts'
import { type Event, type Inbox, Mailroom } from '@mailroom/sdk'
import { openSender } from '#test/peers/sender.ts'
import { onEachEngine, opened, openTenant, plainMail, prepared, type World } from '#test/world.ts'
import { watchListeners } from './event-listeners.ts'

const MESSAGES = sizeOf('TEST_MAILROOM_FOLLOWED_MESSAGES', { quick: 100, usual: 300, long: 500 })
const CUTS = Number(process.env.TEST_MAILROOM_FOLLOWED_CUTS ?? 12)
const CONNECTIONS_MIN = Math.min(3, CUTS)
const CUT_MS_MAX = 150
const SENDERS = 4

const WAYS = [
  { name: 'a WebSocket', WebSocket: undefined },
  { name: 'server-sent events', WebSocket: null },
] as const

type Proxy = { readonly baseUrl: string; readonly connections: number; cut(): void; close(): void }

/** A proxy to the service whose connections can be cut, losing the data in transit. */
async function openProxy(target: string): Promise<Proxy> {
  const { hostname, port } = new URL(target)
  const pairs = new Set<Socket[]>()
  let connections = 0
  const server = createServer((near) => {
    connections += 1
    const far = connect(Number(port), hostname)
    const pair = [near, far]
    pairs.add(pair)
    near.pipe(far)
    far.pipe(near)
    for (const socket of pair) {
      socket.on('error', () => {})
      socket.on('close', () => {
        pairs.delete(pair)
        for (const one of pair) one.destroy()
      })
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const cut = () => {
    for (const pair of pairs) for (const socket of pair) socket.resetAndDestroy()
  }
  return {
    baseUrl: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`,
    get connections() {
      return connections
    },
    cut,
    close() {
      cut()
      server.close()
    },
  }
}

async function sendMany(world: World, inbox: Inbox, count: number): Promise<void> {
  let sent = 0
  const work = async () => {
    const sender = await openSender(world.smtpPort)
    while (sent < count) {
      const raw = plainMail({ to: inbox.address, subject: `Number ${sent++}` })
      assert.equal((await sender.send({ to: inbox.address, raw })).code, 250)
    }
    await sender.quit()
  }
  await Promise.all(Array.from({ length: SENDERS }, work))
}

onEachEngine('the SDK and events', (engine) => {
  const world = opened(() => openTenant(engine))
  const client = prepared(() => new Mailroom({ baseUrl: world.baseUrl, apiKey: world.key }))

  const deliver = async (inbox: Inbox, subject: string) => {
    const raw = plainMail({ to: inbox.address, subject })
    assert.equal((await world.send({ to: inbox.address, raw })).code, 250)
  }

  const logOf = async (inbox: Inbox): Promise<Event[]> => {
    const logged: Event[] = []
    for await (const event of client.events.list({ inbox_id: inbox.id })) logged.push(event)
    return logged
  }

  /** On PostgreSQL an event is readable once older transactions have ended, also those of other tests. */
  const firstOf = async (inbox: Inbox): Promise<Event> => {
    for (;;) {
      const [first] = await logOf(inbox)
      if (first !== undefined) return first
      await sleep(10)
    }
  }

  for (const { name, WebSocket } of WAYS) {
    test(`${name}: connections cut at random lose no event and repeat none`, async (t) => {
      const proxy = await openProxy(world.baseUrl)
      t.after(() => proxy.close())
      const inbox = await world.inbox()
      await deliver(inbox, 'the first')
      const first = await firstOf(inbox)
      const follower = new Mailroom({ baseUrl: proxy.baseUrl, apiKey: world.key })
      const followed: string[] = []
      const over = new AbortController()
      const following = (async () => {
        const after = first.event_id
        const options = { inboxIds: [inbox.id], after, signal: over.signal, WebSocket }
        for await (const event of follower.events.follow(options)) {
          followed.push(event.event_id)
          if (followed.length === MESSAGES) break
        }
      })()
      const sending = (async () => {
        await sendMany(world, inbox, MESSAGES - 1)
        // A quick machine delivers all before the second cut.
        while (proxy.connections < CONNECTIONS_MIN) await sleep(2)
        await sendMany(world, inbox, 1)
      })()
      const work = Promise.all([following, sending]).finally(() => over.abort())
      let cuts = 0
      const cutting = (async () => {
        while (cuts < CUTS && !over.signal.aborted) {
          const before = proxy.connections
          await sleep(Math.random() * CUT_MS_MAX)
          proxy.cut()
          cuts += 1
          while (proxy.connections === before && !over.signal.aborted) await sleep(2)
        }
      })()
      await work
      await cutting
      t.diagnostic(`${cuts} cuts, ${proxy.connections} connections`)
      const logged = await logOf(inbox)
      assert.deepEqual(
        followed,
        logged.slice(1).map(({ event_id: id }) => id),
      )
      assert.equal(new Set(followed).size, MESSAGES)
      assert.ok(proxy.connections >= CONNECTIONS_MIN, `${proxy.connections} connections`)
    })
  }

  test('an inbox created later is followed, and kinds can be selected', async () => {
    const controller = new AbortController()
    const { signal } = controller
    const following = client.events.follow({ eventTypes: ['message.received'], signal })
    const next = following.next()
    const inbox = await world.inbox()
    // The subscription may take a moment to start; earlier events are not delivered.
    const nudging = (async () => {
      while (!signal.aborted) await deliver(inbox, 'hello').then(() => sleep(50))
    })()
    const { value } = await next
    controller.abort()
    await nudging
    assert.ok(value)
    assert.deepEqual([value.event, value.inbox_id], ['message.received', inbox.id])
    assert.equal(value.message?.subject, 'hello')
  })

  test('an invalid key and an unknown inbox are refused', async () => {
    const stranger = new Mailroom({ baseUrl: world.baseUrl, apiKey: 'mr_nobody' })
    await assert.rejects(stranger.events.follow().next(), { code: 'unauthorized', status: 401 })
    const foreign = client.events.follow({ inboxIds: ['inb_01h2xcejqtf2nbrexx3vqjhp41'] })
    await assert.rejects(foreign.next(), { code: 'bad_request' })
  })

  test('a message that arrives during the wait is its result, even in an empty inbox', async () => {
    for (const isEmpty of [true, false]) {
      const inbox = await world.inbox()
      if (!isEmpty) await deliver(inbox, 'old')
      const listeners = watchListeners(world)
      const waiting = client.inboxes.waitForMessage(inbox.id, { timeoutMs: 60_000, subject: 'NEW' })
      await listeners.reach(1)
      await deliver(inbox, 'other')
      await deliver(inbox, 'a new one')
      await deliver(inbox, 'a newer one')
      assert.equal((await waiting)?.subject, 'a new one')
    }
  })

  test('a wait continues after a known message, and may end without one', async () => {
    const inbox = await world.inbox()
    for (const subject of ['one', 'two', 'three']) await deliver(inbox, subject)
    const { data } = await client.messages.list(inbox.id).page()
    const wait = (index: number, timeoutMs = 60_000) =>
      client.inboxes.waitForMessage(inbox.id, { after: data[index]?.id, timeoutMs })
    assert.equal((await wait(2))?.subject, 'two')
    assert.equal((await wait(1))?.subject, 'three')
    assert.equal(await wait(0, 1), null)
    const signal = AbortSignal.timeout(50)
    await assert.rejects(client.inboxes.waitForMessage(inbox.id, { signal }), {
      name: 'TimeoutError',
    })
  })

  test('no message is lost between the requests of a long wait', async (t) => {
    for (const isEmpty of [true, false]) {
      const inbox = await world.inbox()
      if (!isEmpty) await deliver(inbox, 'old')
      let waits = 0
      // Every request of the wait ends at once without a result, and mail arrives only between them.
      const interrupted: typeof fetch = async (input, init) => {
        if (!String(input).includes('/wait') || waits > 1) return fetch(input, init)
        waits += 1
        if (waits === 2) {
          await deliver(inbox, 'other')
          await deliver(inbox, 'slipped')
        }
        return Response.json({ message: null })
      }
      const slow = new Mailroom({ baseUrl: world.baseUrl, apiKey: world.key, fetch: interrupted })
      const found = await slow.inboxes.waitForMessage(inbox.id, {
        timeoutMs: 60_000,
        subject: 'slipped',
      })
      assert.equal(found?.subject, 'slipped')
      assert.equal(found?.id, (await client.messages.list(inbox.id).page()).data[0]?.id)
      t.diagnostic(`${waits} waits`)
    }
  })
})

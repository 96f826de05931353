import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { systemClock } from '#platform/clock.ts'
import { EVENT_FEED_HEADERS, type EventFeed, openEventFeed } from '#streams/event-handlers.ts'
import type { Accepted, EventSink } from '#streams/event-stream.ts'
import { STREAM_BUFFER_BYTES_MAX } from '#streams/event-stream.ts'
import { openFeedClient } from '#test/http/event-feed-client.ts'
import { eventText } from '#test/http/event-text.ts'
import { GOOD_KEY, openTestServer, type TestServerOptions } from '#test/http/test-server.ts'

const patience = { requestMs: 10_000, headMs: 5_000, idleMs: 1_000 }
const headers = { authorization: `Bearer ${GOOD_KEY}` }
const filter = { kinds: [], podIds: [], inboxIds: [], categories: [] }

type Opening = { commentMs: number; fill?(sink: EventSink): void }

/** A server whose event stream sends the output of `fill`. */
async function openStreamDoor({ commentMs, fill }: Opening, options: TestServerOptions = {}) {
  const ended = Promise.withResolvers<void>()
  let ends = 0
  let feed: EventFeed | null = null
  const ports = {
    openEventStream: ({ sink }: { sink: EventSink }) => ({
      async subscribe({ onAccepted }: { onAccepted(accepted: Accepted): void }) {
        onAccepted({ lastEventId: null, notice: null })
        fill?.(sink)
        return 'subscribed' as const
      },
      unsubscribe: () => 'unsubscribed' as const,
      resume: () => fill?.(sink),
      close() {},
    }),
  }
  const server = await openTestServer({
    patience,
    answers: {
      'events.stream': async () => {
        feed = await openEventFeed(
          { ports, clock: systemClock },
          {
            accountId: 'acc_1',
            filter,
            afterId: null,
            notices: [],
            commentMs,
            onEnd() {
              ends += 1
              ended.resolve()
            },
          },
        )
        return { headers: EVENT_FEED_HEADERS, content: { stream: feed.content, holdsBytes: 0 } }
      },
    },
    ...options,
  })
  return { server, ended: ended.promise, ends: () => ends, endFeed: () => feed?.end() }
}

test('a wait is not ended by the limit of an earlier download on the same connection', async () => {
  const server = await openTestServer({
    patience,
    answers: {
      'inboxes.wait': async () => {
        await pause(500)
        return { message: null }
      },
    },
  })
  const socket = connect(server.port, '127.0.0.1')
  let answers = ''
  socket.on('data', (data) => {
    answers += data.toString()
  })
  const request = (path: string) =>
    `GET ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${GOOD_KEY}\r\n\r\n`
  socket.write(request('/v1/messages/a/raw'))
  while (!answers.endsWith('bytes')) await once(socket, 'data')
  socket.write(request('/v1/inboxes/a/wait'))
  while (!answers.endsWith('{"message":null}')) await once(socket, 'data')
  socket.destroy()
  await server.close(0)
})

test('comments keep an idle stream open, and one without them is closed', async () => {
  for (const [commentMs, isKept] of [
    [100, true],
    [60_000, false],
  ] as const) {
    const { server, ended } = await openStreamDoor({ commentMs })
    const client = await openFeedClient(`${server.address}/v1/events/stream`, headers)
    const next = client.next().then(
      () => 'over',
      () => 'cut',
    )
    const outcome = await Promise.race([next, pause(isKept ? 5_000 : 60_000, 'kept')])
    assert.equal(outcome, isKept ? 'kept' : 'cut')
    if (isKept) assert.ok(client.comments() > 5)
    client.close()
    await ended
    await server.close(0)
  }
})

test('a stream is released once when its client disconnects', async () => {
  const { server, ended, ends } = await openStreamDoor({ commentMs: 20 })
  const client = await openFeedClient(`${server.address}/v1/events/stream`, headers)
  client.close()
  await ended
  await server.close(0)
  assert.equal(ends(), 1)
})

test('an ended stream is complete, and its connection is closed', async () => {
  const { server, ends, endFeed } = await openStreamDoor({
    commentMs: 20,
    fill: (sink) => sink.write(eventText('evt_1', JSON.stringify({ subject: 'a\nb\u2028c' }))),
  })
  const client = await openFeedClient(`${server.address}/v1/events/stream`, headers)
  assert.equal(client.response.headers.get('connection'), 'close')
  assert.deepEqual(await client.next(), {
    id: 'evt_1',
    event: 'message.received',
    data: { subject: 'a\nb\u2028c' },
  })
  endFeed()
  endFeed()
  assert.equal(await client.next(), null)
  assert.equal(ends(), 1)
  await server.close(0)
})

test('a stream that its client does not read is bounded, and cut', async () => {
  let written = 0
  const text = eventText('evt_1', JSON.stringify('x'.repeat(64 * 1024)))
  const { server, ended } = await openStreamDoor({
    commentMs: 20,
    fill(sink) {
      do written += 1
      while (sink.write(text))
    },
  })
  const socket = connect(server.port, '127.0.0.1')
  const before = process.memoryUsage().arrayBuffers
  socket.pause()
  socket.write(
    `GET /v1/events/stream HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${GOOD_KEY}\r\n\r\n`,
  )
  await ended
  assert.ok(written * 64 * 1024 > 2 * STREAM_BUFFER_BYTES_MAX)
  assert.ok(process.memoryUsage().arrayBuffers - before < 20 * STREAM_BUFFER_BYTES_MAX)
  socket.destroy()
  await server.close(0)
})

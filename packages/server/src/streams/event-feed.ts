// One stream of server-sent events (WHATWG HTML §9.2): events as fast as their reader takes them, and
// comments while there are none.

import { Readable } from 'node:stream'
import type { EventFilter } from '#events/event.ts'
import type { Clock } from '#platform/clock.ts'
import { SECOND_MS } from '#platform/units.ts'
import type { EventText } from './envelope.ts'
import type { EventPorts } from './event-ports.ts'
import type { EventStream } from './event-stream.ts'

/** What clients of an event stream wait before they connect again. */
const STREAM_RETRY_MS = 3 * SECOND_MS
/** Octets on their way to a slow reader of events; it gets the rest from the log when it has read. */
export const STREAM_BUFFER_BYTES_MAX = 256 * 1024
/** A comment that keeps an idle event stream from being cut by proxies. */
const STREAM_COMMENT_MS = 15 * SECOND_MS

export const EVENT_FEED_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  // Proxies that collect an answer before they pass it on are told not to.
  'x-accel-buffering': 'no',
}

export type EventFeed = {
  /** What is to be sent; destroying it frees everything. */
  readonly content: Readable
  /** Nothing follows what was written; the answer ends in order. */
  end(): void
}

/**
 * What is wrong with `afterId` is a comment of the stream. `onEnd` is called once, when the feed has
 * ended in whatever way.
 */
export async function openEventFeed(
  { ports, clock }: { ports: Pick<EventPorts, 'openEventStream'>; clock: Clock },
  opened: {
    readonly accountId: string
    readonly filter: EventFilter
    readonly afterId: string | null
    readonly notices: readonly string[]
    readonly commentMs?: number
    onEnd(): void
  },
): Promise<EventFeed> {
  const { accountId, filter, afterId, commentMs = STREAM_COMMENT_MS } = opened
  let isFull = false
  let stream: EventStream | undefined
  const content = new Readable({
    highWaterMark: STREAM_BUFFER_BYTES_MAX,
    read() {
      if (!isFull) return
      isFull = false
      stream?.resume()
    },
    destroy(error, callback) {
      free()
      callback(error)
    },
  })

  function free(): void {
    clearInterval(comments)
    stream?.close()
    if (!isFreed) opened.onEnd()
    isFreed = true
  }

  /** False when the reader has enough for now. */
  function push(text: string): boolean {
    if (isFreed) return false
    isFull = !content.push(text)
    return !isFull
  }

  let isFreed = false
  const comments = setInterval(() => {
    // What waits already will do for a sign of life, once it is taken.
    if (content.readableLength === 0) push(':\n\n')
  }, commentMs).unref()

  push(`retry: ${STREAM_RETRY_MS}\n\n`)
  stream = ports.openEventStream({
    accountId,
    sink: { write: (text) => push(fieldsOf(text, clock.now())) },
  })
  try {
    await stream.subscribe({
      filter,
      afterId,
      onAccepted: ({ notice }) => push(commentsOf(opened.notices, notice)),
    })
    return { content, end }
  } catch (error) {
    content.destroy()
    throw error
  }

  function end(): void {
    if (isFreed) return
    free()
    content.push(null)
  }
}

function commentsOf(notices: readonly string[], ofCursor: string | null): string {
  const cursor = ofCursor === null ? [] : [`Last-Event-ID ${ofCursor}.`]
  return [...notices, ...cursor].map((line) => `: ${line}\n\n`).join('')
}

function fieldsOf(text: EventText, nowMs: number): string {
  const { id, kind } = text.event
  return `id: ${id}\nevent: ${kind}\ndata: ${text.render({ deliveredAtMs: nowMs, attempt: 1 })}\n\n`
}

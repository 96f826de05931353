import { Readable } from 'node:stream'
import type { CheckedFilter, EventFilter } from '#events/model.ts'
import type { EventReader, EventReaders } from '#http/event-readers.ts'
import { type Handlers, type KeyContext, untilGone } from '#http/handler.ts'
import { presentMessage } from '#mailbox/messages/messages.ts'
import type { Clock } from '#platform/clock.ts'
import { isIdOf } from '#platform/ids.ts'
import { type AppError, problem, RETRY_AFTER_SECONDS, wrongQuery } from '#platform/problem.ts'
import { SECOND_MS } from '#platform/units.ts'
import type { EventText } from './envelope.ts'
import type { StreamDeps } from './event-hub.ts'
import {
  type EventPorts,
  type EventStream,
  openEventStream,
  SOCKETS_PER_ACCOUNT_MAX,
  STREAM_BUFFER_BYTES_MAX,
} from './event-stream.ts'
import { checkFilter, describeUnknownKinds, openEventPage, UNKNOWN_KIND } from './read-events.ts'
import { waitAsReader } from './wait-as-reader.ts'
import { waitForMessage } from './wait-for-message.ts'

type EventHandlers = Pick<Handlers, Extract<keyof Handlers, `events.${string}`> | 'inboxes.wait'>

export function eventHandlers(deps: StreamDeps, readers: EventReaders): EventHandlers {
  return {
    'events.list': async ({ query }, context) => {
      const { after = null, limit, order = 'asc' } = query
      const { accountId, takeSlot } = context
      const { filter, unknownKinds } = await filterOf(deps, accountId, query)
      const [unknown] = unknownKinds
      if (unknown !== undefined) throw wrongFilter('event_types', unknown, UNKNOWN_KIND)
      const page = { accountId, filter, after, order, limit, signal: untilGone(context) }
      const { texts, total } = await openEventPage(deps, page)
      await takeSlot()
      const stamp = { deliveredAtMs: deps.clock.now(), attempt: 1 }
      return { data: await Array.fromAsync(texts, (text) => text.body(stamp)), total }
    },

    'events.stream': ({ query }, context) => streamEvents(deps, readers, { query, context }),

    ...waitHandler(deps, readers),
  }
}

function waitHandler(deps: StreamDeps, readers: EventReaders): Pick<Handlers, 'inboxes.wait'> {
  return {
    'inboxes.wait': async ({ path, query }, context) => {
      const { accountId, wantsContent, takeSlot } = context
      const { after = null, from = null, subject = null, thread_id: threadId = null } = query
      const { direction = 'inbound', category = null, timeout } = query
      const message = await waitAsReader(readers, context, (signal) =>
        waitForMessage(deps, {
          accountId,
          inboxId: path.id,
          timeoutMs: wantsContent ? timeout * 1000 : 0,
          after,
          from,
          subject,
          threadId,
          category,
          direction,
          beforeLong: takeSlot,
          signal,
        }),
      )
      if (message === null) return { message: null }
      return { message: await presentMessage(message, deps, deps.clock.now()) }
    },
  }
}

type StreamQuery = FilterQuery & { after?: string }

async function streamEvents(
  deps: StreamDeps,
  readers: EventReaders,
  { query, context }: { query: StreamQuery; context: KeyContext },
) {
  const { accountId } = context
  const { filter, unknownKinds } = await filterOf(deps, accountId, query)
  const lastEventId = lastEventIdOf(context)
  const afterId = lastEventId ?? query.after ?? null
  // An error in the header of a reconnecting client must not end a stream that worked.
  if (lastEventId === null && afterId !== null && !isIdOf('evt', afterId)) {
    throw wrongQuery('after', 'must be the id of an event')
  }
  const headers = EVENT_FEED_HEADERS
  if (!context.wantsContent) return { headers, content: null }
  const notices = unknownKinds.length > 0 ? [`${describeUnknownKinds(unknownKinds)}.`] : []
  return {
    headers,
    content: await openFeed(deps, readers, { context, filter, afterId, notices }),
  }
}

type FilterQuery = { event_types?: string; inbox_id?: string; categories?: string }

/** Throws `bad_request` if the inbox or every kind is unknown. */
async function filterOf(
  deps: StreamDeps,
  accountId: string,
  query: FilterQuery,
): Promise<Extract<CheckedFilter, { kind: 'filter' }>> {
  const checked = await checkFilter(deps, {
    accountId,
    kinds: wordsOf(query.event_types),
    podIds: [],
    inboxIds: query.inbox_id === undefined ? [] : [query.inbox_id],
    categories: wordsOf(query.categories),
  })
  if (checked.kind === 'filter') return checked
  throw wrongFilter(QUERY_NAMES[checked.field], checked.value, checked.message)
}

const QUERY_NAMES = {
  kinds: 'event_types',
  podIds: 'pod_id',
  inboxIds: 'inbox_id',
  categories: 'categories',
} as const

function wordsOf(list: string | undefined): string[] {
  const words = list?.split(',') ?? []
  return words.map((word) => word.trim()).filter((word) => word !== '')
}

function wrongFilter(path: string, value: string, reason: string): AppError {
  return wrongQuery(path, `contains ${JSON.stringify(value.slice(0, 100))}, which ${reason}`)
}

/** Browsers send this header when they reconnect. */
function lastEventIdOf({ headers }: KeyContext): string | null {
  const id = headers['last-event-id']
  return typeof id === 'string' && id !== '' ? id : null
}

async function openFeed(
  deps: StreamDeps,
  readers: EventReaders,
  {
    context,
    filter,
    afterId,
    notices,
  }: {
    context: KeyContext
    filter: EventFilter
    afterId: string | null
    notices: readonly string[]
  },
) {
  const { accountId, keyId, session } = context
  const slot = await readers.takeSlot('stream', accountId)
  if (slot === null) {
    const most = `The account has ${SOCKETS_PER_ACCOUNT_MAX} event streams, which is the limit.`
    throw problem('rate_limit_exceeded', most, { retryAfterSeconds: RETRY_AFTER_SECONDS })
  }
  let isOver = false
  let endFeed: (() => void) | undefined
  const reader: EventReader = {
    accountId,
    keyId,
    session,
    kind: 'stream',
    slot,
    end() {
      isOver = true
      endFeed?.()
    },
  }
  readers.add(reader)
  try {
    const feed = await openEventFeed(
      {
        ports: { openEventStream: (opened) => openEventStream(deps, opened) },
        clock: deps.clock,
      },
      { accountId, filter, afterId, notices, onEnd: () => readers.remove(reader) },
    )
    endFeed = feed.end
    context.onGone(() => feed.content.destroy())
    if (isOver) feed.end()
    // The slot bounds the stream. Idle streams would use up the memory of responses.
    return { stream: feed.content, holdsBytes: 0 }
  } catch (error) {
    readers.remove(reader)
    throw error
  }
}

/** Clients wait this long before they reconnect. */
const STREAM_RETRY_MS = 3 * SECOND_MS
/** Comments at this interval keep proxies from closing an idle stream. */
const STREAM_COMMENT_MS = 15 * SECOND_MS

export const EVENT_FEED_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  'x-accel-buffering': 'no',
}

export type EventFeed = {
  /** The response body. Destroying it frees everything that the feed uses. */
  readonly content: Readable
  end(): void
}

/** Opens a feed (WHATWG HTML §9.2). An invalid `afterId` becomes a comment. */
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

  /** Returns false if the client must read first. */
  function push(text: string): boolean {
    if (isFreed) return false
    isFull = !content.push(text)
    return !isFull
  }

  let isFreed = false
  const comments = setInterval(() => {
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

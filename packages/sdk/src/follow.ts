// Follows events and reconnects if necessary: every event once, in log order. Uses a
// WebSocket, or server-sent events if the runtime has none.

import type { Event } from '@mailroom/contract/events.ts'
import type { Message } from '@mailroom/contract/messages.ts'
import { MailroomError } from './error.ts'
import type { EventFeed, FeedEnd, OnNotices, Subscribe } from './event-feed.ts'
import { EventStream } from './event-stream.ts'
import { backoffMs, pause, type Transport } from './transport.ts'

export type FollowOptions = {
  /** Only events of these inboxes and of the inboxes in `podIds`. */
  inboxIds?: readonly string[]
  /** Only events of the inboxes of these pods. */
  podIds?: readonly string[]
  /** Only events of these kinds. */
  eventTypes?: readonly Event['event'][]
  /** Limits events of received mail to these categories; other events are not affected. */
  categories?: readonly NonNullable<Message['category']>[]
  /**
   * The `event_id` of the last handled event; only later events follow. If the log no longer has
   * it, its time is used.
   */
  after?: string
  /** Called once for each ignored part of the request, such as an unknown `after` or kind. */
  onNotice?: (message: string) => void
  /** Ends the iteration; a pending `next` rejects with the signal's reason. */
  signal?: AbortSignal
  /**
   * Replaces the runtime's WebSocket. With null, and in a runtime that has none, such as Node.js
   * before version 22, server-sent events are used.
   */
  WebSocket?: WebSocketConstructor | null
  /** Sends a ping over the WebSocket after this time without an event; default 45 seconds. */
  heartbeatMs?: number
}

const HEARTBEAT_MS_DEFAULT = 45_000
const BACKOFF_MAX_MS = 30_000
/** A connection that lasted this long resets the backoff. */
const GOOD_MS = 10_000

/** Limits the backoff to a second if the broken connection had been subscribed. */
const SUBSCRIBED_FAILURES_MAX = 2

const UNAUTHORIZED = 4001
/** Waits after refusals that an immediate retry would repeat. */
const WAIT_MS: Readonly<Record<number, number>> = { 4008: 5_000, 4029: 10_000 }

/**
 * Yields events indefinitely. Leaving the loop closes the connection, as does `return`, even while
 * `next` is pending. Without `after` it starts with new events. Rejects with MailroomError:
 * `unauthorized` for an invalid or revoked key, `bad_request` for an inbox or pod of another
 * account, or if no event kind is known. Reconnects after any other failure.
 */
export function follow(
  transport: Transport,
  options: FollowOptions,
): AsyncGenerator<Event, void, undefined> {
  const given: WebSocketConstructor | undefined = globalThis.WebSocket
  const WebSocket = options.WebSocket === undefined ? given : options.WebSocket
  const { heartbeatMs = HEARTBEAT_MS_DEFAULT } = options
  const open: OpenFeed = (subscribe, onSubscribed) =>
    WebSocket == null
      ? new EventStream(transport, subscribe, onSubscribed)
      : new EventSocket(openSocket(WebSocket, transport.service), subscribe, {
          heartbeatMs,
          onSubscribed,
        })
  const leaving = new AbortController()
  const events = followWith(open, options, leaving.signal)
  // A generator's own `return` waits for a pending `next`.
  const finish = events.return.bind(events)
  events.return = (value) => {
    leaving.abort()
    return finish(value)
  }
  return events
}

type OpenFeed = (subscribe: Subscribe, onNotices: OnNotices) => EventFeed

async function* followWith(
  open: OpenFeed,
  { signal, ...options }: FollowOptions,
  leaving: AbortSignal,
): AsyncGenerator<Event, void, undefined> {
  const over = signal === undefined ? leaving : AbortSignal.any([signal, leaving])
  let { after } = options
  let failures = 0
  const noticed = new Set<string>()
  while (!leaving.aborted) {
    signal?.throwIfAborted()
    const startMs = performance.now()
    const subscribe = {
      inbox_ids: options.inboxIds,
      pod_ids: options.podIds,
      event_types: options.eventTypes,
      categories: options.categories,
      last_event_id: after,
    }
    const feed = open(subscribe, (notices) => {
      for (const notice of notices) if (!noticed.has(notice)) options.onNotice?.(notice)
      for (const notice of notices) noticed.add(notice)
    })
    const stop = () => feed.stop()
    over.addEventListener('abort', stop)
    let hasTold = false
    try {
      for (let event = await feed.next(); event !== null; event = await feed.next()) {
        after = event.event_id
        hasTold = true
        yield event
        signal?.throwIfAborted()
      }
    } finally {
      over.removeEventListener('abort', stop)
      feed.stop()
    }
    if (leaving.aborted) return
    signal?.throwIfAborted()
    // The next connection resumes where this subscription started.
    if (!hasTold && feed.notices.length > 0) after = feed.startId ?? after
    after ??= feed.startId ?? undefined
    const minimumMs = waitAfter(feed)
    if (minimumMs === null) continue
    const wasGood = hasTold || (feed.isSubscribed && performance.now() - startMs >= GOOD_MS)
    failures = wasGood ? 0 : failures + 1
    // The service responded before, so only the connection broke, and a long wait would not help.
    if (feed.isSubscribed) failures = Math.min(failures, SUBSCRIBED_FAILURES_MAX)
    const waitMs = Math.max(minimumMs, backoffMs(failures, BACKOFF_MAX_MS))
    await pause(waitMs, over).catch((reason) => {
      if (!leaving.aborted) throw reason
    })
  }
}

/** The shortest wait in milliseconds; null for none. Throws if a retry cannot help. */
function waitAfter({ end }: EventFeed): number | null {
  switch (end?.kind) {
    case 'refused':
      throw refusal(400, 'bad_request', end.message)
    case 'closed':
      if (end.code !== UNAUTHORIZED) return WAIT_MS[end.code] ?? 0
      throw refusal(401, 'unauthorized', 'The API key is invalid or was revoked.')
    case 'full':
      return null
    default:
      return 0
  }
}

function refusal(status: number, error: string, message: string): MailroomError {
  return new MailroomError(status, new Headers(), JSON.stringify({ error, message }))
}

/** Sends the key in a header if the runtime can, because servers log URLs. */
function openSocket(
  WebSocket: WebSocketConstructor,
  { baseUrl, apiKey }: { readonly baseUrl: string; readonly apiKey: string },
): WebSocketLike {
  const url = `${baseUrl.replace(/^http/i, 'ws')}/v1/ws`
  const options = { headers: { authorization: `Bearer ${apiKey}` } }
  try {
    return new WebSocket(url, options as never)
  } catch {
    // In browsers the second argument is the list of protocols.
    return new WebSocket(`${url}?token=${encodeURIComponent(apiKey)}`)
  }
}

/** The required WebSocket interface, as in browsers, Node 22, Deno, Bun and `ws`. */
export type WebSocketLike = {
  onopen: ((event: never) => void) | null
  onmessage: ((event: never) => void) | null
  onclose: ((event: never) => void) | null
  onerror: ((event: never) => void) | null
  send(text: string): void
  close(code?: number): void
}

export type WebSocketConstructor = new (url: string, options?: never) => WebSocketLike

const QUEUE_EVENTS_MAX = 1_000
/** Maximum JSON in UTF-16 units: a few of the largest events, or many small ones. */
const QUEUE_LENGTH_MAX = 8 * 1024 * 1024
/** Limits from the first byte sent to `subscribed`, and from a ping to any reply. */
const OPENING_MS = 30_000
const ANSWER_MS = 10_000

const PING = '{"type":"ping"}'

type Queued = { readonly event: Event; readonly length: number }

export class EventSocket implements EventFeed {
  /** Null while the connection is open. */
  end: FeedEnd | null = null
  isSubscribed = false
  /** Errors that the service reported about an accepted subscription. */
  readonly notices: string[] = []
  /** The account's newest event when the subscription started; null if unknown. */
  startId: string | null = null
  private readonly socket: WebSocketLike
  private readonly heartbeatMs: number
  private readonly onSubscribed: ((notices: readonly string[]) => void) | undefined
  private readonly queue: Queued[] = []
  private queuedLength = 0
  private heardAtMs = performance.now()
  private isAsked = false
  private timer: ReturnType<typeof setTimeout>
  private wake = () => {}

  constructor(
    socket: WebSocketLike,
    subscribe: Subscribe,
    {
      heartbeatMs,
      onSubscribed,
    }: { heartbeatMs: number; onSubscribed?: (notices: readonly string[]) => void },
  ) {
    this.socket = socket
    this.heartbeatMs = heartbeatMs
    this.onSubscribed = onSubscribed
    this.timer = setTimeout(() => this.checkSilence(), OPENING_MS)
    socket.onopen = () => {
      socket.send(JSON.stringify({ type: 'subscribe', ...subscribe }))
      // Frames are answered in order: an error before `subscribed` is a refusal only if this ping
      // is answered before `subscribed` arrives.
      socket.send(PING)
    }
    socket.onmessage = (event: { data: unknown }) => this.take(event.data)
    socket.onclose = (event: { code: number }) => this.finish({ kind: 'closed', code: event.code })
    // A close event follows.
    socket.onerror = () => {}
  }

  /** The next event; null once the connection has ended and all received events were read. */
  async next(): Promise<Event | null> {
    for (;;) {
      const queued = this.queue.shift()
      if (queued !== undefined) {
        this.queuedLength -= queued.length
        return queued.event
      }
      if (this.end !== null) return null
      await new Promise<void>((resolve) => {
        this.wake = resolve
      })
    }
  }

  stop(): void {
    this.queue.length = 0
    this.finish({ kind: 'stopped' })
  }

  private take(data: unknown): void {
    this.heardAtMs = performance.now()
    this.isAsked = false
    const frame = readFrame(data)
    if (frame === null) return
    if (!('type' in frame)) this.enqueue({ event: frame as Event, length: String(data).length })
    else if (frame.type === 'subscribed') {
      this.isSubscribed = true
      if ('last_event_id' in frame && typeof frame.last_event_id === 'string') {
        this.startId = frame.last_event_id
      }
      clearTimeout(this.timer)
      this.checkSilence()
      this.onSubscribed?.(this.notices)
    } else if (frame.type === 'error') {
      this.notices.push('message' in frame ? String(frame.message) : 'The service refused it.')
    } else if (frame.type === 'pong' && !this.isSubscribed && this.notices.length > 0) {
      this.finish({ kind: 'refused', message: this.notices.join(' ') })
    }
  }

  private enqueue(queued: Queued): void {
    this.queue.push(queued)
    this.queuedLength += queued.length
    this.wake()
    if (this.queue.length >= QUEUE_EVENTS_MAX || this.queuedLength >= QUEUE_LENGTH_MAX) {
      this.finish({ kind: 'full' })
    }
  }

  private checkSilence(): void {
    const limitMs = this.isSubscribed ? this.heartbeatMs : OPENING_MS
    const restMs = limitMs - (performance.now() - this.heardAtMs)
    if (restMs > 0) {
      this.timer = setTimeout(() => this.checkSilence(), restMs)
    } else if (this.isAsked || !this.isSubscribed) {
      this.finish({ kind: 'silent' })
    } else {
      this.isAsked = true
      this.socket.send(PING)
      this.timer = setTimeout(() => this.checkSilence(), Math.min(ANSWER_MS, this.heartbeatMs))
    }
  }

  private finish(end: FeedEnd): void {
    if (this.end !== null) return
    this.end = end
    clearTimeout(this.timer)
    this.socket.onopen = null
    this.socket.onmessage = null
    this.socket.onclose = null
    this.wake()
    if (end.kind !== 'closed') this.socket.close(1000)
  }
}

/** Null unless it is an object; a newer service may send unknown frames. */
function readFrame(data: unknown): object | null {
  try {
    const frame: unknown = JSON.parse(String(data))
    return typeof frame === 'object' ? frame : null
  } catch {
    return null
  }
}

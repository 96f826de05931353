// One WebSocket of the service with one subscription: what it tells, in order, until it ends, and how
// it ended. Keeps no more than a bounded number of events for a slow reader.

import type { Event } from '@mailroom/contract/shapes/event.ts'

/** What of a WebSocket is used; browsers, Node 22, Deno, Bun and the package `ws` have it. */
export type WebSocketLike = {
  onopen: ((event: never) => void) | null
  onmessage: ((event: never) => void) | null
  onclose: ((event: never) => void) | null
  onerror: ((event: never) => void) | null
  send(text: string): void
  close(code?: number): void
}

export type WebSocketConstructor = new (url: string, options?: never) => WebSocketLike

export type SocketEnd =
  /** By the other side, or the way there broke (1006). */
  | { readonly kind: 'closed'; readonly code: number }
  /** By us: nothing was heard. */
  | { readonly kind: 'silent' }
  /** By us: the reader does not keep up. What came before it is still there to be read. */
  | { readonly kind: 'full' }
  /** The service refused the subscription. */
  | { readonly kind: 'refused'; readonly message: string }
  | { readonly kind: 'stopped' }

export type Subscribe = {
  readonly inbox_ids?: readonly string[] | undefined
  readonly pod_ids?: readonly string[] | undefined
  readonly event_types?: readonly string[] | undefined
  readonly last_event_id?: string | undefined
}

const QUEUE_EVENTS_MAX = 1_000
/** In UTF-16 units of JSON: a few of the largest events, or all of the small ones. */
const QUEUE_LENGTH_MAX = 8 * 1024 * 1024
/** From the first octet sent to `subscribed`, and from a ping of ours to a sign of life. */
const OPENING_MS = 30_000
const ANSWER_MS = 10_000

const PING = '{"type":"ping"}'

type Queued = { readonly event: Event; readonly length: number }

export class EventSocket {
  /** Null while it lasts. */
  end: SocketEnd | null = null
  isSubscribed = false
  /** What the service said about the subscription that it took nevertheless. */
  readonly notices: string[] = []
  /** The newest event of the account when the subscription began; null when it was not told. */
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
    this.timer = setTimeout(() => this.look(), OPENING_MS)
    socket.onopen = () => {
      socket.send(JSON.stringify({ type: 'subscribe', ...subscribe }))
      // Frames are answered in order: an error before `subscribed` is a refusal only if this is answered
      // without `subscribed` having come.
      socket.send(PING)
    }
    socket.onmessage = (event: { data: unknown }) => this.take(event.data)
    socket.onclose = (event: { code: number }) => this.finish({ kind: 'closed', code: event.code })
    // A close follows, which says as much.
    socket.onerror = () => {}
  }

  /** The next event; null when it has ended and all that came was read. */
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
      this.look()
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

  private look(): void {
    const patienceMs = this.isSubscribed ? this.heartbeatMs : OPENING_MS
    const restMs = patienceMs - (performance.now() - this.heardAtMs)
    if (restMs > 0) {
      this.timer = setTimeout(() => this.look(), restMs)
    } else if (this.isAsked || !this.isSubscribed) {
      this.finish({ kind: 'silent' })
    } else {
      this.isAsked = true
      this.socket.send(PING)
      this.timer = setTimeout(() => this.look(), Math.min(ANSWER_MS, this.heartbeatMs))
    }
  }

  private finish(end: SocketEnd): void {
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

/** Null for what is no object; a service that is newer may say more than we know. */
function readFrame(data: unknown): object | null {
  try {
    const frame: unknown = JSON.parse(String(data))
    return typeof frame === 'object' ? frame : null
  } catch {
    return null
  }
}

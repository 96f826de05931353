// Server-sent events (WHATWG HTML §9.2) as a feed of events, for runtimes without a WebSocket.

import type { Event } from '@mailroom/contract/events.ts'
import { MailroomError } from './error.ts'
import type { EventFeed, FeedEnd, OnNotices, Subscribe } from './event-feed.ts'
import { pause, type Transport } from './transport.ts'

/** The service sends a comment every 15 seconds. */
const SILENCE_MS = 45_000
const EMPTY_LOG_MS = 2_000

/** HTTP statuses, and the WebSocket close codes with the same meaning. */
const CLOSE_CODES: Readonly<Record<number, number>> = { 401: 4001, 429: 4008 }
const BROKEN = 1006

export class EventStream implements EventFeed {
  end: FeedEnd | null = null
  isSubscribed = false
  readonly notices: string[] = []
  startId: string | null = null
  private readonly transport: Transport
  private readonly subscribe: Subscribe
  private readonly onNotices: OnNotices
  private readonly stopping = new AbortController()
  private readonly queue: Event[] = []
  private readonly decoder = new TextDecoder()
  private reader: ReadableStreamDefaultReader<Uint8Array> | null = null
  private rest = ''

  constructor(transport: Transport, subscribe: Subscribe, onNotices: OnNotices) {
    this.transport = transport
    this.subscribe = subscribe
    this.onNotices = onNotices
  }

  async next(): Promise<Event | null> {
    for (;;) {
      const event = this.queue.shift()
      if (event !== undefined) return event
      if (this.end !== null) return null
      try {
        await this.read()
      } catch (error) {
        this.end ??= endOf(error)
        await this.reader?.cancel().catch(() => {})
      }
    }
  }

  stop(): void {
    this.queue.length = 0
    this.end ??= { kind: 'stopped' }
    this.stopping.abort()
  }

  private async read(): Promise<void> {
    this.reader ??= await this.open()
    const silence = setTimeout(() => this.stopping.abort(), SILENCE_MS)
    try {
      const { done, value } = await untilAborted(this.reader.read(), this.stopping.signal)
      if (done) this.end ??= { kind: 'closed', code: BROKEN }
      else this.take(this.decoder.decode(value, { stream: true }))
    } finally {
      clearTimeout(silence)
    }
  }

  private async open(): Promise<ReadableStreamDefaultReader<Uint8Array>> {
    const {
      inbox_ids: inboxIds = [],
      pod_ids: podIds = [],
      event_types,
      categories,
    } = this.subscribe
    const after = this.subscribe.last_event_id ?? (await this.findStart())
    const query = {
      event_types: event_types?.join(',') || undefined,
      categories: categories?.join(',') || undefined,
      // A stream filters by one inbox; several are filtered here.
      inbox_id: inboxIds.length === 1 && podIds.length === 0 ? inboxIds[0] : undefined,
    }
    const { signal } = this.stopping
    const headers = { 'last-event-id': after }
    const body = await this.transport.stream({
      id: 'events.stream',
      query,
      headers,
      options: { signal },
    })
    this.isSubscribed = true
    return body.getReader()
  }

  /** The newest event, after which the stream starts, so that a broken connection loses none. */
  private async findStart(): Promise<string> {
    for (let isFirst = true; ; isFirst = false) {
      const { data } = await this.transport.json<{ data: Event[] }>({
        id: 'events.list',
        query: { limit: 1, order: isFirst ? 'desc' : 'asc' },
        options: { signal: this.stopping.signal },
      })
      const [event] = data
      if (event !== undefined) {
        this.startId = event.event_id
        // The log was empty, so this event is new.
        if (!isFirst) this.enqueue(event)
        return event.event_id
      }
      await pause(EMPTY_LOG_MS, this.stopping.signal)
    }
  }

  private take(text: string): void {
    const blocks = (this.rest + text).replaceAll('\r\n', '\n').split('\n\n')
    this.rest = blocks.pop() ?? ''
    for (const block of blocks) {
      const lines = block.split('\n')
      const data = lines.flatMap((line) => (line.startsWith('data:') ? [contentOf(line)] : []))
      if (data.length > 0) this.enqueue(JSON.parse(data.join('\n')))
      const comments = lines.flatMap((line) => (/^:\s*\S/.test(line) ? [contentOf(line)] : []))
      this.notices.push(...comments)
      if (comments.length > 0) this.onNotices(comments)
    }
  }

  private enqueue(event: Event): void {
    const {
      inbox_ids: inboxIds = [],
      pod_ids: podIds = [],
      event_types: types = [],
    } = this.subscribe
    const isOfPlace =
      (inboxIds.length === 0 && podIds.length === 0) ||
      (event.inbox_id !== null && inboxIds.includes(event.inbox_id)) ||
      (event.pod_id !== null && podIds.includes(event.pod_id))
    if (isOfPlace && (types.length === 0 || types.includes(event.event))) this.queue.push(event)
  }
}

function contentOf(line: string): string {
  return line.slice(line.indexOf(':') + 1).replace(/^ /, '')
}

function endOf(error: unknown): FeedEnd {
  if (!(error instanceof MailroomError)) return { kind: 'closed', code: BROKEN }
  const code = CLOSE_CODES[error.status]
  if (code !== undefined) return { kind: 'closed', code }
  return error.status < 500
    ? { kind: 'refused', message: error.message }
    : { kind: 'closed', code: BROKEN }
}

async function untilAborted<Value>(pending: Promise<Value>, signal: AbortSignal): Promise<Value> {
  let stop = () => {}
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason)
    signal.addEventListener('abort', stop)
  })
  if (signal.aborted) stop()
  try {
    return await Promise.race([pending, aborted])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

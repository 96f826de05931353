// Events as they happen, over a WebSocket that is opened again whenever it ends: every event once, in
// the order of the log.

import type { Event } from '@mailroom/contract/shapes/event.ts'
import { MailroomError } from './error.ts'
import { EventSocket, type WebSocketConstructor, type WebSocketLike } from './event-socket.ts'
import { backoffMs, pause } from './transport.ts'

export type FollowOptions = {
  /** Only events of these inboxes; with `podIds` of either. */
  inboxIds?: readonly string[]
  /** Only events of the inboxes of these pods. */
  podIds?: readonly string[]
  /** Only events of these kinds. */
  eventTypes?: readonly Event['event'][]
  /**
   * The `event_id` of an event that was seen: what came after it is told first. One that the service
   * does not hold any more stands for its time.
   */
  after?: string
  /** Called once for each thing that the service passed over, such as an unknown `after` or kind. */
  onNotice?: (message: string) => void
  /** Ends it; what waits for an event rejects with the reason of the signal. */
  signal?: AbortSignal
  /** Instead of the runtime's own; Node has one from version 22 on. */
  WebSocket?: WebSocketConstructor
  /** After how long without an event the service is asked whether it is there; default 45 seconds. */
  heartbeatMs?: number
}

const HEARTBEAT_MS_DEFAULT = 45_000
const BACKOFF_MAX_MS = 30_000
/** A connection that lasted as long was a good one. */
const GOOD_MS = 10_000

/** So that the wait is a second at most. */
const SUBSCRIBED_FAILURES_MAX = 2

const UNAUTHORIZED = 4001
/** Waits for refusals that a repeat at once would only meet again. */
const WAIT_MS: Readonly<Record<number, number>> = { 4008: 5_000, 4029: 10_000 }

/**
 * Yields for as long as it is asked; leaving the loop closes the connection, and so does `return`,
 * also while `next` waits: that is done then. Without `after` it begins with what happens once the
 * service has taken the subscription. Rejects with MailroomError: `unauthorized` for a key that is not
 * good or was revoked, `bad_request` for an inbox or a pod that the account does not have, or where no
 * kind is known. Everything else that ends a connection is waited out.
 */
export function follow(
  service: { readonly baseUrl: string; readonly apiKey: string },
  options: FollowOptions,
): AsyncGenerator<Event, void, undefined> {
  const WebSocket: WebSocketConstructor | undefined = options.WebSocket ?? globalThis.WebSocket
  if (WebSocket === undefined) {
    throw new TypeError(
      'This runtime has no WebSocket. Give one in the option WebSocket, such as that of the package ws.',
    )
  }
  const leaving = new AbortController()
  const events = followWith(() => openSocket(WebSocket, service), options, leaving.signal)
  // A generator's own `return` waits for as long as its `next` does.
  const finish = events.return.bind(events)
  events.return = (value) => {
    leaving.abort()
    return finish(value)
  }
  return events
}

async function* followWith(
  open: () => WebSocketLike,
  { signal, heartbeatMs = HEARTBEAT_MS_DEFAULT, ...options }: FollowOptions,
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
      last_event_id: after,
    }
    const socket = new EventSocket(open(), subscribe, {
      heartbeatMs,
      onSubscribed: (notices) => {
        for (const notice of notices) if (!noticed.has(notice)) options.onNotice?.(notice)
        for (const notice of notices) noticed.add(notice)
      },
    })
    const stop = () => socket.stop()
    over.addEventListener('abort', stop)
    let hasTold = false
    try {
      for (let event = await socket.next(); event !== null; event = await socket.next()) {
        after = event.event_id
        hasTold = true
        yield event
        signal?.throwIfAborted()
      }
    } finally {
      over.removeEventListener('abort', stop)
      socket.stop()
    }
    if (leaving.aborted) return
    signal?.throwIfAborted()
    // What happened since the subscription began is told by the next one.
    if (!hasTold && socket.notices.length > 0) after = socket.startId ?? after
    after ??= socket.startId ?? undefined
    const minimumMs = waitAfter(socket)
    if (minimumMs === null) continue
    const wasGood = hasTold || (socket.isSubscribed && performance.now() - startMs >= GOOD_MS)
    failures = wasGood ? 0 : failures + 1
    // The service is there: what keeps breaking is the way to it.
    if (socket.isSubscribed) failures = Math.min(failures, SUBSCRIBED_FAILURES_MAX)
    const waitMs = Math.max(minimumMs, backoffMs(failures, BACKOFF_MAX_MS))
    await pause(waitMs, over).catch((reason) => {
      if (!leaving.aborted) throw reason
    })
  }
}

/** Milliseconds at least; null: at once. Throws what no repeat mends. */
function waitAfter({ end }: EventSocket): number | null {
  switch (end?.kind) {
    case 'refused':
      throw refusal(400, 'bad_request', end.message)
    case 'closed':
      if (end.code !== UNAUTHORIZED) return WAIT_MS[end.code] ?? 0
      throw refusal(401, 'unauthorized', 'The key is not good, or not any more.')
    case 'full':
      return null
    default:
      return 0
  }
}

function refusal(status: number, error: string, message: string): MailroomError {
  return new MailroomError(status, new Headers(), JSON.stringify({ error, message }))
}

/** The key goes into a header field where the runtime can send one, for addresses are logged. */
function openSocket(
  WebSocket: WebSocketConstructor,
  { baseUrl, apiKey }: { readonly baseUrl: string; readonly apiKey: string },
): WebSocketLike {
  const url = `${baseUrl.replace(/^http/i, 'ws')}/v1/ws`
  const options = { headers: { authorization: `Bearer ${apiKey}` } }
  try {
    return new WebSocket(url, options as never)
  } catch {
    // Browsers take the second argument for the names of protocols.
    return new WebSocket(`${url}?token=${encodeURIComponent(apiKey)}`)
  }
}

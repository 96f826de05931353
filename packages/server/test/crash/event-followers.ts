// Readers of events that resume after every break behind their last event: over a WebSocket, over server-sent events, and
// with the client library.

import { setTimeout as sleep } from 'node:timers/promises'
import { openFeedClient } from '#test/http/event-feed-client.ts'
import { openSocket } from '#test/http/socket-client.ts'
import type { Random } from './intake.ts'
import { SERVICE_KEY, type Service } from './service.ts'

export type Follower = {
  readonly name: string
  /** Ids of events in their order of arrival. */
  readonly told: string[]
  /** Accepted connections, where they are known. */
  connections: number
  /** A permanent refusal, such as of an event that the log does not know. */
  mistake: string | null
  /** Closes the connection and opens no other. */
  stop(): Promise<void>
}

type Parts = { service: Service; after: string; random: Random }

/** One connection: calls `tell` for each event until it ends. */
type Connect = (parts: {
  after: string
  signal: AbortSignal
  tell(eventId: string): void
  accepted(): void
}) => Promise<void>

/** A reader also hangs up by itself, on average after so many events. */
const EVENTS_PER_CONNECTION = 150
const RETRY_MS = 30

/** All events of the account after the event `after`. */
export function followBySocket({ service, ...parts }: Parts): Follower {
  return follow('WebSocket', parts, async ({ after, signal, tell, accepted }) => {
    const client = await openSocket(service.baseUrl, { token: SERVICE_KEY })
    const { socket } = client
    const hangUp = () => socket.terminate()
    signal.addEventListener('abort', hangUp)
    try {
      if (signal.aborted) return
      const answer = await client.ask({ type: 'subscribe', last_event_id: after })
      if (answer.type === 'error') throw new Refusal(String(answer.message))
      accepted()
      for (;;) tell(String((await client.next()).event_id))
    } finally {
      signal.removeEventListener('abort', hangUp)
      socket.terminate()
    }
  })
}

/** The same over the stream of server-sent events. */
export function followByFeed({ service, ...parts }: Parts): Follower {
  return follow('event stream', parts, async ({ after, signal, tell, accepted }) => {
    const headers = { authorization: `Bearer ${SERVICE_KEY}`, 'last-event-id': after }
    const feed = await openFeedClient(`${service.baseUrl}/v1/events/stream`, headers)
    const hangUp = () => feed.close()
    signal.addEventListener('abort', hangUp)
    try {
      if (signal.aborted) return
      const { status } = feed.response
      if (status >= 400 && status < 500) throw new Refusal(`answered ${status}`)
      if (status !== 200) return
      accepted()
      for (let told = await feed.next(); told !== null; told = await feed.next()) tell(told.id)
    } finally {
      signal.removeEventListener('abort', hangUp)
      feed.close()
    }
  })
}

/** The same by the client library, which connects again by itself. */
export function followByLibrary({ service, after }: Parts): Follower {
  const over = new AbortController()
  const events = service.client.events.follow({ after, signal: over.signal })
  const follower = newFollower('client library', async () => {
    over.abort()
    await running
  })
  const running = (async () => {
    try {
      for await (const { event_id: eventId } of events) follower.told.push(eventId)
    } catch (error) {
      if (!over.signal.aborted) follower.mistake = String(error)
    }
  })()
  return follower
}

class Refusal extends Error {}

function newFollower(name: string, stop: () => Promise<void>): Follower {
  return { name, told: [], connections: 0, mistake: null, stop }
}

function follow(
  name: string,
  { after, random }: Omit<Parts, 'service'>,
  connect: Connect,
): Follower {
  let isOver = false
  let hangUp = new AbortController()
  const follower = newFollower(name, async () => {
    isOver = true
    hangUp.abort()
    await running
  })
  const { told } = follower
  const running = (async () => {
    while (!isOver && follower.mistake === null) {
      hangUp = new AbortController()
      const left = random() * 2 * EVENTS_PER_CONNECTION
      const before = told.length
      try {
        await connect({
          after: told.at(-1) ?? after,
          signal: hangUp.signal,
          tell(eventId) {
            // Events after the reader hung up are not read.
            if (!hangUp.signal.aborted) told.push(eventId)
            if (told.length - before > left) hangUp.abort()
          },
          accepted: () => (follower.connections += 1),
        })
      } catch (error) {
        if (error instanceof Refusal) follower.mistake = error.message
      }
      await sleep(random() * RETRY_MS)
    }
  })()
  return follower
}

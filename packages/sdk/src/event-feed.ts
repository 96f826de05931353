// A connection that delivers events, of whichever kind.

import type { Event } from '@mailroom/contract/events.ts'

/** One connection that delivers events. */
export type EventFeed = {
  /** Null while the connection is open. */
  readonly end: FeedEnd | null
  readonly isSubscribed: boolean
  /** Warnings about an accepted subscription, such as an unknown event type. */
  readonly notices: readonly string[]
  /** The account's newest event when the subscription started; null if unknown. */
  readonly startId: string | null
  /** The next event; null once the connection has ended and all received events were read. */
  next(): Promise<Event | null>
  stop(): void
}

export type OnNotices = (notices: readonly string[]) => void

export type FeedEnd =
  /** Closed by the service, or the connection broke (1006). */
  | { readonly kind: 'closed'; readonly code: number }
  /** Closed by the client, because a ping was not answered. */
  | { readonly kind: 'silent' }
  /** Closed by the client, because the reader is too slow. Earlier events can still be read. */
  | { readonly kind: 'full' }
  /** The service refused the subscription. */
  | { readonly kind: 'refused'; readonly message: string }
  | { readonly kind: 'stopped' }

export type Subscribe = {
  readonly inbox_ids?: readonly string[] | undefined
  readonly pod_ids?: readonly string[] | undefined
  readonly event_types?: readonly string[] | undefined
  readonly categories?: readonly string[] | undefined
  readonly last_event_id?: string | undefined
}

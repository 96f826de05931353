// The newest events of the log, to stand below those that arrived while the page was open.

import type { EventKind } from '@mailroom/contract/vocabulary.ts'
import type { Event, Page } from '@mailroom/sdk'
import { client } from './session.ts'
import { type Resource, useResource } from './use-resource.ts'

export type EventsAsked = { kind?: EventKind | ''; inboxId?: string }

export function useNewestEvents(
  limit: number,
  { kind = '', inboxId = '' }: EventsAsked = {},
): Resource<Page<Event>> {
  return useResource(`newest events ${limit} ${kind} ${inboxId}`, (signal) =>
    client.events
      .list({
        order: 'desc',
        limit,
        signal,
        ...(kind !== '' && { event_types: kind }),
        ...(inboxId !== '' && { inbox_id: inboxId }),
      })
      .page(),
  )
}

/** Newest first; an event in both lists is shown once. */
export function withOlder(live: readonly Event[], older: readonly Event[] = []): Event[] {
  const seen = new Set(live.map(({ event_id }) => event_id))
  return [...live, ...older.filter(({ event_id }) => !seen.has(event_id))]
}

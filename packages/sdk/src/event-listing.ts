// The log of events: one page of it, or all of it event by event. Its pages follow one another by the
// last event read, so nothing is left out or repeated while it grows.

import type { QueryOf } from '@mailroom/contract/operations.ts'
import type { Event } from '@mailroom/contract/shapes/event.ts'
import type { Page } from './listing.ts'

export type EventQuery = Partial<QueryOf<'events.list'>>

const PAGE_SIZE = 100

/**
 * `await listing.page()` reads one page; `for await (const event of listing)` reads to the end of the
 * log as it is then.
 */
export class EventListing implements AsyncIterable<Event> {
  private readonly read: (query: EventQuery) => Promise<Page<Event>>
  private readonly query: EventQuery

  constructor(read: (query: EventQuery) => Promise<Page<Event>>, query: EventQuery) {
    this.read = read
    this.query = query
  }

  page(): Promise<Page<Event>> {
    return this.read(this.query)
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Event, void, undefined> {
    const { limit = PAGE_SIZE } = this.query
    let { after } = this.query
    for (;;) {
      const { data } = await this.read({ ...this.query, limit, after })
      yield* data
      after = data.at(-1)?.event_id ?? after
      // Its total may stop short of a rare match; a page that is not full is the end.
      if (data.length < Math.min(limit, PAGE_SIZE)) return
    }
  }
}

// A list of the API: one page, or all items one by one.

import type { Event } from '@mailroom/contract/events.ts'
import type { QueryOf } from '@mailroom/contract/operations.ts'

export type Page<Item> = {
  readonly data: readonly Item[]
  readonly total: number
  /** In a search: false if there may be more matches than `total`. */
  readonly totalIsExact?: boolean
  /** In a search or filtered list: false if it ended before the entire inbox was examined. */
  readonly isComplete?: boolean
}

/** Items have an id of their own or, in search results, the id of a message. Labels have none. */
export type Listed =
  | { readonly id: string }
  | { readonly messageId: string }
  | { readonly label: string }

export type PageBounds = {
  /** Entries per page, 1 to 100. */
  limit?: number
  /** Entries to skip. */
  offset?: number
}

export type ReadPage<Item> = (bounds: PageBounds) => Promise<Page<Item>>

const PAGE_SIZE = 100
/** The maximum total of a list without a limit. */
const COUNTED_MAX = 10_000

/**
 * `await listing.page()` reads one page; `for await (const item of listing)` reads page after page.
 * Items added during the iteration are not repeated; removed items may cause others to be skipped.
 */
export class Listing<Item extends Listed> implements AsyncIterable<Item> {
  private readonly read: ReadPage<Item>
  private readonly bounds: PageBounds

  constructor(read: ReadPage<Item>, bounds: PageBounds) {
    this.read = read
    this.bounds = bounds
  }

  page(): Promise<Page<Item>> {
    return this.read(this.bounds)
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    const limit = this.bounds.limit ?? PAGE_SIZE
    let offset = this.bounds.offset ?? 0
    let previous = new Set<string>()
    for (;;) {
      const { data, total, totalIsExact } = await this.read({ limit, offset })
      const current = new Set(data.map(idOf))
      for (const item of data) {
        // New entries push older ones from the end of one page to the start of the next.
        if (!previous.has(idOf(item))) yield item
      }
      offset += data.length
      const isCounted = totalIsExact ?? total < COUNTED_MAX
      if (data.length === 0 || (isCounted && offset >= total)) return
      previous = current
    }
  }
}

function idOf(item: Listed): string {
  if ('id' in item) return item.id
  return 'messageId' in item ? item.messageId : item.label
}

export type EventQuery = Partial<QueryOf<'events.list'>>

/**
 * `await listing.page()` reads one page; `for await (const event of listing)` reads to the end of
 * the log, or with `order: 'desc'` to its beginning. Each page starts after the last event, so no
 * event is missed or repeated while the log grows.
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
      // The total may not include a rare match, so a page that is not full is the last.
      if (data.length < Math.min(limit, PAGE_SIZE)) return
    }
  }
}

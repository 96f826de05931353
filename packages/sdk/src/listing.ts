// A list of the API: one page, or all items one by one.

import type { Event } from '@mailroom/contract/events.ts'
import type { OptionsOf } from '@mailroom/contract/operations.ts'
import type { ResponsePromise } from './response.ts'

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

export type ReadPage<Item> = (bounds: PageBounds) => ResponsePromise<Page<Item>>

const PAGE_SIZE = 100
/** The maximum total of a list without a limit. */
const COUNTED_MAX = 10_000

/**
 * `await` reads one page, `for await` all items page after page. It sends no request before.
 */
abstract class Awaitable<Item> implements PromiseLike<Page<Item>>, AsyncIterable<Item> {
  /** Reads one page. */
  abstract page(): ResponsePromise<Page<Item>>
  abstract [Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined>

  then<Result = Page<Item>, Failure = never>(
    onfulfilled?: ((page: Page<Item>) => Result | PromiseLike<Result>) | null,
    onrejected?: ((reason: unknown) => Failure | PromiseLike<Failure>) | null,
  ): Promise<Result | Failure> {
    return this.page().then(onfulfilled, onrejected)
  }

  /** The first item, or null if there is none. */
  async first(): Promise<Item | null> {
    const { data } = await this.firstPage()
    return data[0] ?? null
  }

  /** All items of all pages, at most `max`. */
  async all({ max = Number.POSITIVE_INFINITY }: { max?: number } = {}): Promise<Item[]> {
    const items: Item[] = []
    if (max <= 0) return items
    for await (const item of this) {
      items.push(item)
      if (items.length >= max) break
    }
    return items
  }

  protected abstract firstPage(): ResponsePromise<Page<Item>>
}

/**
 * `await listing` reads one page; `for await (const item of listing)` reads page after page. Items
 * added during the iteration are not repeated; removed items may cause others to be skipped.
 */
export class Listing<Item extends Listed> extends Awaitable<Item> {
  private readonly read: ReadPage<Item>
  private readonly bounds: PageBounds

  constructor(read: ReadPage<Item>, bounds: PageBounds) {
    super()
    this.read = read
    this.bounds = bounds
  }

  page(): ResponsePromise<Page<Item>> {
    return this.read(this.bounds)
  }

  protected firstPage(): ResponsePromise<Page<Item>> {
    return this.read({ ...this.bounds, limit: 1 })
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

export type EventQuery = OptionsOf<'events.list'>

/**
 * `await listing` reads one page; `for await (const event of listing)` reads to the end of the log,
 * or with `order: 'desc'` to its beginning. Each page starts after the last event, so no event is
 * missed or repeated while the log grows.
 */
export class EventListing extends Awaitable<Event> {
  private readonly read: (query: EventQuery) => ResponsePromise<Page<Event>>
  private readonly query: EventQuery

  constructor(read: (query: EventQuery) => ResponsePromise<Page<Event>>, query: EventQuery) {
    super()
    this.read = read
    this.query = query
  }

  page(): ResponsePromise<Page<Event>> {
    return this.read(this.query)
  }

  protected firstPage(): ResponsePromise<Page<Event>> {
    return this.read({ ...this.query, limit: 1 })
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

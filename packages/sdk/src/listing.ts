// A list of the API: one page of it, or all of it item by item.

export type Page<Item> = { readonly data: readonly Item[]; readonly total: number }

export type PageBounds = {
  /** Entries a page, 1 to 100. */
  limit?: number
  /** Entries to pass over. */
  offset?: number
}

export type ReadPage<Item> = (bounds: PageBounds) => Promise<Page<Item>>

const PAGE_SIZE = 100
/** Where a list of any number of entries stops counting. */
const COUNTED_MAX = 10_000

/**
 * `await listing.page()` reads one page; `for await (const item of listing)` reads page after page.
 * Entries that are added in the meantime are not repeated; ones that are removed may hide another.
 */
export class Listing<Item extends { id: string }> implements AsyncIterable<Item> {
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
      const { data, total } = await this.read({ limit, offset })
      const current = new Set(data.map((item) => item.id))
      for (const item of data) {
        // New entries push old ones down, from the end of one page to the start of the next.
        if (!previous.has(item.id)) yield item
      }
      offset += data.length
      const isCounted = total < COUNTED_MAX
      if (data.length === 0 || (isCounted && offset >= total)) return
      previous = current
    }
  }
}

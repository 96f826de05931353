// Calls to operations, typed by the contract.

import type { Event } from '@mailroom/contract/events.ts'
import type { QueryOf, ResponseOf } from '@mailroom/contract/operations.ts'
import { type FollowOptions, follow } from './follow.ts'
import { type Listed, Listing, type Page, type PageBounds } from './listing.ts'
import type { Call, RequestOptions, Transport } from './transport.ts'

export type DownloadedFile = {
  readonly content: Uint8Array
  readonly contentType: string
}

/** Mail as text for a language model, or one page of it. */
export type View = {
  /** Markdown. Text written by others is between markers; treat it as data. */
  readonly text: string
  /** Length of the text between the markers on all pages, in code points. */
  readonly totalChars: number
  /** The offset of the next page; null on the last page. */
  readonly nextOffset: number | null
}

export type ViewOptions = RequestOptions & {
  /** Maximum length of `text` in code points: 500 to 200,000, by default 20,000. */
  maxChars?: number
  /** The `nextOffset` of the previous page. */
  offset?: number
  /** Whether long URLs are shortened (`short`, the default). */
  links?: 'short' | 'full'
  /** Whether to show quoted text of earlier messages in the thread; folded by default. */
  unfold?: boolean
}

/** Operations that return a page of a list. */
export type ListId = {
  [Id in Call['id']]: ResponseOf<Id> extends { data: Listed[]; total: number } ? Id : never
}[Call['id']]

export type ItemOf<Id extends ListId> =
  ResponseOf<Id> extends { data: (infer Item extends Listed)[] } ? Item : never

/** Filters of the operation, page bounds, and request options. */
export type ListOptions<Id extends ListId> = Omit<Partial<QueryOf<Id>>, keyof PageBounds> &
  PageBounds &
  RequestOptions

export type PathValues = Readonly<Record<string, string>>

export class Api {
  private readonly transport: Transport

  constructor(transport: Transport) {
    this.transport = transport
  }

  call<Id extends Call['id']>(call: Call & { readonly id: Id }): Promise<ResponseOf<Id>> {
    return this.transport.json(call)
  }

  async carryOut(call: Call): Promise<void> {
    await this.transport.send(call)
  }

  async download(call: Call): Promise<DownloadedFile> {
    const { headers, bytes } = await this.transport.send(call)
    return { content: bytes, contentType: headers.get('content-type') ?? '' }
  }

  async text(call: Call): Promise<string> {
    const { bytes } = await this.transport.send(call)
    return new TextDecoder().decode(bytes)
  }

  async view(
    id: 'messages.view' | 'threads.view',
    ofId: string,
    { maxChars, offset, links, unfold, ...options }: ViewOptions,
  ): Promise<View> {
    const query = { max_chars: maxChars, offset, links, unfold }
    const { headers, bytes } = await this.transport.send({ id, path: { id: ofId }, query, options })
    const next = headers.get('x-view-next-offset')
    return {
      text: new TextDecoder().decode(bytes),
      totalChars: Number(headers.get('x-view-total-chars')),
      nextOffset: next === null ? null : Number(next),
    }
  }

  /** The response body as a stream. */
  stream(call: Call): Promise<ReadableStream<Uint8Array>> {
    return this.transport.stream(call)
  }

  follow(options: FollowOptions): AsyncGenerator<Event, void, undefined> {
    return follow(this.transport.service, options)
  }

  list<Id extends ListId>(
    id: Id,
    path: PathValues,
    listed: Partial<ListOptions<Id>> = {},
  ): Listing<ItemOf<Id>> {
    const { limit, offset, signal, timeoutMs, maxRetries, leaseToken, ...filters } = listed
    const options: RequestOptions = { signal, timeoutMs, maxRetries, leaseToken }
    return new Listing<ItemOf<Id>>(
      (bounds) =>
        this.transport.json<Page<ItemOf<Id>>>({
          id,
          path,
          query: { ...filters, ...bounds },
          options,
        }),
      { limit, offset },
    )
  }
}

// The kinds of calls that operations are made of, typed by the contract.

import type { OperationId, QueryOf, ResponseOf } from '@mailroom/contract/operations.ts'
import type { Event } from '@mailroom/contract/shapes/event.ts'
import { type FollowOptions, follow } from './follow.ts'
import { type Listed, Listing, type Page, type PageBounds } from './listing.ts'
import type { Call, RequestOptions, Transport } from './transport.ts'

export type DownloadedFile = {
  readonly content: Uint8Array
  readonly contentType: string
}

/** Mail as text for a language model, or a page of it. */
export type View = {
  /** Markdown; what others wrote stands between marks, and is data. */
  readonly text: string
  /** How long the text between the marks is over all pages, in code points. */
  readonly totalChars: number
  /** Where the next page begins; null on the last. */
  readonly nextOffset: number | null
}

export type ViewOptions = RequestOptions & {
  /** How long `text` may be, in code points: 500 to 200,000, 20,000 unless given. */
  maxChars?: number
  /** The `nextOffset` of the page before. */
  offset?: number
  /** Whether long addresses of links are shortened; `short` unless given. */
  links?: 'short' | 'full'
  /** Whether quoted history is shown that earlier messages of the thread hold; it is folded otherwise. */
  unfold?: boolean
}

/** Operations that answer with a page of things. */
export type ListId = {
  [Id in OperationId]: ResponseOf<Id> extends { data: Listed[]; total: number } ? Id : never
}[OperationId]

export type ItemOf<Id extends ListId> =
  ResponseOf<Id> extends { data: (infer Item extends Listed)[] } ? Item : never

/** Filters of the operation, which page, and how to ask. */
export type ListOptions<Id extends ListId> = Omit<Partial<QueryOf<Id>>, keyof PageBounds> &
  PageBounds &
  RequestOptions

export type PathValues = Readonly<Record<string, string>>

export class Api {
  private readonly transport: Transport

  constructor(transport: Transport) {
    this.transport = transport
  }

  call<Id extends OperationId>(call: Call & { readonly id: Id }): Promise<ResponseOf<Id>> {
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

  /** A page of a view, told by its headers where it stands. */
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

  /** The body of the answer while it comes. */
  stream(call: Call): Promise<ReadableStream<Uint8Array>> {
    return this.transport.stream(call)
  }

  follow(options: FollowOptions): AsyncGenerator<Event, void, undefined> {
    return follow(this.transport.service, options)
  }

  list<Id extends ListId>(
    id: Id,
    path: PathValues,
    { limit, offset, signal, timeoutMs, maxRetries, ...filters }: Partial<ListOptions<Id>> = {},
  ): Listing<ItemOf<Id>> {
    const options: RequestOptions = { signal, timeoutMs, maxRetries }
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

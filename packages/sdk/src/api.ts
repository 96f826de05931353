// Calls to operations, typed by the contract.

import type { Event } from '@mailroom/contract/events.ts'
import type { OptionsOf, ResponseOf } from '@mailroom/contract/operations.ts'
import { type FollowOptions, follow } from './follow.ts'
import { type Listed, Listing, type Page, type PageBounds } from './listing.ts'
import type { ResponsePromise } from './response.ts'
import { type SentMessage, withIsHeld } from './sending.ts'
import { type Call, parseJson, type RequestOptions, type Transport } from './transport.ts'

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
export type ListOptions<Id extends ListId> = Omit<OptionsOf<Id>, keyof PageBounds> &
  PageBounds &
  RequestOptions

type SendId = 'inboxes.send' | 'drafts.send' | 'messages.forward' | 'messages.rsvp'

export type PathValues = Readonly<Record<string, string>>

export class Api {
  private readonly transport: Transport

  constructor(transport: Transport) {
    this.transport = transport
  }

  call<Id extends Call['id']>(call: Call & { readonly id: Id }): ResponsePromise<ResponseOf<Id>> {
    return this.transport.json(call)
  }

  /** For operations that send a message. */
  send(call: Call & { readonly id: SendId }): ResponsePromise<SentMessage> {
    return this.transport.request(call, ({ bytes }) => withIsHeld(parseJson(bytes)))
  }

  carryOut(call: Call): ResponsePromise<void> {
    return this.transport.request(call, () => undefined)
  }

  download(call: Call): ResponsePromise<DownloadedFile> {
    return this.transport.request(call, ({ headers, bytes }) => ({
      content: bytes,
      contentType: headers.get('content-type') ?? '',
    }))
  }

  text(call: Call): ResponsePromise<string> {
    return this.transport.request(call, ({ bytes }) => new TextDecoder().decode(bytes))
  }

  view(
    id: 'messages.view' | 'threads.view',
    ofId: string,
    { maxChars, offset, links, unfold, ...options }: ViewOptions,
  ): ResponsePromise<View> {
    const query = { max_chars: maxChars, offset, links, unfold }
    const call = { id, path: { id: ofId }, query, options }
    return this.transport.request(call, ({ headers, bytes }) => {
      const next = headers.get('x-view-next-offset')
      return {
        text: new TextDecoder().decode(bytes),
        totalChars: Number(headers.get('x-view-total-chars')),
        nextOffset: next === null ? null : Number(next),
      }
    })
  }

  /** The response body as a stream. */
  stream(call: Call): Promise<ReadableStream<Uint8Array>> {
    return this.transport.stream(call)
  }

  follow(options: FollowOptions): AsyncGenerator<Event, void, undefined> {
    return follow(this.transport, options)
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

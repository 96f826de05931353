// What the door asks of a handler: one function for each operation of the contract, with input and
// answer typed by it. Handlers know nothing of sockets, headers of their own or status codes.

import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import type { JsonSuccess, Success } from '@mailroom/contract/operations/operation.ts'
import type {
  BinaryOperationId,
  BodyOf,
  OperationId,
  Operations,
  PathOf,
  QueryOf,
  ResponseOf,
} from '@mailroom/contract/operations.ts'
import type { AnswerKind } from './answer-budget.ts'
import type { ComingSession } from './event-readers.ts'

/** A file that a request sends along, decoded. */
export type AttachedFile = {
  readonly filename: string
  readonly contentType: string
  readonly content: Uint8Array
  /** Without angle brackets. */
  readonly contentId: string | null
}

type WithFiles<Body> = 'attachments' extends keyof Body
  ? Omit<Body, 'attachments'> & { readonly attachments: readonly AttachedFile[] }
  : Body

/** The octets of a whole message, for operations that take one instead of fields. */
type WholeMessage<Id extends OperationId> = Operations[Id] extends {
  readonly bodyMediaTypes: readonly (infer MediaType)[]
}
  ? 'message/rfc822' extends MediaType
    ? Uint8Array
    : never
  : never

export type Input<Id extends OperationId> = {
  readonly path: PathOf<Id>
  /** Converted and complete: defaults filled in, `limit` at most the page size. */
  readonly query: QueryOf<Id>
  /** Attachments are decoded, and there even if there are none. */
  readonly body: WithFiles<BodyOf<Id>> | WholeMessage<Id>
}

export type Context = {
  readonly requestId: string
  /** IP address as text, IPv4-mapped IPv6 reduced to IPv4. */
  readonly clientAddress: string
  /** Without credentials; on HEAD without a range, which GET alone has (RFC 9110 §14.2). */
  readonly headers: Omit<IncomingHttpHeaders, 'authorization' | 'cookie'>
  /** False on HEAD: where the headers tell the length, the content need not be read. */
  readonly wantsContent: boolean
  /**
   * Waits until the answer may be made, of which only so many are at once; to be called before what may be
   * large is read, for it is in memory until the answer is sent. Rejects with `service_unavailable`.
   */
  takeSlot(kind?: AnswerKind): Promise<void>
  /** Calls once when the answer is out or nobody is there for it, at once if that is so already. */
  onGone(listener: () => void): void
}

/** `session`: of the console, that the caller came with; null for a key. */
export type KeyContext = Context & {
  readonly accountId: string
  readonly keyId: string
  readonly session: ComingSession | null
}

/** Of an operation that is carried out once for each key. */
export type OnceContext = KeyContext & {
  readonly idempotencyKey: string
  /** SHA-256 of what is asked for; alike for a repeat, whatever it is written in. */
  readonly requestHash: Uint8Array
}

type IsOnce<Id extends OperationId> = Operations[Id] extends { readonly needsIdempotencyKey: true }
  ? true
  : false

/**
 * An attachment's caller: either an account's key, or a URL that claims to be signed, which the
 * handler has to verify (`expires` or `signature` is in the query; either may be missing).
 */
export type SignedContext =
  | (KeyContext & { readonly isSigned: false })
  | (Context & { readonly isSigned: true })

export type ContextOf<Id extends OperationId> =
  IsOnce<Id> extends true
    ? OnceContext
    : Operations[Id]['auth'] extends 'key'
      ? KeyContext
      : Operations[Id]['auth'] extends 'key-or-signature'
        ? SignedContext
        : Context

/** A success that is not JSON. Its headers are sent as they are; names in lower case. */
export type BinaryResponse = {
  /** 200 when left out. */
  readonly status?: number
  readonly headers: Readonly<Record<string, string>>
  /** null sends no body (304, HEAD). */
  readonly content: Uint8Array | string | Readable | null
  /** Called once the answer has been sent or cannot be. */
  readonly release?: () => void
}

/** The same answer with a list whose items may still have to be read, one by one. */
export type Streamed<Body> = Body extends { data: (infer Item)[] }
  ? Omit<Body, 'data'> & { data: Item[] | AsyncIterable<Item> }
  : Body

/** What an operation that is carried out once answers: its own body, or that of an earlier request. */
export type Once<Body> = { readonly isReplay: boolean; readonly body: Body }

/** One of the successes of an operation that has two, or one that comes with a cookie. */
export type Answered<Body> = {
  readonly status: Success['status']
  /** Names in lower case. */
  readonly headers?: Readonly<Record<string, string>>
  readonly body: Body
}

type IsAnswered<Id extends OperationId> = Operations[Id] extends
  | { readonly setsCookie: true }
  | { readonly otherSuccess: JsonSuccess }
  ? true
  : false

export type Result<Id extends OperationId> =
  IsAnswered<Id> extends true ? Answered<ResponseOf<Id>> : PlainResult<Id>

type PlainResult<Id extends OperationId> = Id extends BinaryOperationId
  ? BinaryResponse
  : Operations[Id]['success']['status'] extends 204
    ? unknown
    : IsOnce<Id> extends true
      ? Once<ResponseOf<Id>>
      : Streamed<ResponseOf<Id>>

/**
 * A handler answers with the body of the success that the contract states; every other outcome is an
 * AppError with a code of the vocabulary. Any other exception is answered 500 internal_error.
 */
export type Handler<Id extends OperationId> = (
  input: Input<Id>,
  context: ContextOf<Id>,
) => Result<Id> | Promise<Result<Id>>

/** Operations that the door answers by itself: out of the contract, or as the one who lets people in. */
export type DoorOperationId =
  | 'service.openapi'
  | 'service.docs'
  | 'service.llms'
  | 'service.llmsFull'
  | `session.${string}`

export type Handlers = {
  readonly [Id in Exclude<OperationId, DoorOperationId>]: Handler<Id>
}

/** The handlers of all operations of a tag. */
export type HandlersOf<Tag extends string> = Pick<
  Handlers,
  Extract<keyof Handlers, `${Tag}.${string}`>
>

// The type of a handler: one function for each operation of the contract, which types its input and result.
// Handlers know nothing of sockets or status codes.

import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import type { JsonSuccess, Success } from '@mailroom/contract/operation.ts'
import type {
  BinaryOperationId,
  BodyOf,
  OperationId,
  Operations,
  PathOf,
  QueryOf,
  ResponseOf,
} from '@mailroom/contract/operations.ts'
import type { AttachmentToSend } from '@mailroom/contract/sending.ts'
import type { Actor } from '#accounts/store/actor.ts'
import type { AnswerKind } from './answer-budget.ts'
import type { CallerSession } from './event-readers.ts'
import type { Upload } from './read-body.ts'

/** An attached file of a request, decoded. */
export type AttachedFile = {
  readonly filename: string
  readonly contentType: string
  readonly content: Uint8Array
  /** Without angle brackets. */
  readonly contentId: string | null
}

type WithFiles<Body> = Body extends AttachmentToSend
  ? AttachedFile
  : 'attachments' extends keyof Body
    ? Omit<Body, 'attachments'> & { readonly attachments: readonly AttachedFile[] }
    : Body

/** The octets of a raw message, for operations that accept one instead of fields. */
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
  /** Attachments are decoded, and a list even if there are none. */
  readonly body: Operations[Id] extends { readonly upload: object }
    ? Upload
    : WithFiles<BodyOf<Id>> | WholeMessage<Id>
}

export type Context = {
  readonly requestId: string
  /** IP address as text, IPv4-mapped IPv6 reduced to IPv4. */
  readonly clientAddress: string
  /** Without credentials; on HEAD without a range, which GET alone has (RFC 9110 §14.2). */
  readonly headers: Omit<IncomingHttpHeaders, 'authorization' | 'cookie'>
  /** False on HEAD: the content need not be read when the headers have its length. */
  readonly wantsContent: boolean
  /**
   * Waits for a slot to make a large response. To be called before the data is read, which is in memory until the
   * response is sent. Rejects with `service_unavailable`.
   */
  takeSlot(kind?: AnswerKind): Promise<void>
  /**
   * Calls the listener once when the response is sent or the client has left, at once if that has happened. It is told
   * whether the whole response was handed to the network.
   */
  onGone(listener: (wasAnswered: boolean) => void): void
}

/** Aborts when nobody waits for the response any more. */
export function untilGone(context: Pick<Context, 'onGone'>): AbortSignal {
  const gone = new AbortController()
  context.onGone(() => gone.abort())
  return gone.signal
}

/** A caller with a key or the token of an approver. */
type ActorContext = Context & {
  readonly accountId: string
  readonly actor: Actor
}

/** `session` is null for a caller with a key alone. */
export type KeyContext = ActorContext & {
  readonly keyId: string
  readonly session: CallerSession | null
}

type ApproverContext = ActorContext & { readonly approverId: string }

/** For an operation that runs once for each idempotency key. */
type OnceContext = KeyContext & {
  readonly idempotencyKey: string
  /** SHA-256 of the request's meaning: the same for a repeat, whatever its encoding. */
  readonly requestHash: Uint8Array
}

type IsOnce<Id extends OperationId> = Operations[Id] extends { readonly needsIdempotencyKey: true }
  ? true
  : false

/**
 * The caller of a file: one with a credential, or a URL that claims to be signed, which the handler has to verify
 * (`expires` or `signature` is in the query; either may be missing).
 */
export type SignedContext<Named extends ActorContext = ActorContext> =
  | (Named & { readonly isSigned: false })
  | (Context & { readonly isSigned: true })

type ContextOf<Id extends OperationId> =
  IsOnce<Id> extends true
    ? OnceContext
    : Operations[Id]['auth'] extends 'key'
      ? KeyContext
      : Operations[Id]['auth'] extends 'approver'
        ? ApproverContext
        : Operations[Id]['auth'] extends 'key-or-approver'
          ? ActorContext
          : Operations[Id]['auth'] extends 'key-or-approver-or-signature'
            ? SignedContext
            : Operations[Id]['auth'] extends 'key-or-signature'
              ? SignedContext<KeyContext>
              : Context

/**
 * Content that is read while it is sent. `holdsBytes` is reserved until the response has ended: what the service keeps in
 * memory for a client that reads nothing. Destroying the stream frees what it holds.
 */
type StreamedContent = { readonly stream: Readable; readonly holdsBytes: number }

/** A success that is not JSON. Header names are in lower case. */
export type BinaryResponse = {
  /** 200 when left out. */
  readonly status?: number
  readonly headers: Readonly<Record<string, string>>
  /** null for no body (304, HEAD). */
  readonly content: Uint8Array | string | StreamedContent | null
  /** Called once the response is sent or cannot be. */
  readonly release?: () => void
}

/** A list's items may be read one by one while the response is sent. */
type Streamed<Body> = Body extends { data: (infer Item)[] }
  ? Omit<Body, 'data'> & { data: Item[] | AsyncIterable<Item> }
  : Body

/** The result of an operation that runs once: its own body, or that of the earlier request. */
export type Once<Body> = { readonly isReplay: boolean; readonly body: Body }

/** The result of an operation with two successes, with a cookie or with an ETag. */
export type Answered<Body> = {
  readonly status: Success['status']
  /** Names in lower case. */
  readonly headers?: Readonly<Record<string, string>>
  readonly body: Body
}

type IsAnswered<Id extends OperationId> = Operations[Id] extends
  | { readonly setsCookie: true }
  | { readonly hasEtag: true }
  | { readonly otherSuccess: JsonSuccess }
  ? true
  : false

type Result<Id extends OperationId> =
  IsAnswered<Id> extends true ? Answered<ResponseOf<Id>> : PlainResult<Id>

type PlainResult<Id extends OperationId> = Id extends BinaryOperationId
  ? BinaryResponse
  : Operations[Id]['success']['status'] extends 204
    ? unknown
    : IsOnce<Id> extends true
      ? Once<ResponseOf<Id>>
      : Streamed<ResponseOf<Id>>

/**
 * Returns the body of the contract's success; throws an AppError with a code of the contract for every other
 * outcome. Any other exception becomes 500 internal_error.
 */
type Handler<Id extends OperationId> = (
  input: Input<Id>,
  context: ContextOf<Id>,
) => Result<Id> | Promise<Result<Id>>

/** Operations that the HTTP server itself handles: descriptions of the API, sessions, and batches of another one. */
export type ServerOperationId =
  | 'inboxes.sendBatch'
  | 'service.openapi'
  | 'service.docs'
  | 'service.llms'
  | 'service.llmsFull'
  | `session.${string}`

export type Handlers = {
  readonly [Id in Exclude<OperationId, ServerOperationId>]: Handler<Id>
}

/** The handlers of all operations of a tag. */
export type HandlersOf<Tag extends string> = Pick<
  Handlers,
  Extract<keyof Handlers, `${Tag}.${string}`>
>

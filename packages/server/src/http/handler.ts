// Handlers do not depend on sockets or status codes.

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
import type { Actor } from '#accounts/store/actor.ts'
import type { AnswerKind } from './answer-budget.ts'
import type { CallerSession } from './event-readers.ts'
import type { Upload } from './read-body.ts'

export type AttachedFile = {
  readonly filename: string
  readonly contentType: string
  readonly content: Uint8Array
  /** The Content-ID without angle brackets; null if there is none. */
  readonly contentId: string | null
}

/** A file that the service stores. A null field leaves the value of the stored file. */
export type FileReference = {
  readonly source: { readonly uploadId: string } | { readonly messageId: string }
  readonly filename: string | null
  readonly contentType: string | null
  readonly contentId: string | null
}

export type GivenFile = AttachedFile | FileReference

type WithFiles<Body> = 'uploadId' extends keyof Body
  ? GivenFile
  : 'attachments' extends keyof Body
    ? Omit<Body, 'attachments'> & { readonly attachments: readonly GivenFile[] }
    : Body

/** An operation may accept a raw message instead of fields. */
type WholeMessage<Id extends OperationId> = Operations[Id] extends {
  readonly bodyMediaTypes: readonly (infer MediaType)[]
}
  ? 'message/rfc822' extends MediaType
    ? Uint8Array
    : never
  : never

export type Input<Id extends OperationId> = {
  readonly path: PathOf<Id>
  /** Query parameters, converted and with defaults; `limit` is at most the page size. */
  readonly query: QueryOf<Id>
  /** The body, in which attachments with content are decoded. */
  readonly body: Operations[Id] extends { readonly upload: object }
    ? Upload
    : WithFiles<BodyOf<Id>> | WholeMessage<Id>
}

export type Context = {
  readonly requestId: string
  readonly clientAddress: string
  /** Header fields without credentials, and on HEAD without a range (RFC 9110 §14.2). */
  readonly headers: Omit<IncomingHttpHeaders, 'authorization' | 'cookie'>
  /** False for HEAD requests. */
  readonly wantsContent: boolean
  /**
   * Must be called before loading a large response, which stays in memory until it is sent. Rejects
   * with `service_unavailable`.
   */
  takeSlot(kind?: AnswerKind): Promise<void>
  /**
   * Calls the listener once, after the response or when the client has disconnected. `wasAnswered`
   * is true if the complete response was sent.
   */
  onGone(listener: (wasAnswered: boolean) => void): void
}

export function untilGone(context: Pick<Context, 'onGone'>): AbortSignal {
  const gone = new AbortController()
  context.onGone(() => gone.abort())
  return gone.signal
}

type ActorContext = Context & {
  readonly accountId: string
  readonly actor: Actor
}

/** `session` is null if the caller has only a key. */
export type KeyContext = ActorContext & {
  readonly keyId: string
  readonly session: CallerSession | null
  /** The inboxes of a connection, to which lists are restricted; null for all. */
  readonly inboxIds: readonly string[] | null
}

type ApproverContext = ActorContext & { readonly approverId: string }

type OnceContext = KeyContext & {
  readonly idempotencyKey: string
  /** SHA-256 of the request's meaning, which is independent of encoding. */
  readonly requestHash: Uint8Array
}

type IsOnce<Id extends OperationId> = Operations[Id] extends { readonly needsIdempotencyKey: true }
  ? true
  : false

/**
 * The request has a credential, or a URL that claims to be signed and that the handler must verify.
 * `expires` or `signature` may be missing.
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

/** `holdsBytes` is reserved until the response ends. Destroying the stream frees its resources. */
type StreamedContent = { readonly stream: Readable; readonly holdsBytes: number }

/** Header names are in lower case. */
export type BinaryResponse = {
  /** The default status is 200. */
  readonly status?: number
  readonly headers: Readonly<Record<string, string>>
  /** Null for a response without a body (304, HEAD). */
  readonly content: Uint8Array | string | StreamedContent | null
  /** Called once, when the response is sent or cannot be sent. */
  readonly release?: () => void
}

type Streamed<Body> = Body extends { data: (infer Item)[] }
  ? Omit<Body, 'data'> & { data: Item[] | AsyncIterable<Item> }
  : Body

export type Once<Body> = { readonly isReplay: boolean; readonly body: Body }

/** A response with one of several success statuses, a cookie or an ETag. */
export type Answered<Body> = {
  readonly status: Success['status']
  /** Header fields with lower-case names. */
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

/** An AppError becomes the response. Any other exception becomes 500 internal_error. */
type Handler<Id extends OperationId> = (
  input: Input<Id>,
  context: ContextOf<Id>,
) => Result<Id> | Promise<Result<Id>>

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

export type HandlersOf<Tag extends string> = Pick<
  Handlers,
  Extract<keyof Handlers, `${Tag}.${string}`>
>

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
import type { AttachmentToSend } from '@mailroom/contract/sending.ts'
import type { Actor } from '#accounts/store/actor.ts'
import type { AnswerKind } from './answer-budget.ts'
import type { CallerSession } from './event-readers.ts'
import type { Upload } from './read-body.ts'

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
  /** Converted, with defaults; `limit` is at most the page size. */
  readonly query: QueryOf<Id>
  /** Attachments are decoded. */
  readonly body: Operations[Id] extends { readonly upload: object }
    ? Upload
    : WithFiles<BodyOf<Id>> | WholeMessage<Id>
}

export type Context = {
  readonly requestId: string
  readonly clientAddress: string
  /** Without credentials; on HEAD without a range (RFC 9110 §14.2). */
  readonly headers: Omit<IncomingHttpHeaders, 'authorization' | 'cookie'>
  /** False on HEAD. */
  readonly wantsContent: boolean
  /**
   * Call it before loading a large response, which is in memory until it is sent. Rejects with
   * `service_unavailable`.
   */
  takeSlot(kind?: AnswerKind): Promise<void>
  /**
   * Calls the listener once, after the response or when the client has left. `wasAnswered`: the
   * whole response went to the network.
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

/** `session` is null for a caller with only a key. */
export type KeyContext = ActorContext & {
  readonly keyId: string
  readonly session: CallerSession | null
}

type ApproverContext = ActorContext & { readonly approverId: string }

type OnceContext = KeyContext & {
  readonly idempotencyKey: string
  /** SHA-256 of the request's meaning; encoding does not change it. */
  readonly requestHash: Uint8Array
}

type IsOnce<Id extends OperationId> = Operations[Id] extends { readonly needsIdempotencyKey: true }
  ? true
  : false

/**
 * Has a credential, or a URL that claims to be signed, which the handler must verify. `expires` or
 * `signature` may be missing.
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

/** `holdsBytes` is reserved until the response ends. Destroying the stream frees what it holds. */
type StreamedContent = { readonly stream: Readable; readonly holdsBytes: number }

/** Header names are in lower case. */
export type BinaryResponse = {
  /** 200 when left out. */
  readonly status?: number
  readonly headers: Readonly<Record<string, string>>
  /** Null for no body (304, HEAD). */
  readonly content: Uint8Array | string | StreamedContent | null
  /** Called once the response is sent or cannot be. */
  readonly release?: () => void
}

type Streamed<Body> = Body extends { data: (infer Item)[] }
  ? Omit<Body, 'data'> & { data: Item[] | AsyncIterable<Item> }
  : Body

export type Once<Body> = { readonly isReplay: boolean; readonly body: Body }

/** For an operation with two success statuses, a cookie or an ETag. */
export type Answered<Body> = {
  readonly status: Success['status']
  /** In lower case. */
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

/** An AppError becomes the response; any other exception becomes 500 internal_error. */
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

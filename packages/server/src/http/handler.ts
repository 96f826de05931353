// What the door asks of a handler: one function for each operation of the contract, with input and
// answer typed by it. Handlers know nothing of sockets, headers of their own or status codes.

import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import type {
  BinaryOperationId,
  BodyOf,
  OperationId,
  Operations,
  PathOf,
  QueryOf,
  ResponseOf,
} from '@mailroom/contract/operations.ts'

export type Input<Id extends OperationId> = {
  readonly path: PathOf<Id>
  /** Converted and complete: defaults filled in, `limit` at most the page size. */
  readonly query: QueryOf<Id>
  readonly body: BodyOf<Id>
}

export type Context = {
  readonly requestId: string
  /** IP address as text, IPv4-mapped IPv6 reduced to IPv4. */
  readonly clientAddress: string
  /** Without the credential; on HEAD without a range, which GET alone has (RFC 9110 §14.2). */
  readonly headers: Omit<IncomingHttpHeaders, 'authorization'>
  /** False on HEAD: where the headers tell the length, the content need not be read. */
  readonly wantsContent: boolean
}

export type KeyContext = Context & { readonly accountId: string; readonly keyId: string }

/**
 * An attachment's caller: either an account's key, or a URL that claims to be signed, which the
 * handler has to verify (`expires` or `signature` is in the query; either may be missing).
 */
export type SignedContext =
  | (KeyContext & { readonly isSigned: false })
  | (Context & { readonly isSigned: true })

export type ContextOf<Id extends OperationId> = Operations[Id]['auth'] extends 'key'
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

export type Result<Id extends OperationId> = Id extends BinaryOperationId
  ? BinaryResponse
  : Operations[Id]['success']['status'] extends 204
    ? unknown
    : Streamed<ResponseOf<Id>>

/**
 * A handler answers with the body of the success that the contract states; every other outcome is an
 * AppError with a code of the vocabulary. Any other exception is answered 500 internal_error.
 */
export type Handler<Id extends OperationId> = (
  input: Input<Id>,
  context: ContextOf<Id>,
) => Result<Id> | Promise<Result<Id>>

/** Operations that the door answers out of the contract itself. */
export type DoorOperationId = 'service.openapi' | 'service.docs'

export type Handlers = {
  readonly [Id in Exclude<OperationId, DoorOperationId>]: Handler<Id>
}

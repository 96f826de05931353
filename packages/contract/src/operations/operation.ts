// What an operation is: one method on one path with everything a caller and a server must agree on.

import type { ErrorCode } from '#error-codes.ts'
import type { TObject, TSchema } from '#schema.ts'

export const tags = {
  Pods: 'Containers of inboxes, for separating tenants under one account.',
  Inboxes: 'Email addresses.',
  Domains: 'Domains of your own, for the addresses of inboxes.',
  Threads: 'Conversations, each with a read flag.',
  Messages: 'Received and sent mail.',
  Attachments: 'Files in messages.',
  Suppressions: 'Addresses that the account does not send to.',
  Senders: 'Rules that allow or block senders, and quarantined mail.',
  Events:
    'What happened, as it happens and afterwards. A WebSocket at /v1/ws tells events as they happen, too; the key is in the Authorization header or the query parameter token. After the frame `{ "type": "subscribe", "inbox_ids": [], "pod_ids": [], "event_types": [], "last_event_id": "evt_…" }`, in which everything but the type may be left out and an empty list means all, it is answered with `subscribed`, which holds what was subscribed and as `last_event_id` the event to go on from should the connection break before the next one (null where there is none), and every frame without a `type` is an event. A `last_event_id` that the log does not hold stands for its time, and one that is no event id for now: a frame of the type `error` says so, and `subscribed` follows. So it is with unknown `event_types` among known ones; where all are unknown, or an inbox or a pod is not the account’s, nothing is subscribed. `unsubscribe` ends the subscriptions to the given `inbox_ids`, or all of them, and is answered with `unsubscribed` and those `inbox_ids`; `ping` is answered with `pong`; what was wrong with a frame is told in one of the type `error`. Ten connections an account (close code 4008) and 30 frames in 10 seconds (4029) are the most; 4001 says that the key is not good, or not any more.',
  Webhooks: 'URLs that events are posted to.',
  Sandbox: 'Captured mail: what a trial instance keeps instead of sending.',
  'API keys': 'Credentials of the account.',
  Account: 'The account that the key belongs to.',
  Console:
    'Signing in to the console at /console/, whose session is a cookie. It is taken wherever a key is, but where there is an Authorization header; every method but GET then needs the header X-CSRF-Token with the csrfToken of the session, and requests from pages of other origins are refused.',
  Administration: 'For the operator of the service.',
  Service: 'State and description of the service itself.',
} as const
export type Tag = keyof typeof tags

/**
 * Who may call: `key` an account's bearer key or a session of the console, `session` that alone,
 * `operator` the operator's bearer token, `key-or-signature` an account's key or the signed URL of an
 * attachment, `signature` a signed URL alone, `none` anyone.
 */
export type Auth = 'key' | 'session' | 'operator' | 'key-or-signature' | 'signature' | 'none'

export type JsonSuccess = {
  readonly status: 200 | 201 | 202
  readonly description: string
  readonly schema: TSchema
}

export type Success =
  | JsonSuccess
  | {
      readonly status: 200
      readonly description: string
      readonly mediaType: string
      /** Names of headers that only some answers have, besides those of all. */
      readonly headers?: readonly ('X-View-Total-Chars' | 'X-View-Next-Offset')[]
      /** Whether a part of it may be asked for (206), or none when it is known already (304). */
      readonly isRanged?: true
      /** Server-sent events: goes on until either side ends it, and again with Last-Event-ID. */
      readonly isEndless?: true
    }
  | { readonly status: 204; readonly description: string }

/** What a request body may be written in. */
export type BodyMediaType = 'application/json' | 'multipart/form-data' | 'message/rfc822'

export type Operation = {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** With `{name}` for a path parameter. Path parameters are free text. */
  readonly path: `/${string}`
  readonly tag: Tag
  /** One sentence. */
  readonly summary: string
  /** Further sentences. */
  readonly notes?: string
  readonly auth: Auth
  readonly isRateLimited: boolean
  /** A sentence for each path parameter. */
  readonly parameters?: Readonly<Record<string, string>>
  readonly query?: TObject
  readonly body?: TObject
  /** JSON alone when left out. A body of another type is read into the fields of `body`. */
  readonly bodyMediaTypes?: readonly BodyMediaType[]
  /** Bodies hold files, and may be 36 MiB instead of 1 MiB. */
  readonly hasLargeBody?: true
  /**
   * The Idempotency-Key header is required, and a repeated request gets the first one's answer again,
   * with the header Idempotency-Replayed.
   */
  readonly needsIdempotencyKey?: true
  /** There is no such route unless mail goes to the sandbox. */
  readonly isOfSandbox?: true
  readonly success: Success
  /** What else may come of it without being an error; the handler says which of the two it was. */
  readonly otherSuccess?: JsonSuccess
  /** The handler gives its success the cookie of a session, or ends it. */
  readonly setsCookie?: true
  /** Codes of this operation alone; `errorsOf` adds the ones that follow from its form. */
  readonly errors: readonly ErrorCode[]
}

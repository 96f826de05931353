// An operation: one method on one path, with everything that caller and server must agree on.

import type { ErrorCode } from './error-codes.ts'
import type { TObject, TSchema } from './schema.ts'

export const tags = {
  Pods: 'Containers of inboxes, for separating tenants under one account.',
  Inboxes: 'Email addresses.',
  Domains: 'Your own domains for inbox addresses.',
  Threads: 'Conversations, each with a read flag.',
  Claims: 'Leases that let several workers share the threads of an inbox.',
  Messages: 'Received and sent mail.',
  Drafts: 'Messages that have not been sent.',
  Attachments: 'Files in messages.',
  Uploads: 'Files that are sent to the service before the messages they are attached to.',
  'Exports and imports': 'Exporting and importing mail as files, and erasing an address.',
  Suppressions: 'Addresses that the account does not send to.',
  Senders: 'Rules that allow or block senders, and quarantined mail.',
  Policy: 'Who may write to an inbox, whom it may write to, and what it may send.',
  Events: 'Events of the account, as a log and as live streams.',
  Webhooks: 'URLs that receive events.',
  Sandbox: 'Captured mail: messages that a trial instance keeps instead of sending them.',
  'API keys': 'Credentials of the account.',
  Connections: 'Assistants that a person connected to the MCP endpoint by OAuth.',
  Approvers: 'People who decide about held mail.',
  Reviews: 'Mail that a policy holds until an approver decides.',
  Account: 'The account of the key.',
  Console:
    'Sign-in to the console at /console/. The session is a cookie, which works wherever an API key does unless the request has an Authorization header. Every method except GET also needs the header X-CSRF-Token with the csrfToken of the session. Requests from pages of other origins are refused.',
  Administration: 'Operations for the operator of the service.',
  Service: 'The status of the service and the description of its API.',
} as const
export type Tag = keyof typeof tags

/** The name of a tag in URLs: `exports-and-imports`. */
export function slugOf(tag: Tag): string {
  return tag.toLowerCase().replaceAll(' ', '-')
}

/**
 * Credentials of an operation: `key` is an account's API key, `approver` an approver's token,
 * `key-or-approver` either, `key-or-signature` a key or a signed URL,
 * `key-or-approver-or-signature` any of the three, `signature` a signed URL only, `session` a
 * console session, `operator` the operator's bearer token, and `none` no credentials. A console
 * session may call what the key or token it was opened with may call.
 */
export type Auth =
  | 'key'
  | 'approver'
  | 'key-or-approver'
  | 'key-or-signature'
  | 'key-or-approver-or-signature'
  | 'signature'
  | 'session'
  | 'operator'
  | 'none'

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
      /** Headers of this response, in addition to the headers of all responses. */
      readonly headers?: readonly ('X-View-Total-Chars' | 'X-View-Next-Offset')[]
      /** Whether ranges (206) and conditional requests (304) are supported. */
      readonly isRanged?: true
      /**
       * A stream of server-sent events, which lasts until either side ends it and resumes with
       * Last-Event-ID.
       */
      readonly isEndless?: true
    }
  | { readonly status: 204; readonly description: string }

export type BodyMediaType = 'application/json' | 'multipart/form-data' | 'message/rfc822'

export type Operation = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** The path, with `{name}` for each parameter. Parameters are free text. */
  readonly path: `/${string}`
  readonly tag: Tag
  /** What the operation does, in one sentence. */
  readonly summary: string
  readonly notes?: string
  readonly auth: Auth
  readonly isRateLimited: boolean
  /** Used only by other clients of this API; our SDKs and command line omit it. */
  readonly isForOtherClients?: true
  /** Always refused; it exists for clients that expect the route, and is not in the descriptions. */
  readonly isUnsupported?: true
  /** The description of each path parameter. */
  readonly parameters?: Readonly<Record<string, string>>
  readonly query?: TObject
  readonly body?: TObject
  /** Schema for validating a body whose parts are validated one by one; default `body`. */
  readonly checkedBody?: TObject
  /** Media types of the body, by default JSON. Other types are converted to the fields of `body`. */
  readonly bodyMediaTypes?: readonly BodyMediaType[]
  /** The body is a file of one of these types, or a form with one file; stored while it arrives. */
  readonly upload?: { readonly mediaTypes: readonly string[] }
  /** Bodies contain files and may have 36 MiB instead of 1 MiB. */
  readonly hasLargeBody?: true
  /** Maximum number of values in a JSON body, instead of 10,000. */
  readonly valuesMax?: number
  /**
   * The Idempotency-Key header is required. A repeated request gets the first response again, with
   * the header Idempotency-Replayed.
   */
  readonly needsIdempotencyKey?: true
  /** The response has the ETag of the resource. */
  readonly hasEtag?: true
  /** The change is refused if no ETag in If-Match matches the resource (RFC 9110 §13.1.1). */
  readonly takesIfMatch?: true
  /** Requires the header Lease-Token while the thread is claimed. */
  readonly takesLeaseToken?: true
  /** Exists only in sandbox mode. */
  readonly isOfSandbox?: true
  readonly success: Success
  /** A second kind of success; the handler chooses between the two. */
  readonly otherSuccess?: JsonSuccess
  /** The handler sets or clears the session cookie. */
  readonly setsCookie?: true
  /** Specific error codes; `errorsOf` adds the codes that follow from the definition. */
  readonly errors: readonly ErrorCode[]
}

// The table of operations, from which HTTP routes, the OpenAPI document, the reference page, the
// SDK and the command line are built.

import { accountOperations, adminOperations } from './accounts.ts'
import { apiKeyOperations } from './api-keys.ts'
import { approverOperations } from './approvers.ts'
import { claimOperations } from './claims.ts'
import { connectionOperations } from './connections.ts'
import { domainOperations } from './domains.ts'
import { draftOperations } from './drafts.ts'
import { erasureOperations } from './erasures.ts'
import type { ErrorCode } from './error-codes.ts'
import { eventOperations } from './events.ts'
import { inboxOperations } from './inboxes.ts'
import { limitOperations } from './limits.ts'
import { messageOperations } from './messages.ts'
import type { Operation } from './operation.ts'
import { pairingOperations } from './pairings.ts'
import { podOperations } from './pods.ts'
import { policyOperations } from './policy.ts'
import { quarantineOperations } from './quarantine.ts'
import { reviewOperations } from './reviews.ts'
import { sandboxOperations } from './sandbox.ts'
import type { Static, TSchema } from './schema.ts'
import { senderRuleOperations } from './sender-rules.ts'
import { sendingOperations } from './sending.ts'
import { serviceOperations } from './service.ts'
import { sessionOperations } from './sessions.ts'
import { statsOperations } from './stats.ts'
import { suppressionOperations } from './suppressions.ts'
import { threadOperations } from './threads.ts'
import { transferOperations } from './transfers.ts'
import { uploadOperations } from './uploads.ts'
import { usageOperations } from './usage.ts'
import { webhookOperations } from './webhooks.ts'

const operations = {
  ...podOperations,
  ...inboxOperations,
  ...domainOperations,
  ...threadOperations,
  ...claimOperations,
  ...messageOperations,
  ...sendingOperations,
  ...draftOperations,
  ...uploadOperations,
  ...transferOperations,
  ...erasureOperations,
  ...limitOperations,
  ...suppressionOperations,
  ...senderRuleOperations,
  ...policyOperations,
  ...accountOperations,
  ...quarantineOperations,
  ...eventOperations,
  ...webhookOperations,
  ...sandboxOperations,
  ...apiKeyOperations,
  ...connectionOperations,
  ...approverOperations,
  ...reviewOperations,
  ...sessionOperations,
  ...pairingOperations,
  ...statsOperations,
  ...usageOperations,
  ...adminOperations,
  ...serviceOperations,
} as const

export type Operations = typeof operations
export type OperationId = keyof Operations

export const operationIds = Object.keys(operations) as OperationId[]

/** Operations that the SDKs and the command line offer. */
export type ClientOperationId = {
  [Id in OperationId]: Operations[Id] extends { readonly isForOtherClients: true } ? never : Id
}[OperationId]

export const clientOperationIds = operationIds.filter(
  (id): id is ClientOperationId => !operationOf(id).isForOtherClients,
)

/** Operations in the descriptions of the API. */
export type DescribedOperationId = {
  [Id in OperationId]: Operations[Id] extends { readonly isUnsupported: true } ? never : Id
}[OperationId]

export const describedOperationIds = operationIds.filter(
  (id): id is DescribedOperationId => !operationOf(id).isUnsupported,
)

type PathNames<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | PathNames<Rest>
  : never

/** Path parameters by name, decoded. */
export type PathOf<Id extends OperationId> = { [Name in PathNames<Operations[Id]['path']>]: string }

/** Query parameters as handlers receive them: converted, with defaults. */
export type QueryOf<Id extends OperationId> = Operations[Id] extends {
  readonly query: infer Query extends TSchema
}
  ? Static<Query>
  : Record<never, never>

type CamelCase<Name> = Name extends `${infer Word}_${infer Rest}`
  ? `${Word}${Capitalize<CamelCase<Rest>>}`
  : Name

/**
 * Query parameters as clients give them: all optional, in camelCase or as the contract spells them.
 * The clients accept both.
 */
export type OptionsOf<Id extends OperationId> = Partial<QueryOf<Id>> & {
  [Name in keyof QueryOf<Id> as CamelCase<Name>]?: QueryOf<Id>[Name]
}

/** The request body; undefined if the operation has none. */
export type BodyOf<Id extends OperationId> = Operations[Id] extends {
  readonly body: infer Body extends TSchema
}
  ? Static<Body>
  : undefined

/** Operations whose success response is a file of any media type. */
export type BinaryOperationId = {
  [Id in OperationId]: Operations[Id]['success'] extends { readonly mediaType: string } ? Id : never
}[OperationId]

/** The JSON body of a success response; undefined if there is none. */
export type ResponseOf<Id extends OperationId> =
  | BodyOfSuccess<Operations[Id]['success']>
  | (Operations[Id] extends { readonly otherSuccess: infer Other } ? BodyOfSuccess<Other> : never)

type BodyOfSuccess<Success> = Success extends { readonly schema: infer Body extends TSchema }
  ? Static<Body>
  : undefined

export function operationOf(id: OperationId): Operation {
  return operations[id]
}

export function pathNames(path: string): string[] {
  return Array.from(path.matchAll(/\{(\w+)\}/g), (match) => match[1] ?? '')
}

/** Whether a missing body is accepted as `{}`, because no field is required. */
export function isBodyOptional(operation: Operation): boolean {
  const { method, body } = operation
  if (method !== 'POST' || body === undefined) return false
  const required: readonly string[] = body.required ?? []
  // Fields that depend on others are required under a condition.
  return required.length === 0 && !('if' in body)
}

const OPEN_TO_SESSIONS: ReadonlySet<Operation['auth']> = new Set([
  'key',
  'approver',
  'key-or-approver',
  'key-or-signature',
  'key-or-approver-or-signature',
  'session',
])

/** Every error code of the operation, including the codes that follow from its definition. */
export function errorsOf(operation: Operation): ErrorCode[] {
  const codes = new Set<ErrorCode>()
  if (operation.query || operation.body) codes.add('bad_request')
  const isByName = operation.auth !== 'none' && operation.auth !== 'signature'
  if (isByName) codes.add('unauthorized')
  if (operation.auth === 'key' || operation.auth === 'key-or-signature') codes.add('forbidden')
  if (operation.auth === 'approver') codes.add('approver_required')
  const isOpenToSessions = OPEN_TO_SESSIONS.has(operation.auth)
  if (isOpenToSessions) codes.add('forbidden_origin')
  if (isOpenToSessions && operation.method !== 'GET') codes.add('invalid_csrf_token')
  if (operation.parameters || operation.auth === 'operator') codes.add('not_found')
  if (operation.takesLeaseToken) codes.add('lease_lost')
  for (const code of operation.errors) codes.add(code)
  if (operation.body || operation.upload) {
    codes.add('payload_too_large')
    codes.add('unsupported_media_type')
  }
  if (operation.auth !== 'none') codes.add('rate_limit_exceeded')
  codes.add('internal_error')
  codes.add('service_unavailable')
  return [...codes]
}

// Generates sources of the SDK: the type declarations that replace the contract in the packed SDK,
// and the table of routes.

import { Account, NewAccount, OwnAccount } from './accounts.ts'
import { ApiKey, NewApiKey } from './api-keys.ts'
import { Approver, NewApprover } from './approvers.ts'
import { Claim, ClaimedThread, RenewedClaim } from './claims.ts'
import { Domain, DomainRecord } from './domains.ts'
import { Draft } from './drafts.ts'
import { Erasure } from './erasures.ts'
import { errorCodes } from './error-codes.ts'
import {
  Event,
  EventAttachment,
  EventBounce,
  EventDomain,
  EventMessage,
  EventWebhook,
} from './events.ts'
import { ChangedInbox, Inbox } from './inboxes.ts'
import { InboxLimits } from './limits.ts'
import {
  Attachment,
  AttachmentText,
  Authentication,
  Extracted,
  Invite,
  Message,
} from './messages.ts'
import { clientOperationIds, operationIds, operationOf } from './operations.ts'
import { Pairing, StartedPairing } from './pairings.ts'
import { Pod } from './pods.ts'
import {
  Policy,
  PolicyAuditEntry,
  PolicyChange,
  PolicyGuards,
  PolicyRule,
  ScopedPolicyRule,
} from './policy.ts'
import { QuarantinedContent, QuarantinedMessage } from './quarantine.ts'
import {
  Review,
  ReviewComment,
  ReviewContent,
  ReviewDisplay,
  ReviewVersion,
  WholeReview,
} from './reviews.ts'
import { CapturedMessage, ReceivedMail } from './sandbox.ts'
import { SearchHit, SearchResult } from './search.ts'
import { SenderRule } from './sender-rules.ts'
import { AttachmentToSend, Delivery, HoldReason, SentMessage } from './sending.ts'
import { Session } from './sessions.ts'
import { Stats } from './stats.ts'
import { Suppression } from './suppressions.ts'
import { Participant, Thread, ThreadMessages } from './threads.ts'
import { Export, Import, ImportFailure } from './transfers.ts'
import { Usage } from './usage.ts'
import {
  Webhook,
  WebhookAttempt,
  WebhookDelivery,
  WebhookTest,
  WebhookWithSecret,
  WholeWebhookDelivery,
} from './webhooks.ts'

export const shapes: Readonly<Record<string, unknown>> = {
  Account,
  ApiKey,
  Approver,
  Attachment,
  AttachmentText,
  AttachmentToSend,
  Authentication,
  CapturedMessage,
  ChangedInbox,
  Delivery,
  Domain,
  DomainRecord,
  Claim,
  ClaimedThread,
  RenewedClaim,
  Draft,
  Erasure,
  Export,
  Event,
  EventAttachment,
  EventDomain,
  EventBounce,
  EventMessage,
  EventWebhook,
  Extracted,
  Invite,
  HoldReason,
  Import,
  ImportFailure,
  Inbox,
  InboxLimits,
  Message,
  NewAccount,
  NewApiKey,
  NewApprover,
  OwnAccount,
  Pairing,
  Participant,
  Pod,
  Policy,
  PolicyAuditEntry,
  PolicyChange,
  PolicyGuards,
  PolicyRule,
  QuarantinedContent,
  QuarantinedMessage,
  ReceivedMail,
  Review,
  ReviewContent,
  ReviewComment,
  ReviewDisplay,
  ReviewVersion,
  ScopedPolicyRule,
  SearchHit,
  SearchResult,
  SenderRule,
  SentMessage,
  Session,
  StartedPairing,
  Stats,
  Suppression,
  Thread,
  ThreadMessages,
  Usage,
  Webhook,
  WebhookAttempt,
  WebhookDelivery,
  WebhookTest,
  WebhookWithSecret,
  WholeReview,
  WholeWebhookDelivery,
}

const names = new Map<unknown, string>(Object.entries(shapes).map(([name, shape]) => [shape, name]))

/** The content of a declaration file without imports. */
export function sdkTypesSource(): string {
  const named = Object.entries(shapes).map(
    ([name, shape]) => `export type ${name} = ${typeOf(shape as Schema)}`,
  )
  const codes = Object.keys(errorCodes).map((code) => JSON.stringify(code))
  return `${[
    ...named,
    `export type ErrorCode = ${codes.join(' | ')}`,
    `interface Operations {\n${operationIds.map(entryOf).join('\n')}\n}`,
    'export type OperationId = keyof Operations',
    "export type BodyOf<Id extends OperationId> = Operations[Id]['body']",
    "export type QueryOf<Id extends OperationId> = Operations[Id]['query']",
    "export type ResponseOf<Id extends OperationId> = Operations[Id]['response']",
  ].join('\n\n')}\n`
}

function entryOf(id: (typeof operationIds)[number]): string {
  const { body, query, success, otherSuccess } = operationOf(id)
  const types = {
    body: body === undefined ? 'undefined' : referTo(body),
    query: query === undefined ? 'Record<never, never>' : referTo(query),
    response: [success, ...(otherSuccess ? [otherSuccess] : [])]
      .map((one) => ('schema' in one ? referTo(one.schema) : 'undefined'))
      .join(' | '),
  }
  const members = Object.entries(types).map(([name, type]) => `${name}: ${type}`)
  return `  ${JSON.stringify(id)}: { ${members.join('; ')} }`
}

type Schema = {
  type?: string | string[]
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  enum?: unknown[]
  const?: unknown
  anyOf?: Schema[]
  description?: string
}

function referTo(schema: unknown): string {
  return names.get(schema) ?? typeOf(schema as Schema)
}

function typeOf(schema: Schema): string {
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum !== undefined) return schema.enum.map((word) => JSON.stringify(word)).join(' | ')
  if (schema.anyOf !== undefined) return schema.anyOf.map(referTo).join(' | ')
  return [schema.type ?? 'unknown']
    .flat()
    .map((type) => plainType(type, schema))
    .join(' | ')
}

function plainType(type: string, { properties = {}, required = [], items }: Schema): string {
  switch (type) {
    case 'integer':
    case 'number':
      return 'number'
    case 'array':
      return `Array<${items === undefined ? 'unknown' : referTo(items)}>`
    case 'object': {
      const members = Object.entries(properties).map(([name, property]) => {
        const comment = property.description ? `/** ${property.description} */ ` : ''
        const mark = required.includes(name) ? '' : '?'
        return `${comment}${JSON.stringify(name)}${mark}: ${referTo(property)}`
      })
      return members.length === 0 ? 'object' : `{ ${members.join('; ')} }`
    }
    default:
      return type
  }
}

const LINE_LENGTH_MAX = 100

/** TypeScript, formatted like the repository. */
export function sdkRoutesSource(): string {
  const lines = clientOperationIds.map((id) => {
    const { method, path } = operationOf(id)
    const line = `  '${id}': '${method} ${path}',`
    if (line.length <= LINE_LENGTH_MAX) return line
    return `  '${id}':\n    '${method} ${path}',`
  })
  return `// Method and path of every operation. Generated from the contract: npm run generate.

export const routes = {
${lines.join('\n')}
} as const
`
}

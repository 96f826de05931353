// Schemas that the OpenAPI document and the types of both clients refer to by name.

import { Account, NewAccount, OwnAccount } from './accounts.ts'
import { ApiKey, NewApiKey } from './api-keys.ts'
import { Approver, NewApprover } from './approvers.ts'
import { Claim, ClaimedThread, RenewedClaim } from './claims.ts'
import { Connection, ConnectionClient, ConnectionStep } from './connections.ts'
import { Domain, DomainRecord } from './domains.ts'
import { CreateDraft, Draft } from './drafts.ts'
import { CreateErasure, Erasure } from './erasures.ts'
import { ErrorBody } from './error.ts'
import {
  Event,
  EventApprover,
  EventAttachment,
  EventBounce,
  EventClaim,
  EventCommentedReview,
  EventDisabledWebhook,
  EventDomain,
  EventEditedReview,
  EventEnvelope,
  EventExtraction,
  EventHold,
  EventInbox,
  EventMessage,
  EventQuarantined,
  EventReleasedClaim,
  EventReview,
  EventStorage,
  EventThread,
  EventWebhook,
  events,
  MessageEvent,
  ReviewCommented,
  ReviewCreated,
  ReviewDecided,
  ReviewEdited,
  ThreadEvent,
} from './events.ts'
import { ChangedInbox, Inbox } from './inboxes.ts'
import { InviteToSend } from './invitations.ts'
import { InboxLimits } from './limits.ts'
import {
  Attachment,
  AttachmentText,
  Authentication,
  CategoryReason,
  Extracted,
  HiddenTextPart,
  Invite,
  Message,
} from './messages.ts'
import type { Operation } from './operation.ts'
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
import { CapturedMessage, InboundMail, ReceivedMail } from './sandbox.ts'
import { baseOf, originalOf, type TSchema } from './schema.ts'
import { SearchHit, SearchResult } from './search.ts'
import { SenderRule } from './sender-rules.ts'
import { AttachmentToSend, Delivery, HoldReason, SendMessage, SentMessage } from './sending.ts'
import { Session } from './sessions.ts'
import { Stats } from './stats.ts'
import { Suppression } from './suppressions.ts'
import { Participant, Thread, ThreadClaim, ThreadMessages } from './threads.ts'
import { CreateExport, Export, Import, ImportFailure } from './transfers.ts'
import { Upload, UploadLink } from './uploads.ts'
import { Usage } from './usage.ts'
import {
  Webhook,
  WebhookAttempt,
  WebhookDelivery,
  WebhookTest,
  WebhookWithSecret,
  WholeWebhookDelivery,
} from './webhooks.ts'

export const components: Readonly<Record<string, TSchema>> = {
  Account,
  ApiKey,
  Approver,
  Attachment,
  AttachmentText,
  AttachmentToSend,
  Authentication,
  CapturedMessage,
  CategoryReason,
  ChangedInbox,
  Claim,
  ClaimedThread,
  Connection,
  ConnectionClient,
  ConnectionStep,
  Delivery,
  Domain,
  DomainRecord,
  CreateDraft,
  CreateErasure,
  CreateExport,
  Draft,
  Erasure,
  Export,
  Error: ErrorBody,
  Event,
  EventApprover,
  EventAttachment,
  EventBounce,
  EventClaim,
  EventCommentedReview,
  EventDisabledWebhook,
  EventDomain,
  EventEditedReview,
  EventEnvelope,
  EventExtraction,
  EventHold,
  EventInbox,
  EventMessage,
  EventQuarantined,
  EventReleasedClaim,
  EventReview,
  EventStorage,
  EventThread,
  EventWebhook,
  MessageEvent,
  ReviewCommented,
  ReviewCreated,
  ReviewDecided,
  ReviewEdited,
  ThreadEvent,
  ...events,
  Extracted,
  Import,
  ImportFailure,
  InboundMail,
  HiddenTextPart,
  HoldReason,
  Inbox,
  InboxLimits,
  Invite,
  InviteToSend,
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
  RenewedClaim,
  Review,
  ReviewContent,
  ReviewComment,
  ReviewDisplay,
  ReviewVersion,
  ScopedPolicyRule,
  SearchHit,
  SearchResult,
  SenderRule,
  Session,
  SendMessage,
  SentMessage,
  StartedPairing,
  Stats,
  Suppression,
  Thread,
  ThreadClaim,
  ThreadMessages,
  Upload,
  UploadLink,
  Usage,
  Webhook,
  WebhookAttempt,
  WebhookDelivery,
  WebhookTest,
  WebhookWithSecret,
  WholeReview,
  WholeWebhookDelivery,
}

const names = new Map<unknown, string>(
  Object.entries(components).map(([name, schema]) => [schema, name]),
)

export function componentName(schema: unknown): string | undefined {
  return names.get(originalOf(schema))
}

/** The named objects of the operations, and of these objects, sorted by name. */
export function objectNamesOf(operations: readonly Operation[]): string[] {
  const found = new Set<string>()
  const visit = (schema: unknown): void => {
    if (typeof schema !== 'object' || schema === null) return
    const name = componentName(schema)
    if (name !== undefined && found.has(name)) return
    if (name !== undefined) found.add(name)
    visit(baseOf(schema))
    for (const inner of Object.values(schema)) visit(inner)
  }
  for (const { query, body, success, otherSuccess } of operations) {
    for (const one of [query, body, success, otherSuccess]) visit(one)
  }
  return [...found].sort()
}

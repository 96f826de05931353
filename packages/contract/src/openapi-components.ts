// The shapes that have a name in the OpenAPI document, which refers to them.

import { originalOf, type TSchema } from '#schema.ts'
import {
  Account,
  ApiKey,
  NewAccount,
  NewApiKey,
  OwnAccount,
  Pairing,
  Session,
  StartedPairing,
  Stats,
} from '#shapes/account.ts'
import { Domain, DomainRecord } from '#shapes/domain.ts'
import { ErrorBody } from '#shapes/error.ts'
import {
  Event,
  EventAttachment,
  EventBounce,
  EventDomain,
  EventMessage,
  EventWebhook,
} from '#shapes/event.ts'
import { ChangedInbox, Inbox, Pod } from '#shapes/inbox.ts'
import { Attachment, Authentication, Extracted, Message } from '#shapes/message.ts'
import { CapturedMessage, InboundMail, ReceivedMail } from '#shapes/sandbox.ts'
import { SearchHit, SearchResult } from '#shapes/search.ts'
import { QuarantinedMessage, SenderRule, Suppression } from '#shapes/sender.ts'
import { AttachmentToSend, Delivery, SendMessage, SentMessage } from '#shapes/sending.ts'
import { Thread, ThreadMessages } from '#shapes/thread.ts'
import { Webhook, WebhookDelivery, WebhookTest, WebhookWithSecret } from '#shapes/webhook.ts'

export const components: Readonly<Record<string, TSchema>> = {
  Account,
  ApiKey,
  Attachment,
  AttachmentToSend,
  Authentication,
  CapturedMessage,
  ChangedInbox,
  Delivery,
  Domain,
  DomainRecord,
  Error: ErrorBody,
  Event,
  EventAttachment,
  EventBounce,
  EventDomain,
  EventMessage,
  EventWebhook,
  Extracted,
  InboundMail,
  Inbox,
  Message,
  NewAccount,
  NewApiKey,
  OwnAccount,
  Pairing,
  Pod,
  QuarantinedMessage,
  ReceivedMail,
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
  ThreadMessages,
  Webhook,
  WebhookDelivery,
  WebhookTest,
  WebhookWithSecret,
}

const names = new Map<unknown, string>(
  Object.entries(components).map(([name, schema]) => [schema, name]),
)

/** The name of a shape in the document; undefined if it has none. */
export function componentName(schema: unknown): string | undefined {
  return names.get(originalOf(schema))
}

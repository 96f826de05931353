// The client of the Mailroom API: a namespace for each kind of thing, a method for each operation,
// typed by the contract. Runs wherever there is fetch.

import { Api } from './api.ts'
import { pairing, session, stats } from './console.ts'
import { account, quarantine, senderRules, suppressions } from './correspondence.ts'
import {
  apiKeys,
  attachments,
  domains,
  events,
  inboxes,
  messages,
  pods,
  sandbox,
  threads,
  unsubscribe,
  webhooks,
} from './namespaces.ts'
import { admin, service } from './operating.ts'
import { type MailroomOptions, Transport } from './transport.ts'

export type { Account, NewAccount, OwnAccount } from '@mailroom/contract/shapes/account.ts'
export type { ApiKey, NewApiKey } from '@mailroom/contract/shapes/api-key.ts'
export type { Domain, DomainRecord } from '@mailroom/contract/shapes/domain.ts'
export type { Event, EventAttachment, EventMessage } from '@mailroom/contract/shapes/event.ts'
export type { ChangedInbox, Inbox } from '@mailroom/contract/shapes/inbox.ts'
export type { Attachment, Authentication, Message } from '@mailroom/contract/shapes/message.ts'
export type { Pairing, StartedPairing } from '@mailroom/contract/shapes/pairing.ts'
export type { Pod } from '@mailroom/contract/shapes/pod.ts'
export type { CapturedMessage, ReceivedMail } from '@mailroom/contract/shapes/sandbox.ts'
export type { QuarantinedMessage, SenderRule } from '@mailroom/contract/shapes/sender.ts'
export type { Delivery, SentMessage } from '@mailroom/contract/shapes/sending.ts'
export type { Session } from '@mailroom/contract/shapes/session.ts'
export type { Stats } from '@mailroom/contract/shapes/stats.ts'
export type { Suppression } from '@mailroom/contract/shapes/suppression.ts'
export type { Thread, ThreadMessages } from '@mailroom/contract/shapes/thread.ts'
export type {
  Webhook,
  WebhookDelivery,
  WebhookTest,
  WebhookWithSecret,
} from '@mailroom/contract/shapes/webhook.ts'
export type { DownloadedFile, View, ViewOptions } from './api.ts'
export { MailroomConnectionError, MailroomError, type MailroomErrorCode } from './error.ts'
export type { EventListing } from './event-listing.ts'
export type { WebSocketConstructor, WebSocketLike } from './event-socket.ts'
export type { FollowOptions } from './follow.ts'
export type { Listing, Page } from './listing.ts'
export type {
  FileToSend,
  MailToReceive,
  MessageToSend,
  RepliedMessage,
  ReplyToSend,
  SendOptions,
} from './sending.ts'
export type { MailroomOptions, RequestOptions } from './transport.ts'
export {
  type VerifyWebhookOptions,
  verifyWebhook,
  type WebhookHeaders,
  WebhookVerificationError,
  type WebhookVerificationErrorCode,
} from './verify-webhook.ts'
export type { WaitOptions } from './wait.ts'

/**
 * One account's view of a service. Every method rejects with MailroomError when the service refuses
 * and with MailroomConnectionError when no answer came; both after repeating the request where that
 * cannot do anything twice (`maxRetries`).
 */
export class Mailroom {
  readonly pods: ReturnType<typeof pods>
  readonly inboxes: ReturnType<typeof inboxes>
  readonly domains: ReturnType<typeof domains>
  readonly threads: ReturnType<typeof threads>
  readonly messages: ReturnType<typeof messages>
  readonly attachments: ReturnType<typeof attachments>
  readonly suppressions: ReturnType<typeof suppressions>
  readonly unsubscribe: ReturnType<typeof unsubscribe>
  readonly senderRules: ReturnType<typeof senderRules>
  readonly quarantine: ReturnType<typeof quarantine>
  readonly events: ReturnType<typeof events>
  readonly webhooks: ReturnType<typeof webhooks>
  readonly sandbox: ReturnType<typeof sandbox>
  readonly account: ReturnType<typeof account>
  readonly apiKeys: ReturnType<typeof apiKeys>
  readonly session: ReturnType<typeof session>
  readonly pairing: ReturnType<typeof pairing>
  readonly stats: ReturnType<typeof stats>
  readonly admin: ReturnType<typeof admin>
  readonly service: ReturnType<typeof service>

  constructor(options: MailroomOptions) {
    const api = new Api(new Transport(options))
    this.pods = pods(api)
    this.inboxes = inboxes(api)
    this.domains = domains(api)
    this.threads = threads(api)
    this.messages = messages(api)
    this.attachments = attachments(api)
    this.suppressions = suppressions(api)
    this.unsubscribe = unsubscribe(api)
    this.senderRules = senderRules(api)
    this.quarantine = quarantine(api)
    this.events = events(api)
    this.webhooks = webhooks(api)
    this.sandbox = sandbox(api)
    this.account = account(api)
    this.apiKeys = apiKeys(api)
    this.session = session(api)
    this.pairing = pairing(api)
    this.stats = stats(api)
    this.admin = admin(api)
    this.service = service(api)
  }
}

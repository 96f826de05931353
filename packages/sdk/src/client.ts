// The client of the Mailroom API: a namespace for each resource and a method for each operation,
// typed by the contract. Runs wherever there is fetch.

import {
  account,
  admin,
  apiKeys,
  connections,
  pairing,
  service,
  session,
  stats,
  usage,
} from './account.ts'
import { Api } from './api.ts'
import {
  approvers,
  attachments,
  domains,
  drafts,
  events,
  inboxes,
  messages,
  pods,
  policy,
  quarantine,
  reviews,
  sandbox,
  senderRules,
  suppressions,
  threads,
  unsubscribe,
  webhooks,
} from './namespaces.ts'
import { erasures, imports, mailExports } from './transfers.ts'
import { type MailroomOptions, Transport } from './transport.ts'
import { uploads } from './uploads.ts'
import { type ContextOfWork, type OptionsOfWork, work } from './work.ts'

export type { Account, NewAccount, OwnAccount } from '@mailroom/contract/accounts.ts'
export type { ApiKey, NewApiKey } from '@mailroom/contract/api-keys.ts'
export type { Approver, NewApprover } from '@mailroom/contract/approvers.ts'
export type { Claim, ClaimedThread, RenewedClaim } from '@mailroom/contract/claims.ts'
export type {
  Connection,
  ConnectionClient,
  ConnectionStep,
} from '@mailroom/contract/connections.ts'
export type { Domain, DomainRecord } from '@mailroom/contract/domains.ts'
export type { Draft } from '@mailroom/contract/drafts.ts'
export type { Erasure } from '@mailroom/contract/erasures.ts'
export type { Event, EventAttachment, EventMessage, EventOf } from '@mailroom/contract/events.ts'
export type { ChangedInbox, Inbox } from '@mailroom/contract/inboxes.ts'
export type { InboxLimits } from '@mailroom/contract/limits.ts'
export type {
  Attachment,
  AttachmentText,
  Authentication,
  Message,
} from '@mailroom/contract/messages.ts'
export type { Pairing, StartedPairing } from '@mailroom/contract/pairings.ts'
export type { Pod } from '@mailroom/contract/pods.ts'
export type {
  Policy,
  PolicyAuditEntry,
  PolicyGuards,
  PolicyRule,
} from '@mailroom/contract/policy.ts'
export type { QuarantinedContent, QuarantinedMessage } from '@mailroom/contract/quarantine.ts'
export type {
  Review,
  ReviewContent,
  ReviewDisplay,
  WholeReview,
} from '@mailroom/contract/reviews.ts'
export type { CapturedMessage, ReceivedMail } from '@mailroom/contract/sandbox.ts'
export type { SenderRule } from '@mailroom/contract/sender-rules.ts'
export type { Delivery } from '@mailroom/contract/sending.ts'
export type { Session } from '@mailroom/contract/sessions.ts'
export type { Stats } from '@mailroom/contract/stats.ts'
export type { Suppression } from '@mailroom/contract/suppressions.ts'
export type { Thread, ThreadMessages } from '@mailroom/contract/threads.ts'
export type { Export, Import, ImportFailure } from '@mailroom/contract/transfers.ts'
export type { Upload, UploadLink } from '@mailroom/contract/uploads.ts'
export type { Usage } from '@mailroom/contract/usage.ts'
export type {
  Webhook,
  WebhookAttempt,
  WebhookDelivery,
  WebhookTest,
  WebhookWithSecret,
  WholeWebhookDelivery,
} from '@mailroom/contract/webhooks.ts'
export type { DownloadedFile, View, ViewOptions } from './api.ts'
export {
  MailroomConnectionError,
  MailroomError,
  type MailroomErrorCode,
  MailroomTimeoutError,
} from './error.ts'
export type { FollowOptions, WebSocketConstructor, WebSocketLike } from './follow.ts'
export type { EventListing, Listing, Page } from './listing.ts'
export type { ResponseInfo, ResponsePromise, WithResponse } from './response.ts'
export type {
  DraftToCreate,
  FileToSend,
  MailToReceive,
  MessageToForward,
  MessageToSend,
  RepliedMessage,
  ReplyToSend,
  SendOptions,
  SentMessage,
} from './sending.ts'
export type { UntilDoneOptions } from './transfers.ts'
export type {
  MailroomOptions,
  ReceivedResponse,
  RequestOptions,
  SentRequest,
} from './transport.ts'
export {
  type VerifyWebhookOptions,
  verifyWebhook,
  type WebhookHeaders,
  WebhookVerificationError,
  type WebhookVerificationErrorCode,
} from './verify-webhook.ts'
export type { WaitOptions } from './wait.ts'

export type WorkContext = ContextOfWork<Mailroom>
export type WorkOptions = OptionsOfWork<Mailroom>

/**
 * A client for one account. Every method rejects with MailroomError if the service refuses the
 * request, and with MailroomConnectionError if there is no response. Requests that cannot take
 * effect twice are retried first (`maxRetries`).
 */
export class Mailroom {
  readonly pods: ReturnType<typeof pods>
  readonly inboxes: ReturnType<typeof inboxes>
  readonly domains: ReturnType<typeof domains>
  readonly drafts: ReturnType<typeof drafts>
  readonly erasures: ReturnType<typeof erasures>
  readonly exports: ReturnType<typeof mailExports>
  readonly imports: ReturnType<typeof imports>
  readonly uploads: ReturnType<typeof uploads>
  readonly threads: ReturnType<typeof threads>
  readonly messages: ReturnType<typeof messages>
  readonly attachments: ReturnType<typeof attachments>
  readonly suppressions: ReturnType<typeof suppressions>
  readonly unsubscribe: ReturnType<typeof unsubscribe>
  readonly senderRules: ReturnType<typeof senderRules>
  readonly policy: ReturnType<typeof policy>
  readonly quarantine: ReturnType<typeof quarantine>
  readonly events: ReturnType<typeof events>
  readonly webhooks: ReturnType<typeof webhooks>
  readonly sandbox: ReturnType<typeof sandbox>
  readonly account: ReturnType<typeof account>
  readonly apiKeys: ReturnType<typeof apiKeys>
  readonly connections: ReturnType<typeof connections>
  readonly approvers: ReturnType<typeof approvers>
  readonly reviews: ReturnType<typeof reviews>
  readonly session: ReturnType<typeof session>
  readonly pairing: ReturnType<typeof pairing>
  readonly stats: ReturnType<typeof stats>
  readonly usage: ReturnType<typeof usage>
  readonly admin: ReturnType<typeof admin>
  readonly service: ReturnType<typeof service>

  readonly #options: MailroomOptions

  /** The URL and the key default to `MAILROOM_BASE_URL` and `MAILROOM_API_KEY`. */
  constructor(options: MailroomOptions = {}) {
    this.#options = options
    const api = new Api(new Transport(options))
    this.pods = pods(api)
    this.inboxes = inboxes(api)
    this.domains = domains(api)
    this.drafts = drafts(api)
    this.erasures = erasures(api)
    this.exports = mailExports(api)
    this.imports = imports(api)
    this.uploads = uploads(api)
    this.threads = threads(api)
    this.messages = messages(api)
    this.attachments = attachments(api)
    this.suppressions = suppressions(api)
    this.unsubscribe = unsubscribe(api)
    this.senderRules = senderRules(api)
    this.policy = policy(api)
    this.quarantine = quarantine(api)
    this.events = events(api)
    this.webhooks = webhooks(api)
    this.sandbox = sandbox(api)
    this.account = account(api)
    this.apiKeys = apiKeys(api)
    this.connections = connections(api)
    this.approvers = approvers(api)
    this.reviews = reviews(api)
    this.session = session(api)
    this.pairing = pairing(api)
    this.stats = stats(api)
    this.usage = usage(api)
    this.admin = admin(api)
    this.service = service(api)
  }

  /** A client with other options: `client.withOptions({ timeoutMs: 5_000 }).inboxes.get(id)`. */
  withOptions(
    changes: Partial<MailroomOptions> | ((options: MailroomOptions) => Partial<MailroomOptions>),
  ): Mailroom {
    const changed = typeof changes === 'function' ? changes(this.#options) : changes
    return new Mailroom({ ...this.#options, ...changed })
  }

  /**
   * A client that sends the token of a claim with every request, so that it may change the thread
   * and send in it.
   */
  withLease(leaseToken: string): Mailroom {
    return this.withOptions({ leaseToken })
  }

  /**
   * Claims threads of the inbox, one by one or `concurrency` at a time, and passes each to `handle`
   * until `signal` is aborted; resolves when the current threads are done. Rejects if the service
   * refuses to claim threads, for example because of an invalid key; retries while the service is
   * unavailable.
   */
  work(inboxId: string, options: WorkOptions): Promise<void> {
    return work(this, inboxId, options)
  }
}

import type { Parser } from '#platform/workers/parser.ts'
// What actions work with. Each takes only the fields it names, so that a reader sees what it can
// reach.

import type { KeyObject } from 'node:crypto'
import type { Carrier } from '#delivery/carrier.ts'
import type { DomainChecks } from '#domains/check-domain.ts'
import type { Signers } from '#domains/signers.ts'
import type { CheckFilter } from '#events/event.ts'
import type { Authenticator } from '#inbound/authenticate/authenticator.ts'
import type { CountedReport } from '#inbound/find-reported.ts'
import type { Downloads } from '#mailbox/downloads.ts'
import type { Extractions } from '#mailbox/extractions.ts'
import type { StorageQuota } from '#mailbox/storage-quota.ts'
import type { SendSettings } from '#outbound/check-send-rows.ts'
import type { BlobStore } from '#platform/blobs/blob-store.ts'
import type { Chance } from '#platform/chance.ts'
import type { Clock } from '#platform/clock.ts'
import type { StorePressure } from '#platform/db/paced-db.ts'
import type { Resolver } from '#platform/dns/resolver.ts'
import type { HttpGet } from '#platform/egress/http-get.ts'
import type { HttpPost } from '#platform/egress/http-post.ts'
import type { MakeId } from '#platform/ids.ts'
import type { Log } from '#platform/log.ts'
import type { Sealer } from '#platform/seal.ts'
import type { Semaphore } from '#platform/semaphore.ts'
import type { Tracing } from '#platform/telemetry/tracing.ts'
import type { QueueClock } from '#queue/queue-clock.ts'
import type { Budgets } from '#rate-limits/budgets.ts'
import type { Db } from '#schema/tables.ts'
import type { CatchUps } from '#search/indexer.ts'
import type { EventHub } from '#streams/event-hub.ts'
import type { FindInbox } from '#webhooks/change-webhooks.ts'
import type { ReadEventTexts } from '#webhooks/deliver-webhooks.ts'
import type { WebhookTests } from '#webhooks/test-webhook.ts'

export type Deps = {
  db: Db
  clock: Clock
  chance: Chance
  makeId: MakeId
  log: Log
  tracing: Tracing
  parser: Parser
  downloads: Downloads
  /** What was found in the messages read lately. */
  extractions: Extractions
  /** Whether the store keeps up with what the doors take on. */
  storePressure: StorePressure
  /** Null when raw messages of every size live in the database. */
  blobs: BlobStore | null
  /** The service's own domain, lower case. */
  inboxDomain: string
  /** The name that this service receives mail under, in lower-case A-labels. */
  smtpHostname: string
  /** Base of absolute URLs, without a slash at the end. */
  publicUrl: string
  /** Key of the signatures on attachment URLs. */
  urlKey: Uint8Array
  /** Creations of inboxes allowed to an account in any 24 hours. */
  inboxesPerDay: number
  sending: SendSettings
  /** How much an account may store. */
  storageQuota: StorageQuota
  signers: Signers
  /** A new private key that signs mail; 15 to 500 ms when its turn has come. */
  makeDkimKey(): Promise<KeyObject>
  /** Seals what the database keeps secret. */
  sealer: Sealer
  /** The key of signatures for a purpose, such as `return-path`. */
  deriveKey(purpose: string): Uint8Array
  /** Null where the settings have arriving mail taken as it is. */
  authenticator: Authenticator | null
  /** Whether mail is refused where the policy of its From domain has it so. */
  rejectDmarcFailures: boolean
  /** Asks DNS anew each time. No way of mail or webhooks: accounts choose whose silence it waits for. */
  resolver: Resolver
  domainChecks: DomainChecks
  /** For making the keys of a new domain. */
  domainCreations: Semaphore
  /** Whether webhooks may be posted to addresses that are not public, and in the clear. */
  allowPrivateEgress: boolean
  queueClock: QueueClock
  /** How mail leaves the machine; null in the sandbox, where it does not. */
  carrier: Carrier | null
  /** The lane of mail to a domain, in lower-case A-labels: what shares connections and their number. */
  laneOf(domain: string): string
  /** For metrics: what an attempt came to for one recipient. */
  countDelivery(status: string): void
  /** For metrics: what became of one recipient of a report, or of the report as a whole. */
  countReport(outcome: CountedReport): void
  /** Tells the dispatcher that there may be deliveries; losing it costs only time. */
  wakeDelivery(): void
  /** Follows the log of events for the readers of this process. */
  events: EventHub
  /** What limits are counted with. */
  budgets: Budgets
  /** Tells all readers of events, here and in other processes, that there may be some; call it after the commit. */
  wakeEvents(): void
  /** Posts to a webhook's receiver; never rejects. */
  postWebhook: HttpPost
  /** Fetches an image of a stranger's host; never rejects. */
  getImage: HttpGet
  imageFetches: Semaphore
  /** For metrics: what an attempt came to, `deferred` when another follows. */
  countWebhookDelivery(status: 'succeeded' | 'deferred' | 'failed'): void
  webhookTests: WebhookTests
  /** Brings the index of an inbox up to its last message when somebody searches it. */
  searchCatchUps: CatchUps
  readEventTexts: ReadEventTexts
  checkFilter: CheckFilter
  findInbox: FindInbox
  /** Tells the dispatcher of webhooks that there may be deliveries; losing it costs only time. */
  wakeWebhooks(): void
  /** Tells the worker that there may be a job; losing it costs only time. */
  wakeWorker(): void
}

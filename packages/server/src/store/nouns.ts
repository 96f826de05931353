// The columns of the API's nouns. A new column is read, written and presented everywhere.

import type { Authentication } from '@mailroom/contract/messages.ts'
import type { BodyOf } from '@mailroom/contract/operations.ts'
import type { ReviewContent } from '@mailroom/contract/reviews.ts'
import type { HoldReason } from '@mailroom/contract/sending.ts'
import type { Participant } from '@mailroom/contract/threads.ts'
import type {
  ConnectionScope,
  ConnectionStepName,
  DnsRecordPurpose,
  DnsRecordStatus,
  DomainStatus,
  deliveryRoles,
  EventKind,
  FilterMode,
  MessageCategory,
  Plan,
  PolicyDecision,
  PolicyDirection,
  QuarantineReason,
  ReviewEventKind,
  ReviewStatus,
  SenderRuleType,
  SuppressionType,
  WebhookDisabledReason,
} from '@mailroom/contract/vocabulary.ts'
import { bytes, coded, columns, type Fields, flag, int, json, text, time, word } from './columns.ts'

export const ownPolicy = columns({
  filterMode: word<FilterMode>()('filter_mode').nullable(),
  outboundPolicy: text('outbound_policy').nullable(),
})

/** An empty object is stored as null. */
const metadata = coded(
  'metadata',
  {
    read: (stored: string | null): Record<string, string> =>
      stored === null ? {} : JSON.parse(stored),
    write: (value) => {
      const sorted = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))
      return sorted.length === 0 ? null : JSON.stringify(Object.fromEntries(sorted))
    },
  },
  ['nullable'],
)

export const accounts = columns({
  id: text('id'),
  name: text('name').editable(),
  plan: word<Plan>()('plan').editable(),
  /** The mode for senders without a rule. */
  filterMode: word<FilterMode>()('filter_mode').defaulted().internal(),
  /** Days until mail is removed; null keeps mail forever. */
  retentionDays: int('retention_days').nullable().internal(),
  undoSeconds: int('undo_seconds').defaulted().internal(),
  createdAtMs: time('created_at'),
})
export type Account = Fields<typeof accounts>

export const apiKeys = columns({
  id: text('id'),
  name: text('name').nullable(),
  tokenPrefix: text('token_prefix'),
  last4: text('last4'),
  createdAtMs: time('created_at'),
  lastUsedAtMs: time('last_used_at').nullable(),
})
export type Key = Fields<typeof apiKeys>

export const approvers = columns({
  id: text('id'),
  name: text('name'),
  email: text('email').nullable(),
  createdAtMs: time('created_at'),
})
export type Approver = Fields<typeof approvers>

export const oauthClients = columns({
  id: text('id'),
  /** Null if the client registered itself. */
  accountId: text('account_id').nullable(),
  name: text('name'),
  redirectUris: json<string[]>()('redirect_uris'),
  createdAtMs: time('created_at'),
  expiresAtMs: time('expires_at').nullable(),
})
export type OauthClient = Fields<typeof oauthClients>

export const connections = columns({
  id: text('id'),
  accountId: text('account_id').internal(),
  keyId: text('key_id'),
  clientId: text('client_id'),
  clientName: text('client_name'),
  /** Null for all inboxes. */
  inboxIds: json<string[]>()('inbox_ids').nullable(),
  scopes: json<ConnectionScope[]>()('scopes'),
  createdAtMs: time('created_at'),
  lastUsedAtMs: time('last_used_at').nullable(),
  expiresAtMs: time('expires_at').nullable(),
})
export type Connection = Fields<typeof connections>

export const connectionSteps = columns({
  id: text('id'),
  accountId: text('account_id').nullable().internal(),
  step: word<ConnectionStepName>()('step'),
  isOk: flag('is_ok'),
  error: text('error').nullable(),
  detail: text('detail').nullable(),
  clientId: text('client_id').nullable(),
  clientName: text('client_name').nullable(),
  connectionId: text('connection_id').nullable(),
  userAgent: text('user_agent').nullable(),
  occurredAtMs: time('occurred_at'),
})
export type ConnectionStep = Fields<typeof connectionSteps>

export const pods = columns({
  id: text('id'),
  clientId: text('client_id').nullable().editable(),
  name: text('name').nullable().editable(),
  /** Null for the account's retention. */
  retentionDays: int('retention_days').nullable().editable(),
  isDefault: flag('is_default'),
  createdAtMs: time('created_at'),
})
export type Pod = Fields<typeof pods>

export type RecordCheck = {
  purpose: DnsRecordPurpose
  name: string
  /** The required value at the time of the check. */
  value: string
  status: DnsRecordStatus
  found: string[]
  /** Null if no change is needed. */
  hint: string | null
}

export const domains = columns({
  id: text('id'),
  accountId: text('account_id').internal(),
  /** The pod whose inboxes may use the domain; null for all pods. */
  podId: text('pod_id').nullable(),
  /** The domain in lower-case A-labels. */
  domain: text('domain'),
  status: word<DomainStatus>()('status'),
  ownershipToken: text('ownership_token').internal(),
  /** Empty before the first check. */
  checks: json<RecordCheck[]>()('checks').defaulted().internal(),
  inboxCount: int('inbox_count').defaulted().internal(),
  /**
   * Whether the account gets the domain's mail: always, until another account verifies the domain.
   */
  isHolder: flag('is_holder').defaulted().internal(),
  /** Whether MX and SPF name this service, so that return paths may use the domain. */
  takesBounces: flag('takes_bounces').defaulted().internal(),
  subdomainsEnabled: flag('takes_subdomains').defaulted(),
  /** The inbox for mail to unknown local parts. */
  catchAllInboxId: text('catch_all_inbox_id').nullable(),
  degradedAtMs: time('degraded_at').nullable().internal(),
  nextCheckAtMs: time('next_check_at').nullable().internal(),
  createdAtMs: time('created_at'),
  verifiedAtMs: time('verified_at').nullable(),
  lastCheckedAtMs: time('last_checked_at').nullable(),
})
export type Domain = Fields<typeof domains>

/** `standby`: to be published; `active`: signs; `retiring`: published, but no longer signs. */
export type DkimKeyState = 'standby' | 'active' | 'retiring'

export const dkimKeys = columns({
  id: text('id'),
  /** A domain's id, or SERVICE_OWNER. */
  ownerId: text('owner_id'),
  /** The domain in lower-case A-labels. */
  domain: text('domain'),
  selector: text('selector'),
  state: word<DkimKeyState>()('state'),
  /** The SubjectPublicKeyInfo of the key in base64. */
  publicKey: text('public_key'),
  /** Whether the domain fails its check without this record. */
  isRequired: flag('is_required'),
  publishedAtMs: time('published_at').nullable(),
  activatedAtMs: time('activated_at').nullable(),
  retiredAtMs: time('retired_at').nullable(),
  createdAtMs: time('created_at'),
})
export type DkimKey = Fields<typeof dkimKeys>

export const inboxes = columns({
  id: text('id'),
  accountId: text('account_id').internal(),
  podId: text('pod_id'),
  address: text('address'),
  /** Null for the inbox domain of the settings. */
  domainId: text('domain_id').nullable().internal(),
  /** The address; null if another account receives the domain's mail. */
  receivingAddress: text('receiving_address').nullable().internal(),
  clientId: text('client_id').nullable().editable(),
  displayName: text('display_name').nullable().editable(),
  /** Null for the retention of the pod or, if it has none, of the account. */
  retentionDays: int('retention_days').nullable().editable(),
  /** Null if the inbox never expires. */
  expiresAtMs: time('expires_at').nullable().editable(),
  /** Null for the setting of the account. */
  undoSeconds: int('undo_seconds').nullable().editable(),
  /** Markdown. */
  signature: text('signature').nullable().editable(),
  metadata,
  createdAtMs: time('created_at'),
})
export type Inbox = Fields<typeof inboxes>

/** `sealed`: the value in base64. */
export type SealedHeader = { readonly name: string; readonly sealed: string }

export const webhooks = columns({
  id: text('id'),
  accountId: text('account_id').internal(),
  /** The inbox whose `webhookUrl` this is, and whose events it gets exclusively; otherwise null. */
  inboxId: text('inbox_id').nullable(),
  /** The approver whose `webhookUrl` this is; otherwise null. */
  approverId: text('approver_id').nullable().internal(),
  url: text('url'),
  kinds: json<readonly (EventKind | ReviewEventKind)[]>()('event_types'),
  podIds: json<readonly string[]>()('pod_ids'),
  inboxIds: json<readonly string[]>()('inbox_ids'),
  categories: json<readonly MessageCategory[]>()('categories').defaulted(),
  isEnabled: flag('is_enabled'),
  disabledReason: word<WebhookDisabledReason>()('disabled_reason').nullable(),
  disabledAtMs: time('disabled_at').nullable(),
  /**
   * The end of the log when the webhook was enabled. The webhook gets the events after this offset.
   */
  enabledAfterTransactionId: int('enabled_after_transaction_id').internal(),
  enabledAfterSequence: int('enabled_after_sequence').internal(),
  /** The time of the first failure since the last success. */
  failingSinceMs: time('failing_since').nullable(),
  sealedSecrets: bytes('sealed_secrets').internal(),
  headers: json<readonly SealedHeader[]>()('headers').defaulted(),
  createdAtMs: time('created_at'),
})

export const suppressions = columns({
  id: text('id'),
  accountId: text('account_id').internal(),
  address: text('address'),
  /** The key is equal for equivalent addresses. */
  addressKey: text('address_key').internal(),
  type: word<SuppressionType>()('type'),
  /** For bounces and complaints, the text from the remote server. */
  reason: text('reason').nullable(),
  createdAtMs: time('created_at'),
})
/** An address to which an account no longer sends. */
export type Suppression = Fields<typeof suppressions>

const ruleColumns = {
  id: text('id'),
  type: word<SenderRuleType>()('type'),
  /** An address or a domain in canonical form. */
  value: text('value'),
  /** Null for all pods. A rule for one inbox has the pod of that inbox. */
  podId: text('pod_id').nullable(),
  inboxId: text('inbox_id').nullable(),
  /** From this time on, the rule decides nothing. Null if it never ends. */
  expiresAtMs: time('expires_at').nullable(),
  note: text('note').nullable(),
  createdAtMs: time('created_at'),
}
export const recipientRules = columns({ ...ruleColumns, accountId: text('account_id').internal() })
export const senderRules = columns({
  ...ruleColumns,
  accountId: text('account_id').internal(),
  /** Always false for a block rule. */
  requireVerified: flag('needs_verified'),
})
export type SenderRule = Fields<typeof senderRules>

/** The parts of the message that the digest covers and the message itself does not store. */
export type StoredReviewContent = Omit<ReviewContent, 'subject' | 'bodyText' | 'bodyHtml'>
export type KeptTexts = { subject: string; bodyText: string; bodyHtml: string }

export const reviews = columns({
  id: text('id'),
  accountId: text('account_id').internal(),
  inboxId: text('inbox_id'),
  threadId: text('thread_id'),
  messageId: text('message_id'),
  status: word<ReviewStatus>()('status'),
  reasons: json<HoldReason[]>()('reasons'),
  /** In the order of the findings in the reasons. */
  findingHashes: json<string[]>()('finding_hashes').nullable().internal(),
  digest: text('digest'),
  /** The key is equal for reviews of the same text to the same recipients. */
  equalKey: text('equal_key').nullable().internal(),
  content: json<StoredReviewContent>()('content').internal(),
  /** Null while the message exists. */
  kept: json<KeptTexts>()('kept_texts').nullable().internal(),
  createdAtMs: time('created_at'),
  expiresAtMs: time('expires_at'),
  decidedAtMs: time('decided_at').nullable(),
  decidedBy: text('decided_by').nullable(),
  decidedReason: text('decided_reason').nullable(),
})

export const auditEntries = columns({
  id: text('id'),
  accountId: text('account_id').internal(),
  direction: word<PolicyDirection>()('direction'),
  decision: word<PolicyDecision>()('decision'),
  podId: text('pod_id').nullable(),
  inboxId: text('inbox_id').nullable(),
  actor: json<unknown>()('actor').nullable(),
  details: json<unknown>()('details'),
  createdAtMs: time('created_at'),
})

/** An empty list is stored as null. */
/** An empty list is stored as null. */
const labels = coded(
  'labels',
  {
    read: (stored: string | null): string[] => (stored === null ? [] : JSON.parse(stored)),
    write: (value) => (value.length === 0 ? null : JSON.stringify(value)),
  },
  ['nullable'],
)

export const threads = columns({
  id: text('id'),
  inboxId: text('inbox_id'),
  subject: text('subject'),
  isRead: flag('is_read'),
  messageCount: int('message_count'),
  /** Category of the newest received message; null if there is none. */
  category: word<MessageCategory>()('category').nullable(),
  /** The time of the newest message, which orders lists of threads. */
  lastMessageAtMs: time('last_message_at'),
  /** Participants, with the last writer first. */
  participants: json<Participant[]>()('participants'),
  snippet: text('snippet'),
  labels: labels.defaulted(),
  metadata: metadata.defaulted(),
  assignee: text('assignee').nullable().defaulted(),
  /** The time until which the thread is snoozed, possibly in the past. */
  snoozedUntilMs: time('snoozed_until').nullable().defaulted(),
  createdAtMs: time('created_at'),
  /** Null outside the trash, and 0 while the thread is being removed. */
  trashedAtMs: time('trashed_at').nullable().defaulted(),
  removedCount: int('removed_count').defaulted().internal(),
})

/** Mail that was kept out of an inbox by a sender rule, or because no rule allows it. */
export const quarantinedMessages = columns({
  id: text('id'),
  accountId: text('account_id').internal(),
  inboxId: text('inbox_id'),
  podId: text('pod_id'),
  rawId: text('raw_id').internal(),
  fromAddr: text('from_addr'),
  toAddr: text('to_addr'),
  recipient: text('recipient').nullable().internal(),
  deliveryRole: word<(typeof deliveryRoles)[number]>()('delivery_role'),
  subject: text('subject'),
  /** The empty string is the null reverse-path. */
  reversePath: text('reverse_path').internal(),
  reason: word<QuarantineReason>()('reason'),
  ruleId: text('rule_id').nullable(),
  authentication: json<Authentication>()('authentication').nullable(),
  category: word<MessageCategory>()('category').internal(),
  judgement: text('judgement').internal(),
  createdAtMs: time('created_at'),
})
export type Quarantined = Fields<typeof quarantinedMessages>

/** The fields of a send as in its body, except that `to` is a list. */
export type DraftContent = Omit<BodyOf<'drafts.create'>, 'attachments' | 'clientId' | 'to'> & {
  to?: string[]
}

export type DraftFile = {
  id: string
  filename: string
  contentType: string
  size: number
  contentId: string | null
  /** The raw message that stores the file's octets. */
  rawId: string
}

export const drafts = columns({
  id: text('id'),
  accountId: text('account_id').internal(),
  inboxId: text('inbox_id'),
  clientId: text('client_id').nullable(),
  version: int('version'),
  content: json<DraftContent>()('content'),
  files: json<DraftFile[]>()('attachments'),
  /** Octets of the content and the files, as counted in inbox_counters. */
  storedBytes: int('stored_bytes').internal(),
  createdAtMs: time('created_at'),
  updatedAtMs: time('updated_at'),
})
export type Draft = Fields<typeof drafts>

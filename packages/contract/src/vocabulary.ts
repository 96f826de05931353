// The enumerations of the API: plans, states, roles, types and event kinds.

export const plans = ['free', 'developer', 'launch'] as const
export type Plan = (typeof plans)[number]

/** The purpose of a link in a message, judged by its text. */
export const linkKinds = ['verify', 'magic', 'reset', 'unsubscribe', 'other'] as const

/** Methods of calendar files (RFC 5546), in lower case as in JSCalendar (RFC 8984). */
export const inviteMethods = [
  'publish',
  'request',
  'reply',
  'add',
  'cancel',
  'refresh',
  'counter',
  'declinecounter',
] as const

export const calendarEventStatuses = ['tentative', 'confirmed', 'cancelled'] as const

export const attendeeStatuses = [
  'needs-action',
  'accepted',
  'declined',
  'tentative',
  'delegated',
] as const

export const attendeeRoles = ['required', 'optional', 'chair', 'informational'] as const

export const inviteResponses = ['accepted', 'tentative', 'declined'] as const

/** First words of a reply's text, followed by a colon and the title of the event. */
export const inviteResponseWords = {
  accepted: 'Accepted',
  tentative: 'Tentatively accepted',
  declined: 'Declined',
} as const satisfies Record<(typeof inviteResponses)[number], string>

/** The title that is shown for an event without a title. */
export const untitledInvite = 'the invitation'

/** Formats of the body of a message to send. */
export const bodyFormats = ['auto', 'text', 'html', 'markdown'] as const
export type BodyFormat = (typeof bodyFormats)[number]

export const messageDirections = ['inbound', 'outbound'] as const

export const searchSorts = ['newest', 'rank'] as const

/** Inbound mail is always `received`; outbound is `pending`, then `sent` or `failed`. */
export const messageStatuses = ['pending', 'sent', 'received', 'failed'] as const

/** The state of a thread's newest message. Held and scheduled mail has the status `pending`. */
export const threadStates = [
  'received',
  'queued',
  'scheduled',
  'held',
  'sent',
  'failed',
  'rejected',
  'cancelled',
] as const
export type ThreadState = (typeof threadStates)[number]

/** Whether a message is shown with remote images. */
/** The first characters of a connection's access token. */
export const ACCESS_TOKEN_PREFIX = 'mro_'

export const imageModes = ['block', 'show'] as const

/** The OAuth scopes that a person grants to an assistant. */
export const connectionScopes = ['mail:read', 'mail:draft', 'mail:send', 'mail:organise'] as const
export type ConnectionScope = (typeof connectionScopes)[number]

/** The steps in which an assistant connects, in their order. */
export const connectionSteps = [
  'discovery',
  'registration',
  'authorization',
  'token',
  'call',
] as const
export type ConnectionStepName = (typeof connectionSteps)[number]

/** How the header names an inbox: addressed (`to`) or copied (`cc`). */
export const deliveryRoles = ['to', 'cc'] as const

/** What a limit applies to; `held` is for an inbox's messages that await approval. */
export const limitScopes = ['inbox', 'account', 'thread', 'address', 'held'] as const
export type LimitScope = (typeof limitScopes)[number]

/** Why an address is on the suppression list. */
export const suppressionTypes = ['bounce', 'complaint', 'unsub', 'manual'] as const
export type SuppressionType = (typeof suppressionTypes)[number]

/**
 * The outcome of a message for one recipient: `queued` before the first attempt, `deferred` between
 * attempts, and the others once it is final. `accepted` may still become `bounced` or `complained`;
 * `unknown` ended without a reply and is treated as refused.
 */
export const deliveryStatuses = [
  'queued',
  'deferred',
  'accepted',
  'failed',
  'unknown',
  'bounced',
  'complained',
] as const
export type DeliveryStatus = (typeof deliveryStatuses)[number]

/**
 * The reason for a bounce: `hard` is a dead address, which is suppressed; `soft` a temporary
 * problem, `policy` a refusal of the sender or the content, `full` a full mailbox.
 */
export const bounceClasses = ['hard', 'soft', 'policy', 'full'] as const
export type BounceClass = (typeof bounceClasses)[number]

/**
 * A domain is `pending` until DNS has the required records, and `degraded` if a later check finds
 * them wrong. After 72 hours of `degraded` or 14 days of `pending` it is `failed`, which prevents
 * sends and new inboxes.
 */
export const domainStatuses = ['pending', 'verified', 'degraded', 'failed'] as const
export type DomainStatus = (typeof domainStatuses)[number]

export const dnsRecordPurposes = ['ownership', 'mx', 'subdomains', 'spf', 'dkim', 'dmarc'] as const
export type DnsRecordPurpose = (typeof dnsRecordPurposes)[number]

export const dnsRecordStatuses = ['missing', 'invalid', 'valid'] as const
export type DnsRecordStatus = (typeof dnsRecordStatuses)[number]

/** Results of sender authentication (RFC 8601 §2.7). `temperror` is never the sender's fault. */
export const authenticationResults = [
  'none',
  'pass',
  'fail',
  'softfail',
  'neutral',
  'policy',
  'temperror',
  'permerror',
] as const

/** The policy a domain publishes for mail that fails DMARC (RFC 9989 §4.7). */
export const dmarcPolicies = ['none', 'quarantine', 'reject'] as const

/**
 * The kind of a received message: written by a person or by a program (`automated`), a mailing
 * (`marketing`), or a delivery report (`bounce`). `spam` and `malicious` are verdicts of scanners
 * and relaying servers.
 */
export const messageCategories = [
  'personal',
  'automated',
  'marketing',
  'bounce',
  'spam',
  'malicious',
] as const
export type MessageCategory = (typeof messageCategories)[number]

/**
 * How the text of a file was extracted; `text` includes attached messages. `unsupported` files are
 * not read; `failed` files are damaged, encrypted or too expensive to read.
 */
export const extractionMethods = [
  'pdf',
  'office',
  'csv',
  'text',
  'html',
  'ocr',
  'unsupported',
  'failed',
  'too_large',
] as const
export type ExtractionMethod = (typeof extractionMethods)[number]

export const messageVerdicts = ['clean', 'spam', 'malicious'] as const

export const senderRuleTypes = ['allow', 'block'] as const
export type SenderRuleType = (typeof senderRuleTypes)[number]

/** `none` accepts everyone except blocked senders; `allowlist` only allowed ones. */
export const filterModes = ['none', 'allowlist'] as const
export type FilterMode = (typeof filterModes)[number]

/** Like filter modes; `inherit` uses the mode of the wider policy. */
export const policyModes = [...filterModes, 'inherit'] as const
export type PolicyMode = (typeof policyModes)[number]

/** The totals of long lists are capped at this number. */
export const COUNTED_MAX = 10_000

/** Rules per account, counted separately for senders and recipients. */
export const POLICY_RULES_MAX = 10_000

export const policyDirections = ['inbound', 'outbound'] as const
export type PolicyDirection = (typeof policyDirections)[number]

export const policyScopes = ['account', 'pod', 'inbox'] as const
export type PolicyScope = (typeof policyScopes)[number]

export const guardNames = [
  'newRecipients',
  'provenance',
  'outsideThread',
  'secrets',
  'attachments',
] as const
export type GuardName = (typeof guardNames)[number]

/** What happens to mail that triggers a guard; `inherit` uses the wider policy. */
export const guardActions = ['allow', 'hold', 'reject', 'inherit'] as const
export type GuardAction = (typeof guardActions)[number]

export const sendDecisions = ['allow', 'hold', 'reject'] as const

/** Decisions in the audit log about policies, reviews, approvers and erasures. */
export const policyDecisions = [
  ...sendDecisions,
  'quarantine',
  'change',
  'approved',
  'rejected',
  'expired',
  'edited',
  'commented',
  'approver_created',
  'approver_deleted',
  'erasure',
] as const
export type PolicyDecision = (typeof policyDecisions)[number]

export const policyActors = ['key', 'approver', 'operator'] as const

/**
 * Why mail is quarantined: a rule blocks the sender, no rule allows the sender, the sender is
 * allowed but not verified, or a scanner found malware.
 */
export const quarantineReasons = ['blocked', 'not_allowed', 'not_verified', 'malware'] as const
export type QuarantineReason = (typeof quarantineReasons)[number]

/** A review is `expired` if it was not decided in time. The message is then not sent. */
export const reviewStatuses = ['pending', 'approved', 'rejected', 'expired'] as const
export type ReviewStatus = (typeof reviewStatuses)[number]

/** The fields that an edit of a held message can change. */
export const reviewFields = [
  'to',
  'cc',
  'bcc',
  'subject',
  'body',
  'bodyHtml',
  'attachments',
] as const
export type ReviewField = (typeof reviewFields)[number]

export const eventKinds = [
  'message.received',
  'message.quarantined',
  'message.sent',
  'message.failed',
  'message.bounced',
  'message.complained',
  'message.held',
  'message.rejected',
  'message.review_edited',
  'message.review_commented',
  'attachment.extracted',
  'thread.loop_suspected',
  'thread.updated',
  'thread.claimed',
  'thread.released',
  'inbox.expired',
  'approver.created',
  'approver.deleted',
  'domain.verified',
  'domain.failed',
  'webhook.disabled',
  'account.quota_exceeded',
  'webhook.test',
] as const
export type EventKind = (typeof eventKinds)[number]

/** Only the webhooks of approvers get these events. */
export const reviewEventKinds = [
  'review.created',
  'review.edited',
  'review.commented',
  'review.decided',
] as const
export type ReviewEventKind = (typeof reviewEventKinds)[number]

/** The WebSocket endpoint, which is not an operation because it has no response. */
export const WEB_SOCKET_PATH = '/v1/ws'

/** The MCP endpoint, with tools for language models. */
export const MCP_PATH = '/mcp'

/** Why a webhook is disabled: by request, or after failing for five days. */
export const webhookDisabledReasons = ['by_request', 'failing'] as const
export type WebhookDisabledReason = (typeof webhookDisabledReasons)[number]

/** A webhook delivery is `pending` until it succeeds or its last attempt fails. */
export const webhookDeliveryStatuses = ['pending', 'succeeded', 'failed'] as const
export type WebhookDeliveryStatus = (typeof webhookDeliveryStatuses)[number]

/**
 * Why an attempt failed: an unsuccessful response (`status`, `redirect`), a timeout, a forbidden
 * address, or no connection. `internal_error` is an error of the service or an interrupted test;
 * with `webhook_disabled` no attempt was made.
 */
export const webhookErrors = [
  'status',
  'redirect',
  'timeout',
  'forbidden_address',
  'dns_failed',
  'connection_failed',
  'tls_failed',
  'protocol_error',
  'internal_error',
  'webhook_disabled',
] as const
export type WebhookError = (typeof webhookErrors)[number]

/** The scope of a usage entry. */
export const usageGroups = ['account', 'inbox'] as const

export const statsRanges = ['24h', '7d', '30d'] as const
export type StatsRange = (typeof statsRanges)[number]

/** The session cookie of the console. Requests that change something also need the CSRF header. */
export const SESSION_COOKIE = 'mailroom_session'
/** The cookie's name over https, which no other host can set (RFC 6265bis §4.1.3.2). */
export const SECURE_SESSION_COOKIE = `__Host-${SESSION_COOKIE}` as const
export const CSRF_HEADER = 'X-CSRF-Token'

// The words of the API: plans, states, roles, types and event kinds. Knows what a word means to a
// caller, not when the service says it.

export const plans = ['free', 'developer', 'launch'] as const
export type Plan = (typeof plans)[number]

/** What a link in a message is for, as its words say. */
export const linkKinds = ['verify', 'magic', 'reset', 'unsubscribe', 'other'] as const
export type LinkKind = (typeof linkKinds)[number]

export const messageDirections = ['inbound', 'outbound'] as const
export type MessageDirection = (typeof messageDirections)[number]

/** The order of what a search finds. */
export const searchSorts = ['newest', 'rank'] as const
export type SearchSort = (typeof searchSorts)[number]

/** Inbound mail is `received` and stays so; outbound is `pending`, then `sent` or `failed`. */
export const messageStatuses = ['pending', 'sent', 'received', 'failed'] as const
export type MessageStatus = (typeof messageStatuses)[number]

/** What becomes of images of other hosts in a message that is shown. */
export const imageModes = ['block', 'show'] as const
export type ImageMode = (typeof imageModes)[number]

/** How an inbox came to receive a message: addressed (`to`) or copied (`cc`). */
export const deliveryRoles = ['to', 'cc'] as const
export type DeliveryRole = (typeof deliveryRoles)[number]

/** Why an address is on the suppression list. */
export const suppressionTypes = ['bounce', 'complaint', 'unsub', 'manual'] as const
export type SuppressionType = (typeof suppressionTypes)[number]

/**
 * What has become of a message for one recipient: `queued` before the first attempt, `deferred`
 * between two, the others when it is settled. An `accepted` one may still become `bounced` or
 * `complained`; `unknown` ended without an answer and counts as refused.
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
 * What a report said of a recipient: `hard` proves a dead address and suppresses it; `soft` is a
 * trouble that may pass, `policy` a refusal of the sender or the content, `full` a lack of room.
 */
export const bounceClasses = ['hard', 'soft', 'policy', 'full'] as const
export type BounceClass = (typeof bounceClasses)[number]

/**
 * `pending` until DNS has what it has to; `degraded` when a later check finds it wrong: all goes on
 * for 72 hours; `failed` then, or when it never was verified in 14 days: no sends, no new inboxes.
 */
export const domainStatuses = ['pending', 'verified', 'degraded', 'failed'] as const
export type DomainStatus = (typeof domainStatuses)[number]

export const dnsRecordPurposes = ['ownership', 'mx', 'spf', 'dkim', 'dmarc'] as const
export type DnsRecordPurpose = (typeof dnsRecordPurposes)[number]

/** What DNS has of a record: nothing, something else, or what it has to. */
export const dnsRecordStatuses = ['missing', 'invalid', 'valid'] as const
export type DnsRecordStatus = (typeof dnsRecordStatuses)[number]

/** RFC 8601 §2.7: how a check of an arriving message ended. `temperror` is never the sender's fault. */
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
export type AuthenticationResult = (typeof authenticationResults)[number]

/** What a domain asks for where mail from it fails (RFC 9989 §4.7). */
export const dmarcPolicies = ['none', 'quarantine', 'reject'] as const
export type DmarcPolicy = (typeof dmarcPolicies)[number]

export const senderRuleTypes = ['allow', 'block'] as const
export type SenderRuleType = (typeof senderRuleTypes)[number]

/** Whose mail reaches inboxes: `none`, of all but the blocked; `allowlist`, only of the allowed. */
export const filterModes = ['none', 'allowlist'] as const
export type FilterMode = (typeof filterModes)[number]

/** Why mail is in quarantine: a rule blocks its sender, none allows it, or one does but it is not proven to be the sender's. */
export const quarantineReasons = ['blocked', 'not_allowed', 'not_verified'] as const
export type QuarantineReason = (typeof quarantineReasons)[number]

export const eventKinds = [
  'message.received',
  'message.sent',
  'message.failed',
  'message.bounced',
  'message.complained',
  'thread.loop_suspected',
  'domain.verified',
  'domain.failed',
  'webhook.disabled',
  'account.quota_exceeded',
  'webhook.test',
] as const
export type EventKind = (typeof eventKinds)[number]

/** Where the WebSocket is opened; no operation, for it has no answer. */
export const WEB_SOCKET_PATH = '/v1/ws'

/** Where the tools for models are, over the Model Context Protocol; no operation either. */
export const MCP_PATH = '/mcp'

/** Why a webhook delivers no more: by a change of its own, or after failing for five days. */
export const webhookDisabledReasons = ['by_request', 'failing'] as const
export type WebhookDisabledReason = (typeof webhookDisabledReasons)[number]

/** `pending` until it succeeds or its last attempt failed. */
export const webhookDeliveryStatuses = ['pending', 'succeeded', 'failed'] as const
export type WebhookDeliveryStatus = (typeof webhookDeliveryStatuses)[number]

/**
 * Why an attempt failed: an answer that is no success (`status`, `redirect`), none in time, an address
 * that may not be reached, or no connection; `internal_error` is a fault of the service, or a test
 * that it did not carry to its end, and `webhook_disabled` was not attempted.
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

/** How far back figures go. */
export const statsRanges = ['24h', '7d', '30d'] as const
export type StatsRange = (typeof statsRanges)[number]

/** The cookie that a session of the console is, and what goes beside it with all that changes something. */
export const SESSION_COOKIE = 'mailroom_session'
/** Its name over https: one that no neighbouring host can set (RFC 6265bis §4.1.3.2). */
export const SECURE_SESSION_COOKIE = `__Host-${SESSION_COOKIE}` as const
export const CSRF_HEADER = 'X-CSRF-Token'

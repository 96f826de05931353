// The columns of every table, as both engines return them. Booleans are 0 or 1, times are in
// milliseconds, and lists and objects are JSON text.

import type { MessageCategory } from '@mailroom/contract/vocabulary.ts'
import type { Generated, Insertable, Selectable } from 'kysely'
import type { Db as AnyDb, Tx as AnyTx } from '#platform/db/db.ts'
import type { TableOf } from './columns.ts'
import type {
  accounts,
  apiKeys,
  approvers,
  auditEntries,
  connectionSteps,
  connections,
  dkimKeys,
  domains,
  drafts,
  inboxes,
  oauthClients,
  ownPolicy,
  pods,
  quarantinedMessages,
  recipientRules,
  reviews,
  senderRules,
  suppressions,
  threads,
  webhooks,
} from './nouns.ts'

export type Tables = {
  accounts: TableOf<typeof accounts> & {
    inbox_count: Generated<number>
    pod_count: Generated<number>
    domain_count: Generated<number>
    sender_rule_count: Generated<number>
    recipient_rule_count: Generated<number>
    outbound_policy: string | null
    quota_exceeded_at: number | null
  }
  api_keys: TableOf<typeof apiKeys> & {
    account_id: string
    token_hash: Uint8Array
    revoked_at: number | null
  }
  approvers: TableOf<typeof approvers> & {
    account_id: string
    token_hash: Uint8Array
    deleted_at: number | null
  }
  pods: TableOf<typeof pods> &
    TableOf<typeof ownPolicy> & {
      account_id: string
      inbox_count: Generated<number>
      domain_count: Generated<number>
    }
  domains: TableOf<typeof domains>
  dkim_keys: TableOf<typeof dkimKeys> & { sealed_key: Uint8Array }
  inboxes: TableOf<typeof inboxes> & TableOf<typeof ownPolicy>
  inbox_counters: {
    inbox_id: string
    inbound_count: Generated<number>
    outbound_count: Generated<number>
    /** The arrival number of the newest message. */
    last_arrival: Generated<number>
    /** The number of the last send that was counted for the limits. */
    send_count: Generated<number>
    thread_count: Generated<number>
    unread_thread_count: Generated<number>
    quarantined_count: Generated<number>
    stored_bytes: Generated<number>
    quarantined_bytes: Generated<number>
    draft_count: Generated<number>
    trashed_thread_count: Generated<number>
    trashed_unread_count: Generated<number>
  }
  inbox_creations: { account_id: string; created_at: number; inbox_id: string }
  released_addresses: {
    address: string
    account_id: string
    /** The only pod that may use the address again; null for any pod of the account. */
    pod_id: string | null
    released_at: number
  }
  raw_messages: {
    id: string
    sha256: Uint8Array
    size_bytes: number
    content: Uint8Array | null
    reference_count: number
    reverse_path: string
    client_address: string | null
    helo: string | null
    tls: string | null
    origin: string
    /** Whether a header field shows that the message passed through a service like this one. */
    is_marked: Generated<number>
    created_at: number
  }
  long_bodies: {
    raw_id: string
    body_text: string
    body_html: string
    extracted_text: string | null
  }
  threads: TableOf<typeof threads> & {
    account_id: string
    /** Number of messages received after `read_arrival`, while the thread is unread. */
    unread_count: number
    read_arrival: number
    automatic_sends: Generated<string>
    loop_suspected_at: number | null
    is_moving: Generated<number>
    /** A JSON list of times. */
    removed_automatic: Generated<string>
    facet_count: Generated<number>
    claim_owner: Generated<string | null>
    claim_token_hash: Generated<Uint8Array | null>
    claim_fence: Generated<number>
    claim_lease_ms: Generated<number | null>
    claim_until: Generated<number | null>
    claim_expires_at: Generated<number | null>
  }
  thread_facets: {
    thread_id: string
    /** A label, metadata or an assignee, in the format of facets.ts. */
    facet: string
    account_id: string
    inbox_id: string
    last_message_at: number
    is_trashed: Generated<number>
  }
  message_labels: {
    message_id: string
    label: string
    account_id: string
    inbox_id: string
    created_at: number
    is_trashed: Generated<number>
  }
  inbox_facets: { inbox_id: string; facet: string; account_id: string }
  unreferenced_blobs: { id: string }
  removed_messages: {
    /** The id of a message, or of a thread if `arrival` is 0. */
    id: string
    account_id: string
    inbox_id: string
    arrival: number
    removed_at: number
  }
  messages: {
    id: string
    account_id: string
    inbox_id: string
    thread_id: string
    raw_id: string
    direction: string
    /** The message's number in the inbox; numbers ascend and are never reused. */
    arrival: number
    is_trashed: Generated<number>
    status: string
    rfc_message_id: string | null
    message_key: string | null
    receipt_key: Uint8Array | null
    from_addr: string
    to_addr: string
    header_to: string | null
    delivery_role: string | null
    cc: string
    reply_to: string | null
    /** JSON: names by address key. */
    recipient_names: string | null
    reference_ids: string
    in_reply_to: string | null
    subject: string
    body_length: number
    body_text: string
    body_html: string
    extracted_text: string | null
    attachments: string
    authentication: string | null
    automatic_reason: string | null
    category: Generated<MessageCategory | null>
    judgement: Generated<string | null>
    failure_reason: string | null
    defects: string
    /** A JSON list; null for received messages. */
    to_addrs: Generated<string | null>
    /** A JSON list of a sent message's hidden recipients, or a received message's Bcc addresses. */
    bcc: Generated<string | null>
    scheduled_at: Generated<number | null>
    recipient: string | null
    /** 1 for imported mail, otherwise null. */
    is_imported: Generated<number | null>
    labels: Generated<string | null>
    /** A JSON list of the events in its calendar files; null without such files. */
    invites: Generated<string | null>
    created_at: number
  }
  events: {
    sequence: Generated<number>
    /** The inserting transaction on PostgreSQL; 0 on SQLite, where sequences follow the commits. */
    transaction_id: Generated<number>
    id: string
    kind: string
    account_id: string
    pod_id: string | null
    inbox_id: string | null
    thread_id: string | null
    message_id: string | null
    occurred_at: number
    details: string | null
    trace_parent: Generated<string | null>
    category: Generated<string | null>
  }
  event_readers: { name: string; transaction_id: number; sequence: number }
  pairings: {
    request_hash: Uint8Array
    user_code: string
    client_name: string | null
    client_address: string
    status: string
    account_id: string | null
    approved_by: string | null
    created_at: number
    expires_at: number
  }
  oauth_clients: TableOf<typeof oauthClients>
  connections: TableOf<typeof connections> & {
    redirect_uri: string
    code_challenge: string
    code_hash: Uint8Array
    redeemed_at: number | null
    ends_at: number
  }
  connection_tokens: {
    token_hash: Uint8Array
    connection_id: string
    account_id: string
    kind: 'access' | 'refresh'
    scopes: string
    expires_at: number
    replaced_at: number | null
  }
  connection_steps: TableOf<typeof connectionSteps>
  ended_sessions: { id: string; expires_at: number }
  rate_windows: { name: string; used: number; ends_at: number }
  slot_holders: { id: string; alive_until: number }
  held_slots: { id: string; name: string; holder: string }
  mail_hours: {
    account_id: string
    hour_at: number
    received: number
    sent: number
    failed: number
    latencies: string
  }
  inbox_days: {
    account_id: string
    day_at: number
    inbox_id: string
    received: number
    sent: number
    failed: number
  }
  webhooks: TableOf<typeof webhooks>
  webhook_deliveries: {
    id: string
    account_id: string
    lane: string
    event_id: string
    event_kind: string
    queue_state: string | null
    status: string
    attempts: number
    last_attempt_at: number | null
    next_attempt_at: number | null
    leased_by: string | null
    lease_until: number | null
    response_status: number | null
    response_body: string | null
    latency_ms: number | null
    error: string | null
    trace_parent: Generated<string | null>
    created_at: number
  }
  webhook_attempts: {
    delivery_id: string
    number: number
    lane: string
    attempted_at: number
    settled_at: number
    is_failure: number
    request_url: string | null
    request_headers: string | null
    response_status: number | null
    response_body: string | null
    latency_ms: number | null
    error: string | null
  }
  postmaster_messages: {
    raw_id: string
    receipt_key: Uint8Array | null
    recipient: string
    from_addr: string
    subject: string
    created_at: number
  }
  jobs: {
    kind: string
    /** A key that is unique within the kind. */
    key: string
    /** Empty for the work of the service itself. */
    account_id: string
    payload: string | null
    /**
     * When a worker may lease the job: at its next run or, while it is leased, when the lease ends.
     */
    due_at: number
    leased_by: Generated<string | null>
    /** The failures as JSON of `Trouble`. */
    trouble: Generated<string | null>
  }
  service_secrets: { name: string; value: Uint8Array }
  idempotency_keys: {
    account_id: string
    idempotency_key: string
    request_hash: Uint8Array
    answer: string
    created_at: number
  }
  account_counters: {
    account_id: string
    suppression_count: Generated<number>
    captured_count: Generated<number>
  }
  suppressions: TableOf<typeof suppressions>
  correspondents: {
    inbox_id: string
    address_key: string
    first_message_id: string | null
    /** The proof as a number; see `SenderProof`. */
    proof: Generated<number>
  }
  inbox_sends: { inbox_id: string; send_number: number; sent_at: number }
  /** Addresses that an inbox has written to, in messages that were queued. */
  written_to: { inbox_id: string; address_key: string }
  drafts: TableOf<typeof drafts>
  transfers: {
    id: string
    account_id: string
    kind: string
    pod_id: string | null
    inbox_id: string | null
    format: string
    status: string
    /** Number of exported messages, or of imported octets. */
    done_count: Generated<number>
    total_count: number
    imported_count: Generated<number>
    duplicate_count: Generated<number>
    failed_count: Generated<number>
    /** JSON of `ExportDetails` or `ImportDetails`, plus the `trouble` of an abandoned transfer. */
    details: string
    size_bytes: Generated<number>
    error: string | null
    created_at: number
    completed_at: number | null
    expires_at: number | null
  }
  transfer_chunks: {
    transfer_id: string
    start_bytes: number
    size_bytes: number
    id: string
    /** Null if the content is in the blob store. */
    content: Uint8Array | null
  }
  uploads: {
    id: string
    account_id: string
    status: string
    key_id: string | null
    filename: string
    content_type: string | null
    max_bytes: number
    size_bytes: Generated<number>
    sha256: Uint8Array | null
    created_at: number
    expires_at: number
  }
  erasures: {
    id: string
    account_id: string
    status: string
    address_key: string | null
    /** The counts as JSON of `ErasureCounts`. */
    counts: string
    /** Whether the erasure keeps the audit and its reviews unchanged. */
    keeps_audit: Generated<number>
    created_at: number
    completed_at: number | null
  }
  waiting_sends: {
    message_id: string
    account_id: string
    inbox_id: string
    /** Null if the message is sent as soon as it is approved. */
    release_at: number | null
    /** Null if the message is approved or needs no approval. */
    review_id: string | null
    /** Null unless the message was approved before its time. */
    approved_at: Generated<number | null>
    /** 1 if the send limits counted the message when it was filed. */
    is_counted: Generated<number>
    /** The envelope as JSON of `WaitingEnvelope`. */
    envelope: string
    created_at: number
  }
  reviews: TableOf<typeof reviews> & {
    kept_bytes: Generated<number>
    kept_until: number | null
    versions: Generated<string>
    comments: Generated<string>
  }
  /** Reviews that no mail to approvers has reported yet. */
  review_news: { review_id: string; account_id: string; created_at: number }
  cold_recipients: { inbox_id: string; utc_day: number; address_key: string }
  account_cold_days: { account_id: string; utc_day: number; recipient_count: number }
  deliveries: {
    id: string
    account_id: string
    inbox_id: string
    message_id: string
    raw_id: string
    size_bytes: number
    needs_smtputf8: number
    recipient: string
    return_path: string
    lane: string
    queue_state: string | null
    status: string
    attempts: number
    ambiguous_attempts: number
    last_attempt_at: number | null
    next_attempt_at: number | null
    expires_at: number
    leased_by: string | null
    lease_until: number | null
    host: string | null
    tls: string | null
    response_code: number | null
    enhanced_code: string | null
    response: string | null
    bounce_class: string | null
    trace_parent: Generated<string | null>
    created_at: number
  }
  sender_rules: TableOf<typeof senderRules>
  recipient_rules: TableOf<typeof recipientRules>
  policy_audit: TableOf<typeof auditEntries>
  quarantined_messages: TableOf<typeof quarantinedMessages> & {
    receipt_key: Uint8Array | null
    size_bytes: number
  }
  attachment_texts: {
    message_id: string
    filename: string
    account_id: string
    method: string
    text: string
    rest: string | null
    pages: number | null
    is_truncated: number
    why: string | null
    reader: string
    /** Octets of the text, as counted in inbox_counters. */
    stored_bytes: Generated<number>
    created_at: number
  }
  mentions: {
    message_id: string
    /** Empty for the message itself. */
    filename: string
    account_id: string
    inbox_id: string
    /** Null if the message must be searched, or if the file has not been read yet. */
    content: string | null
    copied: string
    proof: number
    received_at: number
  }
  captured_messages: {
    id: string
    account_id: string
    message_id: string
    recipients: string
    reverse_path: string
    created_at: number
  }
  search_inboxes: {
    number: Generated<number>
    inbox_id: string
    account_id: string
    indexed_arrival: Generated<number>
    is_purged: Generated<number>
    /** Number since the last round of erasing began; 0 on PostgreSQL. */
    removed_entries: Generated<number>
  }
}

export type Row<Table extends keyof Tables> = Selectable<Tables[Table]>
export type NewRow<Table extends keyof Tables> = Insertable<Tables[Table]>
export type Tx = AnyTx<Tables>
export type Db = AnyDb<Tables>
export type ReadDb = Pick<Db, 'read' | 'reading'>

/** Reads within a transaction see its own writes. */
export function readIn(tx: Tx): ReadDb {
  return { read: tx.query, reading: tx }
}

export type Page = { limit: number; offset: number }

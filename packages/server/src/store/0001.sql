-- The schema of version 0.1.0, for both engines. platform/db/migrate.ts replaces the tokens:
--   :key       text that is compared byte by byte
--   :int       an integer of 64 bits; a plain integer has at least 32
--   :bytes     binary data
--   :clustered ends a table of small rows, which SQLite keeps in the order of the primary key
--   :heap      ends a table of large rows, or one whose rows are found in other orders
--   :include   columns of a covering index on PostgreSQL; an index of SQLite has the primary key
-- A line that begins with :sqlite or :postgres is for that engine alone.
--
-- Times are milliseconds since the epoch, truth values 0 or 1. Rows of accounts have account_id.
-- Columns named *_count and *_bytes are kept by the transactions that change what they count.

-- Accounts and their keys

create table accounts (
  id :key not null primary key,
  name text not null, plan text not null, inbox_count :int not null default 0,
  pod_count :int not null default 0, domain_count :int not null default 0,
  sender_rule_count :int not null default 0, recipient_rule_count :int not null default 0,
  -- Inbound: 'none' accepts every sender that is not blocked, 'allowlist' only allowed senders.
  filter_mode text not null default 'none',
  -- JSON: mode and guards. Null in a pod or an inbox: inherited, as are filter_mode and
  -- retention_days.
  outbound_policy text,
  retention_days :int, -- Null: mail is kept forever.
  quota_exceeded_at :int, -- Set while mail is refused because the storage quota is exceeded.
  created_at :int not null
) :clustered;

create table account_counters (
  account_id :key not null primary key,
  suppression_count :int not null default 0, captured_count :int not null default 0
) :clustered;

create table api_keys (
  id :key not null primary key, account_id :key not null references accounts (id),
  name text, token_hash :bytes not null, token_prefix text not null, last4 text not null,
  created_at :int not null, last_used_at :int, revoked_at :int
) :clustered;
create unique index api_keys_by_token on api_keys (token_hash);
create index api_keys_by_account on api_keys (account_id, revoked_at, id);

-- People who decide about mail that a policy holds. Their tokens are no API keys, because an agent
-- may have all keys of its account. A deleted approver is kept for its decisions.
create table approvers (
  id :key not null primary key, account_id :key not null references accounts (id),
  name text not null, email text, token_hash :bytes not null,
  created_at :int not null, deleted_at :int
) :clustered;
create unique index approvers_by_token on approvers (token_hash);
create index approvers_by_account on approvers (account_id, deleted_at, id);

-- Clients that ask for a key: 'pending' until a person approves. Deleted once the key is taken or
-- denied.
create table pairings (
  request_hash :bytes not null primary key, -- SHA-256 of a secret of the client.
  user_code :key not null, client_name text, client_address text not null, status text not null,
  account_id :key, -- The account and the key that approved it.
  approved_by :key,
  created_at :int not null, expires_at :int not null
) :clustered;
create unique index pairings_by_code on pairings (user_code);
create index pairings_by_end on pairings (expires_at);

-- Sessions of the console that signed out early, by the SHA-256 of their secret.
create table ended_sessions (id :key not null primary key, expires_at :int not null) :clustered;
create index ended_sessions_by_end on ended_sessions (expires_at);

-- Pods and domains

create table pods (
  id :key not null primary key, account_id :key not null references accounts (id),
  client_id :key, name text, is_default integer not null, inbox_count :int not null default 0,
  domain_count :int not null default 0, filter_mode text, outbound_policy text, retention_days :int,
  created_at :int not null
) :clustered;
create unique index pods_by_client_id on pods (account_id, client_id) where client_id is not null;
create unique index pods_default on pods (account_id) where is_default = 1;
create index pods_by_account on pods (account_id, is_default desc, id desc);

create table domains (
  id :key not null primary key, account_id :key not null references accounts (id),
  pod_id :key references pods (id),
  domain text not null, status text not null,
  ownership_token text not null default '', -- The content of the TXT record that proves ownership.
  checks text not null default '[]', -- JSON list: the result of the last DNS check for each record.
  inbox_count :int not null default 0,
  -- Whether mail to the domain goes to this account: the one that verified it last.
  is_holder integer not null default 0,
  -- Whether MX and SPF name this service, so that bounces may come to an address on the domain.
  takes_bounces integer not null default 0,
  takes_subdomains integer not null default 0, catch_all_inbox_id :key,
  created_at :int not null, verified_at :int, degraded_at :int, last_checked_at :int,
  next_check_at :int -- Null: only on request.
) :clustered;
create unique index domains_by_name on domains (domain, account_id);
create index domains_by_account on domains (account_id, id desc);
create unique index domains_held on domains (domain) where is_holder = 1;
create index domains_due on domains (next_check_at) where next_check_at is not null;

create table dkim_keys (
  id :key not null primary key,
  owner_id :key not null, -- A domain, or 'service' for the inbox domain in the settings.
  domain text not null, selector :key not null,
  -- 'standby' (to be published), 'active' (signs), 'retiring' (published, no longer signs).
  state text not null,
  sealed_key :bytes not null,
  public_key text not null, -- Base64 of its SubjectPublicKeyInfo, as in the DNS record.
  is_required integer not null,
  published_at :int, -- When DNS was first seen to have it.
  activated_at :int, retired_at :int, created_at :int not null
) :clustered;
create unique index dkim_keys_by_owner on dkim_keys (owner_id, domain, selector);

-- Inboxes

create table inboxes (
  id :key not null primary key, account_id :key not null references accounts (id),
  pod_id :key not null references pods (id), domain_id :key,
  address :key not null,
  receiving_address :key, -- The address, or null once its domain belongs to another account.
  display_name text, metadata text, filter_mode text, outbound_policy text, retention_days :int,
  created_at :int not null,
  expires_at :int -- When the inbox deletes itself.
) :clustered;
create unique index inboxes_by_address on inboxes (receiving_address);
create index inboxes_by_account on inboxes (account_id, id desc);
create index inboxes_by_pod on inboxes (pod_id, id desc);
create index inboxes_by_domain on inboxes (domain_id) where domain_id is not null;
create index inboxes_expiring on inboxes (expires_at, id) where expires_at is not null;

create table inbox_counters (
  inbox_id :key not null primary key,
  -- Messages outside of the trash.
  inbound_count :int not null default 0, outbound_count :int not null default 0,
  last_arrival :int not null default 0, -- The arrival number that was given last.
  send_count :int not null default 0, -- The number of the last send that the limits count.
  thread_count :int not null default 0, unread_thread_count :int not null default 0,
  trashed_thread_count :int not null default 0, trashed_unread_count :int not null default 0,
  quarantined_count :int not null default 0, quarantined_bytes :int not null default 0,
  draft_count :int not null default 0,
  stored_bytes :int not null default 0
) :clustered;

-- The metadata of inboxes by which lists filter, each as "key=value".
create table inbox_facets (
  inbox_id :key not null, facet :key not null, account_id :key not null,
  primary key (inbox_id, facet)
) :clustered;
create index inbox_facets_by_account on inbox_facets (account_id, facet, inbox_id);

create table inbox_creations (
  account_id :key not null, created_at :int not null, inbox_id :key not null,
  primary key (account_id, created_at, inbox_id)
) :clustered;
create index inbox_creations_by_time on inbox_creations (created_at);

-- Addresses of deleted inboxes, for a while reserved for the account, or for one pod of it.
create table released_addresses (
  address :key not null primary key, account_id :key not null, pod_id :key,
  released_at :int not null
) :clustered;
create index released_addresses_by_time on released_addresses (released_at);
create index released_addresses_by_pod on released_addresses (pod_id) where pod_id is not null;

-- Threads

create table threads (
  id :key not null primary key, account_id :key not null, inbox_id :key not null,
  subject text not null,
  category text, -- The category of the newest received message.
  is_read integer not null,
  message_count :int not null,
  -- Messages received after read_arrival, an arrival number, in a thread that is not read.
  unread_count :int not null, read_arrival :int not null,
  removed_count :int not null default 0, -- Messages that were removed from the thread.
  last_message_at :int not null, -- The time of its newest message.
  participants text not null, -- JSON, newest first: [{ name, address }].
  snippet text not null,
  -- JSON list: the times of the latest sends that answered a program.
  automatic_sends text not null default '[]',
  -- JSON list: the times of the newest removed messages of programs.
  removed_automatic text not null default '[]',
  loop_suspected_at :int, -- When a send was last refused as a loop and an event was emitted for it.
  -- Set in the trash; 0 while the thread is being removed.
  trashed_at :int,
  -- Its messages are still being moved into the trash, or out of it.
  is_moving integer not null default 0,
  labels text, metadata text, -- JSON list, sorted, and object; null for none.
  assignee text, snoozed_until :int,
  facet_count :int not null default 0, -- The number of its rows in thread_facets.
  -- A claim gives the thread to one worker. The fence is raised by each claim, and never lowered.
  claim_owner text, claim_token_hash :bytes, claim_fence :int not null default 0,
  claim_lease_ms :int,
  claim_until :int, -- The end of the claim by the clock of the queue; the next by the wall clock.
  claim_expires_at :int,
  created_at :int not null
) :clustered;
-- With trashed_at, because SQLite would read each skipped thread for it.
create index threads_by_inbox on threads (inbox_id, last_message_at, id, trashed_at)
  where trashed_at is null;
create index threads_by_inbox_read on threads (inbox_id, is_read, last_message_at, id, trashed_at)
  where trashed_at is null;
create index threads_by_category
  on threads (inbox_id, category, last_message_at, id, is_read, trashed_at)
  where category is not null and trashed_at is null;
create index threads_in_trash on threads (inbox_id, last_message_at, id, is_read, trashed_at)
  where trashed_at > 0;
create index threads_by_snooze on threads (inbox_id, snoozed_until, id)
  where snoozed_until is not null;
create index threads_by_claim on threads (claim_until) where claim_until is not null;
create index threads_by_inbox_claim on threads (inbox_id, claim_until)
  where claim_until is not null;
create index threads_trashed on threads (trashed_at) where trashed_at is not null;
create index threads_moving on threads (id) where is_moving = 1;
-- An inbox has one account. The planner takes the columns for independent, expects far fewer rows
-- with both, and would sort all threads of an inbox for a page of fifty.
:postgres create statistics threads_inbox_account (dependencies)
:postgres   on inbox_id, account_id from threads;
-- A list skips an offset without reading rows only in pages that a vacuum has seen since they
-- changed. By default it waits until a fifth of the table has changed.
:postgres alter table threads set (
:postgres   autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 5000,
:postgres   autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
:postgres   autovacuum_analyze_scale_factor = 0.02, autovacuum_analyze_threshold = 1000
:postgres );

-- By which lists filter: "label=…", "assignee=…" or "metadata.key=value".
create table thread_facets (
  thread_id :key not null,
  facet :key not null, account_id :key not null, inbox_id :key not null,
  last_message_at :int not null, -- As in threads.
  is_trashed integer not null default 0,
  primary key (thread_id, facet)
) :clustered;
create index thread_facets_by_inbox
  on thread_facets (inbox_id, facet, is_trashed, last_message_at, thread_id);
-- As threads.
:postgres alter table thread_facets set (
:postgres   autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 5000,
:postgres   autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
:postgres   autovacuum_analyze_scale_factor = 0.02, autovacuum_analyze_threshold = 1000
:postgres );

-- Messages

create table messages (
  id :key not null primary key, account_id :key not null, inbox_id :key not null,
  thread_id :key not null, raw_id :key not null,
  direction text not null, status text not null,
  arrival :int not null, -- The number of the message in its inbox: ascending, never given twice.
  is_trashed integer not null default 0,
  -- Before the texts, because SQLite reads a row up to the last column that a query needs.
  created_at :int not null,
  failure_reason text, rfc_message_id :key,
  -- The Message-ID as it is compared, and a hash by which a repeated delivery is recognized.
  message_key :key, receipt_key :bytes,
  reference_ids text not null, from_addr text not null, to_addr text not null,
  to_addrs text, bcc text, -- JSON lists, of sent messages: recipients in To, and hidden ones.
  header_to text, cc text not null, reply_to text,
  recipient text, -- The address at RCPT as the client spelled it; null on sent messages.
  delivery_role text, subject text not null,
  body_length :int not null, -- Of text and HTML together, in UTF-16 units.
  body_text text not null, body_html text not null, -- Both '' if they are in long_bodies.
  extracted_text text, -- Null if it is all of body_text.
  attachments text not null,
  invites text, -- JSON: the events in calendar files; null for none.
  authentication text, automatic_reason text,
  category text, -- Null on sent messages.
  judgement text, -- JSON: { reasons, autoReplyable, verdict, spamScore }.
  defects text not null,
  labels text, -- JSON list, sorted; null for none.
  -- 1 for a message of an import; null for mail that the service received or sent.
  is_imported integer,
  scheduled_at :int
) :heap;
create unique index messages_by_arrival on messages (inbox_id, arrival);
-- Lists are read in these, where an offset is skipped; an arrival number is a place in the search.
create index messages_by_time on messages (inbox_id, created_at, id, arrival) where is_trashed = 0;
create index messages_by_direction on messages (inbox_id, direction, created_at, id)
  where is_trashed = 0;
create index messages_by_category on messages (inbox_id, category, created_at, id)
  where category is not null and is_trashed = 0;
create index messages_by_thread on messages (thread_id, created_at, id);
create index messages_with_attachments on messages (inbox_id, arrival) where attachments <> '[]';
-- For threading and duplicates.
create index messages_by_key on messages (inbox_id, message_key, arrival)
  where message_key is not null;
-- An import recognizes messages without a Message-ID by this key.
create index messages_without_id on messages (inbox_id, receipt_key)
  where message_key is null and receipt_key is not null;
-- Messages that are being delivered are not removed.
create index messages_pending on messages (thread_id) where status = 'pending';
:postgres create statistics messages_inbox_account (dependencies)
:postgres   on inbox_id, account_id from messages;
-- As threads.
:postgres alter table messages set (
:postgres   autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 5000,
:postgres   autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
:postgres   autovacuum_analyze_scale_factor = 0.02, autovacuum_analyze_threshold = 1000
:postgres );

-- One row per SMTP transaction, send, file of a draft or imported message.
create table raw_messages (
  id :key not null primary key,
  sha256 :bytes not null, size_bytes :int not null,
  content :bytes, -- Null if the bytes are in the blob store.
  reference_count :int not null, -- The number of rows that use it; it is removed with the last one.
  -- 'smtp', 'service' (sent by an inbox of this service) or 'sandbox' (simulated).
  origin text not null default 'smtp',
  -- Whether it has the X-Loop field of a service like this one.
  is_marked integer not null default 0,
  reverse_path text not null, client_address text, helo text, tls text,
  created_at :int not null
) :heap;

-- Long texts, once for all recipients of a raw message.
create table long_bodies (
  raw_id :key not null primary key,
  body_text text not null, body_html text not null, extracted_text text
) :heap;

create table message_labels (
  message_id :key not null,
  label :key not null, account_id :key not null, inbox_id :key not null,
  created_at :int not null, is_trashed integer not null default 0, -- As in messages.
  primary key (message_id, label)
) :clustered;
create index message_labels_by_inbox
  on message_labels (inbox_id, label, is_trashed, created_at, message_id);
-- As threads.
:postgres alter table message_labels set (
:postgres   autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 5000,
:postgres   autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
:postgres   autovacuum_analyze_scale_factor = 0.02, autovacuum_analyze_threshold = 1000
:postgres );

-- Removed messages, so that a wait that continues after one finds its arrival number.
create table removed_messages (
  id :key not null primary key, account_id :key not null, inbox_id :key not null,
  arrival :int not null, -- 0 for a thread.
  removed_at :int not null
) :clustered;
create index removed_messages_by_time on removed_messages (removed_at);

-- Attachments and search

create table attachment_texts (
  message_id :key not null,
  filename :key not null, account_id :key not null,
  method text not null, -- pdf, office, csv, text, html, ocr, unsupported, failed, too_large.
  -- The first 50,000 characters, which messages show; the remaining ones are in rest.
  text text not null,
  rest text, pages integer, is_truncated integer not null,
  why text, -- Why there is no text.
  -- The extractors available then. A file without text is tried again when they have changed.
  reader text not null,
  stored_bytes :int not null default 0,
  created_at :int not null,
  primary key (message_id, filename)
) :heap;

-- Links and codes in received mail of the last 30 days: a row per message, with filename '', and
-- one per attachment that has content of its own.
create table mentions (
  message_id :key not null,
  filename :key not null, account_id :key not null, inbox_id :key not null,
  content :key, -- In the format of mail-reading/mention-index.ts; null if not known yet.
  copied :key not null, -- JSON list: the addresses in To and Cc, without the inbox itself.
  proof integer not null, -- How well the sender is proven, as in correspondents.
  received_at :int not null,
  primary key (inbox_id, received_at, message_id, filename)
) :clustered;
create index mentions_by_message on mentions (message_id);
create index mentions_by_age on mentions (received_at);

create table search_inboxes (
  -- A part of each indexed word, so that a search reads the words of one inbox only. Never reused.
  :sqlite number integer primary key autoincrement,
  :postgres number bigint generated always as identity primary key,
  inbox_id :key not null, account_id :key not null,
  indexed_arrival :int not null default 0, -- Messages up to this arrival number are in the index.
  -- SQLite keeps words of removed entries in the file until that part of the index is rewritten:
  -- whether the inbox was deleted, and how many entries of it were removed.
  is_purged integer not null default 0,
  removed_entries :int not null default 0
) :heap;
create unique index search_inboxes_by_inbox on search_inboxes (inbox_id);
:sqlite create index search_inboxes_purged on search_inboxes (number) where is_purged = 1;
:sqlite create index search_inboxes_removed on search_inboxes (number) where removed_entries > 0;

-- The id combines the inbox's number and the message's arrival number. Words arrive normalized; the
-- tokenizer only splits at blanks. The service rewrites parts with removed entries itself, in small
-- steps: FTS5 would do it in transactions of seconds.
:sqlite create virtual table search_index using fts5 (
:sqlite   marks, subject, sender, recipients, body,
:sqlite   content = '', contentless_delete = 1,
:sqlite   tokenize = "ascii tokenchars '!#$%&*+-./:=?^_{|}~@'"
:sqlite );
:sqlite insert into search_index (search_index, rank) values ('deletemerge', 0);
-- Weights: A subject, B sender, C recipients, D text. Statistics over all inboxes say nothing about
-- one. Each search reads all pending entries, so that list is kept short.
:postgres create table search_index (id bigint not null primary key, words tsvector not null);
:postgres alter table search_index alter column words set statistics 0;
:postgres create index search_index_by_words on search_index using gin (words)
:postgres   with (gin_pending_list_limit = 1024);

-- Events, webhooks and statistics

-- Append-only. SQLite commits in the order of sequence. On PostgreSQL a smaller sequence may be
-- committed later, so the order of the log is (transaction_id, sequence), and readers stop at the
-- oldest open transaction.
create table events (
  :sqlite sequence integer primary key autoincrement,
  :sqlite transaction_id integer not null default 0,
  :postgres sequence bigint generated always as identity primary key,
  :postgres transaction_id bigint not null default (pg_current_xact_id()::text::bigint),
  id :key not null, kind text not null, category text,
  account_id :key not null, pod_id :key, inbox_id :key, thread_id :key, message_id :key,
  details text, -- JSON: what no other table has.
  -- The W3C traceparent of the span that wrote the row, in which a trace continues.
  trace_parent text,
  occurred_at :int not null
) :heap;
create unique index events_by_id on events (id);
create index events_by_time on events (occurred_at);
-- Events of a deleted inbox become 'erased' and remain only as cursors.
:sqlite create index events_by_account on events (account_id, sequence) where kind <> 'erased';
:sqlite create index events_by_inbox on events (inbox_id, sequence);
:postgres create index events_by_order on events (transaction_id, sequence);
:postgres create index events_by_account on events (account_id, transaction_id, sequence)
:postgres   where kind <> 'erased';
:postgres create index events_by_inbox on events (inbox_id, transaction_id, sequence);

-- How far each reader of the whole log has come.
create table event_readers (
  name :key not null primary key, transaction_id :int not null, sequence :int not null
) :clustered;
insert into event_readers (name, transaction_id, sequence)
values ('webhooks', 0, 0), ('figures', 0, 0), ('inbox_days', 0, 0);

create table webhooks (
  id :key not null primary key, account_id :key not null,
  inbox_id :key, -- Set if it is the webhookUrl of that inbox.
  url text not null,
  -- JSON lists; an empty one does not filter.
  event_types text not null, categories text not null default '[]', pod_ids text not null,
  inbox_ids text not null, is_enabled integer not null, disabled_reason text,
  disabled_at :int,
  -- The end of the log when it was enabled; later events are delivered.
  enabled_after_transaction_id :int not null, enabled_after_sequence :int not null,
  failing_since :int, -- The first failure since the last success.
  sealed_secrets :bytes not null, -- Sealed JSON: the signing secrets, newest first.
  created_at :int not null
) :clustered;
create index webhooks_by_account on webhooks (account_id, id desc);
create index webhooks_of_no_inbox on webhooks (account_id) where inbox_id is null;
create unique index webhooks_by_inbox on webhooks (inbox_id) where inbox_id is not null;

-- One row per event and webhook. queue_state as in deliveries; the lane is the webhook.
create table webhook_deliveries (
  id :key not null primary key, account_id :key not null,
  lane :key not null, event_id :key not null,
  event_kind text not null, queue_state text, status text not null, attempts integer not null,
  last_attempt_at :int, next_attempt_at :int, leased_by text, lease_until :int,
  response_status integer, response_body text, latency_ms integer, error text, trace_parent text,
  created_at :int not null
) :clustered;
create index webhook_deliveries_by_webhook on webhook_deliveries (lane, id desc);
create index webhook_deliveries_by_event on webhook_deliveries (event_id);
create index webhook_deliveries_by_time on webhook_deliveries (created_at);
create index webhook_deliveries_ready on webhook_deliveries (lane, next_attempt_at, id)
  where queue_state = 'ready';
create index webhook_deliveries_waiting on webhook_deliveries (next_attempt_at)
  where queue_state = 'waiting';
create index webhook_deliveries_leased on webhook_deliveries (lease_until)
  where queue_state = 'leased';
create index webhook_deliveries_ready_by_account
  on webhook_deliveries (account_id, lane, next_attempt_at, id)
  where queue_state >= 'ready' and queue_state <= 'ready';
-- The last failed attempt and the next attempt of a webhook that fails.
create index webhook_deliveries_failed on webhook_deliveries (lane, last_attempt_at)
  where error is not null;
create index webhook_deliveries_retried on webhook_deliveries (lane, next_attempt_at)
  where queue_state = 'waiting';

create table webhook_attempts (
  delivery_id :key not null references webhook_deliveries (id) on delete cascade,
  number integer not null, lane :key not null,
  attempted_at :int not null,
  settled_at :int not null, -- By the clock of the queue, as webhooks.failing_since.
  is_failure integer not null, -- Whether it counts against the webhook.
  -- Null if there was nothing to send. JSON, without the signatures.
  request_url text, request_headers text, response_status integer, response_body text,
  latency_ms integer, error text,
  primary key (delivery_id, number)
) :clustered;
create index webhook_attempts_failed on webhook_attempts (lane, settled_at) where is_failure = 1;

create table mail_hours (
  account_id :key not null,
  hour_at :int not null, received :int not null, sent :int not null, failed :int not null,
  -- JSON: how many messages took how long from acceptance to sent, by classes of time.
  latencies text not null,
  primary key (account_id, hour_at)
) :clustered;
create index mail_hours_by_time on mail_hours (hour_at);

-- By UTC day.
create table inbox_days (
  account_id :key not null,
  day_at :int not null, inbox_id :key not null,
  received :int not null, sent :int not null, failed :int not null,
  primary key (account_id, day_at, inbox_id)
) :clustered;
create index inbox_days_by_time on inbox_days (day_at);
create index inbox_days_by_inbox on inbox_days (inbox_id);

-- Policy and quarantine

create table sender_rules (
  id :key not null primary key, account_id :key not null, pod_id :key, inbox_id :key,
  type :key not null,
  value :key not null, -- An address or a domain, normalized.
  needs_verified integer not null,
  created_at :int not null
) :clustered;
create unique index sender_rules_by_value
  on sender_rules (account_id, value, type, coalesce(pod_id, ''), coalesce(inbox_id, ''));
create index sender_rules_by_account on sender_rules (account_id, id desc);
create index sender_rules_by_inbox on sender_rules (inbox_id) where inbox_id is not null;
create index sender_rules_by_pod on sender_rules (pod_id) where pod_id is not null;

create table recipient_rules (
  id :key not null primary key, account_id :key not null, pod_id :key, inbox_id :key,
  type :key not null, value :key not null,
  created_at :int not null
) :clustered;
create unique index recipient_rules_by_value
  on recipient_rules (account_id, value, type, coalesce(pod_id, ''), coalesce(inbox_id, ''));
create index recipient_rules_by_account on recipient_rules (account_id, id desc);
create index recipient_rules_by_inbox on recipient_rules (inbox_id) where inbox_id is not null;
create index recipient_rules_by_pod on recipient_rules (pod_id) where pod_id is not null;

-- Decisions of policy and changes of it. Rows outlive their inbox.
create table policy_audit (
  id :key not null primary key, account_id :key not null,
  direction :key not null, decision :key not null, pod_id :key, inbox_id :key,
  actor text, -- JSON: who made a change.
  details text not null, -- JSON: the reasons of a decision, or the change.
  created_at :int not null
) :clustered;
create index policy_audit_by_account
  on policy_audit (account_id, direction, decision, created_at desc, id desc);
create index policy_audit_by_time on policy_audit (created_at);

-- Received mail that a rule or a scanner kept out of an inbox.
create table quarantined_messages (
  id :key not null primary key, account_id :key not null, pod_id :key not null,
  inbox_id :key not null, raw_id :key not null,
  size_bytes :int not null, receipt_key :bytes, reason text not null, rule_id :key,
  from_addr text not null, to_addr text not null, recipient text, delivery_role text not null,
  subject text not null, reverse_path text not null, authentication text,
  category text not null, judgement text not null,
  created_at :int not null
) :clustered;
create index quarantined_messages_by_account on quarantined_messages (account_id, id desc);
create index quarantined_messages_by_inbox on quarantined_messages (inbox_id, id desc);
create index quarantined_messages_by_time on quarantined_messages (created_at);
create unique index quarantined_messages_by_receipt on quarantined_messages (inbox_id, receipt_key)
  where receipt_key is not null;

-- Mail to the postmaster of the service, for the operator.
create table postmaster_messages (
  raw_id :key not null primary key,
  receipt_key :bytes, recipient text not null, from_addr text not null, subject text not null,
  created_at :int not null
) :clustered;
create unique index postmaster_messages_by_receipt on postmaster_messages (receipt_key)
  where receipt_key is not null;
create index postmaster_messages_by_time on postmaster_messages (created_at);

-- Sending

create table suppressions (
  id :key not null primary key, account_id :key not null,
  address text not null, address_key :key not null, type text not null, reason text,
  created_at :int not null
) :clustered;
create unique index suppressions_by_address on suppressions (account_id, address_key);
create index suppressions_by_account on suppressions (account_id, id desc);

-- Addresses that have written to an inbox.
create table correspondents (
  inbox_id :key not null,
  address_key :key not null, first_message_id :key,
  -- How well it is proven that the address wrote: 0 not, 1 by the name in From alone, 2 by SPF or
  -- DKIM.
  proof integer not null default 0,
  primary key (inbox_id, address_key)
) :clustered;

-- Addresses to which an inbox has written: recipients of queued messages.
create table written_to (
  inbox_id :key not null, address_key :key not null,
  primary key (inbox_id, address_key)
) :clustered;

-- When the latest messages of an inbox were sent; send_number has no gaps.
create table inbox_sends (
  inbox_id :key not null, send_number :int not null, sent_at :int not null,
  primary key (inbox_id, send_number)
) :clustered;

-- Recipients that an inbox wrote to on a day without having heard from them; days since the epoch,
-- UTC.
create table cold_recipients (
  inbox_id :key not null, utc_day :int not null, address_key :key not null,
  primary key (inbox_id, utc_day, address_key)
) :clustered;
create index cold_recipients_by_day on cold_recipients (utc_day);

create table account_cold_days (
  account_id :key not null, utc_day :int not null, recipient_count :int not null,
  primary key (account_id, utc_day)
) :clustered;
create index account_cold_days_by_day on account_cold_days (utc_day);

create table idempotency_keys (
  account_id :key not null,
  idempotency_key :key not null, request_hash :bytes not null, answer text not null,
  created_at :int not null,
  primary key (account_id, idempotency_key)
) :clustered;
create index idempotency_keys_by_time on idempotency_keys (created_at);

create table drafts (
  id :key not null primary key, account_id :key not null, inbox_id :key not null,
  client_id :key,
  version :int not null, -- Raised by each change.
  content text not null, -- JSON: the fields of a send.
  attachments text not null, -- JSON list; the bytes of each file are a raw message.
  stored_bytes :int not null,
  created_at :int not null, updated_at :int not null
) :clustered;
create index drafts_by_inbox on drafts (inbox_id, id desc);
create unique index drafts_by_client_id on drafts (inbox_id, client_id) where client_id is not null;

-- One row per recipient of a sent message.
create table deliveries (
  id :key not null primary key, account_id :key not null, inbox_id :key not null,
  message_id :key not null, raw_id :key not null,
  size_bytes :int not null, needs_smtputf8 integer not null, return_path text not null,
  recipient :key not null,
  lane :key not null, -- The mail domain of the recipient.
  -- 'ready' (due), 'waiting' (for next_attempt_at), 'leased' (being attempted), null when done.
  queue_state :key,
  status text not null, attempts integer not null, ambiguous_attempts integer not null,
  last_attempt_at :int, next_attempt_at :int, expires_at :int not null, leased_by :key,
  lease_until :int, host text, tls text, response_code integer, enhanced_code text, response text,
  bounce_class text, -- 'hard', 'soft', 'policy' or 'full'.
  trace_parent text,
  created_at :int not null
) :clustered;
create index deliveries_by_message on deliveries (message_id, id);
create index deliveries_ready on deliveries (lane, next_attempt_at, id) where queue_state = 'ready';
create index deliveries_waiting on deliveries (next_attempt_at) where queue_state = 'waiting';
create index deliveries_leased on deliveries (lease_until) where queue_state = 'leased';
-- The condition differs from that of deliveries_ready so that the planner cannot choose the other
-- index, along which the lanes of all accounts would be read.
create index deliveries_ready_by_account on deliveries (account_id, lane, next_attempt_at, id)
  where queue_state >= 'ready' and queue_state <= 'ready';

-- Sandbox: one row per SMTP transaction that would have left the machine.
create table captured_messages (
  id :key not null primary key, account_id :key not null, message_id :key not null,
  reverse_path text not null default '', recipients text not null,
  created_at :int not null
) :clustered;
create index captured_messages_by_account on captured_messages (account_id, id desc);
create index captured_messages_by_time on captured_messages (created_at);
create index captured_messages_by_message on captured_messages (message_id);

-- Accepted sends that are not queued yet. The raw message is stored without its signature.
create table waiting_sends (
  message_id :key not null primary key, account_id :key not null, inbox_id :key not null,
  release_at :int, -- Null: as soon as it is approved.
  review_id :key, -- The review that holds it.
  approved_at :int, -- Only rules newer than the approval still stop it.
  -- Whether send limits have counted it: a held send counts when it is accepted.
  is_counted integer not null default 0,
  envelope text not null, -- JSON: envelope recipients and the extra header fields.
  created_at :int not null
) :clustered;
create index waiting_sends_due on waiting_sends (release_at) where review_id is null;
create index waiting_sends_by_inbox on waiting_sends (inbox_id, release_at, message_id);

create table reviews (
  id :key not null primary key, account_id :key not null, inbox_id :key not null,
  thread_id :key not null, message_id :key not null,
  status :key not null, reasons text not null, digest :key not null,
  -- JSON: the object that the digest covers, without subject and bodies, which are in the message.
  content text not null,
  -- Shared by reviews of messages that differ only in their threads; null for those listed one by
  -- one.
  equal_key :key,
  -- JSON: subject and bodies once the message is removed. The review is removed at kept_until.
  kept_texts text,
  kept_bytes :int not null default 0, kept_until :int,
  expires_at :int not null, decided_at :int,
  decided_by text, -- An approver.
  decided_reason text,
  created_at :int not null
) :clustered;
create index reviews_by_account on reviews (account_id, id desc);
create index reviews_by_status on reviews (account_id, status, id desc);
create index reviews_by_inbox on reviews (inbox_id);
create index reviews_by_message on reviews (message_id);
create index reviews_pending on reviews (expires_at) where status = 'pending';
create index reviews_equal on reviews (account_id, equal_key, id) where status = 'pending';
create index reviews_open on reviews (inbox_id, expires_at) where status = 'pending';
create index reviews_unkept on reviews (inbox_id) where kept_until is null;
create index reviews_kept on reviews (kept_until) where kept_until is not null;
create index reviews_kept_bytes on reviews (account_id, kept_bytes) where kept_until is not null;

-- Reviews for which approvers have not had mail yet.
create table review_news (
  review_id :key not null primary key, account_id :key not null, created_at :int not null
) :clustered;
create index review_news_by_time on review_news (created_at);
create index review_news_by_account on review_news (account_id);

-- Exports, imports and erasures

create table transfers (
  id :key not null primary key, account_id :key not null,
  kind text not null, -- 'export' or 'import'.
  pod_id :key, inbox_id :key,
  format text not null,
  -- 'receiving' (the file of an import arrives), 'queued', 'running', 'done', 'failed', 'expired'.
  status text not null,
  done_count :int not null default 0, -- Messages of an export, octets of an import.
  total_count :int not null, imported_count :int not null default 0,
  duplicate_count :int not null default 0, failed_count :int not null default 0,
  details text not null, -- JSON: where the work continues, and the first failures.
  size_bytes :int not null default 0, error text,
  created_at :int not null, completed_at :int,
  expires_at :int -- When the file is removed; the row follows later.
) :clustered;
create index transfers_by_account on transfers (account_id, kind, id desc);
create index transfers_open on transfers (id) where completed_at is null;
create index transfers_open_by_account on transfers (account_id) where completed_at is null;
create index transfers_by_expiry on transfers (expires_at) where expires_at is not null;

-- The file of a transfer. A chunk without content is in the blob store under its id.
create table transfer_chunks (
  transfer_id :key not null, start_bytes :int not null, size_bytes :int not null, id :key not null,
  content :bytes,
  primary key (transfer_id, start_bytes)
) :heap;
create unique index transfer_chunks_by_id on transfer_chunks (id);

-- Removal of everything about an address from an account.
create table erasures (
  id :key not null primary key, account_id :key not null,
  status text not null, -- 'queued', 'running', 'done'.
  address_key text, -- Null once it is erased.
  counts text not null, -- JSON: the number of removed rows of each kind.
  -- Whether the audit and its reviews stay: an API key asked, and the account has approvers.
  keeps_audit integer not null default 0,
  created_at :int not null, completed_at :int
) :clustered;
create index erasures_by_account on erasures (account_id, id desc);
create index erasures_open on erasures (id) where completed_at is null;
create index erasures_open_by_account on erasures (account_id, id) where completed_at is null;

-- The service itself

-- Work that a worker does under a lease: exports, purges, mail to approvers and so on.
create table jobs (
  kind :key not null,
  key :key not null, -- What it works on.
  account_id :key not null, -- Empty for the service's own work.
  payload text, -- JSON: what the work needs or has recorded.
  due_at :int not null, -- The next run or, while it is leased, the end of the lease.
  leased_by :key,
  trouble text, -- JSON: the failures since the last progress.
  primary key (kind, key)
) :clustered;
create index jobs_due on jobs (kind, due_at);
create index jobs_by_account on jobs (kind, account_id, key);

-- Blobs without a reference, to be removed.
create table unreferenced_blobs (id :key not null primary key) :clustered;

-- Uses of a limit by one key, such as 'requests:acc_…'. Filled where several processes share the database, and so are
-- the two tables below.
create table rate_windows (
  name :key not null primary key, used :int not null, ends_at :int not null
) :heap;
create index rate_windows_by_end on rate_windows (ends_at);

-- Processes that hold slots. After alive_until their slots are free.
create table slot_holders (id :key not null primary key, alive_until :int not null) :heap;
create index slot_holders_by_end on slot_holders (alive_until);

create table held_slots (
  id :key not null primary key, name :key not null, holder :key not null
) :heap;
create index held_slots_by_name on held_slots (name);
create index held_slots_by_holder on held_slots (holder);

create table service_secrets (name text not null primary key, value :bytes not null) :clustered;

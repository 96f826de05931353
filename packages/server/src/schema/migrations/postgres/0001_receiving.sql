-- Accounts, keys, pods, domains, inboxes, received mail, events and jobs.
-- Times are milliseconds since the epoch, truth values 0 or 1, lists JSON text.

create table accounts (
  id text collate "C" not null primary key,
  name text not null,
  plan text not null,
  inbox_count bigint not null default 0,
  pod_count bigint not null default 0,
  domain_count bigint not null default 0,
  created_at bigint not null
);

create table api_keys (
  id text collate "C" not null primary key,
  account_id text collate "C" not null references accounts (id),
  name text,
  token_hash bytea not null,
  token_prefix text not null,
  last4 text not null,
  created_at bigint not null,
  last_used_at bigint,
  revoked_at bigint
);
create unique index api_keys_by_token on api_keys (token_hash);
create index api_keys_by_account on api_keys (account_id, revoked_at, id);

create table pods (
  id text collate "C" not null primary key,
  account_id text collate "C" not null references accounts (id),
  client_id text collate "C",
  name text,
  is_default smallint not null,
  inbox_count bigint not null default 0,
  domain_count bigint not null default 0,
  created_at bigint not null
);
create unique index pods_by_client_id on pods (account_id, client_id) where client_id is not null;
create unique index pods_default on pods (account_id) where is_default = 1;
create index pods_by_account on pods (account_id, is_default desc, id desc);

-- A custom domain belongs to an account, or to one pod of it.
create table domains (
  id text collate "C" not null primary key,
  account_id text collate "C" not null references accounts (id),
  pod_id text collate "C" references pods (id),
  domain text not null,
  status text not null,
  created_at bigint not null,
  verified_at bigint,
  last_checked_at bigint
);
create unique index domains_by_name on domains (domain, account_id);
create index domains_by_account on domains (account_id, id desc);

create table inboxes (
  id text collate "C" not null primary key,
  account_id text collate "C" not null references accounts (id),
  pod_id text collate "C" not null references pods (id),
  address text collate "C" not null,
  display_name text,
  created_at bigint not null
);
create unique index inboxes_by_address on inboxes (address);
create index inboxes_by_account on inboxes (account_id, id desc);
create index inboxes_by_pod on inboxes (pod_id, id desc);

-- Totals of an inbox, and the last position given in it and in each direction.
create table inbox_counters (
  inbox_id text collate "C" not null primary key,
  inbound_count bigint not null default 0,
  outbound_count bigint not null default 0,
  thread_count bigint not null default 0,
  unread_thread_count bigint not null default 0
);

create table inbox_creations (
  account_id text collate "C" not null,
  created_at bigint not null,
  inbox_id text collate "C" not null,
  primary key (account_id, created_at, inbox_id)
);
create index inbox_creations_by_time on inbox_creations (created_at);

-- Addresses of deleted inboxes, kept for their account for a while.
create table released_addresses (
  address text collate "C" not null primary key,
  account_id text collate "C" not null,
  released_at bigint not null
);
create index released_addresses_by_time on released_addresses (released_at);

-- One row for each SMTP transaction; content is null when the bytes lie in the blob store.
create table raw_messages (
  id text collate "C" not null primary key,
  sha256 bytea not null,
  size_bytes bigint not null,
  content bytea,
  reference_count bigint not null,
  reverse_path text not null,
  client_address text,
  helo text,
  tls text,
  created_at bigint not null
);

-- Texts and HTML too long to stand in every recipient's message: once beside the raw message.
create table long_bodies (
  raw_id text collate "C" not null primary key,
  body_text text not null,
  body_html text not null,
  extracted_text text
);

create table threads (
  id text collate "C" not null primary key,
  account_id text collate "C" not null,
  inbox_id text collate "C" not null,
  subject text not null,
  is_read smallint not null,
  message_count bigint not null,
  last_message_at bigint not null,
  last_position bigint not null,
  created_at bigint not null
);
create index threads_by_inbox on threads (inbox_id, last_position);
create index threads_by_inbox_read on threads (inbox_id, is_read, last_position);

-- How many threads have their last message in each range of an inbox's positions: what makes a page
-- of threads deep in the list as quick to find as the first.
create table thread_ranges (
  inbox_id text collate "C" not null,
  position_range bigint not null,
  thread_count bigint not null,
  unread_count bigint not null,
  primary key (inbox_id, position_range)
);

create table messages (
  id text collate "C" not null primary key,
  account_id text collate "C" not null,
  inbox_id text collate "C" not null,
  thread_id text collate "C" not null,
  raw_id text collate "C" not null,
  direction text not null,
  position bigint not null,
  direction_position bigint not null,
  thread_position bigint not null,
  status text not null,
  rfc_message_id text collate "C",
  message_key text collate "C",
  receipt_key bytea,
  from_addr text not null,
  to_addr text not null,
  header_to text,
  delivery_role text,
  cc text not null,
  reply_to text,
  reference_ids text not null,
  subject text not null,
  -- Of text and HTML together, in UTF-16 units; long ones are in long_bodies and '' here.
  body_length bigint not null,
  body_text text not null,
  body_html text not null,
  -- Null where it is the whole of body_text, as it is in most mail.
  extracted_text text,
  attachments text not null,
  authentication text,
  automatic_reason text,
  failure_reason text,
  defects text not null,
  created_at bigint not null
);
create unique index messages_by_inbox on messages (inbox_id, position);
create unique index messages_by_direction on messages (inbox_id, direction, direction_position);
create unique index messages_by_thread on messages (thread_id, thread_position);
-- Threading and duplicates: the messages of an inbox with a given Message-ID, oldest first.
create index messages_by_key on messages (inbox_id, message_key, position)
  where message_key is not null;

-- Append-only. The sequence is given at the insert, before the commit: of two transactions at once the
-- one with the smaller number may be seen later, and one that fails leaves a gap.
create table events (
  sequence bigint generated always as identity primary key,
  id text collate "C" not null,
  kind text not null,
  account_id text collate "C" not null,
  pod_id text collate "C",
  inbox_id text collate "C",
  thread_id text collate "C",
  message_id text collate "C",
  occurred_at bigint not null
);
create unique index events_by_id on events (id);
create index events_by_time on events (occurred_at);
create index events_by_account on events (account_id, sequence);
create index events_by_inbox on events (inbox_id, sequence);

-- Mail to postmaster of the service, for the operator.
create table postmaster_messages (
  raw_id text collate "C" not null primary key,
  -- As in messages: null where the sender gave no Message-ID to recognise it by.
  receipt_key bytea,
  recipient text not null,
  from_addr text not null,
  subject text not null,
  created_at bigint not null
);
create unique index postmaster_messages_by_receipt on postmaster_messages (receipt_key)
  where receipt_key is not null;
create index postmaster_messages_by_time on postmaster_messages (created_at);

create table jobs (
  id text collate "C" not null primary key,
  kind text not null,
  payload text not null,
  run_at bigint not null,
  attempts integer not null default 0,
  leased_by text collate "C",
  lease_until bigint,
  created_at bigint not null
);
create index jobs_by_time on jobs (run_at, id);

create table service_secrets (
  name text not null primary key,
  value bytea not null
);

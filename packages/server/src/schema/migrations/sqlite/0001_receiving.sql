-- Accounts, keys, pods, domains, inboxes, received mail, events and jobs.
-- Times are milliseconds since the epoch, truth values 0 or 1, lists JSON text.

create table accounts (
  id text not null primary key,
  name text not null,
  plan text not null,
  inbox_count integer not null default 0,
  pod_count integer not null default 0,
  domain_count integer not null default 0,
  created_at integer not null
) strict, without rowid;

create table api_keys (
  id text not null primary key,
  account_id text not null references accounts (id),
  name text,
  token_hash blob not null,
  token_prefix text not null,
  last4 text not null,
  created_at integer not null,
  last_used_at integer,
  revoked_at integer
) strict, without rowid;
create unique index api_keys_by_token on api_keys (token_hash);
create index api_keys_by_account on api_keys (account_id, revoked_at, id);

create table pods (
  id text not null primary key,
  account_id text not null references accounts (id),
  client_id text,
  name text,
  is_default integer not null,
  inbox_count integer not null default 0,
  domain_count integer not null default 0,
  created_at integer not null
) strict, without rowid;
create unique index pods_by_client_id on pods (account_id, client_id) where client_id is not null;
create unique index pods_default on pods (account_id) where is_default = 1;
create index pods_by_account on pods (account_id, is_default desc, id desc);

-- A custom domain belongs to an account, or to one pod of it.
create table domains (
  id text not null primary key,
  account_id text not null references accounts (id),
  pod_id text references pods (id),
  domain text not null,
  status text not null,
  created_at integer not null,
  verified_at integer,
  last_checked_at integer
) strict, without rowid;
create unique index domains_by_name on domains (domain, account_id);
create index domains_by_account on domains (account_id, id desc);

create table inboxes (
  id text not null primary key,
  account_id text not null references accounts (id),
  pod_id text not null references pods (id),
  address text not null,
  display_name text,
  created_at integer not null
) strict, without rowid;
create unique index inboxes_by_address on inboxes (address);
create index inboxes_by_account on inboxes (account_id, id desc);
create index inboxes_by_pod on inboxes (pod_id, id desc);

-- Totals of an inbox, and the last position given in it and in each direction.
create table inbox_counters (
  inbox_id text not null primary key,
  inbound_count integer not null default 0,
  outbound_count integer not null default 0,
  thread_count integer not null default 0,
  unread_thread_count integer not null default 0
) strict, without rowid;

create table inbox_creations (
  account_id text not null,
  created_at integer not null,
  inbox_id text not null,
  primary key (account_id, created_at, inbox_id)
) strict, without rowid;
create index inbox_creations_by_time on inbox_creations (created_at);

-- Addresses of deleted inboxes, kept for their account for a while.
create table released_addresses (
  address text not null primary key,
  account_id text not null,
  released_at integer not null
) strict, without rowid;
create index released_addresses_by_time on released_addresses (released_at);

-- One row for each SMTP transaction; content is null when the bytes lie in the blob store.
create table raw_messages (
  id text not null primary key,
  sha256 blob not null,
  size_bytes integer not null,
  content blob,
  reference_count integer not null,
  reverse_path text not null,
  client_address text,
  helo text,
  tls text,
  created_at integer not null
) strict;

-- Texts and HTML too long to stand in every recipient's message: once beside the raw message.
create table long_bodies (
  raw_id text not null primary key,
  body_text text not null,
  body_html text not null,
  extracted_text text
) strict;

create table threads (
  id text not null primary key,
  account_id text not null,
  inbox_id text not null,
  subject text not null,
  is_read integer not null,
  message_count integer not null,
  last_message_at integer not null,
  last_position integer not null,
  created_at integer not null
) strict, without rowid;
create index threads_by_inbox on threads (inbox_id, last_position);
create index threads_by_inbox_read on threads (inbox_id, is_read, last_position);

-- How many threads have their last message in each range of an inbox's positions: what makes a page
-- of threads deep in the list as quick to find as the first.
create table thread_ranges (
  inbox_id text not null,
  position_range integer not null,
  thread_count integer not null,
  unread_count integer not null,
  primary key (inbox_id, position_range)
) strict, without rowid;

create table messages (
  id text not null primary key,
  account_id text not null,
  inbox_id text not null,
  thread_id text not null,
  raw_id text not null,
  direction text not null,
  position integer not null,
  direction_position integer not null,
  thread_position integer not null,
  status text not null,
  rfc_message_id text,
  message_key text,
  receipt_key blob,
  from_addr text not null,
  to_addr text not null,
  header_to text,
  delivery_role text,
  cc text not null,
  reply_to text,
  reference_ids text not null,
  subject text not null,
  -- Of text and HTML together, in UTF-16 units; long ones are in long_bodies and '' here.
  body_length integer not null,
  body_text text not null,
  body_html text not null,
  -- Null where it is the whole of body_text, as it is in most mail.
  extracted_text text,
  attachments text not null,
  authentication text,
  automatic_reason text,
  failure_reason text,
  defects text not null,
  created_at integer not null
) strict;
create unique index messages_by_inbox on messages (inbox_id, position);
create unique index messages_by_direction on messages (inbox_id, direction, direction_position);
create unique index messages_by_thread on messages (thread_id, thread_position);
-- Threading and duplicates: the messages of an inbox with a given Message-ID, oldest first.
create index messages_by_key on messages (inbox_id, message_key, position)
  where message_key is not null;

-- Append-only. One writer makes the sequence the order of commits, which PostgreSQL does not promise.
create table events (
  sequence integer primary key autoincrement,
  id text not null,
  kind text not null,
  account_id text not null,
  pod_id text,
  inbox_id text,
  thread_id text,
  message_id text,
  occurred_at integer not null
) strict;
create unique index events_by_id on events (id);
create index events_by_time on events (occurred_at);
create index events_by_account on events (account_id, sequence);
create index events_by_inbox on events (inbox_id, sequence);

-- Mail to postmaster of the service, for the operator.
create table postmaster_messages (
  raw_id text not null primary key,
  -- As in messages: null where the sender gave no Message-ID to recognise it by.
  receipt_key blob,
  recipient text not null,
  from_addr text not null,
  subject text not null,
  created_at integer not null
) strict, without rowid;
create unique index postmaster_messages_by_receipt on postmaster_messages (receipt_key)
  where receipt_key is not null;
create index postmaster_messages_by_time on postmaster_messages (created_at);

create table jobs (
  id text not null primary key,
  kind text not null,
  payload text not null,
  run_at integer not null,
  attempts integer not null default 0,
  leased_by text,
  lease_until integer,
  created_at integer not null
) strict, without rowid;
create index jobs_by_time on jobs (run_at, id);

create table service_secrets (
  name text not null primary key,
  value blob not null
) strict, without rowid;

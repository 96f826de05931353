-- Sending: idempotency keys, limits, suppressions, deliveries and what the sandbox captured.

-- Answers to sends, repeated to whoever asks again under the same key within a day.
create table idempotency_keys (
  account_id text collate "C" not null,
  idempotency_key text collate "C" not null,
  request_hash bytea not null,
  answer text not null,
  created_at bigint not null,
  primary key (account_id, idempotency_key)
);
create index idempotency_keys_by_time on idempotency_keys (created_at);

-- Totals of an account that its lists tell.
create table account_counters (
  account_id text collate "C" not null primary key,
  suppression_count bigint not null default 0,
  captured_count bigint not null default 0
);

create table suppressions (
  id text collate "C" not null primary key,
  account_id text collate "C" not null,
  address text not null,
  address_key text collate "C" not null,
  type text not null,
  reason text,
  created_at bigint not null
);
create unique index suppressions_by_address on suppressions (account_id, address_key);
create index suppressions_by_account on suppressions (account_id, id desc);

-- Who has written to an inbox: writing back to them is not cold.
create table correspondents (
  inbox_id text collate "C" not null,
  address_key text collate "C" not null,
  primary key (inbox_id, address_key)
);
insert into correspondents (inbox_id, address_key)
select distinct inbox_id, lower(regexp_replace(from_addr, '^.*<([^<>]*)>$', '\1'))
from messages
where direction = 'inbound' and from_addr like '%@%' and octet_length(from_addr) <= 600;

-- When the latest messages of an inbox were sent, numbered without gaps.
create table inbox_sends (
  inbox_id text collate "C" not null,
  send_number bigint not null,
  sent_at bigint not null,
  primary key (inbox_id, send_number)
);

-- Strangers that an inbox wrote to on a day (days since the epoch, UTC).
create table cold_recipients (
  inbox_id text collate "C" not null,
  utc_day bigint not null,
  address_key text collate "C" not null,
  primary key (inbox_id, utc_day, address_key)
);
create index cold_recipients_by_day on cold_recipients (utc_day);

create table account_cold_days (
  account_id text collate "C" not null,
  utc_day bigint not null,
  recipient_count bigint not null,
  primary key (account_id, utc_day)
);
create index account_cold_days_by_day on account_cold_days (utc_day);

-- One row for each recipient of a sent message. queue_state is 'ready' (due), 'waiting' (for its
-- time), 'leased' (being attempted), and null once the outcome is known.
create table deliveries (
  id text collate "C" not null primary key,
  account_id text collate "C" not null,
  inbox_id text collate "C" not null,
  message_id text collate "C" not null,
  raw_id text collate "C" not null,
  size_bytes bigint not null,
  needs_smtputf8 integer not null,
  recipient text collate "C" not null,
  lane text collate "C" not null,
  queue_state text collate "C",
  status text not null,
  attempts integer not null,
  ambiguous_attempts integer not null,
  last_attempt_at bigint,
  next_attempt_at bigint,
  expires_at bigint not null,
  leased_by text collate "C",
  lease_until bigint,
  host text,
  tls text,
  response_code integer,
  enhanced_code text,
  response text,
  created_at bigint not null
);
create index deliveries_by_message on deliveries (message_id, id);
create index deliveries_ready on deliveries (lane, next_attempt_at, id)
  where queue_state = 'ready';
create index deliveries_waiting on deliveries (next_attempt_at) where queue_state = 'waiting';
create index deliveries_leased on deliveries (lease_until) where queue_state = 'leased';

-- Mail that would have left the machine: one row for each SMTP transaction that it would have been.
create table captured_messages (
  id text collate "C" not null primary key,
  account_id text collate "C" not null,
  message_id text collate "C" not null,
  recipients text not null,
  created_at bigint not null
);
create index captured_messages_by_account on captured_messages (account_id, id desc);
create index captured_messages_by_time on captured_messages (created_at);
create index captured_messages_by_message on captured_messages (message_id);

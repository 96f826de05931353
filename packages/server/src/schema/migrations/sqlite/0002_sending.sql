-- Sending: idempotency keys, limits, suppressions, deliveries and what the sandbox captured.

-- Answers to sends, repeated to whoever asks again under the same key within a day.
create table idempotency_keys (
  account_id text not null,
  idempotency_key text not null,
  request_hash blob not null,
  answer text not null,
  created_at integer not null,
  primary key (account_id, idempotency_key)
) strict, without rowid;
create index idempotency_keys_by_time on idempotency_keys (created_at);

-- Totals of an account that its lists tell.
create table account_counters (
  account_id text not null primary key,
  suppression_count integer not null default 0,
  captured_count integer not null default 0
) strict, without rowid;

create table suppressions (
  id text not null primary key,
  account_id text not null,
  address text not null,
  address_key text not null,
  type text not null,
  reason text,
  created_at integer not null
) strict, without rowid;
create unique index suppressions_by_address on suppressions (account_id, address_key);
create index suppressions_by_account on suppressions (account_id, id desc);

-- Who has written to an inbox: writing back to them is not cold.
create table correspondents (
  inbox_id text not null,
  address_key text not null,
  primary key (inbox_id, address_key)
) strict, without rowid;
insert or ignore into correspondents (inbox_id, address_key)
select
  inbox_id,
  lower(
    case
      when from_addr like '%>'
      then rtrim(substr(from_addr, length(rtrim(from_addr, replace(from_addr, '<', ''))) + 1), '>')
      else from_addr
    end
  )
from messages
where direction = 'inbound' and from_addr like '%@%' and length(cast(from_addr as blob)) <= 600;

-- When the latest messages of an inbox were sent, numbered without gaps.
create table inbox_sends (
  inbox_id text not null,
  send_number integer not null,
  sent_at integer not null,
  primary key (inbox_id, send_number)
) strict, without rowid;

-- Strangers that an inbox wrote to on a day (days since the epoch, UTC).
create table cold_recipients (
  inbox_id text not null,
  utc_day integer not null,
  address_key text not null,
  primary key (inbox_id, utc_day, address_key)
) strict, without rowid;
create index cold_recipients_by_day on cold_recipients (utc_day);

create table account_cold_days (
  account_id text not null,
  utc_day integer not null,
  recipient_count integer not null,
  primary key (account_id, utc_day)
) strict, without rowid;
create index account_cold_days_by_day on account_cold_days (utc_day);

-- One row for each recipient of a sent message. queue_state is 'ready' (due), 'waiting' (for its
-- time), 'leased' (being attempted), and null once the outcome is known.
create table deliveries (
  id text not null primary key,
  account_id text not null,
  inbox_id text not null,
  message_id text not null,
  raw_id text not null,
  size_bytes integer not null,
  needs_smtputf8 integer not null,
  recipient text not null,
  lane text not null,
  queue_state text,
  status text not null,
  attempts integer not null,
  ambiguous_attempts integer not null,
  last_attempt_at integer,
  next_attempt_at integer,
  expires_at integer not null,
  leased_by text,
  lease_until integer,
  host text,
  tls text,
  response_code integer,
  enhanced_code text,
  response text,
  created_at integer not null
) strict, without rowid;
create index deliveries_by_message on deliveries (message_id, id);
create index deliveries_ready on deliveries (lane, next_attempt_at, id)
  where queue_state = 'ready';
create index deliveries_waiting on deliveries (next_attempt_at) where queue_state = 'waiting';
create index deliveries_leased on deliveries (lease_until) where queue_state = 'leased';

-- Mail that would have left the machine: one row for each SMTP transaction that it would have been.
create table captured_messages (
  id text not null primary key,
  account_id text not null,
  message_id text not null,
  recipients text not null,
  created_at integer not null
) strict, without rowid;
create index captured_messages_by_account on captured_messages (account_id, id desc);
create index captured_messages_by_time on captured_messages (created_at);
create index captured_messages_by_message on captured_messages (message_id);

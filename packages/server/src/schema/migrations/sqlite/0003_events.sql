-- Events reach their readers: what an event says beside its message, where readers of the log are,
-- webhooks and their deliveries.

-- With the sequence, the order of the log; 0 where sequences are given in the order of commits.
alter table events add column transaction_id integer not null default 0;
-- What an event says that no other table does, as the JSON text of an object.
alter table events add column details text;
drop index events_by_account;
-- What stays of the events of a deleted inbox is a place to go on from, and no list passes over it.
create index events_by_account on events (account_id, sequence) where kind <> 'erased';

-- How far a reader of the whole log has come.
create table event_readers (
  name text not null primary key,
  transaction_id integer not null,
  sequence integer not null
) strict, without rowid;
insert into event_readers (name, transaction_id, sequence)
select 'webhooks', coalesce(max(transaction_id), 0), coalesce(max(sequence), 0) from events;

create table webhooks (
  id text not null primary key,
  account_id text not null,
  -- Of the shorthand: the inbox whose webhookUrl this is.
  inbox_id text,
  url text not null,
  -- Lists; an empty one leaves nothing out.
  event_types text not null,
  pod_ids text not null,
  inbox_ids text not null,
  is_enabled integer not null,
  disabled_reason text,
  disabled_at integer,
  -- Where the log ended when it was enabled: events behind it are delivered.
  enabled_after_transaction_id integer not null,
  enabled_after_sequence integer not null,
  -- The first failure since the last success.
  failing_since integer,
  -- Sealed JSON: the secrets that sign, the newest first.
  sealed_secrets blob not null,
  created_at integer not null
) strict, without rowid;
create index webhooks_by_account on webhooks (account_id, id desc);
-- Few beside those of inboxes, of which an account may have as many as inboxes.
create index webhooks_of_no_inbox on webhooks (account_id) where inbox_id is null;
create unique index webhooks_by_inbox on webhooks (inbox_id) where inbox_id is not null;

-- One row for each event and webhook that it goes to. queue_state as in deliveries; the lane is the
-- webhook.
create table webhook_deliveries (
  id text not null primary key,
  account_id text not null,
  lane text not null,
  event_id text not null,
  event_kind text not null,
  queue_state text,
  status text not null,
  attempts integer not null,
  last_attempt_at integer,
  next_attempt_at integer,
  leased_by text,
  lease_until integer,
  response_status integer,
  response_body text,
  latency_ms integer,
  error text,
  created_at integer not null
) strict, without rowid;
create index webhook_deliveries_by_webhook on webhook_deliveries (lane, id desc);
create index webhook_deliveries_by_event on webhook_deliveries (event_id);
create index webhook_deliveries_by_time on webhook_deliveries (created_at);
create index webhook_deliveries_ready on webhook_deliveries (lane, next_attempt_at, id)
  where queue_state = 'ready';
create index webhook_deliveries_waiting on webhook_deliveries (next_attempt_at)
  where queue_state = 'waiting';
create index webhook_deliveries_leased on webhook_deliveries (lease_until)
  where queue_state = 'leased';

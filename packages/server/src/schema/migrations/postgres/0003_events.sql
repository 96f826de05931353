-- Events reach their readers: what an event says beside its message, where readers of the log are,
-- webhooks and their deliveries.

-- With the sequence, the order of the log: sequences are given at the insert, not at the commit, and
-- readers go no further than the oldest transaction under way.
alter table events add column transaction_id bigint not null
  default (pg_current_xact_id()::text::bigint);
-- What an event says that no other table does, as the JSON text of an object.
alter table events add column details text;
create index events_by_order on events (transaction_id, sequence);
drop index events_by_account;
-- What stays of the events of a deleted inbox is a place to go on from, and no list passes over it.
create index events_by_account on events (account_id, transaction_id, sequence)
  where kind <> 'erased';
drop index events_by_inbox;
create index events_by_inbox on events (inbox_id, transaction_id, sequence);

-- How far a reader of the whole log has come.
create table event_readers (
  name text collate "C" not null primary key,
  transaction_id bigint not null,
  sequence bigint not null
);
insert into event_readers (name, transaction_id, sequence)
select 'webhooks', coalesce(max(transaction_id), 0), coalesce(max(sequence), 0) from events;

create table webhooks (
  id text collate "C" not null primary key,
  account_id text collate "C" not null,
  -- Of the shorthand: the inbox whose webhookUrl this is.
  inbox_id text collate "C",
  url text not null,
  -- Lists; an empty one leaves nothing out.
  event_types text not null,
  pod_ids text not null,
  inbox_ids text not null,
  is_enabled bigint not null,
  disabled_reason text,
  disabled_at bigint,
  -- Where the log ended when it was enabled: events behind it are delivered.
  enabled_after_transaction_id bigint not null,
  enabled_after_sequence bigint not null,
  -- The first failure since the last success.
  failing_since bigint,
  -- Sealed JSON: the secrets that sign, the newest first.
  sealed_secrets bytea not null,
  created_at bigint not null
);
create index webhooks_by_account on webhooks (account_id, id desc);
-- Few beside those of inboxes, of which an account may have as many as inboxes.
create index webhooks_of_no_inbox on webhooks (account_id) where inbox_id is null;
create unique index webhooks_by_inbox on webhooks (inbox_id) where inbox_id is not null;

-- One row for each event and webhook that it goes to. queue_state as in deliveries; the lane is the
-- webhook.
create table webhook_deliveries (
  id text collate "C" not null primary key,
  account_id text collate "C" not null,
  lane text collate "C" not null,
  event_id text collate "C" not null,
  event_kind text not null,
  queue_state text,
  status text not null,
  attempts bigint not null,
  last_attempt_at bigint,
  next_attempt_at bigint,
  leased_by text,
  lease_until bigint,
  response_status bigint,
  response_body text,
  latency_ms bigint,
  error text,
  created_at bigint not null
);
create index webhook_deliveries_by_webhook on webhook_deliveries (lane, id desc);
create index webhook_deliveries_by_event on webhook_deliveries (event_id);
create index webhook_deliveries_by_time on webhook_deliveries (created_at);
create index webhook_deliveries_ready on webhook_deliveries (lane, next_attempt_at, id)
  where queue_state = 'ready';
create index webhook_deliveries_waiting on webhook_deliveries (next_attempt_at)
  where queue_state = 'waiting';
create index webhook_deliveries_leased on webhook_deliveries (lease_until)
  where queue_state = 'leased';

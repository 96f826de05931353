-- Sends to several recipients, and sends that wait for a person or for their time.

-- Of sent messages: all recipients of the To field, and the hidden ones, as JSON lists. Null in messages of
-- before: to_addr alone, and none.
alter table messages add column to_addrs text;
alter table messages add column bcc text;
alter table messages add column scheduled_at bigint;

-- Sent messages that were never queued: those that wait, and those that were cancelled or rejected. Limits of sends
-- count the others.
alter table inbox_counters add column unsent_count bigint not null default 0;

-- Accepted messages that are not queued yet: until their time (release_at), until a person approves them
-- (review_id), or both. The message is stored without its signature.
create table waiting_sends (
  message_id text collate "C" not null primary key,
  account_id text collate "C" not null,
  inbox_id text collate "C" not null,
  -- Null: as soon as it is approved.
  release_at bigint,
  -- Null once approved, or when nothing holds it.
  review_id text collate "C",
  is_approved smallint not null default 0,
  -- JSON: envelope recipients and the extra header fields.
  envelope text not null,
  created_at bigint not null
);
create index waiting_sends_due on waiting_sends (release_at) where review_id is null;
create index waiting_sends_by_inbox on waiting_sends (inbox_id, release_at, message_id);

create table reviews (
  id text collate "C" not null primary key,
  account_id text collate "C" not null,
  inbox_id text collate "C" not null,
  thread_id text collate "C" not null,
  message_id text collate "C" not null,
  status text collate "C" not null,
  reasons text not null,
  digest text collate "C" not null,
  -- JSON: the object whose canonical form the digest covers, without subject and bodies, which the message has.
  content text not null,
  expires_at bigint not null,
  decided_at bigint,
  -- Id of the approver; null when nobody decided.
  decided_by text,
  decided_reason text,
  created_at bigint not null
);
create index reviews_by_account on reviews (account_id, id desc);
create index reviews_by_status on reviews (account_id, status, id desc);
create index reviews_by_inbox on reviews (inbox_id);
create index reviews_pending on reviews (expires_at) where status = 'pending';

-- Whom an inbox has written to: messages that were queued, not those that wait.
create table written_to (
  inbox_id text collate "C" not null,
  address_key text collate "C" not null,
  primary key (inbox_id, address_key)
);

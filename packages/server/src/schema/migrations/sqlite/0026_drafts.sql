-- Messages that are not sent yet.
create table drafts (
  id text not null primary key,
  account_id text not null,
  inbox_id text not null,
  client_id text,
  -- Raised by every change.
  version integer not null,
  -- JSON: the fields of a send.
  content text not null,
  -- JSON list; the bytes of each file are a raw message.
  attachments text not null,
  -- Of the content and the files, as counted in inbox_counters.
  stored_bytes integer not null,
  created_at integer not null,
  updated_at integer not null
) strict, without rowid;
create index drafts_by_inbox on drafts (inbox_id, id desc);
create unique index drafts_by_client_id on drafts (inbox_id, client_id) where client_id is not null;

alter table inbox_counters add column draft_count integer not null default 0;

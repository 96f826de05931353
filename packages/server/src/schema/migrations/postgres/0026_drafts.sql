-- Messages that are not sent yet.
create table drafts (
  id text collate "C" not null primary key,
  account_id text collate "C" not null,
  inbox_id text collate "C" not null,
  client_id text collate "C",
  -- Raised by every change.
  version bigint not null,
  -- JSON: the fields of a send.
  content text not null,
  -- JSON list; the bytes of each file are a raw message.
  attachments text not null,
  -- Of the content and the files, as counted in inbox_counters.
  stored_bytes bigint not null,
  created_at bigint not null,
  updated_at bigint not null
);
create index drafts_by_inbox on drafts (inbox_id, id desc);
create unique index drafts_by_client_id on drafts (inbox_id, client_id) where client_id is not null;

alter table inbox_counters add column draft_count bigint not null default 0;

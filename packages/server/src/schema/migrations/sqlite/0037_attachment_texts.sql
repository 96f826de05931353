-- The text of attachments, and the messages whose attachments are still to be read.
create table attachment_texts (
  message_id text not null,
  filename text not null,
  account_id text not null,
  -- pdf, office, csv, text, html, ocr, unsupported, failed, too_large.
  method text not null,
  -- The first 50,000 characters, which messages show; empty where nothing could be read.
  text text not null,
  -- What follows them; null for nothing.
  rest text,
  pages integer,
  is_truncated integer not null,
  -- Why nothing could be read.
  why text,
  -- Names what the service could read then: a file that could not be read is read again by another one.
  reader text not null,
  created_at integer not null,
  primary key (message_id, filename)
) strict;

create table attachment_reads (
  message_id text not null primary key,
  account_id text not null,
  attempts integer not null default 0,
  leased_by text,
  lease_until integer,
  created_at integer not null
) strict, without rowid;
create index attachment_reads_by_account on attachment_reads (account_id, message_id);

-- Files of mail, out of the service and into it, each a job of its own.
create table transfers (
  id text not null primary key,
  account_id text not null,
  -- export or import.
  kind text not null,
  pod_id text,
  inbox_id text,
  format text not null,
  -- receiving (the file of an import arrives), queued, running, done, failed, expired.
  status text not null,
  -- Messages of an export, octets of an import.
  done_count integer not null default 0,
  total_count integer not null,
  imported_count integer not null default 0,
  duplicate_count integer not null default 0,
  failed_count integer not null default 0,
  -- JSON: where the work goes on, and the first failures.
  details text not null,
  size_bytes integer not null default 0,
  error text,
  leased_by text,
  lease_until integer,
  created_at integer not null,
  completed_at integer,
  -- When the file is removed, and the row a while later.
  expires_at integer
) strict, without rowid;
create index transfers_by_account on transfers (account_id, kind, id desc);
create index transfers_open on transfers (id) where completed_at is null;
create index transfers_by_expiry on transfers (expires_at) where expires_at is not null;

-- The file of a transfer in pieces; a piece without content is in the blob store, under its id.
create table transfer_chunks (
  transfer_id text not null,
  start_bytes integer not null,
  size_bytes integer not null,
  id text not null,
  content blob,
  primary key (transfer_id, start_bytes)
) strict;
create unique index transfer_chunks_by_id on transfer_chunks (id);

-- 1 for a message of an imported file; null for mail that the service received or sent.
alter table messages add column is_imported integer;
-- By this key an import recognises messages without a Message-ID.
create index messages_without_id on messages (inbox_id, receipt_key) where message_key is null and receipt_key is not null;

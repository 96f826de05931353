-- Files of mail, out of the service and into it, each a job of its own.
-- Without a transaction.
create table if not exists transfers (
  id text collate "C" not null primary key,
  account_id text collate "C" not null,
  -- export or import.
  kind text not null,
  pod_id text collate "C",
  inbox_id text collate "C",
  format text not null,
  -- receiving (the file of an import arrives), queued, running, done, failed, expired.
  status text not null,
  -- Messages of an export, octets of an import.
  done_count bigint not null default 0,
  total_count bigint not null,
  imported_count bigint not null default 0,
  duplicate_count bigint not null default 0,
  failed_count bigint not null default 0,
  -- JSON: where the work goes on, and the first failures.
  details text not null,
  size_bytes bigint not null default 0,
  error text,
  leased_by text collate "C",
  lease_until bigint,
  created_at bigint not null,
  completed_at bigint,
  -- When the file is removed, and the row a while later.
  expires_at bigint
);
create index if not exists transfers_by_account on transfers (account_id, kind, id desc);
create index if not exists transfers_open on transfers (id) where completed_at is null;
create index if not exists transfers_by_expiry on transfers (expires_at) where expires_at is not null;

-- The file of a transfer in pieces; a piece without content is in the blob store, under its id.
create table if not exists transfer_chunks (
  transfer_id text collate "C" not null,
  start_bytes bigint not null,
  size_bytes bigint not null,
  id text collate "C" not null,
  content bytea,
  primary key (transfer_id, start_bytes)
);
create unique index if not exists transfer_chunks_by_id on transfer_chunks (id);

-- 1 for a message of an imported file; null for mail that the service received or sent.
alter table messages add column if not exists is_imported integer;
-- By this key an import recognises messages without a Message-ID.
create index concurrently if not exists messages_without_id on messages (inbox_id, receipt_key) where message_key is null and receipt_key is not null;

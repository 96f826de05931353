-- Erasures: jobs that remove everything of an address from an account.
create table erasures (
  id text not null primary key,
  account_id text not null,
  -- queued, running, done.
  status text not null,
  -- In its form for comparison; null once it is erased.
  address_key text,
  -- JSON: how many of each kind are removed.
  counts text not null,
  leased_by text,
  lease_until integer,
  created_at integer not null,
  completed_at integer
) strict, without rowid;
create index erasures_by_account on erasures (account_id, id desc);
create index erasures_open on erasures (id) where completed_at is null;

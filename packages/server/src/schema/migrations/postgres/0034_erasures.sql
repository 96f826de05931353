-- Erasures: jobs that remove everything of an address from an account.
create table erasures (
  id text collate "C" not null primary key,
  account_id text collate "C" not null,
  -- queued, running, done.
  status text not null,
  -- In its form for comparison; null once it is erased.
  address_key text,
  -- JSON: how many of each kind are removed.
  counts text not null,
  leased_by text collate "C",
  lease_until bigint,
  created_at bigint not null,
  completed_at bigint
);
create index erasures_by_account on erasures (account_id, id desc);
create index erasures_open on erasures (id) where completed_at is null;

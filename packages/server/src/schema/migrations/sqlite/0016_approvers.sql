-- The people who decide about mail that a policy holds back. Their tokens are apart from the keys of the account,
-- which an agent may hold all of. A deleted approver is kept for what it decided.
create table approvers (
  id text not null primary key,
  account_id text not null references accounts (id),
  name text not null,
  email text,
  token_hash blob not null,
  created_at integer not null,
  deleted_at integer
) strict, without rowid;
create unique index approvers_by_token on approvers (token_hash);
create index approvers_by_account on approvers (account_id, deleted_at, id);

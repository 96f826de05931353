-- Limits that several processes share.

-- Processes that hold something of a budget. One that has not renewed until alive_until may be marked as
-- gone by any other, and what it held is given back.
create table budget_holders (
  id text collate "C" not null primary key,
  alive_until bigint not null,
  is_gone integer not null default 0
);
create index budget_holders_by_end on budget_holders (alive_until);

-- name: what is limited and of whom, such as 'requests acc_…'. state: JSON, who holds how many tokens,
-- and when those that were used may be used again.
create table budgets (
  name text collate "C" not null primary key,
  state text not null,
  ends_at bigint not null
);
create index budgets_by_end on budgets (ends_at);

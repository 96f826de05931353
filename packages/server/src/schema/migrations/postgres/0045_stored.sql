-- Storage of texts, turns of transfers, and open erasures.
-- Without a transaction.

-- Octets of the text as counted in inbox_counters; 0 in texts of before, which are not counted.
alter table attachment_texts add column if not exists stored_bytes bigint not null default 0;

-- When a worker last left it for others, or it was made: accounts that were served least recently come first.
alter table transfers add column if not exists served_at bigint not null default 0;
create index concurrently if not exists transfers_open_by_account on transfers (account_id, served_at) where completed_at is null;

-- Erasures of an account that are not done.
create index concurrently if not exists erasures_open_by_account on erasures (account_id, id) where completed_at is null;

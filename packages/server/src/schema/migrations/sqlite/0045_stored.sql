-- Octets of the text as counted in inbox_counters; 0 in texts of before, which are not counted.
alter table attachment_texts add column stored_bytes integer not null default 0;

-- When a worker last left it for others, or it was made: accounts that were served least recently come first.
alter table transfers add column served_at integer not null default 0;
create index transfers_open_by_account on transfers (account_id, served_at) where completed_at is null;

-- Erasures of an account that are not done.
create index erasures_open_by_account on erasures (account_id, id) where completed_at is null;

-- How much an account stores: octets of its messages as they came, counted by their inboxes. What is there
-- already, and what a program of before adds, is counted in small steps by the hourly upkeep.

alter table inbox_counters add column stored_bytes integer not null default 0;
-- Messages up to this position are in stored_bytes.
alter table inbox_counters add column counted_position integer not null default 0;
alter table inbox_counters add column quarantined_bytes integer not null default 0;
-- As it is in quarantined_bytes; null for what is not.
alter table quarantined_messages add column size_bytes integer;
-- Since when mail to the account is refused, as was told; null while it is not.
alter table accounts add column quota_exceeded_at integer;

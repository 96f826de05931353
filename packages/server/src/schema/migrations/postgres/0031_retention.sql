-- For how many days mail is kept; null: as the pod or the account says, there null: forever.
-- Without a transaction.
alter table accounts add column if not exists retention_days bigint;
alter table pods add column if not exists retention_days bigint;
alter table inboxes add column if not exists retention_days bigint;
-- When the inbox deletes itself; null: never.
alter table inboxes add column if not exists expires_at bigint;
create index concurrently if not exists inboxes_expiring on inboxes (expires_at, id) where expires_at is not null;

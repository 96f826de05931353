-- For how many days mail is kept; null: as the pod or the account says, there null: forever.
alter table accounts add column retention_days integer;
alter table pods add column retention_days integer;
alter table inboxes add column retention_days integer;
-- When the inbox deletes itself; null: never.
alter table inboxes add column expires_at integer;
create index inboxes_expiring on inboxes (expires_at, id) where expires_at is not null;

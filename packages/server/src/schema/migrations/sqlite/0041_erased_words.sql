-- Entries that were removed from the index, while its file still holds words of theirs.
alter table search_inboxes add column removed_entries integer not null default 0;
create index search_inboxes_removed on search_inboxes (number) where removed_entries > 0;

-- FTS5 would rewrite a part of the index of which a tenth is removed, in transactions of seconds. The service rewrites it
-- in small steps, when it has time.
insert into search_index (search_index, rank) values ('deletemerge', 0);

-- Search: up to which position the entries of an inbox have the names of files. Entries behind it are written again in
-- the background; the default says so of all that there are.
alter table search_inboxes add column if not exists named_position bigint not null default 0;

-- Of SQLite, whose index keeps words of removed entries for a while; here it stays 0.
alter table search_inboxes add column if not exists removed_entries bigint not null default 0;

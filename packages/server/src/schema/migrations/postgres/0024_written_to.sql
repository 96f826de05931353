-- Sent messages of an inbox, in their order, whose recipients are in written_to. Those that are there already, and those
-- that a program of before sends, are noted in small steps by the hourly upkeep.
alter table inbox_counters add column noted_count bigint not null default 0;

-- What lists show of a thread: who takes part, how its newest message begins, how much of it is unread.
-- Threads of before, and those that a program of before adds messages to, are summed up when they are listed.

-- JSON: [{ name, address }], the newest first.
alter table threads add column participants text;
alter table threads add column snippet text;
-- How many messages the two above stand for: they hold where this is message_count.
alter table threads add column summary_count integer not null default 0;
-- How many messages the thread had when it was last read, as far as that is known.
alter table threads add column read_count integer not null default 0;

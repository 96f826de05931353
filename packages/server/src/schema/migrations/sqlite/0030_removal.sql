-- Messages and threads are removed one by one, or wait in the trash. Positions are never given again: what is gone or
-- in the trash is counted, so that pages are found without passing over it.

-- Of the messages that inbound_count and outbound_count count, those that are removed or in the trash.
alter table inbox_counters add column removed_inbound integer not null default 0;
alter table inbox_counters add column removed_outbound integer not null default 0;
alter table inbox_counters add column trashed_thread_count integer not null default 0;
alter table inbox_counters add column trashed_unread_count integer not null default 0;

-- Messages that were removed, of those that message_count counts.
alter table threads add column removed_count integer not null default 0;
-- Null while the thread is not in the trash; 0 while it is being removed. Positions in the inbox are negative in the
-- trash, and 0 is the last position of a thread that is being removed.
alter table threads add column trashed_at integer;
-- Its messages are still on their way into the trash, or out of it.
alter table threads add column is_moving integer not null default 0;
-- When the newest removed messages of programs came, as the JSON text of a list of times.
alter table threads add column removed_automatic text not null default '[]';
create index threads_trashed on threads (trashed_at) where trashed_at is not null;
create index threads_moving on threads (id) where is_moving = 1;

-- How many positions of a range have no message in a list: of an inbox, of one direction in it, of a thread. A range
-- without any has no row.
create table removed_ranges (
  list_id text not null,
  position_range integer not null,
  removed_count integer not null,
  primary key (list_id, position_range)
) strict, without rowid;

-- Where removed messages were, for those who continue after one.
create table removed_messages (
  id text not null primary key,
  account_id text not null,
  inbox_id text not null,
  position integer not null,
  removed_at integer not null
) strict, without rowid;
create index removed_messages_by_time on removed_messages (removed_at);

-- Messages whose delivery is under way, which are not removed.
create index messages_pending on messages (thread_id) where status = 'pending';

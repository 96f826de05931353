-- Labels, metadata, assignees and snoozed threads.

-- JSON list, sorted; null for none.
alter table messages add column labels text;
alter table threads add column labels text;
-- JSON object of texts; null for none.
alter table threads add column metadata text;
alter table threads add column assignee text;
alter table threads add column snoozed_until integer;
-- Rows of the thread in thread_marks.
alter table threads add column mark_count integer not null default 0;
alter table inboxes add column metadata text;

-- What lists filter by: a mark is "label=…", "assignee=…" or "metadata.key=value".
create table thread_marks (
  thread_id text not null,
  mark text not null,
  account_id text not null,
  inbox_id text not null,
  -- As in threads; a program of before does not move it when it adds a message.
  last_position integer not null,
  primary key (thread_id, mark)
) strict, without rowid;
create index thread_marks_by_inbox on thread_marks (inbox_id, mark, last_position);

create table message_labels (
  message_id text not null,
  label text not null,
  account_id text not null,
  inbox_id text not null,
  position integer not null,
  primary key (message_id, label)
) strict, without rowid;
create index message_labels_by_inbox on message_labels (inbox_id, label, position);

create table inbox_marks (
  inbox_id text not null,
  mark text not null,
  account_id text not null,
  primary key (inbox_id, mark)
) strict, without rowid;
create index inbox_marks_by_account on inbox_marks (account_id, mark, inbox_id);

create index threads_by_snooze on threads (inbox_id, snoozed_until, last_position) where snoozed_until is not null;

-- Labels, metadata, assignees and snoozed threads.
-- Without a transaction.

-- JSON list, sorted; null for none.
alter table messages add column if not exists labels text;
alter table threads add column if not exists labels text;
-- JSON object of texts; null for none.
alter table threads add column if not exists metadata text;
alter table threads add column if not exists assignee text;
alter table threads add column if not exists snoozed_until bigint;
-- Rows of the thread in thread_marks.
alter table threads add column if not exists mark_count bigint not null default 0;
alter table inboxes add column if not exists metadata text;

-- What lists filter by: a mark is "label=…", "assignee=…" or "metadata.key=value".
create table if not exists thread_marks (
  thread_id text collate "C" not null,
  mark text collate "C" not null,
  account_id text collate "C" not null,
  inbox_id text collate "C" not null,
  -- As in threads; a program of before does not move it when it adds a message.
  last_position bigint not null,
  primary key (thread_id, mark)
);
create index if not exists thread_marks_by_inbox on thread_marks (inbox_id, mark, last_position) include (thread_id);

create table if not exists message_labels (
  message_id text collate "C" not null,
  label text collate "C" not null,
  account_id text collate "C" not null,
  inbox_id text collate "C" not null,
  position bigint not null,
  primary key (message_id, label)
);
create index if not exists message_labels_by_inbox on message_labels (inbox_id, label, position) include (message_id);

create table if not exists inbox_marks (
  inbox_id text collate "C" not null,
  mark text collate "C" not null,
  account_id text collate "C" not null,
  primary key (inbox_id, mark)
);
create index if not exists inbox_marks_by_account on inbox_marks (account_id, mark, inbox_id);

create index concurrently if not exists threads_by_snooze on threads (inbox_id, snoozed_until, last_position)
  where snoozed_until is not null;

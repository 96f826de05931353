-- Search: the words of messages, and how far each inbox is indexed.

-- An inbox that has been indexed. Its number is never given again: it is a part of all of its words, so
-- that nobody's search passes over another inbox's mail.
create table search_inboxes (
  number integer primary key autoincrement,
  inbox_id text not null,
  account_id text not null,
  -- Up to and with this position, all messages are in the index.
  position integer not null default 0,
  -- Its messages are deleted, and the index file may still hold words of theirs.
  is_purged integer not null default 0
) strict;
create unique index search_inboxes_by_inbox on search_inboxes (inbox_id);
create index search_inboxes_purged on search_inboxes (number) where is_purged = 1;

-- The row id tells the inbox's number and the message's position. Words come as they are compared; this
-- tokenizer only parts them at blanks. What was indexed is not kept but in the index.
create virtual table search_index using fts5 (
  marks, subject, sender, recipients, body,
  content = '', contentless_delete = 1,
  tokenize = "ascii tokenchars '!#$%&*+-./:=?^_{|}~@'"
);

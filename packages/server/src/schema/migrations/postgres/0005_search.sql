-- Search: the words of messages, and how far each inbox is indexed.

-- An inbox that has been indexed. Its number is never given again: it is a part of all of its words, so
-- that nobody's search passes over another inbox's mail.
create table search_inboxes (
  number bigint generated always as identity primary key,
  inbox_id text collate "C" not null,
  account_id text collate "C" not null,
  -- Up to and with this position, all messages are in the index.
  position bigint not null default 0,
  -- For the embedded engine, whose index may still hold words of deleted messages; here always 0.
  is_purged bigint not null default 0
);
create unique index search_inboxes_by_inbox on search_inboxes (inbox_id);

-- The id tells the inbox's number and the message's position. Weights: A subject, B sender,
-- C recipients, D text.
create table search_index (
  id bigint not null primary key,
  words tsvector not null
);
-- How common words are tells nothing of how common they are in one inbox, and is costly to find out.
alter table search_index alter column words set statistics 0;
-- New entries wait in a list, which every search reads: a short one.
create index search_index_by_words on search_index using gin (words)
  with (gin_pending_list_limit = 1024);

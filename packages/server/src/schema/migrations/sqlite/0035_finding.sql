-- Search: up to which position the entries of an inbox have the words with signs, such as C++ and .NET. Entries
-- behind it are written again in the background; the default says so of all that there are.
alter table search_inboxes add column current_position integer not null default 0;

-- Where the messages of a period are in their inbox, which their dates alone do not tell: mail may be imported.
create index messages_by_time on messages (inbox_id, created_at, position);
-- The messages with attachments.
create index messages_with_attachments on messages (inbox_id, position)
  where attachments <> '[]';

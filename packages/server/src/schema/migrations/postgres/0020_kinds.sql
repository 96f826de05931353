-- What kind of mail a received message is. Messages of before get their category in the background; what else is
-- shown of them follows from automatic_reason.
-- Without a transaction.

-- Null on sent messages, and on received ones that a program of before wrote.
alter table messages add column if not exists category text;
-- JSON: { reasons, autoReplyable, verdict, spamScore }.
alter table messages add column if not exists judgement text;
-- That of the newest received message.
alter table threads add column if not exists category text;
alter table events add column if not exists category text;

create index concurrently if not exists messages_by_category on messages (inbox_id, category, position)
  where category is not null;
create index concurrently if not exists threads_by_category on threads (inbox_id, category, last_position, is_read)
  where category is not null;
-- What has no category yet; empty when the background work is done.
create index concurrently if not exists messages_without_category on messages (id)
  where category is null and direction = 'inbound';

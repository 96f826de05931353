-- What kind of mail a received message is. Messages of before get their category in the background; what else is
-- shown of them follows from automatic_reason.

-- Null on sent messages, and on received ones that a program of before wrote.
alter table messages add column category text;
-- JSON: { reasons, autoReplyable, verdict, spamScore }.
alter table messages add column judgement text;
-- That of the newest received message.
alter table threads add column category text;
alter table events add column category text;

create index messages_by_category on messages (inbox_id, category, position)
  where category is not null;
create index threads_by_category on threads (inbox_id, category, last_position, is_read)
  where category is not null;
-- What has no category yet; empty when the background work is done.
create index messages_without_category on messages (id)
  where category is null and direction = 'inbound';

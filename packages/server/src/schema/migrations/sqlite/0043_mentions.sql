-- What received mail of the last 30 days mentions: a row for each message, with '' as the filename, and one for each of
-- its files of which the message alone does not say what they mention.
create table mentions (
  message_id text not null,
  filename text not null,
  account_id text not null,
  inbox_id text not null,
  -- See mention-index.ts of mail-reading. Null where it is not known: the message has to be read, or a file is not read yet.
  content text,
  -- JSON list of the addresses in To and Cc, without the inbox itself.
  copied text not null,
  -- How well it is proven who wrote the message.
  proof integer not null,
  received_at integer not null,
  primary key (inbox_id, received_at, message_id, filename)
) strict, without rowid;
create index mentions_by_message on mentions (message_id);
create index mentions_by_age on mentions (received_at);

-- JSON: display names of the recipients in To, Cc and Reply-To by address key; null for none.
alter table messages add column recipient_names text;

-- Seconds that every send waits, so that it can be cancelled; null in an inbox means the account's.
alter table accounts add column undo_seconds :int not null default 0;
alter table inboxes add column undo_seconds :int;

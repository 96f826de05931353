-- The events of the calendar files of a received message, as JSON.
-- Without a transaction.

-- Null for messages without such files, and for those of before.
alter table messages add column if not exists invites text;

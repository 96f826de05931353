-- The events of the calendar files of a received message, as JSON.

-- Null for messages without such files, and for those of before.
alter table messages add column invites text;

-- Search: up to which position the entries of an inbox are as programs write them now, without the words
-- of the inbox's own address. Entries behind it, and those that a program of before adds, are written
-- again in the background; the default says so of all that there are.
alter table search_inboxes add column renewed_position integer not null default 0;

-- Of a webhook that fails: its last failed attempt, and its next one. Neither index has what
-- succeeded.
create index webhook_deliveries_failed on webhook_deliveries (lane, last_attempt_at)
  where error is not null;
create index webhook_deliveries_retried on webhook_deliveries (lane, next_attempt_at)
  where queue_state = 'waiting';

-- Fair claims: what is ready of one account, lane by lane, so that an account with little in hand is
-- found past any number of deliveries of others. "Ready" is written in words of its own: whoever asks
-- in them cannot be given the index by lane, along which all of the others would be read.
-- Without a transaction.
create index concurrently if not exists deliveries_ready_by_account
  on deliveries (account_id, lane, next_attempt_at, id)
  where queue_state >= 'ready' and queue_state <= 'ready';
create index concurrently if not exists webhook_deliveries_ready_by_account
  on webhook_deliveries (account_id, lane, next_attempt_at, id)
  where queue_state >= 'ready' and queue_state <= 'ready';

-- What each attempt of a webhook delivery sent and got, so that a person sees why it failed.

-- Removed with its delivery, also by programs that do not know this table.
create table webhook_attempts (
  delivery_id text collate "C" not null references webhook_deliveries (id) on delete cascade,
  number bigint not null,
  -- The webhook, as in webhook_deliveries.
  lane text collate "C" not null,
  attempted_at bigint not null,
  -- By the clock of the queue, as webhooks.failing_since.
  settled_at bigint not null,
  -- Whether it counts against the webhook.
  is_failure bigint not null,
  -- Null if nothing was to be sent. The header fields are JSON without the signatures.
  request_url text,
  request_headers text,
  response_status bigint,
  response_body text,
  latency_ms bigint,
  error text,
  primary key (delivery_id, number)
);
create index webhook_attempts_failed on webhook_attempts (lane, settled_at) where is_failure = 1;

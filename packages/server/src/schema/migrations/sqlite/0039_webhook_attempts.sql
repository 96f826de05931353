-- What each attempt of a webhook delivery sent and got, so that a person sees why it failed.

-- Removed with its delivery, also by programs that do not know this table.
create table webhook_attempts (
  delivery_id text not null references webhook_deliveries (id) on delete cascade,
  number integer not null,
  -- The webhook, as in webhook_deliveries.
  lane text not null,
  attempted_at integer not null,
  -- By the clock of the queue, as webhooks.failing_since.
  settled_at integer not null,
  -- Whether it counts against the webhook.
  is_failure integer not null,
  -- Null if nothing was to be sent. The header fields are JSON without the signatures.
  request_url text,
  request_headers text,
  response_status integer,
  response_body text,
  latency_ms integer,
  error text,
  primary key (delivery_id, number)
) strict, without rowid;
create index webhook_attempts_failed on webhook_attempts (lane, settled_at) where is_failure = 1;

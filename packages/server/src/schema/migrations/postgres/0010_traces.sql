-- Where a trace goes on that began in another process: the span that wrote the row, as a W3C
-- traceparent. Null where nothing is traced.
alter table events add column trace_parent text;
alter table deliveries add column trace_parent text;
alter table webhook_deliveries add column trace_parent text;

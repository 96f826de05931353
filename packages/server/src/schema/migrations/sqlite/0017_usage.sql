-- How much mail each inbox had in a day (UTC), counted by the reader of the log that also counts the hours of
-- accounts. What that reader has counted already is added from the events that are still in the log.
create table inbox_days (
  account_id text not null,
  day_at integer not null,
  inbox_id text not null,
  received integer not null,
  sent integer not null,
  failed integer not null,
  primary key (account_id, day_at, inbox_id)
) strict, without rowid;
create index inbox_days_by_time on inbox_days (day_at);
create index inbox_days_by_inbox on inbox_days (inbox_id);
insert into inbox_days (account_id, day_at, inbox_id, received, sent, failed)
select
  events.account_id,
  events.occurred_at / 86400000 * 86400000,
  events.inbox_id,
  sum(case when events.kind = 'message.received' then 1 else 0 end),
  sum(case when events.kind = 'message.sent' then 1 else 0 end),
  sum(case when events.kind = 'message.failed' then 1 else 0 end)
from events
join event_readers on event_readers.name = 'figures'
join inboxes on inboxes.id = events.inbox_id
where events.kind in ('message.received', 'message.sent', 'message.failed')
  and (events.transaction_id, events.sequence) <= (event_readers.transaction_id, event_readers.sequence)
group by 1, 2, 3;

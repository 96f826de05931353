-- The days of inboxes have a reader of their own: a program that does not count them moves that of the hours. It begins
-- where that one is. What the days lack up to there is added from the events that are still in the log; where they have
-- more, events have left the log.
insert into event_readers (name, transaction_id, sequence)
select 'inbox_days', transaction_id, sequence from event_readers where name = 'figures';
insert into inbox_days (account_id, day_at, inbox_id, received, sent, failed)
select
  events.account_id,
  events.occurred_at / 86400000 * 86400000,
  events.inbox_id,
  sum(case when events.kind = 'message.received' then 1 else 0 end),
  sum(case when events.kind = 'message.sent' then 1 else 0 end),
  sum(case when events.kind = 'message.failed' then 1 else 0 end)
from events
join event_readers on event_readers.name = 'inbox_days'
join inboxes on inboxes.id = events.inbox_id
where events.kind in ('message.received', 'message.sent', 'message.failed')
  and (events.transaction_id, events.sequence) <= (event_readers.transaction_id, event_readers.sequence)
group by 1, 2, 3
on conflict (account_id, day_at, inbox_id) do update set
  received = greatest(inbox_days.received, excluded.received),
  sent = greatest(inbox_days.sent, excluded.sent),
  failed = greatest(inbox_days.failed, excluded.failed);

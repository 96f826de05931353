-- JSON list: the categories of received mail that a webhook is told of; empty for all.
alter table webhooks add column categories text not null default '[]';

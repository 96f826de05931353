-- Open reviews, kept reviews, and what a held send has counted.
-- Without a transaction.

-- A send that was approved before its time: rules that are newer than the approval still stop it. Null for the others.
alter table waiting_sends add column if not exists approved_at bigint;
-- Whether the limits of sends have counted it already: a held send counts when it is filed.
alter table waiting_sends add column if not exists is_counted bigint not null default 0;

-- Reviews of messages that differ in their threads alone have the same key; null for those that are listed one by one.
alter table reviews add column if not exists equal_key text collate "C";
-- JSON: subject and bodies of a message that is gone; null while it exists. The review is removed at kept_until.
alter table reviews add column if not exists kept_texts text;
alter table reviews add column if not exists kept_bytes bigint not null default 0;
alter table reviews add column if not exists kept_until bigint;
create index concurrently if not exists reviews_equal on reviews (account_id, equal_key, id) where status = 'pending';
create index concurrently if not exists reviews_open on reviews (inbox_id, expires_at) where status = 'pending';
create index concurrently if not exists reviews_by_message on reviews (message_id);
create index concurrently if not exists reviews_unkept on reviews (inbox_id) where kept_until is null;
create index concurrently if not exists reviews_kept on reviews (kept_until) where kept_until is not null;
create index concurrently if not exists reviews_kept_bytes on reviews (account_id, kept_bytes) where kept_until is not null;

-- Whether the message bears the mark of a service like this one (X-Loop), by which loops are recognised.
alter table raw_messages add column if not exists is_marked bigint not null default 0;

-- Whether the erasure leaves the audit and its reviews as they are: an API key asked for it, of an account with an approver.
alter table erasures add column if not exists keeps_audit bigint not null default 0;

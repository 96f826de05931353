-- A send that was approved before its time: rules that are newer than the approval still stop it. Null for the others.
alter table waiting_sends add column approved_at integer;
-- Whether the limits of sends have counted it already: a held send counts when it is filed.
alter table waiting_sends add column is_counted integer not null default 0;

-- Reviews of messages that differ in their threads alone have the same key; null for those that are listed one by one.
alter table reviews add column equal_key text;
-- JSON: subject and bodies of a message that is gone; null while it exists. The review is removed at kept_until.
alter table reviews add column kept_texts text;
alter table reviews add column kept_bytes integer not null default 0;
alter table reviews add column kept_until integer;
create index reviews_equal on reviews (account_id, equal_key, id) where status = 'pending';
create index reviews_open on reviews (inbox_id, expires_at) where status = 'pending';
create index reviews_by_message on reviews (message_id);
create index reviews_unkept on reviews (inbox_id) where kept_until is null;
create index reviews_kept on reviews (kept_until) where kept_until is not null;
create index reviews_kept_bytes on reviews (account_id, kept_bytes) where kept_until is not null;

-- Whether the message bears the mark of a service like this one (X-Loop), by which loops are recognised.
alter table raw_messages add column is_marked integer not null default 0;

-- Whether the erasure leaves the audit and its reviews as they are: an API key asked for it, of an account with an approver.
alter table erasures add column keeps_audit integer not null default 0;

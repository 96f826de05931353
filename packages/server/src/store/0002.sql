-- JSON: display names of the recipients in To, Cc and Reply-To by address key; null for none.
alter table messages add column recipient_names text;

-- Seconds that every send waits, so that it can be cancelled; null in an inbox means the account's.
alter table accounts add column undo_seconds :int not null default 0;
alter table inboxes add column undo_seconds :int;

alter table inboxes add column client_id :key;

-- A rule that has ended no longer decides.
alter table sender_rules add column expires_at :int;
alter table sender_rules add column note text;
alter table recipient_rules add column expires_at :int;
alter table recipient_rules add column note text;

-- JSON: the former versions of an edited message, and the comments, both oldest first.
alter table reviews add column versions text not null default '[]';
alter table reviews add column comments text not null default '[]';

-- JSON: the SHA-256 of each secret among the reasons, in their order; null for none.
alter table reviews add column finding_hashes text;

-- The approver whose webhookUrl it is. Keys of the account can neither see nor change it.
alter table webhooks add column approver_id :key;

-- Markdown that follows what the inbox sends; null for none.
alter table inboxes add column signature text;

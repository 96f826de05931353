-- Custom domains and their keys, who may write to an inbox, what comes back of sent mail.

-- What a DNS TXT record has to hold, to show whose the domain is.
alter table domains add column ownership_token text not null default '';
-- What DNS said of each record at the last check, as the JSON text of a list.
alter table domains add column checks text not null default '[]';
alter table domains add column inbox_count integer not null default 0;
-- Whose mail it is: the account that verified it last, until another one does.
alter table domains add column is_holder integer not null default 0;
-- Whether MX and SPF name this service, so that bounces may come to an address on the domain.
alter table domains add column takes_bounces integer not null default 0;
alter table domains add column degraded_at integer;
-- When DNS is looked at next; null: only when somebody asks.
alter table domains add column next_check_at integer;
create unique index domains_held on domains (domain) where is_holder = 1;
create index domains_due on domains (next_check_at) where next_check_at is not null;

-- Keys that sign mail. owner_id is a domain's id, or 'service' for the inbox domain of the settings.
-- state: 'standby' (to be published), 'active' (signs), 'retiring' (signs no more, still published).
create table dkim_keys (
  id text not null primary key,
  owner_id text not null,
  domain text not null,
  selector text not null,
  state text not null,
  sealed_key blob not null,
  -- Base64 of its SubjectPublicKeyInfo, as the record has it.
  public_key text not null,
  is_required integer not null,
  -- When DNS was first seen to have it.
  published_at integer,
  activated_at integer,
  retired_at integer,
  created_at integer not null
) strict, without rowid;
create unique index dkim_keys_by_owner on dkim_keys (owner_id, domain, selector);

alter table inboxes add column domain_id text;
create index inboxes_by_domain on inboxes (domain_id) where domain_id is not null;
-- Where mail reaches it: its address, or null once its domain is another account's.
alter table inboxes add column receiving_address text;
update inboxes set receiving_address = address;
drop index inboxes_by_address;
create unique index inboxes_by_address on inboxes (receiving_address);

-- Who may write: 'none' lets in all but the blocked, 'allowlist' only the allowed.
alter table accounts add column filter_mode text not null default 'none';
alter table accounts add column sender_rule_count integer not null default 0;

create table sender_rules (
  id text not null primary key,
  account_id text not null,
  pod_id text,
  inbox_id text,
  type text not null,
  -- An address or a domain, as they are compared.
  value text not null,
  needs_verified integer not null,
  created_at integer not null
) strict, without rowid;
create unique index sender_rules_by_value
  on sender_rules (account_id, value, type, coalesce(pod_id, ''), coalesce(inbox_id, ''));
create index sender_rules_by_account on sender_rules (account_id, id desc);
create index sender_rules_by_inbox on sender_rules (inbox_id) where inbox_id is not null;
create index sender_rules_by_pod on sender_rules (pod_id) where pod_id is not null;

-- Mail that a rule kept out: one row for each inbox that it was for.
create table quarantined_messages (
  id text not null primary key,
  account_id text not null,
  pod_id text not null,
  inbox_id text not null,
  raw_id text not null,
  receipt_key blob,
  reason text not null,
  rule_id text,
  from_addr text not null,
  to_addr text not null,
  delivery_role text not null,
  subject text not null,
  reverse_path text not null,
  authentication text,
  created_at integer not null
) strict, without rowid;
create index quarantined_messages_by_account on quarantined_messages (account_id, id desc);
create index quarantined_messages_by_inbox on quarantined_messages (inbox_id, id desc);
create index quarantined_messages_by_time on quarantined_messages (created_at);
create unique index quarantined_messages_by_receipt
  on quarantined_messages (inbox_id, receipt_key) where receipt_key is not null;
alter table inbox_counters add column quarantined_count integer not null default 0;

-- The envelope's sender for this recipient; '' where it was queued before there were any.
alter table deliveries add column return_path text not null default '';
-- Of a bounce: 'hard', 'soft', 'policy' or 'full'.
alter table deliveries add column bounce_class text;
alter table captured_messages add column reverse_path text not null default '';

-- When the latest messages were sent that answered a program, as the JSON text of a list of times.
alter table threads add column automatic_sends text not null default '[]';
-- When a send in it was last refused as a loop and that was told.
alter table threads add column loop_suspected_at integer;

-- How it came: 'smtp', 'service' (sent by an inbox here) or 'sandbox' (put in by hand). All that came
-- before counts as 'smtp': to tell them apart, every raw message would have to be written anew.
alter table raw_messages add column origin text not null default 'smtp';

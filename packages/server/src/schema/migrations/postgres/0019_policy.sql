-- Policy: who may write to an inbox, to whom it may write, and what it may send. The modes and guards of an account,
-- a pod and an inbox are in its row; null is inherited.

alter table pods add column filter_mode text;
alter table inboxes add column filter_mode text;
-- JSON: mode and guards.
alter table accounts add column outbound_policy text;
alter table pods add column outbound_policy text;
alter table inboxes add column outbound_policy text;
-- Sends read the rules only where it is not 0.
alter table accounts add column recipient_rule_count bigint not null default 0;

-- As sender_rules, for recipients.
create table recipient_rules (
  id text collate "C" not null primary key,
  account_id text collate "C" not null,
  pod_id text collate "C",
  inbox_id text collate "C",
  type text collate "C" not null,
  value text collate "C" not null,
  created_at bigint not null
);
create unique index recipient_rules_by_value
  on recipient_rules (account_id, value, type, coalesce(pod_id, ''), coalesce(inbox_id, ''));
create index recipient_rules_by_account on recipient_rules (account_id, id desc);
create index recipient_rules_by_inbox on recipient_rules (inbox_id) where inbox_id is not null;
create index recipient_rules_by_pod on recipient_rules (pod_id) where pod_id is not null;

-- What policy decided, and each change of it. It outlives its inbox, so that deleting one hides nothing.
create table policy_audit (
  id text collate "C" not null primary key,
  account_id text collate "C" not null,
  direction text collate "C" not null,
  decision text collate "C" not null,
  pod_id text collate "C",
  inbox_id text collate "C",
  -- JSON: who made a change.
  actor text,
  -- JSON: reasons of a decision, or a change.
  details text not null,
  created_at bigint not null
);
create index policy_audit_by_account
  on policy_audit (account_id, direction, decision, created_at desc, id desc);
create index policy_audit_by_time on policy_audit (created_at);

-- Reviews that approvers with an address are not told of yet.
create table review_news (
  review_id text not null primary key,
  account_id text not null,
  created_at integer not null
) strict, without rowid;
create index review_news_by_time on review_news (created_at);
create index review_news_by_account on review_news (account_id);

-- Mail to approvers until a server has taken it. It has no inbox, message or event, because the keys of the account may
-- not read it.
create table review_mails (
  id text not null,
  approver_id text not null,
  account_id text not null,
  -- JSON: ids.
  review_ids text not null,
  attempts integer not null,
  -- Also the end of the lease of a process that is sending it.
  next_attempt_at integer not null,
  expires_at integer not null,
  primary key (id, approver_id)
) strict, without rowid;
create index review_mails_due on review_mails (next_attempt_at);

-- Mail to approvers is sent by account in turn.
create index review_mails_by_account on review_mails (account_id, next_attempt_at);

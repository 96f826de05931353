-- Without a transaction.
create index :online inboxes_by_client_id on inboxes (account_id, client_id)
  where client_id is not null;

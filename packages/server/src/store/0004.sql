-- Without a transaction.
-- Lists of the labels in use.
create index :online thread_facets_by_account on thread_facets (account_id, facet, is_trashed);

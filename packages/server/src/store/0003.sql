-- Without a transaction.
-- Lists show whether a thread has attachments.
create index :online messages_with_attachments_by_thread on messages (thread_id) where attachments <> '[]';

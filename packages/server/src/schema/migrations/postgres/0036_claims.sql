-- Claims of threads: one worker at a time has a thread, under a lease.
-- Without a transaction.

-- All but the fence are null while nobody has the thread.
alter table threads add column if not exists claim_owner text;
-- SHA-256 of the lease token.
alter table threads add column if not exists claim_token_hash bytea;
-- Raised by each claim, and never lowered.
alter table threads add column if not exists claim_fence bigint not null default 0;
alter table threads add column if not exists claim_lease_ms bigint;
-- The end of the lease by the clock of the queue, and by that of the wall for people.
alter table threads add column if not exists claim_until bigint;
alter table threads add column if not exists claim_expires_at bigint;

create index concurrently if not exists threads_by_claim on threads (claim_until) where claim_until is not null;
create index concurrently if not exists threads_by_inbox_claim on threads (inbox_id, claim_until)
  where claim_until is not null;

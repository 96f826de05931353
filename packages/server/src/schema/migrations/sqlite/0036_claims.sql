-- Claims of threads: one worker at a time has a thread, under a lease.

-- All but the fence are null while nobody has the thread.
alter table threads add column claim_owner text;
-- SHA-256 of the lease token.
alter table threads add column claim_token_hash blob;
-- Raised by each claim, and never lowered.
alter table threads add column claim_fence integer not null default 0;
alter table threads add column claim_lease_ms integer;
-- The end of the lease by the clock of the queue, and by that of the wall for people.
alter table threads add column claim_until integer;
alter table threads add column claim_expires_at integer;

create index threads_by_claim on threads (claim_until) where claim_until is not null;
create index threads_by_inbox_claim on threads (inbox_id, claim_until) where claim_until is not null;

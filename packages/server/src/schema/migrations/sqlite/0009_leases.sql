-- Who does the work that one process at a time does for all of them, until when, and when it was last done.
-- Here there is one process, which needs none.

create table leases (
  name text not null primary key,
  -- The process that does it; null where nobody does.
  holder text,
  -- By the clock of the queue, as is the next.
  lease_until integer,
  done_at integer
) strict, without rowid;

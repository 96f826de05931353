-- Who does the work that one process at a time does for all of them, until when, and when it was last done.

create table leases (
  name text collate "C" not null primary key,
  -- The process that does it; null where nobody does.
  holder text collate "C",
  -- By the clock of the queue, as is the next.
  lease_until bigint,
  done_at bigint
);

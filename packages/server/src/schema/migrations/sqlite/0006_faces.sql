-- Pairing of clients with an account, sessions that were ended, and hourly figures of mail.

-- A client that asks for a key, until it has taken it. request_hash is the SHA-256 of what only it knows.
-- status: 'pending' until somebody approves it; what is denied is deleted.
create table pairings (
  request_hash blob not null primary key,
  user_code text not null,
  client_name text,
  client_address text not null,
  status text not null,
  -- Of whoever approved it.
  account_id text,
  approved_by text,
  created_at integer not null,
  expires_at integer not null
) strict, without rowid;
create unique index pairings_by_code on pairings (user_code);
create index pairings_by_end on pairings (expires_at);

-- Sessions of the console that were signed out of, until they would have ended by themselves. id is the
-- SHA-256 of the session's own secret.
create table ended_sessions (
  id text not null primary key,
  expires_at integer not null
) strict, without rowid;
create index ended_sessions_by_end on ended_sessions (expires_at);

-- What happened in an hour, that of hour_at in milliseconds: counted from the log of events.
create table mail_hours (
  account_id text not null,
  hour_at integer not null,
  received integer not null,
  sent integer not null,
  failed integer not null,
  -- From acceptance to sent: a JSON object of how many took how long, by classes of time.
  latencies text not null,
  primary key (account_id, hour_at)
) strict, without rowid;
create index mail_hours_by_time on mail_hours (hour_at);
insert into event_readers (name, transaction_id, sequence) values ('figures', 0, 0);

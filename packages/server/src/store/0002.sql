-- JSON: display names of the recipients in To, Cc and Reply-To by address key; null for none.
alter table messages add column recipient_names text;
alter table messages add column in_reply_to text;

-- Seconds that every send waits, so that it can be cancelled; null in an inbox means the account's.
alter table accounts add column undo_seconds :int not null default 0;
alter table inboxes add column undo_seconds :int;

alter table inboxes add column client_id :key;

-- A rule that has ended no longer decides.
alter table sender_rules add column expires_at :int;
alter table sender_rules add column note text;
alter table recipient_rules add column expires_at :int;
alter table recipient_rules add column note text;

-- JSON: the former versions of an edited message, and the comments, both oldest first.
alter table reviews add column versions text not null default '[]';
alter table reviews add column comments text not null default '[]';

-- JSON: the SHA-256 of each secret among the reasons, in their order; null for none.
alter table reviews add column finding_hashes text;

-- The approver whose webhookUrl it is. Keys of the account can neither see nor change it.
alter table webhooks add column approver_id :key;

-- JSON: additional header fields of a webhook, [{ name, sealed }], with sealed values.
alter table webhooks add column headers text not null default '[]';

-- Markdown that is added to messages from the inbox; null for none.
alter table inboxes add column signature text;

-- Connecting assistants by OAuth

-- Clients that registered themselves or that a person created; clients with a metadata document
-- have no row.
create table oauth_clients (
  id :key not null primary key,
  account_id :key references accounts (id), -- Null if the client registered itself.
  name text not null,
  redirect_uris text not null, -- JSON.
  created_at :int not null,
  expires_at :int -- Null while it has a connection or belongs to an account.
) :clustered;
create index oauth_clients_by_account on oauth_clients (account_id, id);
create index oauth_clients_by_end on oauth_clients (expires_at);

-- Made when a person approves. Until its code is redeemed, it ends with the code.
create table connections (
  id :key not null primary key, account_id :key not null references accounts (id),
  key_id :key not null, -- The key that approved it.
  client_id :key not null, client_name text not null,
  inbox_ids text, -- JSON; null for all inboxes.
  scopes text not null, -- JSON.
  redirect_uri text not null, code_challenge text not null,
  code_hash :bytes not null, -- SHA-256.
  redeemed_at :int, created_at :int not null, last_used_at :int,
  expires_at :int, -- As approved; null if it lasts until it is revoked.
  ends_at :int not null -- The latest end of its tokens.
) :clustered;
create unique index connections_by_code on connections (code_hash);
create index connections_by_account on connections (account_id, id);
create index connections_by_client on connections (client_id);
create index connections_by_end on connections (ends_at);

create table connection_tokens (
  token_hash :bytes not null primary key, -- SHA-256.
  connection_id :key not null, account_id :key not null,
  kind text not null, -- 'access' or 'refresh'.
  scopes text not null, -- JSON.
  expires_at :int not null,
  replaced_at :int -- The first use of a refresh token.
) :clustered;
create index connection_tokens_by_connection on connection_tokens (connection_id);
create index connection_tokens_by_end on connection_tokens (expires_at);

-- The steps of sign-ins, for a week. Those that belong to no account yet are shown to all, without
-- the client.
create table connection_steps (
  id :key not null primary key, account_id :key, client_id :key, client_name text,
  connection_id :key, step text not null, is_ok integer not null, error text, detail text,
  user_agent text, occurred_at :int not null
) :clustered;
create index connection_steps_by_account on connection_steps (account_id, id);
create index connection_steps_by_time on connection_steps (occurred_at);

-- Files to attach, which are removed at expires_at; their content is in transfer_chunks.
create table uploads (
  id :key not null primary key, account_id :key not null,
  -- 'waiting' (for the file of a link), 'receiving' (it arrives), 'ready'.
  status text not null,
  key_id :key, -- The key that created the link; null without a link.
  filename text not null,
  content_type text, -- Null until the file arrives, if it then follows from its request or name.
  max_bytes :int not null, size_bytes :int not null default 0,
  sha256 :bytes, -- Null until the file is ready.
  created_at :int not null, expires_at :int not null
) :clustered;
create index uploads_by_account on uploads (account_id);
create index uploads_by_expiry on uploads (expires_at);

-- A domain may take mail for all names below it, and for unknown local parts.
alter table domains add column takes_subdomains bigint not null default 0;
alter table domains add column catch_all_inbox_id text collate "C";
-- The address at RCPT as the client spelt it; null on outbound mail, and on mail of older programs.
alter table messages add column recipient text;
alter table quarantined_messages add column recipient text;

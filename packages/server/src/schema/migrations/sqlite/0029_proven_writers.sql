-- How well it is proven that the address wrote to the inbox: 0 not at all, or not known, 1 by the name in From alone,
-- 2 by SPF or DKIM.
alter table correspondents add column proof integer not null default 0;

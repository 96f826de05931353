-- The message by which an address first wrote to an inbox; null where that is not known.

alter table correspondents add column first_message_id text collate "C";
update correspondents set first_message_id = first.id
from (
  select distinct on (inbox_id, address_key) inbox_id, address_key, id
  from (
    select
      inbox_id,
      lower(regexp_replace(from_addr, '^.*<([^<>]*)>$', '\1')) as address_key,
      id,
      direction_position
    from messages
    where direction = 'inbound' and from_addr like '%@%' and octet_length(from_addr) <= 600
  ) as received
  order by inbox_id, address_key, direction_position
) as first
where correspondents.inbox_id = first.inbox_id
  and correspondents.address_key = first.address_key;

-- The message by which an address first wrote to an inbox; null where that is not known.

alter table correspondents add column first_message_id text;
update correspondents set first_message_id = first.id
from (
  select
    inbox_id,
    lower(
      case
        when from_addr like '%>'
        then rtrim(substr(from_addr, length(rtrim(from_addr, replace(from_addr, '<', ''))) + 1), '>')
        else from_addr
      end
    ) as address_key,
    id,
    min(direction_position)
  from messages
  where direction = 'inbound' and from_addr like '%@%' and length(cast(from_addr as blob)) <= 600
  group by 1, 2
) as first
where correspondents.inbox_id = first.inbox_id
  and correspondents.address_key = first.address_key;

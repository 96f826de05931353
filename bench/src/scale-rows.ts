// The rows of `scale-fill.ts` as SQL: every row is a function of its message's number. Each message has its own
// time; one in ten goes to the first inbox, the others to the other inboxes in rotation. Two consecutive messages
// of an inbox make a thread, and two fifths of the second ones were sent. Bodies are short, because rows and
// indexes are measured, not texts.

import { EVENT_MS } from '@mailroom/server/events/model.ts'

export type Size = { messages: number; inboxes: number; endMs: number }

const INBOXES_PER_ACCOUNT = 10
const LARGE_EVERY = 10
/** Messages with the same time in their ids, which a counter after it distinguishes. */
const TICK = 1_000
/** Destinations of pending deliveries, which belong to the last so many sent messages. */
const LANES = 200
const WAITING_SHARE = 20

/** This many messages until now, a thousand for each inbox and ten thousand for each account. */
export function sizeOf(messages: number): Size {
  return { messages, inboxes: Math.max(20, Math.round(messages / 1_000)), endMs: Date.now() }
}

/** Small tables, filled first: accounts and their inboxes, and the prefixes of ids. */
export function smallRows({ messages, inboxes, endMs }: Size): string[] {
  const stepMs = stepOf(messages)
  const digits = "'0123456789abcdefghjkmnpqrstvwxyz'"
  const letters = Array.from({ length: 10 }, (_, index) => 45 - 5 * index)
    .map((shift) => `substr(${digits}, ((ms >> ${shift}) & 31)::integer + 1, 1)`)
    .join(' || ')
  return [
    // The first ten letters of a UUIDv7 in base32 are the time.
    `create or replace function scale_time(ms bigint) returns text language sql immutable
       as $$ select ${letters} $$`,
    `create or replace function scale_id(prefix text, begun text, n bigint) returns text
       language sql immutable as $$ select prefix || '_' || begun || 'e' ||
       lpad(to_hex(n % ${TICK}), 3, '0') || substr(md5(n::text), 1, 12) $$`,
    'drop table if exists scale_ticks, scale_inboxes',
    `create table scale_ticks as select tick, scale_time(${endMs} - (${messages} - tick * ${TICK}) * ${stepMs}) as begun
       from generate_series(0::bigint, ${messages} / ${TICK}) as tick`,
    `create table scale_inboxes as select inbox, scale_id('inb', begun, inbox) as inbox_id,
       inbox / ${INBOXES_PER_ACCOUNT} as account,
       scale_id('acc', begun, inbox / ${INBOXES_PER_ACCOUNT}) as account_id,
       scale_id('pod', begun, inbox / ${INBOXES_PER_ACCOUNT}) as pod_id,
       scale_id('whk', begun, inbox / ${INBOXES_PER_ACCOUNT}) as webhook_id,
       case when inbox = 0 then (${messages} + ${LARGE_EVERY - 1}) / ${LARGE_EVERY}
         else others / ${inboxes - 1} + (inbox - 1 < others % ${inboxes - 1})::integer end as total
       from generate_series(0::bigint, ${inboxes - 1}) as inbox,
         (select begun from scale_ticks where tick = 0) as first,
         (select ${messages} - (${messages} + ${LARGE_EVERY - 1}) / ${LARGE_EVERY} as others) as counted`,
    'truncate accounts, pods, inboxes, inbox_counters, account_counters, webhooks, domains, api_keys cascade',
    `insert into accounts (id, name, plan, inbox_count, pod_count, created_at)
       select account_id, 'account ' || account, 'scale', count(*), 1, 1 from scale_inboxes group by 1, 2`,
    `insert into pods (id, account_id, is_default, inbox_count, created_at)
       select pod_id, account_id, 1, count(*), 1 from scale_inboxes group by 1, 2`,
    `insert into inboxes (id, account_id, pod_id, address, receiving_address, created_at)
       select inbox_id, account_id, pod_id, inbox || '@mailroom.localhost', inbox || '@mailroom.localhost', 1
       from scale_inboxes`,
    `insert into account_counters (account_id) select id from accounts`,
    `insert into webhooks select distinct on (webhook_id) webhook_id, account_id, null,
       'https://hooks.example/', '[]', '[]', '[]', 1, null, null::bigint, 0, 0, null::bigint, ''::bytea, 1
       from scale_inboxes where account % 2 = 0`,
  ]
}

/** Large tables, each with the rows of all messages. */
export function largeRows(size: Size): Record<string, string> {
  const arrivals = arrivalsOf(size)
  return {
    messages: `select ${id('msg')}, account_id, inbox_id, ${threadId()}, ${id('raw')},
      case when is_sent then 'outbound' else 'inbound' end, position,
      case when is_sent then sent else position - sent end, thread_position,
      case when is_sent then 'sent' else 'received' end,
      '<' || n || '@firm.example>', n || '@firm.example', decode(md5(n::text), 'hex'),
      'User <' || sender || '>', inbox || '@mailroom.localhost', null, 'to', '[]', null,
      case when thread_position = 1 then '[]' else '["<' || first || '@firm.example>"]' end,
      'Subject of thread ' || first, 120, 'The text of message ' || n || repeat(' and so on', 9), '', null,
      '[]', '{"spf":"pass","dkim":[],"dmarc":"pass","from":"firm.example"}', null, null, '[]', created_at
      from (${arrivals}) as arrival`,
    raw_messages: `select ${id('raw')}, decode(md5(n::text) || md5(n::text), 'hex'), 250,
      convert_to('From: User <' || sender || E'>\\r\\nSubject: Subject of thread ' || first ||
      E'\\r\\n\\r\\nThe text of message ' || n || repeat(' and so on', 9) || E'\\r\\n', 'UTF8'),
      1, sender, '192.0.2.1', 'mx.firm.example', null, created_at, 'smtp'
      from (${arrivals}) as arrival`,
    events: `select n + 1, ${id('evt')},
      case when is_sent then 'message.sent' else 'message.received' end, account_id, pod_id, inbox_id,
      ${threadId()}, ${id('msg')}, created_at, 3 + n * 500 / ${size.messages}, null
      from (${arrivals}) as arrival`,
    webhook_deliveries: `select ${id('dlv')}, account_id, webhook_id, ${id('evt')},
      case when is_sent then 'message.sent' else 'message.received' end, null, 'delivered', 1, created_at,
      null::bigint, null, null::bigint, 200, 'ok', 40, null, created_at
      from (${arrivals}) as arrival where account % 2 = 0`,
    threads: `select ${id('thr')}, account_id, inbox_id, 'Subject of thread ' || n,
      is_read, 1 + has_second::integer, created_at, position + has_second::integer, created_at, '[]', null::bigint,
      '[{"name":null,"address":"' || sender || '"}]', 'The text', 1 + has_second::integer, 0
      from (select *, position < total as has_second,
        (thread % 3 = 0 or (position < total and thread % 5 < 2))::integer as is_read
        from (${arrivals}) as arrival where thread_position = 1) as arrival`,
    deliveries: `select ${id('dlv')}, account_id, inbox_id, ${id('msg')}, ${id('raw')}, 250, 0, sender,
      'domain' || n % ${LANES} || '.example',
      case when is_waiting then 'ready' end, case when is_waiting then 'queued' else 'sent' end,
      (not is_waiting)::integer, 0, case when not is_waiting then created_at end,
      case when is_waiting then created_at end, created_at + 172800000, null, null::bigint,
      case when not is_waiting then 'mx.firm.example' end, null, 250, '2.0.0', '250 2.0.0 Ok', created_at,
      'b+' || n || '@mailroom.localhost', null
      from (select *, n >= ${size.messages - Math.floor(size.messages / WAITING_SHARE)} as is_waiting
        from (${arrivals}) as arrival where is_sent) as arrival`,
    correspondents: `select inbox_id, 'user' || number || '@firm' || inbox % 50 || '.example', null
      from scale_inboxes, generate_series(0, least(199, total / 2)) as number`,
  }
}

/** Counters of the large tables. */
export const TOTALS = [
  `insert into inbox_counters (inbox_id, inbound_count, outbound_count, thread_count, unread_thread_count)
     select inbox_id, total - sent, sent, (total + 1) / 2,
       (select count(*) from threads where threads.inbox_id = scale_inboxes.inbox_id and is_read = 0)
     from scale_inboxes, lateral (select total / 2 / 5 + (total / 2 + 4) / 5 as sent) as counted`,
  `select setval(pg_get_serial_sequence('events', 'sequence'), max(sequence)) from events`,
  `truncate thread_ranges`,
  `insert into thread_ranges select inbox_id, last_position / 2048, count(*), count(*) filter (where is_read = 0)
     from threads group by 1, 2`,
  `update event_readers set (transaction_id, sequence) =
     (select transaction_id, sequence from events order by transaction_id desc, sequence desc limit 1)`,
]

/** One row for each message, in the order of arrival. */
function arrivalsOf({ messages, inboxes, endMs }: Size): string {
  const others = inboxes - 1
  return `select placed.*, own.begun, begins.begun as first_begun, scale_inboxes.*,
    ${endMs} - (${messages} - n) * ${stepOf(messages)} as created_at,
    position / 2 / 5 + (position / 2 + 4) / 5 as sent,
    'user' || thread % 200 || '@firm' || scale_inboxes.inbox % 50 || '.example' as sender
    from (select *, (position + 1) / 2 as thread, 2 - position % 2 as thread_position,
        position % 2 = 0 and position / 2 % 5 < 2 as is_sent,
        case when position % 2 = 1 then n when place = 0 then n - ${LARGE_EVERY}
          else turn - ${others} + (turn - ${others}) / ${LARGE_EVERY - 1} + 1 end as first
      from (select n, n - n / ${LARGE_EVERY} - 1 as turn,
          case when n % ${LARGE_EVERY} = 0 then 0
            else 1 + (n - n / ${LARGE_EVERY} - 1) % ${others} end as place,
          case when n % ${LARGE_EVERY} = 0 then n / ${LARGE_EVERY} + 1
            else (n - n / ${LARGE_EVERY} - 1) / ${others} + 1 end as position
        from generate_series(0::bigint, ${messages - 1}) as n) as counted) as placed
    join scale_inboxes on scale_inboxes.inbox = placed.place
    join scale_ticks as own on own.tick = n / ${TICK}
    join scale_ticks as begins on begins.tick = first / ${TICK}`
}

function id(prefix: string): string {
  return `scale_id('${prefix}', begun, n)`
}

function threadId(): string {
  return "scale_id('thr', first_begun, first)"
}

function stepOf(messages: number): number {
  return Math.floor(EVENT_MS / messages)
}

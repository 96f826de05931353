// The rows of `scale-fill.ts` as SQL, each a function of its message's number. Each message has a
// different time. One in ten goes to the first inbox, and the rest to the other inboxes in
// rotation. Two consecutive messages of an inbox form a thread, and two fifths of the second ones
// were sent. Bodies are short, because rows and indexes are measured, not texts.

import { EVENT_MS } from '@mailroom/server/events/model.ts'

export type Size = { messages: number; inboxes: number; endMs: number }

const INBOXES_PER_ACCOUNT = 10
const LARGE_EVERY = 10
/** Number of messages with the same time in their ids; a counter distinguishes them. */
const TICK = 1_000
/** Number of destinations of pending deliveries, which belong to the newest sent messages. */
const LANES = 200
const WAITING_SHARE = 20

/**
 * The size of a database with this many messages: a thousand per inbox, ten thousand per account.
 */
export function sizeOf(messages: number): Size {
  return { messages, inboxes: Math.max(20, Math.round(messages / 1_000)), endMs: Date.now() }
}

/** Small tables, filled first: accounts, their inboxes, and the prefixes of ids. */
export function smallRows({ messages, inboxes, endMs }: Size): string[] {
  const stepMs = stepOf(messages)
  const digits = "'0123456789abcdefghjkmnpqrstvwxyz'"
  const letters = Array.from({ length: 10 }, (_, index) => 45 - 5 * index)
    .map((shift) => `substr(${digits}, ((ms >> ${shift}) & 31)::integer + 1, 1)`)
    .join(' || ')
  return [
    // The first ten base32 characters of a UUIDv7 are its time.
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
    `insert into webhooks (id, account_id, url, event_types, pod_ids, inbox_ids, is_enabled,
         enabled_after_transaction_id, enabled_after_sequence, sealed_secrets, created_at)
       select distinct on (webhook_id) webhook_id, account_id, 'https://hooks.example/', '[]', '[]', '[]', 1,
         0, 0, ''::bytea, 1
       from scale_inboxes where account % 2 = 0`,
  ]
}

/** Large tables, each with the rest of an `insert` for the rows of all messages. */
export function largeRows(size: Size): Record<string, string> {
  const arrivals = `(${arrivalsOf(size)}) as arrivals`
  const common = { account_id: 'account_id', created_at: 'created_at' }
  const kind = "case when is_sent then 'message.sent' else 'message.received' end"
  return {
    messages: rows(arrivals, {
      ...{
        ...common,
        id: id('msg'),
        inbox_id: 'inbox_id',
        thread_id: threadId(),
        raw_id: id('raw'),
      },
      direction: "case when is_sent then 'outbound' else 'inbound' end",
      arrival: 'arrival',
      status: "case when is_sent then 'sent' else 'received' end",
      rfc_message_id: "'<' || n || '@firm.example>'",
      message_key: "n || '@firm.example'",
      receipt_key: "decode(md5(n::text), 'hex')",
      from_addr: "'User <' || sender || '>'",
      to_addr: "inbox || '@mailroom.localhost'",
      delivery_role: "'to'",
      ...{ cc: "'[]'", attachments: "'[]'", defects: "'[]'" },
      reference_ids: `case when is_first then '[]' else '["<' || first || '@firm.example>"]' end`,
      subject: "'Subject of thread ' || first",
      body_length: '120',
      body_text: "'The text of message ' || n || repeat(' and so on', 9)",
      body_html: "''",
      authentication: `'{"spf":"pass","dkim":[],"dmarc":"pass","from":"firm.example"}'`,
      category: "case when not is_sent then 'personal' end",
      judgement: `case when not is_sent then
        '{"reasons":[],"autoReplyable":true,"verdict":"clean","spamScore":null}' end`,
    }),
    raw_messages: rows(arrivals, {
      id: id('raw'),
      sha256: "decode(md5(n::text) || md5(n::text), 'hex')",
      size_bytes: '250',
      content: `convert_to('From: User <' || sender || E'>\\r\\nSubject: Subject of thread ' || first ||
        E'\\r\\n\\r\\nThe text of message ' || n || repeat(' and so on', 9) || E'\\r\\n', 'UTF8')`,
      reference_count: '1',
      reverse_path: 'sender',
      client_address: "'192.0.2.1'",
      helo: "'mx.firm.example'",
      created_at: 'created_at',
    }),
    events: rows(arrivals, {
      ...{
        sequence: 'n + 1',
        transaction_id: `3 + n * 500 / ${size.messages}`,
        id: id('evt'),
        kind,
      },
      ...{ account_id: 'account_id', pod_id: 'pod_id', inbox_id: 'inbox_id' },
      ...{ thread_id: threadId(), message_id: id('msg'), occurred_at: 'created_at' },
    }),
    webhook_deliveries: rows(`${arrivals} where account % 2 = 0`, {
      ...{ ...common, id: id('dlv'), lane: 'webhook_id', event_id: id('evt'), event_kind: kind },
      ...{ status: "'delivered'", attempts: '1', last_attempt_at: 'created_at' },
      ...{ response_status: '200', response_body: "'ok'", latency_ms: '40' },
    }),
    threads: rows(
      `(select *, arrival < total as has_second,
        (thread % 3 = 0 or (arrival < total and thread % 5 < 2))::integer as is_read
        from ${arrivals} where is_first) as arrivals`,
      {
        ...{ ...common, id: id('thr'), inbox_id: 'inbox_id', is_read: 'is_read' },
        subject: "'Subject of thread ' || n",
        category: "'personal'",
        message_count: '1 + has_second::integer',
        unread_count: '(1 - is_read) * (1 + has_second::integer)',
        read_arrival: 'is_read * (arrival + has_second::integer)',
        last_message_at: `case when has_second then ${timeOf('second', size)} else created_at end`,
        participants: `'[{"name":null,"address":"' || sender || '"}]'`,
        snippet: "'The text'",
      },
    ),
    deliveries: rows(
      `(select *, n >= ${size.messages - Math.floor(size.messages / WAITING_SHARE)} as is_waiting
        from ${arrivals} where is_sent) as arrivals`,
      {
        ...{ ...common, id: id('dlv'), inbox_id: 'inbox_id', message_id: id('msg') },
        ...{ raw_id: id('raw'), size_bytes: '250', needs_smtputf8: '0', recipient: 'sender' },
        return_path: "'b+' || n || '@mailroom.localhost'",
        lane: `'domain' || n % ${LANES} || '.example'`,
        queue_state: "case when is_waiting then 'ready' end",
        status: "case when is_waiting then 'queued' else 'sent' end",
        ...{ attempts: '(not is_waiting)::integer', ambiguous_attempts: '0' },
        last_attempt_at: 'case when not is_waiting then created_at end',
        next_attempt_at: 'case when is_waiting then created_at end',
        expires_at: 'created_at + 172800000',
        host: "case when not is_waiting then 'mx.firm.example' end",
        ...{ response_code: '250', enhanced_code: "'2.0.0'", response: "'250 2.0.0 Ok'" },
      },
    ),
    correspondents: rows('scale_inboxes, generate_series(0, least(199, total / 2)) as number', {
      inbox_id: 'inbox_id',
      address_key: "'user' || number || '@firm' || inbox % 50 || '.example'",
    }),
  }
}

/** A select of values by column, as SQL. */
function rows(from: string, values: Record<string, string>): string {
  return `(${Object.keys(values).join(', ')}) overriding system value
    select ${Object.values(values).join(', ')} from ${from}`
}

/** Counters of the large tables. */
export const TOTALS = [
  `insert into inbox_counters (inbox_id, inbound_count, outbound_count, last_arrival,
       thread_count, unread_thread_count)
     select inbox_id, total - sent, sent, total, (total + 1) / 2,
       (select count(*) from threads where threads.inbox_id = scale_inboxes.inbox_id and is_read = 0)
     from scale_inboxes, lateral (select total / 2 / 5 + (total / 2 + 4) / 5 as sent) as counted`,
  `select setval(pg_get_serial_sequence('events', 'sequence'), max(sequence)) from events`,
  `update event_readers set (transaction_id, sequence) =
     (select transaction_id, sequence from events order by transaction_id desc, sequence desc limit 1)`,
]

/** One row per message. */
function arrivalsOf(size: Size): string {
  const { messages, inboxes } = size
  const others = inboxes - 1
  // The number of the message at this index and turn.
  const at = (turn: string) => `${turn} + (${turn}) / ${LARGE_EVERY - 1} + 1`
  return `select placed.*, own.begun, begins.begun as first_begun, scale_inboxes.*,
    ${timeOf('n', size)} as created_at,
    'user' || thread % 200 || '@firm' || scale_inboxes.inbox % 50 || '.example' as sender
    from (select *, (arrival + 1) / 2 as thread, arrival % 2 = 1 as is_first,
        arrival % 2 = 0 and arrival / 2 % 5 < 2 as is_sent,
        case when arrival % 2 = 1 then n when place = 0 then n - ${LARGE_EVERY}
          else ${at(`turn - ${others}`)} end as first,
        case when place = 0 then n + ${LARGE_EVERY} else ${at(`turn + ${others}`)} end as second
      from (select n, n - n / ${LARGE_EVERY} - 1 as turn,
          case when n % ${LARGE_EVERY} = 0 then 0
            else 1 + (n - n / ${LARGE_EVERY} - 1) % ${others} end as place,
          case when n % ${LARGE_EVERY} = 0 then n / ${LARGE_EVERY} + 1
            else (n - n / ${LARGE_EVERY} - 1) / ${others} + 1 end as arrival
        from generate_series(0::bigint, ${messages - 1}) as n) as counted) as placed
    join scale_inboxes on scale_inboxes.inbox = placed.place
    join scale_ticks as own on own.tick = n / ${TICK}
    join scale_ticks as begins on begins.tick = first / ${TICK}`
}

function timeOf(number: string, { messages, endMs }: Size): string {
  return `${endMs} - (${messages} - ${number}) * ${stepOf(messages)}`
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

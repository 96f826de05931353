// Sends as the transactions take them, made by hand, and the whole database as one value.

import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import { insertSend, type SendInput } from '#outbound/send/store/accept-send.ts'
import type { SendLimits } from '#outbound/send/store/check-send.ts'
import { systemClock } from '#platform/clock.ts'
import { addressKey, domainOf } from '#platform/email-address.ts'
import { DAY_MS } from '#platform/units.ts'
import type { Db } from '#store/tables.ts'
import { makeId, type Owner, type TestDatabase } from '#test/conformance/open-database.ts'
import { runSql } from '#test/peers/sql.ts'

export const UNLIMITED: SendLimits = {
  perMinute: 100_000,
  perDay: 100_000,
  held: 1_000_000,
  coldPerDay: null,
  coldAccountPerDay: 1_000_000,
}

export type SendFields = {
  key?: string
  /** The body of the request; the same key with another one is another request. */
  request?: string
  recipients?: string[]
  thread?: SendInput['thread']
  limits?: Partial<SendLimits>
  nowMs?: number
  /** All recipients unless given. */
  coldRecipients?: string[]
  content?: Uint8Array
}

/** A send of this inbox, different each time. */
export function sending(owner: Owner, inboxId: string, fields: SendFields = {}): SendInput {
  const { recipients = ['bob@far.example'], coldRecipients = recipients } = fields
  const nowMs = fields.nowMs ?? systemClock.now()
  const messageId = makeId('msg')
  const rawId = makeId('raw')
  const content = fields.content ?? Buffer.from('Subject: hi\r\n\r\nhi\r\n')
  const requestHash = createHash('sha256').update(fields.request ?? 'a request')
  return {
    use: {
      accountId: owner.accountId,
      key: fields.key ?? messageId,
      requestHash: new Uint8Array(requestHash.digest()),
      nowMs,
    },
    accountId: owner.accountId,
    nowMs,
    isWaiting: false,
    isHeld: false,
    isCounted: false,
    inboxId,
    messageId,
    thread: fields.thread ?? { kind: 'new', id: makeId('thr') },
    raw: {
      id: rawId,
      sha256: new Uint8Array(32),
      size_bytes: content.length,
      content: new Uint8Array(content),
      reverse_path: 'me@mailroom.localhost',
      client_address: null,
      helo: null,
      tls: null,
      origin: 'service',
      created_at: nowMs,
    },
    content: contentOf(messageId),
    to: recipients.slice(0, 1),
    bcc: [],
    podId: owner.podId,
    waiting: null,
    deliveries: recipients.map((recipient) => ({
      id: makeId('dlv'),
      account_id: owner.accountId,
      inbox_id: inboxId,
      message_id: messageId,
      raw_id: rawId,
      size_bytes: content.length,
      needs_smtputf8: 0,
      recipient,
      return_path: 'b+test@mailroom.localhost',
      lane: domainOf(recipient),
      next_attempt_at: nowMs,
      expires_at: nowMs + 2 * DAY_MS,
      created_at: nowMs,
    })),
    recipientKeys: recipients.map(addressKey),
    coldRecipients: coldRecipients.map(addressKey),
    lease: null,
    holdAbovePerHour: null,
    limits: { ...UNLIMITED, ...fields.limits },
    audit: null,
    loopEventId: makeId('evt'),
  }
}

function contentOf(messageId: string): SendInput['content'] {
  return {
    rfc_message_id: `<${messageId}@mailroom.localhost>`,
    message_key: `${messageId}@mailroom.localhost`,
    receipt_key: null,
    from_addr: 'me@mailroom.localhost',
    header_to: null,
    cc: '[]',
    bcc: null,
    reply_to: null,
    recipient_names: null,
    in_reply_to: null,
    reference_ids: '[]',
    subject: 'hi',
    body_length: 2,
    body_text: 'hi',
    body_html: '',
    extracted_text: null,
    attachments: '[]',
    authentication: null,
    automatic_reason: null,
    category: 'personal',
    judgement: null,
    invites: null,
    defects: '[]',
  }
}

/** Sends that must be accepted; returns their ids. */
export async function queueAll(db: Db, sends: readonly SendInput[]): Promise<string[]> {
  const outcomes = await Promise.all(sends.map((send) => db.write(insertSend, send)))
  for (const { kind } of outcomes) if (kind !== 'queued') throw new Error(kind)
  return sends.map((send) => send.messageId)
}

/** Every table of the database with its rows, as texts in order. */
export async function readAll(db: Db): Promise<Record<string, string[]>> {
  const { rows } = await sql
    .raw<{ name: string }>(
      db.engine === 'sqlite'
        ? `select name from sqlite_master where type = 'table' and name not like 'sqlite_%'`
        : `select table_name as name from information_schema.tables where table_schema = 'public'`,
    )
    .execute(db.read)
  const tables: Record<string, string[]> = {}
  for (const { name } of rows) {
    const found = await sql.raw<object>(`select * from ${name}`).execute(db.read)
    tables[name] = found.rows.map((row) => JSON.stringify(row)).sort()
  }
  return tables
}

/** Copies of the delivery of a message, in the same state, in lanes by an SQL expression of `i`. */
export async function copyDelivery(
  database: TestDatabase,
  messageId: string,
  count: number,
  lane: string,
): Promise<void> {
  const from = lane.includes('||') ? 1 : 2
  await runSql(
    database,
    `with recursive n (i) as (select ${from} union all select i + 1 from n where i < ${count})
     insert into deliveries (id, account_id, inbox_id, message_id, raw_id, size_bytes,
       needs_smtputf8, return_path, recipient, lane, queue_state, status, attempts, ambiguous_attempts,
       last_attempt_at, next_attempt_at, expires_at, created_at)
     select id || ${lane} || i, account_id, inbox_id, message_id, raw_id, size_bytes, needs_smtputf8, return_path,
       recipient, ${lane}, queue_state, status, attempts, ambiguous_attempts, last_attempt_at,
       next_attempt_at, expires_at, created_at
     from n, (select * from deliveries where message_id = '${messageId}' order by id limit 1) as one`,
  )
}

/**
 * Copies of a message with its first delivery: `count` for each of these domains, in a lane of their
 * own. Its inbox must have no other messages.
 */
export async function copyMessage(
  database: TestDatabase,
  messageId: string,
  copies: { domains: string[]; count: number; sizeBytes?: number },
): Promise<void> {
  const { domains, count, sizeBytes } = copies
  const { rows } = await sql
    .raw<{ last: number }>('select max(arrival) as last from messages')
    .execute(database.db.read)
  const last = Number(rows[0]?.last)
  const values = domains.map((domain, index) => `select ${index} as d, '${domain}' as domain`)
  const numbers = `with recursive n (i) as (select 1 union all select i + 1 from n where i < ${count}),
    lanes as (${values.join(' union all ')})`
  const place = `${last} + d * ${count} + i`
  const columns = `rfc_message_id, from_addr, to_addr, cc, reference_ids, subject, body_length,
    body_text, body_html, attachments, defects, created_at`
  await runSql(
    database,
    `${numbers} insert into messages (id, account_id, inbox_id, thread_id, raw_id, direction, arrival,
       status, ${columns})
     select id || '_' || (${place}), account_id, inbox_id, thread_id, raw_id, direction, ${place}, 'pending', ${columns}
     from n, lanes, (select * from messages where id = '${messageId}') as one`,
  )
  await runSql(
    database,
    `${numbers} insert into deliveries (id, account_id, inbox_id, message_id, raw_id, size_bytes,
       needs_smtputf8, return_path, recipient, lane, queue_state, status, attempts, ambiguous_attempts,
       next_attempt_at, expires_at, created_at)
     select id || '_' || (${place}), account_id, inbox_id, message_id || '_' || (${place}), raw_id,
       ${sizeBytes ?? 'size_bytes'}, 0, return_path, 'r' || i || '@' || domain, domain, 'ready', 'queued', 0, 0,
       next_attempt_at, expires_at, created_at
     from n, lanes, (select * from deliveries where message_id = '${messageId}') as one`,
  )
}

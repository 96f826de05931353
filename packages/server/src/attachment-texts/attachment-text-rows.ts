// Stores the text of an attachment, in one transaction with its words in the search and its event; and leases of the
// messages whose attachments are to be read.

import { PARSED_TEXT_LENGTH_MAX } from '@mailroom/contract/messages.ts'
import type { FileText } from '@mailroom/mail-reading/files/file-text.ts'
import { insertEvent } from '#events/events-rows.ts'
import { MENTIONS_MS, noteFileMentions } from '#mailbox/mailbox-rows.ts'
import { transaction } from '#platform/db/db.ts'
import { lockRows } from '#platform/db/dialect.ts'
import { MINUTE_MS } from '#platform/units.ts'
import type { ReadDb, Row, Tx } from '#schema/tables.ts'
import { changeSearch } from '#search/search-rows.ts'

/**
 * More than reading a file takes: 30 seconds of waiting, 60 to start a process for it, and 60 in that. A file
 * whose process is killed may take twice as long; then two workers may read it, and its text is stored once.
 */
const LEASE_MS = 3 * MINUTE_MS

type StoreInput = {
  accountId: string
  messageId: string
  filename: string
  contentType: string
  text: FileText
  /** The index of what the text mentions; null where it was not made. */
  mentions: string | null
  /** Names what the service can read. */
  reader: string
  eventId: string
  nowMs: number
}

/** The reader of a text that may be read another time, from this much later on. */
const NO_READER = ''
const REREAD_MS = MINUTE_MS

/** False where reading it again may have another outcome: by a reader that reads more, or on a machine less busy. */
export function isSettled(
  { method, reader, created_at }: Pick<Row<'attachment_texts'>, 'method' | 'reader' | 'created_at'>,
  by: { reader: string; nowMs: number },
): boolean {
  if (method !== 'unsupported' && method !== 'failed') return true
  return reader === NO_READER ? by.nowMs < created_at + REREAD_MS : reader === by.reader
}

/** Changes nothing where the text was stored meanwhile, or the message is gone. */
export const storeAttachmentText = transaction({
  name: 'storeAttachmentText',
  accountOf: ({ accountId }) => accountId,
  async run(tx: Tx, input: StoreInput): Promise<void> {
    const { accountId, messageId, filename, text } = input
    const message = await lockMessage(tx, input)
    if (message === null) return
    const before = await tx.query
      .selectFrom('attachment_texts')
      .select(['method', 'reader', 'stored_bytes', 'created_at'])
      .where('message_id', '=', messageId)
      .where('filename', '=', filename)
      .executeTakeFirst()
    if (before !== undefined && isSettled(before, input)) return
    const read = {
      method: text.method,
      ...halvesOf(text.text),
      pages: text.pages,
      is_truncated: text.isTruncated ? 1 : 0,
      why: text.why,
      reader: text.mayPass === true ? NO_READER : input.reader,
      stored_bytes: Buffer.byteLength(text.text),
      created_at: input.nowMs,
    }
    await tx.query
      .insertInto('attachment_texts')
      .values({ message_id: messageId, filename, account_id: accountId, ...read })
      .onConflict((conflict) => conflict.columns(['message_id', 'filename']).doUpdateSet(read))
      .execute()
    if (message.direction === 'inbound') await noteMentions(tx, message, input)
    const { inbox_id: inboxId, position } = message
    const addedBytes = read.stored_bytes - (before?.stored_bytes ?? 0)
    await tx.query
      .updateTable('inbox_counters')
      .set((row) => ({ stored_bytes: row('stored_bytes', '+', addedBytes) }))
      .where('inbox_id', '=', inboxId)
      .execute()
    if (text.text !== '' && position > 0) {
      const change = { inboxId, positions: [position] }
      await changeSearch(tx, { ...change, isBack: false })
      await changeSearch(tx, { ...change, isBack: true })
    }
    // Nothing tells of what is not read anyway, such as the pictures in a signature.
    if (text.method !== 'unsupported') await tell(tx, message, input)
  },
})

/** Not of mail that is too old to count. */
async function noteMentions(tx: Tx, message: Found, input: StoreInput): Promise<void> {
  const { accountId, messageId, filename, text, nowMs } = input
  if (message.created_at <= nowMs - MENTIONS_MS) return
  const isRead = text.method !== 'failed' && text.method !== 'too_large'
  await noteFileMentions(tx, {
    message_id: messageId,
    filename,
    account_id: accountId,
    inbox_id: message.inbox_id,
    content: isRead ? input.mentions : null,
    copied: '',
    proof: 0,
    received_at: message.created_at,
  })
}

/** The first PARSED_TEXT_LENGTH_MAX code points, and the rest. */
function halvesOf(whole: string): { text: string; rest: string | null } {
  let at = 0
  for (let count = 0; count < PARSED_TEXT_LENGTH_MAX && at < whole.length; count++) {
    at += (whole.codePointAt(at) ?? 0) > 0xffff ? 2 : 1
  }
  return { text: whole.slice(0, at), rest: at < whole.length ? whole.slice(at) : null }
}

type Found = Pick<
  Row<'messages'>,
  'thread_id' | 'inbox_id' | 'position' | 'direction' | 'created_at'
> & { pod_id: string }

/** Null once it is removed, or its inbox is. */
async function lockMessage(
  tx: Tx,
  { accountId, messageId }: Pick<StoreInput, 'accountId' | 'messageId'>,
): Promise<Found | null> {
  const selected = tx.query
    .selectFrom('messages')
    .select(['thread_id', 'inbox_id', 'position', 'direction', 'created_at'])
    .where('id', '=', messageId)
    .where('account_id', '=', accountId)
  const found = await selected.executeTakeFirst()
  if (found === undefined) return null
  // The counters first, as removals do, to avoid deadlocks.
  const counters = tx.query
    .selectFrom('inbox_counters')
    .select('inbox_id')
    .where('inbox_id', '=', found.inbox_id)
  await lockRows(tx, counters).execute()
  const message = await lockRows(tx, selected).executeTakeFirst()
  if (message === undefined) return null
  const inbox = await tx.query
    .selectFrom('inboxes')
    .select('pod_id')
    .where('id', '=', message.inbox_id)
    .executeTakeFirst()
  return inbox === undefined ? null : { ...message, ...inbox }
}

async function tell(tx: Tx, message: Found, input: StoreInput): Promise<void> {
  const { filename, contentType, text } = input
  const attachment = {
    filename,
    contentType,
    extractionMethod: text.method,
    isTruncated: text.isTruncated,
  }
  await insertEvent(tx, {
    id: input.eventId,
    kind: 'attachment.extracted',
    account_id: input.accountId,
    pod_id: message.pod_id,
    inbox_id: message.inbox_id,
    thread_id: message.thread_id,
    message_id: input.messageId,
    occurred_at: input.nowMs,
    details: JSON.stringify({ attachment }),
  })
}

export type AttachmentRead = { messageId: string; accountId: string; attempts: number }

/** Whether there may be one to claim; a read is cheap, a claim costs a commit. */
export async function hasDueRead(db: ReadDb, nowMs: number): Promise<boolean> {
  const row = await db.read
    .selectFrom('attachment_reads')
    .select('message_id')
    .where((one) => one.or([one('lease_until', 'is', null), one('lease_until', '<=', nowMs)]))
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** Leases the oldest message of the next account after `afterAccount`, round robin; null for none. */
export const claimAttachmentRead = transaction({
  name: 'claimAttachmentRead',
  accountOf: () => null,
  async run(
    tx: Tx,
    input: { worker: string; afterAccount: string; nowMs: number },
  ): Promise<AttachmentRead | null> {
    const row = (await lockDue(tx, input)) ?? (await lockDue(tx, { ...input, afterAccount: '' }))
    if (row === undefined) return null
    await tx.query
      .updateTable('attachment_reads')
      .set({
        leased_by: input.worker,
        lease_until: input.nowMs + LEASE_MS,
        attempts: row.attempts + 1,
      })
      .where('message_id', '=', row.message_id)
      .execute()
    return { messageId: row.message_id, accountId: row.account_id, attempts: row.attempts + 1 }
  },
})

function lockDue(tx: Tx, { afterAccount, nowMs }: { afterAccount: string; nowMs: number }) {
  const due = tx.query
    .selectFrom('attachment_reads')
    .select(['message_id', 'account_id', 'attempts'])
    .where((row) => row.or([row('lease_until', 'is', null), row('lease_until', '<=', nowMs)]))
    .where('account_id', '>', afterAccount)
    .orderBy('account_id')
    .orderBy('message_id')
    .limit(1)
  return lockRows(tx, due, { skipLocked: true }).executeTakeFirst()
}

type Held = { messageId: string; worker: string; nowMs: number }

/** False when another worker holds it, or its message was removed. */
export const renewAttachmentRead = transaction({
  name: 'renewAttachmentRead',
  accountOf: () => null,
  async run(tx: Tx, { messageId, worker, nowMs }: Held): Promise<boolean> {
    const renewed = await tx.query
      .updateTable('attachment_reads')
      .set({ lease_until: nowMs + LEASE_MS })
      .where('message_id', '=', messageId)
      .where('leased_by', '=', worker)
      .returning('message_id')
      .execute()
    return renewed.length > 0
  },
})

/** Removes it, or with `notBeforeMs` returns it to be read then. */
export const endAttachmentRead = transaction({
  name: 'endAttachmentRead',
  accountOf: () => null,
  async run(tx: Tx, input: Held & { notBeforeMs: number | null }): Promise<void> {
    const { messageId, worker, notBeforeMs } = input
    if (notBeforeMs === null) {
      await tx.query
        .deleteFrom('attachment_reads')
        .where('message_id', '=', messageId)
        .where('leased_by', '=', worker)
        .execute()
      return
    }
    await tx.query
      .updateTable('attachment_reads')
      .set({ leased_by: null, lease_until: notBeforeMs })
      .where('message_id', '=', messageId)
      .where('leased_by', '=', worker)
      .execute()
  },
})

/** Ends every lease; for the start of a process that is alone with its database. */
export const releaseAttachmentReads = transaction({
  name: 'releaseAttachmentReads',
  accountOf: () => null,
  async run(tx: Tx, _input: object): Promise<void> {
    await tx.query
      .updateTable('attachment_reads')
      .set({ leased_by: null, lease_until: null })
      .where('leased_by', 'is not', null)
      .execute()
  },
})

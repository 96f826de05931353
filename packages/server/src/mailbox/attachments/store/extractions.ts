// Stores the text of an attachment, its search words and its event in one transaction.

import { PARSED_TEXT_LENGTH_MAX } from '@mailroom/contract/messages.ts'
import type { FileText } from '@mailroom/mail-reading/files/file-text.ts'
import { insertEvent } from '#events/store/append.ts'
import { MENTIONS_MS, noteFileMentions } from '#mailbox/messages/store/mentions.ts'
import { transaction } from '#platform/db/db.ts'
import { lockRows } from '#platform/db/dialect.ts'
import { MINUTE_MS } from '#platform/units.ts'
import { changeSearch } from '#search/store/search-index.ts'
import type { Row, Tx } from '#store/tables.ts'

type StoreInput = {
  accountId: string
  messageId: string
  filename: string
  contentType: string
  text: FileText
  mentions: string | null
  /** The version of the reader changes whenever it supports other file types. */
  reader: string
  eventId: string
  nowMs: number
}

/** Recorded when extraction timed out. Such a file may be extracted again after REREAD_MS. */
const NO_READER = ''
const REREAD_MS = MINUTE_MS

/** Returns false if a newer reader or a less busy machine may extract more text. */
export function isSettled(
  { method, reader, created_at }: Pick<Row<'attachment_texts'>, 'method' | 'reader' | 'created_at'>,
  by: { reader: string; nowMs: number },
): boolean {
  if (method !== 'unsupported' && method !== 'failed') return true
  return reader === NO_READER ? by.nowMs < created_at + REREAD_MS : reader === by.reader
}

/** If the text is already stored or the message was deleted, nothing changes. */
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
    const { inbox_id: inboxId, arrival, is_trashed } = message
    const addedBytes = read.stored_bytes - (before?.stored_bytes ?? 0)
    await tx.query
      .updateTable('inbox_counters')
      .set((row) => ({ stored_bytes: row('stored_bytes', '+', addedBytes) }))
      .where('inbox_id', '=', inboxId)
      .execute()
    if (text.text !== '' && is_trashed === 0) {
      const change = { inboxId, arrivals: [arrival] }
      await changeSearch(tx, { ...change, isBack: false })
      await changeSearch(tx, { ...change, isBack: true })
    }
    // No event is emitted for unsupported files, such as the images of a signature.
    if (text.method !== 'unsupported') await emitExtracted(tx, message, input)
  },
})

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

function halvesOf(whole: string): { text: string; rest: string | null } {
  let at = 0
  for (let count = 0; count < PARSED_TEXT_LENGTH_MAX && at < whole.length; count++) {
    at += (whole.codePointAt(at) ?? 0) > 0xffff ? 2 : 1
  }
  return { text: whole.slice(0, at), rest: at < whole.length ? whole.slice(at) : null }
}

type Found = Pick<
  Row<'messages'>,
  'thread_id' | 'inbox_id' | 'arrival' | 'is_trashed' | 'direction' | 'created_at'
> & { pod_id: string }

async function lockMessage(
  tx: Tx,
  { accountId, messageId }: Pick<StoreInput, 'accountId' | 'messageId'>,
): Promise<Found | null> {
  const selected = tx.query
    .selectFrom('messages')
    .select(['thread_id', 'inbox_id', 'arrival', 'is_trashed', 'direction', 'created_at'])
    .where('id', '=', messageId)
    .where('account_id', '=', accountId)
  const found = await selected.executeTakeFirst()
  if (found === undefined) return null
  // Counters are locked before messages, as in removals, to avoid deadlocks.
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

async function emitExtracted(tx: Tx, message: Found, input: StoreInput): Promise<void> {
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

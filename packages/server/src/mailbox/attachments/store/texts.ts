import type { ExtractionMethod } from '@mailroom/contract/vocabulary.ts'
import { sql } from 'kysely'
import { statement } from '#platform/db/statement.ts'
import type { ReadDb, Row, Tables, Tx } from '#store/tables.ts'

export type ParsedText = {
  readonly filename: string
  readonly method: ExtractionMethod
  readonly text: string
}

/** Returns the first PARSED_TEXT_LENGTH_MAX characters of each file. */
export async function listParsedTexts(db: ReadDb, messageId: string): Promise<ParsedText[]> {
  return selectParsedTexts(db.reading, { messageId })
}

const selectParsedTexts = statement<Tables, { messageId: string }, ParsedText>((query, given) =>
  query
    .selectFrom('attachment_texts')
    .select(['filename', 'text', sql<ExtractionMethod>`method`.as('method')])
    .where('message_id', '=', given('messageId')),
)

export async function findAttachmentText(
  db: ReadDb,
  { accountId, messageId, filename }: { accountId: string; messageId: string; filename: string },
): Promise<Row<'attachment_texts'> | null> {
  const row = await db.read
    .selectFrom('attachment_texts')
    .selectAll()
    .where('message_id', '=', messageId)
    .where('filename', '=', filename)
    .where('account_id', '=', accountId)
    .executeTakeFirst()
  return row ?? null
}

export async function listReadFiles(db: ReadDb, messageId: string): Promise<string[]> {
  const rows = await db.read
    .selectFrom('attachment_texts')
    .select('filename')
    .where('message_id', '=', messageId)
    .execute()
  return rows.map(({ filename }) => filename)
}

export async function listWholeTexts(db: ReadDb, messageId: string): Promise<string[]> {
  const rows = await db.read
    .selectFrom('attachment_texts')
    .select(['text', 'rest'])
    .where('message_id', '=', messageId)
    .execute()
  return rows.map(({ text, rest }) => text + (rest ?? ''))
}

/** Returns the beginnings of a message's texts, `lengthMax` UTF-16 units in total. */
export async function readAttachedText(
  query: ReadDb['read'],
  { messageId, lengthMax }: { messageId: string; lengthMax: number },
): Promise<string> {
  const rows = await query
    .selectFrom('attachment_texts')
    .select('text')
    .where('message_id', '=', messageId)
    .orderBy('filename')
    .execute()
  let text = ''
  for (const one of rows) {
    if (text.length >= lengthMax) break
    if (one.text !== '') text += `${one.text.slice(0, lengthMax)}\n`
  }
  return text.slice(0, lengthMax)
}

/** Removes the texts of files that a message no longer has, and returns the storage they used. */
export async function removeOtherTexts(
  tx: Tx,
  { messageId, filenames }: { messageId: string; filenames: readonly string[] },
): Promise<number> {
  const texts = tx.query.deleteFrom('attachment_texts').where('message_id', '=', messageId)
  const other = filenames.length === 0 ? texts : texts.where('filename', 'not in', filenames)
  return sizeOf(await other.returning('stored_bytes').execute())
}

/** Removes the texts and their mentions, and returns the storage that they used. */
export async function removeAttachmentTexts(
  tx: Tx,
  messageIds: readonly string[],
): Promise<number> {
  if (messageIds.length === 0) return 0
  await tx.query
    .deleteFrom('jobs')
    .where('kind', '=', 'extraction')
    .where('key', 'in', messageIds)
    .execute()
  await tx.query.deleteFrom('mentions').where('message_id', 'in', messageIds).execute()
  const removed = await tx.query
    .deleteFrom('attachment_texts')
    .where('message_id', 'in', messageIds)
    .returning('stored_bytes')
    .execute()
  return sizeOf(removed)
}

function sizeOf(removed: readonly Pick<Row<'attachment_texts'>, 'stored_bytes'>[]): number {
  return removed.reduce((sum, { stored_bytes }) => sum + Number(stored_bytes), 0)
}

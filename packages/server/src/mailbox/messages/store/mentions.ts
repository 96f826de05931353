// Addresses mentioned in received mail, kept for 30 days for the guards on sending.

import type { LongRead } from '#platform/db/db.ts'
import { forEachRow, rowInsert } from '#platform/db/statement.ts'
import { DAY_MS } from '#platform/units.ts'
import { removeOldest } from '#store/purge-steps.ts'
import type { ReadDb, Row, Tables, Tx } from '#store/tables.ts'

export const MENTIONS_MS = 30 * DAY_MS

export type ReceivedMentions = {
  /** The content is null if the mentions are not indexed and the message must be searched. */
  readonly content: string | null
  readonly copied: readonly string[]
  readonly unreadFiles: readonly string[]
}

export const insertMentions = forEachRow(
  rowInsert<Tables, Row<'mentions'>>('mentions', [
    'message_id',
    'filename',
    'account_id',
    'inbox_id',
    'content',
    'copied',
    'proof',
    'received_at',
  ]),
)

type OfMessage = Omit<Row<'mentions'>, 'filename' | 'content' | 'copied'>

export function mentionRows(
  message: OfMessage,
  { content, copied, unreadFiles }: ReceivedMentions,
): Row<'mentions'>[] {
  const rows = unreadFiles.map((filename) => ({ ...message, filename, content: null, copied: '' }))
  if (content === '' && copied.length === 0) return rows
  const list = copied.length === 0 ? '' : JSON.stringify(copied)
  return [{ ...message, filename: '', content, copied: list }, ...rows]
}

/** Records the mentions in an extracted file. `content` is null if extraction failed. */
export async function noteFileMentions(tx: Tx, row: Row<'mentions'>): Promise<void> {
  await tx.query
    .deleteFrom('mentions')
    .where('message_id', '=', row.message_id)
    .where('filename', '=', row.filename)
    .execute()
  if (row.content !== '') await insertMentions(tx, [row])
}

export async function purgeMentions(tx: Tx, nowMs: number): Promise<number> {
  const removed = await removeOldest(tx, 'mentions', {
    key: ['inbox_id', 'received_at', 'message_id', 'filename'],
    time: 'received_at',
    until: nowMs - MENTIONS_MS,
    returning: 'message_id',
  })
  return removed.length
}

type OfInbox = { readonly inboxId: string; readonly nowMs: number }

/** Finds threads that contain every piece of one list or are not indexed, by scanning the inbox. */
export const findMentioning: LongRead<
  Tables,
  OfInbox & { readonly pieces: readonly (readonly string[])[]; readonly limit: number },
  string[]
> = {
  name: 'findMentioning',
  async run(db, { pieces, ...asked }, signal) {
    const found = new Set<string>()
    for (let at = 0; at < pieces.length && !signal.aborted; at += LISTS_AT_ONCE) {
      const lists = pieces.slice(at, at + LISTS_AT_ONCE)
      for (const id of await findThreadsWith(db, { ...asked, pieces: lists })) found.add(id)
      if (found.size >= asked.limit) break
    }
    return [...found]
  },
}

/** SQLite limits the depth of an expression to 1,000. */
const LISTS_AT_ONCE = 100

async function findThreadsWith(
  db: ReadDb,
  { inboxId, nowMs, pieces, limit }: Parameters<(typeof findMentioning)['run']>[1],
): Promise<string[]> {
  const rows = await db.read
    .selectFrom('mentions')
    .innerJoin('messages', 'messages.id', 'mentions.message_id')
    .select('messages.thread_id')
    .distinct()
    .where('mentions.inbox_id', '=', inboxId)
    .where('mentions.received_at', '>', nowMs - MENTIONS_MS)
    .where((row) =>
      row.or([
        row.and([row('mentions.content', 'is', null), row('mentions.filename', '=', '')]),
        ...pieces.map((all) =>
          row.and(all.map((piece) => row('mentions.content', 'like', `%${piece}%`))),
        ),
      ]),
    )
    .limit(limit)
    .execute()
  return rows.map(({ thread_id }) => thread_id)
}

export async function findUnreadFile(
  db: ReadDb,
  { inboxId, nowMs }: OfInbox,
): Promise<Pick<Row<'mentions'>, 'message_id' | 'filename'> | null> {
  const row = await db.read
    .selectFrom('mentions')
    .select(['message_id', 'filename'])
    .where('inbox_id', '=', inboxId)
    .where('received_at', '>', nowMs - MENTIONS_MS)
    .where('content', 'is', null)
    .where('filename', '!=', '')
    .orderBy('received_at', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row ?? null
}

export async function findCopied(
  db: ReadDb,
  { inboxId, nowMs, proofMin }: OfInbox & { readonly proofMin: number },
  keys: readonly string[],
): Promise<Set<string>> {
  if (keys.length === 0) return new Set()
  const rows = await db.read
    .selectFrom('mentions')
    .select('copied')
    .where('inbox_id', '=', inboxId)
    .where('received_at', '>', nowMs - MENTIONS_MS)
    .where('proof', '>=', proofMin)
    .where('copied', '!=', '')
    // Wildcards in an address may match too much; the comparison below is exact.
    .where((row) => row.or(keys.map((key) => row('copied', 'like', `%${JSON.stringify(key)}%`))))
    .execute()
  const copied = new Set(rows.flatMap((row) => JSON.parse(row.copied) as string[]))
  return new Set(keys.filter((key) => copied.has(key)))
}

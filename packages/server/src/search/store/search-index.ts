// The word index. The transaction that adds entries also moves the indexed arrival number of the
// inbox, so that no message is missed or indexed twice.

import { sql } from 'kysely'
import { readAttachedText } from '#mailbox/attachments/store/texts.ts'
import type { Direction } from '#mailbox/messages/store/messages.ts'
import { transaction } from '#platform/db/db.ts'
import { lockRows } from '#platform/db/dialect.ts'
import {
  addTextEntries,
  eraseTextStep,
  keepsRemovedText,
  removeTextEntries,
  type TextEntry,
} from '#platform/db/text-index.ts'
import {
  makeSearchEntry,
  SEARCH_BODY_LENGTH_MAX,
  type SearchableMessage,
} from '#search/search-words.ts'
import type { ReadDb, Row, Tx } from '#store/tables.ts'

/** Limits of one transaction, the second in UTF-16 units. It takes some ten milliseconds. */
export const SEARCH_STEP_MESSAGES = 50
const SEARCH_STEP_LENGTH = 256 * 1024

/** Arrival numbers in the id of an entry; the rest of a safe integer is for inboxes. */
const ARRIVALS = 2 ** 27

export const BLOCKS = [2 ** 12, 2 ** 15, 2 ** 18] as const

type SearchInbox = Pick<Row<'search_inboxes'>, 'number' | 'indexed_arrival'>

export function entryId(number: number, arrival: number): number {
  return number * ARRIVALS + arrival
}

export function arrivalOfEntry(id: number): number {
  return id % ARRIVALS
}

export function scopeOf(number: number): string {
  return number.toString(36)
}

/** Labels the messages of a block; `level` is an index of BLOCKS. */
export function blockMark(level: number, arrival: number): string {
  return `${level}.${Math.floor(arrival / (BLOCKS[level] ?? 1)).toString(36)}`
}

export function directionMark(direction: Direction): string {
  return direction === 'inbound' ? 'in' : 'out'
}

export type IndexStep = {
  indexed: number
  behind: string[]
}

/** Skips deleted inboxes and, with `skipLocked`, those that another transaction is indexing. */
export const indexSearchStep = transaction({
  name: 'indexSearchStep',
  accountOf: () => null,
  async run(tx: Tx, input: { inboxIds: string[]; skipLocked: boolean }): Promise<IndexStep> {
    const behind: string[] = []
    let indexed = 0
    // The order prevents deadlocks between transactions.
    for (const inboxId of [...input.inboxIds].sort()) {
      if (indexed >= SEARCH_STEP_MESSAGES) {
        behind.push(inboxId)
        continue
      }
      const result = await indexNext(tx, inboxId, {
        limit: SEARCH_STEP_MESSAGES - indexed,
        skipLocked: input.skipLocked,
      })
      indexed += result.indexed
      if (!result.isDone) behind.push(inboxId)
    }
    return { indexed, behind }
  },
})

async function indexNext(
  tx: Tx,
  inboxId: string,
  { limit, skipLocked }: { limit: number; skipLocked: boolean },
): Promise<{ indexed: number; isDone: boolean }> {
  const inbox = await lockSearchInbox(tx, inboxId, skipLocked)
  if (inbox === 'gone') return { indexed: 0, isDone: true }
  if (inbox === 'locked') return { indexed: 0, isDone: false }
  const top = await readTop(tx, inboxId)
  if (top === null || top <= inbox.indexed_arrival) return { indexed: 0, isDone: true }
  const { number, indexed_arrival: after } = inbox
  const messages = await readNext(tx, { inboxId, after, limit })
  await addTextEntries(
    tx,
    messages.map((message) => toEntry(number, message)),
  )
  const indexed_arrival = messages.at(-1)?.arrival ?? top
  await tx.query
    .updateTable('search_inboxes')
    .set({ indexed_arrival })
    .where('number', '=', number)
    .execute()
  return { indexed: messages.length, isDone: indexed_arrival >= top }
}

/** The row is locked until the transaction ends, and inserted on first use. */
async function lockSearchInbox(
  tx: Tx,
  inboxId: string,
  skipLocked: boolean,
): Promise<SearchInbox | 'locked' | 'gone'> {
  const select = () =>
    tx.query
      .selectFrom('search_inboxes')
      .select(['number', 'indexed_arrival'])
      .where('inbox_id', '=', inboxId)
      .where('is_purged', '=', 0)
  const found = await lockRows(tx, select(), { skipLocked }).executeTakeFirst()
  if (found !== undefined) return found
  if ((await select().executeTakeFirst()) !== undefined) return 'locked'
  // The inbox is locked, so that a removal finds the row that is about to be inserted.
  const inbox = await lockRows(
    tx,
    tx.query.selectFrom('inboxes').select('account_id').where('id', '=', inboxId),
    { skipLocked },
  ).executeTakeFirst()
  if (inbox === undefined) return 'gone'
  const made = await tx.query
    .insertInto('search_inboxes')
    .values({ inbox_id: inboxId, account_id: inbox.account_id })
    .onConflict((conflict) => conflict.column('inbox_id').doNothing())
    .returning(['number', 'indexed_arrival'])
    .executeTakeFirst()
  return made ?? 'locked'
}

async function readTop(tx: Tx, inboxId: string): Promise<number | null> {
  const counters = await tx.query
    .selectFrom('inbox_counters')
    .select('last_arrival')
    .where('inbox_id', '=', inboxId)
    .executeTakeFirst()
  return counters?.last_arrival ?? null
}

type NextMessage = SearchableMessage & { arrival: number }

async function readNext(
  tx: Tx,
  { inboxId, after, limit }: { inboxId: string; after: number; limit: number },
): Promise<NextMessage[]> {
  const rows = await tx.query
    .selectFrom('messages')
    .select([...SEARCHED, 'arrival'])
    .where('inbox_id', '=', inboxId)
    .where('arrival', '>', after)
    .where('is_trashed', '=', 0)
    .orderBy('arrival')
    .limit(limit)
    .execute()
  const messages: NextMessage[] = []
  let length = 0
  for (const row of rows) {
    const message = await toSearchable(tx.query, row)
    messages.push({ ...message, arrival: row.arrival })
    length += message.bodyText.length + (message.attachedText?.length ?? 0)
    if (length >= SEARCH_STEP_LENGTH) break
  }
  return messages
}

export const SEARCHED = [
  'id',
  'raw_id',
  'direction',
  'from_addr',
  'to_addr',
  'to_addrs',
  'header_to',
  'cc',
  'subject',
  'body_length',
  'body_text',
  sql<number>`case when body_html = '' then 0 else 1 end`.as('has_html'),
  'attachments',
] as const

type SearchedRow = Pick<
  Row<'messages'>,
  | 'id'
  | 'raw_id'
  | 'direction'
  | 'from_addr'
  | 'to_addr'
  | 'to_addrs'
  | 'header_to'
  | 'cc'
  | 'subject'
  | 'body_length'
  | 'body_text'
  | 'attachments'
> & { has_html: number }

export async function toSearchable(
  query: ReadDb['read'],
  row: SearchedRow,
): Promise<SearchableMessage> {
  return {
    direction: row.direction as Direction,
    fromAddr: row.from_addr,
    toAddr: row.to_addr,
    sentTo: row.to_addrs === null ? null : (JSON.parse(row.to_addrs) as string[]),
    headerTo: row.header_to,
    cc: JSON.parse(row.cc) as string[],
    subject: row.subject,
    bodyText: await readText(query, row),
    attachedText: row.attachments === '[]' ? '' : await attachedTextOf(query, row),
  }
}

/** The limit is in UTF-16 units, because many names must not displace texts. */
const NAMES_LENGTH_MAX = 8 * 1024

/** Returns file names, then texts without the rules and bars of tables. */
async function attachedTextOf(
  query: ReadDb['read'],
  { id, attachments }: Pick<SearchedRow, 'id' | 'attachments'>,
): Promise<string> {
  const files = JSON.parse(attachments) as readonly { filename: string }[]
  const names = files.map(({ filename }) => `${filename}\n`).join('')
  const asked = { messageId: id, lengthMax: SEARCH_BODY_LENGTH_MAX }
  const text = await readAttachedText(query, asked)
  const shown = text
    .replace(/^\|(?: -+ \|)+$/gm, '')
    .replace(/^\| | \|$/gm, '')
    .replaceAll(' | ', ' ')
  return names.slice(0, NAMES_LENGTH_MAX) + shown
}

async function readText(query: ReadDb['read'], row: SearchedRow): Promise<string> {
  const isLong = row.body_length > 0 && row.body_text === '' && row.has_html === 0
  if (!isLong) return row.body_text.slice(0, SEARCH_BODY_LENGTH_MAX)
  const bodies = await query
    .selectFrom('long_bodies')
    .select(sql<string>`substr(body_text, 1, ${SEARCH_BODY_LENGTH_MAX})`.as('body_text'))
    .where('raw_id', '=', row.raw_id)
    .executeTakeFirst()
  return bodies?.body_text ?? ''
}

function toEntry(number: number, message: NextMessage): TextEntry {
  const { arrival, direction } = message
  const blocks = BLOCKS.map((_size, level) => blockMark(level, arrival))
  return {
    id: entryId(number, arrival),
    scope: scopeOf(number),
    marks: [...blocks, directionMark(direction)],
    fields: makeSearchEntry(message),
  }
}

const SEARCH_ERASE_STEP_PAGES = 64

export async function removeFromSearch(
  tx: Tx,
  { inboxId, arrivals }: { inboxId: string; arrivals: readonly number[] },
): Promise<void> {
  // This waits for a transaction that is indexing the inbox; no new one begins.
  const inbox = await lockRows(
    tx,
    tx.query.selectFrom('search_inboxes').select('number').where('inbox_id', '=', inboxId),
  ).executeTakeFirst()
  if (inbox === undefined) return
  const ids = arrivals.map((arrival) => entryId(inbox.number, arrival))
  await removeTextEntries(tx, ids)
}

/** Removes entries or, with `isBack`, adds them again, as far as the inbox is indexed. */
export async function changeSearch(
  tx: Tx,
  change: { inboxId: string; arrivals: readonly number[]; isBack: boolean },
): Promise<void> {
  const { inboxId, arrivals, isBack } = change
  const inbox = await lockForChange(tx, inboxId)
  const indexed = arrivals.filter((arrival) => arrival <= inbox.indexed_arrival)
  if (indexed.length === 0) return
  if (!isBack) {
    await removeEntries(tx, inbox.number, indexed)
    return
  }
  const rows = await tx.query
    .selectFrom('messages')
    .select([...SEARCHED, 'arrival'])
    .where('inbox_id', '=', inboxId)
    .where('arrival', 'in', indexed)
    .execute()
  for (const row of rows) {
    const message = await toSearchable(tx.query, row)
    await addTextEntries(tx, [toEntry(inbox.number, { ...message, arrival: row.arrival })])
  }
}

/** Also records that the file may still contain words of the entries. */
async function removeEntries(tx: Tx, number: number, arrivals: readonly number[]): Promise<void> {
  await removeTextEntries(
    tx,
    arrivals.map((arrival) => entryId(number, arrival)),
  )
  if (!keepsRemovedText(tx.engine)) return
  await tx.query
    .updateTable('search_inboxes')
    .set(({ eb }) => ({ removed_entries: eb('removed_entries', '+', arrivals.length) }))
    .where('number', '=', number)
    .execute()
}

/** Retries while another transaction inserts the row. */
async function lockForChange(tx: Tx, inboxId: string): Promise<SearchInbox> {
  for (;;) {
    const inbox = await lockSearchInbox(tx, inboxId, false)
    if (inbox === 'gone') throw new Error('The inbox of a message was deleted.')
    if (inbox !== 'locked') return inbox
  }
}

/** Must be called once all entries are removed. SQLite's file may still have words to erase. */
export async function endSearchInbox(tx: Tx, inboxId: string): Promise<void> {
  if (keepsRemovedText(tx.engine)) {
    await tx.query
      .updateTable('search_inboxes')
      .set({ is_purged: 1 })
      .where('inbox_id', '=', inboxId)
      .where('indexed_arrival', '>', 0)
      .execute()
    await tx.query
      .deleteFrom('search_inboxes')
      .where('inbox_id', '=', inboxId)
      .where('indexed_arrival', '=', 0)
      .execute()
    return
  }
  await tx.query.deleteFrom('search_inboxes').where('inbox_id', '=', inboxId).execute()
}

export async function listPurgedNumbers(db: ReadDb): Promise<number[]> {
  if (!keepsRemovedText(db.reading.engine)) return []
  const rows = await db.read
    .selectFrom('search_inboxes')
    .select('number')
    .where('is_purged', '=', sql.lit(1))
    .orderBy('number')
    .limit(LEFTOVERS_MAX)
    .execute()
  return rows.map(({ number }) => number)
}

/** Removed entries that may have left words in the file. */
export type RemovedEntries = Pick<Row<'search_inboxes'>, 'number' | 'removed_entries'>

export async function listRemovedEntries(db: ReadDb): Promise<RemovedEntries[]> {
  if (!keepsRemovedText(db.reading.engine)) return []
  return db.read
    .selectFrom('search_inboxes')
    .select(['number', 'removed_entries'])
    .where('removed_entries', '>', sql.lit(0))
    .orderBy('number')
    .limit(LEFTOVERS_MAX)
    .execute()
}

const LEFTOVERS_MAX = 5_000

/** Returns true if the round is done. An interrupted round begins again. */
export const eraseSearchStep = transaction({
  name: 'eraseSearchStep',
  accountOf: () => null,
  async run(tx: Tx, { isFirst }: { isFirst: boolean }): Promise<boolean> {
    return eraseTextStep(tx, { pages: SEARCH_ERASE_STEP_PAGES, isFirst })
  },
})

export const forgetPurgedSearch = transaction({
  name: 'forgetPurgedSearch',
  accountOf: () => null,
  erasing: true,
  async run(tx: Tx, { numbers }: { numbers: number[] }): Promise<void> {
    await tx.query
      .deleteFrom('search_inboxes')
      .where('number', 'in', numbers)
      .where('is_purged', '=', 1)
      .execute()
  },
})

/** Must be called after a round, with the entries that were removed before it began. */
export const forgetRemovedEntries = transaction({
  name: 'forgetRemovedEntries',
  accountOf: () => null,
  erasing: true,
  async run(tx: Tx, { inboxes }: { inboxes: readonly RemovedEntries[] }): Promise<void> {
    for (const { number, removed_entries } of inboxes) {
      await tx.query
        .updateTable('search_inboxes')
        .set(({ eb }) => ({ removed_entries: eb('removed_entries', '-', removed_entries) }))
        .where('number', '=', number)
        .execute()
    }
  },
})

// The index of words. An inbox numbers its messages as they arrive, so one number says how far it is
// indexed. The transaction that adds entries moves it: no message is missing and none is indexed twice,
// whichever process indexes and wherever it stops.

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

/** One transaction indexes so many messages, and UTF-16 units of their texts: some ten milliseconds. */
export const SEARCH_STEP_MESSAGES = 50
const SEARCH_STEP_LENGTH = 256 * 1024

/** Arrival numbers that fit into the id of an entry; the rest of a safe integer is for inboxes. */
const ARRIVALS = 2 ** 27

/** Sizes of the blocks of arrival numbers, the smallest first. */
export const BLOCKS = [2 ** 12, 2 ** 15, 2 ** 18] as const

type SearchInbox = Pick<Row<'search_inboxes'>, 'number' | 'indexed_arrival'>

export function entryId(number: number, arrival: number): number {
  return number * ARRIVALS + arrival
}

export function arrivalOfEntry(id: number): number {
  return id % ARRIVALS
}

/** The words of each inbox have a scope of their own. */
export function scopeOf(number: number): string {
  return number.toString(36)
}

/** Marks the messages of the block that has this arrival number, of the size at this index of BLOCKS. */
export function blockMark(level: number, arrival: number): string {
  return `${level}.${Math.floor(arrival / (BLOCKS[level] ?? 1)).toString(36)}`
}

export function directionMark(direction: Direction): string {
  return direction === 'inbound' ? 'in' : 'out'
}

export type IndexStep = {
  /** Messages that were indexed. */
  indexed: number
  /** Inboxes that have more, or that another transaction is indexing now. */
  behind: string[]
}

/**
 * Indexes the next messages of these inboxes, up to SEARCH_STEP_MESSAGES in all. Deleted inboxes are
 * skipped, and with `skipLocked` those that another transaction is indexing.
 */
export const indexSearchStep = transaction({
  name: 'indexSearchStep',
  accountOf: () => null,
  async run(tx: Tx, input: { inboxIds: string[]; skipLocked: boolean }): Promise<IndexStep> {
    const behind: string[] = []
    let indexed = 0
    // In one order everywhere, so that two transactions do not deadlock.
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
  // The inbox was deleted meanwhile; its entries are removed with its messages.
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

/** The row of the inbox, locked until the transaction ends; inserted at its first use. */
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
  // Locked, so that its removal finds the row that is about to be inserted.
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

/** The last arrival number of the inbox; null when it was deleted. */
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

/** With the beginnings of its text and of that of its attachments. */
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

/** UTF-16 units of names, so that many do not leave their texts out. */
const NAMES_LENGTH_MAX = 8 * 1024

/** The names of the files, and their texts; tables without their rules and bars, which no snippet should show. */
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

/** The beginning of the message's text; '' when it was deleted since. */
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

/** Database pages that a step of erasing writes. */
const SEARCH_ERASE_STEP_PAGES = 64

/** Removes the entries of a deleted inbox with these arrival numbers. */
export async function removeFromSearch(
  tx: Tx,
  { inboxId, arrivals }: { inboxId: string; arrivals: readonly number[] },
): Promise<void> {
  // Waits for a transaction that is indexing the inbox; no other one begins.
  const inbox = await lockRows(
    tx,
    tx.query.selectFrom('search_inboxes').select('number').where('inbox_id', '=', inboxId),
  ).executeTakeFirst()
  if (inbox === undefined) return
  const ids = arrivals.map((arrival) => entryId(inbox.number, arrival))
  await removeTextEntries(tx, ids)
}

/** Removes the entries of an inbox with these arrival numbers, or with `isBack` adds them again, as far as it is indexed. */
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

/** Removes the entries, and notes that words of theirs may be left. */
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

/** Another transaction may insert the row of the inbox, which is not deleted, at the same time. */
async function lockForChange(tx: Tx, inboxId: string): Promise<SearchInbox> {
  for (;;) {
    const inbox = await lockSearchInbox(tx, inboxId, false)
    if (inbox === 'gone') throw new Error('The inbox of a message is gone.')
    if (inbox !== 'locked') return inbox
  }
}

/** Call once all entries of a deleted inbox are removed. SQLite's file may still have words to erase. */
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

/** The numbers of deleted inboxes whose words are still to be erased, up to LEFTOVERS_MAX. */
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

/** Of an inbox, entries that were removed and may have left words in the file. */
export type RemovedEntries = Pick<Row<'search_inboxes'>, 'number' | 'removed_entries'>

/** Up to LEFTOVERS_MAX inboxes. */
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

/**
 * A step of a round, which erases the words of all entries that were removed before its first step; true
 * when they are erased. An interrupted round begins again.
 */
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

/** After a round, what was removed before it. */
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

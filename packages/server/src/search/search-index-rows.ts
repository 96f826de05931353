// Messages to entries of the index of words. An inbox's positions are given without gaps under its
// lock, so up to where it is indexed is one number, which moves in the transaction that adds the
// entries: nothing is left out, and nothing is there twice, whoever indexes and whenever it ends.

import { sql } from 'kysely'
import type { Direction } from '#mailbox/message-rows.ts'
import { transaction } from '#platform/db/db.ts'
import { lockRows } from '#platform/db/dialect.ts'
import {
  addTextEntries,
  eraseTextStep,
  keepsRemovedText,
  removeTextEntries,
  type TextEntry,
} from '#platform/db/text-index.ts'
import type { ReadDb, Row, Tx } from '#schema/tables.ts'
import { makeSearchEntry, SEARCH_BODY_LENGTH_MAX, type SearchableMessage } from './search-words.ts'

/** Messages, and UTF-16 units of their texts, that one transaction indexes: some ten milliseconds. */
export const SEARCH_STEP_MESSAGES = 50
const SEARCH_STEP_LENGTH = 256 * 1024

/** Positions of an inbox that an id leaves room for; of inboxes, as many as a safe integer then holds. */
const POSITIONS = 2 ** 27

/** The size of the blocks of positions that messages are marked with, the smallest first. */
export const BLOCKS = [2 ** 12, 2 ** 15, 2 ** 18] as const

type SearchInbox = Pick<Row<'search_inboxes'>, 'number' | 'position' | 'renewed_position'>

/** The id of a message's entry. */
export function entryId(number: number, position: number): number {
  return number * POSITIONS + position
}

/** The position of the message that an entry is of. */
export function positionOfEntry(id: number): number {
  return id % POSITIONS
}

/** What the words of an inbox are kept apart by. */
export function scopeOf(number: number): string {
  return number.toString(36)
}

/** Marks the messages of a block: of the size at this index of BLOCKS, with this position in it. */
export function blockMark(level: number, position: number): string {
  return `${level}.${Math.floor(position / (BLOCKS[level] ?? 1)).toString(36)}`
}

/** Marks what was received, or what was sent. */
export function directionMark(direction: Direction): string {
  return direction === 'inbound' ? 'in' : 'out'
}

export type IndexStep = {
  /** Messages that were indexed. */
  indexed: number
  /** Inboxes that have more, or that another transaction is indexing just now. */
  behind: string[]
}

/**
 * Indexes the next messages of these inboxes, up to SEARCH_STEP_MESSAGES in all, and with `renews` writes
 * entries again that an earlier program wrote. Inboxes that are not there any more are passed over. With
 * `skipLocked` nobody is waited for.
 */
export const indexSearchStep = transaction({
  name: 'indexSearchStep',
  accountOf: () => null,
  async run(
    tx: Tx,
    input: { inboxIds: string[]; skipLocked: boolean; renews?: boolean },
  ): Promise<IndexStep> {
    const behind: string[] = []
    let indexed = 0
    // In one order everywhere, so that two transactions never wait for each other's inboxes.
    for (const inboxId of [...input.inboxIds].sort()) {
      if (indexed >= SEARCH_STEP_MESSAGES) {
        behind.push(inboxId)
        continue
      }
      const result = await indexNext(tx, inboxId, {
        limit: SEARCH_STEP_MESSAGES - indexed,
        skipLocked: input.skipLocked,
        renews: input.renews === true,
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
  { limit, skipLocked, renews }: { limit: number; skipLocked: boolean; renews: boolean },
): Promise<{ indexed: number; isDone: boolean }> {
  const inbox = await lockSearchInbox(tx, inboxId, skipLocked)
  if (inbox === 'gone') return { indexed: 0, isDone: true }
  if (inbox === 'locked') return { indexed: 0, isDone: false }
  const top = await readTop(tx, inboxId)
  // Deleted meanwhile: its entries go with its messages.
  if (top === null) return { indexed: 0, isDone: true }
  if (top > inbox.position) return indexNew(tx, { inboxId, inbox, top, limit, renews })
  const isOld = inbox.renewed_position < inbox.position
  return renews && isOld ? renew(tx, { inboxId, inbox, limit }) : { indexed: 0, isDone: true }
}

type Indexed = { inboxId: string; inbox: SearchInbox; limit: number }

async function indexNew(
  tx: Tx,
  { inboxId, inbox, top, limit, renews }: Indexed & { top: number; renews: boolean },
): Promise<{ indexed: number; isDone: boolean }> {
  const { number, position: after, renewed_position: renewed } = inbox
  const messages = await readNext(tx, { inboxId, after, limit })
  await addTextEntries(
    tx,
    messages.map((message) => toEntry(number, message)),
  )
  const position = messages.at(-1)?.position ?? top
  // While older entries are still to be renewed, these are, too: one number tells how far it has come.
  const isCurrent = renewed === after
  await moveInbox(tx, number, { position, ...(isCurrent && { renewed_position: position }) })
  return { indexed: messages.length, isDone: position >= top && (isCurrent || !renews) }
}

/** Takes entries out and adds them again, the oldest first; searches find them throughout. */
async function renew(
  tx: Tx,
  { inboxId, inbox, limit }: Indexed,
): Promise<{ indexed: number; isDone: boolean }> {
  const { number, position, renewed_position: after } = inbox
  const next = await readNext(tx, { inboxId, after, limit })
  const messages = next.filter((message) => message.position <= position)
  await removeTextEntries(
    tx,
    messages.map((message) => entryId(number, message.position)),
  )
  await addTextEntries(
    tx,
    messages.map((message) => toEntry(number, message)),
  )
  const renewed = messages.at(-1)?.position ?? position
  await moveInbox(tx, number, { renewed_position: renewed })
  return { indexed: messages.length, isDone: renewed >= position }
}

async function moveInbox(
  tx: Tx,
  number: number,
  place: Partial<Pick<SearchInbox, 'position' | 'renewed_position'>>,
): Promise<void> {
  await tx.query.updateTable('search_inboxes').set(place).where('number', '=', number).execute()
}

/** The row of the inbox, which is made when it is first needed, locked until the transaction ends. */
async function lockSearchInbox(
  tx: Tx,
  inboxId: string,
  skipLocked: boolean,
): Promise<SearchInbox | 'locked' | 'gone'> {
  const select = () =>
    tx.query
      .selectFrom('search_inboxes')
      .select(['number', 'position', 'renewed_position'])
      .where('inbox_id', '=', inboxId)
      .where('is_purged', '=', 0)
  const found = await lockRows(tx, select(), { skipLocked }).executeTakeFirst()
  if (found !== undefined) return found
  if ((await select().executeTakeFirst()) !== undefined) return 'locked'
  // Locked, so that it is not deleted before there is a row that its removal finds.
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
    .returning(['number', 'position', 'renewed_position'])
    .executeTakeFirst()
  return made ?? 'locked'
}

/** The last position that was given; null when the inbox is gone. */
async function readTop(tx: Tx, inboxId: string): Promise<number | null> {
  const counters = await tx.query
    .selectFrom('inbox_counters')
    .select(['inbound_count', 'outbound_count'])
    .where('inbox_id', '=', inboxId)
    .executeTakeFirst()
  return counters === undefined ? null : counters.inbound_count + counters.outbound_count
}

type NextMessage = SearchableMessage & { position: number }

async function readNext(
  tx: Tx,
  { inboxId, after, limit }: { inboxId: string; after: number; limit: number },
): Promise<NextMessage[]> {
  const rows = await tx.query
    .selectFrom('messages')
    .select([...SEARCHED, 'position'])
    .where('inbox_id', '=', inboxId)
    .where('position', '>', after)
    .orderBy('position')
    .limit(limit)
    .execute()
  const messages: NextMessage[] = []
  let length = 0
  for (const row of rows) {
    const bodyText = await readText(tx.query, row)
    messages.push({ ...toSearchable(row, bodyText), position: row.position })
    length += bodyText.length
    if (length >= SEARCH_STEP_LENGTH) break
  }
  return messages
}

/** What a search needs of a message's row. */
export const SEARCHED = [
  'raw_id',
  'direction',
  'from_addr',
  'to_addr',
  'header_to',
  'cc',
  'subject',
  'body_length',
  'body_text',
  sql<number>`case when body_html = '' then 0 else 1 end`.as('has_html'),
] as const

type SearchedRow = Pick<
  Row<'messages'>,
  | 'raw_id'
  | 'direction'
  | 'from_addr'
  | 'to_addr'
  | 'header_to'
  | 'cc'
  | 'subject'
  | 'body_length'
  | 'body_text'
> & { has_html: number }

/** The message without what nobody searches for. */
export function toSearchable(row: SearchedRow, bodyText: string): SearchableMessage {
  return {
    direction: row.direction as Direction,
    fromAddr: row.from_addr,
    toAddr: row.to_addr,
    headerTo: row.header_to,
    cc: JSON.parse(row.cc) as string[],
    subject: row.subject,
    bodyText,
  }
}

/** The beginning of the message's text, wherever it is kept; '' when it was deleted since. */
export async function readText(query: ReadDb['read'], row: SearchedRow): Promise<string> {
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
  const { position, direction } = message
  const blocks = BLOCKS.map((_size, level) => blockMark(level, position))
  return {
    id: entryId(number, position),
    scope: scopeOf(number),
    marks: [...blocks, directionMark(direction)],
    fields: makeSearchEntry(message),
  }
}

/** Pages that a step of erasing deleted words writes, and how much of the time it may go on. */
const SEARCH_ERASE_STEP_PAGES = 64

/** Takes messages at these positions of a deleted inbox out of the index. */
export async function removeFromSearch(
  tx: Tx,
  { inboxId, positions }: { inboxId: string; positions: readonly number[] },
): Promise<void> {
  // Waits for whoever is indexing it just now; nobody begins any more.
  const inbox = await lockRows(
    tx,
    tx.query.selectFrom('search_inboxes').select('number').where('inbox_id', '=', inboxId),
  ).executeTakeFirst()
  if (inbox === undefined) return
  const ids = positions.map((position) => entryId(inbox.number, position))
  await removeTextEntries(tx, ids)
}

/** Nothing of a deleted inbox is in the index any more, but perhaps words that are still to be erased. */
export async function endSearchInbox(tx: Tx, inboxId: string): Promise<void> {
  if (keepsRemovedText(tx.engine)) {
    await tx.query
      .updateTable('search_inboxes')
      .set({ is_purged: 1 })
      .where('inbox_id', '=', inboxId)
      .where('position', '>', 0)
      .execute()
    await tx.query
      .deleteFrom('search_inboxes')
      .where('inbox_id', '=', inboxId)
      .where('position', '=', 0)
      .execute()
    return
  }
  await tx.query.deleteFrom('search_inboxes').where('inbox_id', '=', inboxId).execute()
}

/** The numbers of deleted inboxes whose words are still to be erased, some thousand of them. */
export async function listPurgedNumbers(db: ReadDb): Promise<number[]> {
  if (!keepsRemovedText(db.reading.engine)) return []
  const rows = await db.read
    .selectFrom('search_inboxes')
    .select('number')
    .where('is_purged', '=', sql.lit(1))
    .orderBy('number')
    .limit(PURGED_MAX)
    .execute()
  return rows.map(({ number }) => number)
}

const PURGED_MAX = 5_000

/**
 * A step of a round that erases the words of all that was removed before its first step; true when they
 * are gone. A round that was broken off is begun again.
 */
export const eraseSearchStep = transaction({
  name: 'eraseSearchStep',
  accountOf: () => null,
  async run(tx: Tx, { isFirst }: { isFirst: boolean }): Promise<boolean> {
    return eraseTextStep(tx, { pages: SEARCH_ERASE_STEP_PAGES, isFirst })
  },
})

/** Forgets deleted inboxes whose words are erased. */
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

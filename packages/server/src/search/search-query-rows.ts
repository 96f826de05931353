// The reads of a search: how far inboxes are indexed, the messages that match, and their texts. A query
// searches one block of positions, so that none takes long.

import type { Direction } from '#mailbox/mailbox-rows.ts'
import {
  findTextEntries,
  rankTextEntries,
  type TextClause,
  type TextSearch,
} from '#platform/db/text-index.ts'
import type { ReadDb } from '#schema/tables.ts'
import {
  blockMark,
  directionMark,
  entryId,
  positionOfEntry,
  readText,
  SEARCHED,
  scopeOf,
  toSearchable,
} from './search-rows.ts'
import type { SearchableMessage } from './search-words.ts'

/** An inbox whose last message has the position `top` is indexed up to `position`. */
export type SearchState = { number: number | null; position: number; top: number }

/** Null when the account has no such inbox. */
export async function findSearchState(
  db: ReadDb,
  { accountId, inboxId }: { accountId: string; inboxId: string },
): Promise<SearchState | null> {
  const [found] = await listSearchStates(db, { accountId, inboxId, podId: null })
  return found?.state ?? null
}

/** The states of all inboxes of the account, of a pod, or of one inbox; the newest inbox first. */
export async function listSearchStates(
  db: ReadDb,
  input: { accountId: string; inboxId: string | null; podId: string | null },
): Promise<{ inboxId: string; state: SearchState }[]> {
  let query = db.read
    .selectFrom('inboxes')
    .innerJoin('inbox_counters', 'inbox_counters.inbox_id', 'inboxes.id')
    .leftJoin('search_inboxes', (join) =>
      join
        .onRef('search_inboxes.inbox_id', '=', 'inboxes.id')
        .onRef('search_inboxes.account_id', '=', 'inboxes.account_id'),
    )
    .select(['inboxes.id', 'search_inboxes.number', 'search_inboxes.position'])
    .select(['inbound_count', 'outbound_count'])
    .where('inboxes.account_id', '=', input.accountId)
  if (input.inboxId !== null) query = query.where('inboxes.id', '=', input.inboxId)
  if (input.podId !== null) query = query.where('inboxes.pod_id', '=', input.podId)
  const rows = await query.orderBy('inboxes.id', 'desc').execute()
  return rows.map(({ id, number, position, inbound_count, outbound_count }) => ({
    inboxId: id,
    state: { number, position: position ?? 0, top: inbound_count + outbound_count },
  }))
}

/**
 * Of the next `limit` inboxes by id, those that are not indexed to their end or have entries of an earlier version; and
 * the last of these inboxes, null at the end.
 */
export async function listLagging(
  db: ReadDb,
  { after, limit }: { after: string; limit: number },
): Promise<{ inboxIds: string[]; last: string | null }> {
  const rows = await db.read
    .selectFrom('inbox_counters')
    .leftJoin('search_inboxes', 'search_inboxes.inbox_id', 'inbox_counters.inbox_id')
    .select(['inbox_counters.inbox_id', 'inbound_count', 'outbound_count'])
    .select(['position', 'renewed_position'])
    .where('inbox_counters.inbox_id', '>', after)
    .orderBy('inbox_counters.inbox_id')
    .limit(limit)
    .execute()
  const lagging = rows.filter(
    ({ inbound_count, outbound_count, position, renewed_position }) =>
      inbound_count + outbound_count > (position ?? 0) || (renewed_position ?? 0) < (position ?? 0),
  )
  const last = rows.length < limit ? null : (rows.at(-1)?.inbox_id ?? null)
  return { inboxIds: lagging.map((row) => row.inbox_id), last }
}

export type BlockSearch = {
  /** The number in a `SearchState`, of an inbox of the account. */
  number: number
  clauses: readonly TextClause[]
  direction: Direction | null
  /** The size of the block, as an index of BLOCKS. */
  level: number
  /** Searches the block with this position, up to and including it. */
  until: number
  limit: number
}

/** More `worth` is better; 0 where matches are not ranked. */
export type BlockMatch = { position: number; worth: number }

/** The messages of a block that match, the newest first. */
export async function findInBlock(db: ReadDb, search: BlockSearch): Promise<BlockMatch[]> {
  const ids = await findTextEntries(db.reading, toTextSearch(search))
  return ids.map((id) => ({ position: positionOfEntry(id), worth: 0 }))
}

/** The same with the worth of each. */
export async function rankInBlock(db: ReadDb, search: BlockSearch): Promise<BlockMatch[]> {
  const ranked = await rankTextEntries(db.reading, toTextSearch(search))
  return ranked.map(({ id, worth }) => ({ position: positionOfEntry(id), worth }))
}

function toTextSearch(search: BlockSearch): TextSearch {
  const { number, clauses, direction, level, until, limit } = search
  const marks = [blockMark(level, until)]
  if (direction !== null) marks.push(directionMark(direction))
  return { scope: scopeOf(number), marks, clauses, until: entryId(number, until), limit }
}

export type FoundMessage = SearchableMessage & {
  id: string
  threadId: string
  inboxId: string
  createdAtMs: number
}

/** The times of messages of the account's inbox, by position. */
export async function readTimes(
  db: ReadDb,
  { accountId, inboxId, positions }: OfInbox & { positions: readonly number[] },
): Promise<Map<number, number>> {
  const times = new Map<number, number>()
  for (let start = 0; start < positions.length; start += POSITIONS_AT_ONCE) {
    const rows = await db.read
      .selectFrom('messages')
      .select(['position', 'created_at'])
      .where('account_id', '=', accountId)
      .where('inbox_id', '=', inboxId)
      .where('position', 'in', positions.slice(start, start + POSITIONS_AT_ONCE))
      .execute()
    for (const { position, created_at } of rows) times.set(position, created_at)
  }
  return times
}

/** Parameters of one statement; engines take some ten thousand. */
const POSITIONS_AT_ONCE = 1_000

type OfInbox = { accountId: string; inboxId: string }

/** The messages of the account at these places, in this order, without those deleted since. */
export async function* readFound(
  db: ReadDb,
  { accountId, places }: { accountId: string; places: readonly FoundPlace[] },
): AsyncGenerator<FoundMessage, void, undefined> {
  const keyOf = ({ inboxId, position }: FoundPlace) => `${inboxId} ${position}`
  const found = new Map<string, Awaited<ReturnType<typeof readRows>>[number]>()
  for (const [inboxId, some] of Map.groupBy(places, (place) => place.inboxId)) {
    const positions = some.map(({ position }) => position)
    for (const row of await readRows(db, { accountId, inboxId, positions })) {
      found.set(keyOf({ inboxId, position: row.position }), row)
    }
  }
  for (const place of places) {
    const row = found.get(keyOf(place))
    if (row === undefined) continue
    yield {
      // One by one, because long texts together could fill the memory.
      ...toSearchable(row, await readText(db.read, row)),
      id: row.id,
      threadId: row.thread_id,
      inboxId: row.inbox_id,
      createdAtMs: row.created_at,
    }
  }
}

export type FoundPlace = { inboxId: string; position: number }

function readRows(
  db: ReadDb,
  { accountId, inboxId, positions }: OfInbox & { positions: readonly number[] },
) {
  return db.read
    .selectFrom('messages')
    .select(['id', 'thread_id', 'inbox_id', 'position', 'created_at', ...SEARCHED])
    .where('account_id', '=', accountId)
    .where('inbox_id', '=', inboxId)
    .where('position', 'in', positions)
    .execute()
}

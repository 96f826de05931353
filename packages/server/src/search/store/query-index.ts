// Each query searches one block of arrival numbers, so that none takes long.

import { type RawBuilder, sql } from 'kysely'
import { labelFacet } from '#mailbox/labels/store/facets.ts'
import type { Direction } from '#mailbox/messages/store/messages.ts'
import {
  findTextEntries,
  rankTextEntries,
  type TextFilter,
  type TextQuery,
  type TextSearch,
} from '#platform/db/text-index.ts'
import type { SearchCondition } from '#search/parse-query.ts'
import type { SearchableMessage } from '#search/search-words.ts'
import type { ReadDb } from '#store/tables.ts'
import {
  arrivalOfEntry,
  blockMark,
  directionMark,
  entryId,
  SEARCHED,
  scopeOf,
  toSearchable,
} from './search-index.ts'

/** `top` is the last arrival number of the inbox, `indexed` the last indexed one. */
export type SearchState = {
  number: number | null
  indexed: number
  top: number
}

/** Returns null if the account has no such inbox. */
export async function findSearchState(
  db: ReadDb,
  { accountId, inboxId }: { accountId: string; inboxId: string },
): Promise<SearchState | null> {
  const [found] = await listSearchStates(db, { accountId, inboxId, podId: null })
  return found?.state ?? null
}

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
    .select(['inboxes.id', 'number', 'indexed_arrival', 'last_arrival as top'])
    .where('inboxes.account_id', '=', input.accountId)
  if (input.inboxId !== null) query = query.where('inboxes.id', '=', input.inboxId)
  if (input.podId !== null) query = query.where('inboxes.pod_id', '=', input.podId)
  const rows = await query.orderBy('inboxes.id', 'desc').execute()
  return rows.map(({ id, number, indexed_arrival, top }) => {
    return { inboxId: id, state: { number, indexed: indexed_arrival ?? 0, top } }
  })
}

/** `last` is null at the end. */
export async function listLagging(
  db: ReadDb,
  { after, limit }: { after: string; limit: number },
): Promise<{ inboxIds: string[]; last: string | null }> {
  const rows = await db.read
    .selectFrom('inbox_counters')
    .leftJoin('search_inboxes', 'search_inboxes.inbox_id', 'inbox_counters.inbox_id')
    .select(['inbox_counters.inbox_id', 'last_arrival', 'indexed_arrival'])
    .where('inbox_counters.inbox_id', '>', after)
    .orderBy('inbox_counters.inbox_id')
    .limit(limit)
    .execute()
  const lagging = rows.filter((row) => row.last_arrival > (row.indexed_arrival ?? 0))
  const last = rows.length < limit ? null : (rows.at(-1)?.inbox_id ?? null)
  return { inboxIds: lagging.map((row) => row.inbox_id), last }
}

export type BlockSearch = {
  number: number
  inboxId: string
  query: BlockQuery
  rareLabels: ReadonlySet<string>
  direction: Direction | null
  /** The level is an index of BLOCKS. */
  level: number
  /** Searches the block up to and including this arrival number. */
  until: number
  limit: number
}

/** A greater `worth` is better; it is 0 without ranking. */
export type BlockMatch = { arrival: number; worth: number }

export async function findInBlock(db: ReadDb, search: BlockSearch): Promise<BlockMatch[]> {
  const ids = await findTextEntries(db.reading, toTextSearch(search))
  return ids.map((id) => ({ arrival: arrivalOfEntry(id), worth: 0 }))
}

export async function rankInBlock(db: ReadDb, search: BlockSearch): Promise<BlockMatch[]> {
  const ranked = await rankTextEntries(db.reading, toTextSearch(search))
  return ranked.map(({ id, worth }) => ({ arrival: arrivalOfEntry(id), worth }))
}

export type BlockQuery = { readonly text: TextQuery | null; readonly rest: MessageQuery | null }

/** Rarer labels are read as a list; common ones are looked up for each entry. */
const RARE_LABEL_MAX = 5_000

/** The caller must have checked that the account owns the inbox. */
export async function findRareLabels(
  db: ReadDb,
  { inboxId, labels }: { inboxId: string; labels: readonly string[] },
): Promise<ReadonlySet<string>> {
  const rare = new Set<string>()
  for (const label of labels) {
    const { rows } = await sql<{ n: number | string }>`
      select count(*) as n from (
        select 1 from (${selectLabelled({ inboxId, label })}) as labelled limit ${RARE_LABEL_MAX}
      ) as counted`.execute(db.read)
    if (Number(rows[0]?.n) < RARE_LABEL_MAX) rare.add(label)
  }
  return rare
}

function selectLabelled({ inboxId, label }: { inboxId: string; label: string }) {
  return sql`
    select messages.arrival from message_labels
    join messages on messages.id = message_labels.message_id
    where message_labels.inbox_id = ${inboxId} and message_labels.label = ${label}
    union all
    select messages.arrival from thread_facets
    join messages on messages.thread_id = thread_facets.thread_id
    where thread_facets.inbox_id = ${inboxId} and thread_facets.facet = ${labelFacet(label)}`
}

export type MessageQuery =
  | SearchCondition
  | { readonly kind: 'text'; readonly query: TextQuery }
  | { readonly kind: 'all' | 'any'; readonly parts: readonly MessageQuery[] }
  | { readonly kind: 'not'; readonly part: MessageQuery }

function toTextSearch({ query, number, inboxId, rareLabels, ...search }: BlockSearch): TextSearch {
  const { direction, level, until, limit } = search
  const marks = [blockMark(level, until)]
  if (direction !== null) marks.push(directionMark(direction))
  const { text, rest } = query
  const filter = rest === null ? null : filterOf(rest, { number, inboxId, rareLabels })
  return {
    scope: scopeOf(number),
    marks,
    query: text,
    filter,
    until: entryId(number, until),
    limit,
  }
}

function filterOf(
  rest: MessageQuery,
  { number, inboxId, rareLabels }: Pick<BlockSearch, 'number' | 'inboxId' | 'rareLabels'>,
): TextFilter {
  const first = sql.lit(entryId(number, 0))
  return (id, matches) => {
    // A scalar is looked up for each entry; with a join, PostgreSQL might read the entire inbox.
    const ofMessage = (column: RawBuilder<unknown>, where = sql``) => sql`(
      select ${column} from messages
      where messages.inbox_id = ${inboxId}
        and messages.arrival = ${id} - ${first} ${where})`
    const conditionOf = (node: MessageQuery): RawBuilder<boolean> => {
      switch (node.kind) {
        case 'text':
          return matches(node.query)
        case 'attachment':
          return sql`coalesce(${ofMessage(sql`1`, sql`and messages.attachments <> '[]'`)}, 0) = 1`
        case 'since':
          return sql`coalesce(${ofMessage(sql`messages.created_at`)} >= ${sql.lit(node.ms)}, false)`
        case 'label': {
          const { label } = node
          // The sum keeps SQLite from searching the index once per number.
          const labelled = selectLabelled({ inboxId, label })
          if (rareLabels.has(label)) return sql`(${id} - ${first} in (${labelled}))`
          const onMessage = sql`(select 1 from message_labels where message_id = messages.id
            and label = ${label})`
          const facet = sql`(select 1 from thread_facets where thread_id = messages.thread_id
            and facet = ${labelFacet(label)})`
          return sql`(coalesce(${ofMessage(onMessage)}, ${ofMessage(facet)}, 0) = 1)`
        }
        case 'not':
          return sql`(not ${conditionOf(node.part)})`
        default: {
          const parts = node.parts.map(conditionOf)
          return sql`(${sql.join(parts, node.kind === 'all' ? sql` and ` : sql` or `)})`
        }
      }
    }
    return conditionOf(rest)
  }
}

export type FoundMessage = SearchableMessage & {
  id: string
  threadId: string
  inboxId: string
  createdAtMs: number
}

export async function readTimes(
  db: ReadDb,
  { accountId, inboxId, arrivals }: OfInbox & { arrivals: readonly number[] },
): Promise<Map<number, number>> {
  const times = new Map<number, number>()
  for (let start = 0; start < arrivals.length; start += ARRIVALS_AT_ONCE) {
    const rows = await db.read
      .selectFrom('messages')
      .select(['arrival', 'created_at'])
      .where('account_id', '=', accountId)
      .where('inbox_id', '=', inboxId)
      .where('arrival', 'in', arrivals.slice(start, start + ARRIVALS_AT_ONCE))
      .execute()
    for (const { arrival, created_at } of rows) times.set(arrival, created_at)
  }
  return times
}

/** Parameters per statement. Engines allow some ten thousand. */
const ARRIVALS_AT_ONCE = 1_000

type OfInbox = { accountId: string; inboxId: string }

/** Yields messages in the given order and skips those deleted since. */
export async function* readFound(
  db: ReadDb,
  { accountId, places }: { accountId: string; places: readonly FoundPlace[] },
): AsyncGenerator<FoundMessage, void, undefined> {
  const keyOf = ({ inboxId, arrival }: FoundPlace) => `${inboxId} ${arrival}`
  const found = new Map<string, Awaited<ReturnType<typeof readRows>>[number]>()
  for (const [inboxId, some] of Map.groupBy(places, (place) => place.inboxId)) {
    const arrivals = some.map(({ arrival }) => arrival)
    for (const row of await readRows(db, { accountId, inboxId, arrivals })) {
      found.set(keyOf({ inboxId, arrival: row.arrival }), row)
    }
  }
  for (const place of places) {
    const row = found.get(keyOf(place))
    if (row === undefined) continue
    yield {
      // Texts are read one by one, because long texts together could fill the memory.
      ...(await toSearchable(db.read, row)),
      id: row.id,
      threadId: row.thread_id,
      inboxId: row.inbox_id,
      createdAtMs: row.created_at,
    }
  }
}

export type FoundPlace = { inboxId: string; arrival: number }

function readRows(
  db: ReadDb,
  { accountId, inboxId, arrivals }: OfInbox & { arrivals: readonly number[] },
) {
  return db.read
    .selectFrom('messages')
    .select(['thread_id', 'inbox_id', 'arrival', 'created_at', ...SEARCHED])
    .where('account_id', '=', accountId)
    .where('inbox_id', '=', inboxId)
    .where('arrival', 'in', arrivals)
    .execute()
}

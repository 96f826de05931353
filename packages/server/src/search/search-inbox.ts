// Searches one or all inboxes of an account, after indexing new messages for a limited time.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { findPod } from '#accounts/store/pods.ts'
import type { Direction } from '#mailbox/messages/store/messages.ts'
import { findArrivalsOf } from '#mailbox/store/filters.ts'
import { type Clock, systemClock } from '#platform/clock.ts'
import type { LongRead } from '#platform/db/db.ts'
import { notFound, problem } from '#platform/problem.ts'
import type { Semaphore } from '#platform/semaphore.ts'
import { SECOND_MS } from '#platform/units.ts'
import {
  type BlockMatch,
  type BlockSearch,
  type FoundMessage,
  findInBlock,
  findRareLabels,
  listSearchStates,
  rankInBlock,
  readFound,
  readTimes,
  type SearchState,
} from '#search/store/query-index.ts'
import { BLOCKS } from '#search/store/search-index.ts'
import type { Db, Page, ReadDb, Tables } from '#store/tables.ts'
import { periodOf, toBlockQuery } from './block-query.ts'
import type { CatchUps } from './indexer.ts'
import { labelsIn, readQuery, type SearchQuery, wantedPhrases } from './parse-query.ts'
import { makeSnippet, type Snippet } from './search-snippet.ts'

const SEARCH_COUNTED_MAX = 1_000
/** Only the newest matches are ranked, and a page contains none after them. */
const SEARCH_RANKED_MAX = 10_000
/** After this time, a search returns the matches found so far. */
const SEARCH_MS_MAX = 2 * SECOND_MS
const SEARCH_CATCH_UP_MS_MAX = 2 * SECOND_MS

type SearchAsked = {
  accountId: string
  q: string
  sort: 'newest' | 'rank'
  direction: Direction | null
} & Page

type SearchHit = { message: FoundMessage } & Snippet

export type SearchAnswer = {
  hits: SearchHit[]
  total: number
  isExact: boolean
  isComplete: boolean
}

export type SearchDeps = { db: Db; clock: Clock; searchCatchUps: CatchUps; searchSlots: Semaphore }

/** Throws `bad_request` for a query without a word, `not_found` or `service_unavailable`. */
export async function searchInbox(
  deps: SearchDeps,
  asked: SearchAsked & { inboxId: string },
  signal: AbortSignal,
): Promise<SearchAnswer> {
  const { inboxes, answer } = await search(deps, { ...asked, pod: null }, signal)
  if (inboxes === 0) throw notFound()
  return answer
}

/** `pod` is an id or `clientId`. An unknown inbox or pod has no matches. */
export async function searchAccount(
  deps: SearchDeps,
  asked: SearchAsked & { inboxId: string | null; pod: string | null },
  signal: AbortSignal,
): Promise<SearchAnswer> {
  return (await search(deps, asked, signal)).answer
}

async function search(
  deps: SearchDeps,
  asked: SearchIn,
  signal: AbortSignal,
): Promise<Extract<Searched, { kind: 'answer' }>> {
  const query = requireQuery(asked.q)
  const { accountId } = asked
  const read = (tops: Tops | null) =>
    deps.searchSlots.run({ key: accountId, signal }, () =>
      deps.db.readLong(searchMessages, { asked, query, tops }, signal),
    )
  const first = await read(null)
  if (first.kind === 'answer') return first
  const endMs = deps.clock.monotonic() + SEARCH_CATCH_UP_MS_MAX
  for (const inboxId of first.tops.keys()) {
    if (deps.clock.monotonic() >= endMs || signal.aborted) break
    await deps.searchCatchUps.run(deps, { accountId, inboxId, endMs })
  }
  const second = await read(first.tops)
  if (second.kind === 'behind') throw new Error('A search was asked to catch up twice.')
  return second
}

type SearchIn = SearchAsked & { inboxId: string | null; pod: string | null }

/** The last arrival numbers, when the search began, of inboxes that were not fully indexed. */
type Tops = ReadonlyMap<string, number>

type Searched =
  | { kind: 'behind'; tops: Tops }
  | { kind: 'answer'; inboxes: number; answer: SearchAnswer }

/**
 * Without `tops`, answers only if all inboxes are indexed; with `tops`, searches the indexed
 * messages.
 */
export const searchMessages: LongRead<
  Tables,
  { asked: SearchIn; query: SearchQuery; tops: Tops | null },
  Searched
> = {
  name: 'searchMessages',
  async run(db, { asked, query, tops }, signal) {
    const places = await listPlaces(db, asked)
    if (tops === null) {
      const behind = places.filter(({ state }) => state.indexed < state.top)
      const found = behind.map(({ inboxId, state }) => [inboxId, state.top] as const)
      if (found.length > 0) return { kind: 'behind', tops: new Map(found) }
    }
    // Mail that arrives after the search began may be missing.
    const isIndexed = places.every(
      ({ inboxId, state }) => state.indexed >= (tops?.get(inboxId) ?? 0),
    )
    const answer = await searchIn(db, asked, { query, places, isIndexed, signal })
    return { kind: 'answer', inboxes: places.length, answer }
  },
}

async function listPlaces(db: ReadDb, { accountId, inboxId, pod }: SearchIn) {
  const found = pod === null ? null : await findPod(db, accountId, pod)
  if (pod !== null && found === null) return []
  return listSearchStates(db, { accountId, inboxId, podId: found?.id ?? null })
}

type SearchPlace = { inboxId: string; state: SearchState }

type Match = BlockMatch & { inboxId: string; createdAtMs: number }

async function searchIn(
  db: ReadDb,
  asked: SearchAsked,
  of: {
    query: SearchQuery
    places: readonly SearchPlace[]
    isIndexed: boolean
    signal: AbortSignal
  },
): Promise<SearchAnswer> {
  const { query, places, signal } = of
  const { accountId, sort } = asked
  // Matches of several inboxes are ordered by time, which is read up to the page's end.
  const reach = places.length > 1 ? SEARCH_COUNTED_MAX : SEARCH_RANKED_MAX
  const offset = Math.min(asked.offset, reach)
  const wanted = Math.min(offset + asked.limit, reach)
  const ranked = Math.max(wanted, Math.ceil(SEARCH_RANKED_MAX / Math.max(1, places.length)))
  const endMs = systemClock.monotonic() + SEARCH_MS_MAX
  const isOver = () => signal.aborted || systemClock.monotonic() >= endMs
  const matches: Match[] = []
  let found = 0
  let isComplete = of.isIndexed
  for (const { inboxId, state } of places) {
    // Each inbox must yield a full page, because one may have all of the newest matches.
    const enough =
      sort === 'rank'
        ? ranked
        : Math.min(Math.max(SEARCH_COUNTED_MAX + 1 - found, wanted), SEARCH_RANKED_MAX)
    const walk = await findMatches(db, asked, { query, inboxId, state, enough, isOver })
    if (!walk.isComplete) isComplete = false
    found += walk.found.length
    const kept = sort === 'rank' ? walk.found : walk.found.slice(0, wanted)
    for (const match of kept) matches.push({ ...match, inboxId, createdAtMs: 0 })
    if (isOver() && inboxId !== places.at(-1)?.inboxId) {
      isComplete = false
      break
    }
  }
  await addTimes(db, accountId, matches)
  const page = inOrder(matches, sort).slice(offset, wanted)
  const hits: SearchHit[] = []
  let pausedMs = systemClock.monotonic()
  for await (const message of readFound(db, { accountId, places: page })) {
    hits.push({ message, ...makeSnippet(message, query) })
    if (systemClock.monotonic() - pausedMs < SNIPPETS_MS_MAX) continue
    await nextTurn()
    pausedMs = systemClock.monotonic()
  }
  return {
    hits,
    total: Math.min(found, SEARCH_COUNTED_MAX),
    isExact: isComplete && found <= SEARCH_COUNTED_MAX,
    isComplete,
  }
}

async function addTimes(db: ReadDb, accountId: string, matches: Match[]): Promise<void> {
  const byInbox = Map.groupBy(matches, ({ inboxId }) => inboxId)
  for (const [inboxId, some] of byInbox) {
    const arrivals = some.map(({ arrival }) => arrival)
    const times = await readTimes(db, { accountId, inboxId, arrivals })
    for (const match of some) match.createdAtMs = times.get(match.arrival) ?? 0
    await nextTurn()
  }
}

function inOrder(matches: readonly Match[], sort: SearchAsked['sort']): Match[] {
  return [...matches].sort(
    (a, b) =>
      (sort === 'rank' ? b.worth - a.worth : 0) ||
      b.createdAtMs - a.createdAtMs ||
      (a.inboxId === b.inboxId ? b.arrival - a.arrival : a.inboxId < b.inboxId ? 1 : -1),
  )
}

/** Searches blocks from the newest message, in larger ones while it finds little. */
async function findMatches(
  db: ReadDb,
  { sort, direction }: SearchAsked,
  walk: SearchPlace & { query: SearchQuery; enough: number; isOver(): boolean },
): Promise<{ found: BlockMatch[]; isComplete: boolean }> {
  const { query, inboxId, state, enough, isOver } = walk
  const found: BlockMatch[] = []
  const range = await findRange(db, { inboxId, state, query })
  if (state.number === null || range === null) return { found, isComplete: true }
  const labels = labelsIn(query.root)
  const rareLabels = await findRareLabels(db, { inboxId, labels })
  let level = firstLevel(query)
  for (let until = range.last; until > 0; ) {
    const size = BLOCKS[level] ?? 1
    const search: BlockSearch = {
      number: state.number,
      inboxId,
      query: toBlockQuery(query.root),
      rareLabels,
      direction,
      level,
      until,
      limit: enough - found.length,
    }
    const queryMs = systemClock.monotonic()
    const matches = sort === 'rank' ? await rankInBlock(db, search) : await findInBlock(db, search)
    found.push(...matches)
    await nextTurn()
    if (found.length >= enough) return { found, isComplete: true }
    until = Math.floor(until / size) * size - 1
    if (until < range.first) break
    if (isOver()) return { found, isComplete: false }
    const isSparse = matches.length * GROWTH < enough - found.length
    const isQuick = (systemClock.monotonic() - queryMs) * GROWTH < QUERY_MS_MAX
    if (isSparse && isQuick && level < BLOCKS.length - 1) level += 1
    else if (!isQuick && level > 0) level -= 1
  }
  return { found, isComplete: true }
}

async function findRange(
  db: ReadDb,
  { inboxId, state, query }: SearchPlace & { query: SearchQuery },
): Promise<{ first: number; last: number } | null> {
  const period = periodOf(query.root)
  if (period.fromMs === null && period.untilMs === null) return { first: 1, last: state.indexed }
  const range = await findArrivalsOf(db, { inboxId, period })
  return range === null ? null : { ...range, last: Math.min(range.last, state.indexed) }
}

/** The largest texts block the event loop for some milliseconds each. */
const SNIPPETS_MS_MAX = 10

/** The next larger block has eight times as many messages; its query should stay below this. */
const GROWTH = 8
const QUERY_MS_MAX = 100

/** A prefix collects all its words in each query, so fewer queries are better. */
function firstLevel({ root }: SearchQuery): number {
  return wantedPhrases(root).some(({ isPrefix }) => isPrefix) ? 1 : 0
}

function requireQuery(q: string): SearchQuery {
  const reading = readQuery(q)
  if (reading.kind === 'query') return reading.query
  const { code, message } = reading.defect
  throw problem(code, `The query parameter "q" ${message}.`, { details: [{ path: 'q', message }] })
}

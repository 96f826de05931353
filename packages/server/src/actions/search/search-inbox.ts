// Searching an inbox: what it has to be brought up to first, where is looked and how far, and what is
// shown of what was found.

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Deps } from '#actions/deps.ts'
import type { Page } from '#actions/page.ts'
import { SEARCH_COUNTED_MAX, SEARCH_MS_MAX, SEARCH_RANKED_MAX } from '#base/limits.ts'
import type { Direction } from '#model/message.ts'
import { notFound, problem } from '#model/problem.ts'
import { type QueryDefect, readQuery, type SearchQuery } from '#model/search-query.ts'
import { makeSnippet, type Snippet } from '#model/search-snippet.ts'
import {
  type BlockMatch,
  type BlockSearch,
  type FoundMessage,
  findInBlock,
  rankInBlock,
  readFound,
} from '#store/search.ts'
import { BLOCKS } from '#store/search-index.ts'

export type SearchAsked = {
  accountId: string
  inboxId: string
  q: string
  sort: 'newest' | 'rank'
  direction: Direction | null
} & Page

export type SearchHit = { message: FoundMessage } & Snippet

export type SearchAnswer = {
  hits: SearchHit[]
  /** Up to SEARCH_COUNTED_MAX. */
  total: number
  /** There are no more. */
  isExact: boolean
  /** All of the inbox was looked through. */
  isComplete: boolean
}

type SearchDeps = Pick<Deps, 'db' | 'clock' | 'searchCatchUps'>

/**
 * A page of what was found. `bad_request` when there is nothing to be looked for, else `not_found` when
 * the account has no such inbox.
 */
export async function searchInbox(deps: SearchDeps, asked: SearchAsked): Promise<SearchAnswer> {
  const { accountId, inboxId } = asked
  const reading = readQuery(asked.q)
  // Before anything is indexed for it.
  if (reading.kind === 'defect') throw wrongQuery(reading.defect)
  const { query } = reading
  const state = await deps.searchCatchUps.run(deps, { accountId, inboxId })
  if (state === null) throw notFound()
  const walk =
    state.number === null
      ? { found: [], isComplete: true }
      : await findMatches(deps, asked, { query, number: state.number, top: state.position })
  const { found } = walk
  const isComplete = walk.isComplete && state.position >= state.top
  const ordered = asked.sort === 'rank' ? byWorth(found) : found
  const page = ordered.slice(asked.offset, asked.offset + asked.limit)
  const positions = page.map(({ position }) => position)
  const hits: SearchHit[] = []
  let turnMs = deps.clock.monotonic()
  for await (const message of readFound(deps.db, { accountId, inboxId, positions })) {
    hits.push({ message, ...makeSnippet(message, query) })
    if (deps.clock.monotonic() - turnMs < TURN_MS_MAX) continue
    await nextTurn()
    turnMs = deps.clock.monotonic()
  }
  return {
    hits,
    total: Math.min(found.length, SEARCH_COUNTED_MAX),
    isExact: isComplete && found.length <= SEARCH_COUNTED_MAX,
    isComplete,
  }
}

/**
 * Block by block from the newest message on, in larger ones while little is found; ends when there is
 * enough for the page and the count, or the time is over.
 */
async function findMatches(
  { db, clock }: SearchDeps,
  { sort, direction, offset, limit }: SearchAsked,
  { query, number, top }: { query: SearchQuery; number: number; top: number },
): Promise<{ found: BlockMatch[]; isComplete: boolean }> {
  const isRanked = sort === 'rank'
  const enough = isRanked
    ? SEARCH_RANKED_MAX
    : Math.min(Math.max(SEARCH_COUNTED_MAX + 1, offset + limit), SEARCH_RANKED_MAX)
  const endMs = clock.monotonic() + SEARCH_MS_MAX
  const found: BlockMatch[] = []
  let level = firstLevel(query)
  for (let until = top; until > 0; ) {
    const size = BLOCKS[level] ?? 1
    const search: BlockSearch = {
      number,
      clauses: query.clauses,
      direction,
      level,
      until,
      limit: enough - found.length,
    }
    const lookMs = clock.monotonic()
    const matches = isRanked ? await rankInBlock(db, search) : await findInBlock(db, search)
    found.push(...matches)
    if (found.length >= enough) return { found, isComplete: true }
    until = Math.floor(until / size) * size - 1
    if (until <= 0) break
    if (clock.monotonic() >= endMs) return { found, isComplete: false }
    const isSparse = matches.length * GROWTH < enough - found.length
    const isQuick = (clock.monotonic() - lookMs) * GROWTH < LOOK_MS_MAX
    if (isSparse && isQuick && level < BLOCKS.length - 1) level += 1
    else if (!isQuick && level > 0) level -= 1
    await nextTurn()
  }
  return { found, isComplete: true }
}

/** Others have their turn between texts, of which the largest take some milliseconds each. */
const TURN_MS_MAX = 10

/** A block of the next size has eight times as many messages, and a look at it should not take longer. */
const GROWTH = 8
const LOOK_MS_MAX = 100

/** All words that begin so are put together for each look: fewer looks are better. */
function firstLevel({ clauses }: SearchQuery): number {
  const hasPrefix = clauses.some(({ phrases }) => phrases.some(({ isPrefix }) => isPrefix))
  return hasPrefix ? 1 : 0
}

/** The best first; of those that are worth the same, the newest. */
function byWorth(found: readonly BlockMatch[]): BlockMatch[] {
  return [...found].sort((a, b) => b.worth - a.worth || b.position - a.position)
}

const DEFECTS: Record<QueryDefect, string> = {
  nothing_to_find: 'must have a word to look for, of letters or digits, that is not excluded',
  too_long: 'has too many words: 32 words and phrases are looked for at once',
}

function wrongQuery(defect: QueryDefect): Error {
  const message = DEFECTS[defect]
  return problem('bad_request', `The query parameter "q" ${message}.`, {
    details: [{ path: 'q', message }],
  })
}

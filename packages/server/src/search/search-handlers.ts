// The handler of searches. What searches is loaded with the first.

import type { SearchResult } from '@mailroom/contract/shapes/search.ts'
import type { Handlers } from '#http/handler.ts'
import type { Clock } from '#platform/clock.ts'
import { presentTime } from '#platform/clock.ts'
import type { Db } from '#schema/tables.ts'
import type { CatchUps } from './indexer.ts'
import type { SearchAnswer, SearchHit } from './search-inbox.ts'

/** What the functions below work with. */
type Needs = {
  db: Db
  clock: Clock
  searchCatchUps: CatchUps
}

type SearchHandlers = Pick<Handlers, 'inboxes.search' | 'messages.search'>

/** Searching an inbox, or all of them. */
export function searchHandlers(deps: Needs): SearchHandlers {
  return {
    'inboxes.search': async ({ path, query }, { accountId }) => {
      const { sort = 'newest', direction = null, ...rest } = query
      const { searchInbox } = await import('./search-inbox.ts')
      const asked = { accountId, inboxId: path.id, sort, direction, ...rest }
      return presentSearch(await searchInbox(deps, asked))
    },
    'messages.search': async ({ query }, { accountId }) => {
      const {
        sort = 'newest',
        direction = null,
        inboxId = null,
        podId: pod = null,
        ...rest
      } = query
      const { searchAccount } = await import('./search-inbox.ts')
      const asked = { accountId, inboxId, pod, sort, direction, ...rest }
      return presentSearch(await searchAccount(deps, asked))
    },
  }
}

/** A page of what was found. */
export function presentSearch({ hits, total, isExact, isComplete }: SearchAnswer): SearchResult {
  return { data: hits.map(presentHit), total, totalIsExact: isExact, isComplete }
}

function presentHit({ message, snippet, highlights }: SearchHit): SearchResult['data'][number] {
  const { id, threadId, inboxId, direction, fromAddr, toAddr, subject, createdAtMs } = message
  return {
    messageId: id,
    threadId,
    inboxId,
    direction,
    fromAddr,
    toAddr,
    subject,
    createdAt: presentTime(createdAtMs),
    snippet,
    highlights: highlights.map(({ start, end }) => ({ start, end })),
  }
}

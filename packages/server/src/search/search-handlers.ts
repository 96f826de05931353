// The handler of searches. What searches is loaded with the first.

import type { Handlers } from '#http/handler.ts'
import type { Clock } from '#platform/clock.ts'
import type { Db } from '#schema/tables.ts'
import type { CatchUps } from './catch-up.ts'
import { presentSearch } from './present-search.ts'

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

// The handler of searches. What searches is loaded with the first.

import type { Deps } from '#actions/deps.ts'
import type { Handlers } from '#http/handler.ts'
import { presentSearch } from '#http/present/search.ts'

/** Searching an inbox. */
export function searchHandlers(deps: Deps): Pick<Handlers, 'inboxes.search'> {
  return {
    'inboxes.search': async ({ path, query }, { accountId }) => {
      const { q, sort = 'newest', direction = null, limit, offset } = query
      const { searchInbox } = await import('#actions/search/search-inbox.ts')
      const asked = { accountId, inboxId: path.id, q, sort, direction, limit, offset }
      return presentSearch(await searchInbox(deps, asked))
    },
  }
}

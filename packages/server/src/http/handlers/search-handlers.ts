// The handler of searches. What searches is loaded with the first.

import type { Deps } from '#actions/deps.ts'
import type { Handlers } from '#http/handler.ts'
import { presentSearch } from '#http/present/search.ts'

type SearchHandlers = Pick<Handlers, 'inboxes.search' | 'messages.search'>

/** Searching an inbox, or all of them. */
export function searchHandlers(deps: Deps): SearchHandlers {
  return {
    'inboxes.search': async ({ path, query }, { accountId }) => {
      const { sort = 'newest', direction = null, ...rest } = query
      const { searchInbox } = await import('#actions/search/search-inbox.ts')
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
      const { searchAccount } = await import('#actions/search/search-inbox.ts')
      const asked = { accountId, inboxId, pod, sort, direction, ...rest }
      return presentSearch(await searchAccount(deps, asked))
    },
  }
}

// Handlers of searches. The code that searches is loaded at the first search.

import type { SearchResult } from '@mailroom/contract/search.ts'
import type { Handlers } from '#http/handler.ts'
import { presentTime } from '#platform/clock.ts'
import type { SearchAnswer, SearchDeps } from './search-inbox.ts'

export function searchHandlers(
  deps: SearchDeps,
): Pick<Handlers, 'inboxes.search' | 'messages.search'> {
  return {
    'inboxes.search': async ({ path, query }, { accountId }) => {
      const { sort = 'newest', direction = null, ...rest } = query
      const { searchInbox } = await import('./search-inbox.ts')
      const asked = { accountId, inboxId: path.id, sort, direction, ...rest }
      return presentSearch(await searchInbox(deps, asked))
    },
    'messages.search': async ({ query }, { accountId }) => {
      const { sort = 'newest', direction = null, inboxId = null, podId = null, ...rest } = query
      const { searchAccount } = await import('./search-inbox.ts')
      const asked = { accountId, inboxId, pod: podId, sort, direction, ...rest }
      return presentSearch(await searchAccount(deps, asked))
    },
  }
}

function presentSearch({ hits, total, isExact, isComplete }: SearchAnswer): SearchResult {
  const data = hits.map(({ message, snippet, highlights }) => {
    const { id, threadId, inboxId, direction, fromAddr, toAddr, subject, createdAtMs } = message
    const createdAt = presentTime(createdAtMs)
    const shown = { threadId, inboxId, direction, fromAddr, toAddr, subject, createdAt }
    return { messageId: id, ...shown, snippet, highlights: [...highlights] }
  })
  return { data, total, totalIsExact: isExact, isComplete }
}

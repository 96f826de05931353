// The search code is loaded with the first search.

import type { SearchResult } from '@mailroom/contract/search.ts'
import { isAudited } from '#accounts/accounts.ts'
import { type Handlers, untilGone } from '#http/handler.ts'
import { findMentioning } from '#mailbox/messages/store/mentions.ts'
import { filterMessages, filterThreads } from '#mailbox/store/filters.ts'
import { presentTime } from '#platform/clock.ts'
import type { AnyLongRead } from '#platform/db/db.ts'
import { problem, RETRY_AFTER_SECONDS } from '#platform/problem.ts'
import { Semaphore } from '#platform/semaphore.ts'
import { SECOND_MS } from '#platform/units.ts'
import type { Tables } from '#store/tables.ts'
import { openCatchUps } from './indexer.ts'
import type { SearchAnswer, SearchDeps } from './search-inbox.ts'

/** More searches would not finish in time. One account leaves a slot to other accounts. */
const SEARCHES_AT_ONCE = 4
const SEARCHES_WAITING_MAX = 200
const SEARCH_WAIT_MS_MAX = 10 * SECOND_MS

export function openSearchSlots(): Semaphore {
  return new Semaphore({
    limit: SEARCHES_AT_ONCE,
    limitPerKey: SEARCHES_AT_ONCE - 1,
    waitingMax: SEARCHES_WAITING_MAX,
    waitingPerKeyMax: SEARCHES_WAITING_MAX / 2,
    waitMsMax: SEARCH_WAIT_MS_MAX,
    refuse: () =>
      problem('service_unavailable', 'Too many searches are waiting.', {
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      }),
  })
}

export async function loadLongReads(): Promise<AnyLongRead<Tables>[]> {
  const { searchMessages } = await import('./search-inbox.ts')
  return [searchMessages, filterMessages, filterThreads, findMentioning, isAudited]
}

export function searchHandlers(
  ports: Omit<SearchDeps, 'searchCatchUps'>,
): Pick<Handlers, 'inboxes.search' | 'messages.search'> {
  const deps = { ...ports, searchCatchUps: openCatchUps() }
  return {
    'inboxes.search': async ({ path, query }, context) => {
      const { accountId } = context
      const { sort = 'newest', direction = null, ...rest } = query
      const { searchInbox } = await import('./search-inbox.ts')
      const asked = { accountId, inboxId: path.id, sort, direction, ...rest }
      return presentSearch(await searchInbox(deps, asked, untilGone(context)))
    },
    'messages.search': async ({ query }, context) => {
      const { accountId } = context
      const { sort = 'newest', direction = null, inboxId = null, podId = null, ...rest } = query
      const { searchAccount } = await import('./search-inbox.ts')
      const asked = { accountId, inboxId, pod: podId, sort, direction, ...rest }
      return presentSearch(await searchAccount(deps, asked, untilGone(context)))
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

// What a search found, as the API shows it.

import type { SearchResult } from '@mailroom/contract/shapes/search.ts'
import { presentTime } from '#platform/clock.ts'
import type { SearchAnswer, SearchHit } from './search-inbox.ts'

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

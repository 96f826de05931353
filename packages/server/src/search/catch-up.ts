// Bringing an inbox's index up to its last message before somebody searches it: a message is found as
// soon as it was received or accepted, whatever the indexer in the background is at.

import type { Clock } from '#platform/clock.ts'
import { storageTrouble } from '#platform/problem.ts'
import type { Db } from '#schema/tables.ts'
import { indexSearchStep } from './search-index-rows.ts'
import { findSearchState, type SearchState } from './search-rows.ts'

/** Messages that a search indexes itself before it answers, and for how long. */
const SEARCH_CATCH_UP_MESSAGES_MAX = 2_000

type CatchUpDeps = { db: Db; clock: Clock }

/** Of all inboxes that somebody waits for: whoever comes meanwhile waits for the same steps. */
export type CatchUps = {
  /**
   * Indexes what the inbox lacks, up to SEARCH_CATCH_UP_MESSAGES_MAX messages or until `endMs` of the
   * steady clock, and tells how far it has come; null when the account has no such inbox.
   */
  run(
    deps: CatchUpDeps,
    of: { accountId: string; inboxId: string; endMs: number },
  ): Promise<SearchState | null>
}

/** One for each process. */
export function openCatchUps(): CatchUps {
  const running = new Map<string, Promise<void>>()
  return {
    async run(deps, of) {
      const before = await findSearchState(deps.db, of)
      if (before === null || before.position >= before.top) return before
      const wanted = before.top
      const { endMs } = of
      let state = before
      // What is running may have begun before the message came that this caller knows of.
      while (state.position < wanted && deps.clock.monotonic() < endMs) {
        const own = running.get(of.inboxId) ?? catchUp(deps, of.inboxId, endMs)
        running.set(of.inboxId, own)
        const isIndexed = await own.then(
          () => true,
          (error) => {
            // A search that cannot write still reads.
            if (storageTrouble(error) === null) throw error
            return false
          },
        )
        if (running.get(of.inboxId) === own) running.delete(of.inboxId)
        const after = await findSearchState(deps.db, of)
        if (after === null) return null
        const isStuck = !isIndexed || after.position === state.position
        const isMuch = after.position - before.position >= SEARCH_CATCH_UP_MESSAGES_MAX
        state = after
        if (isStuck || isMuch) break
      }
      return { ...state, top: wanted }
    },
  }
}

async function catchUp({ db, clock }: CatchUpDeps, inboxId: string, endMs: number): Promise<void> {
  for (let indexed = 0; indexed < SEARCH_CATCH_UP_MESSAGES_MAX; ) {
    const step = await db.write(indexSearchStep, { inboxIds: [inboxId], skipLocked: false })
    indexed += step.indexed
    if (step.behind.length === 0 || clock.monotonic() >= endMs) return
  }
}

// The indexer in the background: goes after what the log of events tells of, and now and then through
// all inboxes, for what it does not tell of. Leaves the store to others for as long as it took itself.

import { setTimeout as pause } from 'node:timers/promises'
import type { LogPosition } from '#events/event.ts'
import { readLog, readLogHead } from '#events/event-rows.ts'
import { LOG_STEP_EVENTS } from '#events/follow-log.ts'
import type { Clock } from '#platform/clock.ts'
import { storageErrorKind } from '#platform/problem.ts'
import { SECOND_MS } from '#platform/units.ts'
import { paced } from '#schema/purge-steps.ts'
import type { Db } from '#schema/tables.ts'
import {
  eraseSearchStep,
  forgetPurgedSearch,
  indexSearchStep,
  listPurgedNumbers,
} from './search-index-rows.ts'
import { findSearchState, listLagging, type SearchState } from './search-rows.ts'

/** Inboxes that one transaction indexes, and those that a look for what lags compares. */
const SEARCH_STEP_INBOXES = 20
const SEARCH_SWEEP_INBOXES = 500
/** While more arrives than a look at the log takes, it rests after each step for so many times as long. */
const SEARCH_BUSY_FACTOR = 3
const SEARCH_BUSY_MS_MAX = 2 * SECOND_MS
/** Between looks at all inboxes, for what no event told of. */
const SEARCH_SWEEP_EVERY_MS = 10 * 60 * SECOND_MS
const SEARCH_ERASE_REST_FACTOR = 9

type IndexerDeps = { db: Db; clock: Clock }

export type Indexer = {
  /** Does some of what there is to do; true when there may be more. Ends early with the signal. */
  step(signal: AbortSignal): Promise<boolean>
  /** Inboxes that this process knows to have more, and how long the first of them has waited. */
  lag(): { inboxes: number; waitedMs: number }
}

/** Inboxes that have more, the first to be indexed first, and since when by the steady clock. */
type Lagging = Map<string, number>

/** Knows nothing of what is indexed until its first steps, which look at all inboxes. */
export function openIndexer(deps: IndexerDeps): Indexer {
  const lagging: Lagging = new Map()
  const follow = openFollowing(deps, lagging)
  const sweep = openSweep(deps, lagging)
  const erase = openErasing(deps)
  return {
    async step(signal) {
      try {
        // In this order, so that what comes while all are looked at is told of afterwards.
        const hasRead = await follow()
        const hasSwept = await sweep()
        if (signal.aborted) return false
        await indexSome(deps, lagging, { signal, isBusy: hasRead })
        if (signal.aborted) return false
        const hasErased = await erase(signal)
        return hasRead || hasSwept || hasErased || lagging.size > 0
      } catch (error) {
        // It goes on where it was when the store is well; searches bring up what they need.
        if (storageErrorKind(error) === null) throw error
        return false
      }
    },
    lag() {
      const nowMs = deps.clock.monotonic()
      const sinceMs = lagging.values().reduce((first, ms) => Math.min(first, ms), nowMs)
      return { inboxes: lagging.size, waitedMs: nowMs - sinceMs }
    },
  }
}

async function indexSome(
  { db, clock }: IndexerDeps,
  lagging: Lagging,
  { signal, isBusy }: { signal: AbortSignal; isBusy: boolean },
) {
  const inboxIds = lagging.keys().take(SEARCH_STEP_INBOXES).toArray()
  if (inboxIds.length === 0) return
  const startMs = clock.monotonic()
  const { behind } = await paced(async () => {
    const step = await db.write(indexSearchStep, { inboxIds, skipLocked: true, renews: true })
    return { ...step, isDone: false }
  }, signal)
  // Those that have more go to the end of the line.
  const since = new Map(inboxIds.map((inboxId) => [inboxId, lagging.get(inboxId)]))
  for (const inboxId of inboxIds) lagging.delete(inboxId)
  for (const inboxId of behind) lagging.set(inboxId, since.get(inboxId) ?? startMs)
  if (!isBusy) return
  // Much arrives: most of it is indexed when less does, or when somebody searches.
  const restMs = (clock.monotonic() - startMs) * SEARCH_BUSY_FACTOR
  await pause(Math.min(restMs, SEARCH_BUSY_MS_MAX), undefined, { signal }).catch(() => {})
}

/** From where the log ends when it begins; true when there may be more to be read. */
function openFollowing({ db, clock }: IndexerDeps, lagging: Lagging): () => Promise<boolean> {
  let position: LogPosition | null = null
  return async () => {
    position ??= await readLogHead(db)
    const events = await readLog(db, { after: position, limit: LOG_STEP_EVENTS })
    for (const { inboxId, messageId } of events) {
      if (inboxId !== null && messageId !== null) addLagging(lagging, inboxId, clock)
    }
    position = events.at(-1)?.position ?? position
    return events.length === LOG_STEP_EVENTS
  }
}

/** What is known already keeps its time. */
function addLagging(lagging: Lagging, inboxId: string, clock: Clock): void {
  if (!lagging.has(inboxId)) lagging.set(inboxId, clock.monotonic())
}

/** Through all inboxes at the start and every SEARCH_SWEEP_EVERY_MS; true while it is at it. */
function openSweep({ db, clock }: IndexerDeps, lagging: Lagging): () => Promise<boolean> {
  let after: string | null = null
  let nextMs = Number.NEGATIVE_INFINITY
  return async () => {
    if (after === null && clock.monotonic() < nextMs) return false
    const look = await listLagging(db, { after: after ?? '', limit: SEARCH_SWEEP_INBOXES })
    for (const inboxId of look.inboxIds) addLagging(lagging, inboxId, clock)
    after = look.last
    if (after === null) nextMs = clock.monotonic() + SEARCH_SWEEP_EVERY_MS
    return after !== null
  }
}

/**
 * Rounds of erasing, each for the inboxes that were purged before it began, with a rest after it that
 * is a multiple of what it took: a round rewrites all of the index.
 */
function openErasing({ db, clock }: IndexerDeps): (signal: AbortSignal) => Promise<boolean> {
  let round: { numbers: number[]; isFirst: boolean; startMs: number } | null = null
  let nextMs = Number.NEGATIVE_INFINITY
  return async (signal) => {
    if (round === null) {
      if (clock.monotonic() < nextMs) return false
      const numbers = await listPurgedNumbers(db)
      if (numbers.length === 0) return false
      round = { numbers, isFirst: true, startMs: clock.monotonic() }
    }
    const { numbers, isFirst, startMs } = round
    const { isDone } = await paced(
      async () => ({ isDone: await db.write(eraseSearchStep, { isFirst }) }),
      signal,
    )
    round = { numbers, isFirst: false, startMs }
    if (!isDone) return true
    round = null
    await db.write(forgetPurgedSearch, { numbers })
    const nowMs = clock.monotonic()
    nextMs = nowMs + (nowMs - startMs) * SEARCH_ERASE_REST_FACTOR
    return false
  }
}

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
            if (storageErrorKind(error) === null) throw error
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

// Indexes messages in the background, from the event log and periodic sweeps, and before a search.

import { setTimeout as pause } from 'node:timers/promises'
import { LOG_STEP_EVENTS } from '#events/events.ts'
import type { LogOffset } from '#events/model.ts'
import { readLog, readLogHead } from '#events/store/log.ts'
import type { Clock } from '#platform/clock.ts'
import { storageErrorKind } from '#platform/problem.ts'
import { DAY_MS, HOUR_MS, SECOND_MS } from '#platform/units.ts'
import type { FeatureWork } from '#queue/background.ts'
import { findSearchState, listLagging, type SearchState } from '#search/store/query-index.ts'
import {
  eraseSearchStep,
  forgetPurgedSearch,
  forgetRemovedEntries,
  indexSearchStep,
  listPurgedNumbers,
  listRemovedEntries,
  type RemovedEntries,
} from '#search/store/search-index.ts'
import { paced } from '#store/purge-steps.ts'
import type { Db } from '#store/tables.ts'

const SEARCH_STEP_INBOXES = 20
const SEARCH_SWEEP_INBOXES = 500
/** Under load, the pause after a step is this many times as long as the step. */
const SEARCH_BUSY_FACTOR = 3
const SEARCH_BUSY_MS_MAX = 2 * SECOND_MS
/** Sweeps find messages without an event. */
const SEARCH_SWEEP_EVERY_MS = 10 * 60 * SECOND_MS
const SEARCH_ERASE_REST_FACTOR = 9
/** A step takes up to a second in a large index, so slow rounds use 1/200 of the writer's time. */
const SEARCH_SLOW_ERASE_REST_FACTOR = 199
/** The first round is delayed, so that not every restart begins one. */
const SEARCH_SLOW_ERASE_FIRST_MS = HOUR_MS
const SEARCH_SLOW_ERASE_EVERY_MS = DAY_MS

type IndexerDeps = { db: Db; clock: Clock }

export type Indexer = {
  /** Returns true if there may be more. Ends early when the signal is aborted. */
  step(signal: AbortSignal): Promise<boolean>
  lag(): { inboxes: number; waitedMs: number }
}

/** Inboxes whose index is behind, next first, with the monotonic time when this was detected. */
type Lagging = Map<string, number>

export function searchWork({ step }: Indexer): FeatureWork {
  return { tasks: [{ name: 'search index', everyMs: SECOND_MS, by: 'leader', run: step }] }
}

export function openIndexer(deps: IndexerDeps): Indexer {
  const lagging: Lagging = new Map()
  const follow = openFollowing(deps, lagging)
  const sweep = openSweep(deps, lagging)
  const erase = openErasing(deps)
  const eraseSlowly = openSlowErasing(deps)
  return {
    async step(signal) {
      try {
        // The log is read first, so that it contains the messages that arrive during a sweep.
        const hasRead = await follow()
        const hasSwept = await sweep()
        if (signal.aborted) return false
        await indexSome(deps, lagging, { signal, isBusy: hasRead })
        if (signal.aborted) return false
        const hasErased = await erase(signal)
        await eraseSlowly()
        return hasRead || hasSwept || hasErased || lagging.size > 0
      } catch (error) {
        // Indexing resumes when the store is back; searches index the inboxes that they need.
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
    const step = await db.write(indexSearchStep, { inboxIds, skipLocked: true })
    return { ...step, isDone: false }
  }, signal)
  const since = new Map(inboxIds.map((inboxId) => [inboxId, lagging.get(inboxId)]))
  for (const inboxId of inboxIds) lagging.delete(inboxId)
  for (const inboxId of behind) lagging.set(inboxId, since.get(inboxId) ?? startMs)
  if (!isBusy) return
  const restMs = (clock.monotonic() - startMs) * SEARCH_BUSY_FACTOR
  await pause(Math.min(restMs, SEARCH_BUSY_MS_MAX), undefined, { signal }).catch(() => {})
}

/** Starts at the end of the log. The function returns true if there may be more. */
function openFollowing({ db, clock }: IndexerDeps, lagging: Lagging): () => Promise<boolean> {
  let offset: LogOffset | null = null
  return async () => {
    offset ??= await readLogHead(db)
    const events = await readLog(db, { after: offset, limit: LOG_STEP_EVENTS })
    for (const { inboxId, messageId } of events) {
      if (inboxId !== null && messageId !== null) addLagging(lagging, inboxId, clock)
    }
    offset = events.at(-1)?.offset ?? offset
    return events.length === LOG_STEP_EVENTS
  }
}

function addLagging(lagging: Lagging, inboxId: string, clock: Clock): void {
  if (!lagging.has(inboxId)) lagging.set(inboxId, clock.monotonic())
}

function openSweep({ db, clock }: IndexerDeps, lagging: Lagging): () => Promise<boolean> {
  let after: string | null = null
  let nextMs = Number.NEGATIVE_INFINITY
  return async () => {
    if (after === null && clock.monotonic() < nextMs) return false
    const page = await listLagging(db, { after: after ?? '', limit: SEARCH_SWEEP_INBOXES })
    for (const inboxId of page.inboxIds) addLagging(lagging, inboxId, clock)
    after = page.last
    if (after === null) nextMs = clock.monotonic() + SEARCH_SWEEP_EVERY_MS
    return after !== null
  }
}

/** Each round erases the inboxes that were purged before it, and rewrites the index. */
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
    overwrite(db)
    const nowMs = clock.monotonic()
    nextMs = nowMs + (nowMs - startMs) * SEARCH_ERASE_REST_FACTOR
    return false
  }
}

/** Erases messages removed from existing inboxes in one round a day, with long pauses. */
function openSlowErasing({ db, clock }: IndexerDeps): () => Promise<void> {
  let round: { inboxes: RemovedEntries[]; isFirst: boolean } | null = null
  let nextMs = clock.monotonic() + SEARCH_SLOW_ERASE_FIRST_MS
  return async () => {
    const startMs = clock.monotonic()
    if (startMs < nextMs) return
    round ??= { inboxes: await listRemovedEntries(db), isFirst: true }
    const { inboxes, isFirst } = round
    const isDone = inboxes.length === 0 || (await db.write(eraseSearchStep, { isFirst }))
    const nowMs = clock.monotonic()
    if (!isDone) {
      round = { inboxes, isFirst: false }
      nextMs = nowMs + (nowMs - startMs) * SEARCH_SLOW_ERASE_REST_FACTOR
      return
    }
    if (inboxes.length > 0) {
      await db.write(forgetRemovedEntries, { inboxes })
      overwrite(db)
    }
    round = null
    nextMs = nowMs + SEARCH_SLOW_ERASE_EVERY_MS
  }
}

/** Erases the free pages, too. If that fails, the next round does it. */
function overwrite(db: Db): void {
  db.overwriteUnused?.().catch(() => {})
}

const SEARCH_CATCH_UP_MESSAGES_MAX = 2_000

type CatchUpDeps = { db: Db; clock: Clock }

/** Concurrent searches of an inbox share the work. */
export type CatchUps = {
  /**
   * Ends early at SEARCH_CATCH_UP_MESSAGES_MAX or `endMs` (monotonic). Null without such an inbox.
   */
  run(
    deps: CatchUpDeps,
    of: { accountId: string; inboxId: string; endMs: number },
  ): Promise<SearchState | null>
}

export function openCatchUps(): CatchUps {
  const running = new Map<string, Promise<void>>()
  return {
    async run(deps, of) {
      const before = await findSearchState(deps.db, of)
      if (before === null || before.indexed >= before.top) return before
      const wanted = before.top
      const { endMs } = of
      let state = before
      // A step may have begun before the last message arrived, so one may not be enough.
      while (state.indexed < wanted && deps.clock.monotonic() < endMs) {
        const own = running.get(of.inboxId) ?? catchUp(deps, of.inboxId, endMs)
        running.set(of.inboxId, own)
        const isIndexed = await own.then(
          () => true,
          (error) => {
            // A search that cannot write still finds messages that are already indexed.
            if (storageErrorKind(error) === null) throw error
            return false
          },
        )
        if (running.get(of.inboxId) === own) running.delete(of.inboxId)
        const after = await findSearchState(deps.db, of)
        if (after === null) return null
        const isStuck = !isIndexed || after.indexed === state.indexed
        const isMuch = after.indexed - before.indexed >= SEARCH_CATCH_UP_MESSAGES_MAX
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

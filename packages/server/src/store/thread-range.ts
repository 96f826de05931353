// How threads lie over an inbox's positions: totals for each range of last positions, kept by every
// transaction that adds, moves or marks a thread, so that a page anywhere in the list is found by
// adding up a few totals instead of walking over all the threads before it.

import { sql } from 'kysely'
import { statement } from '#db/statement.ts'
import type { ReadDb, Tables, Tx } from './tables.ts'

/** Positions in a range: about as many totals to add up at 300,000 threads as entries to pass over. */
const RANGE_POSITIONS = 2_048

/** Up to here a page is reached quicker by passing over the entries before it. */
const NEAR_OFFSET = RANGE_POSITIONS

/** Adds to the totals of the range in which `position` lies. */
export async function countInRange(
  tx: Tx,
  input: { inboxId: string; position: number; threads: number; unread: number },
): Promise<void> {
  await upsertRange(tx, {
    inboxId: input.inboxId,
    range: rangeOf(input.position),
    threads: input.threads,
    unread: input.unread,
  })
}

/** Moves a thread that got a message from its old last position to its new one. */
export async function moveInRanges(
  tx: Tx,
  input: { inboxId: string; from: number; to: number; wasRead: boolean; isRead: boolean },
): Promise<void> {
  const { inboxId } = input
  const before = input.wasRead ? 0 : 1
  const after = input.isRead ? 0 : 1
  if (rangeOf(input.from) === rangeOf(input.to)) {
    if (before === after) return
    const unread = after - before
    return countInRange(tx, { inboxId, position: input.to, threads: 0, unread })
  }
  await countInRange(tx, { inboxId, position: input.from, threads: -1, unread: -before })
  await countInRange(tx, { inboxId, position: input.to, threads: 1, unread: after })
}

/**
 * Where to start reading for the thread at `offset`, newest first: a position that no earlier thread
 * of the page lies above, and how many entries at and below it still have to be passed over.
 */
export async function findPageStart(
  db: ReadDb,
  input: { inboxId: string; isRead: boolean | null; offset: number },
): Promise<{ positionMax: number | null; skip: number }> {
  if (input.offset <= NEAR_OFFSET) return { positionMax: null, skip: input.offset }
  const ranges = await db.read
    .selectFrom('thread_ranges')
    .select(['position_range', 'thread_count', 'unread_count'])
    .where('inbox_id', '=', input.inboxId)
    .orderBy('position_range', 'desc')
    .execute()
  let before = 0
  for (const range of ranges) {
    const count = countOf(range, input.isRead)
    if (before + count > input.offset) {
      const positionMax = (range.position_range + 1) * RANGE_POSITIONS - 1
      return { positionMax, skip: input.offset - before }
    }
    before += count
  }
  return { positionMax: null, skip: input.offset }
}

function rangeOf(position: number): number {
  return Math.floor(position / RANGE_POSITIONS)
}

function countOf(
  range: { thread_count: number; unread_count: number },
  isRead: boolean | null,
): number {
  if (isRead === null) return range.thread_count
  return isRead ? range.thread_count - range.unread_count : range.unread_count
}

const upsertRange = statement<
  Tables,
  { inboxId: string; range: number; threads: number; unread: number },
  never
>((query, place) =>
  query
    .insertInto('thread_ranges')
    .values({
      inbox_id: place('inboxId'),
      position_range: place('range'),
      thread_count: place('threads'),
      unread_count: place('unread'),
    })
    .onConflict((conflict) =>
      conflict.columns(['inbox_id', 'position_range']).doUpdateSet({
        thread_count: sql`thread_ranges.thread_count + excluded.thread_count`,
        unread_count: sql`thread_ranges.unread_count + excluded.unread_count`,
      }),
    ),
)

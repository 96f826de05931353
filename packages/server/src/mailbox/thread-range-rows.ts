// How threads lie over an inbox's positions: totals for each range of last positions, kept by every
// transaction that adds, moves or marks a thread, so that a page anywhere in the list is found by
// adding up a few totals instead of walking over all the threads before it.

import { sql } from 'kysely'
import { type Place, statement } from '#platform/db/statement.ts'
import type { ReadDb, Tables, Tx } from '#schema/tables.ts'

/** Positions in a range: about as many totals to add up at 300,000 threads as entries to pass over. */
const RANGE_POSITIONS = 2_048

/** Up to here a page is reached quicker by passing over the entries before it. */
const NEAR_OFFSET = RANGE_POSITIONS

/** What is added to the totals of one range. */
export type RangeChange = { inboxId: string; range: number; threads: number; unread: number }

type Addition = { inboxId: string; position: number; threads: number; unread: number }

type Move = { inboxId: string; from: number; to: number; wasRead: boolean; isRead: boolean }

/** Adds to the totals of the range in which `position` lies. */
export async function countInRange(tx: Tx, input: Addition): Promise<void> {
  await upsertRange(tx, changeAt(input))
}

/** Moves a thread that got a message from its old last position to its new one. */
export async function moveInRanges(tx: Tx, input: Move): Promise<void> {
  for (const change of changesOfMove(input)) await upsertRange(tx, change)
}

/** The same changes, those of one range as one. */
export function sumChanges(changes: readonly RangeChange[]): RangeChange[] {
  const sums = new Map<string, RangeChange>()
  for (const change of changes) {
    const place = `${change.inboxId} ${change.range}`
    const { threads = 0, unread = 0 } = sums.get(place) ?? {}
    const sum = { threads: threads + change.threads, unread: unread + change.unread }
    sums.set(place, { ...change, ...sum })
  }
  return [...sums.values()]
}

/** Of the range in which `position` lies. */
export function changeAt({ position, ...change }: Addition): RangeChange {
  return { ...change, range: rangeOf(position) }
}

/** What `moveInRanges` changes. */
export function changesOfMove({ inboxId, from, to, wasRead, isRead }: Move): RangeChange[] {
  const before = wasRead ? 0 : 1
  const after = isRead ? 0 : 1
  if (rangeOf(from) === rangeOf(to)) {
    if (before === after) return []
    return [changeAt({ inboxId, position: to, threads: 0, unread: after - before })]
  }
  return [
    changeAt({ inboxId, position: from, threads: -1, unread: -before }),
    changeAt({ inboxId, position: to, threads: 1, unread: after }),
  ]
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

/** The columns that are written, for a statement. */
export const rangeRow = (place: Place<RangeChange>) => ({
  inbox_id: place('inboxId'),
  position_range: place('range'),
  thread_count: place('threads'),
  unread_count: place('unread'),
})

/** Where the range has totals already. */
export const ADDED_TO_RANGE = `on conflict (inbox_id, position_range) do update set
  thread_count = thread_ranges.thread_count + excluded.thread_count,
  unread_count = thread_ranges.unread_count + excluded.unread_count`

const upsertRange = statement<Tables, RangeChange, never>((query, place) =>
  query
    .insertInto('thread_ranges')
    .values(rangeRow(place))
    .onConflict((conflict) =>
      conflict.columns(['inbox_id', 'position_range']).doUpdateSet({
        thread_count: sql`thread_ranges.thread_count + excluded.thread_count`,
        unread_count: sql`thread_ranges.unread_count + excluded.unread_count`,
      }),
    ),
)

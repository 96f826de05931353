// Totals of threads for each range of an inbox's positions, by the position of the thread's last message. Every
// transaction that adds, moves or marks a thread keeps them, so that a page anywhere in the list is found by adding
// up a few totals instead of skipping all threads before it. Threads in the trash have negative positions, so the
// ranges below 0 are those of the trash.

import { sql } from 'kysely'
import { forEachRow, rowInsert, statement } from '#platform/db/statement.ts'
import type { ReadDb, Row, Tables } from '#schema/tables.ts'

/** At 300,000 threads about as many totals are added up as entries of the index are skipped. */
const RANGE_POSITIONS = 2_048

/** Up to this offset, skipping entries is quicker. */
const NEAR_OFFSET = RANGE_POSITIONS

/** Numbers to add to the totals of one range. */
export type RangeChange = Row<'thread_ranges'>

/** The change for threads whose last message is at this position. */
export function changeAt(
  inboxId: string,
  { position, threads, unread }: { position: number; threads: number; unread: number },
): RangeChange {
  const position_range = rangeOf(position)
  return { inbox_id: inboxId, position_range, thread_count: threads, unread_count: unread }
}

/** The changes for a thread that a new message moves. */
export function changesOfMove(
  inboxId: string,
  {
    from,
    to,
  }: { from: { position: number; isRead: number }; to: { position: number; isRead: number } },
): RangeChange[] {
  const isSameRange = rangeOf(from.position) === rangeOf(to.position)
  if (isSameRange && from.isRead === to.isRead) return []
  return [
    changeAt(inboxId, { position: from.position, threads: -1, unread: from.isRead - 1 }),
    changeAt(inboxId, { position: to.position, threads: 1, unread: 1 - to.isRead }),
  ]
}

/** Adds up the changes of each range. */
export function sumChanges(changes: readonly RangeChange[]): RangeChange[] {
  const sums = new Map<string, RangeChange>()
  for (const change of changes) {
    const place = `${change.inbox_id} ${change.position_range}`
    const sum = sums.get(place) ?? { ...change, thread_count: 0, unread_count: 0 }
    sum.thread_count += change.thread_count
    sum.unread_count += change.unread_count
    sums.set(place, sum)
  }
  return [...sums.values()].filter((sum) => sum.thread_count !== 0 || sum.unread_count !== 0)
}

/**
 * Where to start reading for the thread at `offset`, newest first: the position of the first range to read that is the
 * nearest to the newest, and how many entries from there on to skip.
 */
export async function findPageStart(
  db: ReadDb,
  input: { inboxId: string; isRead: boolean | null; isTrashed: boolean; offset: number },
): Promise<{ edge: number | null; skip: number }> {
  const { inboxId, isRead, isTrashed, offset } = input
  if (offset <= NEAR_OFFSET) return { edge: null, skip: offset }
  const finds = isTrashed ? FIND_TRASHED : FIND_RANGE
  const find = isRead === null ? finds.any : isRead ? finds.read : finds.unread
  const [range] = await find(db.reading, { inboxId, offset })
  if (range === undefined) return { edge: null, skip: offset }
  const first = range.position_range * RANGE_POSITIONS
  const edge = isTrashed ? first : first + RANGE_POSITIONS - 1
  return { edge, skip: offset - range.before }
}

/** The range that has the thread at `offset`, and the number of threads before it. */
const findRange = (count: string, { isTrashed = false } = {}) =>
  statement<
    Tables,
    { inboxId: string; offset: number },
    { position_range: number; before: number }
  >((query, place) =>
    query
      .selectFrom((ranges) =>
        ranges
          .selectFrom('thread_ranges')
          .select(['position_range', sql.raw<number>(count).as('threads')])
          .select(
            sql<number>`sum(${sql.raw(count)}) over (order by position_range ${sql.raw(isTrashed ? 'asc' : 'desc')})`.as(
              'upto',
            ),
          )
          .where('inbox_id', '=', place('inboxId'))
          .where('position_range', isTrashed ? '<' : '>=', sql.lit(0))
          .as('ranges'),
      )
      .select(['position_range', sql<number>`cast(upto - threads as bigint)`.as('before')])
      .where('upto', '>', place('offset'))
      .where(sql`upto - threads`, '<=', place('offset'))
      .limit(1),
  )

const READ = 'thread_count - unread_count'

const FIND_RANGE = {
  any: findRange('thread_count'),
  read: findRange(READ),
  unread: findRange('unread_count'),
}

const FIND_TRASHED = {
  any: findRange('thread_count', { isTrashed: true }),
  read: findRange(READ, { isTrashed: true }),
  unread: findRange('unread_count', { isTrashed: true }),
}

function rangeOf(position: number): number {
  return Math.floor(position / RANGE_POSITIONS)
}

export const RANGES = rowInsert<Tables, RangeChange>(
  'thread_ranges',
  ['inbox_id', 'position_range', 'thread_count', 'unread_count'],
  `on conflict (inbox_id, position_range) do update set
    thread_count = thread_ranges.thread_count + excluded.thread_count,
    unread_count = thread_ranges.unread_count + excluded.unread_count`,
)

/** `changes` must be of different ranges. */
export const changeRanges = forEachRow(RANGES)

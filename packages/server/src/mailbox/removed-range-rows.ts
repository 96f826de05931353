// How many positions of a list have no message, because it was removed or is in the trash: counted for each range of
// positions that has any. Positions are never given again, so a place in the list is found by adding up a few counts.

import { sql } from 'kysely'
import { forEachRow, rowInsert, statement } from '#platform/db/statement.ts'
import type { ReadDb, Row, Tables, Tx } from '#schema/tables.ts'

const RANGE_POSITIONS = 1_024
/** Ranges of ranges, so that few counts are added up in a large list. */
const WIDE_POSITIONS = 32 * RANGE_POSITIONS

/** The id under which the wide ranges of a list are counted. */
function wideIdOf(listId: string): string {
  return `${listId} *`
}

/** The id of a list of an inbox: of all messages, or of one direction. The list of a thread has the thread's id. */
export function listIdOf(inboxId: string, direction: 'inbound' | 'outbound' | null): string {
  return direction === null ? inboxId : `${inboxId} ${direction}`
}

/** The inbox or the thread of a list, also of the wide ranges. */
export function ownerOfList(listId: string): string {
  return listId.split(' ', 1)[0] ?? ''
}

/** The ranges of an inbox that is deleted, without those of its threads. */
export async function deleteRemovedRanges(tx: Tx, inboxId: string): Promise<void> {
  const lists = [null, 'inbound', 'outbound'] as const
  await deleteRanges(
    tx,
    lists.map((direction) => listIdOf(inboxId, direction)),
  )
}

export async function deleteRanges(tx: Tx, listIds: readonly string[]): Promise<void> {
  const ids = listIds.flatMap((listId) => [listId, wideIdOf(listId)])
  await tx.query.deleteFrom('removed_ranges').where('list_id', 'in', ids).execute()
}

/** A position that becomes empty, or with `by` -1 has its message again. */
export type Emptied = { listId: string; position: number; by: 1 | -1 }

type RangeChange = Row<'removed_ranges'>

export function emptiedRanges(emptied: readonly Emptied[]): RangeChange[] {
  const sums = new Map<string, RangeChange>()
  const add = (list_id: string, position_range: number, by: number) => {
    const place = `${list_id} ${position_range}`
    const sum = sums.get(place) ?? { list_id, position_range, removed_count: 0 }
    sum.removed_count += by
    sums.set(place, sum)
  }
  for (const { listId, position, by } of emptied) {
    add(listId, Math.floor(position / RANGE_POSITIONS), by)
    add(wideIdOf(listId), Math.floor(position / WIDE_POSITIONS), by)
  }
  return [...sums.values()].filter((sum) => sum.removed_count !== 0)
}

/** `changes` must be of different ranges. */
export const changeRemovedRanges = forEachRow(
  rowInsert<Tables, RangeChange>(
    'removed_ranges',
    ['list_id', 'position_range', 'removed_count'],
    `on conflict (list_id, position_range) do update set
      removed_count = removed_ranges.removed_count + excluded.removed_count`,
  ),
)

/**
 * Where to start reading for the message at `offset`, the highest position first: the highest position, and how many
 * messages from there on to skip. `top` is the last position given, `removed` the number of empty ones.
 */
export async function findStart(
  db: ReadDb,
  input: { listId: string; top: number; removed: number; offset: number },
): Promise<{ positionMax: number; skip: number }> {
  const { listId, top, removed, offset } = input
  if (removed === 0) return { positionMax: top - offset, skip: 0 }
  if (offset < RANGE_POSITIONS / 2) return { positionMax: top, skip: offset }
  const all = { from: 0, to: Math.floor(top / WIDE_POSITIONS) }
  if (all.to === 0) {
    const ranges = { from: 0, to: Math.floor(top / RANGE_POSITIONS) }
    return findIn(db, { listId, top, offset, ranges }, RANGE_POSITIONS)
  }
  const wide = await findIn(
    db,
    { listId: wideIdOf(listId), top, offset, ranges: all },
    WIDE_POSITIONS,
  )
  if (wide.range === null) return wide
  const from = (wide.range * WIDE_POSITIONS) / RANGE_POSITIONS
  const ranges = { from, to: from + WIDE_POSITIONS / RANGE_POSITIONS - 1 }
  return findIn(db, { listId, top: wide.positionMax, offset: wide.skip, ranges }, RANGE_POSITIONS)
}

type Found = { positionMax: number; skip: number; range: number | null }

/**
 * The same among some ranges of a size, where `offset` counts from `top` on. `range` is the range in which to skip; null
 * where nothing is to be skipped.
 */
async function findIn(
  db: ReadDb,
  of: { listId: string; top: number; offset: number; ranges: { from: number; to: number } },
  size: number,
): Promise<Found> {
  const { listId, top, offset, ranges } = of
  const [range] = await selectRange(db.reading, { listId, top, offset, size, ...ranges })
  // Above all ranges with an empty position.
  if (range === undefined) return { positionMax: top - offset, skip: 0, range: null }
  const first = Math.max(1, range.position_range * size)
  const last = Math.min(top, (range.position_range + 1) * size - 1)
  const skip = offset - (top - last - range.removed_above)
  const below = skip - (last - first + 1 - range.removed_count)
  return below < 0
    ? { positionMax: last, skip, range: range.position_range }
    : { positionMax: first - 1 - below, skip: 0, range: null }
}

/** A thread as its messages are read: so many were added, and so many of them removed. */
export type ThreadExtent = { threadId: string; addedCount: number; removedCount: number }

/** The position in the thread of its message at `offset`, the oldest first; null where it has fewer. */
export async function findThreadPosition(
  db: ReadDb,
  { threadId, addedCount: top, removedCount: removed }: ThreadExtent,
  offset: number,
): Promise<number | null> {
  // The list is read from the newest on.
  const newer = top - removed - 1 - offset
  if (newer < 0) return null
  if (removed === 0) return offset + 1
  const { positionMax, skip } = await findStart(db, {
    listId: threadId,
    top,
    removed,
    offset: newer,
  })
  const row = await db.read
    .selectFrom('messages')
    .select('thread_position')
    .where('thread_id', '=', threadId)
    .where('thread_position', '<=', positionMax)
    .orderBy('thread_position', 'desc')
    .limit(1)
    .offset(skip)
    .executeTakeFirst()
  return row?.thread_position ?? null
}

/** The lowest range with an empty position above which there are at most `offset` messages. */
const selectRange = statement<
  Tables,
  { listId: string; top: number; offset: number; size: number; from: number; to: number },
  { position_range: number; removed_count: number; removed_above: number }
>((query, place) =>
  query
    .selectFrom((ranges) =>
      ranges
        .selectFrom('removed_ranges')
        .select(['position_range', 'removed_count'])
        .select(
          sql<number>`sum(removed_count) over (order by position_range desc) - removed_count`.as(
            'removed_above',
          ),
        )
        .where('list_id', '=', place('listId'))
        .where('position_range', '>=', place('from'))
        .where('position_range', '<=', place('to'))
        .as('ranges'),
    )
    .select(['position_range', 'removed_count'])
    .select(sql<number>`cast(removed_above as bigint)`.as('removed_above'))
    .where(
      sql<number>`${place('top')} - (position_range + 1) * ${place('size')} + 1 - removed_above`,
      '<=',
      place('offset'),
    )
    .orderBy('position_range')
    .limit(sql.lit(1)),
)

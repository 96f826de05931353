// How many positions of a list have no message, because it was removed or is in the trash: counted for each range of
// positions that has any. Positions are never given again, so a place in the list is found by adding up a few counts.

import { sql } from 'kysely'
import { forEachRow, rowInsert, statement } from '#platform/db/statement.ts'
import type { ReadDb, Row, Tables, Tx } from '#schema/tables.ts'

/** At 300,000 messages about as many counts are added up as entries of the index are skipped. */
const RANGE_POSITIONS = 1_024

/** The id of a list of an inbox: of all messages, or of one direction. The list of a thread has the thread's id. */
export function listIdOf(inboxId: string, direction: 'inbound' | 'outbound' | null): string {
  return direction === null ? inboxId : `${inboxId} ${direction}`
}

/** The ranges of an inbox that is deleted, without those of its threads. */
export async function deleteRemovedRanges(tx: Tx, inboxId: string): Promise<void> {
  const ids = [null, 'inbound', 'outbound'] as const
  await tx.query
    .deleteFrom('removed_ranges')
    .where(
      'list_id',
      'in',
      ids.map((direction) => listIdOf(inboxId, direction)),
    )
    .execute()
}

/** A position that becomes empty, or with `by` -1 has its message again. */
export type Emptied = { listId: string; position: number; by: 1 | -1 }

type RangeChange = Row<'removed_ranges'>

export function emptiedRanges(emptied: readonly Emptied[]): RangeChange[] {
  const sums = new Map<string, RangeChange>()
  for (const { listId, position, by } of emptied) {
    const position_range = Math.floor(position / RANGE_POSITIONS)
    const place = `${listId} ${position_range}`
    const sum = sums.get(place) ?? { list_id: listId, position_range, removed_count: 0 }
    sum.removed_count += by
    sums.set(place, sum)
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
  const [range] = await selectRange(db.reading, { listId, top, offset })
  // Above all ranges with an empty position.
  if (range === undefined) return { positionMax: top - offset, skip: 0 }
  const first = Math.max(1, range.position_range * RANGE_POSITIONS)
  const last = Math.min(top, (range.position_range + 1) * RANGE_POSITIONS - 1)
  const skip = offset - (top - last - range.removed_above)
  const below = skip - (last - first + 1 - range.removed_count)
  return below < 0 ? { positionMax: last, skip } : { positionMax: first - 1 - below, skip: 0 }
}

/** The lowest range with an empty position above which there are at most `offset` messages. */
const selectRange = statement<
  Tables,
  { listId: string; top: number; offset: number },
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
        .as('ranges'),
    )
    .select(['position_range', 'removed_count'])
    .select(sql<number>`cast(removed_above as bigint)`.as('removed_above'))
    .where(
      sql<number>`${place('top')} - (position_range + 1) * ${sql.lit(RANGE_POSITIONS)} + 1 - removed_above`,
      '<=',
      place('offset'),
    )
    .orderBy('position_range')
    .limit(sql.lit(1)),
)

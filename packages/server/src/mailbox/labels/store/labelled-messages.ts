import { COUNTED_MAX, type MessageCategory } from '@mailroom/contract/vocabulary.ts'
import { type SelectQueryBuilder, type SqlBool, sql } from 'kysely'
import type { ReadDb, Tables } from '#store/tables.ts'

/** Lists the messages that have all of the labels and are not in the trash. */
export async function labelledIn(
  db: ReadDb,
  input: {
    inboxId: string
    direction: 'inbound' | 'outbound' | null
    category: MessageCategory | null
    labels: readonly string[]
  },
): Promise<Listed> {
  const { inboxId, direction, category } = input
  const [first = '', ...others] = await rarestFirst(input.labels, (label) =>
    countUpTo(db, labelledWith(db, inboxId, label).select('message_labels.message_id')),
  )
  let inList = labelledWith(db, inboxId, first)
  for (const label of others) {
    inList = inList.where(({ exists, selectFrom }) =>
      exists(
        selectFrom('message_labels as other')
          .select('other.label')
          .whereRef('other.message_id', '=', 'message_labels.message_id')
          .where('other.label', '=', label),
      ),
    )
  }
  if (direction !== null || category !== null) {
    inList = inList.where(({ exists, selectFrom }) => {
      let passing = selectFrom('messages')
        .select('messages.id')
        .whereRef('messages.id', '=', 'message_labels.message_id')
      if (direction !== null) passing = passing.where('messages.direction', '=', direction)
      if (category !== null) passing = passing.where('messages.category', '=', category)
      return exists(passing)
    })
  }
  return inList
    .select('message_labels.message_id as id')
    .orderBy('message_labels.created_at', 'desc')
    .orderBy('message_labels.message_id', 'desc')
}

/** A list with several labels or facets scans the rarest and looks up the others in each entry. */
export async function rarestFirst(
  names: readonly string[],
  count: (name: string) => Promise<number>,
): Promise<readonly string[]> {
  if (names.length < 2) return names
  const counted: { name: string; count: number }[] = []
  for (const name of names) counted.push({ name, count: await count(name) })
  return counted.sort((one, other) => one.count - other.count).map(({ name }) => name)
}

function labelledWith(db: ReadDb, inboxId: string, label: string) {
  return db.read
    .selectFrom('message_labels')
    .where('message_labels.inbox_id', '=', inboxId)
    .where('message_labels.label', '=', label)
    .where('message_labels.is_trashed', '=', 0)
}

export type Listed = SelectQueryBuilder<
  Tables,
  'messages' | 'message_labels' | 'threads' | 'thread_facets',
  { id: string }
>

/** Always true: makes PostgreSQL use the index instead of sorting the inbox. */
export function isAnyTime(column: 'messages.created_at' | 'threads.last_message_at') {
  const max = sql.lit(Number.MAX_SAFE_INTEGER)
  return sql<SqlBool>`${sql.ref(column)} >= -${max} and ${sql.ref(column)} <= ${max}`
}

export async function countUpTo<Found>(
  db: ReadDb,
  query: SelectQueryBuilder<
    Tables,
    'messages' | 'threads' | 'thread_facets' | 'message_labels' | 'inboxes',
    Found
  >,
): Promise<number> {
  const { count } = await db.read
    .selectFrom(query.clearOrderBy().limit(COUNTED_MAX).as('counted'))
    .select(({ fn }) => fn.countAll<number | string>().as('count'))
    .executeTakeFirstOrThrow()
  return Number(count)
}

import { LABELS_LISTED_MAX } from '@mailroom/contract/labels.ts'
import { sql } from 'kysely'
import { readCounters } from '#mailbox/messages/store/messages.ts'
import type { ReadDb } from '#store/tables.ts'
import { labelFacet } from './facets.ts'

const FIRST = labelFacet('')
/** No facet of a label is at or after this text. */
const END = `${FIRST.slice(0, -1)}>`

/**
 * Lists the labels of threads outside the trash, sorted; none for an inbox of another account. Each
 * label is one search in an index, however many threads have it.
 */
export async function listLabels(
  db: ReadDb,
  { accountId, inboxId }: { accountId: string; inboxId: string | null },
): Promise<string[]> {
  if (inboxId !== null && (await readCounters(db, accountId, inboxId)) === null) return []
  const isWithin = inboxId === null ? sql`account_id = ${accountId}` : sql`inbox_id = ${inboxId}`
  const { rows } = await sql<{ facet: string }>`
    with recursive labels (facet, number) as (
      select min(facet), 1 from thread_facets
      where ${isWithin} and facet > ${FIRST} and facet < ${END}
      union all
      select (
        select min(thread_facets.facet) from thread_facets
        where ${isWithin} and thread_facets.facet > labels.facet and thread_facets.facet < ${END}
      ), number + 1
      from labels where labels.facet is not null and number < ${LABELS_LISTED_MAX}
    )
    select facet from labels
    where facet is not null and exists (
      select 1 from thread_facets
      where ${isWithin} and thread_facets.facet = labels.facet and is_trashed = 0
    )
    order by facet
  `.execute(db.read)
  return rows.map(({ facet }) => facet.slice(FIRST.length))
}

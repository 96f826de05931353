// Custom domains of all accounts, for the operator.

import type { ReadDb } from '#schema/tables.ts'
import type { Domain } from './domain.ts'
import { toDomain } from './domain-rows.ts'

/** Those whose mail is here first, then the oldest; `offset` of them left out. */
export async function listEveryDomain(
  db: ReadDb,
  { limit, offset }: { limit: number; offset: number },
): Promise<Domain[]> {
  const rows = await db.read
    .selectFrom('domains')
    .selectAll()
    .orderBy('is_holder', 'desc')
    .orderBy('id')
    .limit(limit)
    .offset(offset)
    .execute()
  return rows.map(toDomain)
}

/** How many there are. */
export async function countDomains(db: ReadDb): Promise<number> {
  const row = await db.read
    .selectFrom('domains')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return Number(row.count)
}

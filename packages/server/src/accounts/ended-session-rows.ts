// Sessions of the console that somebody has signed out of, to and from rows. All others are nowhere but
// in their cookies.

import { transaction } from '#platform/db/db.ts'
import type { ReadDb, Tx } from '#schema/tables.ts'

/** Also a second time; kept until the session would have ended by itself. */
export const endSession = transaction({
  name: 'endSession',
  accountOf: () => null,
  async run(tx: Tx, { id, expiresAtMs }: { id: string; expiresAtMs: number }): Promise<void> {
    await tx.query
      .insertInto('ended_sessions')
      .values({ id, expires_at: expiresAtMs })
      .onConflict((conflict) => conflict.doNothing())
      .execute()
  },
})

/** Those of the sessions that were signed out of. */
export async function findEndedSessions(db: ReadDb, ids: readonly string[]): Promise<string[]> {
  const rows = await db.read
    .selectFrom('ended_sessions')
    .select('id')
    .where('id', 'in', [...ids])
    .execute()
  return rows.map(({ id }) => id)
}

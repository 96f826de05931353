import { transaction } from '#platform/db/db.ts'
import type { ReadDb, Tx } from '#store/tables.ts'

/** Idempotent. The row is kept until the session would have expired. */
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

export async function findEndedSessions(db: ReadDb, ids: readonly string[]): Promise<string[]> {
  const rows = await db.read
    .selectFrom('ended_sessions')
    .select('id')
    .where('id', 'in', [...ids])
    .execute()
  return rows.map(({ id }) => id)
}

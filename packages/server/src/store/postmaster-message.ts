// Mail to the postmaster of the service, from rows; only operators read it.

import type { ReadDb, Row } from './tables.ts'

/** The newest messages, up to `limit`. */
export function listPostmasterMessages(
  db: ReadDb,
  limit: number,
): Promise<Row<'postmaster_messages'>[]> {
  return db.read
    .selectFrom('postmaster_messages')
    .selectAll()
    .orderBy('created_at', 'desc')
    .limit(limit)
    .execute()
}

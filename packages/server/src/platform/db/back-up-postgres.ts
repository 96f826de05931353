// A copy of the PostgreSQL database as of one moment, made by the server's own program.

import { onConnection } from './postgres.ts'

/**
 * Runs `dump` with the name of a snapshot and returns the ids of the raw messages that, in this same
 * snapshot, have their bytes in the blob store.
 */
export function backUpPostgres(
  url: string,
  dump: (snapshot: string) => Promise<void>,
): Promise<string[]> {
  return onConnection(url, async (query) => {
    // The snapshot lasts as long as the transaction that gave it away.
    await query('begin isolation level repeatable read read only')
    const [exported] = await query('select pg_export_snapshot() as name')
    const rows = await query('select id from raw_messages where content is null')
    await dump(String(exported?.name))
    return rows.map((row) => String(row.id))
  })
}

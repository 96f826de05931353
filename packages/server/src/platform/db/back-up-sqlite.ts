// A copy of the embedded database as of one moment, while it is being written.

import { rmSync } from 'node:fs'
import { openSqliteConnection } from './sqlite-connection.ts'

/**
 * Copies by `VACUUM INTO`, which reads in one transaction and holds up no writer. Replaces `to`.
 * Returns the ids of the raw messages whose bytes lie in the blob store.
 */
export function backUpSqlite(files: { from: string; to: string }): string[] {
  rmSync(files.to, { force: true })
  const source = openSqliteConnection({ path: files.from, mode: 'read' })
  try {
    source.rows('vacuum into ?', files.to)
  } finally {
    source.close()
  }
  const copy = openSqliteConnection({ path: files.to, mode: 'read' })
  try {
    const rows = copy.rows('select id from raw_messages where content is null')
    return rows.map((row) => String(row.id))
  } finally {
    copy.close()
  }
}

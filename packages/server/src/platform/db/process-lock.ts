// Keeps a second process from serving the same data directory. The lock is the operating system's,
// so it is gone the moment its process is, also after kill -9.

import { openSqliteConnection } from './sqlite-connection.ts'
import { asStorageError } from './storage-error.ts'

/** SQLITE_NOTADB */
const NOT_A_DATABASE = 26

/**
 * Takes the lock on `path` for the life of the process or until the returned function is called.
 * Throws when another process holds it.
 */
export function takeProcessLock(path: string): () => void {
  const connection = openSqliteConnection({ path, mode: 'bare', busyTimeoutMs: 0 })
  try {
    // Without a journal on disk, which would need room.
    connection.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
  } catch (error) {
    connection.close()
    if (error instanceof Error && 'errcode' in error && error.errcode === NOT_A_DATABASE) {
      throw new Error(
        `${path} is not the lock file of this service: something else was written to it. Make sure that no service uses this data directory, remove the file and start again.`,
        { cause: error },
      )
    }
    if (asStorageError(error)?.kind !== 'busy') throw error
    throw new Error(
      `Another process already serves this data directory (${path} is locked). Stop it first, or use PostgreSQL to run several processes.`,
      { cause: error },
    )
  }
  return () => connection.close()
}

// Opening the database and the blob store that the settings name: for the service and for commands
// that work beside it.

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { BlobStore } from '#blobs/blob-store.ts'
import { openDiskBlobs } from '#blobs/disk-blobs.ts'
import type { Settings } from '#config/settings.ts'
import type { DbObserver } from '#db/db.ts'
import { takeProcessLock } from '#db/process-lock.ts'
import { openSqlite } from '#db/sqlite.ts'
import type { Tables } from '#store/tables.ts'
import { type Db, transactions } from '#store/transactions.ts'

export type StoreSettings = Pick<Settings, 'dataDir' | 'databaseUrl' | 'blobStore'>

export type OpenStore = {
  db: Db
  blobs: BlobStore | null
  close(): Promise<void>
}

export type OpenStoreOptions = {
  settings: StoreSettings
  /** The service owns the data directory; a command works beside it. */
  as: 'service' | 'command'
  observer: DbObserver
  onError(error: Error): void
}

export const silentObserver: DbObserver = { committed: () => {}, queued: () => {} }

/** Where the embedded database lies. */
export function databasePath(settings: StoreSettings): string {
  return join(settings.dataDir, 'mailroom.db')
}

/** Where large raw messages lie on disk. */
export function blobsPath(settings: StoreSettings): string {
  return join(settings.dataDir, 'blobs')
}

/**
 * Creates what is absent, applies migrations and opens. Throws when another process serves the same
 * data directory, or the database cannot be opened.
 */
export async function openStore(options: OpenStoreOptions): Promise<OpenStore> {
  const { settings } = options
  mkdirSync(settings.dataDir, { recursive: true, mode: 0o700 })
  const isShared = settings.databaseUrl !== null
  const unlock =
    isShared || options.as === 'command'
      ? () => {}
      : takeProcessLock(join(settings.dataDir, 'service.lock'))
  try {
    const db = await openDb(options)
    const blobs = settings.blobStore === 'disk' ? await openDiskBlobs(blobsPath(settings)) : null
    return {
      db,
      blobs,
      async close() {
        await db.close()
        unlock()
      },
    }
  } catch (error) {
    unlock()
    throw error
  }
}

async function openDb({ settings, as, observer, onError }: OpenStoreOptions): Promise<Db> {
  if (settings.databaseUrl !== null) {
    // Loaded where it is used: it costs 10 MB and some of the time of a start.
    const { openPostgres } = await import('#db/postgres.ts')
    return openPostgres<Tables, typeof transactions>({
      url: settings.databaseUrl,
      transactions,
      observer,
      onError,
    })
  }
  return openSqlite<Tables, typeof transactions>({
    path: databasePath(settings),
    writerEntry: new URL('./store/sqlite-writer-entry.ts', import.meta.url),
    reservePath: as === 'service' ? join(settings.dataDir, 'reserve') : null,
    observer,
  })
}

// Opens the database and the blob store, for the service and for commands beside it.

import { join } from 'node:path'
import type { MessagePort } from 'node:worker_threads'
import type { Settings } from '#config/settings.ts'
import { settleEventOrder } from '#events/store/restored-order.ts'
import { deliveryQueue } from '#outbound/deliveries/store/leases.ts'
import type { BlobStore } from '#platform/blobs/blob-store.ts'
import { makePrivateFolder } from '#platform/blobs/durable-folder.ts'
import { openBlobs } from '#platform/blobs/open-blobs.ts'
import { LOWER_ALPHANUMERIC, randomText, systemChance } from '#platform/chance.ts'
import { type DbObserver, openOwnSignals, type ReadingDb, type Signals } from '#platform/db/db.ts'
import { openSqlite, openSqliteInThread, openSqliteToRead } from '#platform/db/sqlite.ts'
import { openInstance, openNameless } from '#platform/instance.ts'
import type { Log } from '#platform/log.ts'
import { openAll } from '#platform/open-all.ts'
import { storageErrorKind } from '#platform/problem.ts'
import { releaseJobs } from '#queue/jobs.ts'
import type { Db, Tables } from '#store/tables.ts'
import { endUploads } from '#transfers/store/transfers.ts'
import { webhookQueue } from '#webhooks/store/queue.ts'

type StoreSettings = Pick<Settings, 'dataDir' | 'databaseUrl' | 'blobStore'>

export type OpenStore = {
  db: Db
  /** The name stays the same after a restart, unless another process holds the data directory. */
  instance: string
  blobs: BlobStore | null
  /** Wakes the event readers of all processes. */
  signals: Signals
  close(): Promise<void>
}

type OpenStoreOptions = {
  settings: StoreSettings
  /** The service owns the data directory; a command runs beside it. */
  as: 'service' | 'command'
  observer: DbObserver
  onError(error: Error): void
  /** Called if the blob store is unreachable but may recover. */
  onBlobsAway?(text: string): void
}

export const silentObserver: DbObserver = { committed: () => {} }

export function databasePath({ dataDir }: Pick<Settings, 'dataDir'>): string {
  return join(dataDir, 'mailroom.db')
}

/** Throws if another process serves the data directory. */
export async function openStore(options: OpenStoreOptions): Promise<OpenStore> {
  const { settings, as, onBlobsAway: warn = () => {} } = options
  makePrivateFolder(settings.dataDir)
  return openAll(async (opened) => {
    const { instance, unlock } = as === 'command' ? openNameless() : openInstance(settings)
    opened.defer(unlock)
    const db = await openDb(options)
    opened.defer(() => db.close())
    const signals = await openSignals(options)
    opened.defer(() => signals.close())
    // Closed first, so that pending requests fail while the database is still open.
    const blobs = await openBlobs(settings, { as, warn })
    opened.defer(() => blobs?.close())
    return { db, instance, blobs, signals, close: () => opened.disposeAsync() }
  })
}

/** Requires an existing database with the current schema. Changes nothing. */
export async function openToRead(settings: StoreSettings): Promise<ReadingDb<Tables>> {
  const { databaseUrl } = settings
  if (databaseUrl === null) return openSqliteToRead(databasePath(settings))
  const { openPostgresToRead } = await import('#platform/db/postgres.ts')
  return openPostgresToRead(databaseUrl)
}

async function openDb({ settings, as, observer, onError }: OpenStoreOptions): Promise<Db> {
  if (settings.databaseUrl !== null) {
    // Loaded only if needed, because it takes 10 MB and delays the start.
    const { openPostgres, nameServer } = await import('#platform/db/postgres.ts')
    const url = settings.databaseUrl
    return openPostgres<Tables>({ url, observer, onError }).catch((error: unknown) => {
      throw nameServer(error, url)
    })
  }
  return openSqlite<Tables>({
    path: databasePath(settings),
    writerEntry: new URL(import.meta.resolve('./sqlite-writer-entry.ts')),
    readerEntry: new URL(import.meta.resolve('./sqlite-reader-entry.ts')),
    reservePath: as === 'service' ? join(settings.dataDir, 'reserve') : null,
    observer,
    onError,
  })
}

type ThreadStoreOptions = Pick<OpenStoreOptions, 'settings' | 'observer' | 'onError'> & {
  instance: string
  /** Number of threads besides the main thread. */
  threads: number
  /** From `shareWriter` in the main thread; null where threads have connections of their own. */
  writer: MessagePort | null
  signals: Signals
}

export function openThreadStore(options: ThreadStoreOptions): Promise<OpenStore> {
  const { settings, instance, signals } = options
  return openAll(async (opened) => {
    const db = await openThreadDb(options)
    opened.defer(() => db.close())
    const blobs = await openBlobs(settings, { as: 'command', warn: () => {} })
    opened.defer(() => blobs?.close())
    return { db, instance, blobs, signals, close: () => opened.disposeAsync() }
  })
}

/** PostgreSQL connections of all threads together; more if each thread would have too few. */
const THREADS_POOL_MAX = 10
const THREAD_POOL_MIN = 5

async function openThreadDb({ settings, threads, writer, ...options }: ThreadStoreOptions) {
  if (writer !== null) {
    return openSqliteInThread<Tables>({ path: databasePath(settings), writer, ...options })
  }
  const { openPostgres } = await import('#platform/db/postgres.ts')
  const connectionsMax = Math.max(THREAD_POOL_MIN, Math.floor(THREADS_POOL_MAX / threads))
  const url = settings.databaseUrl ?? ''
  return openPostgres<Tables>({ url, migrates: false, connectionsMax, ...options })
}

async function openSignals({ settings, as, onError }: OpenStoreOptions): Promise<Signals> {
  if (settings.databaseUrl === null || as === 'command') return openOwnSignals()
  const { openPostgresSignals } = await import('#platform/db/postgres-signals.ts')
  const sender = randomText(systemChance, LOWER_ALPHANUMERIC, 20)
  return openPostgresSignals({ url: settings.databaseUrl, sender, onError })
}

/** Adopts the event log of a database restored from another server. */
export async function settleLog({ db }: OpenStore, log: Log): Promise<void> {
  if (db.engine === 'sqlite') return
  const events = await db.write(settleEventOrder, {})
  if (events > 0) log.warn({ events }, 'the event log was adopted from another database server')
}

/** Releases the leases of this service's previous process. */
export async function releaseOwnLeases({ db, instance }: OpenStore, log: Log): Promise<void> {
  try {
    const own = { instance: db.engine === 'sqlite' ? null : instance }
    await db.write(releaseJobs, own)
    await db.write(deliveryQueue.release, own)
    await db.write(webhookQueue.release, own)
    if (db.engine === 'sqlite') await db.write(endUploads, {})
  } catch (error) {
    // A full disk still allows reads and deletes; the leases expire.
    if (storageErrorKind(error) !== 'full') throw error
    log.warn({ error }, 'the disk is full')
  }
}

// Opening the database and the blob store that the settings name: for the service and for commands
// that work beside it.

import { join } from 'node:path'
import type { Settings } from '#config/settings.ts'
import { settleEventOrder } from '#events/event-order-rows.ts'
import { deliveryQueue } from '#outbound/delivery-claim-rows.ts'
import type { BlobStore } from '#platform/blobs/blob-store.ts'
import { makePrivateFolder } from '#platform/blobs/durable-folder.ts'
import { LOWER_ALPHANUMERIC, randomText, systemChance } from '#platform/chance.ts'
import type { DbObserver, ReadingDb } from '#platform/db/db.ts'
import { openOwnSignals, type Signals } from '#platform/db/db.ts'
import { openSqlite, openSqliteToRead } from '#platform/db/sqlite.ts'
import type { Log } from '#platform/log.ts'
import { openAll } from '#platform/open-all.ts'
import { storageErrorKind } from '#platform/problem.ts'
import { releaseLeases } from '#queue/job-rows.ts'
import { releaseTaskLeases } from '#queue/periodic-task-rows.ts'
import type { Db, Tables } from '#schema/tables.ts'
import { webhookQueue } from '#webhooks/webhook-queue-rows.ts'
import { openBlobs } from './open-blobs.ts'
import { openInstance, openNameless } from './open-instance.ts'

export type StoreSettings = Pick<Settings, 'dataDir' | 'databaseUrl' | 'blobStore'>

export type OpenStore = {
  db: Db
  /** Names this service over its lives, or this life alone where others share the data directory. */
  instance: string
  blobs: BlobStore | null
  /** That there are events to be read. */
  signals: Signals
  close(): Promise<void>
}

export type OpenStoreOptions = {
  settings: StoreSettings
  /** The service owns the data directory; a command works beside it. */
  as: 'service' | 'command'
  observer: DbObserver
  onError(error: Error): void
  /** Of a blob store that cannot be used now, and may be again. */
  onBlobsAway?(text: string): void
}

export const silentObserver: DbObserver = { committed: () => {} }

/** Where the embedded database lies. */
export function databasePath(settings: StoreSettings): string {
  return join(settings.dataDir, 'mailroom.db')
}

/**
 * Creates what is absent, applies migrations and opens. Throws when another process serves the same
 * data directory, or the database cannot be opened.
 */
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
    // Last, and so closed first: who waits for its server is told while there is a database.
    const blobs = await openBlobs(settings, { as, warn })
    opened.defer(() => blobs?.close())
    return { db, instance, blobs, signals, close: () => opened.disposeAsync() }
  })
}

/**
 * The database of the settings to be looked into, once it is known to be there and current. Makes no
 * folder, changes no mode and migrates nothing.
 */
export async function openToRead({
  databaseUrl,
  ...settings
}: StoreSettings): Promise<ReadingDb<Tables>> {
  if (databaseUrl === null) return openSqliteToRead(databasePath({ databaseUrl, ...settings }))
  const { openPostgresToRead } = await import('#platform/db/postgres.ts')
  return openPostgresToRead(databaseUrl)
}

async function openDb({ settings, as, observer, onError }: OpenStoreOptions): Promise<Db> {
  if (settings.databaseUrl !== null) {
    // Loaded where it is used: it costs 10 MB and some of the time of a start.
    const { openPostgres, nameServer } = await import('#platform/db/postgres.ts')
    return openPostgres<Tables>({
      url: settings.databaseUrl,
      observer,
      onError,
    }).catch((error: unknown) => {
      throw nameServer(error, settings.databaseUrl ?? '')
    })
  }
  return openSqlite<Tables>({
    path: databasePath(settings),
    writerEntry: new URL(import.meta.resolve('#wiring/sqlite-writer-entry.ts')),
    reservePath: as === 'service' ? join(settings.dataDir, 'reserve') : null,
    observer,
  })
}

async function openSignals({ settings, as, onError }: OpenStoreOptions): Promise<Signals> {
  if (settings.databaseUrl === null || as === 'command') return openOwnSignals()
  const { openPostgresSignals } = await import('#platform/db/postgres-signals.ts')
  const sender = randomText(systemChance, LOWER_ALPHANUMERIC, 20)
  return openPostgresSignals({ url: settings.databaseUrl, sender, onError })
}

/** The log goes on where the database was restored from another server. */
export async function settleLog({ db }: OpenStore, log: Log): Promise<void> {
  if (db.engine === 'sqlite') return
  const events = await db.write(settleEventOrder, {})
  if (events > 0) log.warn({ events }, 'the event log was adopted from another database server')
}

/** Whatever this service held when its last life ended, it holds no more. */
export async function releaseOwnLeases({ db, instance }: OpenStore, log: Log): Promise<void> {
  try {
    if (db.engine === 'sqlite') await db.write(releaseLeases, {})
    const own = { instance: db.engine === 'sqlite' ? null : instance }
    await db.write(deliveryQueue.release, own)
    await db.write(webhookQueue.release, own)
    if (db.engine !== 'sqlite') await db.write(releaseTaskLeases, { instance })
  } catch (error) {
    // A service that starts on a full disk still reads and deletes; the leases end by themselves.
    if (storageErrorKind(error) !== 'full') throw error
    log.warn({ error }, 'the disk is full')
  }
}

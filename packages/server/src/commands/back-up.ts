// Writes a consistent copy of all stored data while the service runs.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, cpSync, existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { databasePath } from '#app/open-store.ts'
import type { Settings } from '#config/settings.ts'
import { copyBlobs } from '#platform/blobs/disk-blobs.ts'
import { makePrivateFolder } from '#platform/blobs/durable-folder.ts'
import { blobsPath, openBlobs } from '#platform/blobs/open-blobs.ts'
import { backUpSqlite } from '#platform/db/sqlite.ts'
import { StorageError } from '#platform/db/storage-error.ts'
import { secretKeyPath } from '#secrets/secrets.ts'
import { CommandFailure, loadSettings } from './command.ts'

export type BackUpOptions = {
  bucket?: boolean
}

/**
 * Writes everything that the service needs to start from `folder`, except a key from
 * MAILROOM_SECRET_KEY. Messages in a bucket become files. Uses `pg_dump` for PostgreSQL.
 */
export async function backUp(folder: string, { bucket = true }: BackUpOptions = {}): Promise<void> {
  const { settings } = loadSettings()
  if (existsSync(folder) && readdirSync(folder).length > 0) {
    throw new CommandFailure(`${folder} is not empty.`)
  }
  if (settings.databaseUrl === null && !existsSync(databasePath(settings))) {
    throw new CommandFailure(`there is no database in ${settings.dataDir}.`)
  }
  makePrivateFolder(folder)
  const left = await copyStored(settings, { folder, bucket })
  if (left === null) {
    throw new CommandFailure(
      'some messages in the database could not be copied because they were gone. If many are being deleted, run it again.',
    )
  }
  const tls = join(settings.dataDir, 'tls')
  if (existsSync(tls)) cpSync(tls, join(folder, 'tls'), { recursive: true })
  // The key file is copied last: the service writes it before any secret that it encrypts.
  const key = secretKeyPath(settings)
  if (existsSync(key)) copyFileSync(key, secretKeyPath({ dataDir: folder }))
  process.stdout.write(`Backed up to ${folder}.\n${left > 0 ? leftText(settings, left) : ''}`)
}

/** Returns the number of omitted large messages; null if some were removed during the copy. */
async function copyStored(
  settings: Settings,
  { folder, bucket }: { folder: string; bucket: boolean },
): Promise<number | null> {
  const isInBucket = typeof settings.blobStore !== 'string'
  if (isInBucket && !bucket) return (await copyDatabase(settings, folder)).length
  const blobs = isInBucket ? await openBlobs(settings, { as: 'command', warn: () => {} }) : null
  try {
    const isWhole = await copyBlobs({
      from: blobs ?? blobsPath(settings),
      to: blobsPath({ dataDir: folder }),
      copyDatabase: () => copyDatabase(settings, folder),
    })
    return isWhole ? 0 : null
  } catch (error) {
    if (!isInBucket || !(error instanceof StorageError)) throw error
    throw new CommandFailure(`large messages could not be read from the bucket: ${error.message}`)
  } finally {
    await blobs?.close()
  }
}

function leftText({ blobStore }: Settings, count: number): string {
  const bucket = typeof blobStore === 'string' ? '' : ` ${blobStore.bucket}`
  return `Not included: ${count} large messages, which stay in the bucket${bucket}. Without the bucket they have no content after a restore.\n`
}

/** Returns the ids of messages in the blob store. */
async function copyDatabase(settings: Settings, folder: string): Promise<string[]> {
  const { databaseUrl } = settings
  if (databaseUrl === null) {
    const to = databasePath({ ...settings, dataDir: folder })
    return backUpSqlite({ from: databasePath(settings), to })
  }
  const { backUpPostgres } = await import('#platform/db/postgres.ts')
  const file = join(folder, 'mailroom.dump')
  return backUpPostgres(databaseUrl, (snapshot) => dumpPostgres(databaseUrl, { file, snapshot }))
}

async function dumpPostgres(
  url: string,
  { file, snapshot }: { file: string; snapshot: string },
): Promise<void> {
  const options = ['--format=custom', `--file=${file}`, `--snapshot=${snapshot}`]
  const dump = spawn('pg_dump', options, {
    // Keeps the password out of the process list.
    env: { ...process.env, ...connectionEnvironment(url) },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let errors = ''
  dump.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text
  })
  const [status] = await once(dump, 'close').catch(() => {
    throw new CommandFailure(
      'backing up PostgreSQL needs pg_dump, which was not found; install the PostgreSQL client programs.',
    )
  })
  if (status !== 0) throw new CommandFailure(`pg_dump failed: ${errors.trim()}`)
}

function connectionEnvironment(url: string): Record<string, string> {
  const { hostname, port, username, password, pathname } = new URL(url)
  return {
    PGHOST: hostname,
    PGPORT: port || '5432',
    PGUSER: decodeURIComponent(username),
    PGPASSWORD: decodeURIComponent(password),
    PGDATABASE: decodeURIComponent(pathname.slice(1)),
  }
}

// A consistent copy of everything the service keeps, taken while it runs.

import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Settings } from '#config/settings.ts'
import { backUpSqlite } from '#db/back-up-sqlite.ts'
import { blobsPath, databasePath } from '#open-store.ts'
import { CommandFailure } from './command-failure.ts'
import { loadSettings } from './load-settings.ts'

const ATTEMPTS_MAX = 5

/**
 * Writes database, stored messages and certificate into `folder`, which becomes a data directory
 * that the service can be started on. PostgreSQL is dumped by its own `pg_dump`.
 */
export async function backUp(folder: string): Promise<void> {
  const { settings } = loadSettings()
  if (existsSync(folder) && readdirSync(folder).length > 0) {
    throw new CommandFailure(`${folder} is not empty.`)
  }
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  if (settings.databaseUrl === null) {
    if (!existsSync(databasePath(settings))) {
      throw new CommandFailure(`there is no database in ${settings.dataDir}.`)
    }
    copySqlite(settings, folder)
  } else {
    dumpPostgres(settings.databaseUrl, join(folder, 'mailroom.dump'))
    copyBlobs(settings, folder)
  }
  const tls = join(settings.dataDir, 'tls')
  if (existsSync(tls)) cpSync(tls, join(folder, 'tls'), { recursive: true })
  process.stdout.write(`Backed up to ${folder}.\n`)
}

/** A blob may go between the two copies; then the database is copied again, which forgot it too. */
function copySqlite(settings: Settings, folder: string): void {
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    const blobIds = backUpSqlite({
      from: databasePath(settings),
      to: databasePath({ ...settings, dataDir: folder }),
    })
    copyBlobs(settings, folder)
    const isWhole = blobIds.every((id) => existsSync(join(folder, 'blobs', id.slice(-2), id)))
    if (settings.blobStore === 'database' || isWhole) return
  }
  throw new CommandFailure('stored messages kept changing during the backup; run it again.')
}

function copyBlobs(settings: Settings, folder: string): void {
  const from = blobsPath(settings)
  if (!existsSync(from)) return
  const isKept = (path: string) => !path.includes(join('blobs', 'unfinished'))
  cpSync(from, join(folder, 'blobs'), { recursive: true, force: false, filter: isKept })
}

function dumpPostgres(url: string, file: string): void {
  const dump = spawnSync('pg_dump', ['--format=custom', `--file=${file}`], {
    // The password stays out of the process list.
    env: { ...process.env, ...connectionEnvironment(url) },
    stdio: ['ignore', 'ignore', 'pipe'],
    encoding: 'utf8',
  })
  if (dump.error !== undefined) {
    throw new CommandFailure(
      'pg_dump is needed to back up PostgreSQL and was not found; install the PostgreSQL client programs.',
    )
  }
  if (dump.status !== 0) throw new CommandFailure(`pg_dump failed: ${dump.stderr.trim()}`)
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

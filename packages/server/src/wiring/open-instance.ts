// Who this service is among those that share a database: a name that it keeps over its lives, for as
// long as it alone has its data directory.

import { hash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import type { Settings } from '#config/settings.ts'
import { LOWER_ALPHANUMERIC, randomText, systemChance } from '#platform/chance.ts'
import { takeProcessLock } from '#platform/db/sqlite-connection.ts'

export type Instance = {
  readonly instance: string
  /** Lets another process have the data directory. */
  unlock(): void
}

/**
 * Takes the data directory for this process. Throws where the database lies in it and another process
 * serves it; with PostgreSQL that other keeps the name, and this process has one for its life.
 */
export function openInstance(settings: Pick<Settings, 'dataDir' | 'databaseUrl'>): Instance {
  const { dataDir, databaseUrl } = settings
  try {
    const unlock = takeProcessLock(join(dataDir, 'service.lock'))
    return { instance: `${readName(join(dataDir, 'instance'))}-${hostMark()}`, unlock }
  } catch (error) {
    if (databaseUrl === null) throw error
    return openNameless()
  }
}

/** A name for this process alone. */
export function openNameless(): Instance {
  return { instance: makeName(), unlock: () => {} }
}

/** A data directory that was copied to another machine does not make that machine this one. */
function hostMark(): string {
  return hash('sha256', hostname()).slice(0, 8)
}

function makeName(): string {
  return randomText(systemChance, LOWER_ALPHANUMERIC, 20)
}

const NAME = /^[a-z0-9]{20}$/

/** Made when absent; where it cannot be kept it is this life's alone, which costs waiting for leases. */
function readName(path: string): string {
  try {
    const kept = readFileSync(path, 'utf8').trim()
    if (NAME.test(kept)) return kept
  } catch {
    // The first start.
  }
  const made = makeName()
  try {
    writeFileSync(path, `${made}\n`, { mode: 0o600 })
  } catch {
    // A full disk.
  }
  return made
}

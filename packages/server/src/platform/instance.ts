// The name of a process in the database, for its leases.

import { hash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import type { Settings } from '#config/settings.ts'
import { LOWER_ALPHANUMERIC, randomText, systemChance } from './chance.ts'
import { takeProcessLock } from './db/sqlite-connection.ts'

type Instance = {
  /** Remains the same after a restart, unless another process holds the data directory. */
  readonly instance: string
  unlock(): void
}

/**
 * If another process holds the data directory: throws for an embedded database, uses a temporary
 * name with PostgreSQL.
 */
export function openInstance({
  dataDir,
  databaseUrl,
}: Pick<Settings, 'dataDir' | 'databaseUrl'>): Instance {
  try {
    const unlock = takeProcessLock(join(dataDir, 'service.lock'))
    return { instance: `${readName(join(dataDir, 'instance'))}-${hostDigest()}`, unlock }
  } catch (error) {
    if (databaseUrl === null) throw error
    return openNameless()
  }
}

export function openNameless(): Instance {
  return { instance: makeName(), unlock: () => {} }
}

/** Distinguishes machines with a copied data directory. */
function hostDigest(): string {
  return hash('sha256', hostname()).slice(0, 8)
}

function makeName(): string {
  return randomText(systemChance, LOWER_ALPHANUMERIC, 20)
}

const NAME = /^[a-z0-9]{20}$/

/** If the file cannot be written, the next process waits until these leases expire. */
function readName(path: string): string {
  try {
    const kept = readFileSync(path, 'utf8').trim()
    if (NAME.test(kept)) return kept
  } catch {
    // The first start has no file.
  }
  const made = makeName()
  try {
    writeFileSync(path, `${made}\n`, { mode: 0o600 })
  } catch {
    // For example, the disk is full.
  }
  return made
}

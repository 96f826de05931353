// Folders that only the service's own user can look into, and that are still there after the power
// failed: a new name is on disk only when the folder that holds it was synced.

import { chmodSync, closeSync, fsyncSync, mkdirSync, openSync, statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'

const PRIVATE = 0o700
const OTHERS = 0o077
const STICKY = 0o1000

/**
 * Makes the folder and what is absent above it with mode 0700, durably. One that is there already is
 * given this mode, unless it is shared by design (sticky, as /tmp) or belongs to somebody else.
 */
export function makePrivateFolder(path: string): void {
  const folder = resolve(path)
  const first = mkdirSync(folder, { recursive: true, mode: PRIVATE })
  if (first === undefined) {
    takeFromOthers(folder)
    return
  }
  // From the folder up to the first that had to be made.
  for (let made = folder; made.length >= first.length; made = dirname(made)) {
    syncFolderNow(dirname(made))
  }
}

/** Syncs the names in a folder: a new or renamed file is durable only then. */
export async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

function takeFromOthers(path: string): void {
  const { mode } = statSync(path)
  if ((mode & OTHERS) === 0 || (mode & STICKY) !== 0) return
  try {
    chmodSync(path, PRIVATE)
  } catch (error) {
    // A mounted volume may belong to another user; the files in it are private all the same.
    if (!['EPERM', 'EROFS', 'ENOTSUP'].includes(String((error as NodeJS.ErrnoException).code))) {
      throw error
    }
  }
}

function syncFolderNow(path: string): void {
  const file = openSync(path, 'r')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}
